//! What the answers of a survey come to. The database counts; where a field of the event limits them, instances are walked in
//! pages, so that memory stays flat however many there are.

mod export;
mod tally;

use std::sync::Arc;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError};
use punctual_store::{
    survey_instances::{self, Walked},
    survey_results::{self, Counted},
    surveys,
};
use serde_json::{Map, Value};

use super::{Catalogue, Version};

pub use export::table;
pub use tally::{ChoiceCount, DayCount, NpsScore, QuestionResults, Results, TriggerCount};

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

/// The published version of a survey, whose questions the results are about.
#[boxed]
pub async fn published(
    engine: &Engine,
    catalogue: &Catalogue,
    survey_id: i64,
    number: Option<i64>,
) -> Result<Option<Arc<Version>>, EngineError> {
    let Some(number) = number else { return Ok(None) };
    let mut reader = engine.store.read().await?;
    let Some(row) = surveys::version(&mut reader.conn(), survey_id, number).await? else { return Ok(None) };
    Ok(catalogue.version(&mut reader.conn(), row.id).await?)
}

/// Adds everything up.
#[boxed]
pub async fn results(
    engine: &Engine,
    survey_id: i64,
    version: Option<&Version>,
    filter: &ResultsFilter,
) -> Result<Results, EngineError> {
    let mut tally = tally::Tally::new(survey_id, version);
    if filter.candidate.is_empty() {
        count(engine, survey_id, filter, &mut tally).await?;
    } else {
        // What an event was like is in its JSON, which only we can read.
        walk(engine, survey_id, filter, |row| tally.add(row)).await?;
    }
    Ok(tally.finish())
}

/// Lets the database count, so that no instance is read one by one.
async fn count(
    engine: &Engine,
    survey_id: i64,
    filter: &ResultsFilter,
    tally: &mut tally::Tally<'_>,
) -> Result<(), EngineError> {
    let counted = Counted {
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
    survey_id: i64,
    filter: &ResultsFilter,
    mut each: impl FnMut(&Walked),
) -> Result<(), EngineError> {
    let mut after = 0;
    loop {
        let mut reader = engine.store.read().await?;
        let rows = survey_instances::walk(&mut reader.conn(), survey_id, after, PAGE).await?;
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
