//! What callers hold: a transaction that writes, a connection that reads, a LISTEN connection.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use punctual_boxed::boxed;
use sqlx::postgres::PgListener;

use super::{
    Conn, Faults, Result, Sql, Store,
    args::args,
    deadline::{SQLITE, within},
    postgres::Held,
    sqlite::{Reading, Turn},
};
use crate::{
    StoreError,
    quotas::{self, Counted, Quotas},
    wake::Stage,
    work::AskedFor,
};

/// An open transaction. Dropped without `commit` it changes nothing.
pub struct Tx {
    open: Open,
    faults: Faults,
    /// The earliest instant at which a row written here becomes ready, for each stage.
    raised: [Option<i64>; 2],
    asked: Option<Box<AskedFor>>,
    /// Rows for units with a quota.
    counted: BTreeMap<(String, String), Counted>,
    store: Store,
}

/// Whether a commit waits until the disk has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    /// It outlives a power cut.
    Disk,
    /// It outlives the process. About 0.3 ms less than a commit that waits for the disk.
    Process,
}

pub(super) enum Open {
    Sqlite(Turn),
    Postgres(Held),
}

const NOTIFY: Sql = Sql::each("wake.notify", "SELECT 1", "SELECT pg_notify('punctual_ready', $1)");

impl Tx {
    pub(super) fn new(store: Store, open: Open, faults: Faults) -> Self {
        Self { open, faults, raised: [None; 2], asked: None, counted: BTreeMap::new(), store }
    }

    pub fn conn(&mut self) -> Conn<'_> {
        match &mut self.open {
            Open::Sqlite(turn) => Conn::Sqlite(turn.thread(), &self.faults),
            Open::Postgres(held) => Conn::Postgres(held, &self.faults),
        }
    }

    /// Says that this transaction writes a row that is ready for `stage` at `ready_at`; the wake-up is raised on commit.
    pub fn raise(&mut self, stage: Stage, ready_at: Timestamp) {
        let slot = &mut self.raised[stage as usize];
        let at = ready_at.as_microsecond();
        *slot = Some(slot.map_or(at, |earlier| earlier.min(at)));
    }

    /// Says in which traces the rows that are made here were asked for.
    pub fn asked_for(&mut self, asked: AskedFor) {
        self.asked = (!asked.is_empty()).then(|| Box::new(asked));
    }

    /// The traces in which rows are asked for; nothing where none is recorded.
    pub fn asked(&self) -> Option<&AskedFor> {
        self.asked.as_deref()
    }

    /// Says that this transaction inserts a row for a business unit. It is counted on commit where the unit has a quota.
    pub fn count_row(&mut self, unit: Option<&str>, now: Timestamp) {
        let Some(unit) = unit else { return };
        if let Some(date) = self.store.quotas().counts(unit, now) {
            let counted = self.counted.entry((unit.to_owned(), date)).or_default();
            counted.accepted += 1;
            counted.at = now.as_microsecond();
        }
    }

    /// What this node knows of the quotas of business units.
    pub fn quotas(&self) -> Arc<Quotas> {
        self.store.quotas().clone()
    }

    /// Skip locked rows or wait for them: the same truth, another speed.
    pub(crate) fn without_skip_locked(&self) -> bool {
        self.store.without_skip_locked()
    }

    /// Ends the transaction now; dropping it does so a little later. One that cannot be rolled back has lost its
    /// connection, and with it all that it did.
    #[boxed]
    pub async fn rollback(self) {
        match self.open {
            // Queued ahead of whatever is begun next.
            Open::Sqlite(turn) => drop(turn),
            Open::Postgres(transaction) => {
                if let Err(error) = transaction.rollback().await {
                    tracing::debug!(%error, "a rollback found no connection");
                }
            }
        }
    }

    #[boxed]
    pub async fn commit(mut self) -> Result<()> {
        let counted = std::mem::take(&mut self.counted);
        if !counted.is_empty() {
            quotas::add(&mut self.conn(), &counted).await?;
        }
        if self.store.notifies_nodes() && matches!(self.open, Open::Postgres(_)) {
            // At most one a commit: NOTIFY takes a lock that orders all commits that use it.
            if let Some(earliest) = self.raised.iter().flatten().min() {
                let text = earliest.to_string();
                self.conn().execute(&NOTIFY, args![text]).await?;
            }
        }
        self.faults.before("commit")?;
        match self.open {
            Open::Sqlite(turn) => within(SQLITE, turn.commit()).await.map_err(StoreError::commit)?,
            Open::Postgres(transaction) => transaction.commit().await.map_err(StoreError::commit)?,
        }
        self.store.quotas().committed(&counted);
        self.faults.after("commit")?;
        for stage in [Stage::Work, Stage::Delivery] {
            if let Some(at) = self.raised[stage as usize] {
                self.store.wake().raise(stage, at);
            }
        }
        Ok(())
    }
}

/// A LISTEN connection: receives the wake-ups of other nodes.
pub struct WakeListener(pub(super) PgListener);

impl WakeListener {
    /// Returns the payload of the next wake-up; an error when the connection is lost.
    #[boxed]
    pub async fn recv(&mut self) -> Result<String> {
        let notification = self.0.recv().await.map_err(StoreError::connection)?;
        Ok(notification.payload().to_owned())
    }
}

/// A connection for reading.
pub enum Reader {
    Sqlite(Reading, Faults),
    Postgres(Held, Faults),
}

impl Reader {
    pub fn conn(&mut self) -> Conn<'_> {
        match self {
            Reader::Sqlite(reading, faults) => Conn::Sqlite(reading.thread(), faults),
            Reader::Postgres(conn, faults) => Conn::Postgres(conn, faults),
        }
    }
}

super::statements![NOTIFY];
