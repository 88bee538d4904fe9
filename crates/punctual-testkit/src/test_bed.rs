//! The bed of a test: one store and one engine on their own database, and short words for what tests do.

mod audited;
mod builder;
mod database;
mod look;
mod occurrences;
mod put;
mod refuse;
mod tamper;
mod warned;

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use punctual_channels::{Captured, Sent};
use punctual_engine::{
    AdvanceReport, Engine, PassReport, Setup, Vault,
    vault::{FixedKeys, MasterKey},
};
use punctual_model::{Clock, ManualClock};
use punctual_store::{Deadlines, Faults, Store, StoreOptions};

use builder::Recipe;
pub use builder::TestBedBuilder;
pub use database::Database;
use database::Place;
pub use put::new_schedule;
pub use tamper::run_on_sqlite;

use crate::Seeded;

/// The first instant of a bed's clock.
pub const START: &str = "2026-05-14T05:00:00Z";

/// A store and an engine for one test. Clones share everything.
#[derive(Clone)]
pub struct TestBed(Arc<Parts>);

/// What a bed is made of.
pub struct Parts {
    pub engine: Engine,
    pub store: Store,
    /// Where to break the store of this node.
    pub faults: Faults,
    /// The clock of every node, unless the bed was built with another one.
    pub clock: Arc<ManualClock>,
    /// What the memory channels were given, by all nodes.
    pub captured: Arc<Captured>,
    pub random: Arc<Seeded>,
    recipe: Recipe,
    /// Why rows may be open at the end, where the test said so.
    leaves_open: Arc<Mutex<Option<String>>>,
    changes_rows_itself: Arc<AtomicBool>,
    place: Arc<Place>,
}

impl Deref for TestBed {
    type Target = Parts;
    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl TestBed {
    /// With everything as it ships, but for the clock, the random source and the channels.
    pub async fn on(database: Database) -> Self {
        TestBedBuilder::new(database).open().await
    }

    async fn made(recipe: Recipe) -> Self {
        let place = Arc::new(Place::new(recipe.database).await);
        let (store, faults) = open_store(&recipe, &place).await;
        let random = Arc::new(Seeded::new(recipe.seed));
        let engine = engine(&recipe, &store, &random, "a");
        let (clock, captured) = (recipe.clock.clone(), recipe.captured.clone());
        let bed = Self(Arc::new(Parts {
            engine,
            store,
            faults,
            clock,
            captured,
            random,
            recipe,
            leaves_open: Arc::default(),
            changes_rows_itself: Arc::default(),
            place,
        }));
        bed.channel("email:default", "memory").await;
        bed
    }

    /// Another node on the same database, with the same clock: its own store on PostgreSQL; on SQLite, where one process owns
    /// the file, another engine on the same store.
    pub async fn node(&self, name: &str) -> Self {
        let (store, faults) = match self.recipe.database {
            Database::Sqlite => (self.store.clone(), self.faults.clone()),
            Database::Postgres => open_store(&self.recipe, &self.place).await,
        };
        let engine = engine(&self.recipe, &store, &self.random, name);
        Self(Arc::new(Parts {
            engine,
            store,
            faults,
            clock: self.clock.clone(),
            captured: self.captured.clone(),
            random: self.random.clone(),
            recipe: self.recipe.clone(),
            leaves_open: self.leaves_open.clone(),
            changes_rows_itself: self.changes_rows_itself.clone(),
            place: self.place.clone(),
        }))
    }

    /// The same store under an engine with more workflows, adapters or listeners: for those that share state with the test.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(TestBedBuilder) -> TestBedBuilder) -> Self {
        let recipe = change(TestBedBuilder::from(self.recipe.clone())).into();
        let engine = engine(&recipe, &self.store, &self.random, "a");
        Self(Arc::new(Parts {
            engine,
            store: self.store.clone(),
            faults: self.faults.clone(),
            clock: self.clock.clone(),
            captured: self.captured.clone(),
            random: self.random.clone(),
            recipe,
            leaves_open: self.leaves_open.clone(),
            changes_rows_itself: self.changes_rows_itself.clone(),
            place: self.place.clone(),
        }))
    }

    /// Where the database is.
    pub fn url(&self) -> &str {
        self.place.url()
    }

    pub fn database(&self) -> Database {
        self.recipe.database
    }

    /// Whether claims skip locked rows or wait for them.
    pub fn skips_locked(&self) -> bool {
        !self.recipe.without_skip_locked
    }

    pub fn now(&self) -> Timestamp {
        self.engine.clock.now()
    }

    /// Waits until the loops of due work and of delivery of a running node have found nothing to do and sleep; for beds with
    /// `wall_clock` and a poll that is hours away.
    ///
    /// # Panics
    /// Where the bed has a clock that stands still, or the loops continue for ever.
    pub async fn until_idle(&self) {
        let Some(wall) = &self.recipe.wall else { panic!("nobody sleeps by a clock that stands still") };
        crate::signal("loops that have nothing to do", wall.until_idle(2)).await;
    }

    /// The instant that lies so many seconds from now.
    pub fn after(&self, seconds: i64) -> Timestamp {
        self.now() + SignedDuration::from_secs(seconds)
    }

