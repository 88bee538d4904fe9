//! The tables of reports and rollouts: subscriptions by version, one owner a run, records, stages, and the views that
//! other schedulers read.

use jiff::Timestamp;
use punctual_model::{InputHash, NewWork, OwnershipStatus, Reach, RunOutcome, Trigger, WorkKey};
use punctual_store::{
    report_subscriptions::{self, SubscriptionRow},
    rollouts::{self, RolloutRow},
    run_ownership::{self, Take},
    run_records::{self, RecordRow},
    work,
};
use punctual_testkit::{Database, TestBed, on_both};
use sqlx::{Connection, PgConnection};

use crate::sqlite_file;

on_both! {
    a_subscription_is_changed_by_version_and_found_by_unit;
    r13_a_run_has_one_owner_and_what_is_cancelled_is_free;
    what_was_taken_and_not_delivered_is_given_back;
    records_count_attempts_and_figures_go_by_stage;
    files_are_old_only_where_nothing_is_under_way_and_new_ones_are_kept;
    the_rollout_of_a_subject_goes_before_that_of_its_unit;
    rows_in_trouble_are_found_by_kind_and_source;
    the_views_say_who_owns_what;
}

const PATH: &str = "report-subscription";

fn subscription(guid: &str, unit: Option<&str>) -> SubscriptionRow {
    SubscriptionRow {
        guid: guid.into(),
        name: "n".into(),
        business_unit: unit.map(str::to_owned),
        owner: None,
        list_name: None,
        paused: false,
        deleted: false,
        definition: "{}".into(),
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        unit_time_zone: None,
    }
}

