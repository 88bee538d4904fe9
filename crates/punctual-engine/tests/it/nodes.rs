//! Nodes report themselves, and what is wrong with one needs attention.

use jiff::SignedDuration;
use punctual_engine::{
    Identity,
    attention::{Kind, Waiting},
};
use punctual_model::{Decision, Reach};
use punctual_store::{nodes, schema, work};
use punctual_testkit::{TestBed, TestWorkflow, new_work, on_both};

on_both! {
    a_node_reports_itself_and_is_gone_when_it_stops_in_order;
    a_node_that_is_cut_off_too_old_or_has_a_wrong_clock_needs_attention;
    a_claim_that_ran_out_and_that_nobody_took_over_needs_attention;
}

async fn all(bed: &TestBed) -> Vec<nodes::NodeRow> {
    nodes::all(&mut bed.read().await.conn()).await.unwrap()
}

fn identity(bed: &TestBed) -> Identity {
    Identity { version: "1.2.3", role: "worker", started_at: bed.now() }
}

/// What needs attention, of which kind, and that the counts say the same.
async fn waiting(bed: &TestBed, units: Option<&[String]>) -> Vec<Waiting> {
    let found = bed.engine.attention(&Reach::limited_to(units.map(<[String]>::to_vec)), 50).await.unwrap();
    assert_eq!(usize::try_from(found.total()).unwrap(), found.items.len(), "{found:?}");
    found.items
}

async fn a_node_reports_itself_and_is_gone_when_it_stops_in_order(bed: TestBed) {
    bed.engine.report_node(&identity(&bed)).await.unwrap();
    bed.wait(5);
    bed.engine.report_node(&identity(&bed)).await.unwrap();
    let row = all(&bed).await.pop().unwrap();
    assert_eq!((row.version.as_str(), row.role.as_str(), row.last_seen_at), ("1.2.3", "worker", bed.now()));
    assert_eq!(waiting(&bed, None).await, []);
    bed.engine.leave_nodes().await.unwrap();
    assert_eq!(all(&bed).await, []);
}

async fn a_node_that_is_cut_off_too_old_or_has_a_wrong_clock_needs_attention(bed: TestBed) {
    bed.engine.report_node(&identity(&bed)).await.unwrap();
    let well = all(&bed).await.pop().unwrap();
    let mut tx = bed.begin().await;
    for (name, change) in [
        ("old", (schema::oldest_node() - 1, 0, 0)),
        // The release before works beside this one.
        ("before", (schema::oldest_node(), 0, 0)),
        ("fast", (well.schema_version, 90_000, 0)),
        ("gone", (well.schema_version, 0, -61)),
    ] {
        let (schema_version, clock_offset_ms, seen) = change;
        let last_seen_at = well.last_seen_at + SignedDuration::from_secs(seen);
        let row = nodes::NodeRow {
            node: name.into(),
            schema_version,
            clock_offset_ms,
            last_seen_at,
            ..well.clone()
        };
        nodes::report(&mut tx.conn(), &row).await.unwrap();
    }
    tx.commit().await.unwrap();
    let found = waiting(&bed, None).await;
    // Where the database has no clock, nobody knows which time is right.
    let fast = found.iter().find(|one| one.id == "fast").unwrap();
    assert_eq!(fast.reason.contains("the right time"), !bed.store.is_single_process(), "{}", fast.reason);
    let mut found: Vec<(Kind, String)> = found.into_iter().map(|one| (one.kind, one.id)).collect();
    found.sort_by(|one, other| one.1.cmp(&other.1));
    let of = |kind: Kind, name: &str| (kind, name.to_owned());
    assert_eq!(found, [of(Kind::Clock, "fast"), of(Kind::Node, "gone"), of(Kind::Node, "old")]);
    assert_eq!(waiting(&bed, Some(&["nz".to_owned()])).await, [], "nodes are no affair of a business unit");
}

async fn a_claim_that_ran_out_and_that_nobody_took_over_needs_attention(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflow(TestWorkflow::new("test", |_, _| Decision::Deliver(Vec::new()))));
    bed.ensure_one(new_work("test", "k:1", bed.now())).await;
    let mut tx = bed.begin().await;
    work::claim(&mut tx, "test", bed.now(), bed.after(60), 1).await.unwrap();
    tx.commit().await.unwrap();
    bed.wait(90);
    assert_eq!(waiting(&bed, None).await, [], "a sweep is about to find it");
    bed.wait(60);
    let found = waiting(&bed, None).await;
    assert_eq!((found[0].kind, found[0].title.as_str()), (Kind::Locked, "Test k:1"));
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(waiting(&bed, None).await, []);
    bed.tick().await;
}
