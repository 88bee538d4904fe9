//! R6: at most one live claim per row and version, with and without SKIP LOCKED.

use std::sync::Arc;

use punctual_model::NotificationStatus;
use punctual_store::{Lane, StoreError, notifications, work};
use punctual_testkit::{Database, TestBed, history::Claims, new_work, on_both, scale};

on_both! {
    r06_no_version_of_a_work_row_is_claimed_twice;
    r06_no_version_of_a_work_row_is_claimed_twice_without_skipping_locked_rows =
        r06_no_version_of_a_work_row_is_claimed_twice with |bed| bed.without_skip_locked();
    r06_no_version_of_a_notification_is_claimed_twice;
    r06_no_version_of_a_notification_is_claimed_twice_without_skipping_locked_rows =
        r06_no_version_of_a_notification_is_claimed_twice with |bed| bed.without_skip_locked();
}

const ROWS: usize = 2_000;
const BATCH: i64 = 100;

/// Nodes and workers of each: sixteen tasks on SQLite's one store, four nodes of four on PostgreSQL.
async fn workers(bed: &TestBed) -> Vec<TestBed> {
    let mut nodes = vec![bed.clone()];
    for name in ["b", "c", "d"] {
        nodes.push(bed.node(name).await);
    }
    (0..16).map(|n| nodes[n % nodes.len()].clone()).collect()
}

fn target(bed: &TestBed) -> usize {
    match bed.database() {
        Database::Sqlite => scale(50_000, 10_000_000),
        Database::Postgres if bed.skips_locked() => scale(40_000, 10_000_000),
        // Claims that wait in a circle cost a second each.
        Database::Postgres => scale(10_000, 10_000_000),
    }
}

/// Where claims wait for each other, PostgreSQL ends one of two that wait in a circle; the loops try such a pass again.
fn won<T>(answer: Result<T, StoreError>) -> Option<T> {
    match answer {
        Ok(value) => Some(value),
        Err(error) if error.is_unavailable() => None,
        Err(error) => panic!("{error:?}"),
    }
}

async fn r06_no_version_of_a_work_row_is_claimed_twice(bed: TestBed) {
    let rows: Vec<_> = (0..ROWS).map(|n| new_work("test", &format!("k:{n}"), bed.now())).collect();
    bed.ensure(&rows).await;
    let claims = Arc::new(Claims::default());
    let target = target(&bed);
    let mut working = tokio::task::JoinSet::new();
    for bed in workers(&bed).await {
        let claims = claims.clone();
        working.spawn(async move {
            let mut mine = 0;
            while mine < target / 16 {
                let mut tx = bed.store.begin(Lane::Intake).await.unwrap();
                let Some(claimed) = won(work::claim(&mut tx, "test", bed.now(), bed.after(60), BATCH).await)
                else {
                    continue;
                };
                tx.commit().await.unwrap();
                let held: Vec<(i64, i64)> = claimed.iter().map(|row| (row.id, row.version)).collect();
                mine += held.len();
                claims.log(held.iter().copied());
                tokio::task::yield_now().await;
                loop {
                    let mut tx = bed.store.begin(Lane::Settle).await.unwrap();
                    let Some(released) = won(work::release(&mut tx.conn(), bed.now(), &held).await) else {
                        continue;
                    };
                    tx.commit().await.unwrap();
                    assert_eq!(released as usize, held.len(), "a claim is held until it is given back");
                    break;
                }
            }
        });
    }
    while let Some(done) = working.join_next().await {
        done.unwrap();
    }
    let claimed = claims.check();
    println!("{claimed} claims, none of a version already claimed");
    // A claim and its release raise the version by one each, and nothing else touched the rows.
    let per_row = claims.per_row();
    for n in (0..ROWS).step_by(97) {
        let row = bed.work(&format!("k:{n}")).await;
        assert_eq!(row.version, 1 + 2 * per_row.get(&row.id).copied().unwrap_or(0) as i64);
    }
    bed.leaves_open("they were only claimed");
}

async fn r06_no_version_of_a_notification_is_claimed_twice(bed: TestBed) {
    for _ in 0..ROWS / 500 {
        bed.accept((0..500).map(|n| bed.message(&format!("{n}@example.org"))).collect()).await;
    }
    let claims = Arc::new(Claims::default());
    let target = target(&bed);
    let mut working = tokio::task::JoinSet::new();
    for bed in workers(&bed).await {
        let claims = claims.clone();
        working.spawn(async move {
            let mut mine = 0;
            while mine < target / 16 {
                let mut tx = bed.store.begin(Lane::Intake).await.unwrap();
                let claimed =
                    notifications::claim(&mut tx, "memory:default", bed.now(), bed.after(60), BATCH).await;
                let Some(claimed) = won(claimed) else { continue };
                tx.commit().await.unwrap();
                mine += claimed.len();
                claims.log(claimed.iter().map(|row| (row.seq, row.version)));
                let back: Vec<notifications::Delivery> = claimed
                    .iter()
                    .map(|row| notifications::Delivery {
                        seq: row.seq,
                        token: row.version,
                        status: NotificationStatus::Pending,
                        retry_count: 0,
                        last_error: None,
                        reason: None,
                        retry_at: None,
                        channel: None,
                        kind: None,
                        leaves_list: false,
                    })
                    .collect();
                loop {
                    let mut tx = bed.store.begin(Lane::Settle).await.unwrap();
                    let settled =
                        notifications::settle(&mut tx.conn(), bed.now(), &back.iter().collect::<Vec<_>>())
                            .await;
                    let Some(settled) = won(settled) else { continue };
                    tx.commit().await.unwrap();
                    assert_eq!(settled.len(), back.len(), "a claim is held until it is given back");
                    break;
                }
            }
        });
    }
    while let Some(done) = working.join_next().await {
        done.unwrap();
    }
    let claimed = claims.check();
    println!("{claimed} claims, none of a version already claimed");
    // A claim and its settlement raise the version by one each: what was claimed and not logged would show.
    let per_row = claims.per_row();
    for row in bed.notifications().await {
        assert_eq!(row.version, 1 + 2 * per_row.get(&row.seq).copied().unwrap_or(0) as i64);
    }
    bed.leaves_open("they were only claimed");
}
