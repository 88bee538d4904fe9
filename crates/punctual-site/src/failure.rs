//! Forwarding errors, and their effect on the next attempt.

use std::time::Duration;

use punctual_store::StoreError;
use punctual_wire::{Code, Problem};

use crate::{CentralError, chain};

/// Rows of a batch after failures, so that even a slow line brings something through; success doubles them again.
pub const SMALLEST_AFTER_FAILURE: usize = 50;

/// Whether a batch that took too long may be the reason.
pub fn is_perhaps_too_slow(error: &CentralError) -> bool {
    match error {
        CentralError::Unreachable(_) => true,
        CentralError::Refused(problem) => problem.code == Code::RequestTimeout,
        CentralError::Strange { .. } => false,
    }
}

/// Why nothing could be forwarded.
pub struct Failure {
    pub why: String,
    /// What kind of failure it is: the same one may be worded differently each time.
    pub class: String,
    /// What central asked for.
    pub retry_after: Option<Duration>,
}

/// Central may ask for patience, but not for so much that nobody would notice when it is well again.
const LONGEST_PATIENCE: u64 = 300;

impl From<CentralError> for Failure {
    fn from(error: CentralError) -> Self {
        let asked = match &error {
            CentralError::Refused(problem) => problem.retry_after_seconds(),
            CentralError::Unreachable(_) | CentralError::Strange { .. } => None,
        };
        let retry_after = asked.map(|seconds| Duration::from_secs(seconds.min(LONGEST_PATIENCE)));
        let class = match &error {
            CentralError::Refused(problem) => problem.code.to_string(),
            CentralError::Unreachable(_) => "unreachable".to_owned(),
            CentralError::Strange { status } => status.to_string(),
        };
        Self { why: format!("central: {error}"), class, retry_after }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { why: format!("the buffer: {}", chain(&error)), class: "buffer".to_owned(), retry_after: None }
    }
}

/// Whether central refuses what is in the request and not who sends it or when: then a smaller one may pass.
pub fn is_about_the_batch(problem: &Problem) -> bool {
    let about_the_caller = matches!(
        problem.code,
        Code::AuthFailed
            | Code::ScopeMissing
            | Code::SiteMismatch
            | Code::NotFound
            | Code::MethodNotAllowed
            | Code::RequestTimeout
            | Code::RateLimited
            | Code::ContentEncoding
            | Code::ContentType
            | Code::Unknown
    );
    (400..500).contains(&problem.status) && !about_the_caller
}
