//! The promises of the pipeline, kept for reminders at their numbers: one row a key whoever races, nothing sent twice, and
//! stop means stop.

use jiff::{Span, civil::Date};
use punctual_model::{Reach, WorkStatus};
use punctual_store::work::{self, WorkFilter};
use punctual_testkit::{Database, Seeded, TestBed, on_both, scale};
use serde_json::{Value, json};

use crate::author::{Author, first_aid};

on_both! {
    r02_sources_put_by_sixteen_writers_end_in_the_last_state;
    r03_what_was_sent_is_never_sent_again;
    r13_a_stop_in_time_prevents_and_a_late_one_does_not;
}

fn day(offset: u64) -> String {
    let days = Span::new().days(i64::try_from(offset).unwrap());
    Date::constant(2026, 7, 1).checked_add(days).unwrap().to_string()
}

/// Every state that a source is put in, in the order that counts.
fn states(random: &Seeded) -> Vec<Value> {
    (1..=6)
        .map(|sequence| {
            let unit = if random.below(2) == 0 { "nz" } else { "de" };
            let kind = if random.below(4) == 0 { "other" } else { "first-aid" };
            json!({ "sequence": sequence, "businessUnit": unit, "active": random.below(5) > 0, "state": { "kind": kind, "expiresOn": day(random.below(40)) } })
        })
        .collect()
}

fn place(id: usize) -> String {
    format!("document/{id}")
}

/// The key and the unit of every reminder that is planned; none is on hold.
async fn planned(bed: &TestBed) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut filter = WorkFilter {
        kind: Some("reminder".to_owned()),
        status: Some(WorkStatus::Pending),
        limit: 1_000,
        ..WorkFilter::default()
    };
    let mut reader = bed.read().await;
    loop {
        let page = work::page(&mut reader.conn(), &Reach::Everything, &filter).await.unwrap();
        for row in page.rows {
            assert!(!row.on_hold, "{row:?}");
            found.push(format!("{} {}", row.key, row.business_unit.unwrap()));
        }
        filter.before = page.next;
        if filter.before.is_none() {
            return found;
        }
    }
}

async fn r02_sources_put_by_sixteen_writers_end_in_the_last_state(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.unit("de", "Europe/Berlin").await;
    let id = author.setting(first_aid(|_| {})).await;
    let random = Seeded::new(2);
    // Where each write waits for a server there are fewer.
    let sources = if bed.database() == Database::Sqlite { scale(1_800, 90_000) } else { scale(200, 10_000) };
    let reported: Vec<Vec<Value>> = (0..sources).map(|_| states(&random)).collect();
    // Shuffled, and each put twice: order and repeats are whatever the network makes of them.
    let named = reported.iter().enumerate();
    let named = named.flat_map(|(id, states)| states.iter().map(move |state| (place(id), state.clone())));
    let mut all: Vec<(String, Value)> = named.clone().chain(named).collect();
    for at in (1..all.len()).rev() {
        all.swap(at, usize::try_from(random.below(at as u64 + 1)).unwrap());
    }
    let mut writers = tokio::task::JoinSet::new();
    for part in all.chunks(all.len().div_ceil(16)) {
        let (author, part) = (author.clone(), part.to_vec());
        writers.spawn(async move {
            for items in part.chunks(250) {
                author.report_all(items).await;
            }
        });
    }
    let (other, own) = (author.clone(), id.clone());
    writers.spawn(async move {
        for offsets in [json!([14, 2]), json!([5, 0, -3]), json!([30, 7, 1])] {
            let date = json!({ "field": "/expiresOn", "offsetsDays": offsets });
            other.change(&own, json!({ "date": date })).await;
            other.look_now("dateBased").await;
        }
    });
    writers.join_all().await;
    bed.tick().await;

    // The last word on each source, and what is planned for it then; nothing else, and nobody has to look.
    let mut expected: Vec<String> = Vec::new();
    for (source, states) in reported.iter().enumerate() {
        let last = &states[5];
        if last["active"] == true && last["state"]["kind"] == "first-aid" {
            let date = last["state"]["expiresOn"].as_str().unwrap();
            let unit = last["businessUnit"].as_str().unwrap();
            expected.extend([30, 7, 1].map(|offset| {
                format!("reminder:{id}:document:{source}:first-aid-expiry:{date}:{offset} {unit}")
            }));
        }
    }
    let mut found = planned(&bed).await;
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    bed.leaves_open("what is planned");
}

