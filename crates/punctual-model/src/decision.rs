//! The decisions that a workflow can make about a due row, and the effects that the engine writes with them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{InputHash, NewNotification, ReasonCode, WorkKey};

/// Why a row becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    DateBased,
    Threshold,
    Recurring,
    ScheduledRun,
    ManualRun,
    At,
}

impl Trigger {
    pub const ALL: [Self; 6] =
        [Self::DateBased, Self::Threshold, Self::Recurring, Self::ScheduledRun, Self::ManualRun, Self::At];

    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DateBased => "date_based",
            Self::Threshold => "threshold",
            Self::Recurring => "recurring",
            Self::ScheduledRun => "scheduled_run",
            Self::ManualRun => "manual_run",
            Self::At => "at",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.as_str() == text)
    }
}

/// Who asks for a row, and so what becomes of one that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A person, about what the engine keeps for them: they bring back what a person cancelled.
    Person,
    /// A part of the engine: another input for a known key is a conflict between producers, and the row is put on hold.
    Machine,
    /// A caller of the API, who names the key. What they may not do changes nothing: another input is refused, and
    /// what is cancelled stays so unless they say otherwise.
    Request { revive: bool },
}

/// A row that is wanted. `ensure` inserts it or reconciles it with the one that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWork {
    pub key: WorkKey,
    pub kind: &'static str,
    pub trigger: Trigger,
    pub business_unit: Option<String>,
    pub source: Option<(String, String)>,
    pub setting_id: Option<String>,
    pub due_at: Timestamp,
    /// The local plan beside the instant: ISO date and IANA zone.
    pub local: Option<(String, String)>,
    pub input_hash: InputHash,
    /// Small JSON of ids, never content.
    pub input: String,
}

/// What a workflow decides about one claimed row.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Queue these; the row is completed with them in one transaction.
    Deliver(Vec<NewNotification>),
    /// Publish to the listeners of a topic; the row is completed when they have taken it, and subscribers get it in the same
    /// transaction.
    Publish(Arrival),
    /// Nothing is to be sent, and that is an outcome: the row is deactivated with the reason.
    Skip(ReasonCode),
    /// A permanent failure: the row has failed.
    Fail(ReasonCode),
    /// A transient failure: the workflow's retry policy applies.
    Retry(ReasonCode),
    /// A person must look.
    Hold(ReasonCode),
    /// Not now; retried at this instant, without counting a failure.
    Defer(Timestamp, ReasonCode),
}

/// A schedule that has arrived, as its listeners see it. `id` is the same however often it is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub id: String,
    pub topic: String,
    pub due_at: Timestamp,
    /// The payload as JSON text.
    pub payload: String,
}

/// A decision and the writes of its transaction. `Row` is the type that the workflow writes into its own tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided<Row = NoRow> {
    pub decision: Decision,
    pub effects: Vec<Effect>,
    /// Written by the workflow itself, those of a batch together.
    pub rows: Vec<Row>,
    /// The trace of the decision for support; stored with the row, never read by the pipeline.
    pub trace: Option<serde_json::Value>,
}

impl<Row> Decided<Row> {
    #[must_use]
    pub fn with_effects(mut self, effects: impl IntoIterator<Item = Effect>) -> Self {
        self.effects.extend(effects);
        self
    }

    #[must_use]
    pub fn with_rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    #[must_use]
    pub fn with_trace(mut self, trace: serde_json::Value) -> Self {
        self.trace = Some(trace);
        self
    }
}

impl<Row> From<Decision> for Decided<Row> {
    fn from(decision: Decision) -> Self {
        Self { decision, effects: Vec::new(), rows: Vec::new(), trace: None }
    }
}

/// What follows when the last notification of a row has settled, written in that transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed<Row = NoRow> {
    pub effects: Vec<Effect>,
    pub rows: Vec<Row>,
}

impl<Row> Default for Followed<Row> {
    fn default() -> Self {
        Self { effects: Vec::new(), rows: Vec::new() }
    }
}

impl<Row> From<Vec<Effect>> for Followed<Row> {
    fn from(effects: Vec<Effect>) -> Self {
        Self { effects, rows: Vec::new() }
    }
}

/// The row type of a workflow without its own tables; it has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRow {}

/// An effect of a decision; the engine performs it in the same transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Ensure(Box<NewWork>),
    Deactivate {
        keys: Vec<WorkKey>,
        reason: ReasonCode,
    },
    /// Withdraw what this work row has queued and not yet sent.
    Withdraw {
        origin: WorkKey,
        reason: ReasonCode,
    },
    /// Publish to the listeners of a topic beside the decision, before it is written: at least once. Where one refuses, the
    /// decision is not taken and the row is queued again.
    Publish(Arrival),
    /// Nothing is written: reports count it under this word, such as `expired`.
    Noted(&'static str),
}
