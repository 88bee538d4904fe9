//! Other systems' databases that reminders are reconciled with, by name.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use punctual_model::Secret;
use punctual_store::foreign::ForeignDatabase;
use punctual_workflows::reminders::external::{External, Mark};
use serde::Deserialize;

use super::duration;

/// The section `[reconcile]` of the file.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub(super) struct ReconcileFile(BTreeMap<String, One>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    /// `postgres://…` or `sqlite:FILE`, or `env:NAME` for a variable that holds it.
    url: String,
    source_type: String,
    query: String,
    watermark: String,
    begins: Option<Begins>,
    #[serde(default)]
    business_units: Vec<String>,
    batch: Option<u32>,
    timeout: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Begins {
    Number(i64),
    Text(String),
}

/// The most rows of one batch.
const BATCH_MAX: u32 = 5_000;

pub(super) fn read(file: Option<ReconcileFile>) -> Result<Vec<External>> {
    file.unwrap_or_default().0.into_iter().map(|(name, one)| external(name, one)).collect()
}

fn external(name: String, one: One) -> Result<External> {
    let section = || format!("[reconcile.{name}]");
    let url = match one.url.strip_prefix("env:") {
        None => one.url,
        Some(variable) => {
            let held = std::env::var(variable);
            held.with_context(|| format!("the variable {variable}")).with_context(section)?
        }
    };
    // No fault shows the address: it may have a password in it.
    let database = ForeignDatabase::parse(&Secret::new(url)).with_context(section)?;
    let begins = match one.begins {
        None => Mark::Instant(Timestamp::UNIX_EPOCH),
        Some(Begins::Number(number)) => Mark::Integer(number),
        // A time where it reads as one, else a text.
        Some(Begins::Text(text)) => text.parse().map_or(Mark::Text(text), Mark::Instant),
    };
    let batch = one.batch.unwrap_or(500);
    ensure!((1..=BATCH_MAX).contains(&batch), "{}: batch ({batch}) must be from 1 to {BATCH_MAX}", section());
    let external = External {
        timeout: duration("timeout", one.timeout, "30s").with_context(section)?,
        source_type: one.source_type,
        query: one.query,
        watermark: one.watermark,
        business_units: one.business_units,
        database,
        begins,
        batch,
        name: name.clone(),
    };
    external.check().with_context(section)?;
    Ok(external)
}

#[cfg(test)]
mod tests {

    #[test]
    fn a_look_is_read_and_one_that_is_not_bounded_is_refused() {
        let read = |url: &str, limit: &str| {
            let text = format!(
                // tidy-allow: a file of settings, whose query is never run.
                "[documents]\nurl = \"{url}\"\nsource_type = \"document\"\nwatermark = \"changed_at\"\n\
                 query = \"SELECT 1 WHERE (1, 2) > (:since, :after) {limit}\""
            );
            super::read(Some(toml::from_str(&text)?))
        };
        let found = read("sqlite:crm.db", "LIMIT :limit").unwrap();
        assert_eq!((found[0].provider().as_str(), found[0].batch), ("external:documents", 500));
        let fault = |url: &str, limit: &str| format!("{:#}", read(url, limit).unwrap_err());
        let unbounded = fault("sqlite:crm.db", "");
        assert!(
            unbounded.contains("[reconcile.documents]: the query of `documents` has no `:limit`"),
            "{unbounded}"
        );
        let wrong = fault("mysql://u:secret@h/d", "LIMIT :limit");
        assert!(wrong.contains("postgres://") && !wrong.contains("secret"), "{wrong}");
    }
}
