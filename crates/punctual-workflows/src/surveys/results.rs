//! What the answers of a survey come to. The database counts; where a field of the event limits them, instances are walked in
//! pages, so that memory stays flat however many there are.

mod export;
mod tally;

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError};
use punctual_model::{Reach, survey::Question};
use punctual_store::{
    survey_instances::{self, Walked},
    survey_results::{self, Counted},
    surveys,
};
use serde_json::{Map, Value};

use super::{Catalogue, Version};

pub use export::table;
pub use tally::{ChoiceCount, CsatScore, DayCount, NpsScore, QuestionResults, Results, TriggerCount};

/// Instances read at once.
const PAGE: i64 = 2_000;

/// Which instances count; every field left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct ResultsFilter {
    pub trigger: Option<String>,
    /// By when the event happened, from and before.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Fields of the event and the value each must have.
    pub candidate: Vec<(String, String)>,
}

impl ResultsFilter {
    fn takes(&self, row: &Walked) -> bool {
        let in_time = self.from.is_none_or(|from| row.triggered_at >= from.as_microsecond())
            && self.to.is_none_or(|to| row.triggered_at < to.as_microsecond());
        if !in_time || self.trigger.as_ref().is_some_and(|trigger| *trigger != row.trigger_id) {
            return false;
        }
        if self.candidate.is_empty() {
            return true;
        }
        let payload: Map<String, Value> = serde_json::from_str(&row.metadata).unwrap_or_default();
        self.candidate.iter().all(|(key, wanted)| match payload.get(key) {
            Some(Value::String(text)) => text == wanted,
            Some(other) => *wanted == Value::to_string(other),
            None => false,
        })
    }
}

/// Versions whose questions are shown; those before them are too many to be columns of one table.
const VERSIONS: i64 = 200;

/// The published versions of a survey, the newest first: results are about the questions of all of them.
#[boxed]
pub async fn versions(
    engine: &Engine,
    catalogue: &Catalogue,
    survey_id: i64,
) -> Result<Vec<Arc<Version>>, EngineError> {
    let mut reader = engine.store.read_for_people().await?;
    let conn = &mut reader.conn();
    let ids = surveys::version_ids(conn, survey_id, VERSIONS).await?;
    let mut found = catalogue.versions(conn, ids.iter().copied()).await?;
    Ok(ids.into_iter().filter_map(|id| found.remove(&id)).collect())
}

/// Every question that was ever asked, as it was asked last: first those of the newest version, in its order, then those that it
/// no longer has.
fn questions(versions: &[Arc<Version>]) -> Vec<(&Version, &Question)> {
    let mut seen = HashSet::new();
    let all =
        versions.iter().flat_map(|one| one.schema.questions.iter().map(move |question| (&**one, question)));
    all.filter(|(_, question)| seen.insert(question.id.as_str())).collect()
}

/// Adds everything up.
#[boxed]
pub async fn results(
    engine: &Engine,
    reach: &Reach,
    survey_id: i64,
    versions: &[Arc<Version>],
    filter: &ResultsFilter,
) -> Result<Results, EngineError> {
    let mut tally = tally::Tally::new(survey_id, versions);
    if filter.candidate.is_empty() {
        count(engine, reach, survey_id, filter, &mut tally).await?;
    } else {
        // What an event was like is in its JSON, which only we can read.
        walk(engine, reach, survey_id, filter, |row| tally.add(row)).await?;
    }
    Ok(tally.finish())
}

/// Lets the database count, so that no instance is read one by one.
async fn count(
    engine: &Engine,
    reach: &Reach,
    survey_id: i64,
    filter: &ResultsFilter,
    tally: &mut tally::Tally<'_>,
) -> Result<(), EngineError> {
    let counted = Counted {
        reach: reach.clone(),
        survey_id,
        trigger: filter.trigger.clone(),
        from: filter.from.map(|from| from.as_microsecond()),
        to: filter.to.map(|to| to.as_microsecond()),
    };
    let mut reader = engine.store.read().await?;
    let conn = &mut reader.conn();
    survey_results::instances(conn, &counted).await?.iter().for_each(|row| tally.add_instances(row));
    survey_results::responses(conn, &counted).await?.iter().for_each(|row| tally.add_responses(row));
    let answered = tally.answered();
    if answered == 0 {
        return Ok(());
    }
    tally.set_median(survey_results::nth_wait(conn, &counted, (answered - 1) / 2).await?);
    let (words, others) = tally.questions();
    survey_results::answers(conn, &counted, others).await?.iter().for_each(|row| tally.add_answers(row));
    for question in words {
        let (answered, texts) =
            survey_results::texts(conn, &counted, &question, tally::TEXTS_SHOWN as i64).await?;
        tally.add_texts(&question, answered, &texts);
    }
    Ok(())
}

/// Gives every instance that counts to `each`, oldest first.
pub async fn walk(
    engine: &Engine,
    reach: &Reach,
    survey_id: i64,
    filter: &ResultsFilter,
    mut each: impl FnMut(&Walked),
) -> Result<(), EngineError> {
    let mut after = 0;
    loop {
        let mut reader = engine.store.read().await?;
        let rows = survey_instances::walk(&mut reader.conn(), reach, survey_id, after, PAGE).await?;
        drop(reader);
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.id;
        let is_last = i64::try_from(rows.len()).unwrap_or(i64::MAX) < PAGE;
        rows.iter().filter(|row| filter.takes(row)).for_each(&mut each);
        if is_last {
            return Ok(());
        }
    }
}
