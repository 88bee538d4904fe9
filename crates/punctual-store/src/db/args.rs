//! Bound values. Scalars come first; columns of a set come last.
//!
//! PostgreSQL gets each column as an array (`UNNEST($3::text[], $4::bigint[])`), SQLite gets all of them
//! as one JSON text in the first column's place (`jsonb_each($3)`, a row is an array; `json_each` and a single column is a
//! plain array).

use jiff::Timestamp;
use sqlx::{Arguments, postgres::PgArguments, sqlite::SqliteArguments};

use crate::StoreError;

/// One bound value. A null keeps its type, which PostgreSQL needs.
#[derive(Debug, Clone)]
pub enum Arg {
    Bool(Option<bool>),
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    /// A column of a set.
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Bools(Vec<bool>),
}

/// `args![now, limit, ids]`: the bound values of one statement, in the order of its `$n`.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Arg::from($value)),*] };
}
pub(crate) use args;

macro_rules! arg_from {
    ($($from:ty => |$v:ident| $make:expr;)*) => { $(
        impl From<$from> for Arg { fn from($v: $from) -> Self { $make } }
    )* };
}

arg_from! {
    bool => |v| Arg::Bool(Some(v));
    i64 => |v| Arg::Int(Some(v));
    Option<i64> => |v| Arg::Int(v);
    Timestamp => |v| Arg::Int(Some(v.as_microsecond()));
    Option<Timestamp> => |v| Arg::Int(v.map(|at| at.as_microsecond()));
    &str => |v| Arg::Text(Some(v.to_owned()));
    String => |v| Arg::Text(Some(v));
    &String => |v| Arg::Text(Some(v.clone()));
    Option<String> => |v| Arg::Text(v);
    Option<&str> => |v| Arg::Text(v.map(str::to_owned));
    Option<bool> => |v| Arg::Bool(v);
    Vec<u8> => |v| Arg::Bytes(Some(v));
    Vec<i64> => |v| Arg::Ints(v.into_iter().map(Some).collect());
    Vec<Option<i64>> => |v| Arg::Ints(v);
    Vec<Timestamp> => |v| Arg::Ints(v.into_iter().map(|at| Some(at.as_microsecond())).collect());
    Vec<Option<Timestamp>> => |v| Arg::Ints(v.into_iter().map(|at| at.map(|at| at.as_microsecond())).collect());
    Vec<String> => |v| Arg::Texts(v.into_iter().map(Some).collect());
    Vec<Option<String>> => |v| Arg::Texts(v);
    Vec<bool> => |v| Arg::Bools(v);
}

pub(super) fn for_postgres(args: Vec<Arg>) -> Result<PgArguments, StoreError> {
    let mut bound = PgArguments::default();
    for arg in args {
        match arg {
            Arg::Bool(v) => bound.add(v),
            Arg::Int(v) => bound.add(v),
            Arg::Text(v) => bound.add(v),
            Arg::Bytes(v) => bound.add(v),
            Arg::Ints(v) => bound.add(v),
            Arg::Texts(v) => bound.add(v),
            Arg::Bools(v) => bound.add(v),
        }
        .map_err(StoreError::Binding)?;
    }
    Ok(bound)
}

pub(super) fn for_sqlite(args: Vec<Arg>) -> Result<SqliteArguments, StoreError> {
    let mut bound = SqliteArguments::default();
    let mut columns = Vec::new();
    for arg in args {
        match arg {
            Arg::Bool(v) => bound.add(v),
            Arg::Int(v) => bound.add(v),
            Arg::Text(v) => bound.add(v),
            Arg::Bytes(v) => bound.add(v),
            column @ (Arg::Ints(_) | Arg::Texts(_) | Arg::Bools(_)) => {
                columns.push(column);
                continue;
            }
        }
        .map_err(StoreError::Binding)?;
    }
    if !columns.is_empty() {
        bound.add(rows_as_json(&columns)).map_err(StoreError::Binding)?;
    }
    Ok(bound)
}

fn rows_as_json(columns: &[Arg]) -> String {
    let rows = columns.iter().map(Arg::len).max().unwrap_or(0);
    let mut json = String::with_capacity(rows * columns.len() * 16 + 2);
    json.push('[');
    for row in 0..rows {
        if row > 0 {
            json.push(',');
        }
        if columns.len() > 1 {
            json.push('[');
        }
        for (n, column) in columns.iter().enumerate() {
            if n > 0 {
                json.push(',');
            }
            column.write_cell(row, &mut json);
        }
        if columns.len() > 1 {
            json.push(']');
        }
    }
    json.push(']');
    json
}

impl Arg {
    fn len(&self) -> usize {
        match self {
            Arg::Ints(v) => v.len(),
            Arg::Texts(v) => v.len(),
            Arg::Bools(v) => v.len(),
            Arg::Bool(_) | Arg::Int(_) | Arg::Text(_) | Arg::Bytes(_) => 1,
        }
    }

    fn write_cell(&self, row: usize, json: &mut String) {
        use std::fmt::Write;
        match self {
            Arg::Ints(v) => match v.get(row).copied().flatten() {
                Some(number) => write!(json, "{number}").unwrap_or_default(),
                None => json.push_str("null"),
            },
            Arg::Texts(v) => match v.get(row).and_then(Option::as_deref) {
                Some(text) => write_text(text, json),
                None => json.push_str("null"),
            },
            Arg::Bools(v) => json.push(if v.get(row) == Some(&true) { '1' } else { '0' }),
            Arg::Bool(_) | Arg::Int(_) | Arg::Text(_) | Arg::Bytes(_) => json.push_str("null"),
        }
    }
}

/// A JSON string; runs that need no escape are copied whole.
fn write_text(text: &str, json: &mut String) {
    use std::fmt::Write;
    json.push('"');
    let mut clean = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        json.push_str(&text[clean..at]);
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            control => write!(json, "\\u{control:04x}").unwrap_or_default(),
        }
        clean = at + 1;
    }
    json.push_str(&text[clean..]);
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_becomes_rows_for_sqlite() {
        let json = |columns: Vec<Arg>| rows_as_json(&columns);
        let rows =
            json(args![vec![1_i64, 2], vec![Some("a\"\\\n\u{1}é".to_owned()), None], vec![true, false]]);
        assert_eq!(rows, "[[1,\"a\\\"\\\\\\n\\u0001é\",1],[2,null,0]]");
        let parsed: serde_json::Value = serde_json::from_str(&rows).unwrap();
        assert_eq!(parsed[0][1], "a\"\\\n\u{1}é");
        assert_eq!(json(args![vec![7_i64, 8]]), "[7,8]");
    }
}
