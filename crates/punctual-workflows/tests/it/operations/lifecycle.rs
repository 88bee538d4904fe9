//! What a date does: it makes a rule, moves it, takes it away.

use punctual_engine::Actor;
use punctual_model::SyncStatus;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::operations::SubjectType;
use serde_json::{Value, json};

use super::*;

on_both! {
    an_event_notifies_its_people_when_it_starts_and_when_it_ends;
    a_task_goes_by_its_own_dates;
    a_task_without_dates_has_no_rules_and_gets_one_with_its_first_date;
    what_is_scheduled_carries_ids_and_nothing_else;
    a_moved_date_moves_the_message;
    a_date_that_stays_writes_nothing;
    a_date_taken_away_takes_its_rule_along;
    a_deleted_event_stops_its_messages;
    a_deleted_event_withdraws_what_is_queued;
    a_title_changed_after_scheduling_is_sent_in_its_new_form;
    whole_days_count_at_noon_utc_or_at_the_organisations_hour;
    an_organisation_that_moves_takes_its_whole_days_along;
    a_moved_event_notifies_again_although_it_has_before;
    a_date_just_past_is_sent_at_once_and_one_long_past_is_not;
    creating_the_same_again_changes_nothing;
}

async fn an_event_notifies_its_people_when_it_starts_and_when_it_ends(bed: TestBed) {
    person(&bed, "ann").await;
    person(&bed, "ben").await;
    let mut new = event(&bed, Some(bed.after(60)), Some(bed.after(120)));
    new.people = vec!["ben".into()];
    let id = create(&bed, &new).await;
    let own = rules_of(&bed, &id).await;
    assert_eq!(own.iter().map(|rule| rule.kind.as_str()).collect::<Vec<_>>(), ["start", "end"]);
    for rule in &own {
        assert_eq!((rule.sync_status.as_str(), rule.sync_error.as_deref()), ("synced", None));
        let says: Value = serde_json::from_str(&rule.rule).unwrap();
        assert_eq!(says, json!({ "type": "at_subject_date", "anchor": rule.kind }));
        assert_eq!(rule.channels, r#"["email"]"#);
        assert_eq!(rule.schedule_id, Some(bed.work(&key_of(rule)).await.id));
        let id = uuid::Uuid::parse_str(&rule.id).unwrap();
        assert_eq!(id.get_version_num(), 7);
    }
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["ann@example.org", "ben@example.org"]);
    assert_eq!(bed.sent()[0].subject, "Starts: Stand-up");
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 4);
    assert_eq!(bed.sent()[3].subject, "Ends: Stand-up");
    for before in own {
        let rule = rule(&bed, &before.id).await;
        assert_eq!(rule.last_sent_at, rule.run_at);
    }
}

async fn a_task_goes_by_its_own_dates(bed: TestBed) {
    person(&bed, "ann").await;
    person(&bed, "ben").await;
    let mut new = event(&bed, None, Some(bed.after(60)));
    new.subject_type = SubjectType::Task;
    new.people = vec!["ben".into(), "ann".into()];
    let id = create(&bed, &new).await;
    let rule = only_rule(&bed, &id).await;
    assert_eq!((rule.kind.as_str(), rule.subject_type.as_str()), ("end", "task"));
    let input: Value = serde_json::from_str(&bed.work(&key_of(&rule)).await.input).unwrap();
    assert_eq!(input["topic"], "operations.task.end");
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["ann@example.org", "ben@example.org"]);
}

async fn a_task_without_dates_has_no_rules_and_gets_one_with_its_first_date(bed: TestBed) {
    person(&bed, "ann").await;
    let mut new = event(&bed, None, None);
    new.subject_type = SubjectType::Task;
    let id = create(&bed, &new).await;
    assert!(rules_of(&bed, &id).await.is_empty());
    start_at(&bed, &id, Some(bed.after(60))).await;
    assert_eq!(only_rule(&bed, &id).await.kind.as_str(), "start");
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["ann@example.org"]);
}

