//! Pages for people: the right rows in the right order, over the index that was meant, whatever is filtered.

use punctual_model::{NotificationStatus, Reach};
use punctual_store::{
    attention,
    notifications::{self, AsOf, Browse, Browsed, NO_REASON, Next, Stuck},
    work::{self, Stopped, WorkList},
};
use punctual_testkit::{TestBed, on_both};

use crate::plans::{check, fill, many};

on_both! {
    every_page_of_the_outbox_walks_an_index_over_a_bounded_number_of_rows;
    a_search_goes_back_in_steps_until_it_finds;
    pages_follow_each_other_without_gap_or_repeat;
    a_time_range_is_found_without_reading_what_lies_outside;
    pages_of_work_walk_an_index;
    what_waits_is_found_among_many_finished_rows;
}

/// A hundred thousand delivered rows a second apart, with a parked, a retrying and a waiting one near the beginning.
async fn outbox(bed: &TestBed) {
    let rows = many!(
        "notifications",
        "id, digest, kind, channel, list_name, targets, subject, body, status, ready_at, created_at, delivered_at, finished_at, source_site",
        "'00000000-0000-4000-8000-' || SUBSTR(CAST(1000000000000 + n AS TEXT), 2), 'd', 'email', 'memory:default', CASE WHEN n = 7 THEN 'seldom' ELSE 'ops' END, '[]',
         CASE WHEN n = 5 THEN 'A needle, 100%' ELSE 'Hay ' || n END, 'b',
         CASE n WHEN 10 THEN 'parked' WHEN 11 THEN 'retrying' WHEN 12 THEN 'pending' WHEN 13 THEN 'discarded' ELSE 'delivered' END,
         CAST(n AS BIGINT) * 1000000, CAST(n AS BIGINT) * 1000000, CASE WHEN n BETWEEN 10 AND 13 THEN NULL ELSE CAST(n AS BIGINT) * 1000000 END,
         CASE WHEN n BETWEEN 11 AND 12 THEN NULL ELSE CAST(n AS BIGINT) * 1000000 END, CASE WHEN n < 20 THEN 'plant-7' ELSE 'depot-2' END"
    );
    fill(bed, rows).await;
}

async fn page(bed: &TestBed, browse: &Browse) -> Browsed {
    notifications::browse(&mut bed.read().await.conn(), &Reach::Everything, browse).await.unwrap()
}

fn any() -> Browse {
    Browse { limit: 50, window: 5_000, ..Browse::default() }
}

fn numbers(page: &Browsed) -> Vec<i64> {
    page.rows.iter().map(|row| row.seq).collect()
}

async fn every_page_of_the_outbox_walks_an_index_over_a_bounded_number_of_rows(bed: TestBed) {
    outbox(&bed).await;
    let with_status = |status: &str| Browse { status: NotificationStatus::parse(status), ..any() };
    let cases = [
        (any(), "notifications.browse", "notifications_pkey", 50),
        (Browse { list: Some("seldom".into()), ..any() }, "notifications.browse", "notifications_pkey", 0),
        (with_status("parked"), "notifications.browse_parked", "notifications_parked", 1),
        // With two live rows PostgreSQL finds the retrying one among them just as well.
        (with_status("retrying"), "notifications.browse_set_aside", "notifications_", 1),
        (with_status("discarded"), "notifications.browse_set_aside", "notifications_set_aside", 1),
        (with_status("pending"), "notifications.browse_live", "notifications_live", 1),
        (with_status("delivered"), "notifications.browse_ended", "notifications_finished", 50),
        (
            Browse { stuck: Some(Stuck { before: i64::MAX, held_back: None }), ..any() },
            "notifications.browse_live",
            "notifications_live",
            2,
        ),
        (
            Browse { site: Some("plant-7".into()), ..any() },
            "notifications.browse_site",
            "notifications_by_site",
            19,
        ),
    ];
    for (browse, statement, index, found) in cases {
        bed.faults.explain(statement);
        let page = page(&bed, &browse).await;
        assert_eq!(page.rows.len(), found, "{browse:?}");
        check(&bed, statement, index);
    }
    bed.leaves_open("rows only");
}

