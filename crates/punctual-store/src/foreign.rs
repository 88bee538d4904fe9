//! Other people's databases: one read-only query at a time, with its limits.
//!
//! The queries are written by users, so nothing here trusts them. On PostgreSQL a query is the text of a cursor in a
//! read-only transaction: a cursor takes one statement, and only one that reads. On SQLite the file is opened for
//! reading, nothing can be attached, and a statement that would write is refused before it runs. Both stop at a
//! time-out, at a number of rows and at an amount of memory. Rights within the database are the database's: give it a
//! role that may see what reports need and nothing else.
//!
//! No fault carries the address of a database: it may have a password in it.

mod parameters;
mod postgres;
mod sqlite;

use std::{path::PathBuf, time::Duration};

use punctual_model::{
    Secret,
    table::{Cell, Table},
};
use sqlx::postgres::PgConnectOptions;

/// A table that is larger than this in memory ends there.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// After the time-out a database gets this much longer to say so itself, which says more than we could.
const GRACE: Duration = Duration::from_secs(2);

/// A database to read from.
#[derive(Clone)]
pub struct ForeignDatabase(Kind);

#[derive(Clone)]
enum Kind {
    Postgres(Box<PgConnectOptions>),
    Sqlite(PathBuf),
}

/// One query with its limits. Parameters are written `:name` in the text.
pub struct ForeignQuery<'a> {
    pub database: &'a ForeignDatabase,
    pub sql: &'a str,
    pub params: Vec<(&'a str, Cell)>,
    pub timeout: Duration,
    /// Rows behind this many are left out, and the table says so.
    pub max_rows: usize,
}

/// Why there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ForeignFault {
    /// The same again later may work.
    pub may_pass: bool,
    /// `database_url`, `database_unreachable`, `query_timeout`, `query_failed`, `query_not_read_only` or
    /// `query_parameter`.
    pub code: &'static str,
    pub detail: String,
}

impl ForeignFault {
    fn lasting(code: &'static str, detail: impl Into<String>) -> Self {
        Self { may_pass: false, code, detail: detail.into() }
    }

    fn passing(code: &'static str, detail: impl Into<String>) -> Self {
        Self { may_pass: true, code, detail: detail.into() }
    }

    fn timeout(after: Duration) -> Self {
        let after = punctual_model::durations::format(after);
        Self::passing("query_timeout", format!("the query was stopped: it took longer than {after}"))
    }

    fn not_read_only() -> Self {
        Self::lasting(
            "query_not_read_only",
            "the query must be one statement that only reads: SELECT or WITH",
        )
    }

    /// What the database said about the query, cut to a length that can be shown.
    fn refused(message: &str) -> Self {
        let said: String = message.chars().filter(|c| !c.is_control()).take(300).collect();
        Self::lasting("query_failed", format!("the database refused the query: {said}"))
    }
}

impl ForeignDatabase {
    /// `postgres://…` or `sqlite:FILE`. Nothing is opened yet.
    pub fn parse(url: &Secret) -> Result<Self, ForeignFault> {
        let url = url.expose();
        let fault = || {
            ForeignFault::lasting(
                "database_url",
                "the address must start with postgres:// or sqlite: and be well formed",
            )
        };
        if let Some(file) = url.strip_prefix("sqlite:") {
            let file = file.strip_prefix("//").unwrap_or(file);
            return if file.is_empty() { Err(fault()) } else { Ok(Self(Kind::Sqlite(file.into()))) };
        }
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(fault());
        }
        let options: PgConnectOptions = url.parse().map_err(|_| fault())?;
        Ok(Self(Kind::Postgres(Box::new(options))))
    }
}

impl std::fmt::Debug for ForeignDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Kind::Postgres(_) => "postgres ***",
            Kind::Sqlite(_) => "sqlite ***",
        })
    }
}

impl ForeignQuery<'_> {
    /// Runs the query on its own connection, which is closed again. Where the database has no types for dates and instants,
    /// columns of nothing else become such.
    // tidy-allow: the query borrows, and its lifetime is the type's
    pub async fn run(self) -> Result<Table, ForeignFault> {
        let is_untyped = matches!(self.database.0, Kind::Sqlite(_));
        let mut table = self.run_as_stored().await?;
        if is_untyped {
            table.infer_kinds();
        }
        Ok(table)
    }

    /// The same with every value as the database has it, so that it can be compared with there.
    // tidy-allow: the query borrows, and its lifetime is the type's
    pub async fn run_as_stored(self) -> Result<Table, ForeignFault> {
        if !parameters::only_reads(self.sql) {
            return Err(ForeignFault::not_read_only());
        }
        match &self.database.0 {
            Kind::Postgres(options) => postgres::run(options, &self).await,
            Kind::Sqlite(file) => sqlite::run(file.clone(), self).await,
        }
    }
}

/// Takes in rows until there are too many of them, or they are too large.
struct Filling {
    table: Table,
    max_rows: usize,
    bytes_left: usize,
}

impl Filling {
    fn new(max_rows: usize) -> Self {
        Self { table: Table::default(), max_rows, bytes_left: MOST_BYTES }
    }

    /// Whether there is room for another row; where there is none, the table is a part.
    fn has_room(&mut self) -> bool {
        let has_room = self.table.rows.len() < self.max_rows && self.bytes_left > 0;
        self.table.truncated |= !has_room;
        has_room
    }

    fn add(&mut self, row: Vec<Cell>) {
        let size = row.iter().map(Cell::size).sum();
        self.bytes_left = self.bytes_left.saturating_sub(size);
        self.table.rows.push(row);
    }
}
