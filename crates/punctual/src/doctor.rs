//! `punctual doctor`: a check-up of an installation, from the outside and without changing or sending anything. Each finding
//! says how bad it is and what repairs it.

mod channels;
mod database;
mod machine;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use punctual_model::Clock;
use punctual_store::{Store, StoreError, StoreOptions};
use serde::Serialize;

use crate::{
    clock::SystemClock,
    config::{Config, ServeArgs},
};

#[derive(Args)]
pub struct DoctorArgs {
    /// Do not connect to the destinations of channels.
    #[arg(long)]
    without_channels: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    serve: Box<ServeArgs>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Well,
    Warning,
    Error,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Warning => "warning",
            Self::Error => "ERROR",
        }
    }
}

/// One thing that was checked.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// What was checked, such as `disk` or `channel email:default`.
    pub subject: String,
    /// How it is.
    pub what: String,
    /// What to do about it; empty where nothing is to be done.
    pub repair: String,
}

impl Finding {
    pub fn well(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { severity: Severity::Well, subject: subject.into(), what: what.into(), repair: String::new() }
    }

    pub fn warning(subject: impl Into<String>, what: impl Into<String>, repair: impl Into<String>) -> Self {
        let (subject, what, repair) = (subject.into(), what.into(), repair.into());
        Self { severity: Severity::Warning, subject, what, repair }
    }

    pub fn error(subject: impl Into<String>, what: impl Into<String>, repair: impl Into<String>) -> Self {
        Self { severity: Severity::Error, ..Self::warning(subject, what, repair) }
    }
}

/// Ends with 1 where something is an error, and with 0 where there are warnings alone.
pub async fn run(args: DoctorArgs) -> Result<ExitCode> {
    let findings = look(&args).await?;
    let worst = findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Well);
    if args.json {
        println!("{}", serde_json::json!({ "ok": worst < Severity::Error, "findings": findings }));
    } else {
        for Finding { severity, subject, what, repair } in &findings {
            println!("{:<7} {subject}: {what}", severity.word());
            if !repair.is_empty() {
                println!("        {repair}");
            }
        }
    }
    Ok(if worst < Severity::Error { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn look(args: &DoctorArgs) -> Result<Vec<Finding>> {
    let config = match Config::read((*args.serve).clone(), "./punctual-data") {
        Ok(config) => config,
        Err(error) => {
            return Ok(vec![Finding::error(
                "configuration",
                format!("{error:#}"),
                "Correct the file, flag or variable that is named; nothing else was checked.",
            )]);
        }
    };
    let mut findings = machine::look(&config);
    let clock = SystemClock::start()?;
    let store = match Store::open(StoreOptions::beside(config.database_url.expose()), clock.now()).await {
        Ok(store) => store,
        Err(error) => {
            let repair = repair(&error);
            let error = anyhow::Error::from(error);
            findings.push(Finding::error("database", format!("{error:#}"), repair));
            return Ok(findings);
        }
    };
    findings.extend(database::look(&config, &store, &clock).await?);
    if !args.without_channels {
        findings.extend(channels::look(&config, &store, clock.now()).await?);
    }
    store.close().await;
    Ok(findings)
}

/// What helps where the database cannot be opened.
fn repair(error: &StoreError) -> &'static str {
    match error {
        StoreError::OlderSchema { .. } => {
            "Start a node of this version, or run `punctual migrate`: both bring the schema up to date."
        }
        StoreError::NewerSchema { .. } | StoreError::ProgramTooOld { .. } => {
            "Install the version of the other nodes here."
        }
        StoreError::Damaged(..) => "Restore a backup into a new data folder with `punctual restore`.",
        StoreError::File(..) => {
            "Check `data_dir` and `database_url`, and run this as the user of the server; the first start makes the file."
        }
        StoreError::Url | StoreError::ListenUrl => "Correct the address.",
        _ => match error.sql_state().as_deref() {
            Some(state) if state.starts_with("28") => {
                "Correct user and password in `database_url`, or the rules in pg_hba.conf."
            }
            Some("3D000") => "Create the database, or correct its name in `database_url`.",
            // tidy-allow: words for an operator
            Some("42501") => "Use the role that owns the tables in `database_url`, or GRANT it their rights.",
            // No table of steps.
            Some("42P01") => "Start a node: the first start makes the tables.",
            Some("53300") => "Raise `max_connections` of PostgreSQL, or end connections that nobody needs.",
            _ => {
                "Start the database, or correct host and port in `database_url`, and check the firewall between."
            }
        },
    }
}
