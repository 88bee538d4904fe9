//! The tables of events, tasks, people and rules, statement by statement.

use jiff::Timestamp;
use punctual_model::{Anchor, Reach, SyncStatus};
use punctual_store::{
    attention,
    operations::{
        feeds::{self, FeedRow},
        organisations::{self, OrganisationRow},
        people::{self, PersonRow},
        rules::{self, RuleRow, Synced},
        subjects::{self, Between, SubjectRow},
    },
};
use punctual_testkit::{TestBed, new_work, on_both};

use crate::plans::{check, fill, many};

on_both! {
    people_and_organisations_are_put_found_and_removed;
    subjects_are_kept_once_changed_and_deleted;
    a_calendar_finds_what_falls_into_it;
    a_rule_goes_through_its_states;
    only_what_is_late_is_reconciled;
    what_is_not_over_is_found_by_its_rule;
    a_link_is_found_by_its_hash_alone;
    the_reconciler_never_reads_what_is_in_step;
}

fn person(id: &str, email: Option<&str>) -> PersonRow {
    PersonRow {
        id: id.into(),
        name: "Ann".into(),
        email: email.map(str::to_owned),
        time_zone: Some("UTC".into()),
        locale: None,
        channels: "[]".into(),
        addresses: "{}".into(),
        business_unit: Some("nz".into()),
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

fn subject(id: &str, start: Option<&str>, end: Option<&str>) -> SubjectRow {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    SubjectRow {
        id: id.into(),
        subject_type: "event".into(),
        title: "Stand-up".into(),
        start_at: start.map(at),
        end_at: end.map(at),
        is_all_day: false,
        creator: "ann".into(),
        people: "[]".into(),
        organisation: Some("choir".into()),
        time_zone: None,
        business_unit: None,
        ical_uid: None,
        ical_series: None,
        location: None,
        description: None,
        deleted_at: None,
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

fn at(micros: i64) -> Option<Timestamp> {
    Some(Timestamp::from_microsecond(micros).unwrap())
}

fn rule(id: &str, subject: &str, due: Option<Timestamp>) -> RuleRow {
    RuleRow {
        id: id.into(),
        subject_type: "event".into(),
        subject_id: subject.into(),
        kind: Anchor::Start,
        rule_type: "relative".into(),
        rule: "{}".into(),
        channels: "[]".into(),
        handling: Some(r#"{"topic":"shifts"}"#.into()),
        texts: Some(r#"{"subject":"S"}"#.into()),
        schedule_id: None,
        occurrence: None,
        run_at: None,
        dated_at: Timestamp::from_microsecond(1).unwrap(),
        sync_status: SyncStatus::Pending,
        sync_error: None,
        sync_attempts: 0,
        sync_due_at: due,
        active: true,
        deleted_at: None,
        last_sent_at: None,
        last_sent_occurrence: None,
        business_unit: None,
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

async fn people_and_organisations_are_put_found_and_removed(bed: TestBed) {
    let mut tx = bed.begin().await;
    people::put(&mut tx.conn(), bed.now(), &Reach::Everything, &person("ann", Some("Ann@Example.org")))
        .await
        .unwrap();
    people::put(&mut tx.conn(), bed.now(), &Reach::Everything, &person("ben", None)).await.unwrap();
    people::put(
        &mut tx.conn(),
        bed.now(),
        &Reach::Everything,
        &PersonRow { name: "Ben".into(), ..person("ben", None) },
    )
    .await
    .unwrap();
    let ids = ["ben", "ann", "ben", "x"].map(str::to_owned);
    let found = people::named(&mut tx.conn(), ids.to_vec()).await.unwrap();
    let name = |id: &str| found.get(Some("nz"), id).map(|row| row.name.as_str());
    assert_eq!((name("ann"), name("ben"), name("x")), (Some("Ann"), Some("Ben"), None));
    assert_eq!((found.get(Some("de"), "ann"), found.get(None, "ann")), (None, None));
    let found = people::by_emails(&mut tx.conn(), vec!["ann@example.org".into()]).await.unwrap();
    assert_eq!(found.get(Some("nz"), "ann@example.org").unwrap().id, "ann");
    assert_eq!(
        people::page(&mut tx.conn(), &punctual_model::Reach::Everything, "ann", 10).await.unwrap().len(),
        1
    );
    assert!(people::delete(&mut tx.conn(), "ann").await.unwrap());
    assert!(!people::delete(&mut tx.conn(), "ann").await.unwrap());
    let choir = OrganisationRow {
        id: "choir".into(),
        name: "Choir".into(),
        time_zone: None,
        all_day_at: Some("09:00".into()),
        rules: None,
        business_unit: None,
        updated_at: bed.now(),
    };
    organisations::put(&mut tx.conn(), bed.now(), &Reach::Everything, &choir).await.unwrap();
    let found = organisations::named(&mut tx.conn(), vec!["choir".into()]).await.unwrap();
    assert_eq!(found.get(Some("nz"), "choir"), Some(&choir));
    assert_eq!(
        organisations::page(&mut tx.conn(), &punctual_model::Reach::Everything, "", 10).await.unwrap().len(),
        1
    );
    assert!(organisations::delete(&mut tx.conn(), "choir").await.unwrap());
    tx.commit().await.unwrap();
}

async fn subjects_are_kept_once_changed_and_deleted(bed: TestBed) {
    let mut tx = bed.begin().await;
    let one = SubjectRow { ical_uid: Some("u".into()), ..subject("1", Some("2026-05-14T06:00:00Z"), None) };
    let twin = SubjectRow { id: "2".into(), ..one.clone() };
    assert_eq!(subjects::insert(&mut tx.conn(), bed.now(), &[one.clone(), twin]).await.unwrap(), ["1"]);
    // Each unit has its own.
    let foreign = SubjectRow { id: "nz".into(), business_unit: Some("nz".into()), ..one.clone() };
    let twin = SubjectRow { id: "nz-2".into(), ..foreign.clone() };
    assert_eq!(subjects::insert(&mut tx.conn(), bed.now(), &[foreign, twin]).await.unwrap(), ["nz"]);
    let of_nz = subjects::by_uids(&mut tx.conn(), Some("nz"), vec!["u".into()]).await.unwrap();
    assert_eq!(of_nz.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["nz"]);
    assert!(subjects::delete(&mut tx.conn(), bed.now(), "nz").await.unwrap());
    assert!(
        subjects::insert(&mut tx.conn(), bed.now(), std::slice::from_ref(&one)).await.unwrap().is_empty()
    );
    let there = subjects::lock(&mut tx.conn(), &Reach::Everything, "1").await.unwrap().unwrap();
    let changed = SubjectRow { title: "New".into(), start_at: None, ..there };
    subjects::update(&mut tx.conn(), bed.now(), &changed).await.unwrap();
    let there =
        subjects::by_ids(&mut tx.conn(), &Reach::Everything, vec!["1".into()]).await.unwrap().remove(0);
    assert_eq!((there.title.as_str(), there.start_at, there.version), ("New", None, 2));
    assert_eq!(
        subjects::undated(&mut tx.conn(), &punctual_model::Reach::Everything, 10).await.unwrap().len(),
        1
    );
    assert_eq!(subjects::by_uids(&mut tx.conn(), None, vec!["u".into()]).await.unwrap().len(), 1);
    assert_eq!(
        subjects::page(&mut tx.conn(), &punctual_model::Reach::Everything, "event", "", 10)
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(
        subjects::page(&mut tx.conn(), &punctual_model::Reach::Everything, "task", "", 10)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(subjects::delete(&mut tx.conn(), bed.now(), "1").await.unwrap());
    assert!(!subjects::delete(&mut tx.conn(), bed.now(), "1").await.unwrap());
    assert!(subjects::by_ids(&mut tx.conn(), &Reach::Everything, vec!["1".into()]).await.unwrap().is_empty());
    assert!(subjects::lock(&mut tx.conn(), &Reach::Everything, "1").await.unwrap().is_none());
    // What was deleted does not keep its identity from being imported again.
    let again = SubjectRow { id: "3".into(), ..one };
    assert_eq!(subjects::insert(&mut tx.conn(), bed.now(), &[again]).await.unwrap(), ["3"]);
    tx.commit().await.unwrap();
}

async fn a_calendar_finds_what_falls_into_it(bed: TestBed) {
    let mut tx = bed.begin().await;
    let rows = [
        subject("before", Some("2026-05-09T00:00:00Z"), Some("2026-05-09T23:00:00Z")),
        subject("into", Some("2026-05-09T00:00:00Z"), Some("2026-05-10T00:00:00Z")),
        subject("inside", Some("2026-05-11T00:00:00Z"), None),
        subject("ends", None, Some("2026-05-12T00:00:00Z")),
        subject("over", Some("2026-05-01T00:00:00Z"), Some("2026-06-01T00:00:00Z")),
        subject("week", Some("2026-05-16T00:00:00Z"), Some("2026-05-22T00:00:00Z")),
        subject("later week", Some("2026-05-18T00:00:00Z"), Some("2026-05-24T00:00:00Z")),
        subject("after", Some("2026-05-17T00:00:00Z"), None),
        subject("undated", None, None),
        SubjectRow {
            organisation: None,
            people: r#"["ben","cat"]"#.into(),
            ..subject("other", Some("2026-05-11T01:00:00Z"), None)
        },
    ];
    subjects::insert(&mut tx.conn(), bed.now(), &rows).await.unwrap();
    let (from, to) = ("2026-05-10T00:00:00Z".parse().unwrap(), "2026-05-17T00:00:00Z".parse().unwrap());
    let all = Between { from, to, limit: 10, ..Between::default() };
    let mut find = async |wanted: Between| {
        let found =
            subjects::between(&mut tx.conn(), &punctual_model::Reach::Everything, &wanted).await.unwrap();
        found.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(find(all.clone()).await, ["into", "inside", "other", "ends", "week", "over"]);
    let choir = Between { organisation: Some("choir".into()), ..all.clone() };
    assert_eq!(find(choir).await, ["into", "inside", "ends", "week", "over"]);
    let inside = rows[2].last_at().unwrap();
    let next = Between { after: Some((inside.as_microsecond(), "inside".into())), limit: 2, ..all.clone() };
    assert_eq!(find(next).await, ["other", "ends"]);
    assert!(find(Between { subject_type: Some("task".into()), ..all.clone() }).await.is_empty());
    assert_eq!(find(Between { person: Some("ben".into()), ..all.clone() }).await, ["other"]);
    assert_eq!(find(Between { person: Some("ann".into()), ..all }).await.len(), 6);
    tx.commit().await.unwrap();
}

async fn a_rule_goes_through_its_states(bed: TestBed) {
    let mut tx = bed.begin().await;
    rules::put(&mut tx.conn(), bed.now(), &[rule("b", "1", at(5)), rule("a", "1", at(5))]).await.unwrap();
    let ids = |rows: Vec<RuleRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(
        ids(rules::of_subjects(&mut tx.conn(), &Reach::Everything, vec!["1".into()]).await.unwrap()),
        ["a", "b"]
    );
    assert_eq!(ids(rules::lock_of_subject(&mut tx.conn(), "1").await.unwrap()), ["a", "b"]);
    assert_eq!(
        ids(rules::page(&mut tx.conn(), &punctual_model::Reach::Everything, "a", 5).await.unwrap()),
        ["b"]
    );
    assert!(rules::mark_failed(&mut tx.conn(), bed.now(), "a", "no disk", bed.after(60)).await.unwrap());
    let failed = rules::lock(&mut tx.conn(), &Reach::Everything, vec!["a".into()]).await.unwrap().remove(0);
    assert_eq!(
        (failed.sync_status.as_str(), failed.sync_error.as_deref(), failed.sync_attempts),
        ("failed", Some("no disk"), 1)
    );
    let synced = Synced { id: "a".into(), schedule_id: Some(7), occurrence: Some("o".into()), run_at: at(9) };
    rules::mark_synced(&mut tx.conn(), bed.now(), &[synced]).await.unwrap();
    let row = rules::by_ids(&mut tx.conn(), &Reach::Everything, vec!["a".into()]).await.unwrap().remove(0);
    assert_eq!(
        (row.sync_status.as_str(), row.sync_error.as_deref(), row.sync_due_at),
        ("synced", None, None)
    );
    assert_eq!((row.schedule_id, row.occurrence.as_deref(), row.run_at), (Some(7), Some("o"), at(9)));
    // Whoever thinks that it failed comes too late.
    assert!(!rules::mark_failed(&mut tx.conn(), bed.now(), "a", "late", bed.after(60)).await.unwrap());
    rules::mark_sent(&mut tx.conn(), bed.now(), &[("a".into(), "o".into())]).await.unwrap();
    // A changed rule keeps what was scheduled and sent.
    rules::put(&mut tx.conn(), bed.now(), &[RuleRow { active: false, ..rule("a", "1", at(8)) }])
        .await
        .unwrap();
    let row = rules::by_ids(&mut tx.conn(), &Reach::Everything, vec!["a".into()]).await.unwrap().remove(0);
    assert_eq!(
        (row.active, row.schedule_id, row.last_sent_occurrence.as_deref()),
        (false, Some(7), Some("o"))
    );
    assert!(rules::mark_pending(&mut tx.conn(), bed.now(), "a").await.unwrap());
    subjects::insert(&mut tx.conn(), bed.now(), &[subject("1", None, None)]).await.unwrap();
    assert_eq!(rules::mark_pending_of(&mut tx.conn(), bed.now(), "choir").await.unwrap(), 2);
    assert_eq!(rules::mark_pending_of(&mut tx.conn(), bed.now(), "other").await.unwrap(), 0);
    tx.commit().await.unwrap();
}

async fn only_what_is_late_is_reconciled(bed: TestBed) {
    let mut tx = bed.begin().await;
    let at = |seconds: i64| Some(bed.after(seconds));
    let rows = [rule("a", "1", at(60)), rule("b", "1", at(0)), rule("c", "1", at(-60)), rule("d", "1", None)];
    rules::put(&mut tx.conn(), bed.now(), &rows).await.unwrap();
    assert_eq!(rules::to_sync(&mut tx.conn(), bed.now(), 10).await.unwrap(), ["c", "b"]);
    assert_eq!(rules::to_sync(&mut tx.conn(), bed.now(), 1).await.unwrap(), ["c"]);
    tx.commit().await.unwrap();
}

async fn what_is_not_over_is_found_by_its_rule(bed: TestBed) {
    let mut soon = new_work("operations", "operations:a:1", bed.after(60));
    soon.setting_id = Some("a".into());
    let mut lost = new_work("operations", "operations:b:1", bed.after(90));
    lost.setting_id = Some("b".into());
    let mut due = new_work("operations", "operations:a:0", bed.now());
    due.setting_id = Some("a".into());
    bed.ensure(&[soon, lost, due]).await;
    let mut tx = bed.begin().await;
    rules::put(&mut tx.conn(), bed.now(), &[rule("a", "1", None)]).await.unwrap();
    let mut live = rules::live_work(&mut tx.conn(), vec!["a".into()]).await.unwrap();
    live.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(
        live.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(),
        ["operations:a:0", "operations:a:1"]
    );
    let expected = rules::expected(&mut tx.conn(), bed.now(), 10).await.unwrap();
    let found: Vec<(&str, Option<&str>)> =
        expected.iter().map(|row| (row.key.as_str(), row.rule_id.as_deref())).collect();
    assert_eq!(found, [("operations:a:1", Some("a")), ("operations:b:1", None)]);
    tx.commit().await.unwrap();
    bed.leaves_open("nobody works here");
}

async fn a_link_is_found_by_its_hash_alone(bed: TestBed) {
    let mut tx = bed.begin().await;
    let feed = |hash: &str| FeedRow {
        owner_type: "person".into(),
        owner_id: "ann".into(),
        secret_hash: hash.into(),
        business_unit: None,
        created_at: bed.now(),
    };
    feeds::put(&mut tx.conn(), bed.now(), &feed("one")).await.unwrap();
    feeds::put(&mut tx.conn(), bed.now(), &feed("two")).await.unwrap();
    assert_eq!(feeds::by_hash(&mut tx.conn(), "one").await.unwrap(), None);
    assert_eq!(feeds::by_hash(&mut tx.conn(), "two").await.unwrap(), Some(feed("two")));
    assert_eq!(feeds::of(&mut tx.conn(), "person", "ann").await.unwrap(), Some(feed("two")));
    assert!(feeds::delete(&mut tx.conn(), "person", "ann").await.unwrap());
    assert!(!feeds::delete(&mut tx.conn(), "person", "ann").await.unwrap());
    tx.commit().await.unwrap();
}

async fn the_reconciler_never_reads_what_is_in_step(bed: TestBed) {
    fill(
        &bed,
        many!(
            "operations_rules",
            "id, subject_type, subject_id, kind, rule_type, rule, channels, dated_at, sync_status, active, created_at, updated_at",
            "'r' || n, 'event', 's' || n, 'start', 'relative', '{}', '[]', 0, 'synced', TRUE, 0, 0"
        ),
    )
    .await;
    for name in ["operations_rules.to_sync", "operations_rules.expected", "operations_rules.waiting"] {
        bed.faults.explain(name);
    }
    let mut reader = bed.read().await;
    assert!(rules::to_sync(&mut reader.conn(), bed.now(), 100).await.unwrap().is_empty());
    check(&bed, "operations_rules.to_sync", "operations_rules_to_sync");
    assert!(rules::expected(&mut reader.conn(), bed.now(), 200).await.unwrap().is_empty());
    check(&bed, "operations_rules.expected", "work_ready");
    assert!(
        attention::out_of_step(&mut reader.conn(), &punctual_model::Reach::Everything, 10)
            .await
            .unwrap()
            .is_empty()
    );
    check(&bed, "operations_rules.waiting", "operations_rules_failed");
}
