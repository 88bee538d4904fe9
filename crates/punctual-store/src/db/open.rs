//! Opening a store, what it gives out, and the durability it was really given.

use std::{path::Path, sync::Arc, time::Duration};

use jiff::Timestamp;
use punctual_boxed::boxed;
use sqlx::Connection as _;

use super::{
    Deadlines, Faults, Lane, Purpose, Reader, Result, Tx, WakeListener,
    deadline::SQLITE,
    postgres::{self, Postgres},
    sqlite::{NoteFile, Sqlite},
    tx::{Open, Sync},
};
use crate::{
    StoreError,
    error::DriverError,
    migrate::{self, Schema},
    quotas::Quotas,
    wake::Wake,
};

/// How a store is opened. The defaults are what `serve` ships with.
#[derive(Clone)]
pub struct StoreOptions {
    /// `sqlite:FILE` or `postgres://…`.
    pub url: String,
    /// Where PostgreSQL itself is, for wake-ups between nodes, if `url` leads to a connection pooler.
    pub listen_url: Option<String>,
    /// What the database is for.
    pub schema: Schema,
    /// Connections to PostgreSQL, beside one for wake-ups and two for probes; SQLite has one writer and a few readers
    /// whatever this says.
    pub connections: u32,
    /// The longest waits for PostgreSQL.
    pub deadlines: Deadlines,
    /// Only read, beside whoever owns the database: nothing is locked, changed or migrated.
    pub beside: bool,
    /// Run although the database may lose acknowledged rows at a power cut.
    pub accept_weak_durability: bool,
    /// Claims wait for each other instead of skipping locked rows. Only slower; for proving that.
    pub without_skip_locked: bool,
    /// Whether every commit notifies other nodes, because this one has no workers.
    pub notifies_nodes: bool,
    pub faults: Faults,
}

impl StoreOptions {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            listen_url: None,
            schema: Schema::Pipeline,
            connections: 12,
            deadlines: Deadlines::default(),
            beside: false,
            accept_weak_durability: false,
            without_skip_locked: false,
            notifies_nodes: false,
            faults: Faults::default(),
        }
    }

    /// For a look at a database that may be in use: it only reads, and its statements may take long.
    pub fn beside(url: impl Into<String>) -> Self {
        let deadlines = Deadlines {
            statement: LONG_LOOK,
            read: LONG_LOOK,
            idle_in_transaction: LONG_LOOK,
            ..Deadlines::default()
        };
        Self { beside: true, accept_weak_durability: true, connections: 4, deadlines, ..Self::new(url) }
    }
}

/// The longest statement of a look beside the owner.
const LONG_LOOK: Duration = Duration::from_secs(10 * 60);

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

/// The place of a note: a file beside SQLite's database, a row on PostgreSQL in a transaction of its own.
pub(crate) enum Note<'s> {
    File(&'s NoteFile, Faults),
    Row(Tx),
}

