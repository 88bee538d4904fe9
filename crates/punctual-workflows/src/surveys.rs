//! Surveys: from an event to a link in somebody's hand, and from their answer to everyone who must know.
//!
//! An event makes instances ([`ingest`]); each message of an instance and its end is a work row; `send` decides about
//! them and `settled` moves the instance on when a message has arrived or was given up. An answer ([`answer`]) ends it, with
//! the outbox event and its deliveries in the same transaction ([`fan_out`]).

pub mod answer;
pub mod author;
pub mod catalogue;
pub mod fan_out;
pub mod ingest;
pub mod instances;
mod message;
pub mod results;
mod send;
mod settled;
mod sink;
pub mod words;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::{Claimed, Decide, Settled, SettledWork, Workflow};
use punctual_model::{InputHash, KeyError, NewNotification, NewWork, Trigger, WorkKey, keys::KeyParts};
use punctual_store::{Conn, StoreError, survey_instances};
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
    catalogue: Catalogue,
    link: SurveyLink,
}

impl Surveys {
    pub fn new(link: SurveyLink) -> Self {
        Self { catalogue: Catalogue::default(), link }
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

/// The work row of a step.
fn work(
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
    instances: HashMap<String, (survey_instances::InstanceRow, Option<Arc<Version>>)>,
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
        Ok(Held { instances })
    }
}

impl Workflow for Surveys {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn load<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        batch: &'a [Claimed],
    ) -> BoxFuture<'a, Result<Box<dyn Decide>, StoreError>> {
        Box::pin(async move {
            let held = self.hold(conn, batch.iter().map(|row| row.key.as_str())).await?;
            Ok(Box::new(send::Loaded { held, link: self.link.clone() }) as Box<dyn Decide>)
        })
    }

    fn put<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        _now: Timestamp,
        rows: Vec<Value>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let changes: Result<Vec<survey_instances::Change>, _> =
                rows.into_iter().map(serde_json::from_value).collect();
            let changes = changes.map_err(|_| StoreError::Stored("a change of an instance"))?;
            survey_instances::settle(conn, &changes).await?;
            Ok(())
        })
    }

    fn publish_events<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        now: Timestamp,
        events: Vec<Value>,
    ) -> BoxFuture<'a, Result<Vec<NewNotification>, StoreError>> {
        Box::pin(async move {
            let happened: Result<Vec<fan_out::Happened>, _> =
                events.into_iter().map(serde_json::from_value).collect();
            let happened = happened.map_err(|_| StoreError::Stored("what happened to an instance"))?;
            fan_out::publish_all(conn, &self.catalogue, now, &happened).await
        })
    }

    fn follows_deliveries(&self) -> bool {
        true
    }

    fn load_settled<'a>(
        &'a self,
        conn: &'a mut Conn<'_>,
        works: &'a [SettledWork],
    ) -> BoxFuture<'a, Result<Box<dyn Settled>, StoreError>> {
        Box::pin(async move {
            let held = self.hold(conn, works.iter().map(|work| work.key.as_str())).await?;
            Ok(Box::new(settled::Loaded { held }) as Box<dyn Settled>)
        })
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
