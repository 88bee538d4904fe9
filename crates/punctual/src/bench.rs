//! `punctual bench`: how fast and how punctual this machine is, with real rows and real durability.
//!
//! Each measurement uses its own database and the code of `serve`. With `--json` it prints the lines of the comparison harness,
//! so that Punctual is in one table with other queues.

mod arrays;
mod audit;
mod backup;
mod busy;
mod crowd;
mod deliver;
mod drain;
mod erasure;
mod http;
mod ingest;
mod kpis;
mod lists;
mod nodes;
mod punctuality;
mod purge;
mod reminders;
mod server;
mod site;
mod size;
mod smtp;
mod soak;
mod surveys;
mod webhook;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use punctual_channels::{Captured, MemoryAdapter};
use punctual_engine::{Engine, EngineConfig, Listeners, Setup};
use punctual_model::{Adapter, Clock};
use punctual_store::{
    Lane, Store, StoreOptions,
    blobs::Blobs,
    facts,
    maintenance::{FreshDatabase, fill_all},
};
use serde_json::{Value, json};

use crate::{clock::SystemClock, random::SystemRandom};

#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
    /// `postgres://…` (a separate database is created on that server) or `sqlite:FOLDER`; a temporary SQLite file by default.
    #[arg(long, env = "PUNCTUAL_DATABASE_URL", global = true)]
    database_url: Option<String>,
    /// How many rows.
    #[arg(long, global = true, alias = "rows")]
    jobs: Option<usize>,
    /// How long a soak lasts.
    #[arg(long, global = true, default_value_t = 2)]
    minutes: u64,
    /// End a backup after so many minutes, and measure that part of it.
    #[arg(long, global = true, value_name = "MINUTES")]
    at_most: Option<u64>,
    /// One JSON line instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Leave large tables where they are, so that the next measurement beside as many rows finds them; needs `--database-url`.
    #[arg(long, global = true, requires = "database_url")]
    keep: bool,
}

#[derive(Subcommand, Clone, Copy)]
enum What {
    /// Create schedules, 1,000 per batch.
    Ingest,
    /// Claim, handle and complete due schedules.
    Drain,
    /// Decide, queue, send (memory channel) and settle due messages.
    Deliver,
    /// Drain and deliver with as many audit entries as rows, before and during their sealing.
    Audit,
    /// Schedules at random instants over 20 s: the delay of their handlers.
    Punctuality,
    /// Drain 20,000 due rows, without and with 1,000,000 future rows in the table.
    Backlog,
    /// Drain, deliver and serve requests on PostgreSQL, without and with an open snapshot.
    Snapshot,
    /// Post notifications, one per request over 64 connections, durable before the response.
    Http,
    /// Post notifications in arrays of 1,000 over two connections, durable before the response.
    Arrays,
    /// Every list of the API with every filter, over tables of a given size: the slowest.
    Lists,
    /// Fifty of the slowest lists at once, over tables of a given size: the effect on intake, punctuality and `/readyz`.
    Crowd,
    /// Punctuality with many pending rows, alone and during a purge, an import and a report.
    Busy,
    /// Disk space of messages, without and with their work rows.
    Size,
    /// Purge old notifications during intake: rows per second, and the effect on intake.
    Purge,
    /// Read the metrics of the outbox during deliveries.
    Kpis,
    /// One, two and four nodes on one PostgreSQL: processor time per message.
    Nodes,
    /// Sign, post and settle due messages, to a receiver in this process over open connections.
    Webhook,
    /// Intake, delivery and purge for some minutes: the rate at the start and the end, and memory.
    Soak,
    /// Report sources, 500 per transaction, with 5 settings of 3 offsets; then reconcile all of them unchanged.
    Reminders,
    /// Forward notifications from a site agent to the central server, durable at both ends.
    Site,
    /// Compose, send and settle due messages over SMTP to a relay in this process; then single mails.
    Smtp,
    /// Post events, 1,000 per request, with 50 published surveys; then post them again.
    Surveys,
    /// Back up many rows during intake: the duration, and the effect on intake.
    Backup,
    /// Erase people from large tables, one after the other, each with its plan and its certificate.
    Erasure,
}

