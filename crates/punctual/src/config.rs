//! Configuration: flags, then `PUNCTUAL_*` variables, then `punctual.toml`, then the defaults. Checked whole at
//! start-up; a bad file stops the process and says what would be right.

mod connections;
#[cfg(test)]
mod keys;
mod limits;
mod reconcile;
mod reminders;
mod sign_on;
mod telemetry;
mod windows;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use jiff::SignedDuration;
use punctual_api::{Limits, TrustedProxies};
use punctual_channels::AllowList;
use punctual_model::{Secret, durations, nearest};
use punctual_reports::Connections;
use punctual_store::retention::Window;
use punctual_workflows::reminders::{external::External, providers::ScanBounds};
use serde::Deserialize;

#[cfg(test)]
pub use self::keys::{key_in_file, section_keys};
pub use self::{sign_on::SignOnConfig, telemetry::TraceConfig};
use crate::clock::WrongBy;

/// The flags of `serve` and `demo`.
#[derive(Args, Clone, Default)]
pub struct ServeArgs {
    /// The address to listen on; port 0 selects a free port.
    #[arg(long, env = "PUNCTUAL_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// The folder for the database file, blobs and the admin key.
    #[arg(long, env = "PUNCTUAL_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// `postgres://…` or `sqlite:FILE`; a SQLite file in the data folder by default.
    #[arg(long, env = "PUNCTUAL_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// The address of PostgreSQL itself, if `database_url` is a connection pooler such as PgBouncer: nodes wake each other over
    /// it. Without it, such a node polls for new rows every second.
    #[arg(long, env = "PUNCTUAL_LISTEN_URL", value_name = "URL", hide_env_values = true)]
    pub listen_url: Option<String>,
    /// The storage for files: a folder, or an object store shared by all nodes (`s3://bucket/prefix`, `az://container`,
    /// `gs://bucket`) with credentials in the provider's environment variables; by default `blobs` in the data folder.
    #[arg(long, env = "PUNCTUAL_BLOBS", value_name = "PLACE")]
    pub blobs: Option<String>,
    /// Sandbox: the API moves the clock, and every channel records messages instead of sending them.
    #[arg(long, env = "PUNCTUAL_SANDBOX")]
    pub sandbox: bool,
    /// The admin key, at least 16 visible characters; by default one is created at the first start.
    #[arg(long, env = "PUNCTUAL_ADMIN_KEY", value_name = "KEY", hide_env_values = true)]
    pub admin_key: Option<String>,
    /// The file with the master keys that seal secrets, one key per line, the newest first; by default `master.key` in the data
    /// folder, created at the first start.
    #[arg(long, env = "PUNCTUAL_MASTER_KEY_FILE", value_name = "FILE")]
    pub master_key_file: Option<PathBuf>,
    /// The master key itself, for where a file is no help; several separated by commas, the newest first.
    #[arg(long, env = "PUNCTUAL_MASTER_KEY", value_name = "KEY", hide = true, hide_env_values = true)]
    pub master_key: Option<String>,
    /// The directory with the files that channels and subscribers can refer to as `file:NAME`; without it, they cannot refer to
    /// files.
    #[arg(long, env = "PUNCTUAL_SECRETS_DIR", value_name = "DIR")]
    pub secrets_dir: Option<PathBuf>,
    /// Write the listening address to this file.
    #[arg(long, value_name = "FILE")]
    pub address_file: Option<PathBuf>,
    /// What this node does.
    #[arg(long, env = "PUNCTUAL_ROLE", value_enum)]
    pub role: Option<Role>,
    /// The configuration file; `punctual.toml` in the working folder is read if it is there.
    #[arg(long, env = "PUNCTUAL_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Internal networks that outgoing calls may reach, such as `127.0.0.0/8,10.1.0.0/16:8443`.
    #[arg(long, env = "PUNCTUAL_OUTGOING_ALLOW", value_name = "NETWORKS")]
    pub outgoing_allow: Option<String>,
    /// Proxies whose `X-Forwarded-For` is trusted, such as `127.0.0.1,10.0.0.0/8`; none by default.
    #[arg(long, env = "PUNCTUAL_TRUSTED_PROXIES", value_name = "NETWORKS")]
    pub trusted_proxies: Option<String>,
    /// This node's name in attempts and logs; the host's name and process by default.
    #[arg(long, env = "PUNCTUAL_NODE", value_name = "NAME")]
    pub node: Option<String>,
    /// The lease of a claim: how long it is valid without renewal, such as `60s`.
    #[arg(long, env = "PUNCTUAL_LEASE", value_name = "DURATION")]
    pub lease: Option<String>,
    /// How often the sweep looks for expired leases, such as `5s`.
    #[arg(long, env = "PUNCTUAL_SWEEP_EVERY", value_name = "DURATION")]
    pub sweep_every: Option<String>,
    /// How long ended notifications are kept, such as `365d`.
    #[arg(long, env = "PUNCTUAL_KEEP_FOR", value_name = "DURATION")]
    pub keep_for: Option<String>,
    /// How long report files are kept, such as `365d`.
    #[arg(long, env = "PUNCTUAL_KEEP_FILES_FOR", value_name = "DURATION")]
    pub keep_files_for: Option<String>,
    /// How long finished work keeps its input and trace, such as `365d`; its key is kept forever.
    #[arg(long, env = "PUNCTUAL_KEEP_WORK_FOR", value_name = "DURATION")]
    pub keep_work_for: Option<String>,
    /// How long finished surveys keep recipients and answers, such as `1095d`; forever by default.
    #[arg(long, env = "PUNCTUAL_KEEP_SURVEYS_FOR", value_name = "DURATION")]
    pub keep_surveys_for: Option<String>,
    /// How long the ids of removed messages are kept, so that none is sent again, such as `3650d`; forever by default.
    #[arg(long, env = "PUNCTUAL_KEEP_IDS_FOR", value_name = "DURATION")]
    pub keep_ids_for: Option<String>,
    /// How long audit entries are kept, such as `3650d`; forever by default.
    #[arg(long, env = "PUNCTUAL_KEEP_AUDIT_FOR", value_name = "DURATION")]
    pub keep_audit_for: Option<String>,
    /// The age at which a waiting notification counts as stuck, such as `10m`.
    #[arg(long, env = "PUNCTUAL_STUCK_AFTER", value_name = "DURATION")]
    pub stuck_after: Option<String>,
    /// How often reminders are reconciled with their sources, such as `6h`; at least a minute.
    #[arg(long, env = "PUNCTUAL_RECONCILE_EVERY", value_name = "DURATION")]
    pub reconcile_every: Option<String>,
    /// The address of survey links, such as `https://ask.example.org/s/{publicId}`; this server by default.
    #[arg(long, env = "PUNCTUAL_SURVEY_URL", value_name = "URL")]
    pub survey_url: Option<String>,
    /// The public address of this server, such as `https://punctual.example.org`; links for preferences and unsubscribing start
    /// with it.
    #[arg(long, env = "PUNCTUAL_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Start even if the database can lose acknowledged rows in a power cut.
    #[arg(long, env = "PUNCTUAL_ACCEPT_WEAK_DURABILITY")]
    pub accept_weak_durability: bool,
    /// Logs as text for people or as JSON lines.
    #[arg(long, env = "PUNCTUAL_LOG_FORMAT", value_enum)]
    pub log_format: Option<LogFormat>,
    /// The collector that traces are sent to over OTLP (HTTP with protobuf), such as `http://127.0.0.1:4318`; none by default.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// The full address for traces, if it is not `/v1/traces` below the collector's.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", value_name = "URL")]
    pub otlp_traces_endpoint: Option<String>,
    /// The share of traces to record, from 0 to 1; a trace started by a caller follows the caller's decision.
    #[arg(long, env = "OTEL_TRACES_SAMPLER_ARG", value_name = "RATIO")]
    pub trace_ratio: Option<f64>,
    /// End the process at a named point, for trials: `before:work.claim`, `after:commit:3`.
    #[arg(long, env = "PUNCTUAL_CRASH_AT", hide = true)]
    pub crash_at: Option<String>,
    /// Add this to the machine's clock, for trials: `2h`, `-90s`, or the seconds that stand in `file:PATH` at each look.
    #[arg(long, env = "PUNCTUAL_CLOCK_WRONG_BY", hide = true, allow_hyphen_values = true)]
    pub clock_wrong_by: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Serves requests and works.
    #[default]
    All,
    /// Serves requests; others work.
    Api,
    /// Works, and serves health, readiness and metrics alone.
    Worker,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Api => "api",
            Self::Worker => "worker",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// What `punctual.toml` may say: the flags, in snake case.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<SocketAddr>,
    data_dir: Option<PathBuf>,
    database_url: Option<String>,
    listen_url: Option<String>,
    blobs: Option<String>,
    sandbox: Option<bool>,
    admin_key: Option<String>,
    master_key_file: Option<PathBuf>,
    secrets_dir: Option<PathBuf>,
    role: Option<Role>,
    outgoing_allow: Option<String>,
    trusted_proxies: Option<String>,
    node: Option<String>,
    lease: Option<String>,
    sweep_every: Option<String>,
    keep_for: Option<String>,
    keep_files_for: Option<String>,
    keep_work_for: Option<String>,
    keep_surveys_for: Option<String>,
    keep_ids_for: Option<String>,
    keep_audit_for: Option<String>,
    stuck_after: Option<String>,
    reconcile_every: Option<String>,
    survey_url: Option<String>,
    public_url: Option<String>,
    accept_weak_durability: Option<bool>,
    log_format: Option<LogFormat>,
    reports: Option<connections::ReportsFile>,
    reconcile: Option<reconcile::ReconcileFile>,
    limits: Option<limits::LimitsFile>,
    sign_on: Option<sign_on::SignOnFile>,
    reminders: Option<reminders::RemindersFile>,
    telemetry: Option<telemetry::TelemetryFile>,
}

