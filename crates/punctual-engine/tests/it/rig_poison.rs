//! One bad row in a hundred, of each kind and in each stage: it is held or parked with a reason, and no other is harmed.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use punctual_engine::{Claimed, Decide, Loads, Registration, Titles, Workflow};
use punctual_model::{
    Audience, Decided, Decision, NewNotification, NewWork, NotificationId, Outgoing, ReasonCode,
};
use punctual_store::{Conn, StoreError};
use punctual_testkit::{
    Database, Scripted, TestBed, TestWorkflow,
    channel::delivered,
    history::{
        judge::{Asked, Call, History, Replies},
        stored::Stored,
    },
    new_work, new_work_with, on_both,
    rig::{Outcome, Rig, Round},
};
use serde_json::json;

on_both! {
    rig_poison_r10_each_kind_of_bad_row_harms_only_itself;
    rig_poison_control_a_neighbour_that_is_harmed_is_found;
}

const KINDS: [&str; 9] = [
    "decision panics",
    "load panics",
    "preparation panics",
    "listener panics",
    "input unreadable",
    "message missing",
    "template without end",
    "channel panics",
    "channel unknown",
];
/// So many bad rows in a round, each in a hundred rows.
const IN_A_ROUND: u64 = 100;
const TARGET: &str = "someone@example.org";

async fn rig_poison_r10_each_kind_of_bad_row_harms_only_itself(bed: TestBed) {
    let database = bed.database();
    let name = if database == Database::Sqlite { "sqlite" } else { "postgres" };
    let mut rig = Rig::new("poison", name, 2 * KINDS.len(), 10_000);
    while let Some(round) = rig.next_round() {
        let bed = TestBed::on(database).await;
        rig.judged(round, &poisoned(&bed, round, false).await);
        bed.finish().await;
    }
}

/// The guard is that a fault stays in its row. One that takes its neighbour along must be found.
async fn rig_poison_control_a_neighbour_that_is_harmed_is_found(bed: TestBed) {
    let verdict = poisoned(&bed, Round { seed: 1, left: 2 }, true).await.judgement;
    assert_eq!(verdict.lost.len(), 2, "{verdict:?}");
}

async fn poisoned(bed: &TestBed, round: Round, is_harmful: bool) -> Outcome {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let bed = prepared(bed, calls.clone(), is_harmful).await;
    let bad = IN_A_ROUND.min(round.left);
    let (mut rows, mut asked) = (Vec::new(), Vec::new());
    let mut outcome = Outcome::default();
    for n in 0..bad * 100 {
        if n % 100 == 50 {
            let kind = KINDS[usize::try_from(n / 100 + round.seed).unwrap() % KINDS.len()];
            *outcome.injected.entry(kind.to_owned()).or_default() += 1;
            rows.push(bad_row(kind, n, bed.now()));
            continue;
        }
        // Good rows of the kinds that read and prepare, too.
        let (kind, group) = match n % 10 {
            3 => ("reads", "good"),
            7 if n % 50 == 7 => ("prepares", "good"),
            _ => ("test", if n % 100 == 51 { "neighbour" } else { "good" }),
        };
        let key = format!("{group}:{n}");
        rows.push(new_work(kind, &key, bed.now()));
        asked.push(Asked { key, targets: vec![TARGET.to_owned()], not_before: None });
    }
    for chunk in rows.chunks(1_000) {
        bed.ensure(chunk).await;
    }
    let report = bed.tick().await;
    let ended = report.due.held + report.deliveries.parked;
    assert_eq!(ended as u64, bad, "every bad row is held or parked, and nothing else is");
    let is_good = |key: &str| !key.starts_with("bad");
    let mut history = History {
        replies: Replies { acknowledged: asked, unanswered: Vec::new() },
        stored: Stored::at(bed.url()).messages().await.unwrap(),
        received: std::mem::take(&mut *calls.lock().unwrap()),
        ..History::default()
    };
    history.stored.retain(|message| is_good(&message.key));
    Outcome { judgement: history.judge(), ..outcome }
}

