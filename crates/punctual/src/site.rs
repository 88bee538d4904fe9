//! `punctual site`: the agent where scripts run, until a signal ends it; and its event log.

mod config;
mod log;

use std::{io::Write, sync::Arc};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use punctual_api::{Budget, Limits, serve_within};
use punctual_site::{Agent, router};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::config::{AgentArgs, AgentConfig};
use crate::{
    clock::SystemClock,
    output,
    random::SystemRandom,
    serve::{signal, write_whole},
};

/// The file in the data folder that says where the agent listens.
const ADDRESS_FILE: &str = "address";

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SiteArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Subcommand)]
enum What {
    /// Show the event log: forwarding failures, rows that wait long, rows that the central server refused.
    Log(log::LogArgs),
}

pub async fn run(args: SiteArgs) -> Result<()> {
    match args.what {
        Some(What::Log(args)) => log::run(args).await,
        None => run_agent(AgentConfig::read(args.agent)?).await,
    }
}

async fn run_agent(config: AgentConfig) -> Result<()> {
    output::start_logging(config.log_format);
    std::fs::create_dir_all(&config.site.data_dir)
        .with_context(|| format!("cannot make the data folder {}", config.site.data_dir.display()))?;
    let clock = SystemClock::start().context("no timer thread")?;
    let (site, central) = (config.site.clone(), config.site.central.clone());
    let agent = Agent::open_with(site, clock, Arc::new(SystemRandom), config.faults.clone()).await?;
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
    let address = listener.local_addr()?;
    for file in [Some(config.site.data_dir.join(ADDRESS_FILE)), config.address_file].into_iter().flatten() {
        // A full disk is no reason not to start: what waits is to be forwarded.
        if let Err(error) = write_whole(&file, &format!("{address}\n")) {
            tracing::warn!(error = format!("{error:#}"), "the address file could not be written");
        }
    }
    if central.starts_with("http://") && !is_loopback(&central) {
        tracing::warn!(central, "the connection to central is not encrypted; use https");
    }
    let running = agent.run();
    let mut out = std::io::stdout().lock();
    writeln!(out, "Site agent listens on http://{address}")?;
    writeln!(out, "Central: {central}")?;
    out.flush()?;
    drop(out);
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve_within(local_limits(), listener, router(agent), stop.clone()));
    signal().await?;
    tracing::info!("stopping");
    stop.cancel();
    let _ = server.await;
    running.stop().await;
    Ok(())
}

fn is_loopback(url: &str) -> bool {
    let host = url.trim_start_matches("http://");
    ["127.", "localhost", "[::1]"].iter().any(|own| host.starts_with(own))
}

/// Whoever hands something in here is on this machine or beside it, so that one address may take it all; the agent has its
/// own bound on requests under way.
fn local_limits() -> Limits {
    let usual = Limits::default();
    Limits {
        connections_per_address: usual.connections,
        requests_per_address: usual.connections,
        api: Budget { connections: usual.connections, in_flight: usual.connections },
        ..usual
    }
}
