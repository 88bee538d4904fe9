//! How far the repair of reminders looks, by kind of trigger.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use punctual_workflows::reminders::{Providers, external::WINDOW_MAX, providers::ScanBounds};
use serde::Deserialize;

/// The section `[reminders]` of the file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RemindersFile {
    #[serde(default)]
    scan: BTreeMap<String, Scan>,
}

/// The six bounds; what is left out is as it ships.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scan {
    active_only: Option<bool>,
    changed_since: Option<bool>,
    window_days: Option<u32>,
    business_units: Option<Vec<String>>,
    batch: Option<u32>,
    cursor: Option<bool>,
}

/// The most sources of one batch.
const BATCH_MAX: u32 = 10_000;

pub(super) fn read(file: Option<RemindersFile>) -> Result<BTreeMap<String, ScanBounds>> {
    let shipped = Providers::built_in();
    let mut scans = BTreeMap::new();
    for (kind, scan) in file.unwrap_or_default().scan {
        let known: Vec<&str> = shipped.triggers.keys().collect();
        let declared = shipped.bounds_of(&kind);
        ensure!(
            declared.is_some(),
            "[reminders.scan.{kind}]: there is no such kind of trigger; there are {}",
            known.join(", ")
        );
        let bounds = over(scan, declared.unwrap_or_default());
        let days = bounds.window_days.unwrap_or(0);
        ensure!(
            (1..=WINDOW_MAX).contains(&days),
            "[reminders.scan.{kind}]: window_days ({days}) must be from 1 to {WINDOW_MAX}"
        );
        let batch = bounds.batch.unwrap_or(0);
        ensure!(
            (1..=BATCH_MAX).contains(&batch),
            "[reminders.scan.{kind}]: batch ({batch}) must be from 1 to {BATCH_MAX}"
        );
        if let Some(missing) = bounds.missing() {
            anyhow::bail!("[reminders.scan.{kind}]: a look must be bounded; it lacks {missing}");
        }
        scans.insert(kind, bounds);
    }
    Ok(scans)
}

fn over(scan: Scan, declared: ScanBounds) -> ScanBounds {
    ScanBounds {
        active_only: scan.active_only.unwrap_or(declared.active_only),
        changed_since: scan.changed_since.unwrap_or(declared.changed_since),
        window_days: scan.window_days.or(declared.window_days),
        business_units: scan.business_units.or(declared.business_units),
        batch: scan.batch.or(declared.batch),
        cursor: scan.cursor.unwrap_or(declared.cursor),
    }
}

#[cfg(test)]
mod tests {

    #[test]
    fn s0_75_the_bounds_of_built_in_providers_are_configured_and_none_can_be_left_out() {
        let read = |text: &str| super::read(Some(toml::from_str(text).unwrap()));
        let found =
            read("[scan.dateBased]\nwindow_days = 30\nbatch = 50\nbusiness_units = [\"nz\"]").unwrap();
        let bounds = &found["dateBased"];
        assert_eq!((bounds.window_days, bounds.batch), (Some(30), Some(50)));
        assert_eq!(bounds.business_units.as_deref(), Some(&["nz".to_owned()][..]));
        assert_eq!(bounds.missing(), None, "the rest is as it ships");
        let fault = |text: &str| format!("{:#}", read(&format!("[scan.dateBased]\n{text}")).unwrap_err());
        for (text, named) in [
            ("active_only = false", "it lacks a source filter (active only)"),
            ("changed_since = false", "it lacks a changed-since watermark"),
            ("cursor = false", "it lacks a cursor"),
            ("window_days = 0", "window_days (0) must be from 1 to 3650"),
            ("batch = 0", "batch (0) must be from 1 to 10000"),
        ] {
            let said = fault(text);
            assert!(said.starts_with("[reminders.scan.dateBased]: ") && said.contains(named), "{said}");
        }
        let unknown = format!("{:#}", read("[scan.none]").unwrap_err());
        assert!(unknown.contains("there are dateBased, "), "{unknown}");
    }
}
