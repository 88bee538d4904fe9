//! A person is found wherever they are stored, handed out, and erased: what is left names nobody and keeps every count.

use jiff::Timestamp;
use punctual_engine::{
    Actor, Handed,
    audit_chain::verify,
    commands::NewList,
    personal::{EraseOptions, Erasure, Person},
};
use punctual_model::{AttemptOutcome, NewNotification, Reach, delivery_policy::Preference};
use punctual_store::{
    operations::people::{self, PersonRow},
    personal::{Part, bucket, part},
    sources::{self, SourceChange},
    suppressions::SuppressionRow,
};
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use punctual_workflows::messages::{self, NewMessage};
use serde_json::json;

on_both! {
    an_erased_person_is_nowhere_and_what_happened_stays with all_workflows;
    a_plan_changes_nothing_and_names_nobody with all_workflows;
    what_is_stored_is_handed_out with all_workflows;
    other_recipients_keep_their_messages;
    whoever_is_limited_to_a_unit_erases_there;
    a_message_that_is_being_sent_is_left_for_the_next_run;
    an_address_is_found_by_the_index_once_rows_are_old with small_pieces;
    a_changed_message_is_found_at_its_new_recipient with small_pieces;
    people_of_operations_are_found_by_the_index_and_by_what_changed_since with small_pieces;
    a_person_is_found_with_all_addresses;
    suppressions_are_kept_where_that_is_wanted;
}

const ANN: &str = "ann@x.example";

fn all_workflows(bed: TestBedBuilder) -> TestBedBuilder {
    bed.workflows(punctual_workflows::all())
}

fn small_pieces(bed: TestBedBuilder) -> TestBedBuilder {
    all_workflows(bed).config(|config| config.index_piece = 3)
}

fn admin() -> Actor {
    Actor::named("key:admin")
}

fn ann() -> Person {
    Person::Address("Ann@X.example".to_owned())
}

fn count(erasure: &Erasure, kind: &str) -> i64 {
    erasure.found.iter().find(|count| count.kind == kind).map_or(0, |count| count.rows)
}

async fn erase(bed: &TestBed) -> Erasure {
    bed.engine.erase_person(&admin(), &ann(), EraseOptions::default()).await.unwrap()
}

fn to(bed: &TestBed, targets: &[&str], subject: &str) -> NewNotification {
    NewNotification { subject: subject.to_owned(), ..bed.message_over("email:default", targets) }
}

async fn suppress(bed: &TestBed, address: &str) {
    let row = SuppressionRow {
        channel_type: "email".into(),
        address: address.into(),
        reason: "manual".into(),
        source: "key:test".into(),
        detail: None,
        since: bed.now(),
        expires_at: None,
    };
    bed.engine.suppress(&admin(), &row).await.unwrap();
}

async fn source(bed: &TestBed, id: &str, unit: Option<&str>, email: &str) {
    let mut tx = bed.begin().await;
    let change = SourceChange {
        source_type: "document".into(),
        source_id: id.into(),
        business_unit: unit.map(str::to_owned),
        active: true,
        deleted: false,
        state: json!({ "owner": { "email": email }, "kind": "first-aid" }).to_string(),
        sequence: None,
        occurred_at: bed.now(),
    };
    sources::put(&mut tx.conn(), bed.now(), &Reach::Everything, &[change]).await.unwrap();
    tx.commit().await.unwrap();
}

