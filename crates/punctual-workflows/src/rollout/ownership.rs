//! The one-owner guard: before anything is made for a run, it is taken, in a transaction of its own. Whoever comes
//! second gets who was first, and makes nothing.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{StoreError, Tx, rollouts, run_ownership};
use serde::{Deserialize, Serialize};

use super::{Duty, RunKind, Stage, duty, old_may_take};

pub use punctual_store::run_ownership::OwnershipRow;

/// The two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Owner {
    OldScheduler,
    AutomationScheduler,
}

impl Owner {
    pub const ALL: [Self; 2] = [Self::OldScheduler, Self::AutomationScheduler];

    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OldScheduler => "old_scheduler",
            Self::AutomationScheduler => "automation_scheduler",
        }
    }

    /// As the API spells it.
    pub fn word(self) -> &'static str {
        match self {
            Self::OldScheduler => "oldScheduler",
            Self::AutomationScheduler => "automationScheduler",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|owner| owner.as_str() == text || owner.word() == text)
    }
}

/// The status of an ownership as the API spells it.
pub fn status_word(status: &str) -> &'static str {
    match status {
        "owned" => "owned",
        "cancelled" => "cancelled",
        _ => "deliveryCreated",
    }
}

/// A run that somebody wants to take.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub workflow: &'a str,
    pub subject_id: &'a str,
    pub business_unit: Option<&'a str>,
    pub key: &'a str,
    pub kind: RunKind,
}

/// What came of taking a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// It is the caller's, now or since before; what was delivered says so.
    Own(OwnershipRow),
    /// The other side has it.
    Other(OwnershipRow),
    /// The stage gives it to the other side, and nobody has taken it.
    NotAllowed(Option<Stage>),
}

/// Takes a run for one side, if it is free and the stage allows it. The caller commits before it makes anything.
#[boxed]
pub async fn take(
    tx: &mut Tx,
    now: Timestamp,
    run: Run<'_>,
    owner: Owner,
    owner_version: &str,
) -> Result<Taken, StoreError> {
    let conn = &mut tx.conn();
    let rollout = rollouts::hold_over(conn, run.workflow, run.subject_id, run.business_unit).await?;
    let stage = Stage::of(rollout.as_ref());
    let allowed = match owner {
        Owner::OldScheduler => old_may_take(stage, run.kind),
        Owner::AutomationScheduler => duty(stage, run.kind) == Duty::Make,
    };
    if !allowed {
        // What a side owns already it may finish, whatever the stage has become.
        return Ok(match run_ownership::get(conn, run.key).await? {
            Some(row) if row.owner == owner.as_str() && row.status != "cancelled" => Taken::Own(row),
            Some(row) if row.owner != owner.as_str() && row.status != "cancelled" => Taken::Other(row),
            _ => Taken::NotAllowed(stage),
        });
    }
    let wanted = run_ownership::Take {
        key: run.key,
        workflow: run.workflow,
        subject_id: run.subject_id,
        owner: owner.as_str(),
        owner_version,
    };
    let row = run_ownership::take(conn, now, &wanted).await?;
    Ok(if row.owner == owner.as_str() { Taken::Own(row) } else { Taken::Other(row) })
}
