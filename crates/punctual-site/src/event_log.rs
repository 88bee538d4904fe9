//! The site's event log, category Notification: failures to forward and rows that wait long. Success is not logged.
//!
//! An ongoing condition is one entry with a count and a last time, so that an outage of a day is one line and not thousands. A
//! log that cannot be written is no reason to stop forwarding.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use punctual_model::Random;
use punctual_store::{
    Lane, Store, StoreError,
    site_buffer::events::{self, EventRow},
};
use punctual_wire::{limits::SITE_EVENT_DETAIL_MAX, sites::SiteEvent};
use tokio::sync::Mutex;

/// What is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    ForwardFailed,
    LongBuffered,
    Refused,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::ForwardFailed => "forward-failed",
            Self::LongBuffered => "long-buffered",
            Self::Refused => "refused",
        }
    }
}

pub struct EventLog {
    store: Store,
    random: Arc<dyn Random>,
    /// Ongoing conditions, by kind.
    ongoing: Mutex<HashMap<Kind, Ongoing>>,
}

/// An ongoing condition.
struct Ongoing {
    class: String,
    row: EventRow,
}

impl EventLog {
    pub fn new(store: Store, random: Arc<dyn Random>) -> Self {
        Self { store, random, ongoing: Mutex::default() }
    }

    /// Something happened once more. The same class as before is the same event, going on; how it is worded may differ
    /// from one time to the next, and the latest wording is kept.
    pub async fn again(&self, now: Timestamp, kind: Kind, class: &str, detail: &str) {
        let mut ongoing = self.ongoing.lock().await;
        let detail = shortened(detail);
        let event = match ongoing.get(&kind).filter(|before| before.class == class) {
            Some(Ongoing { row: before, .. }) => {
                EventRow { last_at: now.as_microsecond(), count: before.count + 1, detail, ..before.clone() }
            }
            None => self.new_row(now, kind, 1, detail),
        };
        if self.write(&event).await {
            ongoing.insert(kind, Ongoing { class: class.to_owned(), row: event });
        }
    }

    /// The present state of an ongoing condition. Written only where that is news.
    pub async fn stands(&self, now: Timestamp, kind: Kind, count: i64, detail: &str) {
        let mut ongoing = self.ongoing.lock().await;
        let detail = shortened(detail);
        let event = match ongoing.get(&kind).map(|ongoing| &ongoing.row) {
            Some(before) if before.count == count && before.detail == detail => return,
            Some(before) => EventRow { last_at: now.as_microsecond(), count, detail, ..before.clone() },
            None => self.new_row(now, kind, count, detail),
        };
        if self.write(&event).await {
            ongoing.insert(kind, Ongoing { class: String::new(), row: event });
        }
    }

    /// Something happened that is its own event.
    pub async fn once(&self, now: Timestamp, kind: Kind, count: i64, detail: &str) {
        let event = self.new_row(now, kind, count, shortened(detail));
        self.write(&event).await;
    }

    /// The condition has ended; the next occurrence is a new event.
    pub async fn is_over(&self, kind: Kind) {
        self.ongoing.lock().await.remove(&kind);
    }

    fn new_row(&self, now: Timestamp, kind: Kind, count: i64, detail: String) -> EventRow {
        EventRow {
            seq: 0,
            id: self.random.ordered_uuid(now).hyphenated().to_string(),
            category: SiteEvent::NOTIFICATION.to_owned(),
            kind: kind.as_str().to_owned(),
            began_at: now.as_microsecond(),
            last_at: now.as_microsecond(),
            count,
            detail,
        }
    }

    async fn write(&self, event: &EventRow) -> bool {
        let written: Result<(), StoreError> = async {
            let mut tx = self.store.begin(Lane::Settle).await?;
            events::put(&mut tx.conn(), event).await?;
            tx.commit().await
        }
        .await;
        if let Err(error) = &written {
            tracing::warn!(%error, event = event.kind, detail = event.detail, "the event log could not be written");
        }
        written.is_ok()
    }
}

/// An entry as people see it.
pub fn shape(row: EventRow) -> SiteEvent {
    SiteEvent {
        at: events::instant(row.began_at),
        last_at: events::instant(row.last_at),
        id: row.id,
        category: row.category.into(),
        kind: row.kind,
        count: row.count,
        detail: row.detail,
    }
}

/// As much of a detail as an entry takes, cut between characters.
fn shortened(detail: &str) -> String {
    let end = detail.floor_char_boundary(SITE_EVENT_DETAIL_MAX);
    detail[..end].to_owned()
}
