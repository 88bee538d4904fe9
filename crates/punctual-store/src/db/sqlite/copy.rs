//! A copy of a SQLite file that somebody may be writing to, in steps between which the caller may rest.
//!
//! The copy is of one moment: a transaction that reads is held open meanwhile, so that what is written later does not make
//! it begin again. In a write-ahead log a reader holds nobody up, but what is written stays in the log until the copy is
//! done; each step says how much that is. The copy is written in small portions that are on disk before the next one:
//! gigabytes that the system writes out at once make the commits of the owner wait for them.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use punctual_boxed::boxed;
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::{JoinHandle, spawn_blocking},
};

use super::BUSY_FOR_AT_MOST;
use crate::{
    StoreError,
    db::Result,
    error::DriverError,
    private::{close_file, private_file},
};

/// Pages of one step: 4 MiB.
const PAGES: i32 = 1_024;
/// Operations of SQLite's machine between two rests of a check: some tenths of a millisecond.
const OPERATIONS: i32 = 4_000;

/// One portion of the work is done.
#[derive(Clone, Copy, Debug)]
pub struct CopyStep {
    /// Bytes by which the write-ahead log of the source grew since the copy began: it cannot be started over before the copy is done.
    pub log_grew: u64,
}

/// A copy under way. It goes on when it is asked for the next step, and ends early when it is dropped.
pub struct SqliteCopy {
    steps: mpsc::Receiver<(CopyStep, oneshot::Sender<()>)>,
    go: Option<oneshot::Sender<()>>,
    work: JoinHandle<Result<Vec<String>>>,
}

impl SqliteCopy {
    /// Begins to copy the database of `from` into the new file `to`, which is then whole by itself, without a log beside it, and
    /// is read from end to end.
    pub fn start(from: &Path, to: &Path) -> Self {
        let (turns, steps) = mpsc::channel(1);
        let (from, to) = (from.to_owned(), to.to_owned());
        let work = spawn_blocking(move || copy_and_check(&from, &to, &Turns(turns)));
        Self { steps, go: None, work }
    }

    /// Does the next step; None when there is none left.
    #[boxed]
    pub async fn step(&mut self) -> Option<CopyStep> {
        if let Some(go) = self.go.take() {
            let _ = go.send(());
        }
        let (step, go) = self.steps.recv().await?;
        self.go = Some(go);
        Some(step)
    }

    /// What SQLite finds wrong with the copy, once all steps are done.
    #[boxed]
    pub async fn end(mut self) -> Result<Vec<String>> {
        while self.step().await.is_some() {}
        match self.work.await {
            Ok(found) => found,
            Err(broken) => match broken.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(StoreError::connection(DriverError::Closed)),
            },
        }
    }
}

/// How the thread that works waits for whoever paces it.
#[derive(Clone)]
struct Turns(mpsc::Sender<(CopyStep, oneshot::Sender<()>)>);

impl Turns {
    /// Waits until the next step is wanted; an error where nobody wants it any more.
    fn wait(&self, step: CopyStep) -> std::result::Result<(), DriverError> {
        let (go, wanted) = oneshot::channel();
        self.0.blocking_send((step, go)).map_err(|_| DriverError::Closed)?;
        wanted.blocking_recv().map_err(|_| DriverError::Closed)
    }
}

fn copy_and_check(from: &Path, to: &Path, turns: &Turns) -> Result<Vec<String>> {
    let on_disk = private_file(to).map_err(|error| StoreError::File(to.to_owned(), error))?;
    let copied = copy(from, to, &on_disk, turns);
    close_file(to);
    copied?;
    check(to, turns).map_err(StoreError::connection)
}

fn copy(from: &Path, to: &Path, on_disk: &File, turns: &Turns) -> Result<()> {
    let (source, mut target) = open(from, to).map_err(StoreError::connection)?;
    let log = Log::of(from);
    let backup = Backup::new(&source, &mut target).map_err(StoreError::connection)?;
    loop {
        let done = backup.step(PAGES).map_err(|error| StoreError::copying(to, error))?;
        on_disk.sync_data().map_err(|error| StoreError::File(to.to_owned(), error))?;
        match done {
            StepResult::Done => break,
            StepResult::More => {
                turns.wait(CopyStep { log_grew: log.grew() }).map_err(StoreError::connection)?;
            }
            // Nobody else has the copy, and the source is read under a transaction of ours.
            _ => return Err(StoreError::connection(rusqlite::Error::InvalidQuery)),
        }
    }
    drop(backup);
    settle(target, to).map_err(|error| StoreError::copying(to, error))
}

/// Opens both files. The moment of the copy is that of the first read.
fn open(from: &Path, to: &Path) -> rusqlite::Result<(Connection, Connection)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, flags)?;
    source.busy_timeout(BUSY_FOR_AT_MOST)?;
    source.execute_batch("BEGIN")?;
    let _steps: i64 = source.query_one("SELECT COUNT(*) FROM schema_steps", [], |row| row.get(0))?;
    Ok((source, Connection::open(to)?))
}

/// Makes one file of it: the copy says that it has a log, as its source had.
fn settle(target: Connection, file: &Path) -> rusqlite::Result<()> {
    target.close().map_err(|(_, error)| error)?;
    let conn = Connection::open(file)?;
    let _mode: String = conn.query_one("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    conn.close().map_err(|(_, error)| error)
}

/// Reads the copy from end to end.
fn check(file: &Path, turns: &Turns) -> rusqlite::Result<Vec<String>> {
    let mut conn = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let turns = turns.clone();
    conn.progress_handler(OPERATIONS, Some(move || turns.wait(CopyStep { log_grew: 0 }).is_err()))?;
    let mut check = conn.prepare("PRAGMA integrity_check(100)")?;
    let found = check.query_map([], |row| row.get(0))?;
    found.filter(|line| !matches!(line, Ok(text) if text == "ok")).collect()
}

/// The write-ahead log of the source. Only its size is asked for: whoever opens and closes one of these files takes the locks of
/// all connections of the process away.
struct Log {
    file: PathBuf,
    before: u64,
}

impl Log {
    fn of(database: &Path) -> Self {
        let mut file = database.as_os_str().to_owned();
        file.push("-wal");
        let mut log = Self { file: file.into(), before: 0 };
        log.before = log.size();
        log
    }

    fn size(&self) -> u64 {
        std::fs::metadata(&self.file).map_or(0, |about| about.len())
    }

    fn grew(&self) -> u64 {
        self.size().saturating_sub(self.before)
    }
}
