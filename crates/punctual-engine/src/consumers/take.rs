//! Deduplicates events by source and id; a failing event does not affect the others.

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{
    Lane, StoreError, Tx,
    known_events::{self, EventName},
};

use crate::{
    Actor, Engine, EngineError, EventSinks,
    confine::{Pieces, guarded},
    due::chain,
    events::{ATTEMPTS, EventTaken, IncomingEvent, take_in},
};

/// The outcome of an event that may have come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenOnce {
    Now(EventTaken),
    /// It was taken before, and nothing was done.
    Before,
    /// It could not be taken, not even by itself; the log says why.
    Failed,
}

/// What an event is known within: what one unit sends never hides what another does.
fn scope(by: &Actor) -> String {
    by.units.as_ref().map(|units| units.join(",")).unwrap_or_default()
}

impl Engine {
    /// Takes events of one sender that come from where they may come again; returns an outcome for each. They are taken in one
    /// transaction, unless one of them makes it fail: then the others are taken without it.
    #[boxed]
    pub async fn take_events_once_each(
        &self,
        by: &Actor,
        sinks: &EventSinks,
        incoming: &[IncomingEvent],
    ) -> Result<Vec<TakenOnce>, EngineError> {
        let scope = scope(by);
        let numbered: Vec<(usize, &IncomingEvent)> = incoming.iter().enumerate().collect();
        let mut pieces = Pieces::of(&numbered);
        while let Some(piece) = pieces.next() {
            let result = guarded(self.take_piece(&scope, sinks, piece)).await;
            pieces.worked(piece, result)?;
        }
        let mut outcomes = vec![TakenOnce::Failed; incoming.len()];
        for (index, taken) in pieces.done.into_iter().flatten() {
            outcomes[index] = taken;
        }
        for ((index, _), error) in pieces.failed {
            let EventName { source, event_id } = incoming[*index].name();
            tracing::error!(event.source = source, event.id = event_id, error = %chain(&error), "an event could not be stored");
        }
        Ok(outcomes)
    }

    /// Deadlocks and serialization failures are retried, as for events of requests.
    async fn take_piece(
        &self,
        scope: &str,
        sinks: &EventSinks,
        piece: &[(usize, &IncomingEvent)],
    ) -> Result<Vec<(usize, TakenOnce)>, EngineError> {
        let mut attempts = 1;
        loop {
            let now = self.clock.now();
            let taken = async {
                let mut tx = self.store.begin(Lane::Intake).await?;
                let taken = take_new_in(&mut tx, now, scope, sinks, piece).await?;
                tx.commit().await?;
                Ok::<_, StoreError>(taken)
            };
            match taken.await {
                Err(error) if error.is_collision() && attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(error.into()),
                Ok(taken) => {
                    self.count_planned(taken.iter().filter_map(|(_, one)| match one {
                        TakenOnce::Now(taken) => Some(taken),
                        TakenOnce::Before | TakenOnce::Failed => None,
                    }));
                    return Ok(taken);
                }
            }
        }
    }
}

/// Takes those that are not known, in a transaction that the caller commits.
async fn take_new_in(
    tx: &mut Tx,
    now: Timestamp,
    scope: &str,
    sinks: &EventSinks,
    piece: &[(usize, &IncomingEvent)],
) -> Result<Vec<(usize, TakenOnce)>, StoreError> {
    let distinct: BTreeSet<EventName> = piece.iter().map(|(_, event)| event.name()).collect();
    let distinct: Vec<EventName> = distinct.into_iter().collect();
    // In order, so that two nodes with the same events cannot deadlock.
    let new = known_events::remember(&mut tx.conn(), now, scope, &distinct).await?;
    let mut new: HashSet<EventName> = new.into_iter().collect();
    // Of two with the same name in one batch the first is taken.
    let fresh: Vec<bool> = piece.iter().map(|(_, event)| new.remove(&event.name())).collect();
    let own: Vec<IncomingEvent> = piece
        .iter()
        .zip(&fresh)
        .filter(|(_, fresh)| **fresh)
        .map(|((_, event), _)| (*event).clone())
        .collect();
    let taken = if own.is_empty() { Vec::new() } else { take_in(tx, now, sinks, &own).await? };
    // What is refused was not taken: when it comes again, it is refused again.
    let refused = own.iter().zip(&taken).filter(|(_, taken)| **taken == EventTaken::NotYours);
    let refused: Vec<EventName> = refused.map(|(event, _)| event.name()).collect();
    if !refused.is_empty() {
        known_events::undo(&mut tx.conn(), scope, &refused).await?;
    }
    let mut taken = taken.into_iter();
    let outcome = |fresh: bool| {
        if fresh { taken.next().map_or(TakenOnce::Failed, TakenOnce::Now) } else { TakenOnce::Before }
    };
    let outcomes: Vec<TakenOnce> = fresh.into_iter().map(outcome).collect();
    Ok(piece.iter().map(|(index, _)| *index).zip(outcomes).collect())
}