async fn what_is_scheduled_carries_ids_and_nothing_else(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    let rule = only_rule(&bed, &id).await;
    let work = bed.work(&key_of(&rule)).await;
    let payload =
        json!({ "subjectType": "event", "subjectId": id, "notificationRuleId": rule.id, "kind": "start" });
    let input: Value = serde_json::from_str(&work.input).unwrap();
    assert_eq!(input, json!({ "topic": "operations.event.start", "payload": payload }));
    assert_eq!(work.key, format!("operations:{}:20260514T050100Z", rule.id));
    bed.leaves_open("nothing has to be sent");
}

async fn a_moved_date_moves_the_message(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    let before = only_rule(&bed, &id).await;
    start_at(&bed, &id, Some(bed.after(600))).await;
    let after = only_rule(&bed, &id).await;
    assert_eq!(after.id, before.id);
    assert_eq!((after.sync_status.as_str(), after.run_at), ("synced", Some(bed.after(600))));
    let old = bed.work(&key_of(&before)).await;
    assert_eq!((old.status.as_str(), old.reason_code.as_deref()), ("deactivated", Some("moved")));
    bed.run_for(599).await;
    assert!(bed.sent().is_empty());
    bed.run_for(1).await;
    assert_eq!(bed.sent().len(), 1);
    // There and back again: the first occurrence is revived, once.
    start_at(&bed, &id, Some(bed.after(60))).await;
    start_at(&bed, &id, Some(bed.after(120))).await;
    start_at(&bed, &id, Some(bed.after(60))).await;
    bed.run_for(200).await;
    assert_eq!(bed.sent().len(), 2);
}

async fn a_date_that_stays_writes_nothing(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    let before = only_rule(&bed, &id).await;
    bed.wait(1);
    change(&bed, &id, |row| row.title = "Another".into()).await;
    assert_eq!(only_rule(&bed, &id).await, before);
    bed.leaves_open("nothing has to be sent");
}

async fn a_date_taken_away_takes_its_rule_along(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    let before = only_rule(&bed, &id).await;
    start_at(&bed, &id, None).await;
    assert!(rules_of(&bed, &id).await.is_empty());
    let gone = rule(&bed, &before.id).await;
    assert_eq!((gone.active, gone.deleted_at), (false, Some(bed.now())));
    assert_eq!(gone.sync_status, SyncStatus::Synced);
    let work = bed.work(&key_of(&before)).await;
    assert_eq!((work.status.as_str(), work.reason_code.as_deref()), ("deactivated", Some("rule-canceled")));
    start_at(&bed, &id, Some(bed.after(60))).await;
    assert_ne!(only_rule(&bed, &id).await.id, before.id);
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_deleted_event_stops_its_messages(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    let before = only_rule(&bed, &id).await;
    delete(&bed, &id).await;
    assert_eq!(bed.work(&key_of(&before)).await.status.as_str(), "deactivated");
    assert!(rule(&bed, &before.id).await.deleted_at.is_some());
    bed.run_for(120).await;
    assert!(bed.sent().is_empty());
    assert!(!commands::delete(&bed.engine, &Actor::named("test"), &id, |_| true).await.unwrap());
    assert_eq!(bed.audit("event", &id).await, ["create", "delete"]);
}

async fn a_deleted_event_withdraws_what_is_queued(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    bed.wait(60);
    bed.engine.due_tick(bed.now(), 10).await.unwrap();
    delete(&bed, &id).await;
    bed.tick().await;
    assert!(bed.sent().is_empty());
    assert_eq!(bed.notifications().await[0].status.as_str(), "withdrawn");
}

async fn a_title_changed_after_scheduling_is_sent_in_its_new_form(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    person(&bed, "ben").await;
    change(&bed, &id, |row| {
        row.title = "Retrospective".into();
        row.people = r#"["ben"]"#.into();
    })
    .await;
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["ann@example.org", "ben@example.org"]);
    assert_eq!(bed.sent()[0].body, "Retrospective starts Thu 14 May 2026, 05:01 (UTC).\n");
}

