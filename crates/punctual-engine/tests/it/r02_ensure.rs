//! R2: ensure is idempotent under any interleaving. A state machine against a small model, and sixteen writers at once.

use std::collections::BTreeMap;

use punctual_engine::{Actor, EnsureOutcome};
use punctual_model::{Cause, NewWork, ReasonCode, WorkStatus};
use punctual_store::work;
use punctual_testkit::{Database, Seeded, TestBed, new_work_with, on_both, scale};
use serde_json::json;

on_both! {
    r02_any_sequence_of_commands_leaves_what_the_model_says;
    r02_sixteen_writers_leave_one_row_a_key;
    r02_one_owner_of_each_row_among_sixteen_that_disagree;
}

const KEYS: u64 = 3;

/// What a row should be after each command; written from the design's table, not from the code.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    status: &'static str,
    on_hold: bool,
    by_person: bool,
    input: u64,
    due: i64,
}

#[derive(Clone, Copy, Debug)]
enum Command {
    Ensure { key: u64, input: u64, due: i64, cause: Cause },
    Claim { key: u64 },
    Settle { key: u64, status: &'static str },
    Cancel { key: u64 },
    Release { key: u64 },
    Retry { key: u64 },
    Deactivate { key: u64 },
}

fn command(random: &Seeded) -> Command {
    let key = random.below(KEYS);
    let statuses = ["completed", "failed", "deactivated", "pending"];
    match random.below(16) {
        0..=7 => Command::Ensure {
            key,
            input: u64::from(random.below(6) == 0),
            due: random.below(3) as i64,
            cause: if random.below(3) == 0 { Cause::Person } else { Cause::Machine },
        },
        8..=9 => Command::Claim { key },
        10..=11 => Command::Settle { key, status: statuses[random.below(4) as usize] },
        12 => Command::Cancel { key },
        13 => Command::Release { key },
        14 => Command::Retry { key },
        _ => Command::Deactivate { key },
    }
}

/// The table of the design, first match wins.
fn ensure_in_model(
    rows: &mut BTreeMap<u64, Model>,
    key: u64,
    input: u64,
    due: i64,
    cause: Cause,
) -> &'static str {
    let Some(row) = rows.get_mut(&key) else {
        rows.insert(key, Model { status: "pending", on_hold: false, by_person: false, input, due });
        return "created";
    };
    match row.status {
        "completed" => "completed",
        "processing" => "inProgress",
        _ if row.input != input => {
            row.on_hold = true;
            "conflict"
        }
        // What the engine ended comes back held, as it was.
        "pending" | "failed" | "cancelled" if row.on_hold => "unchanged",
        "pending" if row.due == due => "unchanged",
        "pending" => {
            row.due = due;
            "updated"
        }
        "cancelled" if row.by_person && cause == Cause::Machine => "cancelled",
        _ => {
            (row.status, row.due, row.by_person) = ("pending", due, false);
            "reactivated"
        }
    }
}

fn key_of(sequence: usize, key: u64) -> String {
    format!("s{sequence}:{key}")
}

fn wanted(bed: &TestBed, sequence: usize, key: u64, input: u64, due: i64) -> NewWork {
    let input = json!({ "sequence": sequence, "key": key, "input": input });
    new_work_with(kind_of(sequence), &key_of(sequence, key), bed.after(due), &input)
}

/// A kind for each sequence, so that its claims find no other's rows. A few bytes that are never given back.
fn kind_of(sequence: usize) -> &'static str {
    Box::leak(format!("test-{sequence}").into_boxed_str())
}

async fn r02_any_sequence_of_commands_leaves_what_the_model_says(bed: TestBed) {
    let sequences = match bed.database() {
        Database::Sqlite => scale(1_900, 90_000),
        Database::Postgres => scale(200, 10_000),
    };
    for sequence in 0..sequences {
        let random = Seeded::new(sequence as u64);
        let mut model = BTreeMap::new();
        let mut tokens: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        let length = 5 + random.below(if sequence % 10 == 0 { 45 } else { 12 });
        let mut commands = Vec::new();
        for _ in 0..length {
            let command = command(&random);
            commands.push(command);
            apply(&bed, sequence, command, &mut model, &mut tokens).await;
        }
        for (key, expected) in &model {
            let row = bed.work(&key_of(sequence, *key)).await;
            let found = (row.status.as_str(), row.on_hold, row.due_at);
            let due = bed.after(expected.due);
            assert_eq!(found, (expected.status, expected.on_hold, due), "sequence {sequence}: {commands:?}");
        }
    }
    bed.leaves_open("the commands end anywhere");
    bed.changes_rows_itself("rows are settled by the test");
}

