//! The paths: what becomes due, and what is decided when it is. Each is thin: its own table and decisions, and no
//! loop, lease, retry, timer or sender of its own.

pub mod due_window;
pub mod messages;
pub mod operations;
pub mod schedules;

use std::sync::Arc;

use punctual_engine::Path;

/// Every path that ships.
pub fn all() -> Vec<Arc<dyn Path>> {
    vec![Arc::new(schedules::Schedules), Arc::new(messages::Messages), Arc::new(operations::Operations)]
}