    /// Moves the clock and runs nothing.
    pub fn wait(&self, seconds: i64) {
        self.clock.set(self.after(seconds));
    }

    /// Runs what is ready now until nothing is.
    ///
    /// # Panics
    /// When a pass fails.
    pub async fn tick(&self) -> PassReport {
        self.engine.run_ready(self.now()).await.unwrap_or_else(|error| panic!("a pass failed: {error:?}"))
    }

    /// Moves the clock by so many seconds and runs everything that becomes ready on the way.
    pub async fn run_for(&self, seconds: i64) -> AdvanceReport {
        self.run_until(self.after(seconds)).await
    }

    /// Moves the clock to this instant, such as `2026-05-14T06:00:00Z`, and runs everything on the way.
    ///
    /// # Panics
    /// When the text is no instant.
    pub async fn run_to(&self, instant: &str) -> AdvanceReport {
        self.run_until(instant.parse().unwrap_or_else(|error| panic!("{instant}: {error}"))).await
    }

    async fn run_until(&self, until: Timestamp) -> AdvanceReport {
        let advanced = self.engine.advance(&self.clock, until).await;
        advanced.unwrap_or_else(|error| panic!("the clock could not be moved: {error:?}"))
    }

    /// What the memory channels were given, oldest first.
    pub fn sent(&self) -> Vec<Arc<Sent>> {
        self.captured.sent()
    }

    /// Who was sent something, in order.
    pub fn sent_to(&self) -> Vec<String> {
        self.captured.sent().iter().map(|sent| sent.address.clone()).collect()
    }

    /// Says that this test leaves rows open, and why.
    pub fn leaves_open(&self, why: &str) {
        *self.leaves_open.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }

    /// The end of a test: nothing may be pending or under way unless the test said so. Held and parked rows wait for
    /// a person and are no loose ends.
    ///
    /// # Panics
    /// When rows are open.
    pub async fn finish(&self) {
        let said = self.leaves_open.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let open = self.open_rows().await;
        match said {
            None => {
                assert!(open.is_empty(), "the test leaves rows open without saying so: {}", open.join(", "))
            }
            Some(why) => {
                assert!(!open.is_empty(), "the test says that it leaves rows open ({why}) and does not")
            }
        }
    }

    /// The end of a test of the engine: every row that is parked, on hold, failed or in doubt has a warning with its id.
    ///
    /// # Panics
    /// When one was not logged.
    pub(crate) async fn is_logged(&self) {
        if !self.changes_rows_itself.load(Ordering::Relaxed) {
            let unlogged = self.unlogged().await;
            assert!(
                unlogged.is_empty(),
                "these wait for a person and were not logged: {}",
                unlogged.join(", ")
            );
        }
    }

    /// The end of a test of the engine: every row that was stopped or ended other than by its routine has its entry in the audit.
    ///
    /// # Panics
    /// When one has none.
    pub(crate) async fn is_audited(&self) {
        if !self.changes_rows_itself.load(Ordering::Relaxed) {
            let missing = self.unaudited().await;
            assert!(missing.is_empty(), "these are not in the audit: {}", missing.join("; "));
        }
    }
}

/// A machine that runs many tests at once may take seconds to open a connection; tests of deadlines set their own.
fn patient() -> Deadlines {
    let long = Duration::from_secs(60);
    Deadlines {
        statement: long,
        read: long,
        acquire: long,
        connect: long,
        ping: long,
        ..Deadlines::default()
    }
}

async fn open_store(recipe: &Recipe, place: &Place) -> (Store, Faults) {
    let faults = Faults::default();
    let options = StoreOptions {
        connections: recipe.connections,
        // What the throw-away server does with its disk is not what is tested here.
        accept_weak_durability: true,
        without_skip_locked: recipe.without_skip_locked,
        notifies_nodes: recipe.notifies_nodes,
        faults: faults.clone(),
        deadlines: patient(),
        ..StoreOptions::new(place.url())
    };
    let store = Store::open(options, recipe.clock.now()).await;
    (store.unwrap_or_else(|error| panic!("the store does not open: {error:?}")), faults)
}

fn engine(recipe: &Recipe, store: &Store, random: &Arc<Seeded>, node: &str) -> Engine {
    let mut config = recipe.config.clone();
    config.node = node.to_owned();
    // From its own random source, so that a test's other numbers stay what they were.
    let key = |number: &u64| MasterKey::new(&Seeded::new(*number));
    let keys = FixedKeys { keys: recipe.master_keys.iter().map(key).collect(), place: "the test" };
    let vault = Vault::open(Arc::new(keys), Arc::new(Seeded::new(recipe.seed)))
        .unwrap_or_else(|error| panic!("no vault: {error}"));
    let setup = Setup {
        vault: Arc::new(vault),
        store: store.clone(),
        blobs: recipe.blobs.clone(),
        clock: match &recipe.wall {
            Some(wall) => Arc::new(wall.clone()),
            None => recipe.clock.clone(),
        },
        random: random.clone(),
        config,
        workflows: recipe.workflows.clone(),
        adapters: recipe.adapters.clone(),
        consumer_adapters: recipe.consumer_adapters.clone(),
        capture: None,
        listeners: recipe.listeners.clone(),
    };
    Engine::new(setup).unwrap_or_else(|error| panic!("no engine: {error}"))
}
