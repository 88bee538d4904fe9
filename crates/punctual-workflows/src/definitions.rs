//! Everything that people define, as one document: exported, and imported whole or not at all.
//!
//! An import runs in a transaction that is always rolled back first: each definition that differs goes through the command
//! that saves it alone, so that there is one copy of each rule, and what the document says afterwards is compared with what it
//! said before. That is the plan. An import then does the same again with what changes, and commits if it comes to the same.
//! So a plan takes what an import takes, and right after an import there is nothing to change.

mod diff;
mod document;
mod import;
mod read;
mod surveys;
mod write;

use punctual_boxed::boxed;
use punctual_engine::{Actor, Engine};
use punctual_reports::Sources;
use punctual_store::StoreError;

use crate::reminders::Providers;

pub use document::{Bundle, Document};
pub use import::{Import, ImportError, Refusal};

/// What definitions are checked with, and who asks.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub engine: &'a Engine,
    pub providers: &'a Providers,
    pub sources: &'a Sources,
    pub by: &'a Actor,
}

/// Everything that is defined now. Secrets are not in it, only references to them and that they are set.
#[boxed]
pub async fn export(engine: &Engine) -> Result<Bundle, StoreError> {
    let mut reader = engine.store.read_for_people().await?;
    read::everything(&mut reader.conn(), engine).await
}
