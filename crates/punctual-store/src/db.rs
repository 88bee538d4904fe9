//! The only place that names a database driver: one enum of connections, a few functions, shared text.
//!
//! Statement functions elsewhere in this crate take `&mut Conn` and know nothing of drivers; everything
//! above this crate knows nothing of SQL.

mod args;
mod column;
mod deadline;
mod explain;
mod faults;
mod gate;
mod open;
mod postgres;
mod record;
mod sets;
mod sqlite;
mod text;
mod tx;

use std::any::Any;

use punctual_boxed::boxed;
use sqlx::postgres::PgRow;

pub use args::Arg;
pub(crate) use args::args;
pub use column::{Decode, Encode, Unchecked, Value};
pub use deadline::Deadlines;
pub use faults::{CrashPoint, Faults};
pub use gate::Lane;
pub(crate) use open::Note;
pub use open::{Durability, Store, StoreOptions};
pub use postgres::Held;
pub use record::{Cells, Record};
pub use sets::SetRow;
pub(crate) use sets::{columns_of, with_rows};
pub(crate) use sqlite::Session;
pub use sqlite::{CopyStep, SqliteCopy, SqliteThread};
pub use text::Field;
pub(crate) use text::{
    Dialect, Measure, Piece, Sets, Shape, join, joined_length, joined_sql, measure, render, sql,
};
pub use tx::{Reader, Tx, WakeListener};

use crate::{StoreError, error::DriverError};
use deadline::{SQLITE, within};
use record::Decoder;

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// What a connection reads for. Each purpose has connections of its own, so that none takes those of another.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// The loops.
    Engine,
    /// Requests and pages.
    People,
    /// Whether the database answers at all.
    Probes,
}

/// One statement, as each database spells it, with the name that crash points and traces know it by.
pub struct Sql {
    pub name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
    /// How SQLite's text takes its sets.
    sets: Sets,
    /// The statements that this one does at once on PostgreSQL; their crash points are passed beside its own.
    joins: &'static [&'static str],
}

impl Sql {
    /// Both databases accept the same text.
    pub const fn same(name: &'static str, text: &'static str) -> Self {
        Self::each(name, text, text)
    }

    /// The databases differ; the two texts stand side by side.
    pub const fn each(name: &'static str, sqlite: &'static str, postgres: &'static str) -> Self {
        Self { name, sqlite, postgres, sets: Sets::new(false, sqlite.as_bytes()), joins: &[] }
    }

    /// What `joined_sql!` has made: SQLite runs the statements one by one.
    pub(crate) const fn joined(
        name: &'static str,
        joins: &'static [&'static str],
        postgres: &'static [u8],
    ) -> Self {
        match str::from_utf8(postgres) {
            Ok(postgres) => Self { joins, ..Self::each(name, "SELECT 1", postgres) },
            Err(_) => panic!("a part of a text ends inside a character"),
        }
    }

    /// What `sql!` has made of one text.
    pub(crate) const fn rendered(
        name: &'static str,
        sqlite: &'static [u8],
        postgres: &'static [u8],
        sets: Sets,
    ) -> Self {
        match (str::from_utf8(sqlite), str::from_utf8(postgres)) {
            (Ok(sqlite), Ok(postgres)) => Self { name, sqlite, postgres, sets, joins: &[] },
            _ => panic!("a part of a text ends inside a character"),
        }
    }

    /// The name, and the text that PostgreSQL gets.
    pub(crate) fn on_postgres(&self) -> (&'static str, &'static str) {
        (self.name, self.postgres)
    }

    fn for_sqlite(&self, args: Vec<Arg>) -> sqlite::Statement {
        sqlite::Statement { text: self.sqlite, sets: self.sets, args }
    }
}

