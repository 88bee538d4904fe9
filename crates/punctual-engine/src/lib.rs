//! The pipeline: intake → due → delivery → settled, with sweep, wake-ups and purge.
//!
//! Each stage is a bounded `tick` that processes one batch and returns counts; the loops around the ticks only wait, tick and
//! record. A workflow decides (see [`Workflow`]); this crate writes.

pub mod arrivals;
pub mod attention;
pub mod audit_chain;
pub mod channels;
pub mod commands;
pub mod config;
mod confine;
pub mod consumers;
mod delivery;
pub mod delivery_policy;
mod due;
pub mod effects;
mod ensure;
mod error;
pub mod events;
pub mod inbox;
pub mod intake;
mod kept_secret;
pub mod keys;
pub mod kpis;
pub mod listeners;
mod marks;
pub mod metrics;
mod nodes;
pub mod operate;
pub mod passwords;
pub mod personal;
pub mod public_limits;
mod purge;
mod quotas;
mod readiness;
pub mod receipts;
pub mod references;
pub mod registration;
pub mod restored;
mod retention;
mod run;
mod sandbox;
pub mod search;
pub mod secrets;
pub mod settings;
pub mod sites;
mod slow_down;
pub mod subscribers;
mod suppressions;
mod sweep;
pub mod timeline;
pub mod titles;
mod traced;
pub mod trial;
mod troubles;
pub mod uploads;
pub mod vault;
pub mod workflow;

use std::sync::Arc;

use punctual_model::{Adapter, Clock, ConsumerAdapter, DuplicateKey, Random, Registry, Traces};
use punctual_store::{Store, blobs::Blobs};

pub use channels::{Channels, Opened};
pub use commands::{Actor, CommandError, OwnUnit, Units};
pub use config::EngineConfig;
pub use delivery::{Basis, DeliveryReport, EVENT, SentContent};
pub use due::DueReport;
pub use ensure::{EnsureOutcome, Ensured, Requested, ensure_in, ensure_requested_in};
pub use error::EngineError;
pub use events::{Event, EventSink, EventSinks, StoredEvent};
pub use intake::{Accepted, Handed, accept_in};
pub use kept_secret::{GivenForElsewhere, GivenSecret};
pub use listeners::{Listener, Listeners};
use marks::{DeliveryLane, Marks};
pub use metrics::{Figure, Metrics};
pub use nodes::{Identity, NodeState};
pub use public_limits::{Peer, PublicLimits};
pub use purge::PurgeReport;
pub use quotas::QuotaReached;
pub use readiness::NotReady;
pub use registration::Registration;
pub use retention::{RetentionSettings, WindowChange, Windows};
pub use run::Running;
pub use sandbox::{AdvanceReport, PassReport};
pub use secrets::SecretsError;
pub use slow_down::SlowDown;
pub use sweep::SweepReport;
pub use troubles::{FailingChore, failing_chores};
pub use vault::Vault;
pub use workflow::{
    Attempted, Claimed, Decide, FollowsDeliveries, Loads, Maintains, Prepares, Settled, SettledWork, Titles,
    WatchesAttempts, Workflow, WritesRows,
};

/// The pipeline with all it needs. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

/// What an engine is made of.
pub struct Parts {
    pub store: Store,
    pub blobs: Blobs,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub config: EngineConfig,
    pub workflows: Registry<Registration>,
    pub listeners: Listeners,
    pub channels: Channels,
    pub consumers: consumers::Consumers,
    pub vault: Arc<Vault>,
    pub metrics: Metrics,
    /// Records nothing until somebody says where to.
    pub traces: Traces,
    pub(crate) suppressions: suppressions::Suppressions,
    /// This node's cache of the delivery policy.
    pub policy: delivery_policy::PolicyCache,
    pub(crate) intake: intake::Queue,
    pub(crate) held: Arc<run::Held>,
    pub(crate) deciding: due::Deciding,
    pub(crate) work_marks: Marks<String>,
    pub(crate) delivery_marks: Marks<DeliveryLane>,
    /// How far the audit may be sealed, once some transactions have ended.
    pub(crate) seal_mark: std::sync::Mutex<Option<audit_chain::Mark>>,
    /// What was delivered in the last seconds, for the figures.
    pub(crate) delivered: std::sync::Mutex<kpis::Delivered>,
    pub(crate) chores: troubles::Chores,
    /// The loops of this node, while they run.
    pub(crate) running: std::sync::Mutex<Option<run::Node>>,
}

/// What is handed in to make an engine.
pub struct Setup {
    pub store: Store,
    pub blobs: Blobs,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub config: EngineConfig,
    pub workflows: Vec<Registration>,
    pub adapters: Vec<Arc<dyn Adapter>>,
    /// The kinds of brokers that events can be taken from.
    pub consumer_adapters: Vec<Arc<dyn ConsumerAdapter>>,
    /// Opens every channel instead of its own adapter: the sandbox.
    pub capture: Option<Arc<dyn Adapter>>,
    pub listeners: Listeners,
    /// Opens and seals the secrets of channels.
    pub vault: Arc<Vault>,
}

impl Engine {
    /// Puts the parts together; refuses two workflows of one kind or two adapters of one name.
    pub fn new(setup: Setup) -> Result<Self, DuplicateKey> {
        let mut workflows = Registry::new("workflows");
        for workflow in setup.workflows {
            workflows.add(workflow.kind(), workflow)?;
        }
        let mut adapters = setup.adapters;
        adapters.push(Arc::new(inbox::InboxAdapter(setup.store.clone())));
        let channels = Channels::new(adapters, setup.capture, setup.vault.clone())?;
        let intake = intake::Queue::new(if setup.store.is_single_process() { 1 } else { 2 });
        Ok(Self(Arc::new(Parts {
            store: setup.store,
            blobs: setup.blobs,
            clock: setup.clock,
            random: setup.random,
            config: setup.config,
            workflows,
            listeners: setup.listeners,
            channels,
            consumers: consumers::Consumers::new(setup.consumer_adapters)?,
            vault: setup.vault,
            metrics: Metrics::new(),
            traces: Traces::default(),
            suppressions: suppressions::Suppressions::default(),
            policy: delivery_policy::PolicyCache::default(),
            intake,
            held: Arc::default(),
            deciding: due::Deciding::default(),
            work_marks: Marks::default(),
            delivery_marks: Marks::default(),
            seal_mark: std::sync::Mutex::default(),
            delivered: std::sync::Mutex::default(),
            chores: troubles::Chores::default(),
            running: std::sync::Mutex::default(),
        })))
    }
}

impl std::ops::Deref for Engine {
    type Target = Parts;
    fn deref(&self) -> &Parts {
        &self.0
    }
}
