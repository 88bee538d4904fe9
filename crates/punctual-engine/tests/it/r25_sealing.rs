//! Sealing: one node at a time, in committed order, behind what is still open, and whole batches whatever happens.

use punctual_model::AuditAction;
use punctual_store::{
    Lane,
    audit::{self, Entry},
};
use punctual_testkit::{Database, TestBed, on_both};

use crate::r25_audit::{append, checked, every_id, seal};

on_both! {
    r25_two_nodes_seal_one_chain;
    r25_a_stop_between_batches_leaves_whole_ones;
}

fn entry(number: usize) -> Entry {
    Entry { data: Some(format!("{{\"n\":{number}}}")), ..Entry::new(AuditAction::Put, "list", number, None) }
}

async fn many(bed: &TestBed, count: usize) {
    let entries: Vec<Entry> = (0..count).map(entry).collect();
    let mut tx = bed.store.begin(Lane::Intake).await.unwrap();
    audit::append(&mut tx.conn(), bed.now(), &entries).await.unwrap();
    tx.commit().await.unwrap();
}

async fn r25_two_nodes_seal_one_chain(bed: TestBed) {
    let other = bed.node("b").await;
    for round in 0..5 {
        many(&bed, 700).await;
        append(&other, entry(round)).await;
        let (one, two) = tokio::join!(bed.engine.seal_audit(), other.engine.seal_audit());
        one.unwrap();
        two.unwrap();
    }
    seal(&bed).await;
    let state = checked(&bed).await.unwrap();
    assert_eq!(state.sealed, every_id(&bed).await.len() as u64);
    assert_eq!(state.head.position, i64::try_from(state.sealed).unwrap(), "nothing is sealed twice");
}

async fn r25_a_stop_between_batches_leaves_whole_ones(bed: TestBed) {
    many(&bed, 1_200).await;
    // The second batch of three fails at each of its statements in turn, as for a process that ends there.
    for statement in ["audit.seal", "audit.move_chain", "commit"] {
        let before = checked(&bed).await.unwrap();
        bed.faults.fail_every(statement, false, 2);
        assert!(bed.engine.seal_audit().await.is_err(), "{statement}");
        bed.faults.heal();
        let after = checked(&bed).await.unwrap();
        assert_eq!((after.sealed - before.sealed) % 500, 0, "{statement}: {after:?}");
        many(&bed, 1_200).await;
    }
    seal(&bed).await;
    assert_eq!(checked(&bed).await.unwrap().sealed, every_id(&bed).await.len() as u64);
}

/// PostgreSQL alone: SQLite has one writer, so no entry can be committed while another transaction has written one.
#[test]
fn r25_an_entry_that_is_committed_late_is_sealed_in_its_order() {
    punctual_testkit::run(
        punctual_testkit::TestBedBuilder::new(Database::Postgres),
        |bed: TestBed| async move {
            let mut late = bed.store.begin(Lane::Intake).await.unwrap();
            audit::append(&mut late.conn(), bed.now(), &[entry(1)]).await.unwrap();
            append(&bed, entry(2)).await;
            let visible = every_id(&bed).await;
            assert_eq!(
                bed.engine.seal_audit().await.unwrap(),
                0,
                "an entry with a lower number is still to come"
            );
            // Others write meanwhile, and the node waits for nothing but what was open when it looked.
            let mut later = bed.store.begin(Lane::Intake).await.unwrap();
            audit::append(&mut later.conn(), bed.now(), &[entry(3)]).await.unwrap();
            assert_eq!(bed.engine.seal_audit().await.unwrap(), 0);
            late.commit().await.unwrap();
            let all = every_id(&bed).await;
            let new: Vec<&i64> = all.iter().filter(|id| !visible.contains(id)).collect();
            assert!(
                new.len() == 1 && new[0] < visible.last().unwrap(),
                "it has a lower number and is seen later"
            );
            assert_eq!(bed.engine.seal_audit().await.unwrap(), all.len());
            assert_eq!(checked(&bed).await.unwrap().unsealed, 0);
            later.commit().await.unwrap();
            seal(&bed).await;
            let state = checked(&bed).await.unwrap();
            assert_eq!(state.sealed, all.len() as u64 + 1);
        },
    );
}
