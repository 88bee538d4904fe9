//! The statements of `work`.

use jiff::Timestamp;
use punctual_model::{NewWork, Reach, ReasonCode, WorkStatus};
use punctual_store::{
    After, Tx,
    work::{self, Claimed, Settlement, WorkFilter, WorkRow},
};
use punctual_testkit::{TestBed, new_work, on_both};

on_both! {
    absent_keys_are_inserted_and_known_ones_left;
    every_column_comes_back_as_it_was_given;
    existing_rows_are_read_in_key_order;
    a_row_is_moved_or_brought_back_only_at_the_version_that_was_read;
    a_conflict_holds_what_waits_and_leaves_what_is_done;
    a_claim_gives_a_token_that_renew_release_and_settle_need;
    a_settlement_writes_what_it_says_and_keeps_what_it_does_not;
    s0_34_reactivation_keeps_what_was_before_and_starts_the_retries_again;
    s0_34_a_held_row_comes_back_held_with_its_attempts;
    the_earliest_of_each_kind_is_found;
    expired_claims_come_oldest_first;
    all_leases_can_be_ended_at_once;
    cancel_retry_and_release_change_only_the_states_they_are_for;
    deactivate_ends_what_waits_or_failed;
    a_support_retry_copies_what_the_row_is_about;
    open_notifications_are_counted_down_and_up;
    a_page_is_limited_by_every_filter_alone;
    rows_are_counted_by_state;
    a_busy_table_says_so;
}

pub(crate) async fn insert(bed: &TestBed, rows: &[NewWork]) -> Vec<i64> {
    let mut tx = bed.begin().await;
    let rows: Vec<&NewWork> = rows.iter().collect();
    let inserted = work::insert_absent(&mut tx.conn(), bed.now(), &rows).await.unwrap();
    tx.commit().await.unwrap();
    inserted.into_iter().map(|row| row.id).collect()
}

async fn claim(bed: &TestBed, limit: i64) -> Vec<Claimed> {
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), limit).await.unwrap();
    tx.commit().await.unwrap();
    claimed
}

fn settlement(row: &Claimed, status: &str) -> Settlement {
    Settlement {
        id: row.id,
        token: row.version,
        status: WorkStatus::parse(status).unwrap(),
        reason: None,
        on_hold: false,
        retry_count: row.retry_count,
        retry_at: None,
        result: None,
        open_notifications: 0,
    }
}

async fn settle(bed: &TestBed, rows: &[Settlement]) -> Vec<i64> {
    let mut tx = bed.begin().await;
    let settled = work::settle(&mut tx.conn(), bed.now(), rows).await.unwrap();
    tx.commit().await.unwrap();
    settled
}

/// Rows `{status}` in each state, as a claim and a settlement leave them.
async fn one_of_each(bed: &TestBed) -> Vec<WorkRow> {
    let states = ["completed", "failed", "deactivated", "cancelled", "pending", "processing"];
    let rows: Vec<NewWork> = states.iter().map(|state| new_work("test", state, bed.now())).collect();
    insert(bed, &rows).await;
    let claimed = claim(bed, 10).await;
    let settlements: Vec<Settlement> = claimed
        .iter()
        .filter(|row| row.key != "processing")
        .map(|row| settlement(row, states[..5].iter().find(|state| row.key == **state).unwrap()))
        .collect();
    assert_eq!(settle(bed, &settlements).await.len(), 5);
    let mut found = Vec::new();
    for state in states {
        let row = bed.work(state).await;
        assert_eq!(row.status.as_str(), state);
        found.push(row);
    }
    found
}

async fn absent_keys_are_inserted_and_known_ones_left(bed: TestBed) {
    assert_eq!(
        insert(&bed, &[new_work("test", "a", bed.now()), new_work("test", "c", bed.now())]).await.len(),
        2
    );
    let again = [new_work("test", "a", bed.after(9)), new_work("test", "b", bed.now())];
    assert_eq!(insert(&bed, &again).await.len(), 1);
    assert_eq!(bed.work("a").await.due_at, bed.now());
    assert!(insert(&bed, &[]).await.is_empty());
    bed.leaves_open("rows only");
}

