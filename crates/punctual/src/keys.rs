//! `punctual key`: API keys made, listed and revoked, directly in the database.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use punctual_engine::{
    Actor,
    keys::{NewKey, OPERATOR, create_key, revoke_key},
};
use punctual_model::{Clock, nearest};
use punctual_store::{Store, StoreOptions, api_keys};
use punctual_wire::keys::Scope;
use serde_json::json;

use crate::{
    clock::SystemClock,
    config::{Config, ServeArgs},
    random::SystemRandom,
};

#[derive(Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    serve: ServeArgs,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// Create a key; it is shown once.
    Create {
        /// What it is for.
        name: String,
        /// What it may do: admin, operate, author, ingest, read, site; several separated by commas.
        #[arg(long, value_delimiter = ',', required = true)]
        scopes: Vec<String>,
        /// Only these business units.
        #[arg(long, value_delimiter = ',')]
        business_units: Option<Vec<String>>,
    },
    /// List all keys, without their secrets.
    List,
    /// Revoke a key.
    Revoke { id: String },
}

pub async fn run(args: KeyArgs) -> Result<()> {
    let config = Config::read(args.serve, "./punctual-data")?;
    let clock = SystemClock::start()?;
    let store = Store::open(StoreOptions::new(config.database_url.expose()), clock.now()).await?;
    match args.what {
        What::Create { name, scopes, business_units } => {
            let scopes = scopes.iter().map(|text| scope(text)).collect::<Result<Vec<Scope>>>()?;
            let new = NewKey { name, scopes, business_units, expires_at: None };
            let env = if config.sandbox { "sandbox" } else { "live" };
            let minted = create_key(&store, &SystemRandom, clock.now(), env, &new).await?;
            if args.json {
                println!("{}", json!({ "id": minted.id, "key": minted.text }));
            } else {
                println!("{}\n(id {}; it is not shown again)", minted.text, minted.id);
            }
        }
        What::List => list(&store, args.json).await?,
        What::Revoke { id } => {
            if !revoke_key(&store, &Actor::named(OPERATOR), clock.now(), &id).await? {
                bail!("not_found: there is no key `{id}` that is still good");
            }
            println!(
                "{}",
                if args.json {
                    json!({ "id": id, "revoked": true }).to_string()
                } else {
                    format!("Key {id} is revoked.")
                }
            );
        }
    }
    store.close().await;
    Ok(())
}

fn scope(text: &str) -> Result<Scope> {
    let known: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    match Scope::parse(text) {
        Some(scope) => Ok(scope),
        None => bail!("`{text}` is no scope; {}", nearest::suggestion(text, &known)),
    }
}

async fn list(store: &Store, as_json: bool) -> Result<()> {
    let mut reader = store.read().await?;
    for key in api_keys::all(&mut reader.conn()).await? {
        let state = if key.revoked_at.is_some() { "revoked" } else { "good" };
        if as_json {
            println!("{}", json!({ "id": key.id, "name": key.name, "scopes": key.scopes, "state": state }));
        } else {
            println!("{:<28} {:<8} {:<24} {}", key.id, state, key.scopes, key.name);
        }
    }
    Ok(())
}
