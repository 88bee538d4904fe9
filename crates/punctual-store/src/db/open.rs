//! Opening a store, its transactions, and the durability it was really given.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use sqlx::{
    ConnectOptions, PgPool, Postgres, Sqlite, SqlitePool, Transaction,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{
    Conn, Faults, Lane, Result, Sql,
    args::args,
    gate::{Gate, Permit},
};
use crate::{
    StoreError,
    migrate::{self, Schema},
    wake::{Stage, Wake},
};

/// How a store is opened. The defaults are what `serve` ships with.
#[derive(Clone)]
pub struct StoreOptions {
    /// `sqlite:FILE` or `postgres://…`.
    pub url: String,
    /// What the database is for.
    pub schema: Schema,
    /// Connections to PostgreSQL; SQLite has one writer and a few readers whatever this says.
    pub connections: u32,
    /// Run although the database may lose acknowledged rows at a power cut.
    pub accept_weak_durability: bool,
    /// Claims wait for each other instead of skipping locked rows. Only slower; for proving that.
    pub without_skip_locked: bool,
    /// This node has no workers, so others must be told of every row.
    pub tells_others: bool,
    pub faults: Faults,
}

impl StoreOptions {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: Schema::Pipeline,
            connections: 12,
            accept_weak_durability: false,
            without_skip_locked: false,
            tells_others: false,
            faults: Faults::default(),
        }
    }
}

/// What the database says about keeping what it acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Durability {
    pub database: &'static str,
    pub version: String,
    /// Each setting that matters, as read back.
    pub settings: Vec<(String, String)>,
    /// Whether an acknowledged row survives a power cut.
    pub survives_power_loss: bool,
}

/// The database, whichever it is. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    backend: Backend,
    wake: Wake,
    options: StoreOptions,
    durability: Durability,
}

enum Backend {
    Sqlite { writer: SqlitePool, readers: SqlitePool, gate: Gate, file: PathBuf, _owner: File },
    Postgres { pool: PgPool },
}

/// SQLite readers: enough for pages and status answers beside the writer.
const SQLITE_READERS: u32 = 4;
/// A WAL this large is folded back with the writer held, because under steady writes it never shrinks by itself.
const WAL_BYTES_TO_TRUNCATE: u64 = 64 << 20;

impl Store {
    /// Opens the database, brings its schema up to date and refuses settings that could lose acknowledged rows.
    pub async fn open(options: StoreOptions, now: Timestamp) -> Result<Self> {
        let backend = if let Some(file) = options.url.strip_prefix("sqlite:") {
            open_sqlite(Path::new(file.trim_start_matches("//"))).await?
        } else if options.url.starts_with("postgres://") || options.url.starts_with("postgresql://") {
            open_postgres(&options).await?
        } else {
            return Err(StoreError::Url);
        };
        let mut inner = Inner { backend, wake: Wake::default(), durability: Durability::unknown(), options };
        migrate::run(&inner.backend.migrator(), inner.options.schema, now).await?;
        inner.durability = inner.backend.durability().await?;
        if !inner.durability.survives_power_loss && !inner.options.accept_weak_durability {
            return Err(StoreError::WeakDurability(inner.durability.settings));
        }
        Ok(Self(Arc::new(inner)))
    }

    /// A transaction that writes. On SQLite it waits for the one writer, settles first.
    pub async fn begin(&self, lane: Lane) -> Result<Tx> {
        let faults = self.0.options.faults.clone();
        let open = match &self.0.backend {
            Backend::Sqlite { writer, gate, .. } => {
                let permit = gate.enter(lane).await;
                let transaction = match writer.begin_with("BEGIN IMMEDIATE").await {
                    Ok(transaction) => transaction,
                    Err(_) => {
                        // A full disk ends a transaction behind the driver's back, which then believes for ever that
                        // it is still open: a new connection knows nothing of it.
                        drop(writer.acquire().await.map_err(StoreError::connection)?.detach());
                        writer.begin_with("BEGIN IMMEDIATE").await.map_err(StoreError::connection)?
                    }
                };
                Open::Sqlite { transaction, _permit: permit }
            }
            Backend::Postgres { pool } => Open::Postgres(pool.begin().await.map_err(StoreError::connection)?),
        };
        Ok(Tx { open, faults, raised: [None; 2], store: self.clone() })
    }

