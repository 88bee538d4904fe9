//! Pages of the API: whatever they are filtered by, each looks at a bounded number of rows over the index that was meant, and
//! all of them together find what there is, once and in order.

use jiff::Timestamp;
use punctual_model::{NotificationStatus, Reach, WorkStatus};
use punctual_store::{
    notifications::{self, NotificationFilter, Stuck},
    work::{self, WorkFilter},
};
use punctual_testkit::{TestBed, on_both};

use crate::plans::{check, fill, many};

on_both! {
    pages_of_notifications_look_at_a_bounded_number_of_rows;
    pages_of_work_look_at_a_bounded_number_of_rows;
    what_is_live_is_found_where_much_of_it_is;
}

/// A hundred thousand ended rows a second apart, with a few of each rare kind near the beginning.
async fn outbox(bed: &TestBed) {
    let rows = many!(
        "notifications",
        "id, digest, kind, channel, list_name, targets, subject, body, status, ready_at, created_at, finished_at, source_site,
         client, business_unit, lease_expires_at",
        "'00000000-0000-4000-8000-' || SUBSTR(CAST(1000000000000 + n AS TEXT), 2),
         '0000000000000000000000000000000000000000000000000000000000000000',
         CASE WHEN n = 12 THEN 'event' ELSE 'email' END, 'memory:default',
         CASE WHEN n = 7 THEN 'seldom' ELSE 'ops' END, '[]', CASE WHEN n = 5 THEN 'A needle' ELSE 'Hay ' || n END, 'b',
         CASE n WHEN 10 THEN 'parked' WHEN 11 THEN 'retrying' WHEN 12 THEN 'pending' WHEN 13 THEN 'discarded' WHEN 14 THEN 'pending'
             ELSE 'delivered' END,
         CAST(n AS BIGINT) * 1000000, CAST(n AS BIGINT) * 1000000,
         CASE WHEN n IN (11, 12, 14) THEN NULL ELSE CAST(n AS BIGINT) * 1000000 END,
         CASE WHEN n < 20 THEN 'plant-7' ELSE 'depot-2' END, CASE WHEN n < 20 THEN 'shop' ELSE 'till' END,
         CASE WHEN n = 15 THEN 'nz' END, CASE WHEN n = 14 THEN 1 END"
    );
    fill(bed, rows).await;
}

/// All pages of a list: the numbers of their rows, and how many pages there were.
async fn walked(bed: &TestBed, reach: &Reach, filter: &NotificationFilter) -> (Vec<i64>, usize) {
    let (mut filter, mut found, mut pages) = (filter.clone(), Vec::new(), 0);
    loop {
        let page = notifications::page(&mut bed.read().await.conn(), reach, &filter).await.unwrap();
        pages += 1;
        assert!(page.rows.len() <= 50 && pages < 100, "{filter:?}");
        assert!(page.next.is_none_or(|next| filter.before.is_none_or(|before| next < before)), "{filter:?}");
        found.extend(page.rows.iter().map(|row| row.seq));
        match page.next {
            Some(next) => filter.before = Some(next),
            None => return (found, pages),
        }
    }
}

