//! The statements of `notifications` and `tombstones`.

use punctual_model::{
    AttemptOutcome, ChannelKey, Json, NewNotification, NotificationId, NotificationSource,
    NotificationStatus, Reach, ReasonCode, WorkId,
};
use punctual_store::{
    After,
    attempts::{self, AttemptResult, Intent},
    notifications::{self, AsOf, Delivery, LaneStart, NotificationFilter, NotificationRow, Stuck, Window},
};
use punctual_testkit::{Database, TestBed, new_work, on_both};
use serde_json::json;

on_both! {
    absent_ids_are_inserted_and_known_ones_left;
    every_column_comes_back_as_it_was_given;
    one_may_be_inserted_already_claimed;
    present_ids_answer_their_state;
    a_claim_is_per_channel_and_most_urgent_first;
    settle_and_renew_need_the_token;
    a_claim_is_held_with_its_token_alone_and_not_written;
    a_delivery_writes_what_it_says;
    a_window_writes_what_is_still_claimed_whatever_else_is_in_it;
    the_earliest_of_each_channel_is_found_whatever_its_priority;
    expired_claims_come_oldest_first;
    retry_and_discard_are_for_parked_ones_only;
    withdrawing_says_what_was_in_time_and_what_waited;
    a_purge_leaves_a_tombstone_and_no_attempts;
    a_page_is_limited_by_every_filter_alone;
    figures_count_each_state_and_leave_events_out;
    what_waits_is_counted_and_is_not_stuck;
    a_busy_table_says_so;
}

fn queued(bed: &TestBed, new: NewNotification) -> NotificationRow {
    let channel = new.channel.clone().unwrap();
    NotificationRow::new(new, channel, bed.now())
}

async fn insert(bed: &TestBed, mut rows: Vec<NotificationRow>) -> Vec<i64> {
    rows.sort_by_key(|row| row.id);
    let mut tx = bed.begin().await;
    let refs: Vec<&NotificationRow> = rows.iter().collect();
    let inserted = notifications::insert_absent(&mut tx.conn(), &refs).await.unwrap();
    tx.commit().await.unwrap();
    inserted.into_iter().map(|row| row.seq).collect()
}

fn parsed(ids: &[impl AsRef<str>]) -> Vec<NotificationId> {
    ids.iter().map(|id| id.as_ref().parse().unwrap()).collect()
}

/// Inserts a message to `address`; returns its id.
async fn insert_one(bed: &TestBed, address: &str, change: impl FnOnce(&mut NotificationRow)) -> String {
    let mut row = queued(bed, bed.message(address));
    change(&mut row);
    let id = row.id.to_string();
    assert_eq!(insert(bed, vec![row]).await.len(), 1);
    id
}

async fn claim(bed: &TestBed, limit: i64) -> Vec<NotificationRow> {
    let mut tx = bed.begin().await;
    let claimed =
        notifications::claim(&mut tx, "memory:default", bed.now(), bed.after(60), limit).await.unwrap();
    tx.commit().await.unwrap();
    claimed
}

fn delivery(row: &NotificationRow, status: &str) -> Delivery {
    Delivery {
        seq: row.seq,
        token: row.version,
        status: NotificationStatus::parse(status).unwrap(),
        retry_count: 1,
        last_error: None,
        reason: None,
        retry_at: None,
        channel: None,
        kind: None,
        leaves_list: false,
    }
}

async fn settle(bed: &TestBed, rows: &[Delivery]) -> Vec<i64> {
    let mut tx = bed.begin().await;
    let settled =
        notifications::settle(&mut tx.conn(), bed.now(), &rows.iter().collect::<Vec<_>>()).await.unwrap();
    tx.commit().await.unwrap();
    settled
}

/// A message in this state.
async fn in_state(bed: &TestBed, status: &'static str, change: impl FnOnce(&mut NotificationRow)) -> String {
    let id = insert_one(bed, &format!("{status}@example.org"), change).await;
    if status != "pending" {
        let row = claim(bed, 1).await.remove(0);
        assert_eq!(settle(bed, &[delivery(&row, status)]).await, [row.seq]);
    }
    assert_eq!(bed.notification(&id).await.status.as_str(), status);
    id
}

