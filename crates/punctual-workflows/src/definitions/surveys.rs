//! Surveys in definitions: identified by name between servers, because each server assigns its own numbers.

use std::collections::BTreeSet;

use punctual_engine::{CommandError, commands::Seen};
use punctual_model::Fault;
use punctual_store::{
    Conn, StoreError, Tx,
    surveys::{self, SurveyDraft, SurveyRow},
};
use punctual_wire::surveys::{PublishedSchema, SurveyDefinition, SurveyRequest};
use serde_json::Value;

use super::{Context, document::Document};
use crate::{
    faults::unreadable,
    surveys::author::{self, Publishing},
};

/// Surveys that are read at once.
const PAGE: i64 = 500;

/// Every survey with the name that stands for it: its own, or with `~2` and so on where an older one has it.
pub(super) async fn named(conn: &mut Conn<'_>) -> Result<Vec<(String, SurveyRow)>, StoreError> {
    let (mut rows, mut place) = (Vec::new(), None);
    loop {
        let page = surveys::page(conn, place, &punctual_model::Reach::Everything, PAGE).await?;
        let Some(last) = page.last() else { break };
        place = Some(last.id);
        rows.extend(page);
    }
    rows.reverse();
    let mut taken = BTreeSet::new();
    let name = |row: SurveyRow| {
        let numbered = (2_u64..).map(|number| format!("{}~{number}", row.name));
        let free = std::iter::once(row.name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = free.unwrap_or_else(|| row.name.clone());
        taken.insert(name.clone());
        (name, row)
    };
    Ok(rows.into_iter().map(name).collect())
}

/// A survey with what is published of it.
pub(super) async fn document(conn: &mut Conn<'_>, row: &SurveyRow) -> Result<Document, StoreError> {
    let schema: Value = serde_json::from_str(&row.draft).map_err(|_| StoreError::Stored("surveys.draft"))?;
    let published = published_schema(conn, row).await?.map(|published| match published == schema {
        true => PublishedSchema::AsWritten(true),
        false => PublishedSchema::Other(published),
    });
    let survey = SurveyRequest {
        name: row.name.clone(),
        integration_id: row.integration_id.clone(),
        business_unit: row.business_unit.clone(),
        schema,
    };
    let definition = SurveyDefinition { survey, published };
    Ok(Document::new(serde_json::to_value(definition).map_err(|_| StoreError::Stored("surveys"))?))
}

async fn published_schema(conn: &mut Conn<'_>, row: &SurveyRow) -> Result<Option<Value>, StoreError> {
    let Some(number) = row.published_version else { return Ok(None) };
    let Some(version) = surveys::version(conn, row.id, number).await? else { return Ok(None) };
    let schema = serde_json::from_str(&version.schema_json);
    schema.map(Some).map_err(|_| StoreError::Stored("survey_versions.schema_json"))
}

/// Writes a survey and publishes what it says. What is published and not named stays published.
pub(super) async fn save(
    tx: &mut Tx,
    context: &Context<'_>,
    name: &str,
    value: &Value,
) -> Result<(), CommandError> {
    let SurveyDefinition { survey, published } = SurveyDefinition::read(value, "").map_err(unreadable)?;
    if name != survey.name && !name.starts_with(&format!("{}~", survey.name)) {
        let detail = format!("A survey goes by its name, so its id is `{}`, not `{name}`.", survey.name);
        return Err(CommandError::invalid("/name", "field_conflict", detail));
    }
    let known = named(&mut tx.conn()).await?.into_iter().find(|(known, _)| known == name);
    let known = known.map(|(_, row)| row);
    let mut written = Written { context: *context, tx, survey, row: known };
    let draft = written.survey.schema.clone();
    match published {
        None => written.draft(draft).await,
        Some(PublishedSchema::AsWritten(_)) => {
            written.draft(draft).await?;
            written.publish("/schema").await
        }
        Some(PublishedSchema::Other(other)) => {
            written.publish_other(other).await?;
            written.draft(draft).await
        }
    }
}

/// A survey that is being written.
struct Written<'a, 'b> {
    context: Context<'a>,
    tx: &'b mut Tx,
    survey: SurveyRequest,
    row: Option<SurveyRow>,
}

impl Written<'_, '_> {
    /// Writes the draft where it is another one.
    async fn draft(&mut self, schema: Value) -> Result<(), CommandError> {
        let draft = SurveyDraft {
            name: self.survey.name.clone(),
            integration_id: self.survey.integration_id.clone(),
            business_unit: self.survey.business_unit.clone(),
            draft: schema.to_string(),
        };
        let Context { engine, by, .. } = self.context;
        let row = match &self.row {
            None => author::create_in(self.tx, engine, by, &draft).await?,
            Some(row) if is_same(row, &draft, &schema) => return Ok(()),
            Some(row) => author::change_in(self.tx, engine, by, row.id, Seen::Anything, &draft).await?,
        };
        self.row = Some(row);
        Ok(())
    }

    /// Publishes another schema than the draft, unless it is published already.
    async fn publish_other(&mut self, schema: Value) -> Result<(), CommandError> {
        if let Some(row) = &self.row
            && published_schema(&mut self.tx.conn(), row).await?.as_ref() == Some(&schema)
        {
            return Ok(());
        }
        self.draft(schema).await?;
        self.publish("/published").await
    }

    async fn publish(&mut self, pointer: &str) -> Result<(), CommandError> {
        let Some(row) = &self.row else { return Ok(()) };
        let Context { engine, by, .. } = self.context;
        match author::publish_in(self.tx, engine, by, row.id).await? {
            Publishing::Published { .. } => {
                self.row = surveys::get(&mut self.tx.conn(), &by.reach(), row.id).await?;
                Ok(())
            }
            Publishing::Refused(faults) => {
                let within = |fault: Fault| Fault { pointer: format!("{pointer}{}", fault.pointer), ..fault };
                Err(CommandError::Invalid(faults.into_iter().map(within).collect()))
            }
        }
    }
}

fn is_same(row: &SurveyRow, draft: &SurveyDraft, schema: &Value) -> bool {
    row.name == draft.name
        && row.integration_id == draft.integration_id
        && row.business_unit == draft.business_unit
        && serde_json::from_str::<Value>(&row.draft).is_ok_and(|stored| stored == *schema)
}
