//! Where a bed's rows lie: a file in its own folder, or its own database on the test server.

use std::path::Path;

use punctual_store::{Store, StoreError, StoreOptions, schema_digest};
use tempfile::TempDir;

use crate::{START, postgres::TestDatabase};

/// Where files are kept in memory, if the system has such a place: the same SQLite with the same settings, without the
/// wait for a disk. What survives a power cut is tested elsewhere.
const MEMORY: &str = "/dev/shm";

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// Gone with everything in it when the last bed on it is.
pub(super) enum Place {
    Folder { url: String, _folder: TempDir },
    Server(Box<TestDatabase>),
}

impl Place {
    pub(super) async fn new(database: Database) -> Self {
        match database {
            Database::Sqlite => {
                let folder = match Path::new(MEMORY) {
                    memory if memory.is_dir() => TempDir::new_in(memory),
                    _ => TempDir::new(),
                };
                let folder = folder.unwrap_or_else(|error| panic!("no folder: {error}"));
                let url = format!("sqlite:{}", folder.path().join("punctual.db").display());
                Self::Folder { url, _folder: folder }
            }
            Database::Postgres => {
                let schema = format!("{:016x}", schema_digest());
                Self::Server(Box::new(TestDatabase::migrated(&schema, migrate).await))
            }
        }
    }

    pub(super) fn url(&self) -> &str {
        match self {
            Self::Folder { url, .. } => url,
            Self::Server(database) => database.url(),
        }
    }
}

async fn migrate(url: &str) -> Result<(), StoreError> {
    let options = StoreOptions { accept_weak_durability: true, ..StoreOptions::new(url) };
    let now = START.parse().unwrap_or_else(|error| panic!("{START}: {error}"));
    let store = Store::open(options, now).await?;
    store.close().await;
    Ok(())
}
