//! One node: store, engine, API and loops, put together from the configuration.

use std::sync::Arc;

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use punctual_api::{ApiState, Sandbox};
use punctual_channels::{Captured, Guard, MemoryAdapter, Trust, adapters, consumer_adapters};
use punctual_console::ConsoleState;
use punctual_engine::{
    Engine, EngineConfig, Listeners, PublicLimits, Running, Setup,
    channels::SUBSCRIBERS,
    commands::SignOns,
    references::{OldReference, OldReferences},
};
use punctual_model::{Adapter, Clock, ManualClock};
use punctual_reports::Sources;
use punctual_store::{Faults, StoreOptions, blobs::Blobs, private_folder};
use punctual_workflows::{
    event_intake::BrokerIntake,
    reminders::{Providers, reconcile, zones},
    reports::with_built_ins,
    surveys::{Catalogue, SurveyLink, Surveys},
};

use tokio_util::sync::CancellationToken;

use crate::{
    clock::{SystemClock, database::Keeper},
    config::{Config, Role},
    master_key, open,
    random::SystemRandom,
    secret_source::{self, SecretFiles},
    sign_on::SignOnOpener,
    telemetry::{self, Exporting},
};

pub struct Node {
    pub engine: Engine,
    pub reminders: Arc<Providers>,
    pub wall: Arc<SystemClock>,
    pub sandbox: Option<(Arc<ManualClock>, Arc<Captured>)>,
    /// Where reports come from.
    pub reports: Arc<Sources>,
    /// Where links to surveys lead, once that is known.
    pub survey_link: SurveyLink,
    /// What surveys are published, as this node has read it.
    pub catalogue: Arc<Catalogue>,
    /// What anybody may do without a key, over the API and the pages together.
    pub public: Arc<PublicLimits>,
    /// The single sign-on of people, where there is one.
    pub sign_on: Arc<SignOns>,
    /// The export of traces, where there is one.
    pub traces: Option<Exporting>,
}

/// How the engine's time runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// The system's.
    Real,
    /// It is until it is moved: the sandbox.
    Manual,
}

impl Node {
    /// Opens the database and puts the engine on it; nothing runs yet.
    pub async fn open(config: &Config, time: Time) -> Result<Self> {
        let wall = SystemClock::start_wrong_by(config.clock_wrong_by.clone()).context("no timer thread")?;
        let options = StoreOptions {
            accept_weak_durability: config.accept_weak_durability,
            listen_url: config.listen_url.as_ref().map(|url| url.expose().to_owned()),
            notifies_nodes: config.role == Role::Api,
            faults: config.crash_at.clone().map_or_else(Faults::default, Faults::crash_at),
            ..StoreOptions::new(config.database_url.expose())
        };
        private_folder(&config.data_dir)
            .with_context(|| format!("cannot make the data folder {}", config.data_dir.display()))?;
        let store = open::open(options, wall.as_ref(), |error| tracing::warn!("{error}")).await?;
        if time == Time::Real {
            let keeper = Keeper::start(&wall, &store, config.lease).await.context("no time to go by")?;
            tokio::spawn(keeper.run());
        }
        let vault = Arc::new(master_key::open(config, &store).await?);
        let settings = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let blobs = Blobs::open(&config.blobs, settings).await?;
        let captured = Captured::new();
        let guard = Guard::new(config.outgoing_allow.clone());
        let adapters = adapters(&guard, &Trust::platform(), &captured);
        let manual = (time == Time::Manual).then(|| Arc::new(ManualClock::new(wall.now())));
        let clock: Arc<dyn Clock> = match &manual {
            Some(manual) => manual.clone(),
            None => wall.clone(),
        };
        let capture =
            manual.is_some().then(|| Arc::new(MemoryAdapter::new(captured.clone())) as Arc<dyn Adapter>);
        let reminders = Arc::new(Providers {
            externals: config.externals.clone(),
            scans: config.scans.clone(),
            reconcile_every: SignedDuration::try_from(config.reconcile_every)?,
            ..Providers::built_in()
        });
        reminders.check_bounds()?;
        let (survey_link, catalogue) = (SurveyLink::default(), Arc::<Catalogue>::default());
        let surveys = Surveys::new(survey_link.clone(), catalogue.clone());
        let sources = Sources::new(&guard, &Trust::platform(), config.report_connections.clone())?;
        let reports = with_built_ins(sources);
        let engine = Engine::new(Setup {
            store,
            blobs,
            clock,
            random: Arc::new(SystemRandom),
            config: EngineConfig {
                node: config.node.clone(),
                lease: config.lease,
                renew_every: config.renew_every(),
                sweep_every: config.sweep_every,
                keep_for: config.keep_for,
                keep_files_for: config.keep_files_for,
                keep_work_for: config.keep_work_for,
                keep_surveys_for: config.keep_surveys_for,
                keep_ids_for: config.keep_ids_for,
                keep_audit_for: config.keep_audit_for,
                fixed_windows: config.fixed_windows.clone(),
                stuck_after: config.stuck_after,
                purges: time == Time::Real,
                ..EngineConfig::default()
            },
            workflows: punctual_workflows::all_with(reminders.clone(), surveys, reports.clone()),
            adapters,
            consumer_adapters: consumer_adapters(&guard, &Trust::platform()),
            capture,
            listeners: Listeners::default(),
            vault,
        })?;
        let traces = telemetry::start(config, &engine, wall.clone())?;
        engine
            .hold_restored(engine.clock.now())
            .await
            .context("what a restore left in doubt cannot be held")?;
        let secrets = SecretFiles::open(config)?;
        let secrets = Arc::new(secrets);
        let opener = SignOnOpener { secrets: secrets.clone(), guard: guard.clone() };
        let of_file = config.sign_on.as_ref().map(|wanted| opener.of_file(wanted));
        let of_file = of_file.transpose().context("[sign_on]")?.map(Arc::new);
        let sign_on = Arc::new(SignOns::new(of_file, Some(Arc::new(opener))));
        engine.channels.resolve_secrets_with(secrets);
        let sealed = engine.adopt_master_key(engine.clock.now()).await?;
        if sealed.channels > 0 {
            tracing::info!(
                channels = sealed.channels,
                "secrets that were stored in plain text are sealed now"
            );
        }
        let old = engine.adopt_references(wall.now(), &secret_source::node_name(config)).await?;
        log_old_references(&old);
        let sandbox = manual.map(|clock| (clock, captured));
        let public = Arc::default();
        Ok(Self {
            engine,
            reminders,
            wall,
            sandbox,
            reports,
            survey_link,
            catalogue,
            public,
            sign_on,
            traces,
        })
    }

