//! The page `docs/reliability.md`, made from the records of the trials and never by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::run;
use crate::suite::{FULL_SCALE, about};

/// Where the records lie that the page is made from.
const RECORDS: &str = "docs/reliability";
const PAGE: &str = "docs/reliability.md";

/// One round of a trial, as `punctual-testkit/src/rig.rs` writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Record {
    rig: String,
    database: String,
    commit: String,
    seed: u64,
    faults: BTreeMap<String, u64>,
    acknowledged: u64,
    lost: u64,
    repeated: u64,
    marked: u64,
    broken: Vec<String>,
    recovered_ms: Vec<u64>,
    settled_ms: u64,
}

/// What a trial measured at full scale, as `punctual-testkit/src/rig.rs` writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    measure: String,
    database: String,
    commit: String,
    figures: BTreeMap<String, serde_json::Value>,
}

/// The rounds of one trial on one database.
#[derive(Default)]
struct Total {
    rounds: usize,
    faults: BTreeMap<String, u64>,
    acknowledged: u64,
    lost: u64,
    repeated: u64,
    marked: u64,
    recovered_ms: Vec<u64>,
    settled_ms: u64,
    commits: BTreeSet<String>,
    seeds: (u64, u64),
}

impl Total {
    fn add(&mut self, record: &Record) {
        self.seeds = match self.rounds {
            0 => (record.seed, record.seed),
            _ => (self.seeds.0.min(record.seed), self.seeds.1.max(record.seed)),
        };
        self.rounds += 1;
        for (kind, count) in &record.faults {
            *self.faults.entry(kind.clone()).or_default() += count;
        }
        self.acknowledged += record.acknowledged;
        self.lost += record.lost;
        self.repeated += record.repeated;
        self.marked += record.marked;
        self.recovered_ms.extend(&record.recovered_ms);
        self.settled_ms = self.settled_ms.max(record.settled_ms);
        self.commits.insert(record.commit.clone());
    }

