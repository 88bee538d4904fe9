//! What a database holds, read with plain statements and with nothing of the store's.

use std::{collections::BTreeMap, path::Path};

use jiff::Timestamp;
use sqlx::{Connection, PgConnection};

use super::judge::{StoredAttempt, StoredMessage};

const MESSAGES: &str = "SELECT seq, subject, status, reason_code, uncertain FROM notifications ORDER BY seq";
const ATTEMPTS: &str =
    "SELECT notification_seq, target, node, started_at, outcome FROM attempts ORDER BY notification_seq, n";
/// What is not at its end: messages that wait or are under way, and work that is to make some.
const LIVE: &str = "SELECT (SELECT count(*) FROM notifications WHERE status IN ('pending', 'retrying'))
    + (SELECT count(*) FROM work WHERE kind = 'message' AND status IN ('pending', 'processing'))";
/// The same, one by one, for the error of a failed wait.
const LIVE_ROWS: &str = "SELECT 'message ' || subject, status, reason_code FROM notifications
    WHERE status IN ('pending', 'retrying')
    UNION ALL SELECT 'work ' || key, status, reason_code FROM work
    WHERE kind = 'message' AND status IN ('pending', 'processing')";
/// The intents of calls that have no answer: what remains of calls that were under way.
const FORGET_INTENTS: &str = "DELETE FROM attempts WHERE outcome IS NULL";
const FORGET_MESSAGES: &str =
    "DELETE FROM notifications WHERE seq IN (SELECT max(seq) FROM notifications WHERE status = 'delivered')";

type MessageRow = (i64, String, String, Option<String>, i64);
type AttemptRow = (i64, String, String, i64, Option<String>);

/// A database by its address, `sqlite:…` or `postgres://…`.
#[derive(Clone, Debug)]
pub struct Stored(String);

impl Stored {
    pub fn at(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// Every message with its attempts.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn messages(&self) -> Result<Vec<StoredMessage>, String> {
        let (messages, attempts): (Vec<MessageRow>, Vec<AttemptRow>) = match self.file() {
            Some(file) => {
                let conn = open(file)?;
                let messages = rows(&conn, MESSAGES, |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
                })?;
                let attempts = rows(&conn, ATTEMPTS, |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
                })?;
                (messages, attempts)
            }
            None => {
                let mut conn = self.connect().await?;
                let messages = sqlx::query_as(MESSAGES).fetch_all(&mut conn).await.map_err(text)?;
                let attempts = sqlx::query_as(ATTEMPTS).fetch_all(&mut conn).await.map_err(text)?;
                (messages, attempts)
            }
        };
        Ok(joined(messages, attempts))
    }

    /// How many messages, and work that is to make some, are not at their end.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn live(&self) -> Result<i64, String> {
        match self.file() {
            Some(file) => open(file)?.query_row(LIVE, [], |row| row.get(0)).map_err(text),
            None => sqlx::query_scalar(LIVE).fetch_one(&mut self.connect().await?).await.map_err(text),
        }
    }

    /// What is not at its end, with its status and why.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn live_rows(&self) -> Result<Vec<(String, String, Option<String>)>, String> {
        match self.file() {
            Some(file) => rows(&open(file)?, LIVE_ROWS, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))),
            None => sqlx::query_as(LIVE_ROWS).fetch_all(&mut self.connect().await?).await.map_err(text),
        }
    }

    /// For the trial of the trial: removes the intents of calls that have no answer. Returns how many there were.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn forget_intents(&self) -> Result<u64, String> {
        self.execute(FORGET_INTENTS).await
    }

    /// For the trial of the trial: removes the last message that was delivered.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn forget_a_message(&self) -> Result<u64, String> {
        self.execute(FORGET_MESSAGES).await
    }

    /// Runs a statement of a trial on the server itself, such as one that ends connections.
    ///
    /// # Errors
    /// When the database refuses it.
    pub async fn execute(&self, statement: &'static str) -> Result<u64, String> {
        match self.file() {
            Some(file) => {
                let conn = rusqlite::Connection::open(file).map_err(text)?;
                conn.busy_timeout(std::time::Duration::from_secs(10)).map_err(text)?;
                Ok(conn.execute(statement, []).map_err(text)? as u64)
            }
            None => {
                let done = sqlx::query(statement).execute(&mut self.connect().await?).await;
                Ok(done.map_err(text)?.rows_affected())
            }
        }
    }

    fn file(&self) -> Option<&Path> {
        self.0.strip_prefix("sqlite:").map(Path::new)
    }

    async fn connect(&self) -> Result<PgConnection, String> {
        PgConnection::connect(&self.0).await.map_err(text)
    }
}

/// Whether a SQLite file is whole.
///
/// # Panics
/// When it cannot be opened at all.
pub fn is_whole(file: &Path) -> bool {
    let said = open(file).and_then(|conn| {
        conn.pragma_query_value(None, "integrity_check", |row| row.get::<_, String>(0)).map_err(text)
    });
    said.unwrap_or_else(|error| panic!("{}: {error}", file.display())) == "ok"
}

/// A writer of a trial's own: so many rows in as many transactions, with this `synchronous`. The file is left open, as
/// by a process that is killed.
///
/// # Panics
/// When it cannot write.
pub fn write_rows(file: &Path, synchronous: &str, rows: usize, made: impl FnOnce()) {
    let write = || -> rusqlite::Result<()> {
        let conn = rusqlite::Connection::open(file)?;
        conn.pragma_update(None, "journal_mode", "wal")?;
        conn.pragma_update(None, "synchronous", synchronous)?;
        conn.execute_batch("CREATE TABLE written (n INTEGER)")?;
        made();
        for n in 0..rows {
            conn.execute("INSERT INTO written VALUES (?1)", [i64::try_from(n).unwrap_or(0)])?;
        }
        std::mem::forget(conn);
        Ok(())
    };
    write().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// How many rows of [`write_rows`] are there.
///
/// # Panics
/// When the file cannot be read.
pub fn count_rows(file: &Path) -> usize {
    let counted = open(file).and_then(|conn| {
        conn.query_row("SELECT count(*) FROM written", [], |row| row.get::<_, i64>(0)).map_err(text)
    });
    let counted = counted.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    usize::try_from(counted).unwrap_or(0)
}

fn open(file: &Path) -> Result<rusqlite::Connection, String> {
    let conn = rusqlite::Connection::open_with_flags(file, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE);
    let conn = conn.map_err(text)?;
    conn.busy_timeout(std::time::Duration::from_secs(10)).map_err(text)?;
    Ok(conn)
}

fn rows<T>(
    conn: &rusqlite::Connection,
    statement: &str,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, String> {
    let mut statement = conn.prepare(statement).map_err(text)?;
    let rows = statement.query_map([], read).map_err(text)?;
    rows.collect::<Result<_, _>>().map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn joined(messages: Vec<MessageRow>, attempts: Vec<AttemptRow>) -> Vec<StoredMessage> {
    let mut by_seq: BTreeMap<i64, Vec<StoredAttempt>> = BTreeMap::new();
    for (seq, target, node, started_at, outcome) in attempts {
        let started_at = Timestamp::from_microsecond(started_at).unwrap_or(Timestamp::MIN);
        by_seq.entry(seq).or_default().push(StoredAttempt { target, node, started_at, outcome });
    }
    let message = |(seq, key, status, reason, uncertain): MessageRow| StoredMessage {
        key,
        status,
        reason,
        uncertain: usize::try_from(uncertain).unwrap_or(0),
        attempts: by_seq.remove(&seq).unwrap_or_default(),
    };
    messages.into_iter().map(message).collect()
}
