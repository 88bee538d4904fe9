//! The history checker: it compares what was acknowledged with what was claimed and received, and knows nothing of the
//! engine. Trials of the whole binary are judged by [`judge`], on what [`stored`] reads from their database.

pub mod judge;
pub mod stored;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use punctual_model::Outgoing;

/// Claims as workers saw them: `(row, token)`.
#[derive(Debug, Default)]
pub struct Claims(Mutex<Vec<(i64, i64)>>);

impl Claims {
    pub fn log(&self, claims: impl IntoIterator<Item = (i64, i64)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(claims);
    }

    /// At most one claim of each row and version, whoever logged it. Returns how many claims there were.
    ///
    /// # Panics
    /// When two workers held one version of one row.
    pub fn check(&self) -> usize {
        let claims = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = HashSet::with_capacity(claims.len());
        let twice: Vec<&(i64, i64)> = claims.iter().filter(|claim| !seen.insert(**claim)).collect();
        assert!(
            twice.is_empty(),
            "{} of {} claims were of a version already claimed: {twice:?}",
            twice.len(),
            claims.len()
        );
        claims.len()
    }

    /// How often each row was claimed.
    pub fn per_row(&self) -> BTreeMap<i64, usize> {
        let mut rows = BTreeMap::new();
        for (row, _) in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            *rows.entry(*row).or_default() += 1;
        }
        rows
    }
}

/// Messages as a receiver got them.
#[derive(Debug, Default)]
pub struct Receiver(Mutex<Received>);

#[derive(Debug, Default)]
struct Received {
    /// How often each stable message id came.
    by_message: HashMap<String, usize>,
    /// The message ids of each notification and target; more than one means that the id is not stable.
    ids: HashMap<(String, String), HashSet<String>>,
    attempts: HashSet<(String, i64)>,
}

/// What a receiver's log comes to, against what was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub sends: usize,
    /// Acknowledged and never received.
    pub lost: usize,
    /// Received more often than once, counted raw.
    pub duplicates: usize,
    /// Received by a receiver that drops repeats of a message id, more often than once.
    pub duplicates_after_id_check: usize,
    /// One attempt sent twice: the intent was not written before the call.
    pub repeated_attempts: usize,
}

impl Receiver {
    pub fn log(&self, message: &Outgoing) {
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *received.by_message.entry(message.message_id.clone()).or_default() += 1;
        let of = (message.notification.to_string(), message.address.clone());
        received.ids.entry(of).or_default().insert(message.message_id.clone());
        let attempt = (message.message_id.clone(), message.attempt);
        received.attempts.insert(attempt);
    }

    /// How many sends were received.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_message.values().sum()
    }

    /// Compares with the `(notification, target)` pairs that were acknowledged.
    pub fn check<'a>(&self, acknowledged: impl IntoIterator<Item = (&'a str, &'a str)>) -> Verdict {
        let received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sends: usize = received.by_message.values().sum();
        let lost = acknowledged
            .into_iter()
            .filter(|(id, target)| !received.ids.contains_key(&((*id).to_owned(), (*target).to_owned())))
            .count();
        Verdict {
            sends,
            lost,
            duplicates: sends - received.by_message.len(),
            duplicates_after_id_check: received.ids.values().map(|ids| ids.len() - 1).sum(),
            repeated_attempts: sends - received.attempts.len(),
        }
    }
}
