//! The cells of a row of SQLite.

use rusqlite::{Row as SqliteRow, types::ValueRef};

use crate::{
    db::{column::Cell, record::Row},
    error::DriverError,
};

impl Row for SqliteRow<'_> {
    fn is_named(&self, position: usize, name: &str) -> bool {
        self.as_ref().column_name(position).is_ok_and(|found| found == name)
    }

    fn position(&self, name: &str) -> Result<usize, DriverError> {
        Ok(self.as_ref().column_index(name)?)
    }

    fn cell(&self, position: usize) -> Result<Cell<'_>, DriverError> {
        Ok(match self.get_ref(position)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Int(number),
            ValueRef::Real(_) => return Err(DriverError::Decode("no column holds fractions".to_owned())),
            ValueRef::Text(text) => match str::from_utf8(text) {
                Ok(text) => Cell::Text(text),
                Err(error) => return Err(DriverError::Decode(error.to_string())),
            },
            ValueRef::Blob(bytes) => Cell::Bytes(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use punctual_boxed::Record;
    use rusqlite::Connection;

    use crate::{db::record::Decoder, error::DriverError};

    #[derive(Debug, PartialEq, Record)]
    struct Thing {
        id: i64,
        name: Option<String>,
        on_hold: bool,
    }

    fn first(text: &str) -> Result<Thing, DriverError> {
        let conn = Connection::open_in_memory().unwrap();
        let mut statement = conn.prepare(text).unwrap();
        let mut rows = statement.raw_query();
        Decoder::default().decode(rows.next().unwrap().unwrap())
    }

    #[test]
    fn columns_go_to_the_fields_of_their_names() {
        let thing = first("SELECT 1 AS on_hold, 'x' AS more, 'é' AS name, 7 AS id").unwrap();
        assert_eq!(thing, Thing { id: 7, name: Some("é".to_owned()), on_hold: true });
        let thing = first("SELECT 7 AS id, NULL AS name, 0 AS on_hold").unwrap();
        assert_eq!(thing, Thing { id: 7, name: None, on_hold: false });
    }

    #[test]
    fn what_does_not_fit_is_refused_and_never_bent() {
        for text in [
            "SELECT 7 AS id, 'a' AS name",
            "SELECT NULL AS id, 'a' AS name, 0 AS on_hold",
            "SELECT '7' AS id, 'a' AS name, 0 AS on_hold",
            "SELECT 7 AS id, 8 AS name, 0 AS on_hold",
            "SELECT 7 AS id, 'a' AS name, 2 AS on_hold",
            "SELECT 7 AS id, CAST(x'ff' AS TEXT) AS name, 0 AS on_hold",
        ] {
            assert!(first(text).is_err(), "{text}");
        }
        let refusal = first("SELECT '7' AS id, 'a' AS name, 0 AS on_hold").unwrap_err().to_string();
        assert_eq!(refusal, "a row does not fit its record: `id` is not a number");
    }
}
