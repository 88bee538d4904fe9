//! The statements of `attempts`.

use punctual_model::AttemptOutcome;
use std::collections::BTreeMap;

use punctual_store::attempts::{self, AttemptResult, Intent};
use punctual_testkit::{TestBed, on_both};

on_both! {
    an_intent_is_written_before_and_its_result_after;
    an_intent_without_result_becomes_uncertain_and_a_late_answer_is_the_truth;
    the_same_try_is_not_written_twice;
    an_uncertain_target_is_counted_once_however_often_it_is_written;
    an_intent_whose_call_was_not_started_is_taken_back_and_a_result_is_not;
    uncertain_attempts_are_counted_on_the_notification;
    the_last_hour_of_each_channel_is_counted;
}

fn intent(seq: i64, target: &str, n: i64) -> Intent {
    Intent { seq, target: target.into(), n, channel: "memory:default".into() }
}

async fn the_last_hour_of_each_channel_is_counted(bed: TestBed) {
    let mut tx = bed.begin().await;
    let over = |seq, channel: &str| Intent { channel: channel.into(), ..intent(seq, "a", 1) };
    let old = [over(1, "memory:old"), over(2, "memory:a")];
    attempts::intend(&mut tx.conn(), bed.after(-3601), "node", &old).await.unwrap();
    let new = [
        over(3, "memory:a"),
        over(4, "memory:a"),
        over(5, "memory:a"),
        over(6, "memory:b"),
        over(7, "memory:open"),
    ];
    attempts::intend(&mut tx.conn(), bed.now(), "node", &new).await.unwrap();
    let ended = |seq, after, outcome: &str, answer: Option<&str>| AttemptResult {
        finished_at: bed.after(after),
        answer: answer.map(str::to_owned),
        ..result(&bed, seq, "a", 1, outcome)
    };
    let results = [
        ended(1, 1, "permanent", Some("long ago")),
        ended(2, 1, "permanent", Some("long ago")),
        ended(3, 1, "delivered", None),
        ended(4, 3, "transient", Some("451 later")),
        ended(5, 2, "permanent", Some("550 no")),
        ended(6, 1, "uncertain", None),
    ];
    attempts::record(&mut tx.conn(), &results).await.unwrap();
    let found = attempts::health(&mut tx.conn(), bed.now()).await.unwrap();
    let row = |channel: &str, attempts, delivered, took: i64, failed: i64, error: Option<&str>| {
        attempts::HealthRow {
            channel: channel.into(),
            attempts,
            delivered,
            took_us: took * 1_000_000,
            failed_at: Some(bed.after(failed)),
            last_error: error.map(str::to_owned),
        }
    };
    assert_eq!(found, [row("memory:a", 3, 1, 6, 3, Some("451 later")), row("memory:b", 1, 0, 1, 1, None)]);
}

fn result(bed: &TestBed, seq: i64, target: &str, n: i64, outcome: &str) -> AttemptResult {
    let outcome = AttemptOutcome::parse(outcome).unwrap();
    let (provider_id, answer) = (Some("p-1".into()), Some("250 ok".into()));
    AttemptResult { seq, target: target.into(), n, finished_at: bed.after(1), outcome, provider_id, answer }
}

async fn of(bed: &TestBed, seqs: Vec<i64>) -> Vec<(i64, String, i64, Option<String>)> {
    let rows = attempts::of(&mut bed.read().await.conn(), seqs).await.unwrap();
    rows.into_iter()
        .map(|row| {
            (row.notification_seq, row.target, row.n, row.outcome.map(|outcome| outcome.as_str().to_owned()))
        })
        .collect()
}

async fn an_intent_is_written_before_and_its_result_after(bed: TestBed) {
    let mut tx = bed.begin().await;
    let intents = [intent(1, "b", 1), intent(1, "a", 1), intent(2, "a", 1), intent(1, "a", 2)];
    assert_eq!(attempts::intend(&mut tx.conn(), bed.now(), "node-a", &intents).await.unwrap(), 4);
    let results = [
        result(&bed, 1, "a", 1, "transient"),
        result(&bed, 2, "a", 1, "delivered"),
        result(&bed, 9, "a", 1, "delivered"),
    ];
    assert_eq!(attempts::record(&mut tx.conn(), &results).await.unwrap(), 2);
    tx.commit().await.unwrap();
    let expected = [
        (1, "a".to_owned(), 1, Some("transient".to_owned())),
        (1, "b".into(), 1, None),
        (1, "a".into(), 2, None),
        (2, "a".into(), 1, Some("delivered".into())),
    ];
    assert_eq!(of(&bed, vec![2, 1]).await, expected);
    let row = attempts::of(&mut bed.read().await.conn(), vec![2]).await.unwrap().remove(0);
    assert_eq!((row.node.as_str(), row.channel.as_str()), ("node-a", "memory:default"));
    assert_eq!((row.started_at, row.finished_at), (bed.now(), Some(bed.after(1))));
    assert_eq!((row.provider_id.as_deref(), row.answer.as_deref()), (Some("p-1"), Some("250 ok")));
    let mut tx = bed.begin().await;
    let over = [result(&bed, 2, "a", 1, "permanent")];
    assert_eq!(attempts::record(&mut tx.conn(), &over).await.unwrap(), 0, "what is known is not overwritten");
}

