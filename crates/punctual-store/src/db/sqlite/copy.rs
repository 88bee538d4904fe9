//! A copy of a SQLite file that somebody may be writing to.
//!
//! The copy is of one moment: a transaction that reads is held open meanwhile, so that what is written later does not make
//! it begin again. In a write-ahead log a reader holds nobody up.

use std::path::Path;

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::BUSY_FOR_AT_MOST;
use crate::{
    StoreError,
    db::Result,
    private::{close_file, private_file},
};

/// Pages of one step: 4 MiB.
const PAGES: i32 = 1_024;

/// Copies the database of `from` into the new file `to`, which is then whole by itself, without a log beside it. `step` is
/// called with how many pages are done, and of how many.
pub fn copy_sqlite(from: &Path, to: &Path, mut step: impl FnMut(i64, i64)) -> Result<()> {
    private_file(to).map_err(|error| StoreError::File(to.to_owned(), error))?;
    let copied = copy(from, to, &mut step).and_then(|()| settle(to));
    close_file(to);
    copied.map_err(StoreError::connection)
}

fn copy(from: &Path, to: &Path, step: &mut dyn FnMut(i64, i64)) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, flags)?;
    source.busy_timeout(BUSY_FOR_AT_MOST)?;
    source.execute_batch("BEGIN")?;
    // The moment of the copy is that of the first read.
    let _steps: i64 = source.query_one("SELECT COUNT(*) FROM schema_steps", [], |row| row.get(0))?;
    let mut target = Connection::open(to)?;
    let backup = Backup::new(&source, &mut target)?;
    loop {
        let done = backup.step(PAGES)?;
        let progress = backup.progress();
        step(i64::from(progress.pagecount - progress.remaining), i64::from(progress.pagecount));
        match done {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            // Nobody else has the copy, and the source is read under a transaction of ours.
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
    }
}

/// Makes one file of it: the copy says that it has a log, as its source had.
fn settle(file: &Path) -> rusqlite::Result<()> {
    let conn = Connection::open(file)?;
    let _mode: String = conn.query_one("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    conn.close().map_err(|(_, error)| error)
}
