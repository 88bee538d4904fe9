//! Commands of the workflows: what is refused leaves nothing behind, and what is done stands in the audit with it.

use jiff::Timestamp;
use punctual_engine::{Actor, CommandError};
use punctual_model::{Reach, WorkKey};
use punctual_store::{
    operations::{feeds as stored_feeds, people::PersonRow},
    reminders::settings::{self, SettingRow},
};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::{
    business_units::{self, NewUnit},
    operations::{directory, feeds},
    reminders::{
        Providers,
        commands::{Draft, remove},
    },
    reports::ownership::{self, Report, Reported},
    rollout::Owner,
    subscribers::{self, NewSubscriber},
};
use serde_json::{Value, json};

on_both! {
    a_setting_that_somebody_else_changed_is_not_written;
    a_removed_setting_is_audited_with_the_reason;
    another_units_person_is_not_there;
    the_calendar_of_another_unit_gets_no_link;
    a_subscriber_to_an_unknown_event_is_refused;
    a_unit_is_saved_by_whoever_it_belongs_to;
    a_run_that_nobody_took_is_not_reported_on;
}

fn ann() -> Actor {
    Actor::key("ann", None)
}

fn of_unit(unit: &str) -> Actor {
    Actor::key("limited", Some(vec![unit.to_owned()]))
}

fn definition(name: &str) -> Value {
    json!({ "name": name, "sourceType": "document", "triggerKey": "expiry", "kind": "dateBased",
        "date": { "field": "/expiresOn", "offsetsDays": [7], "sendTime": "09:00" },
        "recipients": { "addresses": ["a@example.org"] }, "delivery": { "channel": "email:default" } })
}

async fn draft(bed: &TestBed, before: Option<SettingRow>, name: &str) -> Draft {
    let providers = Providers::built_in();
    let read = Draft::read(&bed.engine, &providers, &ann(), "s".to_owned(), before, &definition(name)).await;
    read.unwrap()
}

async fn stored(bed: &TestBed) -> SettingRow {
    let mut reader = bed.store.read().await.unwrap();
    settings::by_ids(&mut reader.conn(), &Reach::Everything, vec!["s".to_owned()]).await.unwrap().remove(0)
}

async fn a_setting_that_somebody_else_changed_is_not_written(bed: TestBed) {
    let providers = Providers::built_in();
    draft(&bed, None, "first").await.save(&bed.engine, &providers, &ann()).await.unwrap();
    let seen = stored(&bed).await;
    draft(&bed, Some(seen.clone()), "second").await.save(&bed.engine, &providers, &ann()).await.unwrap();
    let late = draft(&bed, Some(seen.clone()), "third").await;
    let refused = late.save(&bed.engine, &providers, &ann().because(Some("typo"))).await;
    assert!(matches!(refused, Err(CommandError::Stale)), "{refused:?}");
    let refused = remove(&bed.engine, &providers, &ann(), seen).await;
    assert!(matches!(refused, Err(CommandError::Stale)), "{refused:?}");
    assert_eq!(stored(&bed).await.name, "second");
    assert_eq!(bed.audit("reminder-setting", "s").await, ["create", "change"]);
}

async fn a_removed_setting_is_audited_with_the_reason(bed: TestBed) {
    let providers = Providers::built_in();
    draft(&bed, None, "first").await.save(&bed.engine, &providers, &ann()).await.unwrap();
    let by = ann().because(Some("the law has changed"));
    // The two entries are one statement: where it fails, the setting stays.
    bed.faults.fail("audit.append", false, 1);
    assert!(remove(&bed.engine, &providers, &by, stored(&bed).await).await.is_err());
    assert!(!stored(&bed).await.deleted);
    remove(&bed.engine, &providers, &by, stored(&bed).await).await.unwrap();
    assert!(stored(&bed).await.deleted);
    assert_eq!(bed.audit("reminder-setting", "s").await, ["create", "delete", "note:the law has changed"]);
}

