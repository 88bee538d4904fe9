//! The settings of the engine and their defaults.

use std::time::Duration;

use punctual_model::delivery_policy::Breaker;
use punctual_store::retention::Window;

/// Every bound and interval of the pipeline.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The name of this node in attempts and logs.
    pub node: String,
    /// How long a claim is good for without renewal.
    pub lease: Duration,
    /// How often a held lease is renewed; a third of the lease.
    pub renew_every: Duration,
    /// How often expired leases are looked for.
    pub sweep_every: Duration,
    /// How often the table is polled without a wake-up.
    pub poll_every: Duration,
    /// How far ahead of its moment a row is claimed, so that its handler starts on time and not a commit later.
    pub claim_ahead: Duration,
    /// Rows a claim takes at most.
    pub batch: i64,
    /// Batches under way at once in the due stage.
    pub batches_at_once: usize,
    /// Notifications that count as stuck after this long.
    pub stuck_after: Duration,
    /// How long terminal notifications are kept.
    pub keep_for: Duration,
    /// How long files that workflows make, such as those of reports, are kept.
    pub keep_files_for: Duration,
    /// How long finished work keeps its input and its trace.
    pub keep_work_for: Duration,
    /// How long finished surveys keep recipients and answers; permanently, unless this is set.
    pub keep_surveys_for: Option<Duration>,
    /// How long ids of removed messages are known; permanently, unless this is set.
    pub keep_ids_for: Option<Duration>,
    /// How long entries of the audit are kept; permanently, unless this is set.
    pub keep_audit_for: Option<Duration>,
    /// Whether the sweep seals entries of the audit. Without it nothing is sealed: only measurements do without.
    pub seals_audit: bool,
    /// Which of these times the configuration of the server sets: people cannot change them.
    pub fixed_windows: Vec<Window>,
    /// How long answers to idempotency keys are kept.
    pub remember_for: Duration,
    /// Whether the daily purge runs: not in the sandbox, where a moved clock would empty the tables.
    pub purges: bool,
    /// Rows a purge removes in one transaction.
    pub purge_batch: i64,
    /// The share of all finished notifications that a purge removes without asking.
    pub purge_share: f64,
    /// Rows that a purge removes without asking, whatever their share.
    pub purge_unasked: i64,
    /// Rows of one piece of the index of addresses.
    pub index_piece: i64,
    /// When the circuit of a channel opens, and for how long.
    pub breaker: Breaker,
    /// How long a stopping node waits for what is under way.
    pub grace: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            node: "node".into(),
            lease: Duration::from_secs(60),
            renew_every: Duration::from_secs(20),
            sweep_every: Duration::from_secs(5),
            poll_every: Duration::from_secs(30),
            claim_ahead: Duration::from_millis(20),
            batch: 500,
            batches_at_once: 3,
            stuck_after: Duration::from_secs(600),
            keep_for: DAY * 365,
            keep_files_for: DAY * 365,
            keep_work_for: DAY * 365,
            keep_surveys_for: None,
            keep_ids_for: None,
            keep_audit_for: None,
            seals_audit: true,
            fixed_windows: Vec::new(),
            remember_for: DAY,
            purges: true,
            purge_batch: 500,
            purge_share: 0.5,
            purge_unasked: 1_000,
            index_piece: 10_000,
            breaker: Breaker::default(),
            grace: Duration::from_secs(15),
        }
    }
}

/// The moment that lies `by` after `at`, or the last one there is.
pub(crate) fn later(at: jiff::Timestamp, by: Duration) -> jiff::Timestamp {
    jiff::SignedDuration::try_from(by)
        .ok()
        .and_then(|by| at.checked_add(by).ok())
        .unwrap_or(jiff::Timestamp::MAX)
}

/// The moment that lies `by` before `at`, or the first one there is.
pub(crate) fn earlier(at: jiff::Timestamp, by: Duration) -> jiff::Timestamp {
    jiff::SignedDuration::try_from(by)
        .ok()
        .and_then(|by| at.checked_sub(by).ok())
        .unwrap_or(jiff::Timestamp::MIN)
}
