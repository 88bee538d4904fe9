//! Decides a run on the subscription, the stage and the ownership at the time of the decision.
//!
//! Recipients, channel and template are read at that time, not when the run was planned. Every outcome also plans the next run.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_engine::{Claimed, Decide};
use punctual_model::{
    Audience, ChannelKey, Decided, Decision, Effect, FileRef, NewNotification, NotificationId,
    OwnershipStatus, Reach, ReasonCode, RunOutcome, WorkKey, ids::derive_uuid,
};
use punctual_store::{
    Conn, StoreError,
    report_subscriptions::{self, SubscriptionRow},
    rollouts::{self, RolloutRow},
    run_ownership::{self, OwnershipRow},
    run_records::{self, RecordRow},
};
use punctual_templates::InlineTemplate;
use serde_json::{Value, json};

use super::{
    KIND, RunKey,
    period::Period,
    plan,
    prepare::{Artefact, Made, Prepared, Presentation},
    readers::{Readers, Reading},
    subscription::Subscription,
};
use crate::{
    inline::{self, Texts},
    rollout::{Duty, Owner, RunKind, Stage, duty},
};

/// What a batch is decided on.
pub struct Loaded {
    subscriptions: HashMap<String, SubscriptionRow>,
    ownership: HashMap<String, OwnershipRow>,
    rollouts: HashMap<String, RolloutRow>,
    /// Who gets it now, by subscription.
    readers: HashMap<String, Readers>,
    prepared: Prepared,
}

impl Loaded {
    /// Reads it fresh; the stage and the ownership are held until the decision is written, so that a roll back comes
    /// before or after it and never in between.
    pub(super) async fn load(
        conn: &mut Conn<'_>,
        row: &Claimed,
        prepared: Prepared,
    ) -> Result<Self, StoreError> {
        let guids: Vec<String> = RunKey::read(&row.key).into_iter().map(|run| run.guid).collect();
        let rows = report_subscriptions::by_guids(conn, &Reach::Everything, guids).await?;
        let (mut over, mut readers) = (HashMap::new(), HashMap::new());
        for row in &rows {
            if let Ok(subscription) = Subscription::read(row) {
                readers.insert(row.guid.clone(), Readers::load(conn, &subscription).await?);
            }
            let found = rollouts::hold_over(conn, KIND, &row.guid, row.business_unit.as_deref()).await?;
            if let Some(found) = found {
                over.insert(row.guid.clone(), found);
            }
        }
        let ownership = run_ownership::lock(conn, vec![row.key.clone()]).await?;
        Ok(Self {
            subscriptions: rows.into_iter().map(|row| (row.guid.clone(), row)).collect(),
            ownership: ownership.into_iter().map(|row| (row.key.clone(), row)).collect(),
            rollouts: over,
            readers,
            prepared,
        })
    }
}

/// The outcome of a run, in one word for figures.
struct Outcome {
    word: RunOutcome,
    decision: Decision,
    details: Details,
    delivered: Option<String>,
}

impl Outcome {
    fn skipped(reason: ReasonCode) -> Self {
        Self::plain(RunOutcome::Skipped, Decision::Skip(reason))
    }

    fn plain(word: RunOutcome, decision: Decision) -> Self {
        Self { word, decision, details: Details::None, delivered: None }
    }
}