async fn every_column_comes_back_as_it_was_given(bed: TestBed) {
    let mut row = new_work("test", "reminder:s:document:42:t:2026-05-14:30", bed.after(5));
    row.business_unit = Some("nz".into());
    row.source = Some(("document".into(), "42\"\\\n\u{1}é{}[]".into()));
    row.setting_id = Some("s".into());
    row.local = Some(("2026-05-14".into(), "Pacific/Auckland".into()));
    row.input = r#"{"a":"quote \" and backslash \\","b":[1,null]}"#.into();
    let id = insert(&bed, &[row.clone()]).await[0];
    let now = bed.now();
    let due = row.due_at;
    let expected = WorkRow {
        id,
        key: row.key.as_str().into(),
        kind: "test".into(),
        trigger_type: "at".into(),
        business_unit: row.business_unit.clone(),
        source_type: Some("document".into()),
        source_id: Some("42\"\\\n\u{1}é{}[]".into()),
        setting_id: row.setting_id.clone(),
        due_at: due,
        local_date: Some("2026-05-14".into()),
        time_zone: Some("Pacific/Auckland".into()),
        status: WorkStatus::Pending,
        on_hold: false,
        ready_at: due,
        lease_expires_at: None,
        retry_count: 0,
        earlier_attempts: 0,
        next_retry_at: None,
        reason_code: None,
        earlier_reason: None,
        input_hash: row.input_hash.to_string(),
        input: row.input.clone(),
        result: None,
        trace_blob: None,
        open_notifications: 0,
        retry_of: None,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    let mut reader = bed.read().await;
    assert_eq!(work::by_id(&mut reader.conn(), &Reach::Everything, id).await.unwrap().unwrap(), expected);
    assert_eq!(
        work::by_key(&mut reader.conn(), &Reach::Everything, row.key.as_str()).await.unwrap().unwrap(),
        expected
    );
    let by_keys =
        work::by_keys(&mut reader.conn(), &Reach::Everything, vec![expected.key.clone(), "no".into()])
            .await
            .unwrap();
    assert_eq!((by_keys.len(), &by_keys[0]), (1, &expected));
    assert_eq!(work::by_id(&mut reader.conn(), &Reach::Everything, id + 1).await.unwrap(), None);
    assert_eq!(expected.key().unwrap(), row.key);
    assert_eq!(expected.input_hash().unwrap(), row.input_hash);
    assert_eq!(expected.trigger().unwrap().as_str(), "at");
    drop(reader);
    let mut tx = bed.begin().await;
    assert_eq!(work::set_trace(&mut tx.conn(), id, "traces/1").await.unwrap(), 1);
    tx.commit().await.unwrap();
    assert_eq!(bed.work_by_id(id).await.trace_blob.as_deref(), Some("traces/1"));
    bed.leaves_open("rows only");
}

async fn existing_rows_are_read_in_key_order(bed: TestBed) {
    insert(&bed, &["a", "b", "c"].map(|key| new_work("test", key, bed.now()))).await;
    let mut tx = bed.begin().await;
    let asked = ["c", "a", "nobody"].map(str::to_owned).to_vec();
    let rows = work::lock_existing(&mut tx.conn(), asked).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    bed.leaves_open("rows only");
}

async fn a_row_is_moved_or_brought_back_only_at_the_version_that_was_read(bed: TestBed) {
    one_of_each(&bed).await;
    let mut tx = bed.begin().await;
    let keys = ["cancelled", "failed", "pending"].map(str::to_owned).to_vec();
    let mut rows = work::lock_existing(&mut tx.conn(), keys).await.unwrap();
    rows[0].version -= 1;
    let wanted = ["cancelled", "failed", "pending"].map(|key| new_work("test", key, bed.after(60)));
    let all: Vec<_> = rows.iter().zip(&wanted).collect();
    work::reactivate(&mut tx.conn(), bed.now(), &all[..2]).await.unwrap();
    assert_eq!(work::reschedule(&mut tx.conn(), bed.now(), &all[2..]).await.unwrap(), 1);
    rows[2].version -= 1;
    let stale = [(&rows[2], &wanted[2])];
    assert_eq!(work::reschedule(&mut tx.conn(), bed.now(), &stale).await.unwrap(), 0);
    tx.commit().await.unwrap();
    let back = bed.work("failed").await;
    let due = bed.after(60);
    assert_eq!((back.status.as_str(), back.due_at, back.ready_at, back.version), ("pending", due, due, 4));
    assert_eq!(bed.work("pending").await.due_at, due);
    assert_eq!(bed.work("cancelled").await.status.as_str(), "cancelled", "it was read at another version");
    bed.leaves_open("rows only");
}

async fn a_conflict_holds_what_waits_and_leaves_what_is_done(bed: TestBed) {
    let rows = one_of_each(&bed).await;
    let mut tx = bed.begin().await;
    let ids = rows.iter().map(|row| row.id).collect();
    assert_eq!(work::put_on_hold_as_conflict(&mut tx.conn(), bed.now(), ids).await.unwrap(), 4);
    tx.commit().await.unwrap();
    for row in rows {
        let held = bed.work_by_id(row.id).await;
        assert_eq!(held.status, row.status);
        assert_eq!(
            held.on_hold,
            !matches!(row.status.as_str(), "completed" | "processing"),
            "{}",
            row.status
        );
    }
    bed.leaves_open("rows only");
}

async fn a_claim_gives_a_token_that_renew_release_and_settle_need(bed: TestBed) {
    insert(&bed, &["a", "b"].map(|key| new_work("test", key, bed.now()))).await;
    let claimed = claim(&bed, 10).await;
    assert_eq!(claimed.iter().map(|row| row.version).collect::<Vec<_>>(), [2, 2]);
    let [a, b] = [&claimed[0], &claimed[1]];
    let mut tx = bed.begin().await;
    let held = [(a.id, a.version), (b.id, b.version + 1), (999, 1)];
    assert_eq!(work::renew(&mut tx.conn(), bed.after(600), &held).await.unwrap(), [a.id]);
    assert_eq!(work::release(&mut tx.conn(), bed.now(), &held).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let given_back = bed.work("a").await;
    assert_eq!(
        (given_back.status.as_str(), given_back.lease_expires_at, given_back.version),
        ("pending", None, 3)
    );
    assert_eq!(settle(&bed, &[settlement(a, "completed"), settlement(b, "completed")]).await, [b.id]);
    assert!(settle(&bed, &[settlement(b, "failed")]).await.is_empty(), "a token is good once");
    bed.leaves_open("rows only");
}

async fn s0_34_a_held_row_comes_back_held_with_its_attempts(bed: TestBed) {
    insert(&bed, &[new_work("test", "a", bed.now())]).await;
    let row = claim(&bed, 1).await.remove(0);
    let held = Settlement {
        reason: Some(ReasonCode::DecisionFailed),
        on_hold: true,
        retry_count: 3,
        ..settlement(&row, "pending")
    };
    settle(&bed, &[held]).await;
    let mut tx = bed.begin().await;
    let conn = &mut tx.conn();
    work::deactivate(conn, bed.now(), "SourceNoLongerValid", vec!["a".into()]).await.unwrap();
    let ended = work::lock_existing(conn, vec!["a".into()]).await.unwrap();
    assert_eq!((ended[0].status.as_str(), ended[0].on_hold), ("deactivated", true));
    let again = new_work("test", "a", bed.after(60));
    work::reactivate(conn, bed.now(), &[(&ended[0], &again)]).await.unwrap();
    tx.commit().await.unwrap();
    let back = bed.work("a").await;
    assert_eq!((back.status.as_str(), back.on_hold, back.retry_count), ("pending", true, 3));
    assert_eq!(back.reason_code.as_deref(), Some("decision-failed"), "why it is held stays too");
    let mut tx = bed.begin().await;
    work::release_hold(&mut tx.conn(), bed.now(), back.id).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let on = bed.work("a").await;
    assert_eq!((on.reason_code.as_deref(), on.retry_count), (None, 0));
    assert_eq!((on.earlier_reason.as_deref(), on.earlier_attempts), (Some("decision-failed"), 3));
    bed.leaves_open("rows only");
}

async fn s0_34_reactivation_keeps_what_was_before_and_starts_the_retries_again(bed: TestBed) {
    for ended in ["failed", "deactivated", "cancelled"] {
        insert(&bed, &[new_work("test", ended, bed.now())]).await;
        let row = claim(&bed, 1).await.remove(0);
        let tried = Settlement {
            reason: Some(ReasonCode::DecisionFailed),
            retry_count: 2,
            result: Some(r#"{"notifications":["n"]}"#.into()),
            ..settlement(&row, if ended == "failed" { "failed" } else { "pending" })
        };
        settle(&bed, &[tried]).await;
        let mut tx = bed.begin().await;
        let conn = &mut tx.conn();
        match ended {
            "deactivated" => {
                drop(work::deactivate(conn, bed.now(), "SourceNoLongerValid", vec![ended.into()]).await)
            }
            "cancelled" => drop(work::cancel(conn, bed.now(), row.id, true).await),
            _ => {}
        }
        let found = work::lock_existing(conn, vec![ended.into()]).await.unwrap();
        assert_eq!(found[0].status.as_str(), ended);
        let again = new_work("test", ended, bed.after(60));
        work::reactivate(conn, bed.now(), &[(&found[0], &again)]).await.unwrap();
        tx.commit().await.unwrap();
        let back = bed.work(ended).await;
        assert_eq!((back.status.as_str(), back.retry_count), ("pending", 0), "{ended}");
        assert_eq!(back.result.as_deref(), Some(r#"{"notifications":["n"]}"#), "{ended}");
        assert_eq!(back.reason_code, None, "{ended}: a row that waits is not over");
        let why = match ended {
            "failed" => "decision-failed",
            "deactivated" => "SourceNoLongerValid",
            _ => "cancelled",
        };
        assert_eq!((back.earlier_attempts, back.earlier_reason.as_deref()), (2, Some(why)), "{ended}");
    }
    bed.leaves_open("rows only");
}

async fn a_settlement_writes_what_it_says_and_keeps_what_it_does_not(bed: TestBed) {
    insert(&bed, &[new_work("test", "a", bed.now())]).await;
    let row = claim(&bed, 1).await.remove(0);
    let first = Settlement {
        reason: Some(ReasonCode::QuietHours),
        retry_count: 3,
        retry_at: Some(bed.after(300)),
        result: Some(r#"{"n":1}"#.into()),
        ..settlement(&row, "pending")
    };
    settle(&bed, &[first]).await;
    let waits = bed.work("a").await;
    let at = bed.after(300);
    assert_eq!((waits.ready_at, waits.next_retry_at, waits.retry_count), (at, Some(at), 3));
    bed.wait(300);
    let row = claim(&bed, 1).await.remove(0);
    settle(&bed, &[Settlement { on_hold: true, open_notifications: 2, ..settlement(&row, "pending") }]).await;
    let held = bed.work("a").await;
    assert_eq!((held.on_hold, held.open_notifications, held.next_retry_at), (true, 2, None));
    assert_eq!((held.reason_code, held.result.as_deref()), (None, Some(r#"{"n":1}"#)), "coordinates stay");
    assert_eq!((held.lease_expires_at, held.ready_at), (None, at));
}

async fn the_earliest_of_each_kind_is_found(bed: TestBed) {
    let rows = [
        new_work("test", "a", bed.after(20)),
        new_work("test", "b", bed.after(10)),
        new_work("other", "c", bed.after(5)),
    ];
    insert(&bed, &rows).await;
    let mut reader = bed.read().await;
    let mut earliest =
        work::earliest(&mut reader.conn(), &["test", "other", "none"].map(|kind| (kind, After::BEGINNING)))
            .await
            .unwrap();
    earliest.sort();
    let at = |seconds| bed.after(seconds).as_microsecond();
    assert_eq!(earliest, [("other".into(), at(5)), ("test".into(), at(10))]);
    assert!(work::earliest(&mut reader.conn(), &[]).await.unwrap().is_empty());
    // Behind a place, and from the beginning where nothing lies behind it.
    let place = |seconds| After { ready_at: at(seconds), id: i64::MAX };
    let kinds = [("test", place(10)), ("other", place(5)), ("none", place(0))];
    let mut earliest = work::earliest(&mut reader.conn(), &kinds).await.unwrap();
    earliest.sort();
    assert_eq!(earliest, [("other".into(), at(5)), ("test".into(), at(20))]);
    bed.leaves_open("rows only");
}

async fn expired_claims_come_oldest_first(bed: TestBed) {
    insert(&bed, &["a", "b", "c"].map(|key| new_work("test", key, bed.now()))).await;
    let mut tx = bed.begin().await;
    for lease in [30, 10, 20] {
        work::claim(&mut tx, "test", bed.now(), bed.after(lease), 1).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut tx = bed.begin().await;
    let expired = work::expired(&mut tx.conn(), bed.after(20), 10).await.unwrap();
    assert_eq!(expired.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(work::expired(&mut tx.conn(), bed.after(99), 1).await.unwrap().len(), 1);
    bed.leaves_open("rows only");
}

async fn all_leases_can_be_ended_at_once(bed: TestBed) {
    insert(&bed, &["a", "b"].map(|key| new_work("test", key, bed.now()))).await;
    claim(&bed, 2).await;
    let mut tx = bed.begin().await;
    assert_eq!(work::release_leases(&mut tx.conn(), bed.now()).await.unwrap(), 2);
    assert_eq!(work::release_leases(&mut tx.conn(), bed.now()).await.unwrap(), 0);
    assert_eq!(work::expired(&mut tx.conn(), bed.now(), 10).await.unwrap().len(), 2);
    bed.leaves_open("rows only");
}

async fn cancel_retry_and_release_change_only_the_states_they_are_for(bed: TestBed) {
    for row in one_of_each(&bed).await {
        let mut tx = bed.begin().await;
        let state = row.status.as_str();
        // Each is rolled back with its transaction.
        let cancelled = work::cancel(&mut tx.conn(), bed.now(), row.id, true).await.unwrap();
        assert_eq!(cancelled.is_some(), matches!(state, "pending" | "failed"), "cancel {state}");
        drop(tx);
        let mut tx = bed.begin().await;
        let retried = work::retry(&mut tx.conn(), bed.now(), row.id).await.unwrap();
        assert_eq!(
            retried.is_some(),
            matches!(state, "failed" | "deactivated" | "cancelled"),
            "retry {state}"
        );
        if let Some(changed) = retried {
            assert_eq!(
                (changed.id, changed.key, changed.version),
                (row.id, row.key.clone(), row.version + 1)
            );
        }
        drop(tx);
        let mut tx = bed.begin().await;
        assert!(
            work::release_hold(&mut tx.conn(), bed.now(), row.id).await.unwrap().is_none(),
            "release {state}"
        );
        drop(tx);
        assert_eq!(bed.work_by_id(row.id).await, row);
    }
    bed.leaves_open("rows only");
}

async fn deactivate_ends_what_waits_or_failed(bed: TestBed) {
    let rows = one_of_each(&bed).await;
    let mut tx = bed.begin().await;
    let keys = rows.iter().map(|row| row.key.clone()).collect();
    let mut changed: Vec<String> = work::deactivate(&mut tx.conn(), bed.now(), "gone", keys)
        .await
        .unwrap()
        .into_iter()
        .map(|row| row.key)
        .collect();
    tx.commit().await.unwrap();
    changed.sort();
    assert_eq!(changed, ["failed", "pending"]);
    assert_eq!(bed.work("pending").await.reason_code.as_deref(), Some("gone"));
    bed.leaves_open("one is under way");
}

async fn a_support_retry_copies_what_the_row_is_about(bed: TestBed) {
    let mut new = new_work("test", "a", bed.now());
    new.source = Some(("document".into(), "42".into()));
    let id = insert(&bed, &[new]).await[0];
    let of = bed.work_by_id(id).await;
    bed.wait(10);
    let mut tx = bed.begin().await;
    let retry =
        work::insert_retry(&mut tx.conn(), bed.now(), &of, "a:support-retry:1").await.unwrap().unwrap();
    assert!(work::insert_retry(&mut tx.conn(), bed.now(), &of, "a:support-retry:1").await.unwrap().is_none());
    tx.commit().await.unwrap();
    let row = bed.work_by_id(retry.id).await;
    assert_eq!((row.retry_of, row.due_at, row.status.as_str()), (Some(id), bed.now(), "pending"));
    assert_eq!((row.source_id, row.input_hash, row.input), (of.source_id, of.input_hash, of.input));
    let mut reader = bed.read().await;
    let retries = work::retries_of(&mut reader.conn(), &Reach::Everything, id).await.unwrap();
    assert_eq!(retries.iter().map(|row| row.id).collect::<Vec<_>>(), [retry.id]);
    bed.leaves_open("rows only");
}

async fn open_notifications_are_counted_down_and_up(bed: TestBed) {
    insert(&bed, &["a", "b"].map(|key| new_work("test", key, bed.now()))).await;
    let claimed = claim(&bed, 2).await;
    let rows: Vec<_> = claimed
        .iter()
        .map(|row| Settlement { open_notifications: 2, ..settlement(row, "completed") })
        .collect();
    settle(&bed, &rows).await;
    let (a, b) = (claimed[0].id, claimed[1].id);
    let mut tx = bed.begin().await;
    let mut open: Vec<(i64, i64)> = work::count_down(&mut tx.conn(), vec![a, b, a])
        .await
        .unwrap()
        .into_iter()
        .map(|row| (row.id, row.open_notifications))
        .collect();
    open.sort_unstable();
    assert_eq!(open, [(a, 0), (b, 1)]);
    assert_eq!(work::count_up(&mut tx.conn(), vec![a]).await.unwrap(), 1);
    tx.commit().await.unwrap();
    assert_eq!(bed.work_by_id(a).await.open_notifications, 1);
}

async fn a_page_is_limited_by_every_filter_alone(bed: TestBed) {
    one_of_each(&bed).await;
    let mut other = new_work("other", "z", bed.after(100));
    other.business_unit = Some("nz".into());
    other.source = Some(("document".into(), "42".into()));
    insert(&bed, &[other]).await;
    let list = async |change: &dyn Fn(&mut WorkFilter)| {
        let mut filter = WorkFilter { limit: 100, ..Default::default() };
        change(&mut filter);
        let mut reader = bed.read().await;
        let rows = work::list(&mut reader.conn(), &Reach::Everything, &filter).await.unwrap();
        assert!(rows.is_sorted_by(|a, b| a.id > b.id), "newest first");
        rows.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    let at = |seconds: i64| bed.after(seconds);
    assert_eq!(list(&|_| {}).await.len(), 7);
    assert_eq!(list(&|f| f.status = Some(WorkStatus::Failed)).await, ["failed"]);
    assert_eq!(list(&|f| f.kind = Some("other".into())).await, ["z"]);
    assert_eq!(list(&|f| f.on_hold = Some(true)).await, [""; 0]);
    assert_eq!(list(&|f| f.on_hold = Some(false)).await.len(), 7);
    assert_eq!(list(&|f| f.source_type = Some("document".into())).await, ["z"]);
    assert_eq!(list(&|f| f.source_id = Some("42".into())).await, ["z"]);
    assert_eq!(list(&|f| f.due_from = Some(at(100))).await, ["z"]);
    assert_eq!(list(&|f| f.due_to = Some(at(100))).await.len(), 6);
    for (units, found) in [(vec!["au"], 0), (vec!["nz", "au"], 1)] {
        let reach = Reach::Units(units.into_iter().map(str::to_owned).collect());
        let filter = WorkFilter { limit: 100, ..Default::default() };
        let rows = work::list(&mut bed.read().await.conn(), &reach, &filter).await.unwrap();
        assert_eq!(rows.len(), found, "those of nobody are the installation's");
    }
    assert_eq!(list(&|f| f.limit = 2).await.len(), 2);
    let before = bed.work("z").await.id;
    assert_eq!(list(&|f| f.before = Some(before)).await.len(), 6);
    bed.leaves_open("rows only");
}

async fn rows_are_counted_by_state(bed: TestBed) {
    one_of_each(&bed).await;
    insert(&bed, &[new_work("test", "later", bed.after(60))]).await;
    let mut reader = bed.read().await;
    let now = bed.now().as_microsecond();
    let mut count = async |at_most| {
        let kinds = vec!["other".into(), "test".into()];
        work::counts(&mut reader.conn(), now, kinds, at_most).await.unwrap()
    };
    assert_eq!(count(100).await, work::Counts { pending: 2, ready: 1, held: 0, processing: 1 });
    assert_eq!(count(1).await.pending, 1, "no more than asked for");
    bed.leaves_open("rows only");
}

async fn a_busy_table_says_so(bed: TestBed) {
    let busy = async |now: Timestamp| {
        let mut reader = bed.read().await;
        work::is_busy(&mut reader.conn(), now.as_microsecond(), vec!["test".into()]).await.unwrap()
    };
    assert!(!busy(bed.now()).await);
    insert(&bed, &[new_work("test", "a", bed.after(60))]).await;
    assert!(busy(bed.after(60)).await);
    let claimed: Vec<Claimed> = {
        let mut tx: Tx = bed.begin().await;
        let claimed = work::claim(&mut tx, "test", bed.after(60), bed.after(99), 1).await.unwrap();
        tx.commit().await.unwrap();
        claimed
    };
    assert!(busy(bed.after(60)).await, "what is under way counts");
    settle(&bed, &[settlement(&claimed[0], "completed")]).await;
    assert!(!busy(bed.after(60)).await);
}
