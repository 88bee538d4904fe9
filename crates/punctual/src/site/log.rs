//! `punctual site log`: the agent's event log, from the running agent or, if none runs, from its folder.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use punctual_client::SiteAgent;
use punctual_model::Clock;
use punctual_store::{
    Store, StoreError,
    site_buffer::{self, events},
};
use punctual_wire::sites::SiteEvent;

use super::{ADDRESS_FILE, config::DEFAULT_DATA_DIR};
use crate::clock::SystemClock;

#[derive(Args)]
pub struct LogArgs {
    /// The agent's data folder.
    #[arg(long, env = "PUNCTUAL_SITE_DATA_DIR", value_name = "DIR", default_value = DEFAULT_DATA_DIR)]
    data_dir: PathBuf,
    /// How many entries, the newest first; at most 1,000.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON, one entry a line.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: LogArgs) -> Result<()> {
    for event in read(&args).await? {
        if args.json {
            println!("{}", serde_json::to_string(&event)?);
        } else {
            println!("{}  {:<14}  {:>7}  {}", event.last_at, event.kind, event.count, event.detail);
        }
    }
    Ok(())
}

async fn read(args: &LogArgs) -> Result<Vec<SiteEvent>> {
    let file = args.data_dir.join("site.sqlite");
    anyhow::ensure!(file.exists(), "there is no buffer in {}; give --data-dir", args.data_dir.display());
    match Store::open(site_buffer::options(&file), SystemClock::start()?.now()).await {
        Ok(store) => {
            let mut reader = store.read().await?;
            let rows = events::latest(&mut reader.conn(), i64::from(args.limit)).await?;
            drop(reader);
            store.close().await;
            Ok(rows.into_iter().map(punctual_site::shape_event).collect())
        }
        // An agent has it open, and says where it listens.
        Err(StoreError::Owned(_)) => {
            let address = std::fs::read_to_string(args.data_dir.join(ADDRESS_FILE))
                .context("an agent runs, but its folder does not say where it listens")?;
            Ok(SiteAgent::at(format!("http://{}", address.trim())).log(args.limit).await?)
        }
        Err(error) => Err(error.into()),
    }
}
