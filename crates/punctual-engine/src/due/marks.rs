//! Where claims start. A row that was settled leaves a dead entry in the index of ready rows, and as long as somebody holds a
//! snapshot (a dump, a replica, an idle transaction) PostgreSQL cannot remove it: every claim that starts at the beginning
//! walks all of them again. So a node keeps, for each kind, the last row that it settled, and starts behind it.
//!
//! A row that becomes ready behind the mark is not lost: whoever writes it in this process, or notifies us, lowers the
//! marks; a claim that finds nothing and every sweep start at the beginning again.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_store::work::After;

use crate::config::earlier;

/// How far behind the present a mark stays: rows that others are committing lie there.
const BEHIND: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Marks(Mutex<Kinds>);

#[derive(Default)]
struct Kinds {
    /// Counts what lowered a mark: a claim that was under way meanwhile did not see the rows in question.
    lowered: u64,
    after: HashMap<String, After>,
}

/// Where one claim starts.
#[derive(Clone, Copy)]
pub(super) struct Start {
    pub(super) after: After,
    lowered: u64,
}

impl Marks {
    /// Where a claim of this kind starts, after what was written meanwhile with this instant or later.
    pub(super) fn start(&self, kind: &str, written: Option<i64>) -> Start {
        let mut kinds = self.kinds();
        if let Some(written) = written {
            let before = kinds.after.len();
            kinds.after.retain(|_, after| after.ready_at < written);
            kinds.lowered += u64::from(kinds.after.len() < before);
        }
        Start { after: kinds.after.get(kind).copied().unwrap_or(After::BEGINNING), lowered: kinds.lowered }
    }

    /// What is ready before this row, itself included, has been settled.
    pub(super) fn advance(&self, kind: &str, start: Start, last: After, now: Timestamp) {
        let mut kinds = self.kinds();
        if kinds.lowered != start.lowered || last.ready_at > earlier(now, BEHIND).as_microsecond() {
            return;
        }
        let mark = kinds.after.entry(kind.to_owned()).or_insert(last);
        *mark = last.max(*mark);
    }

    /// The next claim of this kind starts at the beginning.
    pub(super) fn forget(&self, kind: &str) {
        let mut kinds = self.kinds();
        kinds.lowered += u64::from(kinds.after.remove(kind).is_some());
    }

    /// The next claim of every kind starts at the beginning.
    pub(crate) fn forget_all(&self) {
        let mut kinds = self.kinds();
        kinds.after.clear();
        kinds.lowered += 1;
    }

    pub(super) fn all(&self) -> HashMap<String, After> {
        self.kinds().after.clone()
    }

    fn kinds(&self) -> MutexGuard<'_, Kinds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> After {
        After { ready_at: seconds * 1_000_000, id: 7 }
    }

    fn now() -> Timestamp {
        Timestamp::from_second(100).unwrap()
    }

    #[test]
    fn a_mark_follows_what_is_settled_and_stays_behind_the_present() {
        let marks = Marks::default();
        let start = marks.start("a", None);
        assert_eq!(start.after, After::BEGINNING);
        marks.advance("a", start, at(50), now());
        marks.advance("a", start, at(40), now());
        assert_eq!(marks.start("a", None).after, at(50), "a batch that ends later takes nothing back");
        marks.advance("a", start, at(96), now());
        assert_eq!(marks.start("a", None).after, at(50), "too close to the present");
        assert_eq!(marks.start("b", None).after, After::BEGINNING, "each kind has its own");
    }

    #[test]
    fn a_row_behind_the_mark_lowers_it_also_for_a_claim_under_way() {
        let marks = Marks::default();
        let start = marks.start("a", None);
        marks.advance("a", start, at(50), now());
        let under_way = marks.start("a", Some(at(60).ready_at));
        assert_eq!(under_way.after, at(50), "what is ready later is found from here");
        assert_eq!(marks.start("a", Some(at(50).ready_at)).after, After::BEGINNING);
        marks.advance("a", under_way, at(70), now());
        assert_eq!(marks.start("a", None).after, After::BEGINNING, "it did not see that row");
        marks.advance("a", marks.start("a", None), at(70), now());
        marks.forget_all();
        assert_eq!(marks.start("a", None).after, After::BEGINNING);
    }
}
