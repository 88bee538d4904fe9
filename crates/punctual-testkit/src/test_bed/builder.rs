//! What a bed is built from, and how a test changes it.

use std::sync::Arc;

use punctual_channels::{Captured, MemoryAdapter};
use punctual_engine::{EngineConfig, Listener, Listeners, Registration};
use punctual_model::{Adapter, ConsumerAdapter, ManualClock};
use punctual_store::blobs::Blobs;

use super::{Database, START, TestBed};
use crate::clock::WatchedClock;

#[derive(Clone)]
pub struct Recipe {
    pub(super) database: Database,
    pub(super) seed: u64,
    /// Beds with the same numbers have the same master keys; the first is the one to seal with.
    pub(super) master_keys: Vec<u64>,
    pub(super) connections: u32,
    pub(super) without_skip_locked: bool,
    pub(super) notifies_nodes: bool,
    pub(super) config: EngineConfig,
    pub(super) workflows: Vec<Registration>,
    pub(super) adapters: Vec<Arc<dyn Adapter>>,
    pub(super) consumer_adapters: Vec<Arc<dyn ConsumerAdapter>>,
    pub(super) listeners: Listeners,
    pub(super) clock: Arc<ManualClock>,
    pub(super) captured: Arc<Captured>,
    /// Shared by all nodes, as in an installation with several.
    pub(super) blobs: Blobs,
    /// Set where the system's clock gives the time instead of the manual one.
    pub(super) wall: Option<WatchedClock>,
}

/// A bed that is being made.
#[must_use]
pub struct TestBedBuilder(Recipe);

impl From<Recipe> for TestBedBuilder {
    fn from(recipe: Recipe) -> Self {
        Self(recipe)
    }
}

impl From<TestBedBuilder> for Recipe {
    fn from(builder: TestBedBuilder) -> Self {
        builder.0
    }
}

impl TestBedBuilder {
    pub fn new(database: Database) -> Self {
        let start = START.parse().unwrap_or_else(|error| panic!("{START}: {error}"));
        let captured = Captured::new();
        Self(Recipe {
            database,
            seed: 1,
            master_keys: vec![1],
            connections: 8,
            without_skip_locked: false,
            notifies_nodes: false,
            // As it ships, the circuit of channels too.
            config: EngineConfig::default(),
            workflows: punctual_workflows::all(),
            adapters: vec![Arc::new(MemoryAdapter::new(captured.clone()))],
            consumer_adapters: Vec::new(),
            listeners: Listeners::default(),
            clock: Arc::new(ManualClock::new(start)),
            captured,
            blobs: Blobs::in_memory(),
            wall: None,
        })
    }

    /// Claims wait for each other instead of skipping locked rows.
    pub fn without_skip_locked(mut self) -> Self {
        self.0.without_skip_locked = true;
        self
    }

    /// Every commit notifies the other nodes, as on a node without workers.
    pub fn notifies_nodes(mut self) -> Self {
        self.0.notifies_nodes = true;
        self
    }

    /// Connections to PostgreSQL, for each node.
    pub fn connections(mut self, connections: u32) -> Self {
        self.0.connections = connections;
        self
    }

    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// Other master keys than the usual one: those of a node that was given a new one, or not the right one.
    pub fn master_keys(mut self, numbers: &[u64]) -> Self {
        self.0.master_keys = numbers.to_vec();
        self
    }

    pub fn config(mut self, change: impl FnOnce(&mut EngineConfig)) -> Self {
        change(&mut self.0.config);
        self
    }

    pub fn workflow(mut self, workflow: impl Into<Registration>) -> Self {
        self.0.workflows.push(workflow.into());
        self
    }

    /// Sets the workflows, instead of the built-in ones.
    pub fn workflows(mut self, workflows: Vec<Registration>) -> Self {
        self.0.workflows = workflows;
        self
    }

    /// What consumers can take events from.
    pub fn consumers(mut self, adapters: Vec<Arc<dyn ConsumerAdapter>>) -> Self {
        self.0.consumer_adapters = adapters;
        self
    }

    /// The adapter, and a channel `NAME:default` that uses it once the test puts one.
    pub fn adapter(mut self, adapter: impl Adapter + 'static) -> Self {
        self.0.adapters.push(Arc::new(adapter));
        self
    }

    /// Several adapters at once, such as all that ship.
    pub fn adapters(mut self, adapters: Vec<Arc<dyn Adapter>>) -> Self {
        self.0.adapters.extend(adapters);
        self
    }

    /// # Panics
    /// When the topic has a listener already.
    pub fn listener(mut self, topic: &str, listener: impl Listener + 'static) -> Self {
        let added = self.0.listeners.add(topic, Arc::new(listener));
        added.unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// The system's time instead of a stopped clock: for tests with the loops running.
    pub fn wall_clock(mut self) -> Self {
        self.0.wall = Some(WatchedClock::default());
        self
    }

    /// # Panics
    /// When there is no database to be had.
    pub async fn open(self) -> TestBed {
        TestBed::made(self.0).await
    }
}