/// What one measurement found: a line of the harness.
pub struct Measured {
    test: &'static str,
    jobs: usize,
    figures: Value,
}

pub async fn run(args: BenchArgs) -> Result<()> {
    let jobs = |default| args.jobs.unwrap_or(default);
    let bench = Bench::new(args.database_url.clone(), args.keep)?;
    let measured = match args.what {
        What::Ingest => ingest::measure(&bench, jobs(100_000)).await?,
        What::Drain => vec![drain::measure(&bench, jobs(100_000)).await?],
        What::Deliver => vec![deliver::measure(&bench, jobs(100_000)).await?],
        What::Audit => audit::measure(&bench, jobs(100_000)).await?,
        What::Punctuality => vec![punctuality::measure(&bench, jobs(2_000)).await?],
        What::Backlog => drain::measure_backlog(&bench, jobs(20_000)).await?,
        What::Snapshot => drain::measure_snapshot(&bench, jobs(600_000)).await?,
        What::Http => vec![http::measure(&bench, jobs(50_000)).await?],
        What::Arrays => vec![arrays::measure(&bench, jobs(200_000)).await?],
        What::Lists => lists::measure(&bench, jobs(1_000_000)).await?,
        What::Crowd => vec![crowd::measure(&bench, jobs(1_000_000)).await?],
        What::Busy => vec![busy::measure(&bench, jobs(1_000_000)).await?],
        What::Size => size::measure(&bench, jobs(100_000)).await?,
        What::Purge => vec![purge::measure(&bench, jobs(200_000)).await?],
        What::Kpis => vec![kpis::measure(&bench, jobs(100_000)).await?],
        What::Nodes => nodes::measure(&bench, jobs(50_000)).await?,
        What::Webhook => vec![webhook::measure(&bench, jobs(50_000)).await?],
        What::Soak => vec![soak::measure(&bench, args.minutes).await?],
        What::Reminders => reminders::measure(&bench, jobs(100_000)).await?,
        What::Site => vec![site::measure(&bench, jobs(100_000)).await?],
        What::Smtp => smtp::measure(&bench, jobs(20_000)).await?,
        What::Surveys => surveys::measure(&bench, jobs(100_000)).await?,
        What::Backup => vec![backup::measure(&bench, jobs(1_000_000), args.at_most).await?],
        What::Erasure => erasure::measure(&bench, jobs(1_000_000)).await?,
    };
    for one in &measured {
        one.print(&bench, args.json);
    }
    let compared = |one: &Measured, beside: &Measured| {
        if let Some((with, alone)) = one.per_second().zip(beside.per_second()) {
            println!("{} / {}: {:.2}", one.test, beside.test, with / alone);
        }
    };
    match (args.what, measured.as_slice()) {
        _ if args.json => {}
        (What::Ingest | What::Backlog, [alone, beside @ ..]) => {
            beside.iter().for_each(|one| compared(one, alone))
        }
        (What::Snapshot | What::Audit, pairs) => {
            pairs.chunks_exact(2).for_each(|pair| compared(&pair[1], &pair[0]))
        }
        _ => {}
    }
    Ok(())
}

/// What every measurement shares.
pub struct Bench {
    url: String,
    clock: Arc<SystemClock>,
    settings: std::sync::Mutex<String>,
    keep: bool,
    _folder: Option<tempfile::TempDir>,
}

/// One engine on its own database.
pub struct Rig {
    engine: Engine,
    url: String,
    database: FreshDatabase,
    file: Option<PathBuf>,
    is_kept: bool,
}

/// A rig whose tables that grow are large.
pub struct Filled {
    rig: Rig,
    /// How many rows they have.
    rows: i64,
    /// How long it took to write them, where they were not kept from an earlier run.
    took: Option<Duration>,
}

/// The fact that says how many rows were written, once all are.
const FILLED: &str = "bench.filled";

