//! Every column of text is known to erasure: it is erased, goes by itself, stays on purpose, or holds nothing personal.

use std::collections::BTreeSet;

use punctual_store::personal::columns::{holds, named};
use punctual_testkit::{TestBed, on_both};

on_both! {
    every_column_of_text_is_known_to_erasure;
}

async fn every_column_of_text_is_known_to_erasure(bed: TestBed) {
    let columns = bed.text_columns().await;
    let unknown: Vec<String> = columns
        .iter()
        .filter(|(table, column)| holds(table, column).is_none())
        .map(|(table, column)| format!("{table}.{column}"))
        .collect();
    assert_eq!(unknown, Vec::<String>::new(), "say in personal/columns.rs what an erasure does about them");
    // Keys of work have a table of their own on PostgreSQL alone.
    let there: BTreeSet<String> = columns.iter().map(|(table, column)| format!("{table}.{column}")).collect();
    let gone: Vec<&str> =
        named().into_iter().filter(|name| !there.contains(*name) && *name != "work_keys.key").collect();
    assert_eq!(gone, Vec::<&str>::new(), "these columns are no longer there");
}
