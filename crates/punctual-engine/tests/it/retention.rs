//! What is finished loses what its rule says, in batches, and keeps what must never be forgotten; what is open keeps all.

use jiff::Timestamp;
use punctual_engine::{Actor, CommandError, EngineError};
use punctual_model::{Cause, Decision, Json, Reach, ReasonCode};
use punctual_store::{
    Lane, StoreError, facts,
    outbox::{self, About, NewEvent},
    retention::PURGED_INPUT,
    run_records::{self, RecordRow},
    sources::{self, SourceChange},
    work,
};
use punctual_testkit::{TestBed, TestBedBuilder, TestWorkflow, new_work, on_both};
use serde_json::json;

on_both! {
    work_keeps_its_key_and_loses_input_and_trace with small_batches;
    work_that_was_open_when_the_purge_passed_is_found_later with small_batches;
    work_that_lost_its_input_is_not_retried_and_comes_back_when_it_is_asked_for with small_batches;
    a_message_that_was_sent_loses_its_text_and_its_id_stays;
    events_and_records_go_and_a_deleted_source_loses_its_state with small_batches;
    ids_are_forgotten_only_where_that_is_set with forgets_ids;
    a_table_that_cannot_be_purged_needs_attention_and_stops_no_other;
    a_run_that_is_held_back_strips_nothing with cautious;
}

const DAY: i64 = 86_400;

fn small_batches(bed: TestBedBuilder) -> TestBedBuilder {
    let decide = |row: &punctual_engine::Claimed, _| match row.key.as_str() {
        "failed" => Decision::Fail(ReasonCode::InputUnreadable),
        "skipped" => Decision::Skip(ReasonCode::NoLongerWanted),
        _ => Decision::Deliver(Vec::new()),
    };
    bed.config(|config| config.purge_batch = 2).workflow(TestWorkflow::new("test", decide))
}

fn forgets_ids(bed: TestBedBuilder) -> TestBedBuilder {
    bed.config(|config| config.keep_ids_for = Some(std::time::Duration::from_secs(10 * 86_400)))
}

fn cautious(bed: TestBedBuilder) -> TestBedBuilder {
    small_batches(bed).config(|config| config.purge_unasked = 1)
}

async fn made(bed: &TestBed, keys: &[&str]) {
    for key in keys {
        bed.ensure_one(new_work("test", key, bed.now())).await;
    }
    bed.tick().await;
}

async fn purge(bed: &TestBed) {
    bed.engine.purge_confirmed(bed.now()).await.unwrap();
}

async fn work_keeps_its_key_and_loses_input_and_trace(bed: TestBed) {
    made(&bed, &["a", "b", "c", "d", "e"]).await;
    let held = bed.work("c").await;
    let hold = format!("UPDATE work SET on_hold = TRUE WHERE id = {}", held.id); // tidy-allow: a number
    bed.run_sql(&hold).await.unwrap();
    bed.changes_rows_itself("the hold is the test's");
    bed.engine.blobs.put("traces/a", b"long".to_vec()).await.unwrap();
    let mut tx = bed.store.begin(Lane::Settle).await.unwrap();
    work::set_trace(&mut tx.conn(), bed.work("a").await.id, "traces/a").await.unwrap();
    tx.commit().await.unwrap();
    bed.wait(364 * DAY);
    made(&bed, &["young"]).await;
    let planned = new_work("test", "planned", bed.after(90 * DAY));
    bed.ensure_one(planned).await;
    purge(&bed).await;
    assert_eq!(bed.work("a").await.input, json!({ "key": "a" }).to_string(), "a year is kept");
    bed.wait(2 * DAY);
    purge(&bed).await;
    for (key, is_purged) in [
        ("a", true),
        ("b", true),
        ("c", false),
        ("d", true),
        ("e", true),
        ("young", false),
        ("planned", false),
    ] {
        let row = bed.work(key).await;
        assert_eq!(row.input == PURGED_INPUT, is_purged, "{key}: {}", row.input);
    }
    let row = bed.work("a").await;
    assert_eq!((row.status.as_str(), row.trace_blob), ("completed", None));
    assert_eq!(bed.engine.blobs.get("traces/a").await.unwrap(), None);
    // Its key is known: nothing is done for it again.
    bed.ensure_one(new_work("test", "a", bed.now())).await;
    assert_eq!(bed.tick().await.due.claimed, 0);
    bed.leaves_open("one is on hold, and one is for later");
}

