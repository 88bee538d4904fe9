//! What can go wrong in the store, and whether a retry may help.

use std::{
    borrow::Cow,
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Duration,
};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database address must start with sqlite: or postgres://")]
    Url,
    #[error("listen_url must start with postgres://")]
    ListenUrl,
    #[error("the database file {} is in use by another process; one process owns a SQLite file", .0.display())]
    Owned(PathBuf),
    #[error("cannot use {}", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    #[error("the database file {} is damaged; restore it from a backup, nothing was changed", .0.display())]
    Damaged(PathBuf, #[source] DriverError),
    #[error(
        "the database would lose acknowledged rows at a power cut ({}); mend the settings or start with --accept-weak-durability",
        .0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    )]
    WeakDurability(Vec<(String, String)>),
    #[error(
        "the database has schema {found}, this program knows {known}; use a newer program, nothing was changed"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error("the database has schema {found}, this program knows {known}; run `punctual migrate` first")]
    OlderSchema { found: i64, known: i64 },
    #[error(
        "a newer program has changed the database; programs must support schema {needed}, this one supports {known}: start the newer version"
    )]
    ProgramTooOld { needed: i64, known: i64 },
    #[error(
        "a node of an earlier version is running on this database; stop all of them before the schema is changed (nothing was changed)"
    )]
    OldNodeLive,
    #[error("migration {0} in the database is not the one this program has")]
    ChangedMigration(String),
    #[error(
        "migration {0} waits for a transaction that another session has open (the oldest: {1}); nothing was changed, and the nodes that run continue"
    )]
    MigrationBlocked(&'static str, String),
    #[error("migration {0} failed")]
    Migration(&'static str, #[source] DriverError),
    #[error(
        "something between this program and PostgreSQL does not pass on the settings of a transaction; set PgBouncer's pool_mode to transaction or session, or database_url to the address of PostgreSQL itself"
    )]
    Pooled,
    #[error("cannot reach the database")]
    Connection(#[source] DriverError),
    #[error("the commit was not confirmed; it may or may not have happened")]
    Commit(#[source] DriverError),
    #[error("statement {0} failed")]
    Statement(&'static str, #[source] DriverError),
    #[error("a value could not be bound")]
    Binding(#[source] sqlx::error::BoxDynError),
    #[error("a stored value of {0} is not understood")]
    Stored(&'static str),
    #[error("injected failure at {0}")]
    Injected(&'static str),
    #[error("files cannot be kept in {0}: {1}")]
    BlobPlace(String, String),
    #[error("the blob store failed")]
    Blob(#[from] object_store::Error),
}

/// What a driver says, whichever it is.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    // Both drivers say the same again in their sources, and sqlx adds the line of PostgreSQL's own code.
    #[error("{}", of_postgres(.0))]
    Postgres(sqlx::Error),
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    #[error("a row does not fit its record: {0}")]
    Decode(String),
    #[error("an expected row does not exist")]
    NoRow,
    #[error("the transaction failed before and can only be rolled back")]
    Torn,
    #[error("the connection is closed")]
    Closed,
    #[error("the database did not answer within {} s", .0.as_secs())]
    Deadline(Duration),
    #[error("no thread could be started for the connection")]
    Thread(#[source] std::io::Error),
}

impl From<sqlx::Error> for DriverError {
    fn from(error: sqlx::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<rusqlite::Error> for DriverError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn of_postgres(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(refusal) => refusal.message().to_owned(),
        error => error.to_string(),
    }
}

impl serde::de::Error for DriverError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Decode(message.to_string())
    }
}

impl DriverError {
    /// SQLite's code without what its extended ones add.
    fn sqlite_code(&self) -> Option<i32> {
        match self {
            Self::Sqlite(error) => error.sqlite_error().map(|refusal| refusal.extended_code & 0xff),
            _ => None,
        }
    }

    /// Whether the statement was ended because another session kept a lock for too long, or waited for a lock of this one.
    pub(crate) fn gave_way(&self) -> bool {
        matches!(self, Self::Postgres(sqlx::Error::Database(refusal))
            if refusal.code().is_some_and(|code| matches!(&*code, "55P03" | "40P01")))
    }

    /// Whether it is what PgBouncer says to the settings that a session is opened with.
    pub(crate) fn is_of_a_pooler(&self) -> bool {
        matches!(self, Self::Postgres(sqlx::Error::Database(refusal))
            if refusal.message().starts_with("unsupported startup parameter"))
    }

    /// Whether the connection is unusable: it is lost, or its server is read-only or stopping.
    pub(crate) fn ends_connection(&self) -> bool {
        match self {
            Self::Postgres(sqlx::Error::Database(refusal)) => refusal
                .code()
                .is_some_and(|code| code == "25006" || code == "25P03" || code.starts_with("57P")),
            Self::Postgres(error) => !matches!(
                error,
                sqlx::Error::RowNotFound
                    | sqlx::Error::ColumnDecode { .. }
                    | sqlx::Error::ColumnNotFound(_)
                    | sqlx::Error::Decode(_)
                    | sqlx::Error::Encode(_)
            ),
            _ => true,
        }
    }

    /// Whether the server or the disk is gone, whatever was asked of it. A deadline or a lock may be the doing of the rows.
    fn is_of_the_server(&self) -> bool {
        match self {
            Self::Sqlite(_) => self.sqlite_code().is_some_and(|code| matches!(code, 8 | 10 | 13 | 14)),
            Self::Postgres(sqlx::Error::Database(refusal)) => {
                refusal.code().is_some_and(|code| is_postgres_gone(&code))
            }
            Self::Postgres(_) => self.is_outage(),
            Self::Closed | Self::Thread(_) => true,
            Self::Decode(_) | Self::NoRow | Self::Torn | Self::Deadline(_) => false,
        }
    }

    fn is_outage(&self) -> bool {
        match self {
            Self::Sqlite(_) => self.sqlite_code().is_some_and(is_sqlite_outage),
            Self::Postgres(error) => match error {
                sqlx::Error::Database(refusal) => {
                    refusal.code().is_some_and(|code| is_postgres_outage(&code))
                }
                sqlx::Error::RowNotFound
                | sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::ColumnNotFound(_)
                | sqlx::Error::ColumnIndexOutOfBounds { .. }
                | sqlx::Error::TypeNotFound { .. }
                | sqlx::Error::Decode(_)
                | sqlx::Error::Encode(_) => false,
                _ => true,
            },
            Self::Decode(_) | Self::NoRow | Self::Torn => false,
            Self::Closed | Self::Thread(_) | Self::Deadline(_) => true,
        }
    }
}

impl StoreError {
    pub(crate) fn connection(error: impl Into<DriverError>) -> Self {
        match error.into() {
            error if error.is_of_a_pooler() => Self::Pooled,
            error => Self::Connection(error),
        }
    }
    pub(crate) fn commit(error: impl Into<DriverError>) -> Self {
        Self::Commit(error.into())
    }
    pub(crate) fn statement(name: &'static str, error: impl Into<DriverError>) -> Self {
        Self::Statement(name, error.into())
    }

    /// SQLite answers NOTADB or CORRUPT for a file that is no longer a database.
    pub(crate) fn damaged_or_connection(file: &Path, error: DriverError) -> Self {
        match error.sqlite_code() {
            Some(11 | 26) => Self::Damaged(file.to_owned(), error),
            _ => Self::Connection(error),
        }
    }

    /// A copy that cannot be written says so: the database itself is well.
    pub(crate) fn copying(to: &Path, error: impl Into<DriverError>) -> Self {
        let error = error.into();
        match error.sqlite_code() {
            Some(13) => Self::File(to.to_owned(), ErrorKind::StorageFull.into()),
            _ => Self::Connection(error),
        }
    }

    /// The SQLSTATE with which PostgreSQL refused.
    pub fn sql_state(&self) -> Option<String> {
        let (Self::Migration(_, error)
        | Self::Connection(error)
        | Self::Commit(error)
        | Self::Statement(_, error)) = self
        else {
            return None;
        };
        match error {
            DriverError::Postgres(sqlx::Error::Database(refusal)) => refusal.code().map(Cow::into_owned),
            _ => None,
        }
    }

    /// Whether this transaction was ended in favour of another one: an immediate retry may work.
    pub fn is_collision(&self) -> bool {
        match self {
            Self::Statement(_, DriverError::Postgres(sqlx::Error::Database(refusal)))
            | Self::Commit(DriverError::Postgres(sqlx::Error::Database(refusal))) => {
                refusal.code().is_some_and(|code| matches!(&*code, "40P01" | "40001"))
            }
            _ => false,
        }
    }

    /// Whether the database was gone or took no writes: no row is at fault, and none should pay for it.
    pub fn is_of_the_server(&self) -> bool {
        match self {
            Self::Connection(error) | Self::Commit(error) | Self::Statement(_, error) => {
                error.is_of_the_server()
            }
            _ => false,
        }
    }

    /// Whether the database or the disk is at fault and not the request: a retry a little later may work.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Commit(_) | Self::Injected(_) | Self::Blob(_) => true,
            Self::Statement(_, error) => error.is_outage(),
            _ => false,
        }
    }
}

/// Connection lost (08), out of resources (53), shut down or starting (57P), disk error (58), no writes (25006).
fn is_postgres_gone(code: &str) -> bool {
    ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) || code == "25006"
}

/// Busy, locked, out of memory, read-only, disk error, full, cannot open.
fn is_sqlite_outage(code: i32) -> bool {
    matches!(code, 5 | 6 | 7 | 8 | 10 | 13 | 14)
}

/// Connection lost (08), serialisation and deadlock (40), out of resources (53), an operator at work (57), disk error (58);
/// a server that takes no writes (25006), a lock that another holds for too long (55P03), a transaction that was ended
/// because it waited for too long (25P03).
fn is_postgres_outage(code: &str) -> bool {
    ["08", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class))
        || ["25006", "25P03", "55P03"].contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(extended_code: i32) -> DriverError {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(extended_code), None).into()
    }

    #[test]
    fn a_failing_disk_is_worth_another_try_and_a_broken_rule_is_not() {
        // Full; a write, of the disk errors; busy with a snapshot; a primary key, of the rules; a misuse.
        for (code, outage) in
            [(13, true), (10 | 3 << 8, true), (5 | 2 << 8, true), (19 | 6 << 8, false), (21, false)]
        {
            let error = StoreError::statement("work.settle", refusal(code));
            assert_eq!(error.is_unavailable(), outage, "{code}");
        }
    }

    #[test]
    fn a_file_that_is_no_database_is_damaged() {
        let full = StoreError::copying(Path::new("x"), refusal(13));
        assert_eq!(full.to_string(), "cannot use x");
        for (code, damaged) in [(11, true), (11 | 1 << 8, true), (26, true), (14, false)] {
            let error = StoreError::damaged_or_connection(Path::new("x"), refusal(code));
            assert_eq!(matches!(error, StoreError::Damaged(..)), damaged, "{code}");
        }
    }
}