async fn whole_days_count_at_noon_utc_or_at_the_organisations_hour(bed: TestBed) {
    person(&bed, "ann").await;
    let day: Timestamp = "2026-05-15T00:00:00Z".parse().unwrap();
    let mut new = event(&bed, Some(day), None);
    new.is_all_day = true;
    let plain = create(&bed, &new).await;
    let berlin = OrganisationRow {
        time_zone: Some("Europe/Berlin".into()),
        all_day_at: Some("09:00".into()),
        ..organisation("choir")
    };
    put_organisation(&bed, &berlin).await;
    let mut new = event(&bed, Some(day), None);
    (new.is_all_day, new.organisation) = (true, Some("choir".into()));
    let local = create(&bed, &new).await;
    let runs = async |id: &str| only_rule(&bed, id).await.run_at.unwrap();
    assert_eq!(runs(&plain).await.to_string(), "2026-05-15T12:00:00Z");
    assert_eq!(runs(&local).await.to_string(), "2026-05-15T07:00:00Z");
    let work = bed.work(&key_of(&only_rule(&bed, &local).await)).await;
    assert_eq!(
        (work.local_date.as_deref(), work.time_zone.as_deref()),
        (Some("2026-05-15"), Some("Europe/Berlin"))
    );
    bed.run_to("2026-05-15T12:00:00Z").await;
    assert_eq!(bed.sent()[0].body, "Stand-up starts Fri 15 May 2026.\n");
    assert_eq!(bed.sent().len(), 2);
}

async fn an_organisation_that_moves_takes_its_whole_days_along(bed: TestBed) {
    person(&bed, "ann").await;
    put_organisation(&bed, &organisation("choir")).await;
    let mut new = event(&bed, Some("2026-05-15T00:00:00Z".parse().unwrap()), None);
    (new.is_all_day, new.organisation) = (true, Some("choir".into()));
    let id = create(&bed, &new).await;
    let zone = Some("Pacific/Auckland".to_owned());
    put_organisation(&bed, &OrganisationRow { time_zone: zone, ..organisation("choir") }).await;
    bed.tick().await;
    let rule = only_rule(&bed, &id).await;
    assert_eq!(rule.occurrence.as_deref(), Some("20260515T000000Z"));
    bed.run_to("2026-05-15T13:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_moved_event_notifies_again_although_it_has_before(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 1);
    let first = only_rule(&bed, &id).await;
    bed.wait(60);
    start_at(&bed, &id, Some(bed.after(60))).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 2);
    // Back to the date that was sent: that occurrence is over.
    start_at(&bed, &id, first.run_at).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 2);
}

async fn a_date_just_past_is_sent_at_once_and_one_long_past_is_not(bed: TestBed) {
    let id = starting_in(&bed, -15 * 60).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
    let late = create(&bed, &event(&bed, Some(bed.after(-15 * 60 - 1)), None)).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
    let skipped = bed.work(&key_of(&only_rule(&bed, &late).await)).await;
    assert_eq!(
        (skipped.status.as_str(), skipped.reason_code.as_deref()),
        ("deactivated", Some("anchor-in-past"))
    );
    assert_eq!(bed.work(&key_of(&only_rule(&bed, &id).await)).await.status.as_str(), "completed");
}

async fn creating_the_same_again_changes_nothing(bed: TestBed) {
    person(&bed, "ann").await;
    let new = event(&bed, Some(bed.after(60)), None);
    create(&bed, &new).await;
    create(&bed, &new).await;
    assert_eq!(rules_of(&bed, &new.id).await.len(), 1);
    bed.run_for(60).await;
    assert_eq!(bed.sent().len(), 1);
}
