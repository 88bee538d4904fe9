//! Surveys: events create links, messages invite and remind, and answers are published to subscribers.
//!
//! An event makes instances ([`ingest`]); each message of an instance and its expiry is a work row. `send` decides them, and
//! `settled` advances the instance when a message has arrived or failed. An answer ([`answer`]) ends it and writes the outbox
//! event and its deliveries in the same transaction ([`fan_out`]).

pub mod answer;
pub mod author;
pub mod campaign;
pub mod catalogue;
pub mod fan_out;
pub mod ingest;
pub mod instances;
mod message;
mod reconcile;
pub mod results;
pub mod review;
mod send;
mod settled;
mod sink;
mod titles;
pub mod trial;
pub mod words;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, atomic::AtomicI64},
};

use jiff::Timestamp;
use punctual_engine::{Claimed, Engine, FollowsDeliveries, Loads, SettledWork, Workflow, WritesRows};
use punctual_model::{
    InputHash, KeyError, NewWork, Reach, Trigger, WorkKey, WorkStatus, keys::KeyParts, survey::expires_at,
};
use punctual_store::{
    Conn, StoreError, Tx,
    survey_instances::{self, Change, InstanceRow},
    work::{self, WorkRow},
};
use serde_json::{Value, json};

pub use catalogue::{Catalogue, Version};
pub use sink::SurveySink;

/// The kind of the work rows of surveys.
pub const KIND: &str = "survey";

/// Where a link leads, with `{publicId}` in place of the instance: the address of `serve` without configuration.
pub const DEFAULT_LINK: &str = "http://127.0.0.1:8080/s/{publicId}";

/// Where links lead, with `{publicId}` in place of the instance. A server may know it only once it listens.
#[derive(Clone, Debug, Default)]
pub struct SurveyLink(Arc<OnceLock<String>>);

impl SurveyLink {
    /// Says where links lead; the first one stays.
    pub fn set(&self, template: impl Into<String>) {
        let _ = self.0.set(template.into());
    }

    /// The address of an instance's page.
    pub fn to(&self, public_id: &str) -> String {
        self.0.get().map_or(DEFAULT_LINK, String::as_str).replace("{publicId}", public_id)
    }
}

/// The workflow of surveys.
#[derive(Default)]
pub struct Surveys {
    catalogue: Arc<Catalogue>,
    link: SurveyLink,
    /// The instance after which the next look for those that nothing ends begins.
    looked_at: AtomicI64,
}

impl Surveys {
    /// With the catalogue of the node, which the API and the pages use too.
    pub fn new(link: SurveyLink, catalogue: Arc<Catalogue>) -> Self {
        Self { catalogue, link, looked_at: AtomicI64::new(0) }
    }
}

/// What a work row of a survey is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The message of this number, from 1.
    Send(i64),
    Expire,
}

/// The instance and the step of a work key; true for a deliberate second run.
fn read_key(key: &str) -> Option<(String, Step, bool)> {
    match WorkKey::parse(key).ok()?.parts() {
        KeyParts::SurveySend { public_id, ordinal } => Some((public_id, Step::Send(ordinal), false)),
        KeyParts::SurveyExpire { public_id } => Some((public_id, Step::Expire, false)),
        KeyParts::SupportRetry { of, .. } => {
            let (public_id, step, _) = read_key(of.as_str())?;
            Some((public_id, step, true))
        }
        _ => None,
    }
}

/// Whether a row only ends an instance, and sends nothing.
pub fn is_expiry(key: &str) -> bool {
    read_key(key).is_some_and(|(_, step, _)| step == Step::Expire)
}

/// The work row of a step.
fn work_of(
    public_id: &str,
    step: Step,
    survey_id: i64,
    business_unit: Option<String>,
    due_at: Timestamp,
) -> Result<NewWork, KeyError> {
    let (key, name) = match step {
        Step::Send(ordinal) => (WorkKey::survey_send(public_id, ordinal)?, Value::from(ordinal)),
        Step::Expire => (WorkKey::survey_expire(public_id)?, Value::from("expire")),
    };
    Ok(NewWork {
        key,
        kind: KIND,
        trigger: Trigger::At,
        business_unit,
        source: None,
        setting_id: None,
        due_at,
        local: None,
        input_hash: InputHash::of_fields(&[("instance", public_id.into()), ("step", name)]),
        input: json!({ "surveyId": survey_id }).to_string(),
    })
}

/// Instances with the versions they are pinned to, as a batch needs them. The rows are held until the transaction ends, so
/// that an answer comes either before what is decided here or after it.
struct Held {
    instances: HashMap<String, (InstanceRow, Option<Arc<Version>>)>,
    /// What may still send for the instances whose end is decided.
    sends: HashMap<String, Sends>,
}

/// The rows that send, or sent, the messages of an instance.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sends {
    /// One of them is planned, being worked on or waits for its message.
    is_live: bool,
    keys: Vec<String>,
}

/// The keys of an instance's messages up to this one.
fn send_keys(instance: &InstanceRow, last: i64) -> Vec<String> {
    let keys = (1..=last).map(|ordinal| WorkKey::survey_send(&instance.public_id, ordinal));
    keys.flatten().map(|key| key.to_string()).collect()
}

fn is_live(row: &WorkRow) -> bool {
    row.is(&[WorkStatus::Pending, WorkStatus::Processing]) || row.open_notifications > 0
}

