//! The hot statements use the index they are meant to use, with a hundred thousand finished rows in the table.

use punctual_model::{AttemptOutcome, NotificationStatus, Reach};
use punctual_store::{
    After, attempts,
    notifications::{self, AsOf, LaneStart},
    receipts,
    reminders::sends,
    suppressions, work,
};
use punctual_testkit::{Database, TestBed, new_work, on_both};
use sqlx::{Connection, PgConnection};

use crate::sqlite_file;

on_both! {
    claims_of_work_never_read_finished_rows;
    claims_of_notifications_never_read_finished_rows;
    a_purge_reads_only_what_it_removes;
    the_figures_never_read_finished_rows;
    the_suppression_list_and_receipts_are_found_by_their_keys;
    what_a_setting_has_sent_is_read_from_its_newest;
}

/// A statement that inserts a hundred thousand rows, made from the numbers `n` of a series.
macro_rules! many {
    ($table:literal, $columns:literal, $values:literal) => {
        [
            concat!(
                "INSERT INTO ", $table, " (", $columns, ") SELECT ", $values, " FROM (
                 WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 100000) SELECT n FROM s)"
            ),
            concat!(
                "INSERT INTO ", $table, " (", $columns, ") SELECT ", $values, " FROM generate_series(1, 100000) AS s(n)"
            ),
        ]
    };
}

pub(crate) use many;

