//! All definitions as one document, for export and for import, which is all or nothing.
//!
//! An import first runs in a transaction that is rolled back: each changed definition goes through its normal save command, so
//! every rule exists only once, and the stored document is compared before and after. That comparison is the plan. The import
//! then repeats this with the changed definitions, and commits if the result is the same. A plan therefore accepts exactly what
//! an import accepts, and a second import changes nothing.

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