async fn person(bed: &TestBed, id: &str, email: &str, addresses: &str) {
    let mut tx = bed.begin().await;
    let row = PersonRow {
        id: id.into(),
        name: "Ann Miller".into(),
        email: Some(email.into()),
        time_zone: None,
        locale: None,
        channels: "[]".into(),
        addresses: addresses.into(),
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    people::put(&mut tx.conn(), bed.now(), &Reach::Everything, &row).await.unwrap();
    tx.commit().await.unwrap();
}

async fn message_at(bed: &TestBed, id: &str, seconds: i64, targets: &[&str]) {
    let content = Handed::stored(to(bed, targets, "Secret plan for Ann Miller"));
    let new = NewMessage { id: id.into(), send_at: bed.after(seconds), revive: false, content };
    messages::send_at(&bed.engine, &admin(), &[new]).await.unwrap();
}

/// Ann in every table that people fill.
async fn everywhere(bed: &TestBed) -> Vec<String> {
    bed.list("ops", "email:default", &[ANN, "bob@x.example"]).await;
    let alone = bed.accept_one(to(bed, &[ANN], "Your result, Ann Miller")).await;
    let several = bed.accept_one(to(bed, &["bob@x.example", "ANN@x.example"], "For both")).await;
    let listed = bed.accept_one(bed.message_to_list("ops")).await;
    bed.tick().await;
    suppress(bed, ANN).await;
    bed.engine.unsuppress(&admin(), "email", ANN).await.unwrap();
    suppress(bed, ANN).await;
    let skipped = bed.accept_one(to(bed, &["bob@x.example", ANN], "After")).await;
    bed.tick().await;
    source(bed, "42", None, ANN).await;
    person(bed, "p-1", ANN, "{}").await;
    let wanted = |preference: &mut Preference| preference.daily_cap = Some(3);
    bed.engine.change_preference(&admin(), ANN, wanted).await.unwrap();
    message_at(bed, "later", 3_600, &[ANN]).await;
    vec![alone, several, listed, skipped]
}

async fn an_erased_person_is_nowhere_and_what_happened_stays(bed: TestBed) {
    let ids = everywhere(&bed).await;
    assert!(!bed.columns_with(ANN).await.is_empty());
    let before = bed.notifications().await;
    let erased = erase(&bed).await;
    assert_eq!(bed.columns_with(ANN).await, Vec::<String>::new(), "{erased:?}");
    assert_eq!(bed.columns_with("Ann Miller").await, Vec::<String>::new());
    assert_eq!(erased.status.as_str(), "done", "{:?}", erased.certificate);
    for (kind, rows) in [
        ("notifications", 4),
        ("messages", 1),
        ("lists", 1),
        ("sources", 1),
        ("people", 1),
        ("preferences", 1),
    ] {
        assert_eq!(count(&erased, kind), rows, "{kind}");
    }
    let after = bed.notifications().await;
    let kept = |rows: &[punctual_store::notifications::NotificationRow]| {
        rows.iter().map(|row| (row.id, row.status, row.finished_at)).collect::<Vec<_>>()
    };
    assert_eq!(kept(&before), kept(&after));
    let attempts = bed.attempts(&ids[0]).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(
        (attempts[0].target.as_str(), attempts[0].outcome.map(AttemptOutcome::as_str)),
        ("erased:1", Some("delivered"))
    );
    // Nothing is sent to them any more, and the message that waited is over.
    let sent = bed.sent_to().len();
    bed.run_for(7_200).await;
    assert_eq!(bed.sent_to().len(), sent);
    assert_eq!(bed.work("message:later").await.status.as_str(), "cancelled");
    bed.engine.seal_audit().await.unwrap();
    verify(&bed.store, &bed.engine.vault).await.unwrap().unwrap();
    let found = bed.engine.erasure(&admin(), &erased.id).await.unwrap();
    assert_eq!(found, erased);
    assert!(found.certificate.unwrap().remaining.is_empty());
    // Again there is nothing to do.
    assert!(erase(&bed).await.found.is_empty());
}

async fn a_plan_changes_nothing_and_names_nobody(bed: TestBed) {
    everywhere(&bed).await;
    let before = bed.columns_with(ANN).await;
    let plan = bed.engine.plan_erasure(&admin(), &ann()).await.unwrap();
    assert_eq!((plan.status.as_str(), count(&plan, "notifications")), ("planned", 4));
    assert!(plan.certificate.is_none());
    assert_eq!(bed.columns_with(ANN).await, before);
    let leaves = "a plan sends nothing; the message is for later";
    bed.leaves_open(leaves);
}

async fn what_is_stored_is_handed_out(bed: TestBed) {
    everywhere(&bed).await;
    let document = bed.engine.export_person(&admin(), &ann()).await.unwrap();
    let kinds: Vec<&str> = document.data.keys().map(String::as_str).collect();
    for kind in
        ["notifications", "messages", "sources", "people", "preferences", "suppressions", "definitions"]
    {
        assert!(kinds.contains(&kind), "{kind} is not in {kinds:?}");
    }
    assert_eq!(document.data["sources"][0]["state"]["owner"]["email"], ANN);
    let text = serde_json::Value::Object(document.data).to_string();
    assert!(
        text.contains("Your result, Ann Miller") && !text.contains("\"target\":\"bob@x.example\""),
        "{text}"
    );
    bed.leaves_open("the message is for later");
}

async fn other_recipients_keep_their_messages(bed: TestBed) {
    let both = bed.accept_one(to(&bed, &[ANN, "bob@x.example"], "For both")).await;
    let alone = bed.accept_one(to(&bed, &[ANN], "For Ann")).await;
    erase(&bed).await;
    assert_eq!(bed.notification(&both).await.targets.unwrap().as_str(), r#"["bob@x.example"]"#);
    let row = bed.notification(&alone).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref(), row.subject.as_str(), row.body.as_str()),
        ("withdrawn", Some("erased"), "", "")
    );
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["bob@x.example"]);
}