    fn injected(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Median and worst, in seconds.
    fn recovery(&self) -> (String, String) {
        let mut times = self.recovered_ms.clone();
        times.sort_unstable();
        let Some(worst) = times.last() else { return ("–".into(), "–".into()) };
        (seconds(times[times.len() / 2]), seconds(*worst))
    }
}

/// Writes the page from the committed records.
pub fn report() -> Result<u8> {
    let folder = run::root().join(RECORDS);
    let page = page(&records(&folder)?, &measured(&folder)?);
    let file = run::root().join(PAGE);
    std::fs::write(&file, page).with_context(|| format!("could not write {}", file.display()))?;
    println!("{}", file.display());
    Ok(0)
}

/// What the names of files with figures end in.
const FIGURES: &str = ".figures.jsonl";

/// Every round of every trial.
fn records(folder: &Path) -> Result<Vec<Record>> {
    lines(folder, |name| name.ends_with(".jsonl") && !name.ends_with(FIGURES))
}

/// Everything that was measured.
fn measured(folder: &Path) -> Result<Vec<Measured>> {
    lines(folder, |name| name.ends_with(FIGURES))
}

/// Every line of these files, files in order of their names.
fn lines<T: serde::de::DeserializeOwned>(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<T>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("could not read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| wanted(&name.to_string_lossy())))
        .collect();
    files.sort();
    let mut records = Vec::new();
    for file in files {
        for (number, line) in std::fs::read_to_string(&file)?.lines().enumerate() {
            let record = serde_json::from_str(line);
            records.push(record.with_context(|| format!("{}, line {}", file.display(), number + 1))?);
        }
    }
    Ok(records)
}

const INTRODUCTION: &str = "\
# Reliability

Which faults were injected into Punctual, and whether its guarantees held. `cargo xtask rig report` generates this page from the records in [docs/reliability](reliability), one line for each round of a trial.

A trial starts the release binary (*poison* and *abort* start only the engine), puts it under load, injects faults, and then compares four logs: the
responses to clients, the content of the database, the calls at the receiver, and the injected faults.

- *Lost*: acknowledged, but not delivered to each target.
- *Repeated*: calls after the first one to a target. *Marked*: calls recorded as `uncertain`. A call under way during a fault may be repeated, and is then marked.
- *Recovered*: the time from the end of a fault to the next acknowledged request and the next delivery.
- *Settled*: the longest time from the end of the load until every message had a final state.

A trial fails in these cases: more calls are repeated than marked; a message is delivered in part, twice, or without a request; a message has no final
state two minutes after the load; a call has no intent in the database, starts after its lease, or carries another id than the call before it.

With no failure in N trials, the failure rate is below 3/N with 95 % confidence. A fault that is not listed was not tested. A `+` behind a
commit means that the working tree differed from it.
";

fn page(records: &[Record], measured: &[Measured]) -> String {
    let mut totals: BTreeMap<(&str, &str), Total> = BTreeMap::new();
    for record in records {
        totals.entry((&record.rig, &record.database)).or_default().add(record);
    }
    let mut page = INTRODUCTION.to_owned();
    page.push_str(
        "\n| trial | database | faults | of full scale | acknowledged | lost | repeated | marked | recovered, median | worst | settled, worst |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for ((rig, database), total) in &totals {
        let full = FULL_SCALE.iter().find(|(of, on, _)| of == rig && on == database);
        let full = full.map_or_else(|| "–".to_owned(), |(_, _, count)| grouped(*count));
        let (median, worst) = total.recovery();
        let _ = writeln!(
            page,
            "| {rig} | {database} | {} | {full} | {} | {} | {} | {} | {median} | {worst} | {} |",
            grouped(total.injected()),
            grouped(total.acknowledged),
            grouped(total.lost),
            grouped(total.repeated),
            grouped(total.marked),
            seconds(total.settled_ms),
        );
    }
    page.push_str("\n## Faults by kind\n");
    for ((rig, database), total) in &totals {
        let kinds: Vec<String> =
            total.faults.iter().map(|(kind, count)| format!("{kind} {}", grouped(*count))).collect();
        let _ = writeln!(
            page,
            "\n**{rig}, {database}**: {}. {}. Rounds: {}, seeds {} to {}, commit {}.",
            about(rig).unwrap_or("no longer a trial"),
            kinds.join(", "),
            total.rounds,
            total.seeds.0,
            total.seeds.1,
            total.commits.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
        );
    }
    page.push_str(&figures(measured));
    page.push_str(&broken(records));
    page
}

/// What was measured, a line each; nothing where nothing was.
fn figures(measured: &[Measured]) -> String {
    let mut text = String::new();
    for (at, Measured { measure, database, commit, figures }) in measured.iter().enumerate() {
        if at == 0 {
            text.push_str("\n## Figures\n\n");
        }
        let figures: Vec<String> = figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(text, "- {measure}, {database}, commit {commit}: {}", figures.join(", "));
    }
    text
}

/// The rounds in which a promise was not kept, or that there was none.
fn broken(records: &[Record]) -> String {
    let mut text = String::from("\n## Broken guarantees\n\n");
    let failed: Vec<&Record> = records.iter().filter(|record| !record.broken.is_empty()).collect();
    if failed.is_empty() {
        text.push_str("None in these records.\n");
    }
    for Record { rig, database, seed, commit, broken, .. } in failed {
        let _ = writeln!(text, "- {rig} on {database}, seed {seed}, commit {commit}: {}", broken.join("; "));
    }
    text
}

fn seconds(millis: u64) -> String {
    format!("{}.{:02} s", millis / 1000, millis % 1000 / 10)
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_records_say() {
        let folder = run::root().join(RECORDS);
        let made = page(&records(&folder).unwrap(), &measured(&folder).unwrap());
        let stored = std::fs::read_to_string(run::root().join(PAGE)).unwrap();
        assert!(
            made == stored,
            "docs/reliability.md is not what the records say: run `cargo xtask rig report`"
        );
    }

    fn record(seed: u64, kills: u64, broken: &str) -> Record {
        let broken = if broken.is_empty() { "[]".to_owned() } else { format!("[\"{broken}\"]") };
        let text = format!(
            r#"{{"rig":"kill","database":"sqlite","commit":"c{seed}","seed":{seed},"faults":{{"SIGKILL":{kills}}},
            "acknowledged":1500,"lost":0,"repeated":2,"marked":3,"broken":{broken},"recoveredMs":[1000,{seed}000],"settledMs":4000}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn rounds_add_up_and_failures_are_named() {
        let slow = r#"{"measure":"slow-clients","database":"sqlite","commit":"c4","figures":{"percent":97}}"#;
        let slow = serde_json::from_str(slow).unwrap();
        let page = page(&[record(3, 600, ""), record(2, 700, "lost: 1")], &[slow]);
        assert!(page.contains("\n## Figures\n\n- slow-clients, sqlite, commit c4: percent 97\n"), "{page}");
        assert!(
            page.contains(
                "| kill | sqlite | 1,300 | 10,000 | 3,000 | 0 | 4 | 6 | 2.00 s | 3.00 s | 4.00 s |"
            ),
            "{page}"
        );
        assert!(page.contains("seeds 2 to 3, commit c2, c3"), "{page}");
        assert!(page.contains("- kill on sqlite, seed 2, commit c2: lost: 1"), "{page}");
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