async fn an_intent_without_result_becomes_uncertain_and_a_late_answer_is_the_truth(bed: TestBed) {
    let mut tx = bed.begin().await;
    attempts::intend(
        &mut tx.conn(),
        bed.now(),
        "n",
        &[intent(1, "a", 1), intent(1, "b", 1), intent(2, "a", 1)],
    )
    .await
    .unwrap();
    attempts::record(&mut tx.conn(), &[result(&bed, 1, "a", 1, "delivered")]).await.unwrap();
    let marked = attempts::mark_uncertain(&mut tx.conn(), bed.now(), vec![1, 3]).await.unwrap();
    assert_eq!(marked, BTreeMap::from([(1, 1)]));
    assert!(attempts::mark_uncertain(&mut tx.conn(), bed.now(), vec![1]).await.unwrap().is_empty());
    assert_eq!(attempts::record(&mut tx.conn(), &[result(&bed, 1, "b", 1, "delivered")]).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let delivered = Some("delivered".to_owned());
    assert_eq!(
        of(&bed, vec![1]).await,
        [(1, "a".into(), 1, delivered.clone()), (1, "b".into(), 1, delivered)]
    );
    assert_eq!(of(&bed, vec![2]).await, [(2, "a".into(), 1, None)]);
}

async fn the_same_try_is_not_written_twice(bed: TestBed) {
    let mut tx = bed.begin().await;
    attempts::intend(&mut tx.conn(), bed.now(), "n", &[intent(1, "a", 1)]).await.unwrap();
    assert!(attempts::intend(&mut tx.conn(), bed.now(), "n", &[intent(1, "a", 1)]).await.is_err());
}

async fn an_uncertain_target_is_counted_once_however_often_it_is_written(bed: TestBed) {
    let mut tx = bed.begin().await;
    let intents = [intent(1, "a", 1), intent(1, "b", 1), intent(2, "a", 1)];
    attempts::intend(&mut tx.conn(), bed.now(), "n", &intents).await.unwrap();
    let results: Vec<_> = [(1, "a"), (1, "b"), (2, "a"), (3, "a")]
        .map(|(seq, target)| result(&bed, seq, target, 1, "uncertain"))
        .into();
    let counts = attempts::record_uncertain(&mut tx.conn(), &results).await.unwrap();
    assert_eq!(counts, BTreeMap::from([(1, 2), (2, 1)]));
    assert!(attempts::record_uncertain(&mut tx.conn(), &results).await.unwrap().is_empty());
    assert!(attempts::mark_uncertain(&mut tx.conn(), bed.now(), vec![1, 2]).await.unwrap().is_empty());
}

async fn an_intent_whose_call_was_not_started_is_taken_back_and_a_result_is_not(bed: TestBed) {
    let mut tx = bed.begin().await;
    let intents = [intent(1, "a", 1), intent(1, "b", 1), intent(1, "a", 2)];
    attempts::intend(&mut tx.conn(), bed.now(), "n", &intents).await.unwrap();
    attempts::record(&mut tx.conn(), &[result(&bed, 1, "b", 1, "delivered")]).await.unwrap();
    let back = [intent(1, "a", 1), intent(1, "b", 1)];
    assert_eq!(attempts::withdraw(&mut tx.conn(), &back).await.unwrap(), 1);
    tx.commit().await.unwrap();
    let left = of(&bed, vec![1]).await;
    assert_eq!(left, [(1, "b".into(), 1, Some("delivered".to_owned())), (1, "a".into(), 2, None)]);
}

async fn uncertain_attempts_are_counted_on_the_notification(bed: TestBed) {
    let ids = bed.accept_to(&["a@example.org", "b@example.org"]).await;
    let seq = bed.notification(&ids[0]).await.seq;
    let mut tx = bed.begin().await;
    for n in 1..=2 {
        let intents = ["a", "b", "c"].map(|target| intent(seq, target, n));
        attempts::intend(&mut tx.conn(), bed.now(), "n", &intents).await.unwrap();
        let answered = [result(&bed, seq, "a", n, "uncertain")];
        attempts::record_uncertain(&mut tx.conn(), &answered).await.unwrap();
        attempts::mark_uncertain(&mut tx.conn(), bed.now(), vec![seq, 999]).await.unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(bed.notification(&ids[0]).await.uncertain, 6);
    assert_eq!(bed.notification(&ids[1]).await.uncertain, 0);
    bed.leaves_open("rows only");
}