async fn a_search_goes_back_in_steps_until_it_finds(bed: TestBed) {
    outbox(&bed).await;
    let mut search = Browse { q: Some("NEEDLE, 100%".into()), window: 30_000, ..any() };
    let mut steps = 0;
    loop {
        let found = page(&bed, &search).await;
        steps += 1;
        match found.next {
            Next::Further(place) => {
                assert!(found.rows.is_empty());
                search.before = Some(place);
            }
            next => {
                assert_eq!((numbers(&found), next), (vec![5], Next::End));
                break;
            }
        }
    }
    assert_eq!(steps, 4);
    bed.leaves_open("rows only");
}

async fn pages_follow_each_other_without_gap_or_repeat(bed: TestBed) {
    outbox(&bed).await;
    for (status, expected) in [(None, 100_000), (Some("delivered"), 100_000)] {
        let mut browse = Browse { status: status.and_then(NotificationStatus::parse), limit: 40, ..any() };
        let first = page(&bed, &browse).await;
        let Next::Page(place) = first.next else { panic!("{:?}", first.next) };
        browse.before = Some(place);
        let second = page(&bed, &browse).await;
        let both = [numbers(&first), numbers(&second)].concat();
        assert_eq!(both, (0..80).map(|n| expected - n).collect::<Vec<_>>());
        // The same page once more, although newer rows may have come meanwhile.
        browse.before = first.top;
        assert_eq!(page(&bed, &browse).await.rows, first.rows);
    }
    bed.leaves_open("rows only");
}

async fn a_time_range_is_found_without_reading_what_lies_outside(bed: TestBed) {
    outbox(&bed).await;
    let second = |n: i64| Some(n * 1_000_000);
    let browse = Browse { created_from: second(40_000), created_to: second(40_020), ..any() };
    let found = page(&bed, &browse).await;
    assert_eq!(numbers(&found), (40_000..40_020).rev().collect::<Vec<_>>());
    assert_eq!(found.next, Next::End);
    let live = Browse {
        status: Some(NotificationStatus::Pending),
        created_from: second(12),
        created_to: second(13),
        ..any()
    };
    assert_eq!(numbers(&page(&bed, &live).await), [12]);
    // What ended in a range, along the index of endings.
    let ended = Browse { ended_from: second(50_000), ended_to: second(50_010), ..any() };
    bed.faults.explain("notifications.browse_ended");
    let found = page(&bed, &ended).await;
    assert_eq!(numbers(&found), (50_000..50_010).rev().collect::<Vec<_>>());
    assert_eq!(found.next, Next::End, "there is nothing of it before");
    check(&bed, "notifications.browse_ended", "notifications_finished");
    let first = page(&bed, &Browse { limit: 4, ..ended.clone() }).await;
    let Next::Page(place) = first.next else { panic!("{:?}", first.next) };
    let rest = page(&bed, &Browse { before: Some(place), ..ended.clone() }).await;
    assert_eq!((numbers(&rest).len(), rest.next), (6, Next::End));
    let other = Browse { channel: Some("sms:none".into()), ..ended.clone() };
    assert_eq!(numbers(&page(&bed, &other).await), [0_i64; 0]);
    let cause = Browse { cause: Some(NO_REASON.into()), ..ended };
    assert_eq!(numbers(&page(&bed, &cause).await).len(), 10);
    let aside = page(&bed, &Browse { set_aside: true, window: 200_000, ..any() }).await;
    assert!(
        aside.rows.iter().all(|row| row.status == NotificationStatus::Discarded) && !aside.rows.is_empty()
    );
    bed.leaves_open("rows only");
}

