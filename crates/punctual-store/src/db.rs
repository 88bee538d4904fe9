//! The only place that names a database driver: one enum of connections, four functions, shared text.
//!
//! Statement functions elsewhere in this crate take `&mut Conn` and know nothing of drivers; everything
//! above this crate knows nothing of SQL.

mod args;
mod explain;
mod faults;
mod gate;
mod open;

use serde::de::DeserializeOwned;
use sqlx::{FromRow, PgConnection, SqliteConnection, postgres::PgRow, sqlite::SqliteRow};

pub use args::Arg;
pub(crate) use args::args;
pub use faults::{CrashPoint, Faults};
pub use gate::Lane;
pub use open::{Durability, Ear, Reader, Store, StoreOptions, Tx};

use crate::StoreError;

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// One statement, as each database spells it, with the name that crash points and traces know it by.
pub struct Sql {
    pub name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

impl Sql {
    /// Both databases accept the same text.
    pub const fn same(name: &'static str, text: &'static str) -> Self {
        Self { name, sqlite: text, postgres: text }
    }

    /// The databases differ; the two texts stand side by side.
    pub const fn each(name: &'static str, sqlite: &'static str, postgres: &'static str) -> Self {
        Self { name, sqlite, postgres }
    }
}

const SAVEPOINT: Sql = Sql::same("savepoint", "SAVEPOINT set_of_rows");
const UNDO: Sql = Sql::same("savepoint.undo", "ROLLBACK TO set_of_rows");

/// A row both drivers can decode. `#[derive(FromRow)]` is all it takes.
pub trait Record: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}
impl<T> Record for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

/// An open connection or transaction, whichever database it belongs to.
pub enum Conn<'c> {
    Sqlite(&'c mut SqliteConnection, &'c Faults),
    Postgres(&'c mut PgConnection, &'c Faults),
}

impl Conn<'_> {
    pub async fn fetch_all<T: Record>(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<Vec<T>> {
        self.faults().before(sql.name)?;
        self.explain(sql, &args).await?;
        let rows = match self {
            Conn::Sqlite(c, _) => {
                sqlx::query_as_with(sql.sqlite, args::for_sqlite(args)?).fetch_all(&mut **c).await
            }
            Conn::Postgres(c, _) => {
                sqlx::query_as_with(sql.postgres, args::for_postgres(args)?).fetch_all(&mut **c).await
            }
        };
        self.faults().after(sql.name)?;
        rows.map_err(|error| StoreError::statement(sql.name, error))
    }

    /// Reads a set in one go. A row costs SQLite's driver an allocation or three for every column, so there the
    /// statement answers one JSON text, an array of arrays in the order of `T`'s fields; PostgreSQL answers rows.
    pub async fn fetch_set<T: Record + DeserializeOwned>(
        &mut self,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> Result<Vec<T>> {
        if !self.is_sqlite() {
            return self.fetch_all(sql, args).await;
        }
        let set: (String,) = self.fetch_one(sql, args).await?;
        serde_json::from_str(&set.0).map_err(|_| StoreError::Stored(sql.name))
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self, Conn::Sqlite(..))
    }

    /// On SQLite, changes every row of a set or none, and says which; then nobody needs to be told row by row. On
    /// PostgreSQL, where being told is cheap, it does nothing and says so.
    pub(crate) async fn changes_all(&mut self, sql: &Sql, args: Vec<Arg>, rows: usize) -> Result<bool> {
        if !self.is_sqlite() {
            return Ok(false);
        }
        self.execute(&SAVEPOINT, Vec::new()).await?;
        if self.execute(sql, args).await? == rows as u64 {
            return Ok(true);
        }
        self.execute(&UNDO, Vec::new()).await?;
        Ok(false)
    }

    pub async fn fetch_optional<T: Record>(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<Option<T>> {
        Ok(self.fetch_all(sql, args).await?.into_iter().next())
    }

    pub async fn fetch_one<T: Record>(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<T> {
        let row = self.fetch_optional(sql, args).await?;
        row.ok_or_else(|| StoreError::statement(sql.name, sqlx::Error::RowNotFound))
    }

    /// Runs a statement that returns no rows; answers how many it changed.
    pub async fn execute(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<u64> {
        self.faults().before(sql.name)?;
        self.explain(sql, &args).await?;
        let changed = match self {
            Conn::Sqlite(c, _) => sqlx::query_with(sql.sqlite, args::for_sqlite(args)?)
                .execute(&mut **c)
                .await
                .map(|done| done.rows_affected()),
            Conn::Postgres(c, _) => sqlx::query_with(sql.postgres, args::for_postgres(args)?)
                .execute(&mut **c)
                .await
                .map(|done| done.rows_affected()),
        };
        self.faults().after(sql.name)?;
        changed.map_err(|error| StoreError::statement(sql.name, error))
    }

    fn faults(&self) -> &Faults {
        match self {
            Conn::Sqlite(_, faults) | Conn::Postgres(_, faults) => faults,
        }
    }
}
