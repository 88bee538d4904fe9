//! `punctual notify` and `punctual status`: for shell scripts at a site.

use std::{io::Read, process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::SignedDuration;
use punctual_client::{DEFAULT_URL, SiteAgent, URL_VARIABLE};
use punctual_model::{Clock, durations};
use punctual_wire::{
    limits::BODY_MAX,
    site_agent::{NotifyRequest, NotifyStatus},
};
use serde_json::json;

use crate::clock::SystemClock;

/// It will not arrive unless a person acts: parked, discarded, withdrawn or refused.
const NOT_DELIVERED: u8 = 3;
/// It is still on its way when the time is over.
const STILL_UNDER_WAY: u8 = 4;
/// How often `--wait` looks.
const LOOK_EVERY: SignedDuration = SignedDuration::from_millis(250);

#[derive(Args)]
#[command(after_help = "Exit codes: 0 accepted (with --wait: delivered), 1 not accepted, 2 wrong usage, \
    3 with --wait: will not be delivered unless a person acts, 4 with --wait: still under way when the time was over.")]
pub struct NotifyArgs {
    /// The key of the list to notify.
    #[arg(long, value_name = "LIST")]
    to: String,
    #[arg(long)]
    subject: String,
    /// The text; from standard input when absent or `-`.
    #[arg(long)]
    body: Option<String>,
    /// The object it is about, such as a machine.
    #[arg(long)]
    instance: Option<String>,
    /// The script that sends it.
    #[arg(long)]
    script: Option<String>,
    /// Your own GUID as the idempotency key: the same id with the same content is sent once.
    #[arg(long)]
    id: Option<String>,
    /// Wait until it is delivered or has failed.
    #[arg(long)]
    wait: bool,
    /// How long to wait at most.
    #[arg(long, value_name = "DURATION", default_value = "60s", requires = "wait")]
    timeout: String,
    #[command(flatten)]
    agent: AgentAt,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 known, 1 unknown or no answer, 2 wrong usage, \
    3 will not be delivered unless a person acts.")]
pub struct StatusArgs {
    /// The id that `punctual notify` printed.
    id: String,
    #[command(flatten)]
    agent: AgentAt,
}

/// Which agent, and how its answer is printed.
#[derive(Args)]
struct AgentAt {
    /// The site agent.
    #[arg(long, env = URL_VARIABLE, value_name = "URL", default_value = DEFAULT_URL)]
    site: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn notify(args: NotifyArgs) -> Result<ExitCode> {
    let timeout = durations::parse(&args.timeout).with_context(|| format!("--timeout {}", args.timeout))?;
    let body = match args.body {
        Some(body) if body != "-" => body,
        _ => read_body()?,
    };
    let agent = SiteAgent::at(&args.agent.site);
    let request = NotifyRequest {
        id: args.id,
        list: args.to,
        subject: args.subject,
        body,
        instance: args.instance,
        script: args.script,
    };
    let id = agent.notify(&request).await?;
    if !args.wait {
        if args.agent.json {
            println!("{}", json!({ "id": id }));
        } else {
            println!("{id}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let status = wait(&agent, &id, timeout).await?;
    print_status(&status, args.agent.json)?;
    // tidy-allow: a word of the agent's API, which has some of its own
    Ok(match &*status.status {
        "delivered" => ExitCode::SUCCESS,
        _ if status.is_final() => NOT_DELIVERED.into(),
        _ => STILL_UNDER_WAY.into(),
    })
}

pub async fn status(args: StatusArgs) -> Result<ExitCode> {
    let status = SiteAgent::at(&args.agent.site).status(&args.id).await?;
    print_status(&status, args.agent.json)?;
    // tidy-allow: a word of the agent's API, which has some of its own
    Ok(match &*status.status {
        "unknown" => ExitCode::FAILURE,
        "delivered" => ExitCode::SUCCESS,
        _ if status.is_final() => NOT_DELIVERED.into(),
        _ => ExitCode::SUCCESS,
    })
}

/// Looks until nothing more will happen or the time is over.
async fn wait(agent: &SiteAgent, id: &str, timeout: Duration) -> Result<NotifyStatus> {
    let clock = SystemClock::start()?;
    let end = clock.now() + SignedDuration::try_from(timeout)?;
    loop {
        let status = agent.status(id).await?;
        if status.is_final() || clock.now() >= end {
            return Ok(status);
        }
        clock.sleep_until((clock.now() + LOOK_EVERY).min(end)).await;
    }
}

fn print_status(status: &NotifyStatus, as_json: bool) -> Result<()> {
    if as_json {
        println!("{}", serde_json::to_string(status)?);
        return Ok(());
    }
    let mut line = format!("{}  {}", status.id, status.status);
    if status.retry_count > 0 {
        line.push_str(&format!("  attempts: {}", status.retry_count));
    }
    if let Some(at) = status.delivered_at {
        line.push_str(&format!("  delivered at {at}"));
    }
    if let Some(error) = &status.last_error {
        line.push_str(&format!("  {error}"));
    }
    if status.central_unreachable {
        line.push_str("  (central cannot be reached; this is what was last known)");
    }
    println!("{line}");
    Ok(())
}

/// The text from standard input, without the line break that `echo` adds.
fn read_body() -> Result<String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(BODY_MAX).unwrap_or(u64::MAX) + 2;
    std::io::stdin().lock().take(most).read_to_end(&mut bytes).context("cannot read standard input")?;
    let Ok(mut text) = String::from_utf8(bytes) else { bail!("standard input is not UTF-8 text") };
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.len() > BODY_MAX {
        bail!("the text from standard input is longer than {BODY_MAX} bytes");
    }
    Ok(text)
}
