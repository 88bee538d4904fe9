//! Connections to PostgreSQL, kept for reuse.
//!
//! A pool of our own, because of what happens when the network goes silent: every wait has a deadline, a connection that
//! failed is closed and never reused, and after one failure the others are checked before they are used again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{Connection, PgConnection, raw_sql};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::servers::{Servers, begin};
use crate::{
    db::{deadline::within, tx::Sync},
    error::DriverError,
};

// A plan is made for the size that its tables have then, and stays while they grow: one that reads an empty table whole would read it
// when it has a million rows.
const FORGET_PLANS: &str = "DISCARD PLANS";

/// Some connections for one purpose, so that no purpose takes the connections of another.
#[derive(Clone)]
pub(in crate::db) struct Pool(Arc<Inner>);

struct Inner {
    servers: Arc<Servers>,
    slots: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
    statement: Duration,
}

/// A connection that nobody uses.
struct Idle {
    conn: PgConnection,
    /// How many failures there had been when it last worked.
    failures: u64,
    planned: Instant,
}

impl Pool {
    pub(super) fn new(servers: Arc<Servers>, connections: u32, statement: Duration) -> Self {
        let slots = Arc::new(Semaphore::new(usize::try_from(connections).unwrap_or(1)));
        Self(Arc::new(Inner { servers, slots, idle: Mutex::default(), statement }))
    }

    /// A connection that works, as far as anybody knows.
    async fn acquire(&self) -> Result<Held, DriverError> {
        let slot = within(self.0.servers.deadlines.acquire, async {
            self.0.slots.clone().acquire_owned().await.map_err(|_| DriverError::Closed)
        })
        .await?;
        let failures = self.0.servers.failures();
        while let Some(mut idle) = self.take_idle() {
            if idle.failures == failures
                || within(self.0.servers.deadlines.ping, idle.conn.ping()).await.is_ok()
            {
                return Ok(self.hold(idle.conn, idle.planned, slot));
            }
        }
        let conn = self.0.servers.connect(Some(self.0.statement)).await?;
        Ok(self.hold(conn, now(), slot))
    }

    /// A connection for reading. Behind a pooler it is a transaction: a statement is sent in two parts, and outside of one
    /// they may meet two servers.
    pub(in crate::db) async fn read(&self) -> Result<Held, DriverError> {
        if self.0.servers.are_pooled() {
            return self.begin(Sync::Disk).await;
        }
        let mut held = self.acquire().await?;
        if held.has_old_plans() {
            held.run(async |conn| raw_sql(FORGET_PLANS).execute(conn).await.map(drop)).await?;
        }
        Ok(held)
    }

    /// A connection with an open transaction.
    pub(in crate::db) async fn begin(&self, sync: Sync) -> Result<Held, DriverError> {
        let mut held = self.acquire().await?;
        let mut text = self.0.servers.begin(Some(self.0.statement));
        match sync {
            Sync::Disk => {}
            Sync::Process => text.push_str("; SET LOCAL synchronous_commit = off"),
        }
        // In the round trip that there is anyway.
        if held.has_old_plans() {
            text = format!("{FORGET_PLANS}; {text}");
        }
        held.run(async |conn| begin(conn, text).await).await?;
        held.in_transaction = true;
        Ok(held)
    }

    /// Closes what is idle, and lets nobody acquire a connection any more.
    pub(in crate::db) fn close(&self) {
        self.0.slots.close();
        self.idle().clear();
    }

    fn hold(&self, conn: PgConnection, planned: Instant, slot: OwnedSemaphorePermit) -> Held {
        Held {
            conn: Some(conn),
            pool: self.clone(),
            planned,
            in_transaction: false,
            usable: true,
            _slot: slot,
        }
    }

    fn take_idle(&self) -> Option<Idle> {
        self.idle().pop()
    }

    fn keep(&self, conn: PgConnection, planned: Instant) {
        if !self.0.slots.is_closed() {
            self.idle().push(Idle { conn, failures: self.0.servers.failures(), planned });
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how old a plan is has nothing to do with the time of an installation"
)]
fn now() -> Instant {
    Instant::now()
}

/// A connection in use. Dropped, it goes back to its pool, after a rollback where a transaction is open; one that failed,
/// or whose last statement was given up, is closed.
pub struct Held {
    /// Always there until it is dropped.
    conn: Option<PgConnection>,
    pool: Pool,
    /// No plan of its statements is older.
    planned: Instant,
    in_transaction: bool,
    usable: bool,
    /// Given back when the connection is: the last field to be dropped.
    _slot: OwnedSemaphorePermit,
}

impl Held {
    /// Whether statements may be prepared on the session and kept.
    pub(in crate::db) fn keeps_statements(&self) -> bool {
        !self.pool.0.servers.are_pooled()
    }

