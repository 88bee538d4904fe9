//! Low-water marks: where claims start. A settled row leaves a dead entry in the index of ready rows. As long as a snapshot is
//! open (a dump, a replica, an idle transaction), PostgreSQL cannot remove it, and every claim from the beginning of the index
//! would read all dead entries again. A node therefore keeps a mark for each kind of work, and for each channel and priority of
//! messages: the last claimed row. Claims start after it.
//!
//! A row that becomes ready before the mark is not lost: a write in this process, or a notification from another node, lowers
//! the marks, and every sweep and every claim without a result start at the beginning again.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_store::After;

use crate::config::earlier;

/// How far behind the present a mark stays: rows that others are committing lie there.
const BEHIND: Duration = Duration::from_secs(5);

/// A channel and a priority.
pub(crate) type DeliveryLane = (String, i64);

pub(crate) struct Marks<K>(Mutex<Places<K>>);

struct Places<K> {
    /// Counts what lowered a mark: a claim that was under way meanwhile did not see the rows in question.
    lowered: u64,
    after: HashMap<K, After>,
}

/// Where one claim starts.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) after: After,
    lowered: u64,
}

impl<K> Default for Marks<K> {
    fn default() -> Self {
        Self(Mutex::new(Places { lowered: 0, after: HashMap::new() }))
    }
}

impl<K: Clone + Eq + Hash> Marks<K> {
    /// Where a claim starts, after what was written meanwhile with this instant or later.
    pub(crate) fn start(&self, of: &K, written: Option<i64>) -> Start {
        let mut places = self.places();
        if let Some(written) = written {
            let before = places.after.len();
            places.after.retain(|_, after| after.ready_at < written);
            places.lowered += u64::from(places.after.len() < before);
        }
        Start { after: places.after.get(of).copied().unwrap_or(After::BEGINNING), lowered: places.lowered }
    }

    /// What is ready before this row, itself included, has been taken.
    pub(crate) fn advance(&self, of: &K, start: Start, last: After, now: Timestamp) {
        let mut places = self.places();
        if places.lowered != start.lowered || last.ready_at > earlier(now, BEHIND).as_microsecond() {
            return;
        }
        let mark = places.after.entry(of.clone()).or_insert(last);
        *mark = last.max(*mark);
    }

    /// The next claim of these starts at the beginning.
    pub(crate) fn forget(&self, which: impl Fn(&K) -> bool) {
        let mut places = self.places();
        let before = places.after.len();
        places.after.retain(|key, _| !which(key));
        places.lowered += u64::from(places.after.len() < before);
    }

    /// The next claim of all of them starts at the beginning.
    pub(crate) fn forget_all(&self) {
        let mut places = self.places();
        places.after.clear();
        places.lowered += 1;
    }

    pub(crate) fn all(&self) -> HashMap<K, After> {
        self.places().after.clone()
    }

    fn places(&self) -> MutexGuard<'_, Places<K>> {
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
        let marks = Marks::<&str>::default();
        let start = marks.start(&"a", None);
        assert_eq!(start.after, After::BEGINNING);
        marks.advance(&"a", start, at(50), now());
        marks.advance(&"a", start, at(40), now());
        assert_eq!(marks.start(&"a", None).after, at(50), "a batch that ends later takes nothing back");
        marks.advance(&"a", start, at(96), now());
        assert_eq!(marks.start(&"a", None).after, at(50), "too close to the present");
        assert_eq!(marks.start(&"b", None).after, After::BEGINNING, "each kind has its own");
    }

    #[test]
    fn a_row_behind_the_mark_lowers_it_also_for_a_claim_under_way() {
        let marks = Marks::<&str>::default();
        let start = marks.start(&"a", None);
        marks.advance(&"a", start, at(50), now());
        let under_way = marks.start(&"a", Some(at(60).ready_at));
        assert_eq!(under_way.after, at(50), "what is ready later is found from here");
        assert_eq!(marks.start(&"a", Some(at(50).ready_at)).after, After::BEGINNING);
        marks.advance(&"a", under_way, at(70), now());
        assert_eq!(marks.start(&"a", None).after, After::BEGINNING, "it did not see that row");
        marks.advance(&"a", marks.start(&"a", None), at(70), now());
        marks.forget_all();
        assert_eq!(marks.start(&"a", None).after, After::BEGINNING);
    }
}
