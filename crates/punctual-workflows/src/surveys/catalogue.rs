//! A cache of published surveys: versions are kept permanently, because they never change; the list of published versions is
//! kept until a marker in the database changes.
//!
//! The marker is read in the transaction that uses the list. Every node therefore sees a new version at once, without messages
//! between nodes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::survey::{Schema, SurveyTrigger};
use punctual_store::{Conn, StoreError, facts, surveys};
use punctual_templates::InlineTemplate;
use serde_json::{Map, Value};

use super::results::Kept;
use crate::inline;

/// The fact that changes with every publishing.
const MARK: &str = "surveys.published";
/// Versions that are kept; one with a hundred questions is about 100 KiB.
const KEPT: usize = 1_000;

/// A published version.
#[derive(Debug)]
pub struct Version {
    pub id: i64,
    pub survey_id: i64,
    pub number: i64,
    pub schema: Schema,
    /// What a person with a link may see of it: texts and questions, and nothing of triggers and subscribers.
    pub asked: Value,
    /// The invitations and reminders in all languages, by their text, read once.
    pub(super) messages: HashMap<String, InlineTemplate>,
}

/// The published surveys, as one moment had them.
#[derive(Debug, Default)]
pub struct Published {
    mark: Option<String>,
    by_kind: HashMap<String, Vec<Entry>>,
    surveys: HashMap<i64, Entry>,
}

/// One trigger of a published survey.
#[derive(Clone, Debug)]
pub struct Entry {
    pub version: Arc<Version>,
    trigger: usize,
    pub business_unit: Option<String>,
}

impl Entry {
    pub fn trigger(&self) -> &SurveyTrigger {
        &self.version.schema.triggers[self.trigger]
    }
}

impl Published {
    /// Returns the triggers that subscribe to events of this kind, also those that are switched off.
    pub fn of_kind(&self, kind: &str) -> &[Entry] {
        self.by_kind.get(kind).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn subscribes_to(&self, kind: &str) -> bool {
        self.by_kind.contains_key(kind)
    }

    /// The triggers of one survey, each with its channel.
    pub fn triggers(&self, survey_id: i64) -> Vec<(String, String)> {
        let version = self.surveys.get(&survey_id).map(|entry| entry.version.clone());
        let triggers = version.iter().flat_map(|version| &version.schema.triggers);
        triggers.map(|trigger| (trigger.id.clone(), trigger.channel.to_string())).collect()
    }

    /// One trigger of one survey.
    pub fn entry(&self, survey_id: i64, trigger_id: &str) -> Option<Entry> {
        let any = self.surveys.get(&survey_id)?;
        let trigger = any.version.schema.triggers.iter().position(|trigger| trigger.id == trigger_id)?;
        Some(Entry { trigger, ..any.clone() })
    }
}

/// The cache of one node.
#[derive(Default)]
pub struct Catalogue {
    versions: Mutex<HashMap<i64, Arc<Version>>>,
    published: Mutex<Arc<Published>>,
    /// What was counted of surveys with very many links.
    pub results: Kept,
}

impl Catalogue {
    /// One that counts results like this.
    pub fn with_results(results: Kept) -> Self {
        Self { results, ..Self::default() }
    }

    /// What is published now, read in the caller's transaction.
    #[boxed]
    pub async fn current(&self, conn: &mut Conn<'_>) -> Result<Arc<Published>, StoreError> {
        let mark = facts::get(conn, MARK).await?;
        let known = lock(&self.published).clone();
        if known.mark == mark {
            return Ok(known);
        }
        let rows = surveys::published(conn).await?;
        let versions = self.versions(conn, rows.iter().map(|row| row.version_id)).await?;
        let mut published = Published { mark, ..Published::default() };
        for row in rows {
            let Some(version) = versions.get(&row.version_id) else { continue };
            for (trigger, one) in version.schema.triggers.iter().enumerate() {
                let entry =
                    Entry { version: version.clone(), trigger, business_unit: row.business_unit.clone() };
                published.surveys.entry(row.survey_id).or_insert_with(|| entry.clone());
                published.by_kind.entry(one.event_kind.clone()).or_default().push(entry);
            }
        }
        let published = Arc::new(published);
        *lock(&self.published) = published.clone();
        Ok(published)
    }

    /// What was published when somebody last looked.
    pub fn last_seen(&self) -> Arc<Published> {
        lock(&self.published).clone()
    }

    /// Versions by id. One whose stored schema cannot be read is left out.
    pub async fn versions(
        &self,
        conn: &mut Conn<'_>,
        ids: impl Iterator<Item = i64>,
    ) -> Result<HashMap<i64, Arc<Version>>, StoreError> {
        let mut wanted: Vec<i64> = ids.collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut found: HashMap<i64, Arc<Version>> = {
            let known = lock(&self.versions);
            wanted.iter().filter_map(|id| Some((*id, known.get(id)?.clone()))).collect()
        };
        let missing: Vec<i64> = wanted.into_iter().filter(|id| !found.contains_key(id)).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        for row in surveys::versions(conn, missing).await? {
            let Some(schema) = Schema::parse(&row.schema_json) else {
                tracing::error!(
                    survey.id = row.survey_id,
                    version = row.number,
                    "a stored survey cannot be read"
                );
                continue;
            };
            let asked = asked(&row.schema_json);
            let messages = message_texts(&schema)
                .map(|(_, text)| (text.to_owned(), InlineTemplate::stored(text, inline::SURVEY)))
                .collect();
            let (id, survey_id, number) = (row.id, row.survey_id, row.number);
            let version = Arc::new(Version { id, survey_id, number, schema, asked, messages });
            let mut known = lock(&self.versions);
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(row.id, version.clone());
            found.insert(row.id, version);
        }
        Ok(found)
    }

    #[boxed]
    pub async fn version(&self, conn: &mut Conn<'_>, id: i64) -> Result<Option<Arc<Version>>, StoreError> {
        Ok(self.versions(conn, std::iter::once(id)).await?.remove(&id))
    }
}

/// The texts of a survey's messages that are templates, with where they are in the schema.
pub(super) fn message_texts(schema: &Schema) -> impl Iterator<Item = (String, &str)> {
    let own = [("invitation", &schema.invitation), ("reminder", &schema.reminder)];
    own.into_iter().filter_map(|(name, texts)| Some((name, texts.as_ref()?))).flat_map(|(name, texts)| {
        texts.texts().map(move |(locale, text)| (format!("/{name}/{locale}"), text))
    })
}

fn asked(schema: &str) -> Value {
    const SHOWN: [&str; 7] =
        ["title", "intro", "thanks", "organisation", "colour", "defaultLocale", "questions"];
    let mut schema: Map<String, Value> = serde_json::from_str(schema).unwrap_or_default();
    schema.retain(|name, _| SHOWN.contains(&name.as_str()));
    Value::Object(schema)
}

/// Says, in the transaction that publishes, that the list is another one now.
pub(super) async fn mark(conn: &mut Conn<'_>, now: Timestamp, value: &str) -> Result<(), StoreError> {
    facts::put(conn, now, MARK, value).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
