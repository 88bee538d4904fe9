//! Work that failed, reconciliations and purges that do not run: all of them are in Attention until they are well.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use jiff::Timestamp;
use punctual_engine::{
    Actor, Claimed, Decide, Engine, EngineError, Maintains, Registration, Titles, Workflow, attention::Kind,
    failing_chores,
};
use punctual_model::{AuditAction, Decided, Decision, Reach, ReasonCode, WorkKey};
use punctual_store::{audit::Entry, reminders::reconciliations};
use punctual_testkit::{TestBed, TestBedBuilder, TestWorkflow, new_work, on_both};

use crate::r25_audit;

on_both! {
    work_that_failed_for_good_is_shown_until_somebody_has_dealt_with_it;
    a_repair_that_keeps_failing_is_shown_until_it_succeeds;
    a_reconciliation_that_is_overdue_is_shown;
    a_look_at_another_system_that_failed_is_shown_until_one_succeeds;
    r25_an_audit_that_cannot_be_sealed_is_shown_until_it_can;
    r25_an_audit_that_was_changed_is_shown_and_not_purged with |bed: TestBedBuilder| bed.config(|config| {
        config.keep_audit_for = Some(std::time::Duration::from_secs(3_600));
    });
    a_purge_that_is_held_back_or_fails_is_shown with |bed: TestBedBuilder| bed.config(|config| config.purge_unasked = 3);
}

/// What is shown of a kind, and the count of it, which must agree.
async fn shown(bed: &TestBed, kind: Kind) -> Vec<String> {
    let found = bed.engine.attention(&Reach::Everything, 10).await.unwrap();
    let count = found.counts.iter().find(|(found, _)| *found == kind).map_or(0, |(_, count)| *count);
    let items = found.items.into_iter().filter(|item| item.kind == kind);
    let items: Vec<String> =
        items.map(|item| format!("{} | {} | {}", item.title, item.link, item.reason)).collect();
    assert_eq!(usize::try_from(count).unwrap(), items.len());
    items
}

fn failing(kind: &'static str) -> TestWorkflow {
    TestWorkflow::new(kind, |_, _| Decision::Fail(ReasonCode::DefinitionInvalid))
}

async fn work_that_failed_for_good_is_shown_until_somebody_has_dealt_with_it(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflow(failing("test")));
    let mut other = new_work("test", "k:2", bed.now());
    other.business_unit = Some("nz".into());
    bed.ensure(&[new_work("test", "k:1", bed.now()), other]).await;
    bed.tick().await;
    let (first, second) = (bed.work("k:1").await.id, bed.work("k:2").await.id);
    let reason = "Its definition is no longer valid";
    let expected =
        [format!("Test k:2 | /work/{second} | {reason}"), format!("Test k:1 | /work/{first} | {reason}")];
    let mut found = shown(&bed, Kind::Failed).await;
    found.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(found, expected);
    let nz = bed.engine.attention(&Reach::Units(vec!["nz".into()]), 10).await.unwrap();
    assert_eq!((nz.items.len(), nz.total()), (1, 1));
    bed.engine.cancel_work(&Actor::named("ann"), first, None).await.unwrap();
    assert_eq!(shown(&bed, Kind::Failed).await, expected[..1]);
}

/// A workflow whose repair fails while the test asks for it.
struct Repairs(Arc<AtomicBool>);

impl Titles for Repairs {}

impl Workflow for Repairs {
    fn kind(&self) -> &'static str {
        "repairs"
    }
}

impl Decide for Repairs {
    fn decide(&self, _row: &Claimed, _now: Timestamp) -> Decided {
        Decision::Deliver(Vec::new()).into()
    }
}

impl Maintains for Repairs {
    async fn reconcile(&self, _engine: &Engine, _now: Timestamp) -> Result<usize, EngineError> {
        if self.0.load(Ordering::Relaxed) { Err(EngineError::NotFound) } else { Ok(0) }
    }
}

async fn a_repair_that_keeps_failing_is_shown_until_it_succeeds(bed: TestBed) {
    let fails = Arc::new(AtomicBool::new(true));
    let workflow: Registration = Registration::of(Repairs(fails.clone())).decides_alone().maintains().into();
    let bed = bed.with(|bed| bed.workflow(workflow));
    for _ in 0..2 {
        bed.engine.sweep_tick(bed.now()).await.unwrap();
        assert!(shown(&bed, Kind::Reconcile).await.is_empty(), "it may pass");
    }
    // Over a restart.
    let bed = bed.with(|bed| bed);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    let expected = "Repair of repairs | /work | It has failed 3 times in a row: no such id";
    assert_eq!(shown(&bed, Kind::Reconcile).await, [expected]);
    let limited = bed.engine.attention(&Reach::Units(vec!["nz".into()]), 10).await.unwrap();
    assert_eq!((limited.items.len(), limited.total()), (0, 0), "it belongs to the installation");
    fails.store(false, Ordering::Relaxed);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert!(shown(&bed, Kind::Reconcile).await.is_empty());
}

