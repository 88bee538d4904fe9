//! Staged migration from an old scheduler, with rollback, without duplicate or missed runs.
//!
//! This module does not depend on the content of runs: a workflow provides its kind, its subjects and the keys of their runs.
//! [`duty`] and [`old_may_take`] decide which side may take a run at which stage; one database row records the owner
//! ([`ownership`]); [`compare()`] compares expected and actual runs.

pub mod compare;
pub mod ownership;
pub mod stages;

use punctual_store::rollouts::RolloutRow;
use serde::{Deserialize, Serialize};

pub use compare::{Compared, Verdict, compare};
pub use ownership::{Owner, Run, Taken, take};

/// How far a subject has moved over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Delivery path, the old scheduler's behaviour and the storage of ownership are confirmed. Nothing runs here.
    Design,
    /// Rows that do not run: what they expect is compared with the old scheduler's runs.
    Shadow,
    /// Runs that a person asks for are made here; the old scheduler is kept from them.
    RunNow,
    /// Planned runs are made here too, by the first side to take ownership; conflicts are held and counted.
    Scheduled,
    /// The old scheduler is kept from all runs.
    Cutover,
}

impl Stage {
    pub const ALL: [Self; 5] = [Self::Design, Self::Shadow, Self::RunNow, Self::Scheduled, Self::Cutover];

    pub fn number(self) -> i64 {
        match self {
            Self::Design => 0,
            Self::Shadow => 1,
            Self::RunNow => 2,
            Self::Scheduled => 3,
            Self::Cutover => 4,
        }
    }

    pub fn parse(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.number() == number)
    }

    /// What the stage is called on pages and in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Design => "designValidation",
            Self::Shadow => "shadow",
            Self::RunNow => "runNowAllowlist",
            Self::Scheduled => "scheduledAllowlist",
            Self::Cutover => "cutover",
        }
    }

    /// The stage of a stored rollout.
    pub fn of(row: Option<&RolloutRow>) -> Option<Self> {
        row.and_then(|row| Self::parse(row.stage))
    }
}

/// Why a run is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    Scheduled,
    /// Somebody asked for it.
    Manual,
    /// Somebody asked for it, and others were chosen for stage 2.
    NotSelected,
}

impl RunKind {
    /// The kind under a rollout that may have a selection of runs.
    pub fn under(self, rollout: Option<&RolloutRow>, manual_run: Option<&str>) -> Self {
        let selected = rollout.and_then(selected);
        match (self, selected) {
            (Self::Manual, Some(runs))
                if !manual_run.is_some_and(|run| runs.iter().any(|one| one == run)) =>
            {
                Self::NotSelected
            }
            (kind, _) => kind,
        }
    }
}

/// The runs that were chosen for stage 2; nothing where all that people ask for are meant. A selection that cannot be read
/// selects nothing.
pub fn selected(row: &RolloutRow) -> Option<Vec<String>> {
    row.selected_runs.as_deref().map(|text| serde_json::from_str(text).unwrap_or_default())
}

/// What this side does about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// It is made here, if it can be taken.
    Make,
    /// It is only written down that it was expected.
    Expect,
    /// Nothing at all.
    Leave,
}

/// What this side does about a run at a stage. Without a rollout there is no old scheduler, and everything is made here.
pub fn duty(stage: Option<Stage>, kind: RunKind) -> Duty {
    match (stage, kind) {
        (None, _) => Duty::Make,
        (Some(Stage::Design), _) => Duty::Leave,
        (Some(Stage::Shadow), _) => Duty::Expect,
        (Some(Stage::RunNow), RunKind::Scheduled | RunKind::NotSelected) => Duty::Expect,
        (Some(Stage::RunNow), RunKind::Manual) => Duty::Make,
        (Some(Stage::Scheduled | Stage::Cutover), _) => Duty::Make,
    }
}

/// Whether the old scheduler may take a run that is free.
pub fn old_may_take(stage: Option<Stage>, kind: RunKind) -> bool {
    match (stage, kind) {
        (None | Some(Stage::Design | Stage::Shadow), _) => true,
        (Some(Stage::RunNow | Stage::Scheduled), RunKind::Scheduled) => true,
        (Some(Stage::RunNow), RunKind::NotSelected) => true,
        (Some(Stage::RunNow | Stage::Scheduled), RunKind::Manual) => false,
        (Some(Stage::Scheduled), RunKind::NotSelected) => false,
        (Some(Stage::Cutover), _) => false,
    }
}

/// What must be confirmed before anything but looking begins.
pub const CHECKLIST: [(&str, &str); 3] = [
    ("deliveryPath", "Where the reports go, over which channel, and to whom"),
    ("oldScheduler", "When the old scheduler runs, what its keys are, and that it asks before it delivers"),
    ("ownershipStorage", "That both sides reach the same record of who owns a run"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_no_stage_do_both_sides_count_on_the_other() {
        for stage in Stage::ALL.into_iter().map(Some).chain([None]) {
            for kind in [RunKind::Scheduled, RunKind::Manual, RunKind::NotSelected] {
                let made_here = duty(stage, kind) == Duty::Make;
                assert!(made_here || old_may_take(stage, kind), "{stage:?} {kind:?}: nobody would make it");
            }
        }
    }

    #[test]
    fn stages_are_numbered_for_good() {
        for (number, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage.number(), i64::try_from(number).unwrap());
            assert_eq!(Stage::parse(stage.number()), Some(stage));
        }
        assert_eq!(Stage::parse(5), None);
    }
}