fn bad_row(kind: &str, n: u64, now: Timestamp) -> NewWork {
    match kind {
        "listener panics" => {
            new_work_with("schedule", &format!("bad:{n}"), now, &json!({ "topic": "poison", "payload": {} }))
        }
        "input unreadable" => new_work_with("schedule", &format!("bad:{n}"), now, &json!([1, "no topic"])),
        "message missing" => {
            new_work_with("message", &format!("bad:{n}"), now, &json!({ "messageId": "no" }))
        }
        "load panics" => new_work("reads", &format!("bad-load:{n}"), now),
        "preparation panics" => new_work("prepares", &format!("bad-preparation:{n}"), now),
        "decision panics" => new_work("test", &format!("bad-decision:{n}"), now),
        "template without end" => new_work("test", &format!("bad-template:{n}"), now),
        "channel panics" => new_work("test", &format!("bad-call:{n}"), now),
        _ => new_work("test", &format!("bad-channel:{n}"), now),
    }
}

async fn prepared(bed: &TestBed, calls: Arc<Mutex<Vec<Call>>>, is_harmful: bool) -> TestBed {
    let deciding = TestWorkflow::new("test", move |row: &Claimed, _| {
        if is_harmful && row.key.starts_with("neighbour") {
            return Decision::Skip(ReasonCode::NoLongerWanted);
        }
        decision(&row.key)
    });
    let preparing = TestWorkflow::new("prepares", |row: &Claimed, _| decision(&row.key)).prepared_by(|row| {
        let is_bad = row.key.starts_with("bad");
        async move {
            assert!(!is_bad, "a preparation that panics");
            Ok(())
        }
    });
    let picky = Scripted::new("picky", move |message: Outgoing| {
        assert!(!message.subject.starts_with("bad"), "a channel that panics");
        calls.lock().unwrap().push(Call {
            key: message.subject.to_string(),
            target: message.address.to_string(),
            message_id: message.message_id.to_string(),
            started_at: message.at,
            arrived_at: message.at,
        });
        delivered()
    });
    let bed = bed.with(|bed| {
        bed.workflow(deciding)
            .workflow(preparing)
            .workflow(Registration::of(Reads).loads())
            .adapter(picky)
            .listener("poison", |_: &punctual_model::Arrival| -> Result<(), String> { panic!("a listener") })
    });
    bed.channel("picky:default", "picky").await;
    let endless = "{% for a in range(1000) %}{% for b in range(1000) %}{{ a }}{% endfor %}{% endfor %}";
    bed.template("endless", "en", json!({ "en": { "subject": "x", "body": endless } })).await;
    bed
}

fn decision(key: &str) -> Decision {
    assert!(!key.starts_with("bad-decision"), "a decision that panics");
    let audience = Audience::Targets(vec![TARGET.to_owned()]);
    let mut new = NewNotification::new(NotificationId(Default::default()), audience, key.to_owned(), "b");
    let channel = if key.starts_with("bad-channel") { "nowhere:default" } else { "picky:default" };
    new.channel = channel.parse().ok();
    if key.starts_with("bad-template") {
        new.template = Some("endless".into());
    }
    Decision::Deliver(vec![new])
}

/// A workflow whose reading panics for the whole batch where a bad row is in it.
struct Reads;

impl Titles for Reads {}

impl Workflow for Reads {
    fn kind(&self) -> &'static str {
        "reads"
    }
}

impl Loads for Reads {
    type Loaded = Read;

    async fn load(&self, _conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Read, StoreError> {
        assert!(batch.iter().all(|row| !row.key.starts_with("bad")), "a load that panics");
        Ok(Read)
    }
}

struct Read;

impl Decide for Read {
    fn decide(&self, row: &Claimed, _now: Timestamp) -> Decided {
        decision(&row.key).into()
    }
}
