//! SQLite: one file that one process owns, one thread that writes, a few that read.
//!
//! The driver blocks, and its calls are too short and too many to hand each to a pool of threads. So a connection lives
//! on a thread of its own and takes whole statements, sets included.

mod bind;
mod copy;
mod decode;
mod ilike;
mod note;
mod readers;
mod session;
mod thread;
mod turn;

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

pub use copy::{CopyStep, SqliteCopy};
pub(crate) use note::NoteFile;
pub(super) use readers::Reading;
pub(crate) use session::Session;
pub(super) use session::Statement;
pub use thread::SqliteThread;
pub(super) use turn::Turn;

use super::{
    Durability, Lane, Purpose, Result,
    gate::{Gate, Permit},
    open::keeps_at_a_power_cut,
};
use crate::{
    StoreError,
    error::DriverError,
    private::{close_file, missing_folders, private_file},
};
use readers::Readers;

/// Connections that read, for each purpose.
const FOR_ENGINE: usize = 3;
const FOR_PEOPLE: usize = 4;
const FOR_PROBES: usize = 1;
/// More than there are statements, so that none is ever prepared twice.
const STATEMENTS_KEPT: usize = 1_024;
const BUSY_FOR_AT_MOST: Duration = Duration::from_secs(10);
/// Checkpoints run on a connection of their own, so that no commit pays for one. A log that grew while somebody read for long, as a
/// backup does, is cut to 128 MiB when it is started over; what it takes otherwise stays, because that space is cheaper to write to.
const SETTINGS: &str = "PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = OFF;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 134217728;
    PRAGMA cache_size = -32768;
    PRAGMA temp_store = MEMORY;";
/// A log of this many pages (64 MiB) is folded back with the writer held, because under steady writes it never ends by
/// itself. It is then written again from its beginning: space that the file already has is cheaper to write to than new.
const FRAMES_TO_START_OVER: i64 = 16_384;
/// Pages that short readers keep from being folded back at any moment.
const FRAMES_OF_READERS: i64 = 1_024;
/// How long starting over waits for readers while it holds the writer. A backup reads for minutes; the log then grows until
/// it is done.
const WAITS_FOR_READERS: Duration = Duration::from_millis(100);
/// For a connection that only reads, beside the owner of the file.
const SETTINGS_BESIDE: &str = "PRAGMA query_only = ON;
    PRAGMA cache_size = -32768;
    PRAGMA temp_store = MEMORY;";

/// What a checkpoint found.
struct Log {
    frames: i64,
    folded: i64,
}

/// An open file.
pub(super) struct Sqlite {
    writer: SqliteThread,
    /// For the engine, for people, for probes.
    engine: Readers,
    people: Readers,
    probes: Readers,
    gate: Gate,
    file: PathBuf,
    /// None for one that only reads.
    note: Option<NoteFile>,
    /// Held, and with it the lock on the file beside the database, for as long as the store is open; not by one that only
    /// reads.
    _owner: Option<File>,
}

impl Sqlite {
    pub(super) async fn open(file: &Path) -> Result<Self> {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            missing_folders(folder).map_err(|e| StoreError::File(folder.to_owned(), e))?;
        }
        let mut lock_file = file.as_os_str().to_owned();
        lock_file.push(".lock");
        let lock_file = PathBuf::from(lock_file);
        let owner = private_file(&lock_file).map_err(|e| StoreError::File(lock_file.clone(), e))?;
        owner.try_lock().map_err(|_| StoreError::Owned(file.to_owned()))?;
        // SQLite gives its journals the permissions of the database.
        private_file(file).map_err(|e| StoreError::File(file.to_owned(), e))?;
        for journal in ["-wal", "-shm"] {
            let mut path = file.as_os_str().to_owned();
            path.push(journal);
            close_file(Path::new(&path));
        }

