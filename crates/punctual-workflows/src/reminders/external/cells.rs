//! Converts cells of an external database.

use jiff::Timestamp;
use punctual_model::table::Cell;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A place in the order of changes.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    Instant(Timestamp),
    Integer(i64),
    Text(String),
}

impl Mark {
    pub(super) fn of(cell: &Cell) -> Option<Self> {
        Some(match cell {
            Cell::Instant(at) => Self::Instant(*at),
            Cell::Integer(number) => Self::Integer(*number),
            Cell::Text(text) => Self::Text(text.clone()),
            Cell::Date(date) => Self::Text(date.to_string()),
            Cell::Null | Cell::Bool(_) | Cell::Decimal(_) => return None,
        })
    }

    pub(super) fn cell(&self) -> Cell {
        match self {
            Self::Instant(at) => Cell::Instant(*at),
            Self::Integer(number) => Cell::Integer(*number),
            Self::Text(text) => Cell::Text(text.clone()),
        }
    }

    /// As it is shown: how far a look has come.
    pub(super) fn as_instant(&self) -> Timestamp {
        match self {
            Self::Instant(at) => *at,
            Self::Integer(_) | Self::Text(_) => Timestamp::UNIX_EPOCH,
        }
    }
}

/// A text or a number as a text; nothing for everything else.
pub(super) fn text(cell: &Cell) -> Option<String> {
    match json_of(cell) {
        Value::String(text) if !text.is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A flag as databases keep it; nothing at all is the default.
pub(super) fn is_true(cell: &Cell, default: bool) -> bool {
    match cell {
        Cell::Null => default,
        Cell::Bool(value) => *value,
        Cell::Integer(number) => *number != 0,
        other => matches!(
            text(other).unwrap_or_default().to_ascii_lowercase().as_str(),
            "true" | "t" | "yes" | "y" | "1"
        ),
    }
}

pub(super) fn json_of(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => (*value).into(),
        Cell::Integer(number) => (*number).into(),
        Cell::Decimal(amount) => {
            serde_json::from_str(&amount.to_string()).unwrap_or_else(|_| amount.to_string().into())
        }
        Cell::Date(date) => date.to_string().into(),
        Cell::Instant(at) => at.to_string().into(),
        Cell::Text(text) => text.as_str().into(),
    }
}