const KNOWN_KEYS: &[&str] = &[
    "listen",
    "data_dir",
    "database_url",
    "listen_url",
    "blobs",
    "sandbox",
    "admin_key",
    "master_key_file",
    "secrets_dir",
    "role",
    "outgoing_allow",
    "trusted_proxies",
    "node",
    "lease",
    "sweep_every",
    "keep_for",
    "keep_files_for",
    "keep_work_for",
    "keep_surveys_for",
    "keep_ids_for",
    "keep_audit_for",
    "stuck_after",
    "reconcile_every",
    "survey_url",
    "public_url",
    "accept_weak_durability",
    "log_format",
    "reports",
    "reconcile",
    "limits",
    "sign_on",
    "reminders",
    "telemetry",
];

/// What a node runs with.
#[derive(Debug)]
pub struct Config {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    pub database_url: Secret,
    pub listen_url: Option<Secret>,
    pub blobs: String,
    pub sandbox: bool,
    pub admin_key: Option<Secret>,
    pub master_key_file: Option<PathBuf>,
    pub master_key: Option<Secret>,
    pub secrets_dir: Option<PathBuf>,
    /// The configuration file that was read, if there was one.
    pub file: Option<PathBuf>,
    pub address_file: Option<PathBuf>,
    pub role: Role,
    pub outgoing_allow: AllowList,
    pub trusted_proxies: TrustedProxies,
    pub node: String,
    pub lease: Duration,
    pub sweep_every: Duration,
    pub keep_for: Duration,
    pub keep_files_for: Duration,
    pub keep_work_for: Duration,
    pub keep_surveys_for: Option<Duration>,
    pub keep_ids_for: Option<Duration>,
    pub keep_audit_for: Option<Duration>,
    /// Which of these are set at all.
    pub fixed_windows: Vec<Window>,
    pub stuck_after: Duration,
    pub reconcile_every: Duration,
    pub survey_url: Option<String>,
    pub public_url: Option<String>,
    pub accept_weak_durability: bool,
    pub log_format: LogFormat,
    pub report_connections: Connections,
    /// How the repair of reminders is bounded, by kind of trigger, where that is said.
    pub scans: BTreeMap<String, ScanBounds>,
    /// Other systems' databases that reminders are reconciled with.
    pub externals: Vec<External>,
    /// What the server bears.
    pub limits: Limits,
    /// The single sign-on of people, where there is one.
    pub sign_on: Option<SignOnConfig>,
    /// Where traces go, if anywhere.
    pub traces: Option<TraceConfig>,
    pub crash_at: Option<punctual_store::CrashPoint>,
    /// Added to the machine's clock, for trials.
    pub clock_wrong_by: WrongBy,
}

