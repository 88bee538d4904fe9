//! Other systems' databases that reminders are reconciled with, by name.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use punctual_model::Secret;
use punctual_store::foreign::ForeignDatabase;
use punctual_workflows::reminders::external::{External, Mark, WINDOW_MAX};
use serde::Deserialize;

use super::duration;

/// The section `[reconcile]` of the file.
#[derive(Deserialize, Default)]
#[serde(transparent)]
pub(super) struct ReconcileFile(BTreeMap<String, One>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct One {
    /// `postgres://…` or `sqlite:FILE`, or `env:NAME` for a variable that holds it.
    url: String,
    source_type: String,
    query: String,
    begins: Option<Begins>,
    // The bounds are checked together, so that one sentence names all that are missing.
    #[serde(default)]
    watermark: String,
    active: Option<String>,
    window_days: Option<u32>,
    business_units: Option<Vec<String>>,
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
    if let Some(batch) = one.batch {
        let allowed = (1..=BATCH_MAX).contains(&batch);
        ensure!(allowed, "{}: batch ({batch}) must be from 1 to {BATCH_MAX}", section());
    }
    if let Some(days) = one.window_days {
        let allowed = (1..=WINDOW_MAX).contains(&days);
        ensure!(allowed, "{}: window_days ({days}) must be from 1 to {WINDOW_MAX}", section());
    }
    let external = External {
        timeout: duration("timeout", one.timeout, "30s").with_context(section)?,
        source_type: one.source_type,
        query: one.query,
        watermark: one.watermark,
        active: one.active,
        window_days: one.window_days,
        business_units: one.business_units,
        batch: one.batch,
        database,
        begins,
        name: name.clone(),
    };
    external.check().with_context(section)?;
    Ok(external)
}

#[cfg(test)]
mod tests {

    const WHOLE: &str = "source_type = \"document\"\nactive = \"active\"\nwatermark = \"changed_at\"\nwindow_days = 400\n\
        business_units = []\nbatch = 500\n\
        query = \"SELECT active, changed_at WHERE (1, 2) > (:since, :after) AND due <= :until LIMIT :limit\"";

    fn read(url: &str, text: &str) -> anyhow::Result<Vec<super::External>> {
        super::read(Some(toml::from_str(&format!("[documents]\nurl = \"{url}\"\n{text}"))?))
    }

    #[test]
    fn s0_75_a_look_is_read_and_one_that_lacks_any_of_the_six_bounds_is_refused() {
        let found = read("sqlite:crm.db", WHOLE).unwrap();
        assert_eq!((found[0].provider().as_str(), found[0].batch), ("external:documents", Some(500)));
        let fault = |text: &str| format!("{:#}", read("sqlite:crm.db", text).unwrap_err());
        for (without, named) in [
            ("active = \"active\"\n", "a source filter"),
            ("watermark = \"changed_at\"\n", "a changed-since watermark"),
            ("window_days = 400\n", "a due window"),
            ("business_units = []\n", "an allowlist of business units"),
            ("batch = 500\n", "a batch size"),
            (":since, ", "a changed-since watermark"),
            (", :after", "a cursor"),
            (" AND due <= :until", "a due window"),
            (" LIMIT :limit", "a batch size"),
            ("active, changed_at ", "a source filter"),
        ] {
            let said = fault(&WHOLE.replace(without, ""));
            let begins = "[reconcile.documents]: `documents` would look at too much; it lacks a";
            assert!(said.contains(begins) && said.contains(named), "{without:?}: {said}");
        }
        let all = fault("source_type = \"document\"\nquery = \"SELECT 1\"");
        assert_eq!(all.matches(", and a").count(), 5, "one sentence names all six: {all}");
        assert!(fault(&WHOLE.replace("400", "4000")).contains("window_days (4000) must be from 1 to 3650"));
        let wrong = format!("{:#}", read("mysql://u:secret@h/d", WHOLE).unwrap_err());
        assert!(wrong.contains("postgres://") && !wrong.contains("secret"), "{wrong}");
    }
}