fn triggered_at(instance: &InstanceRow) -> Timestamp {
    instance.triggered_at
}

/// When an instance ends with which nothing more happens.
fn ends_at(instance: &InstanceRow, version: &Version) -> Option<Timestamp> {
    let trigger = version.schema.trigger(&instance.trigger_id)?;
    let last = instance.last_sent_at;
    Some(expires_at(trigger, triggered_at(instance), last))
}

impl Surveys {
    async fn hold(&self, conn: &mut Conn<'_>, keys: impl Iterator<Item = &str>) -> Result<Held, StoreError> {
        let ids = keys.filter_map(|key| read_key(key).map(|(public_id, ..)| public_id)).collect();
        let rows = survey_instances::lock(conn, ids).await?;
        let versions = self.catalogue.versions(conn, rows.iter().map(|row| row.version_id)).await?;
        let instances = rows
            .into_iter()
            .map(|row| (row.public_id.clone(), (row.clone(), versions.get(&row.version_id).cloned())))
            .collect();
        Ok(Held { instances, sends: HashMap::new() })
    }

    /// The rows that may still send for instances whose end is decided in this batch.
    async fn sends(
        conn: &mut Conn<'_>,
        held: &Held,
        batch: &[Claimed],
    ) -> Result<HashMap<String, Sends>, StoreError> {
        let mut sends = HashMap::new();
        for row in batch {
            let Some((public_id, Step::Expire, _)) = read_key(&row.key) else { continue };
            let Some((instance, _)) = held.instances.get(&public_id) else { continue };
            let mut keys = send_keys(instance, instance.sends + 1);
            keys.extend(work::retry_keys(conn, keys.clone()).await?);
            let rows = work::by_keys(conn, &Reach::Everything, keys.clone()).await?;
            sends.insert(public_id, Sends { is_live: rows.iter().any(is_live), keys });
        }
        Ok(sends)
    }
}

impl Workflow for Surveys {
    fn kind(&self) -> &'static str {
        KIND
    }

    /// Cancelling a message keeps the link, which expires as planned; the expiry row decides when.
    fn after_cancel(&self, cancelled: &WorkRow, now: Timestamp) -> Vec<NewWork> {
        let Some((public_id, Step::Send(_), _)) = read_key(&cancelled.key) else { return Vec::new() };
        let input: Value = serde_json::from_str(&cancelled.input).unwrap_or_default();
        let survey_id = input["surveyId"].as_i64().unwrap_or_default();
        let unit = cancelled.business_unit.clone();
        work_of(&public_id, Step::Expire, survey_id, unit, now).into_iter().collect()
    }
}

impl Loads for Surveys {
    type Loaded = send::Loaded;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<send::Loaded, StoreError> {
        let mut held = self.hold(conn, batch.iter().map(|row| row.key.as_str())).await?;
        held.sends = Self::sends(conn, &held, batch).await?;
        Ok(send::Loaded { held, link: self.link.clone() })
    }
}

/// What decisions about instances write.
#[derive(Clone, Debug, PartialEq)]
pub enum Put {
    Change(Change),
    /// Published to subscribers, once the changes are written.
    Happened(fan_out::Happened),
}

impl WritesRows for Surveys {
    type Row = Put;

    async fn put(&self, conn: &mut Conn<'_>, _now: Timestamp, rows: &[Put]) -> Result<(), StoreError> {
        let changes = rows.iter().filter_map(|row| match row {
            Put::Change(change) => Some(change.clone()),
            Put::Happened(_) => None,
        });
        survey_instances::settle(conn, &changes.collect::<Vec<_>>()).await?;
        Ok(())
    }

    async fn publish(
        &self,
        engine: &Engine,
        tx: &mut Tx,
        now: Timestamp,
        rows: &[Put],
    ) -> Result<(), StoreError> {
        let happened = rows.iter().filter_map(|row| match row {
            Put::Change(_) => None,
            Put::Happened(happened) => Some(happened.clone()),
        });
        let happened: Vec<fan_out::Happened> = happened.collect();
        if happened.is_empty() {
            return Ok(());
        }
        fan_out::publish_all(engine, tx, &self.catalogue, now, &happened).await
    }
}

impl FollowsDeliveries for Surveys {
    type Loaded = settled::Loaded;

    async fn load_settled(
        &self,
        conn: &mut Conn<'_>,
        works: &[SettledWork],
    ) -> Result<settled::Loaded, StoreError> {
        let held = self.hold(conn, works.iter().map(|work| work.key.as_str())).await?;
        Ok(settled::Loaded { held })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_whose_step_it_is() {
        let id = "8f3a1c4e-0000-4000-8000-000000000001";
        let send = WorkKey::survey_send(id, 2).unwrap();
        assert_eq!(read_key(send.as_str()), Some((id.to_owned(), Step::Send(2), false)));
        let expire = WorkKey::survey_expire(id).unwrap();
        assert_eq!(read_key(expire.as_str()), Some((id.to_owned(), Step::Expire, false)));
        let again = WorkKey::support_retry(&send, 1).unwrap();
        assert_eq!(read_key(again.as_str()), Some((id.to_owned(), Step::Send(2), true)));
        assert_eq!(read_key("message:1"), None);
    }
}
