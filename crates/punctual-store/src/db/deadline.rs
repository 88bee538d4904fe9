//! How long a call to the database may take. A server that is cut off says nothing: without a deadline its callers would
//! wait for as long as the network does, a quarter of an hour.

use std::time::Duration;

use crate::error::DriverError;

/// The longest waits for PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// One statement, or a commit. The longest of them work on bounded sets and take well under a second.
    pub statement: Duration,
    /// One statement of a page or a list; the caller gets an error when it takes longer.
    pub read: Duration,
    /// Waiting for a free connection.
    pub acquire: Duration,
    /// Opening a connection to one server.
    pub connect: Duration,
    /// Asking a connection whether it still works.
    pub ping: Duration,
    /// How long the server lets a transaction wait for its next statement: a node that is cut off loses its locks then.
    pub idle_in_transaction: Duration,
    /// How long a connection keeps the plan of a statement.
    pub plan: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            statement: Duration::from_secs(10),
            read: Duration::from_secs(15),
            acquire: Duration::from_secs(5),
            connect: Duration::from_secs(4),
            ping: Duration::from_secs(2),
            idle_in_transaction: Duration::from_secs(10),
            plan: Duration::from_secs(5),
        }
    }
}

/// Anything that SQLite's threads do, and waiting for one: a disk that hangs must not hang its callers.
pub(super) const SQLITE: Duration = Duration::from_secs(30);

/// What the future returns, or the error that it took too long.
pub(super) async fn within<T, E: Into<DriverError>>(
    limit: Duration,
    work: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<T, DriverError> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(DriverError::Deadline(limit)),
    }
}
