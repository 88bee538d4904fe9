//! The fill level of the buffer, kept in memory, because only one process writes the file.

use std::sync::atomic::{AtomicI64, Ordering};

use punctual_store::site_buffer::outgoing::Backlog;

use crate::SiteConfig;

pub struct Level {
    /// Rows that wait or were refused, and those that are being written.
    rows: AtomicI64,
    bytes: AtomicI64,
    refused: AtomicI64,
    max_rows: i64,
    max_bytes: i64,
}

impl Level {
    pub fn new(config: &SiteConfig, backlog: &Backlog) -> Self {
        Self {
            rows: AtomicI64::new(backlog.waiting + backlog.refused),
            bytes: AtomicI64::new(backlog.bytes + backlog.refused_bytes),
            refused: AtomicI64::new(backlog.refused),
            max_rows: config.max_rows,
            max_bytes: config.max_bytes,
        }
    }

    /// Room for one more row, or why there is none. What is not used is given back.
    pub fn take(&self, bytes: i64) -> Result<(), String> {
        let rows = self.rows.fetch_add(1, Ordering::AcqRel) + 1;
        let total = self.bytes.fetch_add(bytes, Ordering::AcqRel) + bytes;
        let why = if rows > self.max_rows {
            format!("The buffer has {} rows of at most {}", rows - 1, self.max_rows)
        } else if total > self.max_bytes {
            format!("The buffer has {} bytes of at most {}", total - bytes, self.max_bytes)
        } else {
            return Ok(());
        };
        self.give_back(1, bytes);
        Err(why)
    }

    pub fn give_back(&self, rows: i64, bytes: i64) {
        self.rows.fetch_sub(rows, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// So many rows more (or fewer) are refused; they stay in the buffer.
    pub fn refused(&self, rows: i64) {
        self.refused.fetch_add(rows, Ordering::AcqRel);
    }

    pub fn refused_rows(&self) -> i64 {
        self.refused.load(Ordering::Acquire)
    }

    pub fn waiting_rows(&self) -> i64 {
        (self.rows.load(Ordering::Acquire) - self.refused_rows()).max(0)
    }

    pub fn bytes(&self) -> i64 {
        self.bytes.load(Ordering::Acquire)
    }

    pub fn has_room(&self) -> bool {
        self.rows.load(Ordering::Acquire) < self.max_rows
            && self.bytes.load(Ordering::Acquire) < self.max_bytes
    }
}
