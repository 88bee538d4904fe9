//! What settings want of sources, without a database: the rows that are asked for are distinguished by all that they mean.

mod changes;
mod dates;
mod delivery;
mod edges;
mod moves;
mod promises;
mod races;
mod repair;
mod thresholds;
mod units;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_store::{reminders::settings::SettingRow, sources::SourceRow};
use punctual_workflows::reminders::{
    Providers, Setting,
    evaluate::{Inputs, Scope, evaluate},
    providers::Source,
};
use serde_json::{Value, json};

/// Texts that are most easily taken for one another once they are beside each other.
const PIECES: [&str; 10] = ["a", "b", "a:b", "a%3Ab", ":", "%", "threshold", "1", "é", "a\u{301}"];

fn setting(n: usize) -> SettingRow {
    // Some share an id with nobody, some a trigger key, and every third is a threshold over the same field.
    let trigger = PIECES[n % PIECES.len()];
    let (kind, name, part) = match n % 3 {
        0 => ("dateBased", "date", json!({ "field": "/on", "offsetsDays": [i64::try_from(n % 7).unwrap()] })),
        1 => ("recurring", "recurring", json!({ "field": "/on", "every": "year" })),
        _ => {
            let threshold = json!({ "metric": { "field": "/level" }, "op": ">=", "value": n % 5, "firingPolicy": "OncePerThreshold" });
            ("threshold", "threshold", threshold)
        }
    };
    let definition = json!({ "name": "n", "sourceType": "t", "triggerKey": trigger, "kind": kind, name: part,
        "recipients": { "addresses": ["a@b.example"] }, "delivery": {} });
    SettingRow {
        id: format!("{}{}", PIECES[(n / 10) % PIECES.len()], n / 100),
        name: "n".into(),
        business_unit: None,
        source_type: "t".into(),
        child_type: None,
        kind: kind.into(),
        active: true,
        deleted: false,
        definition: definition.to_string(),
        key_base: None,
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

fn source(n: usize) -> Source {
    let id = format!("{}{}", PIECES[n % PIECES.len()], PIECES[(n / 10) % PIECES.len()]);
    Source::new(SourceRow {
        source_type: "t".into(),
        source_id: id,
        business_unit: [None, Some("nz"), Some("de")][n % 3].map(str::to_owned),
        active: true,
        deleted: false,
        state: json!({ "on": format!("2026-06-{:02}", 1 + n % 3), "level": 9 }).to_string(),
        sequence: None,
        occurred_at: Timestamp::UNIX_EPOCH,
        version: 2,
        updated_at: Timestamp::UNIX_EPOCH,
    })
}

#[test]
fn r01_a_hundred_thousand_cases_share_a_row_only_where_they_mean_the_same() {
    let providers = Providers::built_in();
    let now = "2026-05-14T05:00:00Z".parse().unwrap();
    let mut seen: HashMap<String, Value> = HashMap::new();
    let mut hashes: HashMap<String, (String, Option<String>)> = HashMap::new();
    let (mut cases, mut met_again) = (0, 0);
    for row in (0..200).map(setting) {
        let definition: Value = serde_json::from_str(&row.definition).unwrap();
        let setting = Setting::read(&providers, &row).unwrap_or_else(|faults| panic!("{faults:?}"));
        let sources = (0..500).map(source).collect();
        let inputs = Inputs { settings: vec![setting], sources, ..Inputs::default() };
        for wanted in evaluate(&providers, &inputs, now, Scope::All).wanted {
            cases += 1;
            let occurrence = match row.kind.as_str() {
                // Whichever day it is noticed on, it is the same threshold.
                "threshold" => definition["threshold"]["value"].clone(),
                "recurring" => json!(wanted.local.clone().unwrap().0),
                _ => json!([wanted.local.clone().unwrap().0, definition["date"]["offsetsDays"]]),
            };
            let meaning = json!([row.kind, row.id, definition["triggerKey"], wanted.source, occurrence]);
            let key = wanted.key.as_str().to_owned();
            let hashed = (key.clone(), wanted.business_unit.clone());
            let before = hashes.entry(wanted.input_hash.to_string()).or_insert_with(|| hashed.clone());
            assert_eq!(*before, hashed, "two inputs hash alike");
            if let Some(before) = seen.insert(key, meaning.clone()) {
                assert_eq!(before, meaning, "two things share {}", wanted.key);
                met_again += 1;
            }
        }
    }
    let meanings: HashSet<String> = seen.values().map(Value::to_string).collect();
    assert_eq!(meanings.len(), seen.len(), "what means the same has one key");
    assert_eq!(cases, 100_000);
    assert!(met_again > 1_000 && seen.len() > 10_000, "{met_again} repeats, {} keys", seen.len());
}