/// The database, whichever it is. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    backend: Backend,
    wake: Wake,
    quotas: Arc<Quotas>,
    options: StoreOptions,
    durability: Durability,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Store {
    /// Opens the database, brings its schema up to date and refuses settings that could lose acknowledged rows.
    #[boxed]
    pub async fn open(options: StoreOptions, now: Timestamp) -> Result<Self> {
        let backend = if let Some(file) = options.url.strip_prefix("sqlite:") {
            let file = Path::new(file.trim_start_matches("//"));
            let sqlite =
                if options.beside { Sqlite::open_beside(file).await } else { Sqlite::open(file).await };
            Backend::Sqlite(sqlite?)
        } else if options.url.starts_with("postgres://") || options.url.starts_with("postgresql://") {
            let postgres = Postgres::open(&options)?;
            postgres.find_pooler().await?;
            Backend::Postgres(Box::new(postgres))
        } else {
            return Err(StoreError::Url);
        };
        let (wake, quotas, durability) = (Wake::default(), Arc::default(), Durability::unknown());
        let mut inner = Inner { backend, wake, quotas, durability, options };
        if inner.options.beside {
            inner.backend.check_schema(inner.options.schema).await?;
        } else {
            inner.backend.migrate(inner.options.schema, now).await?;
        }
        inner.durability = inner.backend.durability().await?;
        if !inner.durability.survives_power_loss && !inner.options.accept_weak_durability {
            return Err(StoreError::WeakDurability(inner.durability.settings));
        }
        Ok(Self(Arc::new(inner)))
    }

    /// A transaction that writes. On SQLite it waits for the one writer, settles first.
    #[boxed]
    pub async fn begin(&self, lane: Lane) -> Result<Tx> {
        let open = match &self.0.backend {
            Backend::Sqlite(sqlite) => Open::Sqlite(in_time(sqlite.begin(lane)).await?),
            Backend::Postgres(postgres) => {
                let pool = match lane {
                    Lane::Settle | Lane::Claim => &postgres.engine,
                    Lane::Intake => &postgres.intake,
                };
                Open::Postgres(pool.begin(Sync::Disk).await.map_err(StoreError::connection)?)
            }
        };
        Ok(Tx::new(self.clone(), open, self.0.options.faults.clone()))
    }

    /// A named place between a commit and what follows from it outside the database: a crash point, as statements are.
    pub fn reached(&self, name: &'static str) -> Result<()> {
        self.0.options.faults.before(name)
    }

    /// Where a batch that is about to be decided is noted: what outlives the process and perhaps not a power cut, because it
    /// is of use only after the process died.
    pub(crate) async fn note(&self) -> Result<Note<'_>> {
        Ok(match &self.0.backend {
            Backend::Sqlite(sqlite) => Note::File(sqlite.note()?, self.0.options.faults.clone()),
            Backend::Postgres(postgres) => {
                let held = postgres.engine.begin(Sync::Process).await.map_err(StoreError::connection)?;
                Note::Row(Tx::new(self.clone(), Open::Postgres(held), self.0.options.faults.clone()))
            }
        })
    }

    /// A transaction for the question whether the database takes writes. On SQLite it waits for the writer as others do.
    #[boxed]
    pub async fn begin_probe(&self) -> Result<Tx> {
        let Backend::Postgres(postgres) = &self.0.backend else { return self.begin(Lane::Intake).await };
        let open = Open::Postgres(postgres.probes.begin(Sync::Disk).await.map_err(StoreError::connection)?);
        Ok(Tx::new(self.clone(), open, self.0.options.faults.clone()))
    }

    /// A connection for reading what is committed, for the engine's own work.
    #[boxed]
    pub async fn read(&self) -> Result<Reader> {
        self.read_for(Purpose::Engine).await
    }

    /// A connection for what a request or a page reads. There are few of them, so that many slow lists wait for each
    /// other and for nobody else.
    #[boxed]
    pub async fn read_for_people(&self) -> Result<Reader> {
        self.read_for(Purpose::People).await
    }

    /// A connection for the question whether the database works: there is one however busy the others are.
    #[boxed]
    pub async fn probe(&self) -> Result<Reader> {
        self.read_for(Purpose::Probes).await
    }

    async fn read_for(&self, purpose: Purpose) -> Result<Reader> {
        let faults = self.0.options.faults.clone();
        Ok(match &self.0.backend {
            Backend::Sqlite(sqlite) => Reader::Sqlite(in_time(sqlite.read(purpose)).await?, faults),
            Backend::Postgres(postgres) => {
                let pool = match purpose {
                    Purpose::Engine => &postgres.engine,
                    Purpose::People => &postgres.readers,
                    Purpose::Probes => &postgres.probes,
                };
                Reader::Postgres(pool.read().await.map_err(StoreError::connection)?, faults)
            }
        })
    }

    pub fn wake(&self) -> &Wake {
        &self.0.wake
    }

    /// What this node knows of the quotas of business units.
    pub fn quotas(&self) -> &Arc<Quotas> {
        &self.0.quotas
    }

    pub fn durability(&self) -> &Durability {
        &self.0.durability
    }

    /// Whether one process owns the database, so that leases left by a crash can be released at start-up.
    pub fn is_single_process(&self) -> bool {
        matches!(self.0.backend, Backend::Sqlite(_))
    }

    /// Claims wait for each other instead of skipping locked rows, and nothing may rely on a lock.
    pub fn without_skip_locked(&self) -> bool {
        self.0.options.without_skip_locked
    }

    pub(super) fn notifies_nodes(&self) -> bool {
        self.0.options.notifies_nodes
    }

    /// Whether other nodes can wake this one. Behind a connection pooler they cannot, unless there is a `listen_url`.
    pub fn listens_to_others(&self) -> bool {
        match &self.0.backend {
            Backend::Sqlite(_) => true,
            Backend::Postgres(postgres) => postgres.listens_to_others(),
        }
    }

    /// A connection that listens for other nodes' wake-ups; none where [`Self::listens_to_others`] says no, and none on SQLite,
    /// where there are no other nodes.
    #[boxed]
    pub async fn listener(&self) -> Result<Option<WakeListener>> {
        match &self.0.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(postgres) if !postgres.listens_to_others() => Ok(None),
            Backend::Postgres(postgres) => Ok(Some(WakeListener(postgres.listen().await?))),
        }
    }

    /// Folds SQLite's write-ahead log back into the file; nothing on PostgreSQL.
    #[boxed]
    pub async fn checkpoint(&self) -> Result<()> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.checkpoint().await,
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Like `checkpoint`, and gives the space of the write-ahead log back to the disk, however small it is.
    #[boxed]
    pub async fn shrink_log(&self) -> Result<()> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.shrink_log().await,
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Whether SQLite puts zeros where something was deleted or replaced, so that the file does not keep it. PostgreSQL
    /// has nothing like it.
    #[boxed]
    pub async fn overwrite_deleted(&self, on: bool) -> Result<()> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.overwrite_deleted(on).await,
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// What SQLite says about the file itself: nothing where it is whole. PostgreSQL's checksums are its own affair.
    #[boxed]
    pub async fn check_file(&self) -> Result<Vec<String>> {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.check_file().await,
            Backend::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// Closes every connection; what is committed stays.
    #[boxed]
    pub async fn close(&self) {
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.close().await,
            Backend::Postgres(postgres) => postgres.close(),
        }
    }
}

