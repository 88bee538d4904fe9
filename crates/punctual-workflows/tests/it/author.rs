//! Whoever writes reminder settings and reports sources, by the commands that the API and the console run.

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_engine::{
    Actor, CommandError, Event, EventSinks, OwnUnit,
    events::{EventTaken, IncomingEvent, SOURCE_CHANGED, SOURCE_DELETED, Touched},
    operate::WorkAction,
};
use punctual_model::{Reach, WorkStatus, durations};
use punctual_store::{
    reminders::settings::{self, SettingRow},
    sources::SourceChange,
    work::{self, WorkFilter},
};
use punctual_testkit::TestBed;
use punctual_workflows::{
    business_units::{self, NewUnit},
    reminders::{
        Providers, ReminderSink,
        commands::{Draft, merged, remove},
        evaluate::Plan,
        looks::{self, Look},
    },
};
use serde_json::{Value, json};

/// Somebody who may do everything, on one bed.
#[derive(Clone)]
pub struct Author {
    pub bed: TestBed,
    pub providers: Arc<Providers>,
    sinks: Arc<EventSinks>,
    by: Actor,
}

impl Author {
    /// With the unit that the tests of reminders speak of: `nz`, in Auckland.
    pub async fn in_auckland(bed: &TestBed) -> Self {
        let author = Self::new(bed);
        author.unit("nz", "Pacific/Auckland").await;
        author
    }

    pub fn new(bed: &TestBed) -> Self {
        Self::with(bed, Arc::new(Providers::built_in()))
    }

    /// On a bed whose workflows have these providers.
    pub fn with(bed: &TestBed, providers: Arc<Providers>) -> Self {
        let mut sinks = EventSinks::default();
        sinks.add(Arc::new(ReminderSink::new(providers.clone())));
        Self { bed: bed.clone(), providers, sinks: Arc::new(sinks), by: Actor::key("author", None) }
    }

    /// Defines a business unit, or moves it to another zone.
    pub async fn unit(&self, id: &str, zone: &str) {
        let (id, name, time_zone) = (id.to_owned(), id.to_owned(), zone.to_owned());
        let new = NewUnit { id, name, time_zone, quota: None };
        business_units::save(&self.bed.engine, &self.providers, &self.by, new).await.unwrap();
    }

    /// Makes a setting; returns its id.
    pub async fn setting(&self, definition: Value) -> String {
        let id = self.bed.engine.random.ordered_uuid(self.bed.now()).to_string();
        let draft = self.draft(id, None, &definition).await;
        draft.save(&self.bed.engine, &self.providers, &self.by).await.unwrap()
    }

    /// What a new setting would do.
    pub async fn plan_new(&self, definition: Value) -> Plan {
        let draft = self.draft("new".to_owned(), None, &definition).await;
        draft.plan(&self.bed.engine, &self.providers).await.unwrap()
    }

    async fn draft(&self, id: String, before: Option<SettingRow>, definition: &Value) -> Draft {
        Draft::read(&self.bed.engine, &self.providers, &self.by, id, before, definition).await.unwrap()
    }

    async fn changed(&self, id: &str, change: &Value) -> Draft {
        let before = self.stored(id).await;
        let definition = merged(&before, change).unwrap();
        self.draft(id.to_owned(), Some(before), &definition).await
    }

    pub async fn stored(&self, id: &str) -> SettingRow {
        let mut reader = self.bed.read().await;
        let rows = settings::by_ids(&mut reader.conn(), &Reach::Everything, vec![id.to_owned()]).await;
        rows.unwrap().remove(0)
    }

    /// What replacing these fields of a setting would do.
    pub async fn plan(&self, id: &str, change: Value) -> Plan {
        self.changed(id, &change).await.plan(&self.bed.engine, &self.providers).await.unwrap()
    }

    /// Replaces some fields of a setting.
    pub async fn change(&self, id: &str, change: Value) {
        self.try_to_change(id, change).await.unwrap();
    }

    /// The same, which somebody else may have done meanwhile.
    pub async fn try_to_change(&self, id: &str, change: Value) -> Result<String, CommandError> {
        self.changed(id, &change).await.save(&self.bed.engine, &self.providers, &self.by).await
    }

    /// Makes a provider of triggers look at its sources now.
    pub async fn look_now(&self, provider: &str) {
        self.try_to_look(provider).await.unwrap();
    }

    pub async fn try_to_look(&self, provider: &str) -> Result<i64, CommandError> {
        looks::look_now(&self.bed.engine, &self.providers, &self.by, provider).await
    }

    /// How many sources a look would check, and what it would do.
    pub async fn look_would_do(&self, provider: &str) -> (u64, Plan) {
        looks::would_do(&self.bed.engine, &self.providers, provider).await.unwrap().unwrap()
    }

    /// How far a provider has looked.
    pub async fn looked(&self, provider: &str) -> Look {
        let all = looks::all(&mut self.bed.read().await.conn(), &self.providers).await.unwrap();
        all.into_iter().find(|look| look.provider == provider).unwrap()
    }

    pub async fn remove(&self, id: &str) {
        let before = self.stored(id).await;
        remove(&self.bed.engine, &self.providers, &self.by, before).await.unwrap();
    }