async fn apply(
    bed: &TestBed,
    sequence: usize,
    command: Command,
    model: &mut BTreeMap<u64, Model>,
    tokens: &mut BTreeMap<u64, (i64, i64)>,
) {
    match command {
        Command::Ensure { key, input, due, cause } => {
            let expected = ensure_in_model(model, key, input, due, cause);
            let asked = wanted(bed, sequence, key, input, due);
            let answer = bed.engine.ensure(&[asked], cause).await.unwrap().remove(0);
            assert_eq!(answer.outcome.as_str(), expected, "sequence {sequence}: {command:?}");
        }
        Command::Claim { key } => claim(bed, sequence, key, model, tokens).await,
        Command::Settle { key, status } => {
            let Some((id, token)) = tokens.remove(&key) else { return };
            let settlement = work::Settlement {
                id,
                token,
                status: WorkStatus::parse(status).unwrap(),
                reason: None,
                on_hold: false,
                retry_count: 0,
                retry_at: None,
                result: None,
                open_notifications: 0,
            };
            let mut tx = bed.begin().await;
            let settled = work::settle(&mut tx.conn(), bed.now(), &[settlement]).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(settled, [id]);
            model.get_mut(&key).unwrap().status = status;
        }
        Command::Cancel { key } => {
            let Some(row) = model.get_mut(&key) else { return };
            let id = bed.work(&key_of(sequence, key)).await.id;
            let allowed = matches!(row.status, "pending" | "failed");
            assert_eq!(bed.engine.cancel_work(&Actor::named("ann"), id, None).await.is_ok(), allowed);
            if allowed {
                (row.status, row.by_person, row.on_hold) = ("cancelled", true, false);
            }
        }
        Command::Release { key } => {
            let Some(row) = model.get_mut(&key) else { return };
            let id = bed.work(&key_of(sequence, key)).await.id;
            assert_eq!(bed.engine.release_work(&Actor::named("ann"), id, None).await.is_ok(), row.on_hold);
            row.on_hold = false;
        }
        Command::Retry { key } => {
            let Some(row) = model.get_mut(&key) else { return };
            let id = bed.work(&key_of(sequence, key)).await.id;
            let allowed = matches!(row.status, "failed" | "deactivated" | "cancelled");
            if row.status != "completed" {
                assert_eq!(bed.engine.retry_work(&Actor::named("ann"), id, None).await.is_ok(), allowed);
            }
            if allowed {
                (row.status, row.by_person, row.on_hold) = ("pending", false, false);
            }
        }
        Command::Deactivate { key } => {
            let allowed = model.get(&key).is_some_and(|row| matches!(row.status, "pending" | "failed"));
            let mut tx = bed.begin().await;
            let keys = vec![key_of(sequence, key)];
            let changed =
                punctual_engine::effects::deactivate(&mut tx, bed.now(), ReasonCode::NoLongerWanted, keys)
                    .await
                    .unwrap();
            tx.commit().await.unwrap();
            assert_eq!(changed, usize::from(allowed));
            if let Some(row) = model.get_mut(&key).filter(|_| allowed) {
                row.status = "deactivated";
            }
        }
    }
}

/// Claims whatever is ready, keeps the token of this key and gives the others back.
async fn claim(
    bed: &TestBed,
    sequence: usize,
    key: u64,
    model: &mut BTreeMap<u64, Model>,
    tokens: &mut BTreeMap<u64, (i64, i64)>,
) {
    let mut tx = bed.begin().await;
    let rows =
        work::claim(&mut tx, kind_of(sequence), bed.after(10), bed.after(3600), 100_000).await.unwrap();
    let wanted = key_of(sequence, key);
    let others: Vec<(i64, i64)> =
        rows.iter().filter(|row| row.key != wanted).map(|row| (row.id, row.version)).collect();
    work::release(&mut tx.conn(), bed.now(), &others).await.unwrap();
    tx.commit().await.unwrap();
    let claimed = rows.iter().find(|row| row.key == wanted);
    let claimable = model.get(&key).is_some_and(|row| row.status == "pending" && !row.on_hold);
    assert_eq!(claimed.is_some(), claimable, "sequence {sequence}");
    if let Some(row) = claimed {
        tokens.insert(key, (row.id, row.version));
        model.get_mut(&key).unwrap().status = "processing";
    }
}

async fn r02_sixteen_writers_leave_one_row_a_key(bed: TestBed) {
    let other = bed.node("b").await;
    let (keys, rounds) = (100, scale(10, 600));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..16_u64 {
        let bed = if writer % 2 == 0 { bed.clone() } else { other.clone() };
        writers.spawn(async move {
            let random = Seeded::new(writer);
            let mut created = 0;
            for _ in 0..rounds {
                // Overlapping sets in no order, with repeats.
                let rows: Vec<NewWork> = (0..20)
                    .map(|_| {
                        let key = random.below(keys);
                        let due = random.below(3) as i64;
                        wanted(&bed, 0, key, 0, due)
                    })
                    .collect();
                let answers = bed.ensure(&rows).await;
                let mut seen = std::collections::HashSet::new();
                created += answers
                    .iter()
                    .filter(|one| one.outcome == EnsureOutcome::Created && seen.insert(one.id))
                    .count();
            }
            created
        });
    }
    let created: usize = writers.join_all().await.into_iter().sum();
    assert_eq!(created, keys as usize, "each key was created by exactly one");
    for key in 0..keys {
        assert!(!bed.work(&key_of(0, key)).await.on_hold, "equal input is no conflict");
    }
    bed.leaves_open("no workflow works them");
}

/// Two inputs race for each key: one wins, the other is a conflict, nothing is overwritten.
async fn r02_one_owner_of_each_row_among_sixteen_that_disagree(bed: TestBed) {
    let other = bed.node("b").await;
    for key in 0..scale(20, 1000) as u64 {
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..16_u64 {
            let bed = if writer % 2 == 0 { bed.clone() } else { other.clone() };
            writers.spawn(async move {
                let row = wanted(&bed, 0, key, writer % 2, 0);
                (row.input_hash.to_string(), bed.ensure_one(row).await.outcome)
            });
        }
        let answers = writers.join_all().await;
        let winner: Vec<_> =
            answers.iter().filter(|(_, outcome)| *outcome == EnsureOutcome::Created).collect();
        assert_eq!(winner.len(), 1, "{answers:?}");
        let row = bed.work(&key_of(0, key)).await;
        assert_eq!(row.input_hash, winner[0].0, "nothing is overwritten");
        assert!(row.on_hold, "somebody must look");
        for (hash, outcome) in &answers {
            assert_eq!(*hash != row.input_hash, matches!(outcome, EnsureOutcome::Conflict { .. }));
        }
        assert_eq!(bed.audit("work", &row.id.to_string()).await, ["conflict:input-conflict"]);
    }
}