    /// The API on this node. In the sandbox the clock is the API's to move; `flowing` says that it also runs by itself.
    pub fn api(&self, flowing: bool) -> ApiState {
        let mut state =
            ApiState::with_reminders(self.engine.clone(), self.wall.clone(), self.reminders.clone());
        state.reports = self.reports.clone();
        state.surveys = self.catalogue.clone();
        state.public = self.public.clone();
        state.sandbox = self.sandbox.as_ref().map(|(clock, captured)| Sandbox {
            clock: clock.clone(),
            captured: captured.clone(),
            flowing,
        });
        state
    }

    /// The console on this node; `stop` ends its live connections.
    pub fn console(&self, stop: CancellationToken) -> ConsoleState {
        ConsoleState {
            engine: self.engine.clone(),
            wall: self.wall.clone(),
            sandbox: self.sandbox.as_ref().map(|(clock, _)| clock.clone()),
            reports: self.reports.clone(),
            surveys: self.catalogue.clone(),
            public: self.public.clone(),
            sign_on: self.sign_on.clone(),
            stop,
        }
    }

    /// Logs every channel and subscriber that can send, and those that cannot, with why.
    pub async fn configure_channels(&self) -> Result<()> {
        let channels = &self.engine.channels;
        let mut reader = self.engine.store.read().await?;
        channels.refresh(&mut reader.conn(), self.engine.clock.now()).await?;
        let (subscribers, others): (Vec<String>, Vec<String>) =
            channels.keys().into_iter().partition(|key| key.starts_with(SUBSCRIBERS));
        let subscribers: Vec<&str> =
            subscribers.iter().filter_map(|key| key.strip_prefix(SUBSCRIBERS)).collect();
        tracing::info!(
            channels = others.join(" "),
            subscribers = subscribers.join(" "),
            "channels and subscribers that can send"
        );
        for (key, error) in channels.all_broken() {
            tracing::warn!(channel.key = key, error, "this channel cannot send");
        }
        Ok(())
    }

    /// Releases what a crash left and starts the loops.
    pub async fn start_working(&self) -> Result<Running> {
        self.engine.release_leases(self.engine.clock.now()).await?;
        self.engine.recover_batches(self.engine.clock.now()).await?;
        // In the sandbox a month runs in a second: what repairs missed events is asked for by hand there, and no real
        // events are taken from brokers.
        if self.sandbox.is_some() {
            return Ok(self.engine.run());
        }
        reconcile::start(&self.engine, &self.reminders).await?;
        zones::check(&self.engine).await?;
        let intake = BrokerIntake::new(self.engine.clone(), self.reminders.clone(), self.catalogue.clone());
        Ok(self.engine.run_with(Some(Arc::new(intake))))
    }

    /// Lets a manual clock run at the speed of the real one, on top of whatever it is set to.
    pub fn let_time_flow(&self) {
        let Some((manual, _)) = self.sandbox.clone() else { return };
        let wall = self.wall.clone();
        tokio::spawn(async move {
            let mut before = wall.now();
            loop {
                wall.sleep_until(before + FLOW_STEP).await;
                let now = wall.now();
                let moved: Timestamp = manual.now() + now.duration_since(before);
                manual.set(moved);
                before = now;
            }
        });
    }
}

/// Lists references of an earlier version with what to write instead.
fn log_old_references(old: &OldReferences) {
    if old.found.is_empty() {
        return;
    }
    let line = |one: &OldReference| {
        let OldReference { owner, field, stored, instead } = one;
        format!("{owner}, `{field}` is `{stored}`: {instead}")
    };
    let rename: Vec<String> = old.found.iter().map(line).collect();
    let rename = rename.join("; ");
    if old.work_in_this_run {
        tracing::warn!(
            rename,
            "these secret references are supported in this run for the last time; rename them, or after the next start their \
             messages are parked with `secret-missing`"
        );
    } else {
        tracing::warn!(rename, "these secret references are no longer supported; rename them");
    }
}

/// The grain of a flowing sandbox clock.
const FLOW_STEP: SignedDuration = SignedDuration::from_millis(20);
