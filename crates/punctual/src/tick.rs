//! `punctual tick`: one pass over everything that is ready, on a running server.

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use crate::remote::RemoteArgs;

#[derive(Args)]
pub struct TickArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Rows each stage takes at most.
    #[arg(long, default_value_t = 100)]
    batch_size: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: TickArgs) -> Result<()> {
    let remote = args.remote.connect()?;
    let answer = remote.post("/api/v1/scheduler/tick", &json!({ "batchSize": args.batch_size })).await?;
    if args.json {
        println!("{answer}");
        return Ok(());
    }
    let number = |pointer: &str| answer.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    println!(
        "{} worked, {} delivered, {} retrying, {} parked",
        number("/processed"),
        number("/deliveries/delivered"),
        number("/deliveries/retrying"),
        number("/deliveries/parked")
    );
    Ok(())
}
