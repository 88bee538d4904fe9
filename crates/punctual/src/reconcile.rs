//! `punctual reconcile`: asks a running server to look for what a missed event left wrong.

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use crate::remote::RemoteArgs;

#[derive(Args)]
pub struct ReconcileArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Whose reminders: `dateBased`, `recurring`, `threshold` or `external:NAME`.
    #[arg(long)]
    provider: String,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: ReconcileArgs) -> Result<()> {
    let remote = args.remote.connect()?;
    let path = format!("/api/v1/reconciliations/{}/run", args.provider);
    let answer = remote.post(&path, &json!({ "dryRun": args.dry_run })).await?;
    if args.json {
        println!("{answer}");
        return Ok(());
    }
    let number = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or(0);
    if args.dry_run {
        println!(
            "{}: {} sources changed since it last looked; it would create {}, move {} and deactivate {} reminders",
            args.provider,
            number("sources"),
            number("create"),
            number("move"),
            number("deactivate")
        );
    } else {
        println!("{}: it looks now; `GET /api/v1/reconciliations` shows what it finds", args.provider);
    }
    Ok(())
}