/// Runs such a statement behind the store's back and brings the statistics up to date.
pub async fn fill(bed: &TestBed, [sqlite, postgres]: [&'static str; 2]) {
    match bed.database() {
        Database::Sqlite => sqlite_file(bed).execute_batch(sqlite).unwrap(),
        Database::Postgres => {
            let mut conn = PgConnection::connect(bed.url()).await.unwrap();
            sqlx::raw_sql(postgres).execute(&mut conn).await.unwrap();
            sqlx::raw_sql("VACUUM ANALYZE").execute(&mut conn).await.unwrap();
        }
    }
}

/// The plan of the last run uses this index and reads no table or index from end to end.
pub fn check(bed: &TestBed, statement: &str, index: &str) {
    let plan = bed.faults.plan(statement);
    let text = plan.join("\n");
    assert!(!plan.is_empty(), "{statement} did not run");
    let key = match bed.database() {
        Database::Sqlite if index.ends_with("_pkey") => "PRIMARY KEY",
        _ => index,
    };
    assert!(text.contains(key), "{statement} does not use {index}:\n{text}");
    for line in &plan {
        let line = line.trim_start_matches([' ', '-', '>']);
        // The sets that were bound are read whole, and so is what a common table expression has found. The first
        // entry of an index is found without a search.
        let whole =
            ["Seq Scan on ", "SCAN "].iter().find_map(|scan| line.strip_prefix(scan)).is_some_and(|of| {
                let table = of.split(' ').next().unwrap_or_default();
                ["work", "notifications", "n", "attempts", "i", "survey_instances", "reminder_sends", "s"]
                    .contains(&table)
                    && !of.contains("USING")
            });
        assert!(!whole, "{statement} reads everything: {line}\n{text}");
    }
}

/// A claim is one statement on PostgreSQL; SQLite reads the ready rows and then takes them by their numbers.
fn check_claim(bed: &TestBed, table: &str) {
    let index = format!("{table}_ready");
    match bed.database() {
        Database::Sqlite => {
            check(bed, &format!("{table}.ready"), &index);
            check(bed, &format!("{table}.take"), &format!("{table}_pkey"));
        }
        Database::Postgres => check(bed, &format!("{table}.claim"), &index),
    }
}

async fn claims_of_work_never_read_finished_rows(bed: TestBed) {
    let done = many!(
        "work",
        "key, kind, trigger_type, due_at, status, ready_at, input_hash, input, created_at, updated_at",
        "'done:' || n, 'test', 'at', n, 'completed', n, 'h', '{}', n, n"
    );
    fill(&bed, done).await;
    let rows: Vec<_> = (0..200).map(|n| new_work("test", &format!("k:{n}"), bed.now())).collect();
    bed.ensure(&rows).await;
    let hot = [
        "work.claim",
        "work.ready",
        "work.take",
        "work.lock_due",
        "work.settle",
        "work.renew",
        "work.release",
        "work.earliest",
        "work.earliest_after",
        "work.expired",
        "work.lock_existing",
        "work.count_down",
    ];
    hot.iter().for_each(|statement| bed.faults.explain(statement));

    bed.ensure(&rows).await;
    let mut tx = bed.begin().await;
    assert_eq!(work::lock_due(&mut tx, "test", bed.now(), 100, After::BEGINNING).await.unwrap().len(), 100);
    let claimed = work::claim(&mut tx, "test", bed.now(), bed.after(60), 100).await.unwrap();
    assert_eq!(claimed.len(), 100);
    let held: Vec<(i64, i64)> = claimed.iter().map(|row| (row.id, row.version)).collect();
    work::renew(&mut tx.conn(), bed.after(60), &held[..50]).await.unwrap();
    work::release(&mut tx.conn(), bed.now(), &held[..50]).await.unwrap();
    let settlements: Vec<work::Settlement> = claimed[50..]
        .iter()
        .map(|row| work::Settlement {
            id: row.id,
            token: row.version,
            status: punctual_model::WorkStatus::Completed,
            reason: None,
            on_hold: false,
            retry_count: 0,
            retry_at: None,
            result: None,
            open_notifications: 1,
        })
        .collect();
    assert_eq!(work::settle(&mut tx.conn(), bed.now(), &settlements).await.unwrap().len(), 50);
    work::count_down(&mut tx.conn(), held[50..].iter().map(|(id, _)| *id).collect()).await.unwrap();
    work::expired(&mut tx.conn(), bed.after(600), 500).await.unwrap();
    work::earliest(&mut tx.conn(), &["test", "schedule"].map(|kind| (kind, After::BEGINNING))).await.unwrap();
    let place = After { ready_at: bed.now().as_microsecond() - 1, id: 0 };
    work::earliest(&mut tx.conn(), &[("test", place)]).await.unwrap();
    tx.commit().await.unwrap();
    check_claim(&bed, "work");
    check(&bed, "work.earliest_after", "work_ready");
    check(&bed, "work.lock_due", "work_ready");
    check(&bed, "work.earliest", "work_ready");
    check(&bed, "work.expired", "work_leased");
    check(&bed, "work.lock_existing", "work_by_key");
    for statement in ["work.settle", "work.renew", "work.release", "work.count_down"] {
        check(&bed, statement, "work_pkey");
    }
    bed.leaves_open("rows only");
}

async fn claims_of_notifications_never_read_finished_rows(bed: TestBed) {
    finished_notifications(&bed).await;
    bed.accept((0..200).map(|n| bed.message(&format!("{n}@example.org"))).collect()).await;
    let hot = [
        "notifications.claim",
        "notifications.ready",
        "notifications.take",
        "notifications.settle",
        "notifications.renew",
        "notifications.hold",
        "notifications.earliest",
        "notifications.earliest_behind",
        "notifications.claim_behind",
        "notifications.expired",
        "notifications.present",
        "notifications.withdraw_by_work",
        "notifications.withdraw_parked",
        "notifications.withdrawn_too_late",
        "attempts.record",
        "attempts.of",
        "attempts.mark_uncertain",
    ];
    hot.iter().for_each(|statement| bed.faults.explain(statement));
    let mut tx = bed.begin().await;
    let claimed =
        notifications::claim(&mut tx, "memory:default", bed.now(), bed.after(60), 100).await.unwrap();
    assert_eq!(claimed.len(), 100);
    let intents: Vec<_> = claimed
        .iter()
        .map(|row| attempts::Intent {
            seq: row.seq,
            target: "a".into(),
            n: 1,
            channel: row.channel.to_string(),
        })
        .collect();
    attempts::intend(&mut tx.conn(), bed.now(), "a", &intents).await.unwrap();
    let results: Vec<_> = claimed
        .iter()
        .map(|row| attempts::AttemptResult {
            seq: row.seq,
            target: "a".into(),
            n: 1,
            finished_at: bed.now(),
            outcome: AttemptOutcome::Delivered,
            provider_id: None,
            answer: None,
        })
        .collect();
    assert_eq!(attempts::record(&mut tx.conn(), &results).await.unwrap(), 100);
    let seqs: Vec<i64> = claimed.iter().map(|row| row.seq).collect();
    attempts::of(&mut tx.conn(), seqs.clone()).await.unwrap();
    attempts::mark_uncertain(&mut tx.conn(), bed.now(), seqs).await.unwrap();
    let held: Vec<(i64, i64)> = claimed.iter().map(|row| (row.seq, row.version)).collect();
    notifications::renew(&mut tx.conn(), bed.after(60), &held).await.unwrap();
    notifications::hold(&mut tx, &held).await.unwrap();
    let deliveries: Vec<_> = claimed
        .iter()
        .map(|row| notifications::Delivery {
            seq: row.seq,
            token: row.version,
            status: NotificationStatus::Delivered,
            retry_count: 1,
            last_error: None,
            reason: None,
            retry_at: None,
            channel: None,
            kind: None,
            leaves_list: false,
        })
        .collect();
    assert_eq!(
        notifications::settle(&mut tx.conn(), bed.now(), &deliveries.iter().collect::<Vec<_>>())
            .await
            .unwrap()
            .len(),
        100
    );
    notifications::expired(&mut tx.conn(), bed.after(600), 500).await.unwrap();
    let after = After { ready_at: bed.now().as_microsecond() - 1, id: 0 };
    let starts = [5, 9].map(|priority| LaneStart { channel: "memory:default".into(), priority, after });
    notifications::earliest(&mut tx.conn(), &starts).await.unwrap();
    notifications::earliest(&mut tx.conn(), &[]).await.unwrap();
    let places = [after; 10];
    notifications::claim_behind(&mut tx, "memory:default", 0, &places, bed.now(), bed.after(60), 1)
        .await
        .unwrap();
    notifications::present(&mut tx.conn(), claimed.iter().map(|row| row.id).collect()).await.unwrap();
    notifications::withdraw_by_work(
        &mut tx.conn(),
        bed.now(),
        punctual_model::ReasonCode::Answered,
        vec!["no:row".into()],
    )
    .await
    .unwrap();
    tx.commit().await.unwrap();
    // PostgreSQL weighs several short indexes against each other; SQLite would read everything without this one.
    if bed.database() == Database::Sqlite {
        for statement in ["withdraw_by_work", "withdraw_parked", "withdrawn_too_late"] {
            check(&bed, &format!("notifications.{statement}"), "notifications_by_work");
        }
    }
    check_claim(&bed, "notifications");
    check(&bed, "notifications.earliest", "notifications_ready");
    if bed.database() == Database::Postgres {
        check(&bed, "notifications.earliest_behind", "notifications_ready");
        check(&bed, "notifications.claim_behind", "notifications_ready");
    }
    check(&bed, "notifications.expired", "notifications_leased");
    check(&bed, "notifications.present", "notifications_by_id");
    check(&bed, "notifications.settle", "notifications_pkey");
    check(&bed, "notifications.renew", "notifications_pkey");
    check(&bed, "notifications.hold", "notifications_pkey");
    for statement in ["attempts.record", "attempts.of", "attempts.mark_uncertain"] {
        check(&bed, statement, "attempts_pkey");
    }
    bed.leaves_open("rows only");
}

async fn finished_notifications(bed: &TestBed) {
    let delivered = many!(
        "notifications",
        "id, digest, kind, channel, targets, subject, body, status, ready_at, created_at, delivered_at, finished_at",
        "'done-' || n, 'd', 'email', 'memory:default', '[]', 's', 'b', 'delivered', n, n, n, n"
    );
    fill(bed, delivered).await;
    let attempts = many!(
        "attempts",
        "notification_seq, target, n, node, channel, started_at, finished_at, outcome",
        "n, 'a', 1, 'a', 'memory:default', n, n, 'delivered'"
    );
    fill(bed, attempts).await;
}

async fn a_purge_reads_only_what_it_removes(bed: TestBed) {
    finished_notifications(&bed).await;
    for statement in ["notifications.doomed", "notifications.delete", "attempts.delete"] {
        bed.faults.explain(statement);
    }
    let before = jiff::Timestamp::from_microsecond(1_000).unwrap();
    let mut tx = bed.begin().await;
    let purged = notifications::purge(&mut tx.conn(), bed.now(), before, 500).await.unwrap();
    assert_eq!(purged.notifications, 500);
    tx.commit().await.unwrap();
    check(&bed, "notifications.doomed", "notifications_finished");
    check(&bed, "notifications.delete", "notifications_pkey");
    check(&bed, "attempts.delete", "attempts_pkey");
}

async fn the_figures_never_read_finished_rows(bed: TestBed) {
    let done = many!(
        "notifications",
        "id, digest, kind, channel, subject, body, status, ready_at, created_at, finished_at, source_site",
        "'done:' || n, 'd', 'email', 'email:default', 's', 'b', CASE WHEN n % 1000 = 0 THEN 'parked' ELSE 'delivered' END, n, n, n, 'plant-' || (n % 50)"
    );
    fill(&bed, done).await;
    for statement in ["notifications.kpis", "notifications.site_kpis"] {
        bed.faults.explain(statement);
    }
    let now = bed.now().as_microsecond();
    let as_of = AsOf { now, stuck_before: now, since: now, held_back: Some(r#"{"email:default":1}"#) };
    for site in [None, Some("plant-0")] {
        let figures = notifications::kpis(&mut bed.read().await.conn(), as_of, site).await.unwrap();
        assert_eq!((figures.queue_depth, figures.delivered), (0, 0));
        assert_eq!(figures.parked, 100, "every thousandth is one of the first site");
        for index in ["notifications_live", "notifications_parked", "notifications_finished"] {
            check(&bed, "notifications.kpis", index);
        }
    }
    let sites = notifications::site_kpis(&mut bed.read().await.conn(), as_of).await.unwrap();
    assert_eq!((sites.len(), sites[0].parked), (1, 100));
    check(&bed, "notifications.site_kpis", "notifications_finished");
}

async fn the_suppression_list_and_receipts_are_found_by_their_keys(bed: TestBed) {
    let list = many!(
        "suppressions",
        "channel_type, address, reason, source, since",
        "'email', 'a' || n || '@example.org', 'manual', 'test', 1"
    );
    let reported = many!(
        "receipts",
        "provider, provider_id, channel, notification_seq, target, attempt, rank, received_at",
        "'twilio', 'm-' || n, 'sms:a', n, 't', 1, 2, n"
    );
    fill(&bed, list).await;
    fill(&bed, reported).await;
    for statement in ["suppressions.among", "receipts.of", "receipts.figures", "receipts.waiting"] {
        bed.faults.explain(statement);
    }
    let mut reader = bed.read().await;
    let asked: Vec<(String, String)> =
        (0..50).map(|n| ("email".to_owned(), format!("a{}@example.org", n * 7))).collect();
    assert_eq!(suppressions::among(&mut reader.conn(), bed.now(), &asked).await.unwrap().len(), 49);
    check(&bed, "suppressions.among", "suppressions_pkey");
    assert_eq!(receipts::of(&mut reader.conn(), (1..50).collect()).await.unwrap().len(), 49);
    check(&bed, "receipts.of", "receipts_by_notification");
    receipts::figures(&mut reader.conn(), 99_990).await.unwrap();
    check(&bed, "receipts.figures", "receipts_received");
    assert!(
        receipts::failed(&mut reader.conn(), &punctual_model::Reach::Everything, 10)
            .await
            .unwrap()
            .is_empty()
    );
    check(&bed, "receipts.waiting", "receipts_waiting");
}

async fn what_a_setting_has_sent_is_read_from_its_newest(bed: TestBed) {
    let sent = many!(
        "reminder_sends",
        "setting_id, sent_at, work_id",
        "CASE WHEN n % 2 = 0 THEN 's' ELSE 't' END, n, n"
    );
    fill(&bed, sent).await;
    let done = many!(
        "work",
        "key, kind, trigger_type, due_at, status, ready_at, input_hash, input, created_at, updated_at",
        "'done:' || n, 'test', 'at', n, 'completed', n, 'h', '{}', n, n"
    );
    fill(&bed, done).await;
    for statement in ["reminder_sends.page", "reminder_sends.horizon", "reminder_sends.forget"] {
        bed.faults.explain(statement);
    }
    let mut reader = bed.read().await;
    sends::page(&mut reader.conn(), &Reach::Everything, "s", None, 50).await.unwrap();
    check(&bed, "reminder_sends.horizon", "reminder_sends_pkey");
    check(&bed, "reminder_sends.page", "reminder_sends_pkey");
    let plan = bed.faults.plan("reminder_sends.page").join("\n");
    assert!(!plan.contains("Sort") && !plan.contains("TEMP B-TREE"), "{plan}");
    drop(reader);
    let mut tx = bed.begin().await;
    sends::forget(&mut tx.conn(), bed.now(), 10).await.unwrap();
    check(&bed, "reminder_sends.forget", "reminder_sends_by_age");
}
