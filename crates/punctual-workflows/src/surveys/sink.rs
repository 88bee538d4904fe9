//! Survey events from CloudEvents: `type` is the event kind, `time` the time of the event.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_engine::{Engine, Event, EventSink, StoredEvent, events::Touched};
use punctual_store::{StoreError, Tx};
use serde_json::Value;

use super::{
    Catalogue,
    ingest::{Asked, Item, Outcome, ingest_in},
};

/// Subscribes to the events that start a trigger of a published survey.
pub struct SurveySink {
    engine: Engine,
    catalogue: Arc<Catalogue>,
}

impl SurveySink {
    pub fn new(engine: Engine, catalogue: Arc<Catalogue>) -> Self {
        Self { engine, catalogue }
    }
}

/// What an event says of whom to ask, and about what; nothing where it names nobody.
fn item(event: &Event) -> Option<Item> {
    let recipient = event.data.get("recipient")?;
    let text = |name: &str| recipient.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Item {
        payload: event.data.get("payload").and_then(Value::as_object).cloned().unwrap_or_default(),
        address: text("address").filter(|address| !address.trim().is_empty())?,
        locale: text("locale"),
        customer_ref: text("customerRef"),
        occurred_at: Some(event.time),
    })
}

impl EventSink for SurveySink {
    /// By what was published when the request was received.
    fn subscribes_to(&self, kind: &str) -> bool {
        self.catalogue.last_seen().subscribes_to(kind)
    }

    fn take<'a>(
        &'a self,
        tx: &'a mut Tx,
        now: Timestamp,
        events: &'a [StoredEvent<'a>],
    ) -> BoxFuture<'a, Result<Vec<Touched>, StoreError>> {
        Box::pin(async move {
            let mut touched = vec![Touched::default(); events.len()];
            // One set for each kind. All events of a request have the same sender, and so the same limits.
            let mut by_kind: BTreeMap<&str, Vec<(usize, Item)>> = BTreeMap::new();
            for (place, StoredEvent { event, .. }) in events.iter().enumerate() {
                by_kind.entry(&event.kind).or_default().extend(item(event).map(|item| (place, item)));
            }
            for (kind, own) in by_kind {
                let items: Vec<&Item> = own.iter().map(|(_, item)| item).collect();
                let units = events.first().and_then(|one| one.event.business_units.as_deref());
                let random = self.engine.random.as_ref();
                let asked = Asked::Kind(kind);
                let done = ingest_in(tx, now, random, &self.catalogue, &asked, units, &items).await?;
                for ((place, _), outcome) in own.iter().zip(&done) {
                    touched[*place] = counted(outcome);
                }
            }
            Ok(touched)
        })
    }
}

fn counted(outcome: &Outcome) -> Touched {
    let Outcome::Matched(made) = outcome else { return Touched::default() };
    let created = made.iter().filter(|made| made.created).count() as u64;
    Touched { created, unchanged: made.len() as u64 - created, ..Touched::default() }
}
