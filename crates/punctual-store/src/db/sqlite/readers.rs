//! The few connections that read, handed out one to a caller.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::SqliteThread;
use crate::error::DriverError;

pub(super) struct Readers {
    idle: Arc<Mutex<Vec<SqliteThread>>>,
    /// As many permits as there are connections.
    free: Arc<Semaphore>,
    count: u32,
}

/// A connection for reading; it goes back when this is dropped.
pub struct Reading {
    thread: SqliteThread,
    idle: Arc<Mutex<Vec<SqliteThread>>>,
    /// Given back last, when the connection is idle again.
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    pub(super) fn new(threads: Vec<SqliteThread>) -> Self {
        let free = Arc::new(Semaphore::new(threads.len()));
        let count = u32::try_from(threads.len()).unwrap_or(u32::MAX);
        Self { idle: Arc::new(Mutex::new(threads)), free, count }
    }

    pub(super) async fn acquire(&self) -> Result<Reading, DriverError> {
        let permit = self.free.clone().acquire_owned().await.map_err(|_| DriverError::Closed)?;
        let thread = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let thread = thread.ok_or(DriverError::Closed)?;
        Ok(Reading { thread, idle: self.idle.clone(), _permit: permit })
    }

    /// Waits until nobody reads, and closes all of them.
    pub(super) async fn close(&self) {
        let Ok(_all) = self.free.acquire_many(self.count).await else { return };
        self.free.close();
        let threads = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            thread.close().await;
        }
    }
}

impl Reading {
    pub(in crate::db) fn thread(&self) -> &SqliteThread {
        &self.thread
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.thread.clone());
    }
}
