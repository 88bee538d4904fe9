//! Resolves references to definitions (lists, people, organisations) within the business unit of the referring row.

use std::collections::HashMap;

/// A row that belongs to a business unit, or to all of them together.
pub trait Owned {
    fn business_unit(&self) -> Option<&str>;
}

/// The result for a batch of names. A lookup names the business unit.
#[derive(Clone, Debug)]
pub struct Named<Row>(HashMap<String, Vec<Row>>);

impl<Row> Default for Named<Row> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<Row: Owned> Named<Row> {
    pub(crate) fn new(rows: Vec<Row>, name: impl Fn(&Row) -> Option<String>) -> Self {
        let mut named: HashMap<String, Vec<Row>> = HashMap::new();
        for row in rows {
            if let Some(name) = name(&row) {
                named.entry(name).or_default().push(row);
            }
        }
        Self(named)
    }

    /// The first row of this name that belongs to this business unit or to none. Another unit's is not there.
    pub fn get(&self, unit: Option<&str>, name: &str) -> Option<&Row> {
        let shared = |row: &&Row| row.business_unit().is_none() || row.business_unit() == unit;
        self.0.get(name)?.iter().find(shared)
    }
}

/// Each name once, in order.
pub(crate) fn distinct(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}
