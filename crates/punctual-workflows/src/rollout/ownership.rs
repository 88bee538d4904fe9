//! The ownership of runs: a run is taken, in its own transaction, before anything is generated for it. The second system to ask
//! gets the name of the owner and makes nothing.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::OwnershipStatus;
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

/// A run that somebody wants to take.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub workflow: &'a str,
    pub subject_id: &'a str,
    pub business_unit: Option<&'a str>,
    pub key: &'a str,
    pub kind: RunKind,
    /// The id of a run that somebody asked for.
    pub manual_run: Option<&'a str>,
}

/// The version of a side: numbers between dots, compared as numbers from the left; `2` is `2.0`. What is no number is below
/// every number, and such parts are compared as texts.
#[derive(Clone, Debug)]
pub struct OwnerVersion<'a>(&'a str);

impl<'a> OwnerVersion<'a> {
    pub fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Whether this one is lower than another of the same side.
    pub fn is_below(&self, other: &OwnerVersion<'_>) -> bool {
        let parts = |text: &str| -> Vec<Part> { text.split('.').map(Part::read).collect() };
        let (own, other) = (parts(self.0), parts(other.0));
        let at = |parts: &[Part], n: usize| parts.get(n).cloned().unwrap_or(Part::Number(0));
        let first = (0..own.len().max(other.len())).find(|n| at(&own, *n) != at(&other, *n));
        first.is_some_and(|n| at(&own, n) < at(&other, n))
    }
}

/// A part of a version, texts below numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text(String),
    Number(u64),
}

impl Part {
    fn read(text: &str) -> Self {
        text.trim().parse().map_or_else(|_| Self::Text(text.trim().to_owned()), Self::Number)
    }
}

/// What came of taking a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// It is the caller's, now or since before; what was delivered says so.
    Own(OwnershipRow),
    /// The other side has it.
    Other(OwnershipRow),
    /// A newer version of the same side has it, or had it last.
    Newer(OwnershipRow),
    /// The stage gives it to the other side, and nobody has taken it.
    NotAllowed(Option<Stage>),
}

/// Takes a run for one side, if it is free and the stage allows it. The version travels with the ownership: a newer version of
/// the same side takes a run over that is not delivered, an older one never does. The caller commits before it makes
/// anything.
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
    let kind = run.kind.under(rollout.as_ref(), run.manual_run);
    let allowed = match owner {
        Owner::OldScheduler => old_may_take(stage, kind),
        Owner::AutomationScheduler => duty(stage, kind) == Duty::Make,
    };
    let wanted = run_ownership::Take {
        key: run.key,
        workflow: run.workflow,
        subject_id: run.subject_id,
        owner: owner.as_str(),
        owner_version,
    };
    if !allowed {
        // What a side owns already it may finish, whatever the stage has become.
        return Ok(match run_ownership::get(conn, run.key).await? {
            None => Taken::NotAllowed(stage),
            Some(row) if row.status == OwnershipStatus::Cancelled => Taken::NotAllowed(stage),
            Some(row) => match claim(&row, &wanted) {
                Claim::Other => Taken::Other(row),
                Claim::Newer => Taken::Newer(row),
                Claim::Keep | Claim::TakeOver => Taken::Own(row),
            },
        });
    }
    let row = run_ownership::take(conn, now, &wanted).await?;
    Ok(match claim(&row, &wanted) {
        Claim::Keep => Taken::Own(row),
        Claim::TakeOver => Taken::Own(run_ownership::take_over(conn, now, &wanted).await?),
        Claim::Other => Taken::Other(row),
        Claim::Newer => Taken::Newer(row),
    })
}

/// The meaning of an existing ownership for a caller that wants the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Keep,
    TakeOver,
    Other,
    Newer,
}

fn claim(row: &OwnershipRow, wanted: &run_ownership::Take<'_>) -> Claim {
    let (theirs, ours) = (OwnerVersion::new(&row.owner_version), OwnerVersion::new(wanted.owner_version));
    match (row.owner == wanted.owner, row.status) {
        (true, _) if ours.is_below(&theirs) => Claim::Newer,
        (true, OwnershipStatus::Owned) if theirs.is_below(&ours) => Claim::TakeOver,
        (_, OwnershipStatus::Cancelled) => Claim::TakeOver,
        (true, _) => Claim::Keep,
        (false, _) => Claim::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let below = |one: &str, other: &str| OwnerVersion::new(one).is_below(&OwnerVersion::new(other));
        for (low, high) in [
            ("1", "2"),
            ("9", "10"),
            ("1.9", "1.10"),
            ("2.0.1", "2.1"),
            ("1", "1.0.1"),
            ("beta", "1"),
            ("a", "b"),
        ] {
            assert!(below(low, high) && !below(high, low), "{low} {high}");
        }
        assert!(!below("2", "2.0") && !below("2.0", "2"));
    }

    #[test]
    fn s0_84_a_lower_version_never_takes_over_a_higher_one() {
        let row = |owner: Owner, version: &str, status: OwnershipStatus| OwnershipRow {
            key: "k".into(),
            workflow: "w".into(),
            subject_id: "s".into(),
            owner: owner.as_str().into(),
            owner_version: version.into(),
            status,
            coordinates: None,
            version: 1,
            taken_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let wanted = |version| run_ownership::Take {
            key: "k",
            workflow: "w",
            subject_id: "s",
            owner: Owner::OldScheduler.as_str(),
            owner_version: version,
        };
        for status in OwnershipStatus::ALL {
            let of = |version, wants| claim(&row(Owner::OldScheduler, version, status), &wanted(wants));
            assert_eq!(of("7", "6"), Claim::Newer, "{status:?}");
            assert_ne!(of("7", "7"), Claim::Newer, "{status:?}");
            assert_ne!(of("7", "8"), Claim::Newer, "{status:?}");
        }
        let of = |owner, status| claim(&row(owner, "7", status), &wanted("8"));
        assert_eq!(of(Owner::OldScheduler, OwnershipStatus::Owned), Claim::TakeOver);
        assert_eq!(of(Owner::OldScheduler, OwnershipStatus::DeliveryCreated), Claim::Keep);
        assert_eq!(of(Owner::AutomationScheduler, OwnershipStatus::Owned), Claim::Other);
        assert_eq!(of(Owner::AutomationScheduler, OwnershipStatus::Cancelled), Claim::TakeOver);
    }
}