impl Decide<Put> for Loaded {
    fn decide(&self, row: &Claimed, now: Timestamp) -> Decided<Put> {
        let Some(run) = RunKey::read(&row.key) else {
            return Decision::Hold(ReasonCode::InputUnreadable).into();
        };
        let stored = self.subscriptions.get(&run.guid);
        let subscription = stored.map(Subscription::read);
        let stage = Stage::of(self.rollouts.get(&run.guid));
        let mut outcome = match (&subscription, stored) {
            (None, _) | (_, None) => Outcome::skipped(ReasonCode::SubscriptionMissing),
            (Some(_), Some(stored)) if stored.deleted => Outcome::skipped(ReasonCode::SubscriptionDeleted),
            (Some(_), Some(stored)) if stored.paused => Outcome::skipped(ReasonCode::SubscriptionPaused),
            (Some(Err(faults)), _) => {
                let fault = faults.first().map(|fault| format!("{}: {}", fault.pointer, fault.detail));
                Outcome {
                    details: Details::Fault {
                        code: "definition-invalid".to_owned(),
                        detail: fault,
                        may_pass: None,
                    },
                    ..Outcome::plain(RunOutcome::Failed, Decision::Fail(ReasonCode::DefinitionInvalid))
                }
            }
            (Some(Ok(subscription)), _) => self.decided(row, &run, subscription, stage),
        };
        // Files that were made are on record whatever was decided about them, so that they go with the purge.
        if let (Prepared::Made(made), Details::None) = (&self.prepared, &outcome.details) {
            outcome.details = Details::of(made);
        }
        let stored_unit = stored.and_then(|stored| stored.business_unit.clone());
        let mut rows = vec![Put::Record(record(row, &run, stage, stored_unit, &outcome))];
        if let Some(coordinates) = &outcome.delivered {
            rows.push(Put::Delivered { key: row.key.clone(), coordinates: coordinates.clone() });
        }
        let mut next = None;
        if let Some(Ok(subscription)) = &subscription
            && subscription.is_active()
        {
            let begun = !matches!(self.prepared, Prepared::Missed);
            let turn = plan::turn(subscription, &row.key, row.ready_at, now, begun);
            next = turn.next.map(|next| Effect::Ensure(Box::new(plan::work(subscription, &next))));
        }
        let mut decided = Decided::from(outcome.decision).with_rows(rows).with_effects(next);
        decided.trace = match &outcome.details {
            Details::Fault { .. } | Details::Conflict { .. } => Some(outcome.details.json()),
            Details::None | Details::Made { .. } => None,
        };
        decided
    }
}

impl Loaded {
    fn kind_of(&self, run: &RunKey) -> RunKind {
        run.kind_under(self.rollouts.get(&run.guid))
    }

    fn decided(
        &self,
        row: &Claimed,
        run: &RunKey,
        subscription: &Subscription,
        stage: Option<Stage>,
    ) -> Outcome {
        match &self.prepared {
            // It has become active since it was checked: retry.
            Prepared::Inactive => {
                Outcome::plain(RunOutcome::Retrying, Decision::Retry(ReasonCode::SubscriptionChanged))
            }
            Prepared::Missed => Outcome::skipped(ReasonCode::Missed),
            Prepared::NotOurs => not_ours(stage, self.kind_of(run)),
            Prepared::Conflict { owner, status } => Outcome {
                details: Details::Conflict { owner: owner.clone(), status: *status },
                ..Outcome::plain(RunOutcome::Conflict, Decision::Hold(ReasonCode::OwnershipConflict))
            },
            // A repeated request gets the result of the first one.
            Prepared::Delivered { .. } => Outcome::skipped(ReasonCode::AlreadyDelivered),
            Prepared::Fault { may_pass, reason, code, detail } => {
                let (word, decision) = match may_pass {
                    true => (RunOutcome::Retrying, Decision::Retry(*reason)),
                    false => (RunOutcome::Failed, Decision::Fail(*reason)),
                };
                let (code, detail) = (code.clone(), Some(detail.clone()));
                let details = Details::Fault { code, detail, may_pass: Some(*may_pass) };
                Outcome { details, ..Outcome::plain(word, decision) }
            }
            Prepared::Made(made) => {
                let owned = self.ownership.get(&row.key);
                let is_ours = owned.is_some_and(|owned| {
                    owned.owner == Owner::AutomationScheduler.as_str()
                        && owned.status == OwnershipStatus::Owned
                });
                if !is_ours {
                    return Outcome::skipped(ReasonCode::RolledBack);
                }
                let nobody = Readers::default();
                deliver(row, subscription, made, self.readers.get(&run.guid).unwrap_or(&nobody))
            }
        }
    }
}

/// A run that the stage leaves to the old scheduler: in the shadow it is written down that it was expected.
fn not_ours(stage: Option<Stage>, kind: RunKind) -> Outcome {
    match duty(stage, kind) {
        Duty::Expect => Outcome::plain(RunOutcome::Shadow, Decision::Skip(ReasonCode::Shadow)),
        Duty::Leave => Outcome::skipped(ReasonCode::RolloutNotBegun),
        // The stage has changed since: retry.
        Duty::Make => Outcome::plain(RunOutcome::Retrying, Decision::Retry(ReasonCode::StageChanged)),
    }
}