    /// A connection for reading what is committed.
    pub async fn read(&self) -> Result<Reader> {
        let faults = self.0.options.faults.clone();
        Ok(match &self.0.backend {
            Backend::Sqlite { readers, .. } => {
                Reader::Sqlite(readers.acquire().await.map_err(StoreError::connection)?, faults)
            }
            Backend::Postgres { pool } => {
                Reader::Postgres(pool.acquire().await.map_err(StoreError::connection)?, faults)
            }
        })
    }

    pub fn wake(&self) -> &Wake {
        &self.0.wake
    }

    pub fn durability(&self) -> &Durability {
        &self.0.durability
    }

    /// Whether one process owns the database, so that leases left by a crash can be released at start-up.
    pub fn is_single_process(&self) -> bool {
        matches!(self.0.backend, Backend::Sqlite { .. })
    }

    pub(crate) fn without_skip_locked(&self) -> bool {
        self.0.options.without_skip_locked
    }

    /// A connection that listens for other nodes' wake-ups; none on SQLite, where there are no other nodes.
    pub async fn listener(&self) -> Result<Option<Ear>> {
        match &self.0.backend {
            Backend::Sqlite { .. } => Ok(None),
            Backend::Postgres { pool } => {
                let mut listener =
                    sqlx::postgres::PgListener::connect_with(pool).await.map_err(StoreError::connection)?;
                listener.listen(crate::wake::NOTIFY_CHANNEL).await.map_err(StoreError::connection)?;
                Ok(Some(Ear(listener)))
            }
        }
    }

    /// Folds SQLite's write-ahead log back into the file, off the writer's connection; nothing on PostgreSQL.
    pub async fn checkpoint(&self) -> Result<()> {
        let Backend::Sqlite { readers, gate, file, .. } = &self.0.backend else { return Ok(()) };
        let mut wal = file.clone().into_os_string();
        wal.push("-wal");
        let wal_bytes = std::fs::metadata(&wal).map_or(0, |meta| meta.len());
        let mut conn = readers.acquire().await.map_err(StoreError::connection)?;
        let run = |text| sqlx::query(text);
        if wal_bytes > WAL_BYTES_TO_TRUNCATE {
            // Most is copied without holding anybody; only the rest waits for the writer.
            run("PRAGMA wal_checkpoint(PASSIVE)")
                .execute(&mut *conn)
                .await
                .map_err(StoreError::connection)?;
            let _permit = gate.enter(Lane::Intake).await;
            run("PRAGMA wal_checkpoint(TRUNCATE)")
                .execute(&mut *conn)
                .await
                .map_err(StoreError::connection)?;
        } else if wal_bytes > 0 {
            run("PRAGMA wal_checkpoint(PASSIVE)")
                .execute(&mut *conn)
                .await
                .map_err(StoreError::connection)?;
        }
        Ok(())
    }

    /// Like `checkpoint`, and gives the space of the write-ahead log back to the disk, however small it is.
    pub async fn shrink_log(&self) -> Result<()> {
        let Backend::Sqlite { readers, gate, .. } = &self.0.backend else { return Ok(()) };
        let mut conn = readers.acquire().await.map_err(StoreError::connection)?;
        let _permit = gate.enter(Lane::Intake).await;
        let done = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *conn).await;
        done.map(drop).map_err(StoreError::connection)
    }

    /// Closes every connection; what is committed stays.
    pub async fn close(&self) {
        match &self.0.backend {
            Backend::Sqlite { writer, readers, .. } => {
                readers.close().await;
                writer.close().await;
            }
            Backend::Postgres { pool } => pool.close().await,
        }
    }
}

