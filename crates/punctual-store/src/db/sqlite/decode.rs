//! Rows to records, through serde: fields are matched with columns by name once a result, then taken by number.

use std::slice;

use rusqlite::{Row, types::ValueRef};
use serde::{
    Deserializer,
    de::{self, DeserializeOwned, DeserializeSeed, SeqAccess, Visitor},
    forward_to_deserialize_any,
};

use crate::error::DriverError;

/// Decodes the rows of one result.
#[derive(Default)]
pub(super) struct Decoder {
    /// For each field of the record the number of its column, once a row was seen.
    columns: Option<Vec<usize>>,
}

impl Decoder {
    pub(super) fn decode<T: DeserializeOwned>(&mut self, row: &Row<'_>) -> Result<T, DriverError> {
        T::deserialize(RecordOf { row, decoder: self })
    }

    fn columns(&mut self, row: &Row<'_>, fields: &[&str]) -> Result<&[usize], DriverError> {
        if self.columns.is_none() {
            let found: Result<_, _> = fields.iter().map(|field| row.as_ref().column_index(field)).collect();
            self.columns = Some(found?);
        }
        Ok(self.columns.as_deref().unwrap_or_default())
    }
}

struct RecordOf<'a, 'r> {
    row: &'a Row<'r>,
    decoder: &'a mut Decoder,
}

impl<'de> Deserializer<'de> for RecordOf<'_, '_> {
    type Error = DriverError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DriverError> {
        let columns = self.decoder.columns(self.row, fields)?;
        visitor.visit_seq(Cells { row: self.row, columns: columns.iter() })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, DriverError> {
        Err(de::Error::custom("a record is a struct with a field for each column"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The cells of a row, in the order of the record's fields.
struct Cells<'a, 'r> {
    row: &'a Row<'r>,
    columns: slice::Iter<'a, usize>,
}

impl<'de> SeqAccess<'de> for Cells<'_, '_> {
    type Error = DriverError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DriverError> {
        let Some(column) = self.columns.next() else { return Ok(None) };
        seed.deserialize(Cell(self.row.get_ref(*column)?)).map(Some)
    }
}

struct Cell<'a>(ValueRef<'a>);

impl<'de> Deserializer<'de> for Cell<'_> {
    type Error = DriverError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DriverError> {
        match self.0 {
            ValueRef::Null => visitor.visit_unit(),
            ValueRef::Integer(number) => visitor.visit_i64(number),
            ValueRef::Real(number) => visitor.visit_f64(number),
            ValueRef::Text(text) => match str::from_utf8(text) {
                Ok(text) => visitor.visit_str(text),
                Err(error) => Err(de::Error::custom(error)),
            },
            ValueRef::Blob(bytes) => visitor.visit_bytes(bytes),
        }
    }

    /// SQLite has no booleans of its own.
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DriverError> {
        match self.0 {
            ValueRef::Integer(number @ (0 | 1)) => visitor.visit_bool(number == 1),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DriverError> {
        match self.0 {
            ValueRef::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
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
    }
}