    /// Whether its plans are to be made anew; from now on they are as good as new.
    fn has_old_plans(&mut self) -> bool {
        let is_old = self.keeps_statements() && self.planned.elapsed() >= self.pool.0.servers.deadlines.plan;
        if is_old {
            self.planned = now();
        }
        is_old
    }

    /// Runs something on the connection, within the deadline.
    pub(in crate::db) async fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, DriverError> {
        let limit = self.pool.0.statement;
        let conn = self.conn.as_mut().filter(|_| self.usable).ok_or(DriverError::Closed)?;
        // Whoever gives up in the middle leaves a connection in an unknown state.
        self.usable = false;
        let done = within(limit, work(conn)).await;
        self.usable = done.as_ref().err().is_none_or(|error| !error.ends_connection());
        if !self.usable {
            self.pool.0.servers.failed();
        }
        done
    }

    pub(in crate::db) async fn commit(mut self) -> Result<(), DriverError> {
        self.run(async |conn| raw_sql("COMMIT").execute(conn).await.map(drop)).await?;
        self.in_transaction = false;
        Ok(())
    }

    pub(in crate::db) async fn rollback(mut self) -> Result<(), DriverError> {
        self.run(async |conn| raw_sql("ROLLBACK").execute(conn).await.map(drop)).await?;
        self.in_transaction = false;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(mut conn) = self.conn.take().filter(|_| self.usable) else { return };
        if !self.in_transaction {
            return self.pool.keep(conn, self.planned);
        }
        // Without a runtime the process ends, and the server rolls back by itself.
        let Ok(runtime) = Handle::try_current() else { return };
        let (pool, planned) = (self.pool.clone(), self.planned);
        runtime.spawn(async move {
            if within(pool.0.servers.deadlines.ping, raw_sql("ROLLBACK").execute(&mut conn)).await.is_ok() {
                pool.keep(conn, planned);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::deadline::Deadlines;

    /// How many entries of a table with a hundred thousand rows a statement reads that was planned when the table was empty, on a
    /// connection that keeps plans for so long.
    async fn read_of_a_grown_table(plan: Duration) -> i64 {
        let url =
            std::env::var("PUNCTUAL_TEST_POSTGRES").expect("`cargo xtask test` sets PUNCTUAL_TEST_POSTGRES");
        let deadlines = Deadlines { plan, ..Deadlines::default() };
        let pool = Pool::new(Arc::new(Servers::parse(&url, deadlines).unwrap()), 1, deadlines.statement);
        let run = async |text: &'static str| {
            let mut held = pool.begin(Sync::Disk).await.unwrap();
            held.run(async |conn| raw_sql(text).execute(conn).await.map(drop)).await.unwrap();
            held.commit().await.unwrap();
        };
        run("CREATE TEMPORARY TABLE grown (id BIGINT PRIMARY KEY); ANALYZE grown").await;
        let look = async || {
            let mut held = pool.begin(Sync::Disk).await.unwrap();
            let join = "SELECT g.id FROM UNNEST($1::bigint[]) AS r(id) JOIN grown AS g ON g.id = r.id";
            let ids: Vec<i64> = vec![7];
            held.run(async |conn| sqlx::query(join).bind(ids).execute(conn).await.map(drop)).await.unwrap();
            let read = "SELECT (COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0))::bigint
                        FROM pg_stat_xact_user_tables WHERE relid = 'grown'::regclass";
            let read = held.run(async |conn| sqlx::query_scalar::<_, i64>(read).fetch_one(conn).await).await;
            held.commit().await.unwrap();
            read.unwrap()
        };
        // After five runs with their values a plan is kept.
        for _ in 0..8 {
            look().await;
        }
        run("INSERT INTO grown SELECT * FROM GENERATE_SERIES(1, 100000)").await;
        look().await
    }

    #[tokio::test]
    async fn a_plan_made_for_an_empty_table_is_forgotten() {
        let (kept, forgotten) = (Duration::from_secs(3600), Duration::ZERO);
        assert!(read_of_a_grown_table(kept).await >= 100_000, "the plan is a bad one where it is kept");
        assert!(read_of_a_grown_table(forgotten).await < 100);
    }
}