async fn open_sqlite(file: &Path) -> Result<Backend> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| StoreError::File(folder.to_owned(), e))?;
    }
    let mut lock_file = file.as_os_str().to_owned();
    lock_file.push(".lock");
    let lock_file = PathBuf::from(lock_file);
    let owner = File::create(&lock_file).map_err(|e| StoreError::File(lock_file.clone(), e))?;
    owner.try_lock().map_err(|_| StoreError::Owned(file.to_owned()))?;

    let base = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(false)
        .busy_timeout(Duration::from_secs(10))
        // Checkpoints run on a connection of their own, so that no commit pays for one.
        .pragma("wal_autocheckpoint", "0")
        .pragma("cache_size", "-32768")
        .pragma("temp_store", "MEMORY")
        .row_buffer_size(1024)
        .disable_statement_logging();
    let pool = |connections| {
        SqlitePoolOptions::new()
            .max_connections(connections)
            .min_connections(1)
            .test_before_acquire(false)
            .acquire_timeout(Duration::from_secs(30))
            .idle_timeout(None)
            .max_lifetime(None)
    };
    let damaged = |error: sqlx::Error| StoreError::damaged_or_connection(file, error);
    let writer = pool(1).connect_with(base.clone()).await.map_err(damaged)?;
    let readers = pool(SQLITE_READERS).connect_with(base).await.map_err(damaged)?;
    Ok(Backend::Sqlite { writer, readers, gate: Gate::default(), file: file.to_owned(), _owner: owner })
}

async fn open_postgres(options: &StoreOptions) -> Result<Backend> {
    let connect: PgConnectOptions = options.url.parse().map_err(|_| StoreError::Url)?;
    let connect = connect
        .application_name("punctual")
        // Compiling a plan takes longer than any statement here runs.
        .options([
            ("synchronous_commit", "on"),
            ("jit", "off"),
            ("default_transaction_isolation", "read committed"),
        ])
        .disable_statement_logging();
    let pool = PgPoolOptions::new()
        .max_connections(options.connections)
        .min_connections(1)
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(30))
        .connect_with(connect)
        .await
        .map_err(StoreError::connection)?;
    Ok(Backend::Postgres { pool })
}

impl Backend {
    fn migrator(&self) -> migrate::Migrator<'_> {
        match self {
            Backend::Sqlite { writer, .. } => migrate::Migrator::Sqlite(writer),
            Backend::Postgres { pool } => migrate::Migrator::Postgres(pool),
        }
    }

    async fn durability(&self) -> Result<Durability> {
        let mut settings = Vec::new();
        match self {
            Backend::Sqlite { writer, .. } => {
                for (name, text) in
                    [("journal_mode", "PRAGMA journal_mode"), ("synchronous", "PRAGMA synchronous")]
                {
                    let row = sqlx::query(text).fetch_one(writer).await.map_err(StoreError::connection)?;
                    use sqlx::Row;
                    let value = row
                        .try_get::<String, _>(0)
                        .or_else(|_| row.try_get::<i64, _>(0).map(|n| n.to_string()));
                    settings.push((name.to_owned(), value.map_err(StoreError::connection)?));
                }
                let version: String = sqlx::query_scalar("SELECT sqlite_version()")
                    .fetch_one(writer)
                    .await
                    .map_err(StoreError::connection)?;
                let strong = keeps_at_a_power_cut(&settings);
                Ok(Durability { database: "sqlite", version, settings, survives_power_loss: strong })
            }
            Backend::Postgres { pool } => {
                let rows: Vec<(String, String)> = sqlx::query_as(
                    "SELECT name, setting FROM pg_settings \
                     WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name",
                )
                .fetch_all(pool)
                .await
                .map_err(StoreError::connection)?;
                let version: String = sqlx::query_scalar("SELECT current_setting('server_version')")
                    .fetch_one(pool)
                    .await
                    .map_err(StoreError::connection)?;
                let strong = keeps_at_a_power_cut(&rows);
                Ok(Durability { database: "postgres", version, settings: rows, survives_power_loss: strong })
            }
        }
    }
}

/// Whether a database with these settings still has after a power cut what it acknowledged before.
fn keeps_at_a_power_cut(settings: &[(String, String)]) -> bool {
    !settings.is_empty()
        && settings.iter().all(|(name, value)| match name.as_str() {
            "journal_mode" => value == "wal",
            // 2 is FULL, 3 is EXTRA; NORMAL loses the last commits.
            "synchronous" => matches!(value.as_str(), "2" | "3"),
            "synchronous_commit" => !matches!(value.as_str(), "off" | "local"),
            _ => value == "on",
        })
}

