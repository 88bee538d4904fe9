//! Providers: a program that embeds Punctual adds its own, and nothing else has to be changed; and messages at once.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::{ApiState, router};
use punctual_engine::keys::ensure_admin_key;
use punctual_model::{Audience, Clock, Fault, ManualClock, ReasonCode, Trigger, WorkKey};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reminders::providers::{
    Candidate, Case, Parts, Providers, RecipientProvider, ScanBounds, TriggerProvider, TriggerRule, Wanted,
};
use serde_json::{Value, json};

use crate::{
    client::{ADMIN, Client, Reply},
    reminders::{first_aid, put_source, rows, setting, unit},
};

on_both! {
    a_trigger_and_recipients_of_one_s_own_work_like_those_that_ship;
    a_source_put_for_the_first_time_is_sent_at_once;
}

/// On the day of a full moon, which the source itself knows.
struct FullMoon;

impl TriggerProvider for FullMoon {
    fn kind(&self) -> &'static str {
        "fullMoon"
    }

    fn trigger(&self) -> Trigger {
        Trigger::DateBased
    }

    fn rule(&self, definition: &Value, _base: Option<&Value>) -> Result<Arc<dyn TriggerRule>, Vec<Fault>> {
        match definition.pointer("/custom/hour").and_then(Value::as_i64) {
            Some(hour) => Ok(Arc::new(AtHour(hour))),
            None => Err(vec![Fault::new("/custom/hour", "missing_field", "`hour` is missing.")]),
        }
    }

    fn bounds(&self) -> ScanBounds {
        ScanBounds {
            active_only: true,
            changed_since: true,
            window_days: Some(30),
            business_units: Some(Vec::new()),
            batch: Some(10),
            cursor: true,
        }
    }
}

struct AtHour(i64);

impl TriggerRule for AtHour {
    fn wanted(&self, case: &Case<'_>, _at: Timestamp) -> Wanted {
        let Some(day) = case.source.state["moon"].as_str().and_then(|text| text.parse().ok()) else {
            return Wanted::nothing(ReasonCode::DateMissing);
        };
        let (setting, row) = (case.setting, &case.source.row);
        let key =
            WorkKey::reminder_date(&setting.id, &row.source_type, &row.source_id, "moon", day, 0).unwrap();
        let hour = i8::try_from(self.0).unwrap_or(0);
        let due = day.at(hour, 0, 0, 0).to_zoned(case.zone.zone.clone()).unwrap();
        let candidate = Candidate {
            key,
            formerly: None,
            due_at: due.timestamp(),
            local_date: day,
            about: Some(day),
            at_once: false,
            trigger: None,
            adjusted: None,
            fault: None,
        };
        Wanted { candidates: vec![candidate], ..Wanted::default() }
    }

    fn identity(&self) -> String {
        self.0.to_string()
    }
}

struct OnCall;

impl RecipientProvider for OnCall {
    fn name(&self) -> &'static str {
        "onCall"
    }

    fn resolve(&self, spec: &Value, _case: &Case<'_>, _parts: &Parts<'_>) -> Result<Audience, ReasonCode> {
        let plant = spec.as_str().ok_or(ReasonCode::NoRecipients)?;
        Ok(Audience::Targets(vec![format!("{plant}@b.example")]))
    }
}

async fn a_trigger_and_recipients_of_one_s_own_work_like_those_that_ship(bed: TestBed) {
    let mut providers = Providers::built_in();
    providers.triggers.add("fullMoon", Arc::new(FullMoon)).unwrap();
    providers.recipients.add("onCall", Arc::new(OnCall)).unwrap();
    assert_eq!(providers.check_bounds(), Ok(()));
    let providers = Arc::new(providers);
    let bed = bed.with(|bed| {
        bed.workflows(punctual_workflows::all_with(providers.clone(), Default::default(), Default::default()))
    });
    let wall = Arc::new(ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap()));
    ensure_admin_key(&bed.store, wall.now(), ADMIN).await.unwrap();
    let state = ApiState::with_reminders(bed.engine.clone(), wall.clone(), providers);
    let client = Client { wall, router: router(state), key: Some(ADMIN.to_owned()) };
    let body = |custom: Value| {
        first_aid(|body| {
            body["kind"] = json!("fullMoon");
            body["date"] = json!(null);
            body["filter"] = json!(null);
            body["custom"] = custom;
            body["recipients"] = json!({ "onCall": "plant-7" });
        })
    };
    let refused =
        client.post("/api/v1/reminder-settings", body(json!({}))).await.refused(422, "missing_field");
    assert_eq!(Reply::pointers(&refused), ["/custom/hour"]);
    setting(&client, body(json!({ "hour": 21 }))).await;
    assert_eq!(
        put_source(&client, "document/1", json!({ "state": { "moon": "2026-05-31" } })).await["created"],
        1
    );
    assert_eq!(put_source(&client, "document/2", json!({ "state": {} })).await["created"], 0);
    bed.run_to("2026-06-02T00:00:00Z").await;
    let sent = bed.sent();
    assert_eq!(
        (sent[0].address.as_str(), sent[0].at.to_string()),
        ("plant-7@b.example", "2026-05-31T21:00:00Z".into())
    );
    assert_eq!(sent.len(), 1);
}

async fn a_source_put_for_the_first_time_is_sent_at_once(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let state =
        |kind: &str| json!({ "businessUnit": "nz", "state": { "kind": kind, "expiresOn": "2026-06-20" } });
    put_source(&client, "document/old", state("first-aid")).await;
    setting(
        &client,
        first_aid(|body| {
            body["immediate"] = json!(true);
            body["date"]["offsetsDays"] = json!([1]);
        }),
    )
    .await;
    client.advance("1m").await;
    assert!(bed.sent().is_empty(), "a setting says nothing of what was there before it");
    assert_eq!(put_source(&client, "document/new", state("first-aid")).await["created"], 2);
    // Another event before it is sent takes nothing back, and repeats nothing.
    assert_eq!(put_source(&client, "document/new", state("first-aid")).await["created"], 0);
    put_source(&client, "document/other", state("police-vetting")).await;
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 1);
    let shown = client.get("/api/v1/notifications?type=immediate").await.expect(200);
    assert_eq!(shown["items"].as_array().unwrap().len(), 1, "apart from reminders");
    let found = rows(&client, "&sourceType=document&sourceId=new").await;
    assert!(
        found.iter().any(|(key, status, _)| key.ends_with(":threshold:immediate:true:OncePerSource:all")
            && status == "completed"),
        "{found:?}"
    );
    put_source(&client, "document/new", state("first-aid")).await;
    client.advance("60d").await;
    assert_eq!(bed.sent().len(), 3, "and both are reminded of");
}