impl Bench {
    fn new(url: Option<String>, keep: bool) -> Result<Self> {
        let (url, folder) = match url {
            Some(url) => (url, None),
            None => {
                let folder = tempfile::tempdir().context("no temporary folder")?;
                (format!("sqlite:{}", folder.path().display()), Some(folder))
            }
        };
        let clock = SystemClock::start().context("no timer thread")?;
        Ok(Self { url, clock, settings: Default::default(), keep, _folder: folder })
    }

    /// A fresh database with an engine on it; nothing runs yet.
    async fn rig(&self, name: &str, listeners: Listeners) -> Result<Rig> {
        self.rig_with(name, listeners, Vec::new()).await
    }

    /// The same with adapters beside that of the memory channel.
    async fn rig_with(
        &self,
        name: &str,
        listeners: Listeners,
        adapters: Vec<Arc<dyn Adapter>>,
    ) -> Result<Rig> {
        self.rig_of(name, listeners, adapters, config("bench")).await
    }

    async fn rig_of(
        &self,
        name: &str,
        listeners: Listeners,
        adapters: Vec<Arc<dyn Adapter>>,
        config: EngineConfig,
    ) -> Result<Rig> {
        let number = self.clock.now().as_microsecond();
        self.rig_in(&format!("{name}-{number}"), false, listeners, adapters, config).await
    }

    /// An engine on a database of this name, which is made, or found where it is one to keep.
    async fn rig_in(
        &self,
        name: &str,
        is_kept: bool,
        listeners: Listeners,
        adapters: Vec<Arc<dyn Adapter>>,
        config: EngineConfig,
    ) -> Result<Rig> {
        let (url, file) = match self.url.strip_prefix("sqlite:") {
            Some(folder) => {
                let file = PathBuf::from(folder).join(format!("bench-{name}.sqlite"));
                (format!("sqlite:{}", file.display()), Some(file))
            }
            None => (self.url.clone(), None),
        };
        // The name of a database has no dashes, that of a measurement may.
        let database = format!("punctual_bench_{}", name.replace('-', "_"));
        let database = if is_kept {
            FreshDatabase::found_or_create(&url, &database).await?
        } else {
            FreshDatabase::create(&url, &database).await?
        };
        let url = database.url.clone();
        let store = Store::open(StoreOptions::new(url.clone()), self.clock.now()).await?;
        let durability = serde_json::to_value(store.durability())?;
        let mut settings = format!("{} {}", store.durability().database, store.durability().version);
        for (setting, value) in &store.durability().settings {
            settings.push_str(&format!(", {setting}={value}"));
        }
        drop(durability);
        if let Ok(mut kept) = self.settings.lock() {
            *kept = settings;
        }
        let engine = self.engine(store, listeners, adapters, config)?;
        Ok(Rig { engine, url, database, file, is_kept })
    }

    /// A rig with so many rows in every table that grows, and one survey.
    async fn filled(&self, name: &str, listeners: Listeners, rows: usize) -> Result<Filled> {
        let config = config("bench");
        let rig = if self.keep {
            self.rig_in(&format!("kept-{rows}"), true, listeners, Vec::new(), config).await?
        } else {
            self.rig_of(name, listeners, Vec::new(), config).await?
        };
        let known = facts::get(&mut rig.engine.store.read().await?.conn(), FILLED).await?;
        if let Some(rows) = known.and_then(|known| known.parse().ok()) {
            rig.settle_down().await?;
            return Ok(Filled { rig, rows, took: None });
        }
        let started = self.clock.now();
        surveys::publish(&rig.engine, 1).await?;
        let rows = fill_all(&rig.url, started, i64::try_from(rows)?).await?;
        let took = self.clock.now().duration_since(started).unsigned_abs();
        let mut tx = rig.engine.store.begin(Lane::Intake).await?;
        facts::put(&mut tx.conn(), self.clock.now(), FILLED, &rows.to_string()).await?;
        tx.commit().await?;
        rig.settle_down().await?;
        Ok(Filled { rig, rows, took: Some(took) })
    }