        let note = NoteFile::open(file).map_err(|e| StoreError::File(file.to_owned(), e))?;
        Self::start(file, Some((owner, note)), connect).await
    }

    /// Opens a file that another process may own, to read it.
    pub(super) async fn open_beside(file: &Path) -> Result<Self> {
        std::fs::metadata(file).map_err(|e| StoreError::File(file.to_owned(), e))?;
        Self::start(file, None, connect_beside).await
    }

    async fn start(file: &Path, owned: Option<(File, NoteFile)>, connect: Connect) -> Result<Self> {
        let (owner, note) = owned.unzip();
        let start = async |name: &str| {
            let path = file.to_owned();
            let started = SqliteThread::start(name, move || connect(&path)).await;
            started.map_err(|error| StoreError::damaged_or_connection(file, error))
        };
        let writer = start("sqlite-writer").await?;
        let readers = async |count: usize| {
            let mut threads = Vec::with_capacity(count);
            for _ in 0..count {
                threads.push(start("sqlite-reader").await?);
            }
            Ok::<_, StoreError>(Readers::new(threads))
        };
        Ok(Self {
            writer,
            engine: readers(FOR_ENGINE).await?,
            people: readers(FOR_PEOPLE).await?,
            probes: readers(FOR_PROBES).await?,
            gate: Gate::default(),
            file: file.to_owned(),
            note,
            _owner: owner,
        })
    }

    /// Waits for the one writer, settles first, and begins.
    pub(super) async fn begin(&self, lane: Lane) -> Result<Turn> {
        let permit = self.gate.enter(lane).await;
        Turn::begin(self.writer.clone(), permit).await.map_err(StoreError::connection)
    }

    pub(super) async fn read(&self, purpose: Purpose) -> Result<Reading> {
        let readers = match purpose {
            Purpose::Engine => &self.engine,
            Purpose::People => &self.people,
            Purpose::Probes => &self.probes,
        };
        readers.acquire().await.map_err(StoreError::connection)
    }

    pub(super) fn note(&self) -> Result<&NoteFile> {
        self.note.as_ref().ok_or_else(|| StoreError::connection(DriverError::Closed))
    }

    pub(super) fn writer(&self) -> &SqliteThread {
        &self.writer
    }

    /// Folds the write-ahead log back into the file, off the writer's connection.
    pub(super) async fn checkpoint(&self) -> Result<()> {
        let mut log = self.file.clone().into_os_string();
        log.push("-wal");
        if std::fs::metadata(&log).map_or(0, |meta| meta.len()) == 0 {
            return Ok(());
        }
        // Most is copied without holding anybody; only the rest waits for the writer.
        let log = self.fold("PRAGMA wal_checkpoint(PASSIVE)", None).await?;
        // Somebody reads an old state for long, as a backup does: starting over would wait for them with the writer held.
        let is_read = log.frames - log.folded > FRAMES_OF_READERS;
        if log.frames > FRAMES_TO_START_OVER && !is_read {
            let permit = self.gate.enter(Lane::Intake).await;
            self.fold("PRAGMA wal_checkpoint(RESTART)", Some(permit)).await?;
        }
        Ok(())
    }

    /// The same with the writer held, and the space of the log goes back to the disk.
    pub(super) async fn shrink_log(&self) -> Result<()> {
        let permit = self.gate.enter(Lane::Intake).await;
        self.fold("PRAGMA wal_checkpoint(TRUNCATE)", Some(permit)).await.map(drop)
    }

    /// Whether the writer puts zeros where something was deleted or replaced; it costs, and is seldom needed.
    pub(super) async fn overwrite_deleted(&self, on: bool) -> Result<()> {
        let permit = self.gate.enter(Lane::Intake).await;
        let job = move |session: &mut Session| {
            let text = if on { "PRAGMA secure_delete = ON" } else { "PRAGMA secure_delete = OFF" };
            let done = session.bare().query_one(text, [], |_| Ok(()));
            drop(permit);
            done
        };
        let done = self.writer.run(job).await.map_err(StoreError::connection)?;
        done.map_err(StoreError::connection)
    }

    /// Returns how many pages the log holds, and how many of them are in the file.
    async fn fold(&self, text: &'static str, permit: Option<Permit>) -> Result<Log> {
        let reading = self.read(Purpose::Engine).await?;
        // The permit goes along: nobody writes before the checkpoint ends, even if nobody waits for it.
        let job = move |session: &mut Session| {
            let conn = session.bare();
            if permit.is_some() {
                conn.busy_timeout(WAITS_FOR_READERS)?;
            }
            let frames = conn.query_one(text, [], |row| Ok(Log { frames: row.get(1)?, folded: row.get(2)? }));
            drop(permit);
            conn.busy_timeout(BUSY_FOR_AT_MOST)?;
            frames
        };
        let frames = reading.thread().run(job).await.map_err(StoreError::connection)?;
        frames.map_err(StoreError::connection)
    }

    /// What SQLite finds wrong with the file; it reads all of it.
    pub(super) async fn check_file(&self) -> Result<Vec<String>> {
        let reading = self.read(Purpose::Engine).await?;
        let job = |session: &mut Session| -> rusqlite::Result<Vec<String>> {
            let mut check = session.bare().prepare("PRAGMA integrity_check(100)")?;
            let found = check.query_map([], |row| row.get(0))?;
            found.filter(|line| !matches!(line, Ok(text) if text == "ok")).collect()
        };
        let found = reading.thread().run(job).await.map_err(StoreError::connection)?;
        found.map_err(StoreError::connection)
    }

    /// Waits for whoever is reading or writing, and closes every connection.
    pub(super) async fn close(&self) {
        for readers in [&self.engine, &self.people, &self.probes] {
            readers.close().await;
        }
        let _permit = self.gate.enter(Lane::Settle).await;
        self.writer.close().await;
    }

    /// What the writer's connection really has.
    pub(super) async fn durability(&self) -> Result<Durability> {
        let read = |session: &mut Session| -> rusqlite::Result<_> {
            let one = |text| session.bare().query_one(text, [], |row| row.get::<_, String>(0));
            let settings = vec![
                ("journal_mode".to_owned(), one("SELECT journal_mode FROM pragma_journal_mode")?),
                ("synchronous".to_owned(), one("SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous")?),
            ];
            Ok((settings, one("SELECT sqlite_version()")?))
        };
        let answer = self.writer.run(read).await.map_err(StoreError::connection)?;
        let (settings, version) = answer.map_err(StoreError::connection)?;
        let survives_power_loss = keeps_at_a_power_cut(&settings);
        Ok(Durability { database: "sqlite", version, settings, survives_power_loss })
    }
}

type Connect = fn(&Path) -> std::result::Result<Session, DriverError>;

fn connect_beside(file: &Path) -> std::result::Result<Session, DriverError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags)?;
    conn.busy_timeout(BUSY_FOR_AT_MOST)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    conn.execute_batch(SETTINGS_BESIDE)?;
    ilike::register(&conn)?;
    Ok(Session::new(conn))
}

fn connect(file: &Path) -> std::result::Result<Session, DriverError> {
    // One thread uses it, so it needs no lock of its own; and a name is a file's name, never a URI.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags)?;
    conn.busy_timeout(BUSY_FOR_AT_MOST)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    conn.execute_batch(SETTINGS)?;
    ilike::register(&conn)?;
    Ok(Session::new(conn))
}
