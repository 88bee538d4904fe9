//! Accepts an answer: the first valid one counts, ends the instance, cancels its messages and is published to the subscribers,
//! all in one transaction.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError, effects};
use punctual_model::{
    Fault, Reach, ReasonCode, WorkKey, WorkStatus,
    survey::{InstanceStatus, check_answers},
};
use punctual_store::{
    Conn, Lane, StoreError, Tx,
    survey_instances::{self, InstanceRow},
    survey_responses::{self, NewResponse, ResponseRow},
    work::{self, Existing},
};
use serde_json::{Map, Value};

use super::{
    Catalogue, Version,
    fan_out::{Answered, Happened, INSTANCE_OPENED, publish_all, publish_answer},
    send_keys,
};

/// How often an answer that conflicted with another transaction is retried.
const ATTEMPTS: usize = 5;

/// What somebody sends.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The sender's own id for it: the same again is the same answer.
    pub submission_id: Option<String>,
    pub answers: Map<String, Value>,
    /// Who filled it in, where that was not the recipient.
    pub agent_id: Option<String>,
    /// The language in which it was answered.
    pub locale: Option<String>,
    /// When it was filled in, where the sender says so; never later than it arrives.
    pub completed_at: Option<Timestamp>,
}

/// The outcome of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Submitted {
    /// Taken, now or by an earlier request with the same id.
    Taken(Taken),
    /// Somebody answered before.
    AlreadyAnswered,
    /// There is no such link, or no longer. Which of them is not said.
    Gone,
    /// What is wrong with the answers, by pointers from their object.
    Invalid(Vec<Fault>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    pub completed_at: Timestamp,
    pub submission_id: Option<String>,
    pub is_repeat: bool,
}

/// A link that can be answered, with what is asked.
#[derive(Clone)]
pub struct Open {
    pub instance: InstanceRow,
    pub version: Arc<Version>,
}

/// The state of a link.
#[derive(Clone)]
pub enum Link {
    Open(Box<Open>),
    Answered(Box<Open>),
    Gone,
}

/// Looks a link up.
#[boxed]
pub async fn look(engine: &Engine, catalogue: &Catalogue, public_id: &str) -> Result<Link, EngineError> {
    let mut reader = engine.store.read().await?;
    let instance = survey_instances::by_public_id(&mut reader.conn(), &Reach::Everything, public_id).await?;
    let Some(instance) = instance.filter(|instance| !instance.deleted) else { return Ok(Link::Gone) };
    let Some(version) = catalogue.version(&mut reader.conn(), instance.version_id).await? else {
        return Ok(Link::Gone);
    };
    let status = instance.status;
    let open = Box::new(Open { instance, version });
    Ok(match status {
        InstanceStatus::Completed => Link::Answered(open),
        InstanceStatus::Pending | InstanceStatus::Sent | InstanceStatus::Opened => Link::Open(open),
        InstanceStatus::Expired => Link::Gone,
    })
}

/// The page was shown to a person. Returns whether that was new.
#[boxed]
pub async fn opened(engine: &Engine, catalogue: &Catalogue, public_id: &str) -> Result<bool, EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let is_new = survey_instances::open(&mut tx.conn(), now, public_id).await?;
    if is_new {
        let opened = Happened { event_type: INSTANCE_OPENED, public_id: public_id.to_owned() };
        publish_all(engine, &mut tx, catalogue, now, &[opened]).await?;
    }
    tx.commit().await?;
    Ok(is_new)
}

/// Takes an answer.
#[boxed]
pub async fn submit(
    engine: &Engine,
    catalogue: &Catalogue,
    public_id: &str,
    submission: &Submission,
) -> Result<Submitted, EngineError> {
    let open = match look(engine, catalogue, public_id).await? {
        Link::Gone => return Ok(Submitted::Gone),
        Link::Answered(open) => return repeat(engine, &open.instance, submission).await,
        Link::Open(open) => open,
    };
    // Against the version that was pinned when the link was made.
    let answers = match check_answers(&open.version.schema, &submission.answers) {
        Ok(answers) => answers,
        Err(faults) => return Ok(Submitted::Invalid(faults)),
    };
    let mut attempts = 1;
    loop {
        match keep(engine, &open, &answers, submission).await {
            Err(EngineError::Store(error)) if error.is_collision() && attempts < ATTEMPTS => attempts += 1,
            Err(error) => return Err(error),
            Ok(Some(taken)) => return Ok(Submitted::Taken(taken)),
            // It ended while we looked.
            Ok(None) => {
                return Ok(match look(engine, catalogue, public_id).await? {
                    Link::Answered(open) => repeat(engine, &open.instance, submission).await?,
                    Link::Open(_) | Link::Gone => Submitted::Gone,
                });
            }
        }
    }
}

