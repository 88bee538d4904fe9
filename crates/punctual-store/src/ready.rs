//! Positions in the indexes of ready rows.

/// A place in the order in which rows are ready: a claim may start behind one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct After {
    pub ready_at: i64,
    pub id: i64,
}

impl After {
    pub const BEGINNING: Self = Self { ready_at: i64::MIN, id: i64::MIN };
}
