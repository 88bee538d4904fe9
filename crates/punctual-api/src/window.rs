//! The accepted range of requested times.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_model::{WorkStatus, local_time::as_stored};
use punctual_store::work::{self, WorkRow};
use punctual_wire::{FieldError, Problem};
use punctual_workflows::due_window::{self, OutsideWindow};

use crate::{App, answer::Failure, auth::Principal};

/// The window of one request, with what it names and has already. A repeat of a request is answered with what is stored,
/// however long ago its moment was: only what would be planned is checked.
pub(crate) struct Window {
    now: Timestamp,
    known: HashMap<String, WorkRow>,
}

impl Window {
    /// For these keys and moments. What lies within the window needs no look at what is stored.
    pub async fn of(
        app: &App,
        caller: &Principal,
        asked: impl Iterator<Item = (String, Timestamp)>,
    ) -> Result<Self, Failure> {
        let now = app.engine.clock.now();
        let outside = asked.filter(|(_, at)| due_window::check(now, *at).is_err());
        let keys: Vec<String> = outside.map(|(key, _)| key).collect();
        let mut known = HashMap::new();
        if !keys.is_empty() {
            let mut reader = app.engine.store.read_for_people().await?;
            let rows = work::by_keys(&mut reader.conn(), &caller.by.reach(), keys).await?;
            known.extend(rows.into_iter().map(|row| (row.key.clone(), row)));
        }
        Ok(Self { now, known })
    }

    /// Refuses a moment outside the window for what is new, moved or brought back.
    pub fn check(&self, key: &str, at: Timestamp, revive: bool, pointer: &str) -> Result<(), Problem> {
        let stays = |row: &WorkRow| {
            let is_pending = row.is(&[WorkStatus::Pending]);
            if is_pending { row.due_at == as_stored(at) } else { !revive }
        };
        if self.known.get(key).is_some_and(stays) { Ok(()) } else { check_moment(self.now, at, pointer) }
    }
}

/// Refuses a moment outside the window.
pub(crate) fn check_moment(now: Timestamp, at: Timestamp, pointer: &str) -> Result<(), Problem> {
    due_window::check(now, at).map_err(|outside| match outside {
        OutsideWindow::TooOld { earliest } => FieldError::due_too_old(pointer, earliest).into(),
        OutsideWindow::TooFar { latest } => FieldError::due_out_of_range(pointer, latest).into(),
    })
}