async fn r03_what_was_sent_is_never_sent_again(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    let random = Seeded::new(3);
    let sources = if bed.database() == Database::Sqlite { scale(1_000, 10_000) } else { scale(100, 1_000) };
    let reported: Vec<(String, Value)> = (0..sources)
        .map(|id| {
            let state = json!({ "kind": "first-aid", "expiresOn": day(random.below(5)) });
            (place(id), json!({ "businessUnit": "nz", "state": state }))
        })
        .collect();
    author.report_all(&reported).await;
    author.advance("60d").await;
    assert_eq!(bed.sent().len(), sources);

    // The whole intake again; moved away and back; the setting off and on; reconciled from the beginning.
    let replay = async || {
        author.report_all(&reported).await;
        let mut moved = reported.clone();
        moved.iter_mut().for_each(|(_, item)| item["state"]["expiresOn"] = json!("2027-07-01"));
        author.report_all(&moved).await;
        author.report_all(&reported).await;
        for change in [json!({ "active": false }), json!({ "active": true, "maxLateness": "365d" })] {
            author.change(&id, change).await;
            bed.tick().await;
        }
        author.look_now("dateBased").await;
        author.advance("1d").await;
        assert_eq!(bed.sent().len(), sources);
    };
    replay().await;
    // What was sent has been forgotten in its details; that it was sent has not.
    bed.wait(370 * 86_400);
    let purged = bed.engine.purge_confirmed(bed.now()).await.unwrap();
    assert_eq!(purged.removed, sources);
    replay().await;
}

/// A command that takes a reminder back.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Inactive,
    Deleted,
    SettingOff,
    SettingRemoved,
}

impl Stop {
    async fn send(self, author: &Author, setting: &str, place: &str) {
        match self {
            Self::Inactive => {
                let body = json!({ "businessUnit": "nz", "active": false, "state": due_now() });
                author.report(place, body).await;
            }
            Self::Deleted => author.report_gone(place).await,
            Self::SettingOff => author.change(setting, json!({ "active": false })).await,
            Self::SettingRemoved => author.remove(setting).await,
        }
    }
}

/// In Auckland it is five in the afternoon of 14 May: what was due at nine is ready as soon as it is planned.
fn due_now() -> Value {
    json!({ "kind": "first-aid", "expiresOn": "2026-05-14" })
}

async fn r13_a_stop_in_time_prevents_and_a_late_one_does_not(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    for stop in [Stop::Inactive, Stop::Deleted, Stop::SettingOff, Stop::SettingRemoved] {
        let (mut stopped, mut late) = (0, 0);
        let rounds = if bed.database() == Database::Sqlite { scale(5, 5_000) } else { scale(1, 500) };
        for round in 0..rounds {
            // A setting and a source each, so that every command stops one reminder.
            let (kind, mut pairs) = (format!("document-{stop:?}-{round}"), Vec::new());
            for n in 0..20 {
                let source = format!("n{n}-{stop:?}-{round}");
                let own = first_aid(|body| {
                    body["sourceType"] = json!(kind);
                    body["date"]["offsetsDays"] = json!([0]);
                    body["filter"] =
                        json!({ "questionId": "state.only", "op": "==", "value": source.as_str() });
                });
                let id = author.setting(own).await;
                let mut state = due_now();
                state["only"] = json!(source);
                let body = json!({ "businessUnit": "nz", "state": state });
                author.report(&format!("{kind}/{source}"), body).await;
                pairs.push((id, source));
            }
            let mut stopping = tokio::task::JoinSet::new();
            for (id, source) in pairs.clone() {
                let (author, place) = (author.clone(), format!("{kind}/{source}"));
                stopping.spawn(async move { stop.send(&author, &id, &place).await });
            }
            // One has come before anything is due; the others race.
            stopping.join_next().await.unwrap().unwrap();
            while bed.engine.due_tick(bed.now(), 3).await.unwrap().claimed > 0 {
                tokio::task::yield_now().await;
            }
            stopping.join_all().await;
            bed.tick().await;
            for (id, source) in pairs {
                let key = format!("reminder:{id}:{kind}:{source}:first-aid-expiry:2026-05-14:0");
                let row = bed.work(&key).await;
                let reported = format!(" {source}, ");
                let sent = bed.sent().iter().filter(|sent| sent.body.contains(&reported)).count();
                match row.status.as_str() {
                    "completed" => late += 1,
                    "deactivated" => stopped += 1,
                    other => panic!("{key} is {other}"),
                }
                assert_eq!(sent, usize::from(row.status.as_str() == "completed"), "{key}");
            }
        }
        println!("{stop:?}: {stopped} in time, {late} too late");
        assert!(stopped > 0, "{stop:?}: none came in time");
    }
}