async fn pages_of_work_walk_an_index(bed: TestBed) {
    let rows = many!(
        "work",
        "key, kind, trigger_type, due_at, status, on_hold, ready_at, input_hash, input, created_at, updated_at",
        "'k:' || n, CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, 'at', n,
         CASE WHEN n > 99990 THEN 'pending' WHEN n = 3 THEN 'failed' WHEN n = 4 THEN 'pending' ELSE 'completed' END,
         n = 4, n, 'h', '{}', n, n"
    );
    fill(&bed, rows).await;
    for statement in ["work.browse_coming", "work.browse_held", "work.browse_failed", "work.browse_newest"] {
        bed.faults.explain(statement);
    }
    let mut reader = bed.read().await;
    let kinds = ["a".to_owned(), "b".to_owned()];
    let first = work::coming(&mut reader.conn(), &kinds, &Reach::Everything, None, 4).await.unwrap();
    assert_eq!(first.iter().map(|row| row.id).collect::<Vec<_>>(), [99_991, 99_992, 99_993, 99_994]);
    let after = Some((first[3].ready_at.as_microsecond(), first[3].id));
    let rest = work::coming(&mut reader.conn(), &kinds, &Reach::Everything, after, 10).await.unwrap();
    assert_eq!(rest.len(), 6);
    let any = Stopped::default();
    for (list, found) in [(WorkList::Held(any), 4), (WorkList::Failed(any), 3), (WorkList::All, 100_000)] {
        let rows = work::browse(&mut reader.conn(), list, &Reach::Everything, None, 10).await.unwrap();
        assert_eq!(rows[0].id, found);
    }
    let other = Stopped { reason: Some("conflict"), ..any };
    for list in [WorkList::Held(other), WorkList::Failed(other)] {
        let rows = work::browse(&mut reader.conn(), list, &Reach::Everything, None, 10).await.unwrap();
        assert!(rows.is_empty(), "{rows:?}");
    }
    drop(reader);
    check(&bed, "work.browse_coming", "work_ready");
    check(&bed, "work.browse_held", "work_held");
    check(&bed, "work.browse_failed", "work_failed");
    check(&bed, "work.browse_newest", "work_pkey");
    bed.leaves_open("rows only");
}

async fn what_waits_is_found_among_many_finished_rows(bed: TestBed) {
    outbox(&bed).await;
    let work = many!(
        "work",
        "key, kind, trigger_type, due_at, status, ready_at, input_hash, input, created_at, updated_at",
        "'done:' || n, 'test', 'at', n, 'completed', n, 'h', '{}', n, n"
    );
    fill(&bed, work).await;
    let statements = [
        "notifications.waiting",
        "attention.counts",
        "attention.mark",
        "notifications.ended_in",
        "notifications.site_kpis",
    ];
    statements.iter().for_each(|statement| bed.faults.explain(statement));
    let mut reader = bed.read().await;
    let waiting = attention::causes::parked(&mut reader.conn(), &Reach::Everything, 10).await.unwrap();
    assert_eq!(
        waiting.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(),
        ["00000000-0000-4000-8000-000000000010"]
    );
    let counts = attention::counts(&mut reader.conn(), &Reach::Everything, 1_000).await.unwrap();
    assert_eq!((counts.held, counts.parked, counts.events), (0, 1, 0));
    let limited =
        attention::counts(&mut reader.conn(), &Reach::Units(vec!["nz".into()]), 1_000).await.unwrap();
    assert_eq!(limited.parked, 0, "what belongs to no business unit is the installation's");
    let before = attention::mark(&mut reader.conn()).await.unwrap();
    assert_eq!(before, attention::mark(&mut reader.conn()).await.unwrap());
    let sites =
        notifications::site_kpis(&mut reader.conn(), AsOf { since: 99_999_000_000, ..AsOf::default() })
            .await
            .unwrap();
    assert_eq!(sites.iter().map(|site| site.site.as_str()).collect::<Vec<_>>(), ["depot-2", "plant-7"]);
    let endings =
        notifications::ended_in(&mut reader.conn(), 50_000_000_000, 50_010_000_000, 1_000).await.unwrap();
    assert_eq!((endings.len(), endings[0].late), (10, Some(0)));
    let count = notifications::count_ended(&mut reader.conn(), 0, i64::MAX, 5_000).await.unwrap();
    assert_eq!(count, 5_000);
    assert_eq!(notifications::last_delivered(&mut reader.conn()).await.unwrap(), Some(100_000_000_000));
    drop(reader);
    check(&bed, "notifications.waiting", "notifications_parked");
    for index in ["notifications_live", "notifications_parked", "notifications_finished"] {
        check(&bed, "notifications.site_kpis", index);
    }
    check(&bed, "notifications.ended_in", "notifications_finished");
    check(&bed, "attention.mark", "notifications_live");
    bed.leaves_open("rows only");
}
