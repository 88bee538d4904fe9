//! What can go wrong in the store, and whether it is worth another try.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database address must start with sqlite: or postgres://")]
    Url,
    #[error("the database file {} is in use by another process; one process owns a SQLite file", .0.display())]
    Owned(PathBuf),
    #[error("cannot use {}", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    #[error("the database file {} is damaged; restore it from a backup, nothing was changed", .0.display())]
    Damaged(PathBuf, #[source] sqlx::Error),
    #[error(
        "the database would lose acknowledged rows at a power cut ({}); mend the settings or start with --accept-weak-durability",
        .0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    )]
    WeakDurability(Vec<(String, String)>),
    #[error(
        "the database has schema {found}, this program knows {known}; use a newer program, nothing was changed"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error("migration {0} in the database is not the one this program has")]
    ChangedMigration(String),
    #[error("migration {0} failed")]
    Migration(&'static str, #[source] sqlx::Error),
    #[error("cannot reach the database")]
    Connection(#[source] sqlx::Error),
    #[error("the commit was not confirmed; it may or may not have happened")]
    Commit(#[source] sqlx::Error),
    #[error("statement {0} failed")]
    Statement(&'static str, #[source] sqlx::Error),
    #[error("a value could not be bound")]
    Binding(#[source] sqlx::error::BoxDynError),
    #[error("a stored value of {0} is not understood")]
    Stored(&'static str),
    #[error("injected failure at {0}")]
    Injected(&'static str),
    #[error("the blob store failed")]
    Blob(#[from] object_store::Error),
}

impl StoreError {
    pub(crate) fn connection(error: sqlx::Error) -> Self {
        Self::Connection(error)
    }
    pub(crate) fn commit(error: sqlx::Error) -> Self {
        Self::Commit(error)
    }
    pub(crate) fn statement(name: &'static str, error: sqlx::Error) -> Self {
        Self::Statement(name, error)
    }

    /// SQLite answers NOTADB or CORRUPT for a file that is no longer a database.
    pub(crate) fn damaged_or_connection(file: &Path, error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(|e| e.code()).map(|code| code.into_owned());
        match code.as_deref() {
            Some("11" | "26") => Self::Damaged(file.to_owned(), error),
            _ => Self::Connection(error),
        }
    }

    /// Whether the database or the disk is at fault and not the request: worth another try a little later.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Commit(_) | Self::Injected(_) | Self::Blob(_) => true,
            Self::Statement(_, error) => match error {
                sqlx::Error::Database(refusal) => refusal.code().is_some_and(|code| is_outage(&code)),
                sqlx::Error::RowNotFound
                | sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::ColumnNotFound(_)
                | sqlx::Error::ColumnIndexOutOfBounds { .. }
                | sqlx::Error::TypeNotFound { .. }
                | sqlx::Error::Decode(_)
                | sqlx::Error::Encode(_) => false,
                _ => true,
            },
            _ => false,
        }
    }
}

/// SQLite: busy, locked, out of memory, read-only, disk error, full, cannot open. PostgreSQL: connection lost (08), out
/// of resources (53), an operator at work (57), disk error (58), serialisation and deadlock (40).
fn is_outage(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => matches!(number & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14),
        _ => ["08", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class)),
    }
}