async fn work_that_was_open_when_the_purge_passed_is_found_later(bed: TestBed) {
    bed.ensure_one(new_work("test", "late", bed.after(400 * DAY))).await;
    made(&bed, &["a", "b"]).await;
    bed.wait(366 * DAY);
    purge(&bed).await;
    assert_eq!(bed.work("b").await.input, PURGED_INPUT);
    bed.run_for(40 * DAY).await;
    assert_eq!(bed.work("late").await.status.as_str(), "completed");
    bed.wait(366 * DAY);
    purge(&bed).await;
    assert_eq!(bed.work("late").await.input, PURGED_INPUT);
}

async fn work_that_lost_its_input_is_not_retried_and_comes_back_when_it_is_asked_for(bed: TestBed) {
    made(&bed, &["skipped", "done"]).await;
    assert_eq!(bed.work("skipped").await.status.as_str(), "deactivated");
    bed.wait(366 * DAY);
    purge(&bed).await;
    for key in ["skipped", "done"] {
        let refused = bed.engine.retry_work(&Actor::named("ann"), bed.work(key).await.id, None).await;
        assert!(
            matches!(refused, Err(CommandError::Engine(EngineError::StateNotAllowed { .. }))),
            "{key}: {refused:?}"
        );
    }
    let again = new_work("test", "skipped", bed.after(60));
    let mut tx = bed.begin().await;
    punctual_engine::ensure_in(&mut tx, bed.now(), &[again], Cause::Machine).await.unwrap();
    tx.commit().await.unwrap();
    let row = bed.work("skipped").await;
    assert_eq!(
        (row.status.as_str(), row.input.as_str()),
        ("pending", json!({ "key": "skipped" }).to_string().as_str())
    );
    bed.leaves_open("it is asked for again");
}

