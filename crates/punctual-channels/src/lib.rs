//! How a message leaves: one adapter for each kind of channel, and the guard that every outgoing call passes.
//!
//! An adapter checks a channel's settings when they are saved and opens a [`Channel`] from them. A channel holds its
//! own connections, knows no database and no clock (the time of an attempt comes in with the message), and answers
//! with a [`SendOutcome`] that says whether to try again. Retries, leases and limits are the engine's.
//!
//! Where to look: `smtp` for mail, `webhook` for HTTP, `captured` for what stays in memory (the memory channel and
//! the sandbox), `guard` for the addresses that must not be reached, `trust` for certificates.
//!
//! [`Channel`]: punctual_model::Channel
//! [`SendOutcome`]: punctual_model::SendOutcome

pub mod captured;
pub mod guard;
pub mod memory;
mod settings;
pub mod smtp;
mod text;
pub mod trust;
pub mod webhook;

use std::sync::Arc;

use punctual_model::Adapter;

pub use captured::{Captured, CapturedChannel, Misbehaviour, Sent};
pub use guard::{AllowList, Guard};
pub use memory::MemoryAdapter;
pub use smtp::SmtpAdapter;
pub use trust::Trust;
pub use webhook::WebhookAdapter;

/// Every adapter there is. `memory` keeps what the memory channels are given.
pub fn adapters(guard: &Guard, trust: &Trust, memory: &Arc<Captured>) -> Vec<Arc<dyn Adapter>> {
    vec![
        Arc::new(MemoryAdapter::new(Arc::clone(memory))),
        Arc::new(SmtpAdapter::new(guard.clone(), trust.clone())),
        Arc::new(WebhookAdapter::new(guard.clone(), trust.clone())),
    ]
}
