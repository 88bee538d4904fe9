//! `punctual verify`: a database checked as a whole, also while a server runs on it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use punctual_engine::{Vault, audit_chain};
use punctual_model::Clock;
use punctual_store::{
    Store, StoreOptions,
    blobs::Blobs,
    verify::{self, Place},
};
use serde::Serialize;

use crate::{
    backup::blobs_of,
    clock::SystemClock,
    config::{Config, ServeArgs},
    master_key,
};

#[derive(Args)]
pub struct VerifyArgs {
    /// Do not look for files.
    #[arg(long)]
    without_files: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    serve: Box<ServeArgs>,
}

/// What one check came to.
#[derive(Serialize)]
struct Outcome {
    check: String,
    ok: bool,
    /// What is wrong, in words; empty where nothing is.
    found: String,
}

impl Outcome {
    fn of(check: impl Into<String>, faults: &[String]) -> Self {
        Self { check: check.into(), ok: faults.is_empty(), found: faults.join("; ") }
    }
}

/// Names of missing files that are shown.
const SHOWN: usize = 10;

pub async fn run(args: VerifyArgs) -> Result<ExitCode> {
    let config = Config::read((*args.serve).clone(), "./punctual-data")?;
    let clock = SystemClock::start()?;
    let store = Store::open(StoreOptions::beside(config.database_url.expose()), clock.now()).await?;
    let mut outcomes = vec![Outcome::of("file", &store.check_file().await?)];
    for check in verify::CHECKS {
        let wrong = verify::count_wrong(&mut store.read().await?.conn(), check).await?;
        let faults: Vec<String> =
            (wrong > 0).then(|| format!("{wrong} rows {}", check.fault)).into_iter().collect();
        outcomes.push(Outcome::of(check.name, &faults));
    }
    outcomes.push(audit(&store, &config).await?);
    if !args.without_files {
        outcomes.push(files(&store, &blobs_of(&config).await?).await?);
    }
    store.close().await;
    let ok = outcomes.iter().all(|outcome| outcome.ok);
    if args.json {
        println!("{}", serde_json::json!({ "ok": ok, "checks": outcomes }));
    } else {
        for Outcome { check, ok, found } in &outcomes {
            let word = if *ok { "well" } else { found };
            println!("{check}: {word}");
        }
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn audit(store: &Store, config: &Config) -> Result<Outcome> {
    let vault: Vault = match master_key::open_present(config) {
        Ok(vault) => vault,
        Err(error) => return Ok(Outcome::of("audit", &[format!("the master key is needed: {error:#}")])),
    };
    let fault = audit_chain::verify(store, &vault).await?.err().map(|fault| fault.to_string());
    Ok(Outcome::of("audit", &fault.into_iter().collect::<Vec<_>>()))
}

async fn files(store: &Store, blobs: &Blobs) -> Result<Outcome> {
    let (mut place, mut missing, mut count) = (Place::default(), Vec::new(), 0_usize);
    while !matches!(place, Place::End) {
        let (names, next) = verify::needed_blobs(&mut store.read().await?.conn(), place).await?;
        place = next;
        for name in names {
            if !blobs.exists(&name).await? {
                count += 1;
                missing.push(name);
                missing.truncate(SHOWN);
            }
        }
    }
    let faults: Vec<String> =
        (count > 0).then(|| format!("{count} are missing: {}", missing.join(", "))).into_iter().collect();
    Ok(Outcome::of("files", &faults))
}