/// Read in the working folder if it is there.
const DEFAULT_FILE: &str = "punctual.toml";

/// The longest call a channel may make; a lease must outlive it.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// Reconciliation beside events is seldom.
const SHORTEST_LOOK: Duration = Duration::from_secs(60);

impl Config {
    /// Where the database itself is, without a connection pooler before it.
    pub fn own_database_url(&self) -> &str {
        self.listen_url.as_ref().unwrap_or(&self.database_url).expose()
    }

    /// Puts flags, variables, file and defaults together.
    pub fn read(args: ServeArgs, default_data_dir: &str) -> Result<Self> {
        let file = read_file(args.config.as_deref())?;
        let fixed_windows = windows::set(&args, &file);
        let traces = telemetry::read(&args, file.telemetry)?;
        let path = args.config.unwrap_or_else(|| DEFAULT_FILE.into());
        let data_dir = args.data_dir.or(file.data_dir).unwrap_or_else(|| default_data_dir.into());
        let database_url = args
            .database_url
            .or(file.database_url)
            .unwrap_or_else(|| format!("sqlite:{}", data_dir.join("punctual.sqlite").display()));
        let own_blobs = || data_dir.join("blobs").display().to_string();
        let blobs = args.blobs.or(file.blobs).filter(|place| !place.is_empty()).unwrap_or_else(own_blobs);
        let allow = args.outgoing_allow.or(file.outgoing_allow).unwrap_or_default();
        let proxies = args.trusted_proxies.or(file.trusted_proxies).unwrap_or_default();
        let trusted_proxies: TrustedProxies = proxies.parse().context("trusted_proxies")?;
        let config = Self {
            fixed_windows,
            listen: args.listen.or(file.listen).unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8080))),
            data_dir,
            database_url: Secret::new(database_url),
            listen_url: args.listen_url.or(file.listen_url).map(Secret::new),
            blobs,
            sandbox: args.sandbox || file.sandbox.unwrap_or(false),
            admin_key: args.admin_key.or(file.admin_key).map(Secret::new),
            master_key_file: args.master_key_file.or(file.master_key_file),
            master_key: args.master_key.filter(|key| !key.is_empty()).map(Secret::new),
            secrets_dir: args.secrets_dir.or(file.secrets_dir),
            file: path.exists().then_some(path),
            address_file: args.address_file,
            role: args.role.or(file.role).unwrap_or_default(),
            outgoing_allow: allow.parse().context("outgoing_allow")?,
            limits: limits::read(file.limits, &trusted_proxies)?,
            trusted_proxies,
            node: args.node.or(file.node).unwrap_or_else(default_node),
            lease: duration("lease", args.lease.or(file.lease), "60s")?,
            sweep_every: duration("sweep_every", args.sweep_every.or(file.sweep_every), "5s")?,
            keep_for: duration("keep_for", args.keep_for.or(file.keep_for), "365d")?,
            keep_files_for: duration("keep_files_for", args.keep_files_for.or(file.keep_files_for), "365d")?,
            keep_work_for: duration("keep_work_for", args.keep_work_for.or(file.keep_work_for), "365d")?,
            keep_surveys_for: optional("keep_surveys_for", args.keep_surveys_for.or(file.keep_surveys_for))?,
            keep_ids_for: optional("keep_ids_for", args.keep_ids_for.or(file.keep_ids_for))?,
            keep_audit_for: optional("keep_audit_for", args.keep_audit_for.or(file.keep_audit_for))?,
            stuck_after: duration("stuck_after", args.stuck_after.or(file.stuck_after), "10m")?,
            reconcile_every: duration(
                "reconcile_every",
                args.reconcile_every.or(file.reconcile_every),
                "6h",
            )?,
            survey_url: args.survey_url.or(file.survey_url),
            public_url: args.public_url.or(file.public_url),
            accept_weak_durability: args.accept_weak_durability
                || file.accept_weak_durability.unwrap_or(false),
            log_format: args.log_format.or(file.log_format).unwrap_or_default(),
            report_connections: connections::read(file.reports)?,
            externals: reconcile::read(file.reconcile)?,
            sign_on: sign_on::read(file.sign_on)?,
            traces,
            scans: reminders::read(file.reminders)?,
            crash_at: args.crash_at.map(|text| text.parse().map_err(anyhow::Error::msg)).transpose()?,
            clock_wrong_by: args.clock_wrong_by.map(|text| wrong_by(&text)).transpose()?.unwrap_or_default(),
        };
        ensure!(
            config.lease > config.sweep_every,
            "lease ({}) must be longer than sweep_every ({})",
            durations::format(config.lease),
            durations::format(config.sweep_every)
        );
        ensure!(
            config.master_key.is_none() || config.master_key_file.is_none(),
            "give either PUNCTUAL_MASTER_KEY or master_key_file, not both"
        );
        ensure!(
            config.reconcile_every >= SHORTEST_LOOK,
            "reconcile_every ({}) must be at least {}: it repairs what events have missed and is no poll",
            durations::format(config.reconcile_every),
            durations::format(SHORTEST_LOOK)
        );
        if let Some(url) = &config.survey_url {
            let leads =
                (url.starts_with("https://") || url.starts_with("http://")) && url.contains("{publicId}");
            ensure!(leads, "survey_url ({url}) must be an address with {{publicId}} in it");
        }
        if let Some(url) = &config.public_url {
            let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            let leads = rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['?', '#', ' ']));
            ensure!(leads, "public_url ({url}) must be an address such as https://punctual.example.org");
        }
        Ok(config)
    }

    /// Where links to surveys lead, on a server that listens there.
    pub fn survey_link(&self, address: SocketAddr) -> String {
        let own = || format!("{}/s/{{publicId}}", self.public_address(address));
        self.survey_url.clone().unwrap_or_else(own)
    }

    /// What links to this server begin with, where it listens there.
    pub fn public_address(&self, address: SocketAddr) -> String {
        let own = || {
            // Nobody can open the address that means "all of them".
            let address = if address.ip().is_unspecified() {
                SocketAddr::from(([127, 0, 0, 1], address.port()))
            } else {
                address
            };
            format!("http://{address}")
        };
        self.public_url.as_deref().map_or_else(own, |url| url.trim_end_matches('/').to_owned())
    }

    /// A third of the lease, as the rule for renewals says; never so rare that a long call outlives its lease.
    pub fn renew_every(&self) -> Duration {
        (self.lease / 3).min(LONGEST_CALL)
    }
}