/// The same submission again gets the same answer; another one comes too late.
async fn repeat(
    engine: &Engine,
    instance: &InstanceRow,
    submission: &Submission,
) -> Result<Submitted, EngineError> {
    let mut reader = engine.store.read().await?;
    let stored = survey_responses::by_instance(&mut reader.conn(), instance.id).await?;
    let same = |stored: &ResponseRow| {
        stored.submission_id.is_some() && stored.submission_id == submission.submission_id
    };
    Ok(match stored.filter(same) {
        Some(stored) => Submitted::Taken(Taken {
            completed_at: stored.completed_at,
            submission_id: stored.submission_id,
            is_repeat: true,
        }),
        None => Submitted::AlreadyAnswered,
    })
}

/// Writes all of it or nothing. `None` where the instance has ended in the meantime.
async fn keep(
    engine: &Engine,
    open: &Open,
    answers: &Map<String, Value>,
    submission: &Submission,
) -> Result<Option<Taken>, EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    // Work rows first and then the instance, in the order of those who send, so that the two cannot deadlock.
    let keys = live_keys(&mut tx.conn(), &open.instance, &open.version).await?;
    let locked = work::lock_existing(&mut tx.conn(), keys.clone()).await?;
    let public_id = &open.instance.public_id;
    let Some(instance) = survey_instances::lock(&mut tx.conn(), vec![public_id.clone()]).await?.pop() else {
        return Ok(None);
    };
    if !survey_instances::complete(&mut tx.conn(), now, instance.id).await? {
        return Ok(None);
    }
    let response = NewResponse {
        instance_id: instance.id,
        survey_id: instance.survey_id,
        version_id: instance.version_id,
        submission_id: submission.submission_id.clone(),
        agent_id: submission.agent_id.clone(),
        locale: submission.locale.clone(),
        answers: Value::Object(answers.clone()).to_string(),
    };
    let parts: Vec<(String, String)> =
        answers.iter().map(|(question, answer)| (question.clone(), answer.to_string())).collect();
    let completed_at = submission.completed_at.map_or(now, |at| at.min(now));
    survey_responses::insert(&mut tx.conn(), completed_at, &response, &parts).await?;
    stop(&mut tx, now, ReasonCode::Answered, keys, &locked).await?;
    let answered = Answered {
        instance: &instance,
        version: &open.version,
        answers,
        agent_id: submission.agent_id.as_deref(),
        completed_at,
    };
    publish_answer(engine, &mut tx, now, &answered).await?;
    tx.commit().await?;
    Ok(Some(Taken { completed_at, submission_id: submission.submission_id.clone(), is_repeat: false }))
}

/// The work rows that an instance may have and that are not over: its end, the message after those that arrived, and what was
/// sent once more by hand. One more, because another may arrive while we look.
pub(super) async fn live_keys(
    conn: &mut Conn<'_>,
    instance: &InstanceRow,
    version: &Version,
) -> Result<Vec<String>, StoreError> {
    let reminders =
        version.schema.trigger(&instance.trigger_id).map_or(0, |one| one.schedule.reminders.len());
    let last = i64::try_from(reminders).unwrap_or(i64::MAX - 1) + 1;
    let all = send_keys(instance, (instance.sends + 2).min(last));
    let open = all.iter().skip(usize::try_from(instance.sends).unwrap_or(usize::MAX)).cloned();
    let mut keys: Vec<String> = open.collect();
    keys.extend(WorkKey::survey_expire(&instance.public_id).map(|key| key.to_string()));
    keys.extend(work::retry_keys(conn, all).await?);
    Ok(keys)
}

/// Nothing more is sent: what is planned ends, what is queued is withdrawn, and what is already on its way is recorded.
/// `locked` are the rows as they were before the instance was locked; one that came to life since is found by its key.
/// Somebody who works on a row right now finds the instance as it is left here.
pub(super) async fn stop(
    tx: &mut Tx,
    now: Timestamp,
    reason: ReasonCode,
    keys: Vec<String>,
    locked: &[Existing],
) -> Result<(), StoreError> {
    // Only what was decided has something queued. Where another row came to life meanwhile, it may have been decided too.
    let is_decided = locked.iter().any(|row| row.status == WorkStatus::Completed);
    let ended = effects::deactivate(tx, now, reason, keys.clone()).await?;
    if is_decided || ended != locked.iter().filter(|row| row.status == WorkStatus::Pending).count() {
        effects::withdraw(tx, now, reason, keys).await?;
    }
    Ok(())
}