async fn pages_of_notifications_look_at_a_bounded_number_of_rows(bed: TestBed) {
    outbox(&bed).await;
    let any = || NotificationFilter { limit: 50, ..Default::default() };
    let with_status =
        |status: &str| NotificationFilter { status: NotificationStatus::parse(status), ..any() };
    let stuck = Some(Stuck { before: i64::MAX, held_back: None });
    let second = |n: i64| Some(n * 1_000_000);
    let cases = [
        // What nothing finds but a look at every row is found in steps of ten thousand.
        (NotificationFilter { list: Some("seldom".into()), ..any() }, "page", "pkey", vec![7], 10),
        (NotificationFilter { list: Some("nowhere".into()), ..any() }, "page", "pkey", vec![], 10),
        (NotificationFilter { q: Some("NEEDLE".into()), ..any() }, "page", "pkey", vec![5], 10),
        (NotificationFilter { kind: Some("event".into()), ..any() }, "page", "pkey", vec![12], 10),
        (with_status("parked"), "page_parked", "parked", vec![10], 1),
        (with_status("discarded"), "page_set_aside", "set_aside", vec![13], 1),
        (with_status("withdrawn"), "page_set_aside", "set_aside", vec![], 1),
        // Deliveries to subscribers and what is claimed count too.
        (with_status("pending"), "page_live", "pkey", vec![14, 12], 1),
        (NotificationFilter { stuck: stuck.clone(), ..any() }, "page_live", "pkey", vec![14, 12, 11], 1),
        (NotificationFilter { stuck, list: Some("nowhere".into()), ..any() }, "page_live", "pkey", vec![], 1),
        (NotificationFilter { site: Some("nowhere".into()), ..any() }, "page_of_site", "by_site", vec![], 1),
        (
            NotificationFilter { client: Some("nobody".into()), ..any() },
            "page_of_client",
            "by_client",
            vec![],
            1,
        ),
        (
            NotificationFilter { site: Some("plant-7".into()), q: Some("needle".into()), ..any() },
            "page_of_site",
            "by_site",
            vec![5],
            1,
        ),
        (
            NotificationFilter { client: Some("shop".into()), list: Some("seldom".into()), ..any() },
            "page_of_client",
            "by_client",
            vec![7],
            1,
        ),
        // Where a time range is wanted, nothing outside it is read.
        (
            NotificationFilter { created_from: second(40_000), created_to: second(40_003), ..any() },
            "page",
            "pkey",
            vec![40_002, 40_001, 40_000],
            1,
        ),
        (NotificationFilter { created_to: second(4), ..any() }, "page", "pkey", vec![3, 2, 1], 1),
    ];
    for (filter, statement, index, expected, pages) in cases {
        let statement = format!("notifications.{statement}");
        bed.faults.explain(&statement);
        assert_eq!(walked(&bed, &Reach::Everything, &filter).await, (expected, pages), "{filter:?}");
        check(&bed, &statement, &format!("notifications_{index}"));
    }
    // A caller with one row of a hundred thousand gets it, in steps.
    let reach = Reach::Units(vec!["nz".into()]);
    assert_eq!(walked(&bed, &reach, &any()).await, (vec![15], 10));
    // Full pages follow each other without gap or repeat, over the edge of a step too.
    let (all, _) =
        walked(&bed, &Reach::Everything, &with_status("delivered").clone_within(79_950, 80_100)).await;
    assert_eq!(all, (79_950..80_100).rev().collect::<Vec<_>>());
    bed.leaves_open("rows only");
}

trait Within {
    fn clone_within(&self, from: i64, to: i64) -> Self;
}

impl Within for NotificationFilter {
    fn clone_within(&self, from: i64, to: i64) -> Self {
        Self { created_from: Some(from * 1_000_000), created_to: Some(to * 1_000_000), ..self.clone() }
    }
}