async fn whoever_is_limited_to_a_unit_erases_there(bed: TestBed) {
    for unit in ["nz", "au"] {
        bed.has_unit(unit).await;
        source(&bed, unit, Some(unit), ANN).await;
        let new = NewList {
            name: format!("ops-{unit}"),
            kind: "email".into(),
            channel: None,
            targets: vec![ANN.into()],
            business_unit: Some(unit.into()),
        };
        bed.engine.save_list(&admin(), new).await.unwrap();
    }
    suppress(&bed, ANN).await;
    let limited = Actor::key("nz", Some(vec!["nz".into()]));
    let plan = bed.engine.plan_erasure(&limited, &ann()).await.unwrap();
    assert_eq!((count(&plan, "sources"), count(&plan, "lists"), count(&plan, "suppressions")), (1, 1, 0));
    let done = bed.engine.erase_person(&limited, &ann(), EraseOptions::default()).await.unwrap();
    assert_eq!(done.status.as_str(), "done");
    let stays = bed.engine.plan_erasure(&admin(), &ann()).await.unwrap();
    assert_eq!((count(&stays, "sources"), count(&stays, "lists"), count(&stays, "suppressions")), (1, 1, 1));
    // Another unit's erasure is not there for them.
    let other = Actor::key("au", Some(vec!["au".into()]));
    assert!(bed.engine.erasure(&other, &done.id).await.is_err());
    assert!(bed.engine.erasure(&limited, &done.id).await.is_ok());
}

async fn a_message_that_is_being_sent_is_left_for_the_next_run(bed: TestBed) {
    let id = bed.accept_one(to(&bed, &[ANN], "For Ann")).await;
    let lease = bed.after(60).as_microsecond();
    // tidy-allow: a number
    let claim = format!("UPDATE notifications SET lease_expires_at = {lease}");
    bed.run_sql(&claim).await.unwrap();
    let first = erase(&bed).await;
    assert_eq!(first.status.as_str(), "incomplete");
    assert_eq!(bed.notification(&id).await.subject, "For Ann");
    // tidy-allow: a lease that ended, without what its end would do
    bed.run_sql("UPDATE notifications SET lease_expires_at = NULL").await.unwrap();
    assert_eq!(erase(&bed).await.status.as_str(), "done");
    assert_eq!(bed.columns_with(ANN).await, Vec::<String>::new());
}

/// Lets the index see what there is, and some minutes later write it.
async fn index(bed: &TestBed) -> usize {
    bed.engine.index_addresses(bed.now()).await.unwrap();
    bed.clock.set(bed.after(360));
    bed.engine.index_addresses(bed.now()).await.unwrap()
}

async fn an_address_is_found_by_the_index_once_rows_are_old(bed: TestBed) {
    bed.list("ops", "email:default", &[ANN, "bob@x.example"]).await;
    for number in 0..4 {
        bed.accept_one(to(&bed, &[&format!("other-{number}@x.example")], "Hello")).await;
    }
    let alone = bed.accept_one(to(&bed, &[ANN], "For Ann")).await;
    bed.accept_one(bed.message_to_list("ops")).await;
    bed.tick().await;
    for number in 0..3 {
        source(&bed, &number.to_string(), None, ANN).await;
    }
    assert_eq!(bed.engine.index_addresses(bed.now()).await.unwrap(), 0, "it may still change");
    assert!(index(&bed).await >= 12);
    let mut reader = bed.read().await;
    assert_eq!(part(&mut reader.conn(), Part::Notifications).await.unwrap().pieces, 2);
    assert_eq!(part(&mut reader.conn(), Part::Attempts).await.unwrap().pieces, 2);
    assert_eq!(part(&mut reader.conn(), Part::Sources).await.unwrap().pieces, 1);
    drop(reader);
    // One more, which the index does not have yet.
    bed.accept_one(to(&bed, &[ANN], "New")).await;
    bed.tick().await;
    let plan = bed.engine.plan_erasure(&admin(), &ann()).await.unwrap();
    assert_eq!((count(&plan, "notifications"), count(&plan, "sources")), (3, 3));
    assert_eq!(erase(&bed).await.status.as_str(), "done");
    assert_eq!(bed.notification(&alone).await.subject, "");
    assert_eq!(bed.columns_with(ANN).await, Vec::<String>::new());
    // The hashes of the address are gone, those of others are not.
    let mut reader = bed.read().await;
    let mut entries = 0;
    for number in 0..64 {
        let rows = bucket(&mut reader.conn(), number).await.unwrap();
        entries += rows.iter().map(|row| row.entries.len() / 12).sum::<usize>();
    }
    // Four of others' messages, and Bob at the list.
    assert_eq!(entries, 5);
    drop(reader);
    // With its rows a piece goes.
    bed.wait(366 * 86_400);
    bed.engine.purge_confirmed(bed.now()).await.unwrap();
    let mut reader = bed.read().await;
    for number in 0..64 {
        assert!(bucket(&mut reader.conn(), number).await.unwrap().iter().all(|row| row.entries.is_empty()));
    }
}