impl Durability {
    fn unknown() -> Self {
        Self { database: "", version: String::new(), settings: Vec::new(), survives_power_loss: false }
    }
}

/// An open transaction. Dropped without `commit` it changes nothing.
pub struct Tx {
    open: Open,
    faults: Faults,
    /// The earliest instant at which a row written here becomes ready, for each stage.
    raised: [Option<i64>; 2],
    store: Store,
}

enum Open {
    Sqlite { transaction: Transaction<'static, Sqlite>, _permit: Permit },
    Postgres(Transaction<'static, Postgres>),
}

const NOTIFY: Sql = Sql::each("wake.notify", "SELECT 1", "SELECT pg_notify('punctual_ready', $1)");

impl Tx {
    pub fn conn(&mut self) -> Conn<'_> {
        match &mut self.open {
            Open::Sqlite { transaction, .. } => Conn::Sqlite(transaction, &self.faults),
            Open::Postgres(transaction) => Conn::Postgres(transaction, &self.faults),
        }
    }

    /// Says that this transaction writes a row that is ready for `stage` at `ready_at`; told on commit.
    pub fn raise(&mut self, stage: Stage, ready_at: Timestamp) {
        let slot = &mut self.raised[stage as usize];
        let at = ready_at.as_microsecond();
        *slot = Some(slot.map_or(at, |earlier| earlier.min(at)));
    }

    /// Skip locked rows or wait for them: the same truth, another speed.
    pub(crate) fn without_skip_locked(&self) -> bool {
        self.store.without_skip_locked()
    }

    pub async fn commit(mut self) -> Result<()> {
        if self.store.0.options.tells_others && matches!(self.open, Open::Postgres(_)) {
            // At most one a commit: NOTIFY takes a lock that orders all commits that use it.
            if let Some(earliest) = self.raised.iter().flatten().min() {
                let text = earliest.to_string();
                self.conn().execute(&NOTIFY, args![text]).await?;
            }
        }
        self.faults.before("commit")?;
        match self.open {
            Open::Sqlite { transaction, _permit } => {
                transaction.commit().await.map_err(StoreError::commit)?;
                drop(_permit);
            }
            Open::Postgres(transaction) => transaction.commit().await.map_err(StoreError::commit)?,
        }
        self.faults.after("commit")?;
        for stage in [Stage::Work, Stage::Delivery] {
            if let Some(at) = self.raised[stage as usize] {
                self.store.wake().raise(stage, at);
            }
        }
        Ok(())
    }
}

/// Hears what other nodes have written.
pub struct Ear(sqlx::postgres::PgListener);

impl Ear {
    /// The next thing heard; an error when the connection is lost.
    pub async fn hear(&mut self) -> Result<String> {
        let heard = self.0.recv().await.map_err(StoreError::connection)?;
        Ok(heard.payload().to_owned())
    }
}

/// A connection for reading.
pub enum Reader {
    Sqlite(PoolConnection<Sqlite>, Faults),
    Postgres(PoolConnection<Postgres>, Faults),
}

impl Reader {
    pub fn conn(&mut self) -> Conn<'_> {
        match self {
            Reader::Sqlite(conn, faults) => Conn::Sqlite(conn, faults),
            Reader::Postgres(conn, faults) => Conn::Postgres(conn, faults),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::keeps_at_a_power_cut;

    #[test]
    fn every_weak_setting_alone_is_seen() {
        let check = |settings: &[(&str, &str)]| {
            let settings: Vec<_> = settings.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            keeps_at_a_power_cut(&settings)
        };
        assert!(check(&[("journal_mode", "wal"), ("synchronous", "2")]));
        assert!(!check(&[("journal_mode", "wal"), ("synchronous", "1")]));
        assert!(!check(&[("journal_mode", "delete"), ("synchronous", "2")]));
        let strong = [("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "on")];
        assert!(check(&strong));
        for weak in 0..3 {
            let mut settings = strong;
            settings[weak].1 = "off";
            assert!(!check(&settings), "{settings:?}");
        }
        assert!(check(&[("fsync", "on"), ("synchronous_commit", "remote_apply")]));
        assert!(!check(&[]), "nothing read is nothing known");
    }
}