impl Backend {
    async fn migrate(&self, schema: Schema, now: Timestamp) -> Result<()> {
        match self {
            Backend::Sqlite(sqlite) => migrate::on_sqlite(sqlite.writer(), schema, now).await,
            Backend::Postgres(postgres) => {
                let mut conn = postgres.patient().await?;
                migrate::on_postgres(&mut conn, postgres.patient_begin(), schema, now).await?;
                conn.close().await.map_err(StoreError::connection)
            }
        }
    }

    async fn check_schema(&self, schema: Schema) -> Result<()> {
        match self {
            Backend::Sqlite(sqlite) => migrate::check_on_sqlite(sqlite.writer(), schema).await,
            Backend::Postgres(postgres) => {
                let mut conn = postgres.patient().await?;
                migrate::check_on_postgres(&mut conn, schema).await?;
                conn.close().await.map_err(StoreError::connection)
            }
        }
    }

    async fn durability(&self) -> Result<Durability> {
        match self {
            Backend::Sqlite(sqlite) => sqlite.durability().await,
            Backend::Postgres(postgres) => {
                let mut held = postgres.engine.begin(Sync::Disk).await.map_err(StoreError::connection)?;
                postgres::durability(&mut held).await
            }
        }
    }
}

/// Waits for one of SQLite's connections.
async fn in_time<T>(waiting: impl Future<Output = Result<T>>) -> Result<T> {
    let waited = tokio::time::timeout(SQLITE, waiting).await;
    waited.unwrap_or_else(|_| Err(StoreError::connection(DriverError::Deadline(SQLITE))))
}

/// Whether a database with these settings still has after a power cut what it acknowledged before.
pub(super) fn keeps_at_a_power_cut(settings: &[(String, String)]) -> bool {
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
