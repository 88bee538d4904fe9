//! `punctual secrets`: the master key that secrets in the database are sealed with.

use anyhow::Result;
use clap::{Args, Subcommand};
use punctual_engine::{secrets::forget_sealed, vault::MasterKey};
use punctual_model::Clock;
use punctual_store::{Store, StoreOptions};
use serde_json::json;

use crate::{
    clock::SystemClock,
    config::{Config, ServeArgs},
    random::SystemRandom,
    remote::RemoteArgs,
};

#[derive(Args)]
pub struct SecretsArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print a new master key; put it in front of the present one on every node.
    NewKey,
    /// Make a running server seal every secret again, with its first key.
    Rekey {
        #[command(flatten)]
        remote: RemoteArgs,
        /// First create a new key and put it in front of the others; for a single server with a key file.
        #[arg(long)]
        new_key: bool,
        /// Print the answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove all sealed secrets, directly in the database, if the master key is lost.
    Forget {
        #[command(flatten)]
        serve: Box<ServeArgs>,
        /// Confirm that all secrets must be entered again.
        #[arg(long)]
        confirm: bool,
    },
}

pub async fn run(args: SecretsArgs) -> Result<()> {
    match args.what {
        What::NewKey => println!("{}", MasterKey::new(&SystemRandom).text().expose()),
        What::Rekey { remote, new_key, json } => {
            let answer =
                remote.connect()?.post("/api/v1/secrets/rekey", &json!({ "newKey": new_key })).await?;
            if json {
                println!("{answer}");
            } else {
                let key = answer["keyId"].as_str().unwrap_or_default();
                let channels = answer["resealed"].as_u64().unwrap_or(0);
                println!("The master key `{key}` is in use; {channels} channels were sealed again.");
            }
        }
        What::Forget { serve, confirm } => forget(Config::read(*serve, "./punctual-data")?, confirm).await?,
    }
    Ok(())
}

async fn forget(config: Config, confirm: bool) -> Result<()> {
    let clock = SystemClock::start()?;
    let store = Store::open(StoreOptions::new(config.database_url.expose()), clock.now()).await?;
    let channels = forget_sealed(&store, clock.now(), confirm).await?;
    store.close().await;
    for (key, fields) in &channels {
        println!("{key}: {}", fields.join(", "));
    }
    let done = if confirm { "were removed; enter them again" } else { "would be removed; --confirm does it" };
    println!("Secrets of {} channels {done}.", channels.len());
    Ok(())
}
