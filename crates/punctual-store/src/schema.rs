//! The compatibility of nodes and schema versions.

use punctual_boxed::boxed;

use crate::{
    StoreError,
    db::{Conn, Result},
    facts, migrate,
};

/// The stored fact with the oldest schema that a node must support; older nodes stop.
pub(crate) const OLDEST_NODE: &str = "schema.oldest-node";

/// The newest step that this program knows.
pub const fn known() -> i64 {
    migrate::KNOWN
}

/// The oldest step that a node must know to work beside this program.
pub const fn oldest_node() -> i64 {
    migrate::OLDEST_NODE
}

/// The newest step of the newest release.
pub const fn released() -> i64 {
    migrate::RELEASED
}

/// An error where a newer program has changed the schema in a way that this one does not understand.
#[boxed]
pub async fn check(conn: &mut Conn<'_>) -> Result<()> {
    let needed = facts::get(conn, OLDEST_NODE).await?.and_then(|needed| needed.parse().ok()).unwrap_or(0);
    if needed > known() {
        return Err(StoreError::ProgramTooOld { needed, known: known() });
    }
    Ok(())
}

/// Whether a connection of this name is a node that knows less than this. Names are `punctual/SCHEMA`; the first edition
/// had `punctual` alone.
pub(crate) fn is_older(connection: &str, than: i64) -> bool {
    match connection.strip_prefix("punctual") {
        Some("") => true,
        Some(rest) => {
            rest.strip_prefix('/').and_then(|number| number.parse().ok()).is_some_and(|n: i64| n < than)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_older;

    #[test]
    fn a_node_is_known_by_the_name_of_its_connections() {
        for (name, older) in [
            ("punctual", true),
            ("punctual/19", true),
            ("punctual/20", false),
            ("punctual/21", false),
            ("punctual report", false),
            ("psql", false),
            ("", false),
        ] {
            assert_eq!(is_older(name, 20), older, "{name}");
        }
    }
}
