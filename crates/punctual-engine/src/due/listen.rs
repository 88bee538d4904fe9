//! Publishes arrivals to listeners before the rows are completed, so each arrives at least once.

use std::panic::AssertUnwindSafe;

use punctual_model::{Arrival, Decided, Decision, Effect, ReasonCode};

use crate::{Claimed, Engine, registration::DecidedBatch};

impl Engine {
    /// Publishes the arrivals of a batch; where a listener refuses one, its decision is not taken.
    pub(super) fn publish(&self, rows: &[Claimed], batch: &mut DecidedBatch) {
        let mut refused = Vec::new();
        for (row, decided) in rows.iter().zip(&mut batch.decided) {
            if let Some(instead) = self.refused_by_listener(decided) {
                *decided = instead.into();
                refused.push(row.id);
            }
        }
        if let (Some(own), false) = (&mut batch.own, refused.is_empty()) {
            own.retain(&|work| !refused.contains(&work));
        }
    }

    /// Publishes what one row decided; returns the decision to take instead where a listener refuses or panics.
    fn refused_by_listener(&self, decided: &Decided) -> Option<Decision> {
        let decision = match &decided.decision {
            Decision::Publish(arrival) => Some(arrival),
            _ => None,
        };
        let beside = decided.effects.iter().filter_map(|effect| match effect {
            Effect::Publish(arrival) => Some(arrival),
            _ => None,
        });
        decision.into_iter().chain(beside).find_map(|arrival| self.publish_one(arrival))
    }

    fn publish_one(&self, arrival: &Arrival) -> Option<Decision> {
        let listeners = AssertUnwindSafe(&self.listeners);
        match std::panic::catch_unwind(|| listeners.publish(arrival)) {
            Ok(Ok(())) => None,
            Ok(Err(fault)) => {
                tracing::warn!(topic = arrival.topic, fault, "a listener refused an arrival");
                Some(Decision::Retry(ReasonCode::ListenerFailed))
            }
            Err(_) => Some(Decision::Hold(ReasonCode::Panic)),
        }
    }
}