async fn pages_of_work_look_at_a_bounded_number_of_rows(bed: TestBed) {
    let rows = many!(
        "work",
        "key, kind, trigger_type, source_type, source_id, due_at, status, on_hold, ready_at, lease_expires_at, input_hash, input,
         created_at, updated_at",
        "'k:' || n, CASE WHEN n = 6 THEN 'seldom' WHEN n = 2 THEN 'reconcile' ELSE 'a' END, 'at',
         CASE WHEN n = 8 THEN 'report' ELSE 'document' END, 'doc-' || n, n,
         CASE n WHEN 3 THEN 'failed' WHEN 4 THEN 'pending' WHEN 5 THEN 'pending' WHEN 7 THEN 'deactivated' WHEN 9 THEN 'processing'
             ELSE 'completed' END,
         n = 4, n, CASE WHEN n = 9 THEN n END, 'h', '{}', n, n"
    );
    fill(&bed, rows).await;
    let any = || WorkFilter { limit: 50, ..Default::default() };
    let with_status = |status: &str| WorkFilter { status: WorkStatus::parse(status), ..any() };
    let of = |kind: &str, id: Option<&str>| WorkFilter {
        source_type: Some(kind.into()),
        source_id: id.map(str::to_owned),
        ..any()
    };
    let cases = [
        (with_status("deactivated"), "page", "pkey", vec![7], 10),
        (with_status("cancelled"), "page", "pkey", vec![], 10),
        (WorkFilter { kind: Some("seldom".into()), ..any() }, "page", "pkey", vec![6], 10),
        (
            WorkFilter { due_to: Some(Timestamp::from_microsecond(2).unwrap()), ..any() },
            "page",
            "pkey",
            vec![1],
            10,
        ),
        (with_status("failed"), "page_failed", "failed", vec![3], 1),
        (WorkFilter { on_hold: Some(true), ..any() }, "page_held", "held", vec![4], 1),
        (with_status("pending"), "page_pending", "ready", vec![5, 4], 1),
        (with_status("processing"), "page_processing", "leased", vec![9], 1),
        (of("document", Some("doc-77")), "page_of_source", "by_source", vec![77], 1),
        (of("document", Some("nowhere")), "page_of_source", "by_source", vec![], 1),
        (of("report", None), "page_of_type", "by_source", vec![8], 1),
        (of("nowhere", None), "page_of_type", "by_source", vec![], 1),
        // A source that nobody knows by its type alone.
        (WorkFilter { source_id: Some("doc-77".into()), ..any() }, "page", "pkey", vec![77], 10),
    ];
    for (filter, statement, index, expected, pages) in cases {
        let statement = format!("work.{statement}");
        bed.faults.explain(&statement);
        let (mut filter, mut found, mut count) = (filter, Vec::new(), 0);
        loop {
            let page = work::page(&mut bed.read().await.conn(), &Reach::Everything, &filter).await.unwrap();
            count += 1;
            found.extend(page.rows.iter().map(|row| row.id));
            match page.next {
                Some(next) => filter.before = Some(next),
                None => break,
            }
        }
        assert_eq!((found, count), (expected, pages), "{filter:?}");
        check(&bed, &statement, &format!("work_{index}"));
    }
    for (count, index) in [
        ("work.count_pending", "work_ready"),
        ("work.count_processing", "work_leased"),
        ("work.count_of_source", "work_by_source"),
        ("work.count_of_type", "work_by_source"),
    ] {
        bed.faults.explain(count);
        for filter in [
            with_status("pending"),
            with_status("processing"),
            of("document", Some("x")),
            of("document", None),
        ] {
            work::page(&mut bed.read().await.conn(), &Reach::Everything, &filter).await.unwrap();
        }
        check(&bed, count, index);
    }
    bed.leaves_open("rows only");
}

async fn what_is_live_is_found_where_much_of_it_is(bed: TestBed) {
    let rows = many!(
        "notifications",
        "id, digest, kind, channel, targets, subject, body, status, ready_at, created_at, finished_at",
        "'00000000-0000-4000-8000-' || SUBSTR(CAST(1000000000000 + n AS TEXT), 2),
         '0000000000000000000000000000000000000000000000000000000000000000', 'email', 'memory:default', '[]', 's', 'b',
         CASE WHEN n > 90000 THEN 'pending' ELSE 'delivered' END, n, n, CASE WHEN n > 90000 THEN NULL ELSE n END"
    );
    fill(&bed, rows).await;
    let filter =
        NotificationFilter { status: Some(NotificationStatus::Pending), limit: 50, ..Default::default() };
    let first = notifications::page(&mut bed.read().await.conn(), &Reach::Everything, &filter).await.unwrap();
    let seqs: Vec<i64> = first.rows.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (99_951..=100_000).rev().collect::<Vec<_>>());
    assert_eq!(first.next, Some(99_951));
    let (all, pages) =
        walked(&bed, &Reach::Everything, &NotificationFilter { before: Some(90_003), ..filter }).await;
    assert_eq!((all, pages), (vec![90_002, 90_001], 10));
    bed.leaves_open("rows only");
}
