//! Suppressions, targets that were left out, receipts and the inbox.

use jiff::{SignedDuration, Timestamp};
use punctual_model::Reach;
use punctual_store::{
    inbox::{self, InboxRow},
    receipts::{self, Expected, News, ReceiptFigures},
    retention,
    skipped_targets::{self, SkippedTarget},
    suppressions::{self, SuppressionFilter, SuppressionRow},
};
use punctual_testkit::{TestBed, on_both};

on_both! {
    suppressions_are_put_added_found_paged_and_removed;
    a_suppression_that_is_over_does_not_count_and_makes_room;
    targets_that_were_left_out_are_kept_once;
    receipts_come_to_the_same_whatever_their_order;
    a_receipt_may_be_quicker_than_the_record_of_the_yes;
    messages_in_the_inbox_are_put_once_and_read;
}

fn suppression(kind: &str, address: &str, reason: &str) -> SuppressionRow {
    SuppressionRow {
        channel_type: kind.into(),
        address: address.into(),
        reason: reason.into(),
        source: "test".into(),
        detail: None,
        since: Timestamp::from_microsecond(7).unwrap(),
        expires_at: None,
    }
}

async fn suppressions_are_put_added_found_paged_and_removed(bed: TestBed) {
    let (a, b, c) = (
        suppression("email", "a@x.example", "manual"),
        suppression("email", "b_1@x.example", "hardBounce"),
        suppression("sms", "+49301234567", "unsubscribed"),
    );
    let mut tx = bed.begin().await;
    assert_eq!(suppressions::mark(&mut tx.conn()).await.unwrap(), None);
    suppressions::put(&mut tx.conn(), &suppression("email", "a@x.example", "complaint")).await.unwrap();
    suppressions::put(&mut tx.conn(), &a).await.unwrap();
    let worse = suppression("email", "a@x.example", "hardBounce");
    let added = suppressions::add(&mut tx.conn(), bed.now(), &[b.clone(), worse, c.clone(), c.clone()]).await;
    let mut added = added.unwrap();
    added.sort();
    assert_eq!(
        added,
        [("email".to_owned(), "b_1@x.example".to_owned()), ("sms".to_owned(), "+49301234567".to_owned())],
        "what a person said stays"
    );
    let since = bed.now();
    let (b, c) = (SuppressionRow { since, ..b }, SuppressionRow { since, ..c });
    assert_eq!(suppressions::get(&mut tx.conn(), "email", "a@x.example").await.unwrap(), Some(a.clone()));
    let asked = [("email", "a@x.example"), ("sms", "a@x.example"), ("email", "z@x.example")];
    let asked = asked.map(|(kind, address)| (kind.to_owned(), address.to_owned()));
    let found = suppressions::among(&mut tx.conn(), bed.now(), &asked).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&a));
    let page = |filter: SuppressionFilter| SuppressionFilter { limit: 10, ..filter };
    let all = suppressions::page(&mut tx.conn(), &page(SuppressionFilter::default())).await.unwrap();
    assert_eq!(all, [a.clone(), b.clone(), c.clone()]);
    for (filter, expected) in [
        (SuppressionFilter { channel_type: Some("sms".into()), ..Default::default() }, vec![c.clone()]),
        (SuppressionFilter { reason: Some("hardBounce".into()), ..Default::default() }, vec![b.clone()]),
        (SuppressionFilter { q: Some("B_".into()), ..Default::default() }, vec![b.clone()]),
        (SuppressionFilter { q: Some("%".into()), ..Default::default() }, vec![]),
        (
            SuppressionFilter { after: ("email".into(), "a@x.example".into()), ..Default::default() },
            vec![b, c],
        ),
    ] {
        assert_eq!(suppressions::page(&mut tx.conn(), &page(filter)).await.unwrap(), expected);
    }
    assert_eq!(suppressions::count(&mut tx.conn(), 10).await.unwrap(), 3);
    assert_eq!(suppressions::count(&mut tx.conn(), 2).await.unwrap(), 2);
    assert_eq!(suppressions::keys(&mut tx.conn(), 2).await.unwrap().len(), 2);
    for expected in ["1", "2"] {
        suppressions::changed(&mut tx.conn(), bed.now()).await.unwrap();
        assert_eq!(suppressions::mark(&mut tx.conn()).await.unwrap().as_deref(), Some(expected));
    }
    assert!(suppressions::delete(&mut tx.conn(), "email", "a@x.example").await.unwrap());
    assert!(!suppressions::delete(&mut tx.conn(), "email", "a@x.example").await.unwrap());
}

