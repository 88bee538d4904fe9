//! `punctual sources import`: states of sources from a CSV or NDJSON file, in batches, to a running server.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use punctual_wire::sources::table::{self, LINE_MAX, TableRow as Read};
use serde_json::{Value, json};

use crate::remote::{Remote, RemoteArgs};

/// Sources in one request.
const BATCH: usize = 1_000;
/// Refusals that are printed; the rest is counted.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct SourcesArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Read a file of sources: NDJSON has one `{"type","id","businessUnit","active","state"}` a line, CSV a header with
    /// `id` and, where they are there, `type`, `businessUnit` and `active`; every other column becomes a field of the state.
    Import(ImportArgs),
}

#[derive(Args)]
struct ImportArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// A file that ends in `.csv`, `.ndjson` or `.jsonl`.
    file: PathBuf,
    /// The type of sources whose line has none.
    #[arg(long = "type")]
    kind: Option<String>,
    /// The business unit of sources whose line has none.
    #[arg(long)]
    business_unit: Option<String>,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct Done {
    accepted: u64,
    stale: u64,
    rejected: u64,
    refusals: Vec<String>,
}

pub async fn run(args: SourcesArgs) -> Result<()> {
    let What::Import(args) = args.what;
    let remote = args.remote.connect()?;
    let bytes =
        std::fs::metadata(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?.len();
    let bar = indicatif::ProgressBar::new(bytes);
    let mut done = Done::default();
    let mut batch = Vec::with_capacity(BATCH);
    let mut numbers = Vec::with_capacity(BATCH);
    for item in items(&args.file)? {
        let (number, at, mut item) = item?;
        bar.set_position(at);
        for (name, given) in [("type", &args.kind), ("businessUnit", &args.business_unit)] {
            if let (None | Some(Value::Null), Some(given)) = (item.get(name), given) {
                item.insert(name.into(), given.clone().into());
            }
        }
        batch.push(Value::Object(item));
        numbers.push(number);
        if batch.len() == BATCH {
            send(&remote, &mut batch, &mut numbers, &mut done).await?;
        }
    }
    send(&remote, &mut batch, &mut numbers, &mut done).await?;
    bar.finish_and_clear();
    for refusal in &done.refusals {
        eprintln!("{refusal}");
    }
    if args.json {
        println!("{}", json!({ "accepted": done.accepted, "stale": done.stale, "rejected": done.rejected }));
    } else {
        println!(
            "{} accepted, {} older than the stored state, {} refused",
            done.accepted, done.stale, done.rejected
        );
    }
    if done.rejected > 0 {
        bail!("{} of the file's sources were refused; the others are stored", done.rejected);
    }
    Ok(())
}

async fn send(
    remote: &Remote,
    batch: &mut Vec<Value>,
    numbers: &mut Vec<u64>,
    done: &mut Done,
) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    let answer = remote.post("/api/v1/sources", &json!({ "items": std::mem::take(batch) })).await?;
    let items = answer.get("items").and_then(Value::as_array).context("the server's answer has no items")?;
    for (item, line) in items.iter().zip(numbers.drain(..)) {
        match item.get("outcome").and_then(Value::as_str) {
            Some("accepted") => done.accepted += 1,
            Some("stale") => done.stale += 1,
            _ => {
                done.rejected += 1;
                if done.refusals.len() < SHOWN {
                    let fault =
                        item.pointer("/error/errors/0/detail").or_else(|| item.pointer("/error/detail"));
                    let why = fault.and_then(Value::as_str).unwrap_or("refused");
                    done.refusals.push(format!("line {line}: {why}"));
                }
            }
        }
    }
    Ok(())
}

fn items(file: &Path) -> Result<Box<dyn Iterator<Item = Result<Read>>>> {
    let open = std::fs::File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let reader = BufReader::new(open);
    match file.extension().and_then(|end| end.to_str()) {
        Some("csv") => Ok(Box::new(table::sources(reader)?.map(|read| read.map_err(Into::into)))),
        Some("ndjson" | "jsonl") => Ok(Box::new(ndjson(reader))),
        _ => bail!("{} ends in none of .csv, .ndjson and .jsonl", file.display()),
    }
}

fn ndjson(mut reader: impl BufRead) -> impl Iterator<Item = Result<Read>> {
    let (mut number, mut at) = (0, 0);
    std::iter::from_fn(move || {
        loop {
            let mut line = String::new();
            number += 1;
            match reader.read_line(&mut line) {
                Ok(0) => return None,
                Ok(bytes) => at += bytes as u64,
                Err(error) => return Some(Err(anyhow::Error::from(error).context(format!("line {number}")))),
            }
            if line.len() > LINE_MAX {
                return Some(Err(anyhow::anyhow!("line {number} is longer than {LINE_MAX} bytes")));
            }
            if line.trim().is_empty() {
                continue;
            }
            let item =
                serde_json::from_str(&line).with_context(|| format!("line {number} is no JSON object"));
            return Some(item.map(|item| (number, at, item)));
        }
    })
}
