//! PostgreSQL: how its connections are opened, and what it says about keeping what it acknowledged.

mod decode;
mod pool;
mod servers;

use std::sync::Arc;

use sqlx::{
    PgConnection,
    postgres::{PgListener, PgPoolOptions},
};

pub use pool::Held;
pub(super) use pool::Pool;
use servers::Servers;

use super::{Durability, Result, StoreOptions, open::keeps_at_a_power_cut};
use crate::StoreError;

/// A database, with connections apart for each purpose: whoever floods one purpose does not stop the others.
pub(super) struct Postgres {
    servers: Arc<Servers>,
    /// The loops.
    pub(super) engine: Pool,
    /// Requests that write.
    pub(super) intake: Pool,
    /// Pages and lists.
    pub(super) readers: Pool,
    /// Whether the database answers at all.
    pub(super) probes: Pool,
}

impl Postgres {
    /// Half of the connections are for the engine, a quarter each for requests that write and requests that read.
    pub(super) fn open(options: &StoreOptions) -> Result<Self> {
        let deadlines = options.deadlines;
        let servers = Arc::new(Servers::parse(&options.url, deadlines)?);
        let pool = |connections: u32, statement| Pool::new(servers.clone(), connections.max(2), statement);
        let all = options.connections;
        Ok(Self {
            engine: pool(all.div_ceil(2), deadlines.statement),
            intake: pool(all.div_ceil(4), deadlines.statement),
            readers: pool(all.div_ceil(4), deadlines.read),
            probes: pool(2, deadlines.ping),
            servers,
        })
    }

    /// A connection without limits, for what may take long: migrations, settings.
    pub(super) async fn patient(&self) -> Result<PgConnection> {
        self.servers.connect(None).await.map_err(StoreError::connection)
    }

    pub(super) fn close(&self) {
        for pool in [&self.engine, &self.intake, &self.readers, &self.probes] {
            pool.close();
        }
    }

    /// A connection of its own on which other nodes' wake-ups arrive.
    pub(super) async fn listen(&self) -> Result<PgListener> {
        let one = PgPoolOptions::new().max_connections(1).connect_lazy_with(self.servers.present());
        let mut listener = PgListener::connect_with(&one).await.map_err(StoreError::connection)?;
        listener.listen(crate::wake::NOTIFY_CHANNEL).await.map_err(StoreError::connection)?;
        Ok(listener)
    }
}

pub(super) async fn durability(conn: &mut PgConnection) -> Result<Durability> {
    let settings: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, setting FROM pg_settings \
         WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name",
    )
    .fetch_all(&mut *conn)
    .await
    .map_err(StoreError::connection)?;
    let version: String = sqlx::query_scalar("SELECT current_setting('server_version')")
        .fetch_one(&mut *conn)
        .await
        .map_err(StoreError::connection)?;
    // A pooler that is set to ignore the settings of a session drops the limits too.
    let seqscan: String = sqlx::query_scalar("SELECT current_setting('enable_seqscan')")
        .fetch_one(conn)
        .await
        .map_err(StoreError::connection)?;
    if seqscan != "off" {
        return Err(StoreError::Pooled);
    }
    let survives_power_loss = keeps_at_a_power_cut(&settings);
    Ok(Durability { database: "postgres", version, settings, survives_power_loss })
}