async fn a_subscription_is_changed_by_version_and_found_by_unit(bed: TestBed) {
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    for row in [subscription("a", Some("nz")), subscription("b", None)] {
        assert!(report_subscriptions::insert(conn, bed.now(), &row).await.unwrap());
        assert!(!report_subscriptions::insert(conn, bed.now(), &row).await.unwrap());
    }
    let mut row = report_subscriptions::lock(conn, &Reach::Everything, "a").await.unwrap().unwrap();
    assert_eq!((row.version, row.paused, row.unit_time_zone.clone()), (1, false, None));
    row.owner = Some("ada".into());
    row.list_name = Some("ops".into());
    row.paused = true;
    assert!(report_subscriptions::update(conn, bed.after(1), &row).await.unwrap());
    assert!(
        !report_subscriptions::update(conn, bed.after(1), &row).await.unwrap(),
        "the version has moved on"
    );
    let of_unit = report_subscriptions::of_unit(conn, "nz", "", 10).await.unwrap();
    assert_eq!((of_unit.len(), of_unit[0].version), (1, 2));
    let orphans = report_subscriptions::orphans(conn, &Reach::Everything, "", 10).await.unwrap();
    assert_eq!((orphans.len(), orphans[0].owner_gone, orphans[0].recipients_gone), (1, true, true));
    let page = report_subscriptions::page(conn, &punctual_model::Reach::Everything, "", 10).await.unwrap();
    assert_eq!(page.iter().map(|row| row.guid.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    row.version = 2;
    row.deleted = true;
    assert!(report_subscriptions::update(conn, bed.after(2), &row).await.unwrap());
    assert!(report_subscriptions::lock(conn, &Reach::Everything, "a").await.unwrap().is_none());
    assert_eq!(
        report_subscriptions::by_guids(conn, &Reach::Everything, vec!["a".into(), "a".into()])
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(report_subscriptions::live_runs(conn, vec![]).await.unwrap().is_empty());
}

fn take<'a>(key: &'a str, owner: &'a str) -> Take<'a> {
    Take { key, workflow: PATH, subject_id: "a", owner, owner_version: "1" }
}

const OLD: &str = "old_scheduler";
const OURS: &str = "automation_scheduler";

async fn r13_a_run_has_one_owner_and_what_is_cancelled_is_free(bed: TestBed) {
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    assert_eq!(run_ownership::take(conn, bed.now(), &take("k", OLD)).await.unwrap().owner, OLD);
    assert_eq!(run_ownership::take(conn, bed.now(), &take("k", OURS)).await.unwrap().owner, OLD);
    assert_eq!(run_ownership::take(conn, bed.now(), &take("k", OLD)).await.unwrap().version, 1);
    assert!(
        run_ownership::report(conn, bed.now(), "k", OURS, OwnershipStatus::Cancelled, None)
            .await
            .unwrap()
            .is_none()
    );
    let cancelled = run_ownership::report(conn, bed.now(), "k", OLD, OwnershipStatus::Cancelled, None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(cancelled.status, OwnershipStatus::Cancelled);
    assert_eq!(run_ownership::take(conn, bed.after(1), &take("k", OURS)).await.unwrap(), cancelled);
    let taken = run_ownership::take_over(conn, bed.after(1), &take("k", OURS)).await.unwrap();
    assert_eq!((taken.owner.as_str(), taken.status.as_str(), taken.taken_at), (OURS, "owned", bed.after(1)));
    let rows = [("k".to_owned(), "{\"n\":1}".to_owned())];
    assert_eq!(run_ownership::delivered(conn, bed.now(), OURS, &rows).await.unwrap(), 1);
    assert_eq!(run_ownership::delivered(conn, bed.now(), OURS, &rows).await.unwrap(), 0, "once");
    assert!(
        run_ownership::report(conn, bed.now(), "k", OURS, OwnershipStatus::Cancelled, None)
            .await
            .unwrap()
            .is_none()
    );
    let row = run_ownership::lock(conn, vec!["k".into(), "none".into()]).await.unwrap().remove(0);
    assert_eq!((row.status.as_str(), row.coordinates.as_deref()), ("delivery_created", Some("{\"n\":1}")));
    assert_eq!(run_ownership::by_keys(conn, vec!["k".into()]).await.unwrap(), [row]);
}

async fn what_was_taken_and_not_delivered_is_given_back(bed: TestBed) {
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    for (key, owner) in [("1", OURS), ("2", OURS), ("3", OLD), ("4", OURS)] {
        run_ownership::take(conn, bed.now(), &take(key, owner)).await.unwrap();
    }
    run_ownership::delivered(conn, bed.now(), OURS, &[("2".into(), "{}".into())]).await.unwrap();
    let subjects = || vec!["a".to_owned(), "b".to_owned()];
    let mut owned = run_ownership::owned(conn, PATH, OURS, subjects()).await.unwrap();
    owned.sort();
    assert_eq!(owned, ["1", "4"]);
    let all_but_one = vec!["1".into(), "2".into(), "3".into()];
    let back = run_ownership::give_back(conn, bed.now(), PATH, OURS, all_but_one).await;
    assert_eq!(back.unwrap(), ["1"]);
    assert_eq!(run_ownership::owned(conn, PATH, OURS, subjects()).await.unwrap(), ["4"]);
    let (from, to) = (bed.now(), bed.after(1));
    let taken = run_ownership::taken(conn, PATH, OLD, from, to, vec!["a".into()], 10).await.unwrap();
    assert_eq!(taken.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["3"]);
}

async fn records_count_attempts_and_figures_go_by_stage(bed: TestBed) {
    let record = |key: &str, stage: Option<i64>, outcome: &str| RecordRow {
        key: key.into(),
        workflow: PATH.into(),
        subject_id: "a".into(),
        business_unit: None,
        stage,
        due_at: bed.now(),
        decided_at: Timestamp::UNIX_EPOCH,
        outcome: RunOutcome::parse(outcome).unwrap(),
        reason: None,
        attempts: 1,
        conflicts: i64::from(outcome == "conflict"),
        details: "{}".into(),
        has_files: false,
        files_purged_at: None,
    };
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    run_records::put(conn, bed.after(1), &[record("1", Some(3), "conflict"), record("2", Some(1), "shadow")])
        .await
        .unwrap();
    run_records::put(conn, bed.after(2), &[record("1", Some(3), "conflict")]).await.unwrap();
    run_records::put(conn, bed.after(4), &[record("1", Some(3), "delivered"), record("3", None, "failed")])
        .await
        .unwrap();
    run_records::put(conn, bed.after(4), &[]).await.unwrap();
    let one = run_records::by_keys(conn, vec!["1".into()]).await.unwrap().remove(0);
    assert_eq!((one.attempts, one.conflicts, one.outcome.as_str()), (3, 2, "delivered"));
    let (from, to) = (bed.now(), bed.after(1));
    let expected = run_records::expected(conn, PATH, from, to, vec!["a".into()], 10).await.unwrap();
    assert_eq!(expected.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["2"]);
    let mut figures = run_records::figures(conn, PATH, from, to, vec!["a".into()]).await.unwrap();
    figures.sort_by_key(|row| row.stage);
    let reported: Vec<_> =
        figures.iter().map(|row| (row.stage, row.runs, row.conflicts, row.mean_latency)).collect();
    assert_eq!(reported, [(None, 1, 0, None), (Some(1), 1, 0, None), (Some(3), 1, 2, Some(4_000_000))]);
}

async fn files_are_old_only_where_nothing_is_under_way_and_new_ones_are_kept(bed: TestBed) {
    bed.leaves_open("one of the runs waits");
    let record = |key: &str, has_files: bool| RecordRow {
        key: key.into(),
        workflow: PATH.into(),
        subject_id: "a".into(),
        business_unit: None,
        stage: None,
        due_at: Timestamp::UNIX_EPOCH,
        decided_at: Timestamp::UNIX_EPOCH,
        outcome: RunOutcome::Delivered,
        reason: None,
        attempts: 1,
        conflicts: 0,
        details: "{}".into(),
        has_files,
        files_purged_at: None,
    };
    let key = WorkKey::report_manual("a", "1").unwrap();
    let waiting = NewWork {
        key: key.clone(),
        kind: PATH,
        trigger: Trigger::ManualRun,
        business_unit: None,
        source: Some((PATH.into(), "a".into())),
        setting_id: Some("a".into()),
        due_at: bed.after(100),
        local: None,
        input_hash: InputHash::of_fields(&[("n", 1_i64.into())]),
        input: "{}".into(),
    };
    bed.ensure(&[waiting]).await;
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    let rows = [record(key.as_str(), true), record("old", true), record("none", false)];
    run_records::put(conn, bed.now(), &rows).await.unwrap();
    run_records::put(conn, bed.after(10), &[record("young", true)]).await.unwrap();
    let old = run_records::with_old_files(conn, PATH, bed.after(10), 10).await.unwrap();
    assert_eq!(old.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["old"]);
    let decided = bed.now();
    let runs = [("old".to_owned(), decided), ("young".to_owned(), decided)];
    assert_eq!(run_records::files_purged(conn, bed.after(20), &runs).await.unwrap(), 1);
    assert_eq!(run_records::files_purged(conn, bed.after(20), &[]).await.unwrap(), 0);
    let one = run_records::by_keys(conn, vec!["old".into()]).await.unwrap().remove(0);
    assert_eq!((one.has_files, one.files_purged_at), (false, Some(bed.after(20))));
    assert!(run_records::with_old_files(conn, PATH, bed.after(10), 10).await.unwrap().is_empty());
    run_records::put(conn, bed.after(30), &[record("old", true)]).await.unwrap();
    let again = run_records::by_keys(conn, vec!["old".into()]).await.unwrap().remove(0);
    assert_eq!((again.has_files, again.files_purged_at), (true, None), "made again, it has files again");
}

fn rollout(scope: &str, id: &str, stage: i64) -> RolloutRow {
    RolloutRow {
        selected_runs: None,
        workflow: PATH.into(),
        scope: scope.into(),
        scope_id: id.into(),
        stage,
        checklist: "{}".into(),
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

async fn the_rollout_of_a_subject_goes_before_that_of_its_unit(bed: TestBed) {
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    assert!(rollouts::over(conn, PATH, "a", Some("nz")).await.unwrap().is_none());
    rollouts::put(conn, bed.now(), &rollout("business_unit", "nz", 1)).await.unwrap();
    assert_eq!(rollouts::over(conn, PATH, "a", Some("nz")).await.unwrap().unwrap().stage, 1);
    assert!(rollouts::over(conn, PATH, "a", None).await.unwrap().is_none());
    rollouts::put(conn, bed.now(), &rollout("subject", "a", 3)).await.unwrap();
    rollouts::put(conn, bed.now(), &rollout("subject", "a", 4)).await.unwrap();
    assert_eq!(rollouts::hold_over(conn, PATH, "a", Some("nz")).await.unwrap().unwrap().stage, 4);
    assert_eq!(rollouts::lock(conn, PATH, "subject", "a").await.unwrap().unwrap().version, 2);
    let page = rollouts::page(conn, &Reach::Everything, PATH, ("business_unit", "nz"), 10).await.unwrap();
    assert_eq!(page.iter().map(|row| row.scope_id.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(rollouts::delete(conn, PATH, "subject", "a").await.unwrap());
    assert_eq!(rollouts::get(conn, PATH, "subject", "a").await.unwrap(), None);
}

async fn rows_in_trouble_are_found_by_kind_and_source(bed: TestBed) {
    let row = |n: i64, source: &str| NewWork {
        key: WorkKey::report_manual(source, &n.to_string()).unwrap(),
        kind: PATH,
        trigger: Trigger::ManualRun,
        business_unit: None,
        source: Some((PATH.into(), source.into())),
        setting_id: Some(source.into()),
        due_at: bed.after(100),
        local: None,
        input_hash: InputHash::of_fields(&[("n", n.into())]),
        input: "{}".into(),
    };
    let rows = [row(1, "a"), row(2, "a"), row(3, "b")];
    let ids: Vec<i64> = bed.ensure(&rows).await.into_iter().map(|one| one.id).collect();
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    work::put_on_hold_as_conflict(conn, bed.now(), vec![ids[0], ids[2]]).await.unwrap();
    let found = async |conn: &mut punctual_store::Conn<'_>, source: Option<&str>| {
        let rows =
            work::troubled(conn, &punctual_model::Reach::Everything, PATH, source, None, 10).await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(found(conn, None).await, [ids[2], ids[0]]);
    assert_eq!(found(conn, Some("a")).await, [ids[0]]);
    assert!(!work::hasten(conn, bed.now(), ids[1]).await.unwrap(), "it has not failed");
    let live = report_subscriptions::live_runs(conn, vec!["a".into()]).await.unwrap();
    assert_eq!(live.iter().map(|row| row.id).collect::<Vec<_>>(), ids[..2]);
    drop(tx);
    bed.leaves_open("one row is planned");
}

/// The first column of an answer, behind the store's back, as another scheduler would ask.
async fn texts(bed: &TestBed, sql: &'static str) -> Vec<String> {
    match bed.database() {
        Database::Sqlite => {
            let conn = sqlite_file(bed);
            let mut statement = conn.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        }
        Database::Postgres => {
            let mut conn = PgConnection::connect(bed.url()).await.unwrap();
            sqlx::query_scalar(sql).fetch_all(&mut conn).await.unwrap()
        }
    }
}

async fn the_views_say_who_owns_what(bed: TestBed) {
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    for row in [subscription("a", Some("nz")), subscription("b", None), subscription("c", None)] {
        report_subscriptions::insert(conn, bed.now(), &row).await.unwrap();
    }
    rollouts::put(conn, bed.now(), &rollout("business_unit", "nz", 2)).await.unwrap();
    rollouts::put(conn, bed.now(), &rollout("subject", "b", 1)).await.unwrap();
    run_ownership::take(conn, bed.now(), &take("k", OLD)).await.unwrap();
    tx.commit().await.unwrap();
    let owned = "SELECT scheduler_key || ' ' || owner_type || ' ' || owner_version || ' ' || status FROM report_run_ownership";
    assert_eq!(texts(&bed, owned).await, ["k OldScheduler 1 Owned"]);
    let duties = "SELECT subscription_guid || ' ' || scheduled_owner || ' ' || manual_owner FROM report_run_duties ORDER BY subscription_guid";
    assert_eq!(
        texts(&bed, duties).await,
        [
            "a OldScheduler AutomationScheduler",
            "b OldScheduler OldScheduler",
            "c AutomationScheduler AutomationScheduler"
        ]
    );
}
