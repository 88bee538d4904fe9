//! The cells of a row of PostgreSQL, taken from the wire as they are.

use sqlx::{
    Row as _, ValueRef as _,
    postgres::{PgRow, PgValueFormat, types::Oid},
};

use crate::{
    db::{column::Cell, record::Row},
    error::DriverError,
};

/// The types that columns have, by the numbers that every PostgreSQL gives them.
const BOOL: u32 = 16;
const BYTES: u32 = 17;
const BIGINT: u32 = 20;
const SMALLINT: u32 = 21;
const INTEGER: u32 = 23;
const TEXT: u32 = 25;

impl Row for PgRow {
    fn is_named(&self, position: usize, name: &str) -> bool {
        self.columns().get(position).is_some_and(|column| sqlx::Column::name(column) == name)
    }

    fn position(&self, name: &str) -> Result<usize, DriverError> {
        let position = self.columns().iter().position(|column| sqlx::Column::name(column) == name);
        position.ok_or_else(|| sqlx::Error::ColumnNotFound(name.to_owned()).into())
    }

    fn cell(&self, position: usize) -> Result<Cell<'_>, DriverError> {
        let value = self.try_get_raw(position)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        let kind = value.type_info().oid().map(|Oid(number)| number);
        let bytes = value.as_bytes().map_err(sqlx::Error::Decode)?;
        // Statements with parameters return binary values; a null parameter may leave a constant without a type.
        let cell = match (value.format(), kind) {
            (PgValueFormat::Binary, Some(BIGINT)) => {
                bytes.try_into().ok().map(i64::from_be_bytes).map(Cell::Int)
            }
            (PgValueFormat::Binary, Some(INTEGER)) => {
                bytes.try_into().ok().map(|bytes| Cell::Int(i32::from_be_bytes(bytes).into()))
            }
            (PgValueFormat::Binary, Some(SMALLINT)) => {
                bytes.try_into().ok().map(|bytes| Cell::Int(i16::from_be_bytes(bytes).into()))
            }
            (PgValueFormat::Binary, Some(BOOL)) => bytes.first().map(|byte| Cell::Bool(*byte != 0)),
            (PgValueFormat::Binary, Some(BYTES)) => Some(Cell::Bytes(bytes)),
            (_, Some(TEXT)) => str::from_utf8(bytes).ok().map(Cell::Text),
            _ => None,
        };
        cell.ok_or_else(|| DriverError::Decode("no column has this type".to_owned()))
    }
}