fn deliver(row: &Claimed, subscription: &Subscription, made: &Made, readers: &Readers) -> Outcome {
    let period = Period { start: made.period_start, end: made.period_end };
    let details = Details::of(made);
    let nobody = matches!(&subscription.audience, Audience::Targets(targets) if targets.is_empty());
    if nobody {
        return Outcome { details, ..Outcome::skipped(ReasonCode::NoRecipients) };
    }
    if made.rows == 0 && !subscription.sends_empty {
        return Outcome { details, ..Outcome::skipped(ReasonCode::ReportEmpty) };
    }
    let new = messages(row, subscription, made, period, readers);
    let hash = WorkKey::parse(&row.key).map(|key| key.storage_hash()).unwrap_or_default();
    let coordinates = json!({
        "storageRunKeyHash": hash,
        "notifications": new.iter().map(|new| new.id.to_string()).collect::<Vec<_>>(),
        "artefacts": made.artefacts.iter().map(|file| file.blob.as_str()).collect::<Vec<_>>(),
    });
    Outcome {
        word: RunOutcome::Delivered,
        decision: Decision::Deliver(new),
        details,
        delivered: Some(coordinates.to_string()),
    }
}

/// One message for all where they read alike, as they mostly do; then a list stays a list, and whoever is on it when the
/// message is sent gets it. Else one for each way of reading, to those who have it at this moment.
fn messages(
    row: &Claimed,
    subscription: &Subscription,
    made: &Made,
    period: Period,
    readers: &Readers,
) -> Vec<NewNotification> {
    let own = Reading::own(subscription);
    let one = |reading: &Reading, audience: Audience, channel: Option<ChannelKey>, tag: Option<String>| {
        let presentation = made.presented_for(reading, &own)?;
        Some(message(row, subscription, made, period, Part { presentation, audience, channel, tag }))
    };
    match readers.groups.as_slice() {
        [] => {
            one(&own, subscription.audience.clone(), subscription.channel.clone(), None).into_iter().collect()
        }
        [(reading, _)] => {
            let audience = subscription.audience.clone();
            one(reading, audience, subscription.channel.clone(), None).into_iter().collect()
        }
        groups => {
            let of_list = readers.channel.as_deref().and_then(|key| key.parse().ok());
            let channel = subscription.channel.clone().or(of_list);
            let all = groups.iter().filter_map(|(reading, targets)| {
                one(reading, Audience::Targets(targets.clone()), channel.clone(), Some(reading.tag()))
            });
            all.collect()
        }
    }
}

/// The parts that differ between messages.
struct Part<'p> {
    presentation: &'p Presentation,
    audience: Audience,
    channel: Option<ChannelKey>,
    /// What distinguishes it from the others of its run.
    tag: Option<String>,
}

fn message(
    row: &Claimed,
    subscription: &Subscription,
    made: &Made,
    period: Period,
    part: Part<'_>,
) -> NewNotification {
    let label = subscription.label(period);
    let channel = subscription.channel.as_ref().map_or("", |channel| channel.as_str());
    // Derived only from the key of the run, never from its row, so that every producer of the same run creates the same
    // message.
    let identity = subscription.audience.identity();
    let mut parts = vec!["report", row.key.as_str(), channel, identity.as_str()];
    parts.extend(part.tag.as_deref());
    let id = NotificationId(derive_uuid(&parts));
    let Presentation { reading, html, text } = part.presentation;
    let usual = || InlineTemplate::literal(format!("{}: {label}", subscription.name));
    let subject = subscription.subject.clone().unwrap_or_else(usual);
    let mut new = NewNotification::new(id, part.audience, String::new(), String::new());
    let context = || {
        json!({
            "subscription": { "guid": subscription.guid, "name": subscription.name },
            "period": { "label": label, "start": made.period_start, "end": made.period_end },
            "report": { "rows": made.rows, "truncated": made.truncated },
        })
    };
    // The report is final text, so it must not be interpreted as a template.
    let (body, page) = (InlineTemplate::literal(text.as_str()), InlineTemplate::literal(html.as_str()));
    inline::give(&mut new, &Texts { subject: &subject, body: &body, html: Some(&page) }, context);
    new.channel = part.channel;
    new.business_unit = subscription.business_unit.clone();
    new.locale = Some(reading.locale.clone());
    subscription.handling.give(&mut new);
    new.attachments = made
        .files_of(part.presentation)
        .map(|file| FileRef {
            digest: None,
            bytes: None,
            blob: file.blob.clone(),
            file_name: file.sent_as.clone().unwrap_or_else(|| file.name.clone()),
            media_type: file.media_type.clone(),
            content_id: file.content_id.clone(),
        })
        .collect();
    if let Some(template) = &subscription.template {
        new.template = Some(template.clone());
        new.envelope.inline.clear();
        let mut context = context();
        (context["report"]["html"], context["report"]["text"]) = (json!(html), json!(text));
        new.context = Some(context);
    }
    new
}

