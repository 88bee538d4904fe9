//! `punctual audit`: checks that the audit is as it was written, and erases what it says about somebody, directly in the
//! database.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use punctual_engine::{
    Actor,
    audit_chain::{erase, verify},
    keys::OPERATOR,
};
use punctual_model::Clock;
use punctual_store::{Store, StoreOptions};
use punctual_wire::audit::SubjectName;
use serde_json::json;

use crate::{
    clock::SystemClock,
    config::{Config, ServeArgs},
    master_key,
};

#[derive(Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    what: What,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// Check every digest; exits with 1 and names the first entry that was changed, removed or inserted.
    Verify {
        #[command(flatten)]
        serve: Box<ServeArgs>,
    },
    /// Erase the audit details of a subject; the action, time and actor stay.
    Erase {
        /// The subject's kind and id, such as `person/42` or `address/email:ann@example.org`.
        subject: String,
        /// The reason, stored in the audit log.
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        serve: Box<ServeArgs>,
    },
}

pub async fn run(args: AuditArgs) -> Result<ExitCode> {
    let (What::Verify { serve } | What::Erase { serve, .. }) = &args.what;
    let config = Config::read((**serve).clone(), "./punctual-data")?;
    let clock = SystemClock::start()?;
    let store = Store::open(StoreOptions::new(config.database_url.expose()), clock.now()).await?;
    let code = match args.what {
        What::Verify { .. } => {
            let vault = master_key::open(&config, &store).await?;
            check(&store, &vault, args.json).await?
        }
        What::Erase { subject, reason, .. } => {
            let name = SubjectName::read(&subject);
            let name = name.context("a subject is a kind and an id, such as `person/42`")?;
            let by = Actor::named(OPERATOR).because(reason.as_deref());
            let erased = erase(&store, &by, clock.now(), &name.kind, &name.id).await?;
            if args.json {
                println!("{}", json!({ "erased": erased.entries }));
            } else {
                println!("Erased from {} entries.", erased.entries);
            }
            ExitCode::SUCCESS
        }
    };
    store.close().await;
    Ok(code)
}

async fn check(store: &Store, vault: &punctual_engine::Vault, as_json: bool) -> Result<ExitCode> {
    match verify(store, vault).await? {
        Ok(state) => {
            let head = &state.head;
            if as_json {
                let said = json!({ "ok": true, "sealed": state.sealed, "unsealed": state.unsealed,
                    "erased": state.erased, "purgedUpTo": state.purged_up_to,
                    "head": { "seq": head.entry_id, "position": head.position, "digest": head.digest } });
                println!("{said}");
            } else {
                println!(
                    "The audit is as it was written: {} sealed entries, {} not sealed yet, {} erased, purged up to {}.",
                    state.sealed, state.unsealed, state.erased, state.purged_up_to
                );
                println!(
                    "Newest seal: entry {}, number {} in the chain, {}",
                    head.entry_id, head.position, head.digest
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(fault) => {
            if as_json {
                println!("{}", json!({ "ok": false, "seq": fault.seq, "fault": fault.to_string() }));
            } else {
                println!("The audit is not as it was written: {fault}.");
            }
            Ok(ExitCode::FAILURE)
        }
    }
}