    /// Another node on the database of a rig.
    async fn engine_on(&self, url: &str, node: &str) -> Result<Engine> {
        let store = Store::open(StoreOptions::new(url), self.clock.now()).await?;
        self.engine(store, Listeners::default(), Vec::new(), config(node))
    }

    fn engine(
        &self,
        store: Store,
        listeners: Listeners,
        mut adapters: Vec<Arc<dyn Adapter>>,
        config: EngineConfig,
    ) -> Result<Engine> {
        adapters.push(Arc::new(MemoryAdapter::new(Captured::new())));
        Ok(Engine::new(Setup {
            store,
            blobs: Blobs::in_memory(),
            clock: self.clock.clone(),
            random: Arc::new(SystemRandom),
            config,
            workflows: punctual_workflows::all(),
            adapters,
            consumer_adapters: Vec::new(),
            capture: None,
            listeners,
            vault: Arc::new(crate::master_key::for_this_run()?),
        })?)
    }
}

fn config(node: &str) -> EngineConfig {
    EngineConfig { node: node.into(), ..EngineConfig::default() }
}

impl Rig {
    /// Statistics up to date and logs empty, so that a measurement starts from rest.
    async fn settle_down(&self) -> Result<()> {
        Ok(punctual_store::maintenance::settle_down(&self.engine.store, &self.url).await?)
    }

    async fn remove(self) -> Result<()> {
        self.engine.store.close().await;
        if self.is_kept {
            return Ok(());
        }
        self.database.remove().await?;
        if let Some(file) = self.file {
            for end in ["", "-wal", "-shm", ".lock", ".deciding"] {
                let mut name = file.clone().into_os_string();
                name.push(end);
                let _ = std::fs::remove_file(name);
            }
        }
        Ok(())
    }
}

/// The figures that `Measured::rate` has of itself.
const RATE: [&str; 3] = ["jobs_per_s", "handled_per_s", "seconds"];

impl Measured {
    fn rate(test: &'static str, jobs: usize, took: Duration) -> Self {
        let rate = (jobs as f64 / took.as_secs_f64()).round();
        Self {
            test,
            jobs,
            figures: json!({ "jobs_per_s": rate, "handled_per_s": rate, "seconds": took.as_secs_f64() }),
        }
    }

    fn per_second(&self) -> Option<f64> {
        self.figures.get("jobs_per_s").and_then(Value::as_f64)
    }

    /// What was found besides how many a second.
    fn beside_rate(&self) -> String {
        let figures = self.figures.as_object().into_iter().flatten();
        let beside = figures.filter(|(name, _)| !RATE.contains(&name.as_str()));
        beside.map(|(name, value)| format!("{name} {value} ")).collect()
    }

    fn print(&self, bench: &Bench, as_json: bool) {
        let settings = bench.settings.lock().map(|text| text.clone()).unwrap_or_default();
        if as_json {
            let peer = if bench.url.starts_with("sqlite:") { "punctual-sqlite" } else { "punctual" };
            let mut line = json!({ "peer": peer, "version": env!("CARGO_PKG_VERSION"), "test": self.test, "n": self.jobs });
            if let (Some(line), Some(figures)) = (line.as_object_mut(), self.figures.as_object()) {
                line.extend(figures.clone());
                line.insert("settings".into(), settings.into());
            }
            println!("{line}");
            return;
        }
        match self.per_second() {
            Some(rate) => {
                let beside = self.beside_rate();
                println!("{:<12} {:>9} rows  {rate:>9.0}/s  {beside} ({settings})", self.test, self.jobs)
            }
            None => println!("{:<12} {:>9} rows  {}   ({settings})", self.test, self.jobs, self.figures),
        }
    }
}

/// A payload of about 200 bytes, the one of the comparison harness.
fn payload(number: usize) -> Value {
    let digest = punctual_model::InputHash::of(&json!(number)).to_string();
    json!({ "i": number, "user": format!("user-{}", number % 5000), "kind": "reminder", "channel": "push",
            "ref": &digest[..40], "title": "Your order has an update",
            "body": format!("Parcel {} arrives today, open the app", &digest[..12]) })
}