async fn a_reconciliation_that_is_overdue_is_shown(bed: TestBed) {
    let key = WorkKey::reconcile("date", bed.now()).unwrap();
    bed.ensure_one(new_work("reconcile", key.as_str(), bed.now())).await;
    assert!(shown(&bed, Kind::Reconcile).await.is_empty());
    bed.wait(601);
    let id = bed.work(key.as_str()).await.id;
    let expected =
        format!("Reconciliation of date, 14 May 05:00 UTC | /work/{id} | It should have run by now");
    assert_eq!(shown(&bed, Kind::Reconcile).await, [expected]);
}

async fn a_look_at_another_system_that_failed_is_shown_until_one_succeeds(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflows(vec![failing("reconcile-external").into()]));
    let mut keys = Vec::new();
    for _ in 0..2 {
        bed.wait(60);
        let key = WorkKey::reconcile("external:crm", bed.now()).unwrap().as_str().to_owned();
        bed.ensure_one(new_work("reconcile-external", &key, bed.now())).await;
        keys.push(key);
        bed.tick().await;
    }
    let found = shown(&bed, Kind::Reconcile).await;
    assert_eq!(found.len(), 1, "once for the other system: {found:?}");
    assert!(found[0].contains(&keys[1]), "{found:?}");
    assert!(shown(&bed, Kind::Failed).await.is_empty(), "and not as work of its own");
    let mut tx = bed.begin().await;
    reconciliations::put(&mut tx.conn(), bed.after(1), "external:crm", Timestamp::UNIX_EPOCH, "{}")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert!(shown(&bed, Kind::Reconcile).await.is_empty());
}

async fn r25_an_audit_that_cannot_be_sealed_is_shown_until_it_can(bed: TestBed) {
    r25_audit::sealed(&bed).await;
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert!(shown(&bed, Kind::Audit).await.is_empty());
    bed.tamper("CREATE TABLE kept AS SELECT signature FROM audit_chain").await;
    bed.tamper("UPDATE audit_chain SET signature = '00'").await;
    let entry = Entry::new(AuditAction::Put, "list", "ops", None);
    r25_audit::append(&bed, entry).await;
    for _ in 0..2 {
        bed.engine.sweep_tick(bed.now()).await.unwrap();
    }
    let found = shown(&bed, Kind::Audit).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("Seals of the audit | /audit | "), "{found:?}");
    assert!(found[0].contains("not signed with this installation's master key"), "{found:?}");
    let limited = bed.engine.attention(&Reach::Units(vec!["nz".into()]), 10).await.unwrap();
    assert_eq!((limited.items.len(), limited.total()), (0, 0), "it belongs to the installation");
    bed.tamper("UPDATE audit_chain SET signature = (SELECT signature FROM kept)").await;
    r25_audit::seal(&bed).await;
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert!(shown(&bed, Kind::Audit).await.is_empty());
}

async fn r25_an_audit_that_was_changed_is_shown_and_not_purged(bed: TestBed) {
    let ids = r25_audit::sealed(&bed).await;
    bed.engine.purge(bed.now()).await.unwrap();
    assert!(shown(&bed, Kind::Audit).await.is_empty());
    let change =
        |actor: &str| ["UPDATE audit SET actor = '", actor, "' WHERE id = ", &ids[4].to_string()].concat();
    bed.tamper(&change("key:nobody")).await;
    bed.wait(2 * 3_600);
    bed.engine.purge(bed.now()).await.unwrap();
    let reason = format!("the audit is not as it was written: entry {} was changed", ids[4]);
    assert_eq!(shown(&bed, Kind::Audit).await, [format!("Chain of the audit | /audit | {reason}")]);
    assert!(r25_audit::every_id(&bed).await.contains(&ids[0]), "what somebody will look at stays");
    bed.tamper(&change("key:1")).await;
    bed.engine.purge(bed.now()).await.unwrap();
    assert!(shown(&bed, Kind::Audit).await.is_empty());
    assert!(!r25_audit::every_id(&bed).await.contains(&ids[0]));
}

async fn a_purge_that_is_held_back_or_fails_is_shown(bed: TestBed) {
    for n in 0..6 {
        bed.accept_one(bed.message(&format!("{n}@example.org"))).await;
    }
    bed.tick().await;
    bed.wait(366 * 86_400);
    bed.engine.purge(bed.now()).await.unwrap();
    let held = shown(&bed, Kind::Purge).await;
    assert!(
        held[0].starts_with("Purge of notifications | /outbox | It is held back: 6 messages"),
        "{held:?}"
    );

    bed.refuse("notifications", "DELETE", "TRUE").await;
    bed.engine.purge_by(&Actor::named("ann"), true).await.unwrap_err();
    let found = shown(&bed, Kind::Purge).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().any(|item| item.contains("It has failed: ") && item.contains("refused")),
        "{found:?}"
    );
    let of_a_check_up = async || {
        let mut reader = bed.store.read().await.unwrap();
        let failing = failing_chores(&mut reader.conn(), bed.now()).await.unwrap();
        failing.into_iter().map(|chore| (chore.title, chore.times)).collect::<Vec<_>>()
    };
    assert_eq!(of_a_check_up().await, [("purge of notifications".to_owned(), 1)]);
    bed.allow("notifications", "DELETE").await;
    bed.engine.purge_by(&Actor::named("ann"), true).await.unwrap();
    assert!(shown(&bed, Kind::Purge).await.is_empty());
    assert_eq!(of_a_check_up().await, []);
}