    /// Reports sources as `(type/id, what is said of it)`; returns what became of the work of each.
    pub async fn report_all(&self, sources: &[(String, Value)]) -> Vec<Touched> {
        let incoming: Vec<IncomingEvent> =
            sources.iter().map(|(place, body)| self.incoming(SOURCE_CHANGED, place, body)).collect();
        let mut touched = Vec::with_capacity(incoming.len());
        for chunk in incoming.chunks(500) {
            let taken = self.bed.engine.take_events(&self.sinks, chunk).await.unwrap();
            touched.extend(taken.into_iter().map(|taken| match taken {
                EventTaken::Accepted { touched, .. } => touched,
                EventTaken::Stale => Touched::default(),
                EventTaken::NotYours => panic!("an author without a limit reaches every source"),
            }));
        }
        touched
    }

    /// Reports one; returns how many rows were `[created, updated, deactivated, unchanged]`.
    pub async fn report(&self, place: &str, body: Value) -> [u64; 4] {
        let touched = self.report_all(&[(place.to_owned(), body)]).await.remove(0);
        [touched.created, touched.updated, touched.deactivated, touched.unchanged]
    }

    /// Reports that a source is gone.
    pub async fn report_gone(&self, place: &str) {
        let gone = self.incoming(SOURCE_DELETED, place, &json!({ "active": false, "state": {} }));
        let taken = self.bed.engine.take_events(&self.sinks, &[gone]).await.unwrap();
        assert!(matches!(taken[0], EventTaken::Accepted { .. }), "{taken:?}");
    }

    fn incoming(&self, kind: &str, place: &str, body: &Value) -> IncomingEvent {
        let (source_type, source_id) = place.split_once('/').unwrap();
        let occurred_at = body["occurredAt"].as_str().map_or(self.bed.now(), |at| at.parse().unwrap());
        let change = SourceChange {
            source_type: source_type.to_owned(),
            source_id: source_id.to_owned(),
            business_unit: None,
            active: body["active"].as_bool().unwrap_or(true),
            deleted: kind == SOURCE_DELETED,
            state: body["state"].to_string(),
            sequence: body["sequence"].as_i64(),
            occurred_at,
        };
        let event = Event {
            id: self.bed.engine.random.ordered_uuid(self.bed.now()).to_string(),
            source: "/test".to_owned(),
            kind: kind.to_owned(),
            subject: Some(place.to_owned()),
            sequence: change.sequence,
            time: occurred_at,
            data: body.clone(),
            business_units: None,
        };
        let unit = body["businessUnit"].as_str().map(str::to_owned);
        IncomingEvent::of_source(event, OwnUnit::stored(unit), change)
    }

    /// Moves the clock by `40d` and runs what becomes ready on the way.
    pub async fn advance(&self, by: &str) {
        let by = SignedDuration::try_from(durations::parse(by).unwrap()).unwrap();
        self.bed.run_for(by.as_secs()).await;
    }

    /// `(key, status, reason)` of reminders, by key; of those with a status, or of one source.
    pub async fn rows(&self, which: Which<'_>) -> Vec<(String, String, String)> {
        let mut filter =
            WorkFilter { kind: Some("reminder".to_owned()), limit: 5_000, ..WorkFilter::default() };
        match which {
            Which::All => {}
            Which::Status(status) => filter.status = Some(status),
            Which::Source(kind, id) => {
                filter.source_type = Some(kind.to_owned());
                filter.source_id = Some(id.to_owned());
            }
        }
        let mut reader = self.bed.read().await;
        let found = work::page(&mut reader.conn(), &Reach::Everything, &filter).await.unwrap();
        let row = |row: work::WorkRow| {
            (row.key.to_string(), row.status.as_str().to_owned(), row.reason_code.unwrap_or_default())
        };
        let mut rows: Vec<_> = found.rows.into_iter().map(row).collect();
        rows.sort();
        rows
    }

    /// How many rows somebody sees who is limited to a unit.
    pub async fn seen_in(&self, unit: &str) -> usize {
        let filter = WorkFilter { limit: 5_000, ..WorkFilter::default() };
        let reach = Reach::Units(vec![unit.to_owned()]);
        let mut reader = self.bed.read().await;
        work::page(&mut reader.conn(), &reach, &filter).await.unwrap().rows.len()
    }

    /// What an operator does to a row.
    pub async fn act(&self, action: WorkAction, id: i64) {
        self.bed.engine.act_on_work(&self.by, action, id, None).await.unwrap();
    }

    /// The keys of all reminders.
    pub async fn keys(&self) -> Vec<String> {
        self.rows(Which::All).await.into_iter().map(|(key, ..)| key).collect()
    }
}

/// Which rows are read.
pub enum Which<'a> {
    All,
    Status(WorkStatus),
    Source(&'a str, &'a str),
}

/// A setting for first-aid documents; `change` adjusts it.
pub fn first_aid(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({ "name": "First aid", "sourceType": "document", "triggerKey": "first-aid-expiry",
        "kind": "dateBased", "date": { "field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00" },
        "filter": { "questionId": "state.kind", "op": "==", "value": "first-aid" },
        "recipients": { "addresses": ["a@b.example"] }, "delivery": { "channel": "email:default" } });
    change(&mut body);
    body
}

/// A first-aid document of `nz`.
pub fn document(expires_on: &str) -> Value {
    json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": expires_on, "email": "own@b.example" } })
}

pub fn sent_at(bed: &TestBed) -> Vec<String> {
    bed.sent().iter().map(|sent| sent.at.to_string()).collect()
}