async fn a_suppression_that_is_over_does_not_count_and_makes_room(bed: TestBed) {
    let mut row = suppression("email", "a@x.example", "manual");
    row.expires_at = Some(bed.now() + SignedDuration::from_micros(1));
    let asked = [(row.channel_type.clone(), row.address.clone())];
    let mut tx = bed.begin().await;
    suppressions::put(&mut tx.conn(), &row).await.unwrap();
    assert_eq!(suppressions::among(&mut tx.conn(), bed.now(), &asked).await.unwrap(), [row.clone()]);
    let bounce = suppression("email", "a@x.example", "hardBounce");
    assert!(
        suppressions::add(&mut tx.conn(), bed.now(), std::slice::from_ref(&bounce)).await.unwrap().is_empty()
    );
    let later = bed.now() + SignedDuration::from_secs(1);
    assert!(suppressions::among(&mut tx.conn(), later, &asked).await.unwrap().is_empty());
    assert_eq!(suppressions::add(&mut tx.conn(), later, &[bounce]).await.unwrap().len(), 1);
    let found = suppressions::among(&mut tx.conn(), later, &asked).await.unwrap().remove(0);
    assert_eq!((found.reason.as_str(), found.expires_at), ("hardBounce", None));
}

async fn targets_that_were_left_out_are_kept_once(bed: TestBed) {
    let row = |seq: i64, target: &str, detail: &str| SkippedTarget {
        notification_seq: seq,
        target: target.into(),
        reason: "suppressed".into(),
        detail: Some(detail.into()),
        at: bed.now(),
    };
    let mut tx = bed.begin().await;
    skipped_targets::put(&mut tx.conn(), bed.now(), &[row(1, "b", "manual"), row(2, "a", "manual")])
        .await
        .unwrap();
    skipped_targets::put(&mut tx.conn(), bed.now(), &[row(1, "b", "complaint"), row(1, "a", "manual")])
        .await
        .unwrap();
    let found = skipped_targets::of(&mut tx.conn(), vec![1, 3]).await.unwrap();
    assert_eq!(found, [row(1, "a", "manual"), row(1, "b", "complaint")]);
}

/// What a provider says in steps, each a second after the other.
fn steps(bed: &TestBed) -> Vec<News> {
    let at = |seconds: i64| Some(bed.now() - SignedDuration::from_secs(60 - seconds));
    let step = |rank: i64| News {
        provider_id: "m-1".into(),
        rank,
        confirmed_at: None,
        failed_at: None,
        code: None,
        detail: None,
        suppress: None,
    };
    vec![
        step(1),
        News { confirmed_at: at(2), ..step(2) },
        News { confirmed_at: at(3), ..step(3) },
        News {
            failed_at: at(4),
            code: Some("550".into()),
            detail: Some("no such user".into()),
            suppress: Some("hardBounce"),
            ..step(4)
        },
    ]
}

async fn receipts_come_to_the_same_whatever_their_order(bed: TestBed) {
    let orders: [&[usize]; 5] =
        [&[0, 1, 2, 3], &[3, 2, 1, 0], &[2, 0, 3, 1], &[1, 1, 3, 3, 0, 2, 1], &[3, 0, 1, 2, 3]];
    let mut ends = Vec::new();
    for order in orders {
        let mut tx = bed.begin().await;
        let expected = Expected {
            provider_id: "m-1".into(),
            channel: "sms:a".into(),
            seq: 5,
            target: "+49301234567".into(),
            attempt: 1,
        };
        assert!(
            receipts::expect(&mut tx.conn(), "twilio", std::slice::from_ref(&expected))
                .await
                .unwrap()
                .is_empty()
        );
        let mut reported = Vec::new();
        for step in order {
            let news = steps(&bed).swap_remove(*step);
            let changed = receipts::report(&mut tx.conn(), bed.now(), "twilio", std::slice::from_ref(&news))
                .await
                .unwrap();
            let again = receipts::report(&mut tx.conn(), bed.now(), "twilio", &[news]).await.unwrap();
            assert!(again.is_empty(), "the same receipt twice changes nothing");
            reported.extend(changed.into_iter().map(|row| row.rank));
        }
        assert!(reported.is_sorted(), "it never goes back: {reported:?}");
        let row = receipts::get(&mut tx.conn(), "twilio", "m-1").await.unwrap().unwrap();
        assert_eq!(receipts::of(&mut tx.conn(), vec![5]).await.unwrap(), std::slice::from_ref(&row));
        assert_eq!(receipts::get(&mut tx.conn(), "other", "m-1").await.unwrap(), None);
        let since = bed.now().as_microsecond();
        let figures = receipts::figures(&mut tx.conn(), since).await.unwrap();
        assert_eq!(figures, ReceiptFigures { confirmed: 0, failed: 1 });
        assert_eq!(receipts::figures(&mut tx.conn(), since + 1).await.unwrap(), ReceiptFigures::default());
        assert_eq!(receipts::seen(&mut tx.conn(), 5).await.unwrap(), 1);
        assert_eq!(receipts::seen(&mut tx.conn(), 5).await.unwrap(), 0);
        ends.push(row);
    }
    let end = ends[0].clone();
    assert!(ends.iter().all(|other| *other == end), "{ends:?}");
    let second = |n: i64| Some(bed.now() - SignedDuration::from_secs(60 - n));
    assert_eq!((end.rank, end.confirmed_at, end.failed_at), (4, second(2), second(4)));
    assert_eq!(
        (end.code.as_deref(), end.suppress.as_deref(), end.needs_person),
        (Some("550"), Some("hardBounce"), true)
    );
}

