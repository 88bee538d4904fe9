//! `punctual surveys ingest FILE.csv`: events from a file, for the surveys that ask about them.
//!
//! A line that cannot be taken is named and the rest continues. The same file again changes nothing: what was reported before
//! is skipped.

use std::{io::Read, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use punctual_wire::csv;
use serde_json::{Map, Value, json};

use crate::remote::{Remote, RemoteArgs};

#[derive(Args)]
pub struct SurveysArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Import the rows of a CSV file as events.
    ///
    /// The first line names the columns. `recipient.address`, `recipient.locale` and `recipient.customerRef` say whom to
    /// ask; every other column is a field of the event.
    Ingest(IngestArgs),
}

#[derive(Args)]
struct IngestArgs {
    /// The file, or `-` for standard input.
    file: PathBuf,
    /// What the rows are, such as `service-visit-closed`.
    #[arg(long, value_name = "KIND")]
    event_kind: String,
    /// Rows in one request.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: SurveysArgs) -> Result<ExitCode> {
    let What::Ingest(args) = args.what;
    let text = read(&args.file)?;
    let mut records = csv::records(&text);
    let Some(header) = records.next() else { bail!("import_invalid: the file is empty") };
    let columns: Vec<String> =
        header.cells.map_err(|why| anyhow::anyhow!("import_invalid: line 1: {why}"))?;
    if !columns.iter().any(|column| column == "recipient.address") {
        bail!("import_invalid: there is no column `recipient.address`; there are `{}`", columns.join("`, `"));
    }
    let records: Vec<csv::Record> = records.collect();
    let remote = args.remote.connect()?;
    let bar = bar(records.len(), args.json);
    let mut sums = Sums::default();
    let at_once = usize::try_from(args.batch).unwrap_or(1_000);
    for some in records.chunks(at_once) {
        let (mut lines, mut items) = (Vec::new(), Vec::new());
        for record in some {
            match &record.cells {
                Ok(cells) if cells.len() == columns.len() => {
                    lines.push(record.line);
                    items.push(item(&columns, cells));
                }
                Ok(cells) => {
                    let why = format!("it has {} columns, the first line has {}", cells.len(), columns.len());
                    sums.bad(record.line, why);
                }
                Err(why) => sums.bad(record.line, (*why).to_owned()),
            }
        }
        if !items.is_empty() {
            hand_in(&remote, &args.event_kind, &lines, items, &mut sums).await?;
        }
        bar.inc(some.len() as u64);
    }
    bar.finish_and_clear();
    sums.print(args.json);
    Ok(if sums.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(file: &std::path::Path) -> Result<String> {
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow::anyhow!("import_invalid: line {line} is not UTF-8; save the file as UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

fn bar(rows: usize, silent: bool) -> ProgressBar {
    if silent {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(rows as u64);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} rows  {per_sec}  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn item(columns: &[String], cells: &[String]) -> Value {
    let (mut payload, mut recipient) = (Map::new(), Map::new());
    for (column, cell) in columns.iter().zip(cells) {
        match column.strip_prefix("recipient.") {
            Some(_) if cell.is_empty() => {}
            Some(name) => drop(recipient.insert(name.to_owned(), cell.as_str().into())),
            None => {
                let name = column.strip_prefix("candidate.").unwrap_or(column);
                payload.insert(name.to_owned(), cell.as_str().into());
            }
        }
    }
    json!({ "payload": payload, "recipient": recipient })
}

async fn hand_in(
    remote: &Remote,
    kind: &str,
    lines: &[usize],
    items: Vec<Value>,
    sums: &mut Sums,
) -> Result<()> {
    let body = json!({ "eventKind": kind, "items": items });
    let answer = remote.post("/api/v1/surveys/triggers/ingest", &body).await?;
    let figure = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or(0);
    sums.created += figure("created");
    sums.skipped += figure("skipped");
    sums.unmatched += figure("unmatched");
    let outcomes = answer.get("items").and_then(Value::as_array).into_iter().flatten();
    for (line, outcome) in lines.iter().zip(outcomes) {
        if let Some(error) = outcome.get("error") {
            let why = error.get("detail").and_then(Value::as_str).unwrap_or("refused");
            sums.bad(*line, why.to_owned());
        }
    }
    Ok(())
}

/// The outcome of the file.
#[derive(Default)]
struct Sums {
    created: u64,
    skipped: u64,
    unmatched: u64,
    failed: Vec<(usize, String)>,
}

/// Lines that are named; the others are counted.
const NAMED: usize = 100;

impl Sums {
    fn bad(&mut self, line: usize, why: String) {
        self.failed.push((line, why));
    }

    fn print(&self, as_json: bool) {
        let Self { created, skipped, unmatched, failed } = self;
        if as_json {
            let failed: Vec<Value> =
                failed.iter().map(|(line, why)| json!({ "line": line, "detail": why })).collect();
            println!(
                "{}",
                json!({ "created": created, "skipped": skipped, "unmatched": unmatched, "failed": failed })
            );
            return;
        }
        println!(
            "{created} created, {skipped} skipped, {unmatched} without a trigger, {} failed",
            failed.len()
        );
        for (line, why) in failed.iter().take(NAMED) {
            eprintln!("line {line}: {why}");
        }
        if failed.len() > NAMED {
            eprintln!("… and {} more", failed.len() - NAMED);
        }
    }
}
