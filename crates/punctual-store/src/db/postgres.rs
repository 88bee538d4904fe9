//! PostgreSQL: how its connections are opened, and what it says about keeping what it acknowledged.

mod decode;
mod pool;
mod servers;

use std::sync::Arc;

use sqlx::{
    PgConnection,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};

pub use pool::Held;
pub(super) use pool::Pool;
use servers::Servers;

use super::{Durability, Result, StoreOptions, open::keeps_at_a_power_cut};
use crate::StoreError;

/// A database, with connections apart for each purpose: whoever floods one purpose does not stop the others.
pub(super) struct Postgres {
    servers: Arc<Servers>,
    /// Where LISTEN works, if not at the address of the database.
    listen_at: Option<PgConnectOptions>,
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
        let listen_at = options.listen_url.as_ref().map(|url| url.parse().map_err(|_| StoreError::ListenUrl));
        let pool = |connections: u32, statement| Pool::new(servers.clone(), connections.max(2), statement);
        let all = options.connections;
        Ok(Self {
            engine: pool(all.div_ceil(2), deadlines.statement),
            intake: pool(all.div_ceil(4), deadlines.statement),
            readers: pool(all.div_ceil(4), deadlines.read),
            probes: pool(2, deadlines.ping),
            listen_at: listen_at.transpose()?,
            servers,
        })
    }

    /// Finds out whether a pooler stands before the database. The first thing to do.
    pub(super) async fn find_pooler(&self) -> Result<()> {
        self.servers.find_pooler().await.map_err(StoreError::connection)?;
        if self.servers.are_pooled() && self.listen_at.is_none() {
            tracing::warn!(
                "the database's address leads to a connection pooler, over which nodes cannot wake each other; rows are \
                 looked for every second. Set listen_url to the address of PostgreSQL itself"
            );
        }
        Ok(())
    }

    /// Whether wake-ups of other nodes arrive here.
    pub(super) fn listens_to_others(&self) -> bool {
        self.listen_at.is_some() || !self.servers.are_pooled()
    }

    /// The text that begins a transaction without limits, on [`Self::patient`].
    pub(super) fn patient_begin(&self) -> String {
        self.servers.begin(None)
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
        let at = self.listen_at.clone().unwrap_or_else(|| self.servers.present());
        let one = PgPoolOptions::new().max_connections(1).connect_lazy_with(at);
        let mut listener = PgListener::connect_with(&one).await.map_err(StoreError::connection)?;
        listener.listen(crate::wake::NOTIFY_CHANNEL).await.map_err(StoreError::connection)?;
        Ok(listener)
    }
}

const SETTINGS_READ_BACK: &str = "SELECT name, setting FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'enable_seqscan', 'server_version')
    ORDER BY name";

pub(super) async fn durability(held: &mut Held) -> Result<Durability> {
    let read = async |conn: &mut PgConnection| {
        let settings = sqlx::query_as::<_, (String, String)>(SETTINGS_READ_BACK);
        settings.persistent(false).fetch_all(conn).await
    };
    let mut settings = held.run(read).await.map_err(StoreError::connection)?;
    let mut taken = |name: &str| {
        let at = settings.iter().position(|(known, _)| known == name)?;
        Some(settings.remove(at).1)
    };
    let (version, seqscan) = (taken("server_version").unwrap_or_default(), taken("enable_seqscan"));
    // Something between us and the server drops what transactions bring along: it drops their limits too.
    if seqscan.as_deref() != Some("off") {
        return Err(StoreError::Pooled);
    }
    let survives_power_loss = keeps_at_a_power_cut(&settings);
    Ok(Durability { database: "postgres", version, settings, survives_power_loss })
}