/// A duration with a sign, or a file that has one.
fn wrong_by(text: &str) -> Result<WrongBy> {
    if let Some(file) = text.strip_prefix("file:") {
        return Ok(WrongBy::File(file.into()));
    }
    let (sign, length) = text.strip_prefix('-').map_or((1, text), |length| (-1, length));
    let length = durations::parse(length).with_context(|| format!("clock_wrong_by = \"{text}\""))?;
    Ok(WrongBy::Constant(SignedDuration::try_from(length)? * sign))
}

pub fn duration(name: &str, text: Option<String>, default: &str) -> Result<Duration> {
    let text = text.unwrap_or_else(|| default.to_owned());
    let value = durations::parse(&text).with_context(|| format!("{name} = \"{text}\""))?;
    ensure!(!value.is_zero(), "{name} must be longer than nothing");
    Ok(value)
}

/// A time that may be left out.
fn optional(name: &str, text: Option<String>) -> Result<Option<Duration>> {
    text.map(|text| duration(name, Some(text), "")).transpose()
}

fn default_node() -> String {
    format!("{}-{}", host_name(), std::process::id())
}

pub fn host_name() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = host.trim();
    if host.is_empty() { "node" } else { host }.to_owned()
}

fn read_file(given: Option<&Path>) -> Result<File> {
    let path = given.unwrap_or(Path::new(DEFAULT_FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && given.is_none() => {
            return Ok(File::default());
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let table: toml::Table =
        toml::from_str(&text).with_context(|| format!("{} is no TOML", path.display()))?;
    if let Some(unknown) = table.keys().find(|key| !KNOWN_KEYS.contains(&key.as_str())) {
        let line = text
            .lines()
            .position(|line| line.trim_start().starts_with(unknown.as_str()))
            .map_or(1, |n| n + 1);
        bail!(
            "{}, line {line}: `{unknown}` is not known; {}",
            path.display(),
            nearest::suggestion(unknown, KNOWN_KEYS)
        );
    }
    toml::from_str(&text).with_context(|| format!("in {}", path.display()))
}

#[cfg(test)]
mod tests;
