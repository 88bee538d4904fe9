//! The agent at a site: scripts hand in notifications, the agent keeps them on disk and forwards them to central.
//!
//! A script gets its id back after the row is on disk. Rows are forwarded in order, in batches, and cleared only by an
//! acknowledgement that names their id and digest, which central sends after its commit. While central cannot be reached
//! rows wait, for as long as it takes, up to a limit that the caller gets. Delivery is central's affair.
//!
//! `notify` accepts, `forward_tick` forwards, `watch_tick` monitors the buffer and removes what may go; the loops of `run`
//! only wait and tick.

mod ack;
mod central;
mod config;
mod event_log;
mod failure;
mod forward;
mod level;
mod local_api;
mod metrics;
mod notify;
mod prepare;
mod reserve;
mod run;
mod status;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_model::{Clock, Random, chain};
use punctual_store::{
    Faults, Store, StoreError, StoreOptions,
    site_buffer::{self, events, outgoing},
};
use punctual_wire::{site_agent::AgentHealth, sites::SiteEvent};
use tokio::sync::Notify;

pub use central::CentralError;
pub use config::{ConfigError, SiteConfig};
pub use event_log::shape as shape_event;
pub use forward::{ForwardReport, Next};
pub use local_api::router;
pub use notify::NotifyError;
pub use run::Running;
pub use watch::WatchReport;

use central::Central;
use event_log::EventLog;
use level::Level;
use metrics::Metrics;
use prepare::Prepared;
use reserve::Reserve;

/// The agent with all it needs. Cheap to clone.
#[derive(Clone)]
pub struct Agent(Arc<Parts>);

/// What an agent is made of.
pub struct Parts {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub config: SiteConfig,
    central: Central,
    level: Arc<Level>,
    reserve: Arc<Reserve>,
    log: EventLog,
    metrics: Arc<Metrics>,
    intake: notify::Intake,
    /// Notified when a row was accepted.
    arrived: Arc<Notify>,
    link: Mutex<Link>,
    /// The next batch, made while the one before it was on its way. One tick at a time.
    prepared: tokio::sync::Mutex<Option<Prepared>>,
}

/// What is known about the way to central.
#[derive(Debug, Default)]
struct Link {
    /// Whose token this is, as central said.
    site: Option<String>,
    /// Why the last contact failed.
    failure: Option<String>,
    last_contact_at: Option<Timestamp>,
    /// Rows that a batch may have just now; less after central found one too large.
    batch: usize,
}

/// The fact under which the buffer remembers whose it is.
const SITE_FACT: &str = "site.id";

impl Agent {
    /// Opens the buffer in the configured folder; nothing runs yet.
    pub async fn open(
        config: SiteConfig,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Self, StoreError> {
        Self::open_with(config, clock, random, Faults::default()).await
    }

    /// Like `open`, with faults for trials.
    pub async fn open_with(
        config: SiteConfig,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        faults: Faults,
    ) -> Result<Self, StoreError> {
        let now = clock.now();
        let options = StoreOptions { faults, ..site_buffer::options(&config.buffer_file()) };
        let store = Store::open(options, now).await?;
        let mut reader = store.read().await?;
        let backlog = outgoing::backlog(&mut reader.conn(), now).await?;
        let site = punctual_store::facts::get(&mut reader.conn(), SITE_FACT).await?;
        drop(reader);
        let level = Arc::new(Level::new(&config, &backlog));
        let reserve = Arc::new(Reserve::new(config.data_dir.join("reserve"), config.reserve_bytes));
        reserve.restore();
        let (metrics, arrived) = (Arc::new(Metrics::new()), Arc::new(Notify::new()));
        let log = EventLog::new(store.clone(), random.clone());
        let intake = notify::Intake::start(store.clone(), level.clone(), arrived.clone());
        let link = Mutex::new(Link { site, batch: config.batch, ..Link::default() });
        let central = Central::new(&config);
        Ok(Self(Arc::new(Parts {
            store,
            clock,
            random,
            central,
            level,
            reserve,
            log,
            metrics,
            intake,
            arrived,
            link,
            prepared: tokio::sync::Mutex::new(None),
            config,
        })))
    }

    /// The latest entries of the event log, newest first.
    pub async fn log(&self, limit: i64) -> Result<Vec<SiteEvent>, StoreError> {
        let mut reader = self.store.read().await?;
        let rows = events::latest(&mut reader.conn(), limit).await?;
        Ok(rows.into_iter().map(event_log::shape).collect())
    }

    /// How the agent is doing.
    pub async fn health(&self) -> Result<AgentHealth, StoreError> {
        let now = self.clock.now();
        let mut reader = self.store.read().await?;
        let oldest_at = outgoing::oldest(&mut reader.conn()).await?;
        drop(reader);
        let link = self.link();
        Ok(AgentHealth {
            status: if link.failure.is_some() { "central-unreachable" } else { "ok" }.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            site: link.site.clone(),
            backlog: self.level.waiting_rows(),
            backlog_bytes: self.level.bytes(),
            oldest_buffered_age_seconds: oldest_at.map(|at| age_seconds(now, at)),
            refused: self.level.refused_rows(),
            last_failure: link.failure.clone(),
            last_contact_at: link.last_contact_at,
            accepting: self.reserve.is_held() && self.level.has_room(),
        })
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::ops::Deref for Agent {
    type Target = Parts;
    fn deref(&self) -> &Parts {
        &self.0
    }
}

fn age_seconds(now: Timestamp, micros: i64) -> i64 {
    (now.as_microsecond() - micros).max(0) / 1_000_000
}
