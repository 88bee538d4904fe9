//! Rows to records: one erased row for both drivers, so that a record's code is made once and is small.

use jiff::Timestamp;

use super::column::{Cell, Decode};
use crate::error::DriverError;

/// A row that is read; each field is the column of its name. `#[derive(Record)]` is all it takes.
pub trait Record: Sized + Send + 'static {
    /// The columns, in the order in which `decode` takes them.
    const COLUMNS: &'static [&'static str];

    fn decode(cells: &mut Cells<'_>) -> Result<Self, DriverError>;
}

/// A row of either driver.
pub(super) trait Row {
    /// Whether the column of this number has this name.
    fn is_named(&self, position: usize, name: &str) -> bool;
    /// The number of the column of this name.
    fn position(&self, name: &str) -> Result<usize, DriverError>;
    fn cell(&self, position: usize) -> Result<Cell<'_>, DriverError>;
}

/// The cells of one row, in the order of a record's columns.
pub struct Cells<'r> {
    row: &'r dyn Row,
    columns: &'static [&'static str],
    positions: &'r [usize],
    taken: usize,
}

impl Cells<'_> {
    pub fn next<T: Decode>(&mut self) -> Result<T, DriverError> {
        let taken = self.taken;
        self.taken += 1;
        // No error is made and thrown away for a cell that is there: this runs for every cell of every row.
        let Some(position) = self.positions.get(taken).copied() else { return Err(DriverError::NoRow) };
        match T::decode(self.row.cell(position)?) {
            Ok(value) => Ok(value),
            Err(expected) => Err(self.misfit(taken, expected)),
        }
    }

    #[cold]
    fn misfit(&self, taken: usize, expected: &str) -> DriverError {
        let column = self.columns.get(taken).copied().unwrap_or_default();
        DriverError::Decode(format!("`{column}` is not {expected}"))
    }
}

/// Decodes the rows of one result: columns are matched by name once, then taken by number.
#[derive(Default)]
pub(super) struct Decoder {
    positions: Option<Vec<usize>>,
}

impl Decoder {
    pub(super) fn decode<T: Record>(&mut self, row: &dyn Row) -> Result<T, DriverError> {
        if self.positions.is_none() {
            // Most texts have the columns in the order of the record: of sixty none is looked for among the others.
            let find = |(place, name): (usize, &&str)| {
                if row.is_named(place, name) { Ok(place) } else { row.position(name) }
            };
            self.positions = Some(T::COLUMNS.iter().enumerate().map(find).collect::<Result<_, _>>()?);
        }
        let positions = self.positions.as_deref().unwrap_or_default();
        T::decode(&mut Cells { row, columns: T::COLUMNS, positions, taken: 0 })
    }
}

/// The instant that a stored number stands for. A number beyond the calendar becomes its end: one such row must not make
/// its neighbours unreadable.
pub(super) fn instant(microseconds: i64) -> Timestamp {
    let end = if microseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(microseconds).unwrap_or(end)
}
