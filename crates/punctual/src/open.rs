//! Opening the database for a node or for `punctual migrate`: waits while another session keeps a table that the schema changes.

use jiff::{SignedDuration, Timestamp};
use punctual_model::Clock;
use punctual_store::{Store, StoreError, StoreOptions};

/// Until the next attempt. Each may delay what the nodes that run are doing by two seconds.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);
/// After that it is an error. A service manager starts the program again.
const WAITS_FOR: SignedDuration = SignedDuration::from_mins(10);

/// Opens the store. A backup or a report may be reading the tables that a migration changes: the migration is tried again until they
/// are free, with the reason in `waiting` each time.
pub async fn open(
    options: StoreOptions,
    clock: &dyn Clock,
    waiting: impl Fn(&StoreError),
) -> Result<Store, StoreError> {
    let until: Timestamp = clock.now() + WAITS_FOR;
    loop {
        match Store::open(options.clone(), clock.now()).await {
            Err(error @ StoreError::MigrationBlocked(..)) if clock.now() < until => waiting(&error),
            opened => return opened,
        }
        clock.sleep_until(clock.now() + PAUSE).await;
    }
}
