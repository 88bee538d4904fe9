//! The buffer of a site agent, which is always SQLite: rows in order, cut into batches, settled once.

use jiff::Timestamp;
use punctual_store::{
    Faults, Lane, Store, StoreOptions,
    site_buffer::{
        self,
        events::{self, EventRow},
        outgoing::{self, NewOutgoing, OutgoingState},
    },
};
use tempfile::TempDir;

struct Buffer {
    store: Store,
    faults: Faults,
    _folder: TempDir,
}

impl Buffer {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let faults = Faults::default();
        let options = StoreOptions {
            faults: faults.clone(),
            ..site_buffer::options(&folder.path().join("site.sqlite"))
        };
        let store = Store::open(options, at(0)).await.unwrap();
        Self { store, faults, _folder: folder }
    }

    async fn insert(&self, rows: &[NewOutgoing]) -> u64 {
        let mut tx = self.store.begin(Lane::Intake).await.unwrap();
        let inserted = outgoing::insert(&mut tx.conn(), rows).await.unwrap();
        tx.commit().await.unwrap();
        inserted
    }

    async fn numbers(&self, after: i64, limit: i64, bytes: i64) -> Vec<i64> {
        let mut reader = self.store.read().await.unwrap();
        let rows = outgoing::waiting(&mut reader.conn(), after, limit, bytes).await.unwrap();
        rows.into_iter().map(|row| row.seq).collect()
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn row(number: i64) -> NewOutgoing {
    NewOutgoing {
        id: format!("id-{number}"),
        digest: format!("d-{number}"),
        list: "ops".into(),
        instance: None,
        script: Some("watch.sh".into()),
        subject: "S \"quoted\"".into(),
        body: format!("body {number}\nwith a line"),
        enqueued_at: at(number),
        bytes: 100,
    }
}

#[tokio::test]
async fn rows_wait_in_order_and_batches_are_cut_by_number_and_size() {
    let buffer = Buffer::open().await;
    let rows: Vec<NewOutgoing> = (1..=10).map(row).collect();
    assert_eq!(buffer.insert(&rows).await, 10);
    assert_eq!(buffer.insert(&rows[..3]).await, 0, "an id is taken once");
    assert_eq!(buffer.numbers(0, 4, i64::MAX).await, [1, 2, 3, 4]);
    assert_eq!(buffer.numbers(4, 100, i64::MAX).await, [5, 6, 7, 8, 9, 10]);
    assert_eq!(buffer.numbers(0, 100, 250).await, [1, 2, 3], "as long as there was room before it");
    assert_eq!(buffer.numbers(0, 100, 1).await, [1], "the first is always taken");
    assert!(buffer.numbers(10, 100, 1).await.is_empty());
    let mut reader = buffer.store.read().await.unwrap();
    let first = outgoing::waiting(&mut reader.conn(), 0, 1, 1).await.unwrap().remove(0);
    assert_eq!((first.subject.as_str(), first.body.as_str()), ("S \"quoted\"", "body 1\nwith a line"));
    assert_eq!((first.instance, first.script.as_deref()), (None, Some("watch.sh")));
    let known = outgoing::digests(&mut reader.conn(), vec!["id-2".into(), "none".into()]).await.unwrap();
    assert_eq!((known.len(), known[0].digest.as_str()), (1, "d-2"));
}

#[tokio::test]
async fn a_row_is_settled_once_and_its_content_goes() {
    let buffer = Buffer::open().await;
    buffer.insert(&(1..=5).map(row).collect::<Vec<_>>()).await;
    let mut tx = buffer.store.begin(Lane::Settle).await.unwrap();
    assert_eq!(outgoing::hand_over(&mut tx.conn(), at(100), vec![1, 3]).await.unwrap(), 2);
    assert_eq!(outgoing::hand_over(&mut tx.conn(), at(200), vec![1, 3]).await.unwrap(), 0);
    assert_eq!(
        outgoing::refuse(&mut tx.conn(), at(100), vec![(2, "no".into()), (3, "late".into())]).await.unwrap(),
        1
    );
    tx.commit().await.unwrap();
    assert_eq!(buffer.numbers(0, 100, i64::MAX).await, [4, 5]);
    let mut reader = buffer.store.read().await.unwrap();
    let backlog = outgoing::backlog(&mut reader.conn(), at(5)).await.unwrap();
    assert_eq!((backlog.waiting, backlog.bytes, backlog.refused, backlog.refused_bytes), (2, 200, 1, 100));
    assert_eq!((backlog.long, backlog.oldest_at), (1, Some(at(4).as_microsecond())));
    assert_eq!(outgoing::oldest(&mut reader.conn()).await.unwrap(), Some(at(4).as_microsecond()));
    let refused = outgoing::by_id(&mut reader.conn(), "id-2").await.unwrap().unwrap();
    assert_eq!((refused.status.as_str(), refused.last_error.as_deref()), ("refused", Some("no")));
    drop(reader);
    let mut tx = buffer.store.begin(Lane::Intake).await.unwrap();
    let delivered = OutgoingState {
        id: "id-1".into(),
        state: "handed_over".into(),
        status: "delivered".into(),
        retry_count: 1,
        last_error: None,
        enqueued_at: at(1).as_microsecond(),
        delivered_at: Some(at(50).as_microsecond()),
    };
    outgoing::learn(&mut tx.conn(), &delivered).await.unwrap();
    outgoing::learn(&mut tx.conn(), &OutgoingState { id: "id-4".into(), ..delivered.clone() }).await.unwrap();
    assert_eq!(outgoing::by_id(&mut tx.conn(), "id-1").await.unwrap(), Some(delivered));
    let waiting = outgoing::by_id(&mut tx.conn(), "id-4").await.unwrap().unwrap();
    assert_eq!(waiting.status, "forwarding", "what waits is known by the site alone");
    assert_eq!(outgoing::forget_handed_over(&mut tx.conn(), at(100), 10).await.unwrap(), 0);
    assert_eq!(outgoing::forget_handed_over(&mut tx.conn(), at(101), 1).await.unwrap(), 1);
    assert_eq!(outgoing::forget_handed_over(&mut tx.conn(), at(101), 10).await.unwrap(), 1);
    assert_eq!(outgoing::forget_refused(&mut tx.conn(), at(101), 10).await.unwrap(), 1);
    tx.commit().await.unwrap();
    // A number is never given twice, so nothing that is late can mean another row.
    buffer.insert(&[row(6)]).await;
    assert_eq!(buffer.numbers(5, 10, i64::MAX).await, [6]);
}

#[tokio::test]
async fn hot_statements_read_no_content_beyond_what_they_return() {
    let buffer = Buffer::open().await;
    buffer.insert(&(1..=2_000).map(row).collect::<Vec<_>>()).await;
    for statement in
        ["outgoing.waiting", "outgoing.hand_over", "outgoing.oldest", "outgoing.forget", "outgoing.backlog"]
    {
        buffer.faults.explain(statement);
    }
    let mut tx = buffer.store.begin(Lane::Settle).await.unwrap();
    outgoing::waiting(&mut tx.conn(), 10, 100, i64::MAX).await.unwrap();
    outgoing::hand_over(&mut tx.conn(), at(1), (1..=100).collect()).await.unwrap();
    outgoing::oldest(&mut tx.conn()).await.unwrap();
    outgoing::backlog(&mut tx.conn(), at(1)).await.unwrap();
    outgoing::forget_handed_over(&mut tx.conn(), at(1), 10).await.unwrap();
    let plan = |statement: &str| buffer.faults.plan(statement).join("\n");
    let check = |statement: &str, needed: &str| {
        let plan = plan(statement);
        assert!(plan.contains(needed), "{statement} lacks {needed}:\n{plan}");
        let whole = plan.lines().any(|line| line.trim() == "SCAN outgoing");
        assert!(!whole, "{statement} reads everything:\n{plan}");
    };
    check("outgoing.waiting", "USING COVERING INDEX outgoing_waiting");
    check("outgoing.hand_over", "SEARCH outgoing USING INTEGER PRIMARY KEY");
    check("outgoing.oldest", "USING COVERING INDEX outgoing_waiting");
    check("outgoing.backlog", "USING COVERING INDEX outgoing_waiting");
    check("outgoing.forget", "outgoing_settled");
}

#[tokio::test]
async fn the_event_log_is_bounded_and_reported_in_parts() {
    let buffer = Buffer::open().await;
    let event = |number: i64, last: i64| EventRow {
        seq: 0,
        id: format!("e-{number}"),
        category: "notification".into(),
        kind: "forward-failed".into(),
        began_at: at(number).as_microsecond(),
        last_at: at(last).as_microsecond(),
        count: last - number + 1,
        detail: "no answer".into(),
    };
    let mut tx = buffer.store.begin(Lane::Settle).await.unwrap();
    for number in 0..10 {
        events::put(&mut tx.conn(), &event(number, number)).await.unwrap();
    }
    let first = events::unreported(&mut tx.conn(), 4).await.unwrap();
    assert_eq!(first.iter().map(|event| event.id.as_str()).collect::<Vec<_>>(), ["e-0", "e-1", "e-2", "e-3"]);
    // One of them goes on while its state is reported to central.
    events::put(&mut tx.conn(), &event(2, 50)).await.unwrap();
    events::reported(&mut tx.conn(), &first).await.unwrap();
    let rest = events::unreported(&mut tx.conn(), 100).await.unwrap();
    assert_eq!((rest.len(), rest[0].id.as_str(), rest[0].count), (7, "e-2", 49));
    assert_eq!(events::trim(&mut tx.conn(), 3).await.unwrap(), 7);
    assert_eq!(events::trim(&mut tx.conn(), 3).await.unwrap(), 0);
    let latest: Vec<String> =
        events::latest(&mut tx.conn(), 9).await.unwrap().into_iter().map(|e| e.id).collect();
    assert_eq!(latest, ["e-9", "e-8", "e-7"]);
}
