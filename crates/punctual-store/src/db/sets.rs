//! Sets of which one must know, row by row, what came of them.
//!
//! PostgreSQL returns the rows. On SQLite a row that is returned goes through a table in memory, so
//! there the thread only notes which rows of the set took, and the caller, who has the set, knows the rest.

use punctual_boxed::Record;

use super::{
    Arg, Conn, Field, Record, Result, Sql,
    column::{Kind, Value},
    deadline::{SQLITE, within},
};
use crate::StoreError;

/// A row of a set that is written; each field is a column of the set. `#[derive(SetRow)]` is all it takes.
pub trait SetRow {
    const FIELDS: &'static [Field];

    /// The value of the field of this number.
    fn cell(&self, field: usize) -> Value<'_>;
}

impl<T: SetRow> SetRow for &T {
    const FIELDS: &'static [Field] = T::FIELDS;

    fn cell(&self, field: usize) -> Value<'_> {
        T::cell(self, field)
    }
}

/// The bound values of a statement on a set: scalars, then a column for each field.
pub(crate) fn with_rows<R: SetRow>(mut scalars: Vec<Arg>, rows: &[R]) -> Vec<Arg> {
    scalars.extend(columns_of(rows));
    scalars
}

/// A column for each field of these rows.
pub(crate) fn columns_of<R: SetRow>(rows: &[R]) -> Vec<Arg> {
    let column = |(number, field): (usize, &Field)| {
        let cells = rows.iter().map(|row| row.cell(number));
        match field.kind {
            Kind::Int => Arg::Ints(cells.map(as_int).collect()),
            Kind::Bool => Arg::Bools(cells.map(|cell| cell == Value::Bool(true)).collect()),
            Kind::Text => Arg::Texts(cells.collect()),
        }
    };
    R::FIELDS.iter().enumerate().map(column).collect()
}

fn as_int(cell: Value<'_>) -> Option<i64> {
    match cell {
        Value::Int(number) => Some(number),
        _ => None,
    }
}

#[derive(Record)]
struct Id {
    id: i64,
}

impl Conn<'_> {
    /// Changes at most one row for each row of a set; returns the ids of those it changed. PostgreSQL's text returns
    /// them as `id`, SQLite's returns nothing, and `id_of` returns the id of a row of the set.
    pub async fn change(
        &mut self,
        sql: &Sql,
        args: Vec<Arg>,
        id_of: impl Fn(usize) -> i64,
    ) -> Result<Vec<i64>> {
        if self.is_sqlite() {
            let took = self.execute_each(sql, args).await?;
            return Ok(took.into_iter().map(|(row, _)| id_of(row)).collect());
        }
        let changed: Vec<Id> = self.fetch_all(sql, args).await?;
        Ok(changed.into_iter().map(|row| row.id).collect())
    }

    /// Inserts the rows of a set that are not there yet, and returns them. PostgreSQL's text returns records, SQLite's
    /// returns nothing, and `record` makes one of a row of the set and the number it got.
    pub async fn insert<T: Record>(
        &mut self,
        sql: &Sql,
        args: Vec<Arg>,
        record: impl Fn(usize, i64) -> T,
    ) -> Result<Vec<T>> {
        if self.is_sqlite() {
            let took = self.execute_each(sql, args).await?;
            return Ok(took.into_iter().map(|(row, number)| record(row, number)).collect());
        }
        self.fetch_all(sql, args).await
    }

    /// The rows of the set that changed something, each with the number that SQLite last gave to a new row.
    async fn execute_each(&mut self, sql: &Sql, args: Vec<Arg>) -> Result<Vec<(usize, i64)>> {
        self.faults().before(sql.name)?;
        self.explain(sql, &args).await?;
        let Conn::Sqlite(thread, faults) = self else { return Ok(Vec::new()) };
        let statement = sql.for_sqlite(args);
        let took = within(SQLITE, thread.run(move |session| session.execute_each(statement))).await.flatten();
        faults.after(sql.name)?;
        took.map_err(|error| StoreError::statement(sql.name, error))
    }
}
