//! A table of typed cells, the result of any query.
//!
//! Reports and the reconciliation of external databases use it. The type is defined per column; a cell of another type is kept
//! as text, so no value is lost.

mod infer;

use jiff::{Timestamp, civil::Date};

use crate::Decimal;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Bool(bool),
    Integer(i64),
    Decimal(Decimal),
    Date(Date),
    Instant(Timestamp),
    Text(String),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A float as the shortest decimal that means it; what is no number is text.
    pub fn float(value: f64) -> Self {
        Decimal::from_f64(value).map_or_else(|| Self::Text(value.to_string()), Self::Decimal)
    }

    /// The value as a number, where it is one.
    pub fn number(&self) -> Option<Decimal> {
        match self {
            Self::Integer(value) => Some(Decimal::from(*value)),
            Self::Decimal(value) => Some(value.clone()),
            Self::Null | Self::Bool(_) | Self::Date(_) | Self::Instant(_) | Self::Text(_) => None,
        }
    }

    /// How many digits are behind the point, where the value is a number.
    pub fn decimals(&self) -> u32 {
        if let Self::Decimal(value) = self { value.decimals() } else { 0 }
    }

    /// About how much memory the value takes, for limits.
    pub fn size(&self) -> usize {
        let beside = match self {
            Self::Text(text) => text.len(),
            Self::Decimal(number) => number.length(),
            Self::Null | Self::Bool(_) | Self::Integer(_) | Self::Date(_) | Self::Instant(_) => 0,
        };
        size_of::<Self>() + beside
    }
}

/// What a column holds, and so how it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Text,
    Integer,
    Decimal,
    /// A share: 0.25 is shown as 25 %.
    Percent,
    Date,
    Instant,
    Boolean,
}

impl Kind {
    /// Every kind with its name in definitions.
    pub const NAMES: &'static [(&'static str, Kind)] = &[
        ("text", Self::Text),
        ("integer", Self::Integer),
        ("decimal", Self::Decimal),
        ("percent", Self::Percent),
        ("date", Self::Date),
        ("instant", Self::Instant),
        ("boolean", Self::Boolean),
    ];

    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal | Self::Percent)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

impl Column {
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// Rows under columns. Every row has a cell for each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// There was more than was asked for at most; it was left out.
    pub truncated: bool,
}

impl Table {
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new(), truncated: false }
    }

    /// The position of the column of this name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}
