//! Source states entered by people: the same events as those of programs, plus an audit entry with the person.

use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{Lane, audit, sources};

use super::{Actor, CommandError, Seen};
use crate::{
    Engine, EngineError, EventSinks,
    events::{ATTEMPTS, EventTaken, IncomingEvent, take_in},
};

impl Engine {
    /// Takes states of sources, and what follows from them, in one transaction with an entry for each that was taken. Sources that
    /// somebody else changed since they were seen are left as they are.
    #[boxed]
    pub async fn enter_sources(
        &self,
        by: &Actor,
        sinks: &EventSinks,
        seen: Seen,
        incoming: &[IncomingEvent],
    ) -> Result<Vec<EventTaken>, CommandError> {
        let mut attempts = 1;
        loop {
            match self.enter_sources_once(by, sinks, seen, incoming).await {
                Err(CommandError::Engine(EngineError::Store(error)))
                    if error.is_collision() && attempts < ATTEMPTS =>
                {
                    attempts += 1;
                }
                done => return done,
            }
        }
    }

    async fn enter_sources_once(
        &self,
        by: &Actor,
        sinks: &EventSinks,
        seen: Seen,
        incoming: &[IncomingEvent],
    ) -> Result<Vec<EventTaken>, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        if seen != Seen::Anything {
            sources::join_writers(&mut tx.conn()).await?;
            for change in incoming.iter().filter_map(IncomingEvent::change) {
                let key = (change.source_type.as_str(), change.source_id.as_str());
                let stored = sources::lock(&mut tx.conn(), &[key]).await?.pop();
                // One that is gone can be entered again.
                let stored = stored.filter(|row| !row.deleted || seen != Seen::Nothing);
                seen.check(stored.map(|row| row.version), &format!("{}/{}", key.0, key.1))?;
            }
        }
        let taken = take_in(&mut tx, now, sinks, incoming).await?;
        let accepted =
            incoming.iter().zip(&taken).filter(|(_, taken)| matches!(taken, EventTaken::Accepted { .. }));
        let entries: Vec<audit::Entry> = accepted
            .filter_map(|(one, _)| one.change())
            .map(|change| {
                let action = if change.deleted { AuditAction::Delete } else { AuditAction::Put };
                let id = format!("{}/{}", change.source_type, change.source_id);
                let entry = audit::Entry::new(action, "source", id, change.business_unit.as_deref());
                audit::Entry { actor: by.name().to_owned(), ..entry }
            })
            .collect();
        audit::append(&mut tx.conn(), now, &entries).await?;
        tx.commit().await?;
        self.count_planned(&taken);
        Ok(taken)
    }
}