async fn a_receipt_may_be_quicker_than_the_record_of_the_yes(bed: TestBed) {
    let mut tx = bed.begin().await;
    let news = steps(&bed);
    let early = receipts::report(&mut tx.conn(), bed.now(), "twilio", &news[3..]).await.unwrap();
    assert_eq!((early[0].notification_seq, early[0].needs_person), (None, false), "nobody knows whose it is");
    let expected = |seq: i64| Expected {
        provider_id: "m-1".into(),
        channel: "sms:a".into(),
        seq,
        target: "+49301234567".into(),
        attempt: 1,
    };
    let reported = receipts::expect(&mut tx.conn(), "twilio", &[expected(5)]).await.unwrap();
    assert_eq!(
        (reported[0].notification_seq, reported[0].rank, reported[0].needs_person),
        (Some(5), 4, true)
    );
    // An id that comes twice belongs to the first.
    assert!(receipts::expect(&mut tx.conn(), "twilio", &[expected(6)]).await.unwrap().is_empty());
    assert_eq!(receipts::of(&mut tx.conn(), vec![5, 6]).await.unwrap().len(), 1);
    let foreign = News { provider_id: "m-2".into(), ..news[0].clone() };
    receipts::report(&mut tx.conn(), bed.now(), "twilio", &[foreign]).await.unwrap();
    assert_eq!(retention::forget_receipts(&mut tx.conn(), bed.now(), 10).await.unwrap(), 0);
    assert_eq!(retention::forget_receipts(&mut tx.conn(), bed.after(1), 10).await.unwrap(), 1);
    assert!(receipts::get(&mut tx.conn(), "twilio", "m-1").await.unwrap().is_some());
}

async fn messages_in_the_inbox_are_put_once_and_read(bed: TestBed) {
    let row = |id: &str, person: &str| InboxRow {
        seq: 0,
        id: id.into(),
        person: person.into(),
        notification_id: "n".into(),
        channel: "inbox:default".into(),
        kind: "inbox".into(),
        subject: "S".into(),
        body: "B".into(),
        business_unit: (id == "4").then(|| "de".to_owned()),
        created_at: bed.now(),
        read_at: None,
    };
    let all = Reach::Everything;
    let mut tx = bed.begin().await;
    for (id, person) in [("1", "ann"), ("2", "ann"), ("3", "bob"), ("4", "ann")] {
        assert!(inbox::put(&mut tx.conn(), &row(id, person)).await.unwrap());
    }
    assert!(!inbox::put(&mut tx.conn(), &row("1", "bob")).await.unwrap(), "a second try finds it there");
    let ids = |rows: Vec<InboxRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    let page = inbox::page(&mut tx.conn(), "ann", &all, None, false, 2).await.unwrap();
    let before = page[1].seq;
    assert_eq!(ids(page), ["4", "2"]);
    assert_eq!(ids(inbox::page(&mut tx.conn(), "ann", &all, Some(before), false, 2).await.unwrap()), ["1"]);
    assert!(!inbox::read(&mut tx.conn(), bed.now(), "bob", &all, "2").await.unwrap(), "only their own");
    assert!(inbox::read(&mut tx.conn(), bed.now(), "ann", &all, "2").await.unwrap());
    assert!(!inbox::read(&mut tx.conn(), bed.now(), "ann", &all, "2").await.unwrap());
    assert_eq!(ids(inbox::page(&mut tx.conn(), "ann", &all, None, true, 9).await.unwrap()), ["4", "1"]);
    assert_eq!(inbox::count_unread(&mut tx.conn(), "ann", &all, 9).await.unwrap(), 2);
    // Somebody of the same name in another unit has what is for everybody of the name.
    let nz = Reach::Units(vec!["nz".to_owned()]);
    assert_eq!(ids(inbox::page(&mut tx.conn(), "ann", &nz, None, false, 9).await.unwrap()), ["2", "1"]);
    assert_eq!(inbox::count_unread(&mut tx.conn(), "ann", &nz, 9).await.unwrap(), 1);
    assert!(inbox::get(&mut tx.conn(), "ann", &nz, "4").await.unwrap().is_none());
    assert!(!inbox::read(&mut tx.conn(), bed.now(), "ann", &nz, "4").await.unwrap());
    let second = inbox::get(&mut tx.conn(), "ann", &all, "2").await.unwrap().unwrap();
    assert_eq!(inbox::read_all(&mut tx.conn(), bed.now(), "ann", &all, second.seq).await.unwrap(), 1);
    assert_eq!(
        inbox::count_unread(&mut tx.conn(), "ann", &all, 9).await.unwrap(),
        1,
        "what came since stays"
    );
    assert_eq!(retention::forget_inbox(&mut tx.conn(), bed.now(), 10).await.unwrap(), 0);
    assert_eq!(retention::forget_inbox(&mut tx.conn(), bed.after(1), 10).await.unwrap(), 4);
}