fn person(unit: &str) -> PersonRow {
    PersonRow {
        id: "ben".to_owned(),
        name: "Ben".to_owned(),
        email: None,
        time_zone: None,
        locale: None,
        channels: "[]".to_owned(),
        addresses: "{}".to_owned(),
        business_unit: Some(unit.to_owned()),
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

async fn another_units_person_is_not_there(bed: TestBed) {
    bed.has_unit("nz").await;
    bed.has_unit("au").await;
    directory::put_person(&bed.engine, &of_unit("nz"), &person("nz")).await.unwrap();
    let refused = directory::put_person(&bed.engine, &of_unit("au"), &person("au")).await;
    assert!(matches!(refused, Err(CommandError::IdReused { .. })), "{refused:?}");
    let refused = directory::remove_person(&bed.engine, &of_unit("au"), "ben").await;
    assert!(matches!(refused, Err(CommandError::NotFound { what: "person", .. })), "{refused:?}");
    assert_eq!(bed.audit("person", "ben").await, ["put"]);
}

async fn the_calendar_of_another_unit_gets_no_link(bed: TestBed) {
    bed.has_unit("nz").await;
    directory::put_person(&bed.engine, &of_unit("nz"), &person("nz")).await.unwrap();
    let ben = feeds::Owner::Person("ben".to_owned());
    let refused = feeds::make(&bed.engine, &of_unit("au"), &ben).await;
    assert!(matches!(refused, Err(CommandError::NotFound { what: "person", .. })), "{refused:?}");
    let mut reader = bed.store.read().await.unwrap();
    assert!(stored_feeds::of(&mut reader.conn(), "person", "ben").await.unwrap().is_none());
    drop(reader);
    let (_, secret) = feeds::make(&bed.engine, &of_unit("nz"), &ben).await.unwrap();
    assert!(feeds::calendar_of(&bed.engine, &secret).await.unwrap().is_some());
    feeds::end(&bed.engine, &of_unit("nz"), "person", "ben").await.unwrap();
    assert!(feeds::calendar_of(&bed.engine, &secret).await.unwrap().is_none());
    assert_eq!(bed.audit("feed", "ben").await, ["put", "delete"]);
}

async fn a_subscriber_to_an_unknown_event_is_refused(bed: TestBed) {
    let subscriber = |event: &str| NewSubscriber {
        key: "memory:bi".to_owned(),
        adapter: "memory".to_owned(),
        settings: json!({}),
        events: vec!["response-completed".to_owned(), event.to_owned()],
        filter: None,
        retry: None,
        active: true,
    };
    let refused = subscribers::save(&bed.engine, &ann(), subscriber("full-moon")).await;
    let Err(CommandError::Invalid(faults)) = refused else { panic!("not refused: {refused:?}") };
    assert_eq!(faults[0].pointer, "/events/1");
    assert!(bed.audit("subscriber", "memory:bi").await.is_empty());
    subscribers::save(&bed.engine, &ann(), subscriber("invoices.*")).await.unwrap();
    assert_eq!(bed.audit("subscriber", "memory:bi").await, ["put"]);
}

async fn a_unit_is_saved_by_whoever_it_belongs_to(bed: TestBed) {
    let providers = Providers::built_in();
    let unit = || NewUnit {
        id: "nz".to_owned(),
        name: "New Zealand".to_owned(),
        time_zone: "Pacific/Auckland".to_owned(),
        quota: None,
    };
    let refused = business_units::save(&bed.engine, &providers, &of_unit("au"), unit()).await;
    assert!(matches!(refused, Err(CommandError::NotFound { what: "business unit", .. })), "{refused:?}");
    assert!(bed.audit("business-unit", "nz").await.is_empty());
    business_units::save(&bed.engine, &providers, &of_unit("nz"), unit()).await.unwrap();
    assert_eq!(bed.audit("business-unit", "nz").await, ["put"]);
}

async fn a_run_that_nobody_took_is_not_reported_on(bed: TestBed) {
    let key = WorkKey::report_manual("0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "by-hand").unwrap();
    let key = key.as_str();
    let Some(run) = ownership::named(&bed.engine, &Actor::named("test"), key).await.unwrap() else {
        panic!("no key: {key}")
    };
    let report =
        Report { owner: Owner::OldScheduler, owner_version: None, is_cancelled: true, coordinates: None };
    let answer = ownership::report(&bed.engine, &ann(), &run, &report).await.unwrap();
    assert!(matches!(answer, Reported::NotTaken), "{answer:?}");
    assert!(bed.audit("run-ownership", key).await.is_empty());
}
