//! What a column can hold, and how the types of the model become one of the four column types and come back.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_model::{
    Anchor, AttemptOutcome, AuditAction, ChannelKey, ConsumerLink, ErasureStatus, InputHash, Json,
    NotificationId, NotificationStatus, OwnershipStatus, ReasonCode, RunOutcome, SyncStatus, WorkId, WorkKey,
    WorkStatus, ids::derive_uuid, survey::InstanceStatus,
};

use super::record::instant;

/// One stored value, as it lies in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'r> {
    Null,
    Int(i64),
    Bool(bool),
    Text(&'r str),
    Bytes(&'r [u8]),
}

/// One value on its way into a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'v> {
    Null,
    Int(i64),
    Bool(bool),
    Text(Cow<'v, str>),
}

/// The type of a column of a set, as PostgreSQL calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Text,
    Bool,
}

impl Kind {
    pub(super) const fn on_postgres(self) -> &'static str {
        match self {
            Self::Int => "bigint",
            Self::Text => "text",
            Self::Bool => "boolean",
        }
    }
}

/// What can be read from a column. The error says what was expected.
pub trait Decode: Sized {
    fn decode(cell: Cell<'_>) -> Result<Self, &'static str>;
}

/// What can be written into a column of a set.
pub trait Encode {
    const KIND: Kind;
    fn encode(&self) -> Value<'_>;
}

impl<T: Decode> Decode for Option<T> {
    fn decode(cell: Cell<'_>) -> Result<Self, &'static str> {
        match cell {
            Cell::Null => Ok(None),
            cell => T::decode(cell).map(Some),
        }
    }
}

impl<T: Encode> Encode for Option<T> {
    const KIND: Kind = T::KIND;
    fn encode(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::encode)
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    const KIND: Kind = T::KIND;
    fn encode(&self) -> Value<'_> {
        T::encode(self)
    }
}

impl Decode for bool {
    /// SQLite has no booleans of its own.
    fn decode(cell: Cell<'_>) -> Result<Self, &'static str> {
        match cell {
            Cell::Bool(value) => Ok(value),
            Cell::Int(number @ (0 | 1)) => Ok(number == 1),
            _ => Err("a boolean"),
        }
    }
}

impl Encode for bool {
    const KIND: Kind = Kind::Bool;
    fn encode(&self) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl Decode for Vec<u8> {
    fn decode(cell: Cell<'_>) -> Result<Self, &'static str> {
        match cell {
            Cell::Bytes(bytes) => Ok(bytes.to_owned()),
            _ => Err("bytes"),
        }
    }
}

impl Encode for str {
    const KIND: Kind = Kind::Text;
    fn encode(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl Encode for Cow<'_, str> {
    const KIND: Kind = Kind::Text;
    fn encode(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

/// Types that are stored as a number: how it is read, how it is written.
macro_rules! number_columns {
    ($($type:ty: |$number:ident| $read:expr, |$value:ident| $write:expr;)*) => { $(
        impl Decode for $type {
            fn decode(cell: Cell<'_>) -> Result<Self, &'static str> {
                match cell {
                    Cell::Int($number) => Ok($read),
                    _ => Err("a number"),
                }
            }
        }
        impl Encode for $type {
            const KIND: Kind = Kind::Int;
            fn encode(&self) -> Value<'_> {
                let $value = self;
                Value::Int($write)
            }
        }
    )* };
}

number_columns! {
    i64: |number| number, |value| *value;
    Timestamp: |number| instant(number), |value| value.as_microsecond();
    WorkId: |number| WorkId(number), |value| value.0;
}

/// Types that are stored as a text: how it is read, how it is written.
macro_rules! text_columns {
    ($($type:ty: |$text:ident| $read:expr, $expected:literal, |$value:ident| $write:expr;)*) => { $(
        impl Decode for $type {
            fn decode(cell: Cell<'_>) -> Result<Self, &'static str> {
                match cell {
                    Cell::Text($text) => $read.ok_or($expected),
                    _ => Err($expected),
                }
            }
        }
        impl Encode for $type {
            const KIND: Kind = Kind::Text;
            fn encode(&self) -> Value<'_> {
                let $value = self;
                Value::Text(Cow::from($write))
            }
        }
    )* };
}

text_columns! {
    String: |text| Some(text.to_owned()), "a text", |value| value.as_str();
    NotificationId: |text| Some(text.parse().unwrap_or_else(|_| unreadable_id(text))), "a text", |value| value.to_string();
    NotificationStatus: |text| Self::parse(text), "a status of notifications", |value| value.as_str();
    WorkStatus: |text| Self::parse(text), "a status of work", |value| value.as_str();
    OwnershipStatus: |text| Self::parse(text), "a status of an ownership", |value| value.as_str();
    AttemptOutcome: |text| Self::parse(text), "an outcome of an attempt", |value| value.as_str();
    RunOutcome: |text| Self::parse(text), "an outcome of a run", |value| value.as_str();
    ConsumerLink: |text| Self::parse(text), "a state of a consumer", |value| value.as_str();
    ErasureStatus: |text| Self::parse(text), "a status of an erasure", |value| value.as_str();
    Anchor: |text| Self::parse(text), "an end of an event", |value| value.as_str();
    InstanceStatus: |text| Self::parse(text), "a status of an instance", |value| value.as_str();
    SyncStatus: |text| Self::parse(text), "a status of a rule", |value| value.as_str();
    WorkKey: |text| Some(Self::stored(text)), "a key", |value| value.as_str();
    ChannelKey: |text| Some(Self::stored(text)), "a channel key", |value| value.as_str();
    AuditAction: |text| text.parse().ok(), "an action of the audit", |value| value.as_str();
    ReasonCode: |text| text.parse().ok(), "a reason code", |value| value.as_str();
    InputHash: |text| Some(Self::parse_hex(text).unwrap_or_else(|_| Self::of(&text.into()))), "a text", |value| value.to_string();
}

/// A word in a column without a CHECK, which may be none of ours: read where it is wanted, so that it is the fault of one
/// row, at a place that knows the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unchecked<T>(Option<T>);

impl<T> Unchecked<T> {
    /// The word, where it is one that this program knows.
    pub fn known(self) -> Option<T> {
        self.0
    }
}

impl Decode for Unchecked<NotificationStatus> {
    fn decode(cell: Cell<'_>) -> Result<Self, &'static str> {
        match cell {
            Cell::Text(text) => Ok(Self(NotificationStatus::parse(text))),
            _ => Err("a text"),
        }
    }
}

/// What stands for an id that is none. Nobody here writes one; a row that has it must not make its neighbours unreadable.
fn unreadable_id(text: &str) -> NotificationId {
    NotificationId(derive_uuid(&["unreadable", text]))
}

/// The text is read when somebody wants what is in it, so that one bad row does not spoil its neighbours.
impl<T> Decode for Json<T> {
    fn decode(cell: Cell<'_>) -> Result<Self, &'static str> {
        match cell {
            Cell::Text(text) => Ok(Self::stored(text)),
            _ => Err("a text"),
        }
    }
}

impl<T> Encode for Json<T> {
    const KIND: Kind = Kind::Text;
    fn encode(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stored_text_or_number_makes_a_row_unreadable() {
        let text = |text| Cell::Text(text);
        let odd = NotificationId::decode(text("not an id")).unwrap();
        assert_eq!(odd, NotificationId::decode(text("not an id")).unwrap());
        assert_ne!(odd, NotificationId::decode(text("nor this")).unwrap());
        assert_ne!(InputHash::decode(text("d")).unwrap(), InputHash::decode(text("e")).unwrap());
        assert_eq!(Timestamp::decode(Cell::Int(i64::MAX)).unwrap(), Timestamp::MAX);
        assert_eq!(Timestamp::decode(Cell::Int(i64::MIN)).unwrap(), Timestamp::MIN);
        assert_eq!(ChannelKey::decode(text("No Key")).unwrap().as_str(), "No Key");
        assert!(Json::<Vec<String>>::decode(text("{")).unwrap().read().is_err());
    }
}
