//! The results of a survey. The database counts; with a filter on a field of the event, instances are read in pages, so memory
//! use stays constant. For a survey with very many links, a request counts only the newest links, or returns the last result
//! over all links (`kept.rs`).

mod export;
mod kept;
mod tally;

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError};
use punctual_model::{
    Reach,
    survey::{InstanceStatus, Question},
};
use punctual_store::{
    survey_instances::{self, Walked},
    survey_results::{self, Counted, PIECE},
    surveys,
};
use serde_json::{Map, Value};

use super::{Catalogue, Version};

pub use export::table;
pub use kept::Kept;
pub use tally::{ChoiceCount, CsatScore, DayCount, NpsScore, QuestionResults, Results, TriggerCount};

/// Instances read at once.
const PAGE: i64 = 2_000;

/// Which instances count; every field left out does not limit.
#[derive(Clone, Debug, Default, PartialEq)]
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
        let in_time = self.from.is_none_or(|from| row.triggered_at >= from)
            && self.to.is_none_or(|to| row.triggered_at < to);
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

/// What is counted, and for whom.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    reach: Reach,
    survey_id: i64,
    filter: ResultsFilter,
    /// The ids of the versions whose questions are shown.
    versions: Vec<i64>,
}

/// Adds everything up: at once, or of very many links the newest until all of them are counted.
#[boxed]
pub async fn results(
    engine: &Engine,
    catalogue: &Catalogue,
    reach: &Reach,
    survey_id: i64,
    versions: &[Arc<Version>],
    filter: &ResultsFilter,
) -> Result<Results, EngineError> {
    let kept = &catalogue.results;
    let mut reader = engine.store.read_for_people().await?;
    let far = survey_instances::nth_before(&mut reader.conn(), survey_id, i64::MAX, kept.at_once()).await?;
    drop(reader);
    let asked = Asked {
        reach: reach.clone(),
        survey_id,
        filter: filter.clone(),
        versions: versions.iter().map(|version| version.id).collect(),
    };
    let Some(far) = far else { return asked.count(engine, versions, i64::MIN).await };
    if let Some(known) = kept.known_or_counted_soon(engine, &asked, versions) {
        return Ok(known);
    }
    Ok(Results { newest: Some(kept.at_once()), ..asked.count(engine, versions, far).await? })
}

/// The outcome of a survey's links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub asked: i64,
    pub answered: i64,
    /// A message has arrived, or they have answered all the same.
    pub reached: i64,
    /// Whether all of them were counted just now; of very many it is what their results have.
    pub is_all: bool,
}

/// How many links of a survey there are, without their answers.
#[boxed]
pub async fn counts(
    engine: &Engine,
    catalogue: &Catalogue,
    reach: &Reach,
    survey_id: i64,
) -> Result<Counts, EngineError> {
    let mut reader = engine.store.read_for_people().await?;
    let most = catalogue.results.at_once();
    if survey_instances::nth_before(&mut reader.conn(), survey_id, i64::MAX, most).await?.is_some() {
        drop(reader);
        let versions = versions(engine, catalogue, survey_id).await?;
        let all = ResultsFilter::default();
        let results = results(engine, catalogue, reach, survey_id, &versions, &all).await?;
        let Results { instances: asked, answered, sent: reached, .. } = results;
        return Ok(Counts { asked, answered, reached, is_all: false });
    }
    let counts = survey_instances::counts(&mut reader.conn(), reach, survey_id).await?;
    let completed = counts.iter().filter(|one| one.status == InstanceStatus::Completed);
    Ok(Counts {
        asked: counts.iter().map(|one| one.count).sum(),
        answered: completed.map(|one| one.count).sum(),
        reached: counts.iter().map(|one| one.reached).sum(),
        is_all: true,
    })
}

impl Asked {
    /// Counts the instances after this id, at once.
    async fn count(
        &self,
        engine: &Engine,
        versions: &[Arc<Version>],
        after: i64,
    ) -> Result<Results, EngineError> {
        let mut tally = tally::Tally::new(self.survey_id, versions, engine.clock.now());
        if self.filter.candidate.is_empty() {
            self.add_piece(engine, &mut tally, (after, i64::MAX)).await?;
            self.add_latest(engine, &mut tally).await?;
        } else {
            // What an event was like is in its JSON, which only we can read.
            walk(engine, &self.reach, self.survey_id, &self.filter, after, |row| tally.add(row)).await?;
        }
        Ok(tally.finish())
    }

    /// Counts all of them, a piece after the other, each in its own moment.
    async fn count_all(&self, engine: &Engine, versions: &[Arc<Version>]) -> Result<Results, EngineError> {
        if !self.filter.candidate.is_empty() {
            return self.count(engine, versions, i64::MIN).await;
        }
        let mut tally = tally::Tally::new(self.survey_id, versions, engine.clock.now());
        let mut before = i64::MAX;
        loop {
            let mut reader = engine.store.read_for_people().await?;
            let far = survey_instances::nth_before(&mut reader.conn(), self.survey_id, before, PIECE).await?;
            drop(reader);
            self.add_piece(engine, &mut tally, (far.unwrap_or(i64::MIN), before)).await?;
            match far {
                Some(far) => before = far.saturating_add(1),
                None => break,
            }
        }
        self.add_latest(engine, &mut tally).await?;
        Ok(tally.finish())
    }

    fn counted(&self, ids: (i64, i64)) -> Counted {
        Counted {
            reach: self.reach.clone(),
            survey_id: self.survey_id,
            trigger: self.filter.trigger.clone(),
            from: self.filter.from,
            to: self.filter.to,
            ids,
        }
    }

    /// Lets the database count those between two ids, so that no instance is read one by one.
    async fn add_piece(
        &self,
        engine: &Engine,
        tally: &mut tally::Tally<'_>,
        ids: (i64, i64),
    ) -> Result<(), EngineError> {
        let counted = self.counted(ids);
        let mut reader = engine.store.read_for_people().await?;
        let conn = &mut reader.conn();
        survey_results::instances(conn, &counted).await?.iter().for_each(|row| tally.add_instances(row));
        let responses = survey_results::responses(conn, &counted).await?;
        if responses.is_empty() {
            return Ok(());
        }
        responses.iter().for_each(|row| tally.add_responses(row));
        survey_results::waits(conn, &counted).await?.iter().for_each(|row| tally.add_waits(row));
        let (words, others) = tally.questions();
        survey_results::answers(conn, &counted, others).await?.iter().for_each(|row| tally.add_answers(row));
        for question in words {
            let answered = survey_results::count_texts(conn, &counted, &question).await?;
            tally.add_texts(&question, answered);
        }
        Ok(())
    }

    /// The latest answers in words.
    async fn add_latest(&self, engine: &Engine, tally: &mut tally::Tally<'_>) -> Result<(), EngineError> {
        let counted = self.counted(Counted::ALL);
        let mut reader = engine.store.read_for_people().await?;
        for question in tally.words() {
            let shown = tally::TEXTS_SHOWN as i64;
            let texts = survey_results::texts(&mut reader.conn(), &counted, &question, shown).await?;
            tally.show_texts(&question, &texts);
        }
        Ok(())
    }
}

/// Gives every instance after this id that counts to `each`, oldest first.
pub async fn walk(
    engine: &Engine,
    reach: &Reach,
    survey_id: i64,
    filter: &ResultsFilter,
    mut after: i64,
    mut each: impl FnMut(&Walked),
) -> Result<(), EngineError> {
    loop {
        let mut reader = engine.store.read_for_people().await?;
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