/// A row of the workflow's own tables, written with a decision.
#[derive(Debug)]
pub enum Put {
    Delivered { key: String, coordinates: String },
    Record(Record),
}

/// What is written down about a run.
#[derive(Debug)]
pub struct Record {
    key: String,
    guid: String,
    unit: Option<String>,
    stage: Option<i64>,
    due_at: Timestamp,
    outcome: RunOutcome,
    reason: Option<String>,
    details: Details,
}

/// What there is to know about the outcome of a run.
#[derive(Clone, Debug)]
enum Details {
    None,
    Conflict { owner: String, status: OwnershipStatus },
    Fault { code: String, detail: Option<String>, may_pass: Option<bool> },
    Made { period: Period, rows: usize, truncated: bool, artefacts: Vec<Artefact>, started_at: Timestamp },
}

impl Details {
    fn of(made: &Made) -> Self {
        Self::Made {
            period: Period { start: made.period_start, end: made.period_end },
            rows: made.rows,
            truncated: made.truncated,
            artefacts: made.artefacts.clone(),
            started_at: made.started_at,
        }
    }

    /// As they are stored and shown.
    fn json(&self) -> Value {
        match self {
            Self::None => json!({}),
            Self::Conflict { owner, status } => {
                json!({ "conflict": { "owner": owner, "status": status.as_str() } })
            }
            Self::Fault { code, detail, may_pass: None } => {
                json!({ "fault": { "code": code, "detail": detail } })
            }
            Self::Fault { code, detail, may_pass: Some(may_pass) } => {
                json!({ "fault": { "code": code, "detail": detail, "mayPass": may_pass } })
            }
            Self::Made { period, rows, truncated, artefacts, started_at } => json!({
                "periodStart": period.start, "periodEnd": period.end, "rows": rows, "truncated": truncated,
                "artefacts": artefacts, "startedAt": started_at,
            }),
        }
    }
}

fn record(
    row: &Claimed,
    run: &RunKey,
    stage: Option<Stage>,
    unit: Option<String>,
    outcome: &Outcome,
) -> Record {
    let reason = match &outcome.decision {
        Decision::Skip(reason)
        | Decision::Fail(reason)
        | Decision::Retry(reason)
        | Decision::Hold(reason) => Some(reason.as_str().to_owned()),
        Decision::Deliver(_) | Decision::Publish(_) | Decision::Defer(..) => None,
    };
    Record {
        key: row.key.clone(),
        guid: run.guid.clone(),
        unit,
        stage: stage.map(Stage::number),
        due_at: row.due_at,
        outcome: outcome.word,
        reason,
        details: outcome.details.clone(),
    }
}

/// Writes what decisions put, in their transaction.
pub(super) async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[Put]) -> Result<(), StoreError> {
    let (mut records, mut delivered) = (Vec::new(), Vec::new());
    for row in rows {
        match row {
            Put::Delivered { key, coordinates } => delivered.push((key.clone(), coordinates.clone())),
            Put::Record(record) => records.push(RecordRow {
                conflicts: i64::from(record.outcome == RunOutcome::Conflict),
                key: record.key.clone(),
                workflow: KIND.to_owned(),
                subject_id: record.guid.clone(),
                business_unit: record.unit.clone(),
                stage: record.stage,
                due_at: record.due_at,
                decided_at: now,
                outcome: record.outcome,
                reason: record.reason.clone(),
                attempts: 1,
                has_files: matches!(&record.details, Details::Made { artefacts, .. } if !artefacts.is_empty()),
                files_purged_at: None,
                details: record.details.json().to_string(),
            }),
        }
    }
    if !delivered.is_empty() {
        let owner = Owner::AutomationScheduler.as_str();
        let written = run_ownership::delivered(conn, now, owner, &delivered).await?;
        if written != u64::try_from(delivered.len()).unwrap_or(u64::MAX) {
            // The row was locked and ours a moment ago: whatever this is, nothing may be sent on it.
            return Err(StoreError::Stored("run_ownership"));
        }
    }
    run_records::put(conn, now, &records).await?;
    Ok(())
}
