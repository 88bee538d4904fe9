//! `punctual migrate`: brings the schema up to date, without serving.

use anyhow::Result;
use clap::Args;
use punctual_store::StoreOptions;

use crate::{
    clock::SystemClock,
    config::{Config, ServeArgs},
    open,
};

#[derive(Args)]
pub struct MigrateArgs {
    #[command(flatten)]
    serve: ServeArgs,
}

pub async fn run(args: MigrateArgs) -> Result<()> {
    let config = Config::read(args.serve, "./punctual-data")?;
    let clock = SystemClock::start()?;
    let options = StoreOptions::new(config.database_url.expose());
    let store = open::open(options, clock.as_ref(), |error| eprintln!("{error}")).await?;
    let durability = store.durability();
    println!("The schema is up to date ({} {}).", durability.database, durability.version);
    store.close().await;
    Ok(())
}
