//! The buffer of a site agent: a SQLite file of its own, with what scripts handed in and the site's event log.

pub mod events;
pub mod outgoing;

use std::path::Path;

use crate::{Schema, StoreOptions};

/// How the buffer in this file is opened.
pub fn options(file: &Path) -> StoreOptions {
    StoreOptions { schema: Schema::SiteBuffer, ..StoreOptions::new(format!("sqlite:{}", file.display())) }
}