async fn a_message_that_was_sent_loses_its_text_and_its_id_stays(bed: TestBed) {
    use punctual_engine::Handed;
    use punctual_store::messages;
    use punctual_workflows::messages::{NewMessage, send_at};
    let content = Handed::stored(bed.message_over("email:default", &["ann@x.example"]));
    let new = NewMessage { id: "m-1".into(), send_at: bed.after(60), revive: false, content };
    send_at(&bed.engine, &Actor::named("key:a"), std::slice::from_ref(&new)).await.unwrap();
    bed.run_for(60).await;
    bed.wait(366 * DAY);
    purge(&bed).await;
    let rows =
        messages::by_ids(&mut bed.read().await.conn(), &Reach::Everything, vec!["m-1".into()]).await.unwrap();
    assert_eq!((rows[0].subject.as_str(), rows[0].targets.as_ref().map(Json::as_str)), ("", Some("[]")));
    // The same again is known, and sends nothing.
    send_at(&bed.engine, &Actor::named("key:a"), &[new]).await.unwrap();
    bed.run_for(DAY).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn events_and_records_go_and_a_deleted_source_loses_its_state(bed: TestBed) {
    let source = |id: &str, deleted: bool| SourceChange {
        source_type: "document".into(),
        source_id: id.into(),
        business_unit: None,
        active: !deleted,
        deleted,
        state: json!({ "id": id }).to_string(),
        sequence: None,
        occurred_at: bed.now(),
    };
    let event = |key: &str| NewEvent {
        event_type: "schedule.arrived".into(),
        about: About::Work { key: key.into() },
        business_unit: None,
        payload: "{}".into(),
    };
    let record = |key: &str| RecordRow {
        key: key.into(),
        workflow: "test".into(),
        subject_id: "s".into(),
        business_unit: None,
        stage: None,
        due_at: bed.now(),
        decided_at: Timestamp::UNIX_EPOCH,
        outcome: punctual_model::RunOutcome::Delivered,
        reason: None,
        attempts: 1,
        conflicts: 0,
        details: "{}".into(),
        has_files: false,
        files_purged_at: None,
    };
    let all: Vec<SourceChange> = (0..3).map(|n| source(&n.to_string(), n > 0)).collect();
    let mut tx = bed.begin().await;
    sources::put(&mut tx.conn(), bed.now(), &Reach::Everything, &all).await.unwrap();
    outbox::insert(&mut tx.conn(), bed.now(), &["a", "b", "c"].map(event)).await.unwrap();
    run_records::put(&mut tx.conn(), bed.now(), &["r1", "r2", "r3"].map(record)).await.unwrap();
    tx.commit().await.unwrap();
    bed.wait(366 * DAY);
    let mut tx = bed.begin().await;
    outbox::insert(&mut tx.conn(), bed.now(), &[event("young")]).await.unwrap();
    run_records::put(&mut tx.conn(), bed.now(), &[record("r4")]).await.unwrap();
    tx.commit().await.unwrap();
    purge(&bed).await;
    let mut reader = bed.read().await;
    let conn = &mut reader.conn();
    let events = outbox::page(conn, None, &Reach::Everything, 10).await.unwrap();
    assert_eq!(events.iter().map(|one| one.work_key.as_deref().unwrap()).collect::<Vec<_>>(), ["young"]);
    let keys = ["r1", "r2", "r3", "r4"].map(str::to_owned).to_vec();
    let records = run_records::by_keys(conn, keys).await.unwrap();
    assert_eq!(records.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(), ["r4"]);
    drop(reader);
    assert_eq!(
        bed.columns_with("\"id\":\"0\"").await,
        ["sources.state"],
        "one that is there keeps its state"
    );
    assert_eq!(bed.columns_with("\"id\":\"1\"").await, Vec::<String>::new());
    assert_eq!(bed.columns_with("\"id\":\"2\"").await, Vec::<String>::new());
}

async fn ids_are_forgotten_only_where_that_is_set(bed: TestBed) {
    let new = bed.message("a@example.org");
    bed.accept_one(new.clone()).await;
    bed.tick().await;
    bed.wait(366 * DAY);
    purge(&bed).await;
    bed.wait(9 * DAY);
    purge(&bed).await;
    bed.accept(vec![new.clone()]).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1, "its id is known");
    bed.wait(2 * DAY);
    purge(&bed).await;
    bed.accept(vec![new]).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 2, "its id was forgotten, as the installation wants it");
}

async fn a_table_that_cannot_be_purged_needs_attention_and_stops_no_other(bed: TestBed) {
    let bed = bed.with(small_batches);
    made(&bed, &["a"]).await;
    let deleted = SourceChange {
        source_type: "document".into(),
        source_id: "1".into(),
        business_unit: None,
        active: false,
        deleted: true,
        state: json!({ "id": "gone" }).to_string(),
        sequence: None,
        occurred_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    sources::put(&mut tx.conn(), bed.now(), &Reach::Everything, &[deleted]).await.unwrap();
    tx.commit().await.unwrap();
    bed.wait(366 * DAY);
    bed.refuse("work", "UPDATE", "NEW.input = '{\"purged\":true}'").await;
    purge(&bed).await;
    let waiting = bed.engine.attention(&Reach::Everything, 10).await.unwrap();
    let purges: Vec<&str> = waiting.items.iter().map(|one| one.title.as_str()).collect();
    assert_eq!(purges, ["Purge of work"]);
    assert_eq!(bed.columns_with("\"gone\"").await, Vec::<String>::new(), "sources were purged all the same");
    bed.allow("work", "UPDATE").await;
    purge(&bed).await;
    assert_eq!(bed.engine.attention(&Reach::Everything, 10).await.unwrap().total(), 0);
    assert_eq!(bed.work("a").await.input, PURGED_INPUT);
}

async fn a_run_that_is_held_back_strips_nothing(bed: TestBed) {
    made(&bed, &["a"]).await;
    bed.accept((0..6).map(|n| bed.message(&format!("{n}@example.org"))).collect()).await;
    bed.tick().await;
    bed.wait(800 * DAY);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().held_back, Some(6));
    assert_eq!(bed.work("a").await.input, json!({ "key": "a" }).to_string());
    let mark: Result<Option<String>, StoreError> =
        facts::get(&mut bed.read().await.conn(), "retention.work").await;
    assert_eq!(mark.unwrap(), None);
}