async fn absent_ids_are_inserted_and_known_ones_left(bed: TestBed) {
    let (a, b) = (bed.message("a@example.org"), bed.message("b@example.org"));
    assert_eq!(insert(&bed, vec![queued(&bed, a.clone())]).await.len(), 1);
    let mut other = a.clone();
    other.subject = "Other".into();
    assert_eq!(insert(&bed, vec![queued(&bed, other), queued(&bed, b)]).await.len(), 1);
    assert_eq!(bed.notification(&a.id.to_string()).await.subject, "Hello");
    bed.leaves_open("rows only");
}

async fn every_column_comes_back_as_it_was_given(bed: TestBed) {
    let mut new = bed.message_over("memory:default", &["a@example.org", "b\"\\@example.org"]);
    new.kind = "alert".into();
    new.body = "line\nline \u{1} \"quoted\" \\ ü €".into();
    new.html = Some("<p>x</p>".into());
    new.template = Some("welcome".into());
    new.locale = Some("ar-IQ".into());
    new.context = Some(json!({ "name": "Ann" }));
    new.type_data = Some(json!({ "cc": ["c@example.org"] }));
    new.business_unit = Some("nz".into());
    new.source = NotificationSource {
        site: Some("plant-7".into()),
        instance: Some("i-1".into()),
        script: Some("backup.sh".into()),
    };
    new.site_enqueued_at = Some(bed.after(-30));
    new.priority = 2;
    new.topic = Some("offers".into());
    new.failover = vec!["sms:x".parse().unwrap(), "email:default".parse().unwrap()];
    new.not_before = Some(bed.after(60));
    new.envelope.reply_to = Some("desk@example.org".into());
    new.envelope.headers.insert("X-Ticket".into(), "7".into());
    new.client = Some("shop".into());
    let mut row = queued(&bed, new.clone());
    row.work_id = Some(WorkId(7));
    row.reports_back = true;
    let seq = insert(&bed, vec![row.clone()]).await[0];
    // What is new in a row is read as it was written.
    let expected = NotificationRow {
        seq,
        id: new.id,
        digest: new.content_digest(),
        kind: "alert".into(),
        channel: ChannelKey::memory(),
        follows_list: false,
        targets: Some(Json::stored(json!(["a@example.org", "b\"\\@example.org"]).to_string())),
        subject: new.subject.clone(),
        body: new.body.clone(),
        html: new.html.clone(),
        template: new.template.clone(),
        locale: new.locale.clone(),
        context: Some(Json::stored(r#"{"name":"Ann"}"#)),
        type_data: Some(Json::stored(r#"{"cc":["c@example.org"]}"#)),
        status: NotificationStatus::Pending,
        priority: 2,
        ready_at: bed.after(60),
        retry_count: 0,
        attempts: 0,
        business_unit: new.business_unit.clone(),
        source_site: new.source.site.clone(),
        source_instance: new.source.instance.clone(),
        source_script: new.source.script.clone(),
        work_id: Some(WorkId(7)),
        reports_back: true,
        uncertain: 0,
        site_enqueued_at: Some(bed.after(-30)),
        created_at: bed.now(),
        topic: new.topic.clone(),
        failover: Some(Json::stored(r#"["sms:x","email:default"]"#)),
        envelope: Some(Json::stored(r#"{"replyTo":"desk@example.org","headers":{"X-Ticket":"7"}}"#)),
        client: Some("shop".into()),
        version: 1,
        ..row
    };
    let mut reader = bed.read().await;
    let id = expected.id.to_string();
    assert_eq!(
        notifications::by_id(&mut reader.conn(), &Reach::Everything, &id).await.unwrap().unwrap(),
        expected
    );
    assert_eq!(
        notifications::by_ids(&mut reader.conn(), &Reach::Everything, vec![id, "no".into()]).await.unwrap(),
        [expected]
    );
    assert_eq!(notifications::by_id(&mut reader.conn(), &Reach::Everything, "no").await.unwrap(), None);
    let list = insert_one(&bed, "x", |row| {
        (row.list_name, row.targets) = (Some("ops".into()), None);
    })
    .await;
    let row = bed.notification(&list).await;
    assert_eq!((row.list_name.as_deref(), row.targets), (Some("ops"), None));
    bed.leaves_open("rows only");
}

async fn one_may_be_inserted_already_claimed(bed: TestBed) {
    let id = insert_one(&bed, "a@example.org", |row| row.claim(bed.after(60))).await;
    let row = bed.notification(&id).await;
    assert_eq!((row.attempts, row.version), (1, 1));
    assert_eq!(row.lease_expires_at, Some(bed.after(60)));
    assert_eq!(row.last_attempt_at, Some(bed.now()));
    assert!(claim(&bed, 10).await.is_empty());
    bed.leaves_open("rows only");
}

async fn present_ids_answer_their_state(bed: TestBed) {
    let live = insert_one(&bed, "a@example.org", |row| row.source_site = Some("plant-7".into())).await;
    let purged = in_state(&bed, "delivered", |row| row.priority = 0).await;
    bed.wait(10);
    let mut tx = bed.begin().await;
    notifications::purge(&mut tx.conn(), bed.now(), bed.now(), 10).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = bed.begin().await;
    let mut present = notifications::present(
        &mut tx.conn(),
        parsed(&[&live, &purged, "00000000-0000-0000-0000-000000000000"]),
    )
    .await
    .unwrap();
    present.sort_by_key(|row| row.status.known().map(NotificationStatus::as_str));
    let reported: Vec<_> = present
        .iter()
        .map(|row| (row.id.to_string(), row.status.known().unwrap().as_str(), row.source_site.as_deref()))
        .collect();
    assert_eq!(reported, [(purged, "delivered", None), (live, "pending", Some("plant-7"))]);
    bed.leaves_open("rows only");
}

async fn a_claim_is_per_channel_and_most_urgent_first(bed: TestBed) {
    insert_one(&bed, "elsewhere@example.org", |row| row.channel = ChannelKey::stored("memory:other")).await;
    insert_one(&bed, "later@example.org", |row| row.ready_at = bed.after(1)).await;
    let ordinary = insert_one(&bed, "ordinary@example.org", |_| {}).await;
    let urgent = insert_one(&bed, "urgent@example.org", |row| row.priority = 1).await;
    let first = claim(&bed, 1).await;
    assert_eq!(first[0].id.to_string(), urgent);
    assert_eq!((first[0].attempts, first[0].version, first[0].retry_count), (1, 2, 0));
    let second = claim(&bed, 10).await;
    assert_eq!(second.iter().map(|row| row.id.to_string()).collect::<Vec<_>>(), [ordinary]);
    assert_eq!(second[0].targets.as_ref().map(Json::as_str), Some(r#"["ordinary@example.org"]"#));
    let row = bed.notification(&urgent).await;
    assert_eq!((row.status.as_str(), row.lease_expires_at), ("pending", Some(bed.after(60))));
    bed.leaves_open("rows only");
}

async fn a_claim_is_held_with_its_token_alone_and_not_written(bed: TestBed) {
    insert_one(&bed, "a@example.org", |_| {}).await;
    insert_one(&bed, "b@example.org", |_| {}).await;
    let rows = claim(&bed, 2).await;
    let mut tx = bed.begin().await;
    let held = [(rows[0].seq, rows[0].version), (rows[1].seq, rows[1].version - 1), (9_999, 1)];
    assert_eq!(notifications::hold(&mut tx, &held).await.unwrap(), [rows[0].seq]);
    tx.commit().await.unwrap();
    let row = bed.notification(&rows[0].id.to_string()).await;
    assert_eq!((row.version, row.lease_expires_at), (rows[0].version, rows[0].lease_expires_at));
    bed.leaves_open("rows only");
}

async fn settle_and_renew_need_the_token(bed: TestBed) {
    insert_one(&bed, "a@example.org", |_| {}).await;
    let row = claim(&bed, 1).await.remove(0);
    let mut tx = bed.begin().await;
    let held = [(row.seq, row.version - 1), (row.seq, row.version)];
    assert_eq!(notifications::renew(&mut tx.conn(), bed.after(600), &held).await.unwrap(), [row.seq]);
    tx.commit().await.unwrap();
    let stale = Delivery { token: row.version - 1, ..delivery(&row, "delivered") };
    assert!(settle(&bed, &[stale]).await.is_empty());
    assert_eq!(settle(&bed, &[delivery(&row, "delivered")]).await, [row.seq]);
    assert!(settle(&bed, &[delivery(&row, "parked")]).await.is_empty(), "a token is good once");
}

async fn a_delivery_writes_what_it_says(bed: TestBed) {
    let id = insert_one(&bed, "a@example.org", |_| {}).await;
    let row = claim(&bed, 1).await.remove(0);
    let first = Delivery {
        last_error: Some("451".into()),
        retry_at: Some(bed.after(60)),
        channel: Some(ChannelKey::stored("memory:other")),
        ..delivery(&row, "retrying")
    };
    settle(&bed, &[first]).await;
    let waits = bed.notification(&id).await;
    assert_eq!((waits.status.as_str(), waits.channel.as_str()), ("retrying", "memory:other"));
    assert_eq!((waits.ready_at, waits.finished_at), (bed.after(60), None));
    bed.wait(60);
    let mut tx = bed.begin().await;
    let again =
        notifications::claim(&mut tx, "memory:other", bed.now(), bed.after(60), 1).await.unwrap().remove(0);
    tx.commit().await.unwrap();
    assert_eq!((again.attempts, again.retry_count), (2, 1));
    settle(&bed, &[Delivery { reason: Some(ReasonCode::Permanent), ..delivery(&again, "parked") }]).await;
    let parked = bed.notification(&id).await;
    assert_eq!(
        (parked.reason_code.as_deref(), parked.last_error.as_deref()),
        (Some("permanent"), Some("451"))
    );
    assert_eq!((parked.delivered_at, parked.finished_at), (None, Some(bed.now())));
}

/// PostgreSQL writes a window with one statement and SQLite with several: every mixture of its parts does the same on both.
async fn a_window_writes_what_is_still_claimed_whatever_else_is_in_it(bed: TestBed) {
    for mixture in 0..8_u8 {
        let [settles, answers, starts] = [1, 2, 4].map(|part| mixture & part > 0);
        for address in ["ends@example.org", "ended@example.org", "goes-on@example.org", "taken@example.org"] {
            insert_one(&bed, address, |_| {}).await;
        }
        let rows = claim(&bed, 4).await;
        let intent = |row: &NotificationRow, target: &str| Intent {
            seq: row.seq,
            target: target.into(),
            n: row.attempts,
            channel: row.channel.to_string(),
        };
        let mut tx = bed.begin().await;
        let first: Vec<Intent> = rows.iter().map(|row| intent(row, "first")).collect();
        attempts::intend(&mut tx.conn(), bed.now(), "before", &first).await.unwrap();
        tx.commit().await.unwrap();

        let over = Delivery { token: rows[1].version - 1, ..delivery(&rows[1], "delivered") };
        let deliveries = [delivery(&rows[0], "delivered"), over];
        let results = [0, 2].map(|at: usize| AttemptResult {
            seq: rows[at].seq,
            target: "first".into(),
            n: 1,
            finished_at: bed.now(),
            outcome: AttemptOutcome::Delivered,
            provider_id: None,
            answer: None,
        });
        let next = [(rows[2].seq, rows[2].version), (rows[3].seq, rows[3].version - 1)];
        let intents = [intent(&rows[2], "second"), intent(&rows[3], "second")];
        let deliveries: Vec<&Delivery> = deliveries.iter().filter(|_| settles).collect();
        let window = Window {
            deliveries: &deliveries,
            results: if answers { &results } else { &[] },
            next: if starts { &next } else { &[] },
            intents: if starts { &intents } else { &[] },
        };
        let mut tx = bed.begin().await;
        let written = notifications::write_window(&mut tx, bed.now(), "node", &window).await.unwrap();
        tx.commit().await.unwrap();

        let only = |is_there: bool, seq: i64| is_there.then_some(seq).into_iter().collect();
        assert_eq!((written.settled, written.held), (only(settles, rows[0].seq), only(starts, rows[2].seq)));
        let mut statuses = Vec::new();
        for row in &rows {
            statuses.push(bed.notification(&row.id.to_string()).await.status.as_str());
        }
        assert_eq!(
            statuses,
            [if settles { "delivered" } else { "pending" }, "pending", "pending", "pending"]
        );
        let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
        let found = attempts::of(&mut bed.read().await.conn(), seqs.clone()).await.unwrap();
        let answered = answers.then_some(AttemptOutcome::Delivered);
        let mut expected: Vec<(i64, &str, Option<AttemptOutcome>)> = seqs
            .iter()
            .zip([answered, None, answered, None])
            .map(|(seq, outcome)| (*seq, "first", outcome))
            .collect();
        expected.extend(starts.then_some((rows[2].seq, "second", None)));
        let mut found: Vec<_> =
            found.iter().map(|row| (row.notification_seq, row.target.as_str(), row.outcome)).collect();
        found.sort_by_key(|row| (row.0, row.1));
        expected.sort_by_key(|row| (row.0, row.1));
        assert_eq!(found, expected, "mixture {mixture}");
    }
    bed.leaves_open("rows only");
}

async fn the_earliest_of_each_channel_is_found_whatever_its_priority(bed: TestBed) {
    for (channel, priority, seconds) in
        [("memory:a", 5, 10), ("memory:a", 9, 5), ("memory:a", 0, 20), ("memory:b", 3, 7), ("sms:c", 5, 1)]
    {
        insert_one(&bed, "x@example.org", |row| {
            row.channel = ChannelKey::stored(channel);
            row.priority = priority;
            row.ready_at = bed.after(seconds);
        })
        .await;
    }
    let mut reader = bed.read().await;
    let mut earliest = notifications::earliest(&mut reader.conn(), &[]).await.unwrap();
    earliest.sort();
    let found: Vec<(&str, i64, i64)> =
        earliest.iter().map(|row| (row.channel.as_str(), row.priority, row.ready_at)).collect();
    let at = |seconds| bed.after(seconds).as_microsecond();
    let expected =
        [("memory:a", 0, at(20)), ("memory:a", 5, at(10)), ("memory:a", 9, at(5)), ("memory:b", 3, at(7))];
    assert_eq!(found[..4], expected);
    assert_eq!(found[4..], [("sms:c", 5, at(1))]);
    // Behind a place in one lane, and in a channel that has no row any more; the others are found before, between and behind.
    if bed.database() == Database::Postgres {
        let behind = |channel: &str, priority, seconds| LaneStart {
            channel: channel.into(),
            priority,
            after: After { ready_at: at(seconds), id: i64::MAX },
        };
        let starts = [
            behind("memory:a", 9, 5),
            behind("memory:a", 5, 9),
            behind("memory:aa", 5, 9),
            behind("sms:a", 0, 0),
        ];
        let mut found = notifications::earliest(&mut reader.conn(), &starts).await.unwrap();
        found.sort();
        let found: Vec<(&str, i64, i64)> =
            found.iter().map(|row| (row.channel.as_str(), row.priority, row.ready_at)).collect();
        let expected =
            [("memory:a", 0, at(20)), ("memory:a", 5, at(10)), ("memory:b", 3, at(7)), ("sms:c", 5, at(1))];
        assert_eq!(found, expected);
    }
    bed.leaves_open("rows only");
}

async fn expired_claims_come_oldest_first(bed: TestBed) {
    let mut tx = bed.begin().await;
    assert!(notifications::expired(&mut tx.conn(), bed.after(99), 10).await.unwrap().is_empty());
    drop(tx);
    let mut ids = Vec::new();
    for lease in [30, 10, 20] {
        ids.push(insert_one(&bed, "a@example.org", |row| row.claim(bed.after(lease))).await);
    }
    let mut tx = bed.begin().await;
    let expired = notifications::expired(&mut tx.conn(), bed.after(20), 10).await.unwrap();
    assert_eq!(expired.iter().map(|row| row.id.to_string()).collect::<Vec<_>>(), [&*ids[1], &*ids[2]]);
    assert_eq!(notifications::release_leases(&mut tx.conn(), bed.now()).await.unwrap(), 3);
    assert_eq!(notifications::expired(&mut tx.conn(), bed.now(), 10).await.unwrap().len(), 3);
    bed.leaves_open("rows only");
}

async fn retry_and_discard_are_for_parked_ones_only(bed: TestBed) {
    for status in ["retrying", "delivered", "parked", "withdrawn", "discarded", "pending"] {
        let id = in_state(&bed, status, |_| {}).await;
        let row = bed.notification(&id).await;
        let mut tx = bed.begin().await;
        let discarded = notifications::discard(&mut tx.conn(), bed.now(), row.seq).await.unwrap();
        assert_eq!(discarded, (status == "parked").then_some(row.version + 1), "{status}");
        drop(tx);
        let mut tx = bed.begin().await;
        let retried = notifications::retry(&mut tx.conn(), bed.after(5), row.seq).await.unwrap();
        assert_eq!(retried, (status == "parked").then_some(row.version + 1), "{status}");
        tx.commit().await.unwrap();
        if status == "retrying" {
            // Out of the way of the next claim.
            let again = claim(&bed, 1).await.remove(0);
            settle(&bed, &[delivery(&again, "delivered")]).await;
        }
    }
    bed.leaves_open("rows only");
}

async fn withdrawing_says_what_was_in_time_and_what_waited(bed: TestBed) {
    let works = crate::work::insert(&bed, &["w", "other"].map(|key| new_work("test", key, bed.now()))).await;
    let of_work = |row: &mut NotificationRow| {
        row.work_id = Some(WorkId(works[0]));
        row.reports_back = true;
    };
    let parked = in_state(&bed, "parked", of_work).await;
    in_state(&bed, "delivered", of_work).await;
    let waits = insert_one(&bed, "a@example.org", of_work).await;
    let alone = insert_one(&bed, "b@example.org", |row| row.work_id = Some(WorkId(works[0]))).await;
    let claimed = insert_one(&bed, "c@example.org", |row| {
        of_work(row);
        row.claim(bed.after(60));
    })
    .await;
    let untouched = insert_one(&bed, "d@example.org", |row| row.work_id = Some(WorkId(works[1]))).await;
    let mut tx = bed.begin().await;
    let keys = vec!["w".to_owned(), "nobody".to_owned()];
    let mut rows =
        notifications::withdraw_by_work(&mut tx.conn(), bed.now(), ReasonCode::Answered, keys).await.unwrap();
    tx.commit().await.unwrap();
    rows.sort_by_key(|row| row.id);
    let mut expected = [
        (parked.clone(), true, None),
        (waits.clone(), true, Some(WorkId(works[0]))),
        (alone, true, None),
        (claimed.clone(), false, None),
    ];
    expected.sort();
    let reported: Vec<_> =
        rows.into_iter().map(|row| (row.id.to_string(), row.in_time, row.waiting_work)).collect();
    assert_eq!(reported, expected);
    assert_eq!(bed.notification(&waits).await.reason_code.as_deref(), Some("answered"));
    for (id, status) in [(parked, "withdrawn"), (claimed, "pending"), (untouched, "pending")] {
        assert_eq!(bed.notification(&id).await.status.as_str(), status);
    }
    bed.leaves_open("rows only");
}

async fn a_purge_leaves_a_tombstone_and_no_attempts(bed: TestBed) {
    let ids = bed.accept_to(&["a@example.org", "b@example.org"]).await;
    bed.tick().await;
    let seq = bed.notification(&ids[0]).await.seq;
    bed.wait(10);
    let mut tx = bed.begin().await;
    let purged = notifications::purge(&mut tx.conn(), bed.now(), bed.now(), 1).await.unwrap();
    assert_eq!(purged.notifications, 1, "no more than asked");
    let purged = notifications::purge(&mut tx.conn(), bed.now(), bed.now(), 10).await.unwrap();
    assert_eq!(purged.notifications, 1);
    assert_eq!(
        notifications::purge(&mut tx.conn(), bed.now(), bed.now(), 10).await.unwrap().notifications,
        0
    );
    tx.commit().await.unwrap();
    let mut reader = bed.read().await;
    assert!(punctual_store::attempts::of(&mut reader.conn(), vec![seq]).await.unwrap().is_empty());
    assert_eq!(notifications::present(&mut reader.conn(), parsed(&ids)).await.unwrap().len(), 2);
}

async fn a_page_is_limited_by_every_filter_alone(bed: TestBed) {
    in_state(&bed, "delivered", |row| {
        row.subject = "100 % sure_thing".into();
        row.kind = "alert".into();
        row.source_site = Some("plant-7".into());
        row.business_unit = Some("nz".into());
        (row.list_name, row.targets) = (Some("ops".into()), None);
    })
    .await;
    bed.wait(3600);
    let id = insert_one(&bed, "a@example.org", |row| row.kind = "email".into()).await;
    bed.wait(1);
    let list = async |change: &dyn Fn(&mut NotificationFilter)| {
        let mut filter = NotificationFilter { limit: 100, ..Default::default() };
        change(&mut filter);
        let mut reader = bed.read().await;
        let rows = notifications::list(&mut reader.conn(), &punctual_model::Reach::Everything, &filter)
            .await
            .unwrap();
        rows.into_iter().map(|row| row.kind).collect::<Vec<_>>()
    };
    let now = bed.now().as_microsecond();
    assert_eq!(list(&|_| {}).await, ["email", "alert"], "newest first");
    assert_eq!(list(&|f| f.status = Some(NotificationStatus::Pending)).await, ["email"]);
    assert_eq!(list(&|f| f.kind = Some("alert".into())).await, ["alert"]);
    assert_eq!(list(&|f| f.site = Some("plant-7".into())).await, ["alert"]);
    assert_eq!(list(&|f| f.list = Some("ops".into())).await, ["alert"]);
    assert_eq!(list(&|f| f.created_from = Some(now - 2_000_000)).await, ["email"]);
    assert_eq!(list(&|f| f.created_to = Some(now - 2_000_000)).await, ["alert"]);
    assert_eq!(list(&|f| f.stuck = Some(Stuck { before: now, held_back: None })).await, ["email"]);
    assert_eq!(list(&|f| f.stuck = Some(Stuck { before: now - 2_000_000, held_back: None })).await, [""; 0]);
    let held = |channels: &str| Some(Stuck { before: now, held_back: Some(channels.into()) });
    assert_eq!(list(&|f| f.stuck = held(r#"{"memory:default":9}"#)).await, ["email"]);
    assert_eq!(list(&|f| f.stuck = held(r#"{"memory:default":1}"#)).await, [""; 0]);
    assert_eq!(list(&|f| f.q = Some("100 % SURE_".into())).await, ["alert"]);
    assert_eq!(list(&|f| f.q = Some("100_%".into())).await, [""; 0], "what was typed is no wildcard");
    for (unit, found) in [("au", 0), ("nz", 1)] {
        let reach = punctual_model::Reach::Units(vec![unit.to_owned()]);
        let filter = NotificationFilter { limit: 100, ..Default::default() };
        let rows = notifications::list(&mut bed.read().await.conn(), &reach, &filter).await.unwrap();
        assert_eq!(rows.len(), found, "one without a unit is the installation's");
    }
    assert_eq!(list(&|f| f.limit = 1).await, ["email"]);
    let seq = bed.notification(&id).await.seq;
    assert_eq!(list(&|f| f.before = Some(seq)).await, ["alert"]);
    bed.leaves_open("rows only");
}

fn as_of<'a>(stuck_before: i64, since: i64) -> AsOf<'a> {
    AsOf { now: stuck_before, stuck_before, since, held_back: None }
}

async fn what_waits_is_counted_and_is_not_stuck(bed: TestBed) {
    let created = bed.now().as_microsecond();
    for (address, priority) in [("alarm@example.org", 0), ("campaign@example.org", 8)] {
        insert_one(&bed, address, |row| {
            row.priority = priority;
            row.source_site = Some("plant-7".into());
        })
        .await;
    }
    let rows = claim(&bed, 2).await;
    let until = jiff::Timestamp::from_microsecond(created + 9_000_000).unwrap();
    let later = |reason: Option<ReasonCode>| Delivery {
        reason,
        retry_at: Some(until),
        retry_count: 1,
        ..delivery(&rows[0], "retrying")
    };
    let check = async |as_of: AsOf<'_>, expected: (i64, i64, i64)| {
        let mut reader = bed.read().await;
        let all = notifications::kpis(&mut reader.conn(), as_of, None).await.unwrap();
        assert_eq!((all.queue_depth, all.stuck, all.waiting), expected);
        let site = notifications::site_kpis(&mut reader.conn(), as_of).await.unwrap().remove(0);
        assert_eq!((site.queue_depth, site.stuck, site.waiting), expected);
    };
    let late = AsOf { now: created + 5_000_000, ..as_of(created + 4_000_000, created) };
    settle(&bed, &[later(Some(ReasonCode::QuietHours)), delivery(&rows[1], "pending")]).await;
    check(late, (2, 1, 1)).await;
    let held = AsOf { held_back: Some(r#"{"memory:default":8}"#), ..late };
    check(held, (2, 0, 2)).await;
    check(AsOf { held_back: Some(r#"{"email:other":0}"#), ..late }, (2, 1, 1)).await;
    // Its hour has come, and long gone: it is stuck like any other.
    check(as_of(created + 10_000_000, created), (2, 2, 0)).await;
    bed.leaves_open("rows only");
}

async fn figures_count_each_state_and_leave_events_out(bed: TestBed) {
    let created = bed.now().as_microsecond();
    for status in ["delivered", "parked", "pending"] {
        for (site, kind) in [(None, "email"), (Some("plant-7"), "email"), (Some("plant-7"), "event")] {
            in_state(&bed, status, |row| {
                row.source_site = site.map(str::to_owned);
                row.kind = kind.into();
                row.priority = i64::from(status == "pending") * 9;
            })
            .await;
        }
    }
    let mut reader = bed.read().await;
    let kpis = notifications::kpis(&mut reader.conn(), as_of(created + 1, created), None).await.unwrap();
    let reported =
        (kpis.queue_depth, kpis.stuck, kpis.parked, kpis.delivered, kpis.uncertain, kpis.oldest_created_at);
    assert_eq!(reported, (2, 2, 2, 2, 0, Some(created)));
    let kpis =
        notifications::kpis(&mut reader.conn(), as_of(created, created + 1), Some("plant-7")).await.unwrap();
    assert_eq!((kpis.queue_depth, kpis.stuck, kpis.parked, kpis.delivered), (1, 0, 1, 0));
    let sites = notifications::site_kpis(&mut reader.conn(), as_of(created + 1, created)).await.unwrap();
    assert_eq!(sites.len(), 1);
    let site = &sites[0];
    let reported = (
        site.site.as_str(),
        site.queue_depth,
        site.stuck,
        site.parked,
        site.delivered,
        site.oldest_created_at,
    );
    assert_eq!(reported, ("plant-7", 1, 1, 1, 1, Some(created)));
    let empty =
        notifications::kpis(&mut reader.conn(), as_of(created, created), Some("nowhere")).await.unwrap();
    assert_eq!((empty.queue_depth, empty.oldest_created_at), (0, None));
    bed.leaves_open("rows only");
}

async fn a_busy_table_says_so(bed: TestBed) {
    let busy = async || notifications::is_busy(&mut bed.read().await.conn()).await.unwrap();
    assert!(!busy().await);
    insert_one(&bed, "a@example.org", |_| {}).await;
    assert!(busy().await);
    let row = claim(&bed, 1).await.remove(0);
    assert!(busy().await, "what is being sent counts");
    settle(&bed, &[delivery(&row, "parked")]).await;
    assert!(!busy().await);
}
