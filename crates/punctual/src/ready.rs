//! `punctual ready`: whether a server is ready, for health checks of containers and scripts. It needs no key.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

/// A node says within five seconds that it is not ready.
const PATIENCE: Duration = Duration::from_secs(6);

#[derive(Args)]
pub struct ReadyArgs {
    /// The server's address.
    #[arg(long, env = "PUNCTUAL_SERVER", default_value = "http://127.0.0.1:8080")]
    server: String,
    /// Also ask whether the database takes writes.
    #[arg(long)]
    write: bool,
}

/// Ends with 0 when the server is ready and with 1 when it is not; prints the reason.
pub async fn run(args: ReadyArgs) -> Result<ExitCode> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let query = if args.write { "?write" } else { "" };
    let url = format!("{}/readyz{query}", args.server.trim_end_matches('/'));
    let response = client.get(&url).send().await.with_context(|| format!("cannot reach {}", args.server))?;
    let status = response.status();
    if status.is_success() {
        println!("ready");
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Value = response.json().await.unwrap_or_default();
    println!("not ready: {}", answer["detail"].as_str().unwrap_or(status.as_str()));
    Ok(ExitCode::FAILURE)
}