/// Lists the statements of a module, and after a semicolon the modules under it that have some. All statements come
/// together in [`crate::statements`], and the test of their plans fails for one that is not listed.
macro_rules! statements {
    ($($statement:ident),* $(; $($module:ident),+)?) => {
        /// The statements of this module and of those under it.
        pub(crate) fn listed() -> Vec<&'static $crate::db::Sql> {
            let own: &[&'static $crate::db::Sql] = &[$(&$statement),*];
            let under: &[fn() -> Vec<&'static $crate::db::Sql>] = &[$($($module::listed),+)?];
            own.iter().copied().chain(under.iter().flat_map(|module| module())).collect()
        }
    };
}
pub(crate) use statements;
statements![; tx];

/// How a thread of SQLite reads the records of a statement; returns a `Vec` of them.
type Read = fn(&mut Session, sqlite::Statement) -> std::result::Result<Box<dyn Any + Send>, DriverError>;

/// What a statement found: on SQLite already records, which are read where the rows are.
enum Rows {
    Sqlite(Box<dyn Any + Send>),
    Postgres(Vec<PgRow>),
}

/// An open connection or transaction, whichever database it belongs to.
pub enum Conn<'c> {
    Sqlite(&'c SqliteThread, &'c Faults),
    Postgres(&'c mut Held, &'c Faults),
}

impl Conn<'_> {
    pub async fn fetch_all<T: Record>(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<Vec<T>> {
        let rows = match self.fetch(sql, args, Session::fetch::<T>).await? {
            // It is what `read` made, so it is of this type.
            Rows::Sqlite(rows) => rows.downcast().map(|rows| *rows).map_err(|_| DriverError::NoRow),
            Rows::Postgres(rows) => {
                let mut decoder = Decoder::default();
                rows.iter().map(|row| decoder.decode(row)).collect()
            }
        };
        rows.map_err(|error| StoreError::statement(sql.name, error))
    }

    /// What `fetch_all` does for every record alike.
    #[boxed]
    async fn fetch(&mut self, sql: &Sql, args: Vec<Arg>, read: Read) -> Result<Rows> {
        for name in sql.joins {
            self.faults().before(name)?;
        }
        self.faults().before(sql.name)?;
        self.explain(sql, &args).await?;
        let rows = match self {
            Conn::Sqlite(thread, _) => {
                let statement = sql.for_sqlite(args);
                within(SQLITE, thread.run(move |session| read(session, statement)))
                    .await
                    .flatten()
                    .map(Rows::Sqlite)
            }
            Conn::Postgres(c, _) => {
                let query = sqlx::query_with(sql.postgres, args::for_postgres(args)?);
                let query = query.persistent(c.keeps_statements());
                c.run(async |conn| query.fetch_all(conn).await).await.map(Rows::Postgres)
            }
        };
        self.faults().after(sql.name)?;
        for name in sql.joins {
            self.faults().after(name)?;
        }
        rows.map_err(|error| StoreError::statement(sql.name, error))
    }

    pub async fn fetch_optional<T: Record>(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<Option<T>> {
        Ok(self.fetch_all(sql, args).await?.into_iter().next())
    }

    pub async fn fetch_one<T: Record>(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<T> {
        let row = self.fetch_optional(sql, args).await?;
        row.ok_or_else(|| StoreError::statement(sql.name, DriverError::NoRow))
    }

    /// Runs a statement that returns no rows; returns how many it changed.
    #[boxed]
    pub async fn execute(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<u64> {
        self.faults().before(sql.name)?;
        self.explain(sql, &args).await?;
        let changed = match self {
            Conn::Sqlite(thread, _) => {
                let statement = sql.for_sqlite(args);
                within(SQLITE, thread.run(move |session| session.execute(statement))).await.flatten()
            }
            Conn::Postgres(c, _) => {
                let query = sqlx::query_with(sql.postgres, args::for_postgres(args)?);
                let query = query.persistent(c.keeps_statements());
                c.run(async |conn| query.execute(conn).await).await.map(|done| done.rows_affected())
            }
        };
        self.faults().after(sql.name)?;
        changed.map_err(|error| StoreError::statement(sql.name, error))
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self, Conn::Sqlite(..))
    }

    fn faults(&self) -> &Faults {
        match self {
            Conn::Sqlite(_, faults) | Conn::Postgres(_, faults) => faults,
        }
    }
}