async fn a_changed_message_is_found_at_its_new_recipient(bed: TestBed) {
    for id in ["a", "b", "c"] {
        message_at(&bed, id, 86_400, &["bob@x.example"]).await;
    }
    assert_eq!(index(&bed).await, 3);
    let content = Handed::stored(to(&bed, &[ANN], "Moved to Ann"));
    let changed = NewMessage { id: "b".into(), send_at: bed.after(86_400), revive: false, content };
    messages::change(&bed.engine, &admin(), &changed).await.unwrap();
    let plan = bed.engine.plan_erasure(&admin(), &ann()).await.unwrap();
    assert_eq!(count(&plan, "messages"), 1);
    bed.leaves_open("the messages are for tomorrow");
}

async fn people_of_operations_are_found_by_the_index_and_by_what_changed_since(bed: TestBed) {
    person(&bed, "p-1", ANN, "{}").await;
    person(&bed, "p-2", "bob@x.example", r#"{"sms": "+49 30 1234567"}"#).await;
    person(&bed, "p-3", "cat@x.example", "{}").await;
    assert_eq!(index(&bed).await, 3);
    let mut reader = bed.read().await;
    assert_eq!(part(&mut reader.conn(), Part::People).await.unwrap().pieces, 1);
    drop(reader);
    let people = async |address: &str| {
        let plan = bed.engine.plan_erasure(&admin(), &Person::Address(address.to_owned())).await.unwrap();
        count(&plan, "people")
    };
    assert_eq!((people(ANN).await, people("+49301234567").await), (1, 1));
    // What has changed is behind the index; what it says of the row before leads nowhere.
    person(&bed, "p-2", "bob@x.example", "{}").await;
    person(&bed, "p-3", "cat@x.example", r#"{"sms": "+49-30-1234567", "teams": "ann@X.example"}"#).await;
    assert_eq!((people(ANN).await, people("+49301234567").await), (2, 1));
    assert_eq!(erase(&bed).await.status.as_str(), "done");
    assert_eq!(people(ANN).await, 0);
    assert_eq!(bed.columns_with(ANN).await, Vec::<String>::new());
}

async fn a_person_is_found_with_all_addresses(bed: TestBed) {
    person(&bed, "p-1", ANN, r#"{"sms": "+49 30 1234567"}"#).await;
    bed.channel("sms:default", "memory").await;
    bed.accept_one(bed.message_over("sms:default", &["+49301234567"])).await;
    bed.accept_one(to(&bed, &[ANN], "For Ann")).await;
    bed.tick().await;
    let person = Person::Id("p-1".into());
    let plan = bed.engine.plan_erasure(&admin(), &person).await.unwrap();
    assert_eq!((count(&plan, "notifications"), count(&plan, "people")), (2, 1));
    let done = bed.engine.erase_person(&admin(), &person, EraseOptions::default()).await.unwrap();
    assert_eq!(done.status.as_str(), "done", "{:?}", done.certificate);
    assert_eq!(bed.columns_with("301234567").await, Vec::<String>::new());
}

async fn suppressions_are_kept_where_that_is_wanted(bed: TestBed) {
    suppress(&bed, ANN).await;
    let keep = EraseOptions { keep_suppressions: true };
    let done = bed.engine.erase_person(&admin(), &ann(), keep).await.unwrap();
    let certificate = done.certificate.unwrap();
    assert_eq!((done.status.as_str(), certificate.kept.len()), ("done", 1), "{certificate:?}");
    let stays = bed.engine.plan_erasure(&admin(), &ann()).await.unwrap();
    assert_eq!(count(&stays, "suppressions"), 1);
}
