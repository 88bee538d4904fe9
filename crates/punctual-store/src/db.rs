//! The only place that names a database driver: one enum of connections, four functions, shared text.
//!
//! Statement functions elsewhere in this crate take `&mut Conn` and know nothing of drivers; everything
//! above this crate knows nothing of SQL.

mod args;
mod explain;
mod faults;
mod gate;
mod open;

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
