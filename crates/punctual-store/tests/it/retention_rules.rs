//! Every table has a rule of retention, and the guide says it.

use std::collections::BTreeSet;

use punctual_store::retention::{Rule, TABLES, Window};
use punctual_testkit::{Database, TestBed, on_both};

on_both! {
    every_table_has_a_rule_of_retention;
}

async fn every_table_has_a_rule_of_retention(bed: TestBed) {
    let there: BTreeSet<String> = bed.tables().await.into_iter().collect();
    let ruled: BTreeSet<String> = TABLES.iter().map(|one| one.table.to_owned()).collect();
    let without: Vec<_> = there.difference(&ruled).collect();
    assert!(without.is_empty(), "say in retention.rs how long these keep their rows: {without:?}");
    let gone: Vec<_> = ruled.difference(&there).filter(|table| *table != "work_keys").collect();
    assert!(gone.is_empty(), "these tables are no longer there: {gone:?}");
    assert_eq!(there.contains("work_keys"), bed.database() == Database::Postgres);
    // What goes with another table goes with one that has a rule, and not in a circle.
    for one in TABLES {
        let mut at = one;
        for _ in 0..TABLES.len() {
            let Rule::With(other) = at.rule else { break };
            at = TABLES
                .iter()
                .find(|one| one.table == other)
                .unwrap_or_else(|| panic!("{}: {other}", one.table));
        }
        assert!(!matches!(at.rule, Rule::With(_)), "{} goes in a circle", one.table);
    }
}

#[test]
fn the_guide_has_every_rule() {
    let guide = include_str!("../../../../docs/retention.md");
    for one in TABLES {
        let rule = match one.rule {
            Rule::Removed(window) => format!("removed after `{}`", window.setting()),
            Rule::Stripped(window, what) => format!("loses {what} after `{}`", window.setting()),
            Rule::Short(time) => format!("removed after {time}"),
            Rule::With(table) => format!("removed with `{table}`"),
            Rule::AtItsEnd => "removed when it ends".to_owned(),
            Rule::Defined => "kept until deleted".to_owned(),
            Rule::Few => "few rows".to_owned(),
            Rule::ForGood => "kept forever".to_owned(),
        };
        let line = format!("| `{}` | {rule} | {} |", one.table, one.why);
        assert!(guide.contains(&line), "docs/retention.md lacks: {line}");
    }
    for window in Window::ALL {
        assert!(guide.contains(&format!("`{}`", window.setting())), "{}", window.setting());
    }
}
