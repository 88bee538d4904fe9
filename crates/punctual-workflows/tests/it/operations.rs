//! Events and tasks that announce their own start and end.

mod arrival;
mod beyond_dates;
mod duplicates;
mod lifecycle;
mod logs;
mod rig;
mod scheduling;
mod smtp;

use jiff::Timestamp;
use punctual_engine::Actor;
use punctual_model::{Random, Reach};
use punctual_store::operations::{
    organisations::OrganisationRow,
    people::{self, PersonRow},
    rules::{self, RuleRow},
    subjects::SubjectRow,
};
use punctual_testkit::TestBed;
use punctual_workflows::operations::{
    SubjectType,
    commands::{self, Changed, NewSubject},
    directory,
};
use serde_json::json;

/// A person who is notified by e-mail.
async fn person(bed: &TestBed, id: &str) {
    put_person(bed, id, Some(&format!("{id}@example.org")), &["email"], json!({})).await;
}

async fn put_person(
    bed: &TestBed,
    id: &str,
    email: Option<&str>,
    channels: &[&str],
    addresses: serde_json::Value,
) {
    let row = PersonRow {
        id: id.into(),
        name: id.into(),
        email: email.map(str::to_owned),
        time_zone: None,
        locale: None,
        channels: json!(channels).to_string(),
        addresses: addresses.to_string(),
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    people::put(&mut tx.conn(), bed.now(), &Reach::Everything, &row).await.unwrap();
    tx.commit().await.unwrap();
}

async fn put_organisation(bed: &TestBed, row: &OrganisationRow) {
    directory::put_organisation(&bed.engine, &Actor::named("test"), row).await.unwrap();
}

fn organisation(id: &str) -> OrganisationRow {
    OrganisationRow {
        id: id.into(),
        name: id.into(),
        time_zone: None,
        all_day_at: None,
        rules: None,
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

/// An event of Ann with these dates, not stored yet.
fn event(bed: &TestBed, start_at: Option<Timestamp>, end_at: Option<Timestamp>) -> NewSubject {
    NewSubject {
        id: bed.random.ordered_uuid(bed.now()).to_string(),
        subject_type: SubjectType::Event,
        title: "Stand-up".into(),
        start_at,
        end_at,
        is_all_day: false,
        creator: "ann".into(),
        people: Vec::new(),
        organisation: None,
        time_zone: None,
        business_unit: punctual_engine::OwnUnit::default(),
        ical_uid: None,
        ical_series: None,
        location: None,
        description: None,
    }
}

async fn create(bed: &TestBed, new: &NewSubject) -> String {
    commands::create(&bed.engine, &Actor::named("test"), std::slice::from_ref(new)).await.unwrap();
    new.id.clone()
}

/// An event of Ann, who is there, that starts after so many seconds.
async fn starting_in(bed: &TestBed, seconds: i64) -> String {
    person(bed, "ann").await;
    create(bed, &event(bed, Some(bed.after(seconds)), None)).await
}

async fn change(bed: &TestBed, id: &str, change: impl FnOnce(&mut SubjectRow)) {
    let by = Actor::named("test");
    let changed = commands::update::<()>(&bed.engine, &by, id, |before| {
        let mut after = before.clone();
        change(&mut after);
        Ok(after)
    });
    assert!(matches!(changed.await.unwrap(), Changed::Done(_)));
}

async fn start_at(bed: &TestBed, id: &str, at: Option<Timestamp>) {
    change(bed, id, |row| row.start_at = at).await;
}

async fn delete(bed: &TestBed, id: &str) {
    assert!(commands::delete(&bed.engine, &Actor::named("test"), id, |_| true).await.unwrap());
}

/// The rules of a subject that are not deleted.
async fn rules_of(bed: &TestBed, id: &str) -> Vec<RuleRow> {
    rules::of_subjects(&mut bed.read().await.conn(), &Reach::Everything, vec![id.to_owned()]).await.unwrap()
}

async fn rule(bed: &TestBed, id: &str) -> RuleRow {
    rules::by_ids(&mut bed.read().await.conn(), &Reach::Everything, vec![id.to_owned()])
        .await
        .unwrap()
        .remove(0)
}

/// The one rule of a subject.
async fn only_rule(bed: &TestBed, id: &str) -> RuleRow {
    let mut own = rules_of(bed, id).await;
    assert_eq!(own.len(), 1);
    own.remove(0)
}

/// The key of what a rule has scheduled.
fn key_of(rule: &RuleRow) -> String {
    format!("operations:{}:{}", rule.id, rule.occurrence.as_deref().unwrap_or_default())
}
