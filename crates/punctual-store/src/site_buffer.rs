//! The buffer of a site agent: a separate SQLite file with the notifications of scripts and the event log of the site.

pub mod events;
pub mod outgoing;

use std::path::Path;

use crate::{Schema, StoreOptions};

/// How the buffer in this file is opened.
pub fn options(file: &Path) -> StoreOptions {
    StoreOptions { schema: Schema::SiteBuffer, ..StoreOptions::new(format!("sqlite:{}", file.display())) }
}
