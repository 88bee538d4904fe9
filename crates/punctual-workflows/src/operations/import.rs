//! Imports a calendar file: creates new events and to-dos, and updates known ones.

use std::collections::{HashMap, HashSet};

use punctual_boxed::boxed;
use punctual_engine::{Actor, Engine, EngineError, OwnUnit};
use punctual_store::{
    Named,
    operations::{
        organisations,
        people::{self, PersonRow},
        subjects::{self, SubjectRow},
    },
};

use super::{
    calendar::{self, Component, Skipped},
    commands::{self, Changed, NewSubject},
};

/// What a file is imported with.
#[derive(Clone, Debug)]
pub struct Import {
    /// Stands for an organiser who is not known.
    pub creator: String,
    pub organisation: Option<String>,
    pub business_unit: OwnUnit,
}

/// The outcome of a file.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
    /// Those that the file no longer has.
    pub removed: usize,
    pub skipped: Vec<Skipped>,
}

/// Takes the events and to-dos of a file. Those who attend are matched with people by their e-mail address.
#[boxed]
pub async fn import(
    engine: &Engine,
    by: &Actor,
    import: &Import,
    text: &str,
) -> Result<Imported, EngineError> {
    let mut reader = engine.store.read().await?;
    let named =
        organisations::named(&mut reader.conn(), import.organisation.iter().cloned().collect()).await?;
    drop(reader);
    let named = import.organisation.as_deref().and_then(|id| named.get(import.business_unit.as_deref(), id));
    let zone = named.and_then(|row| row.time_zone.as_deref()).unwrap_or("UTC");
    let read = calendar::read(text, zone, engine.clock.now());
    let kept: HashSet<String> = read.components.iter().map(|one| one.uid.clone()).collect();
    let mut imported = import.take(engine, by, read.components).await?;
    imported.removed = import.remove_others(engine, by, read.complete, &kept).await?;
    imported.skipped.extend(read.skipped);
    Ok(imported)
}

impl Import {
    /// Deletes what was imported into this unit under these identities, is still to come, and is not in the file any more: a date
    /// that was taken out of a series, or something that was cancelled.
    async fn remove_others(
        &self,
        engine: &Engine,
        by: &Actor,
        identities: Vec<String>,
        kept: &HashSet<String>,
    ) -> Result<usize, EngineError> {
        let now = engine.clock.now();
        let unit = self.business_unit.as_deref();
        let mut reader = engine.store.read().await?;
        let mut there = subjects::of_series(&mut reader.conn(), unit, identities.clone()).await?;
        there.extend(subjects::by_uids(&mut reader.conn(), unit, identities).await?);
        drop(reader);
        let is_gone = |row: &&SubjectRow| {
            let is_kept = row.ical_uid.as_ref().is_some_and(|uid| kept.contains(uid));
            !is_kept && row.last_at().is_some_and(|at| at >= now)
        };
        let gone: HashSet<&str> = there.iter().filter(is_gone).map(|row| row.id.as_str()).collect();
        let mut removed = 0;
        for id in gone {
            let may = |row: &SubjectRow| by.may_touch(row.business_unit.as_deref());
            removed += usize::from(commands::delete(engine, by, id, may).await?);
        }
        Ok(removed)
    }

    async fn take(
        &self,
        engine: &Engine,
        by: &Actor,
        components: Vec<Component>,
    ) -> Result<Imported, EngineError> {
        let mut addresses: Vec<String> = Vec::new();
        for one in &components {
            addresses.extend(one.organiser.iter().chain(&one.attendees).cloned());
        }
        let mut reader = engine.store.read().await?;
        let known = people::by_emails(&mut reader.conn(), addresses).await?;
        let uids = components.iter().map(|one| one.uid.clone()).collect();
        // An identity is one of this unit: what others imported under it is theirs.
        let there = subjects::by_uids(&mut reader.conn(), self.business_unit.as_deref(), uids).await?;
        drop(reader);
        let there: HashMap<String, SubjectRow> =
            there.into_iter().filter_map(|row| Some((row.ical_uid.clone()?, row))).collect();
        let mut imported = Imported::default();
        let mut new = Vec::new();
        for one in components {
            let wanted = self.subject(engine, &one, &known);
            match there.get(&one.uid) {
                None => new.push(wanted),
                Some(row) if with(row, &wanted) == *row => imported.unchanged += 1,
                Some(row) => {
                    let change = |before: &SubjectRow| Ok::<_, EngineError>(with(before, &wanted));
                    let changed = commands::update(engine, by, &row.id, change).await?;
                    imported.updated += usize::from(matches!(changed, Changed::Done(_)));
                }
            }
        }
        imported.created = commands::create(engine, by, &new).await?;
        // A file may hold one identity twice: the first counts.
        imported.unchanged += new.len() - imported.created;
        Ok(imported)
    }

    fn subject(&self, engine: &Engine, one: &Component, known: &Named<PersonRow>) -> NewSubject {
        let person =
            |address: &String| known.get(self.business_unit.as_deref(), address).map(|row| row.id.clone());
        let creator = one.organiser.as_ref().and_then(person).unwrap_or_else(|| self.creator.clone());
        let people = one.attendees.iter().filter_map(person);
        NewSubject {
            id: engine.random.ordered_uuid(engine.clock.now()).to_string(),
            subject_type: one.subject_type,
            title: one.title.clone(),
            start_at: one.start_at,
            end_at: one.end_at,
            is_all_day: one.is_all_day,
            people: people.filter(|id| *id != creator).collect(),
            creator,
            organisation: self.organisation.clone(),
            time_zone: None,
            business_unit: self.business_unit.clone(),
            ical_uid: Some(one.uid.clone()),
            ical_series: one.series.clone(),
            location: one.location.clone(),
            description: one.description.clone(),
        }
    }
}

fn with(before: &SubjectRow, wanted: &NewSubject) -> SubjectRow {
    SubjectRow {
        title: wanted.title.clone(),
        start_at: wanted.start_at,
        end_at: wanted.end_at,
        is_all_day: wanted.is_all_day,
        creator: wanted.creator.clone(),
        people: serde_json::Value::from(wanted.people.clone()).to_string(),
        organisation: wanted.organisation.clone(),
        ical_series: wanted.ical_series.clone(),
        location: wanted.location.clone(),
        description: wanted.description.clone(),
        ..before.clone()
    }
}
