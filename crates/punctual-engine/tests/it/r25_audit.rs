//! The audit is as it was written, or it is found where it is not.

use std::time::Duration;

use jiff::SignedDuration;
use punctual_engine::{
    Actor,
    audit_chain::{AuditFault, AuditState, FaultKind, erase, verify},
    secrets::forget_sealed,
};
use punctual_model::{AuditAction, Reach};
use punctual_store::audit::{self, AuditFilter, AuditSubject, Entry, ListedEntry};
use punctual_testkit::{TestBed, on_both};

on_both! {
    r25_sealed_entries_are_verified;
    r25_a_changed_entry_is_found;
    r25_a_removed_entry_is_found;
    r25_an_inserted_entry_is_found;
    r25_swapped_entries_are_found;
    r25_a_chain_that_was_put_back_is_found;
    r25_the_database_refuses_changes;
    r25_an_erasure_is_accepted_and_said;
    r25_a_purge_leaves_a_signed_checkpoint with |bed| bed.config(|config| {
        config.keep_audit_for = Some(Duration::from_secs(3_600));
    });
    r25_a_lost_master_key_is_said_in_the_chain;
    a_page_keeps_to_filters_time_and_units;
}

/// Ten entries in two units, sealed.
pub async fn sealed(bed: &TestBed) -> Vec<i64> {
    for number in 0..10 {
        let unit = if number % 2 == 0 { "nz" } else { "au" };
        let entry = Entry {
            actor: format!("key:{}", number % 3),
            reason: Some(format!("because {number}")),
            ..Entry::new(AuditAction::Put, "list", number, Some(unit))
        };
        append(bed, entry).await;
    }
    seal(bed).await;
    every_id(bed).await
}

pub async fn append(bed: &TestBed, entry: Entry) {
    let mut tx = bed.store.begin(punctual_store::Lane::Intake).await.unwrap();
    audit::append(&mut tx.conn(), bed.now(), &[entry]).await.unwrap();
    tx.commit().await.unwrap();
}

/// Seals until nothing is left that is not sealed: what was given up a moment ago may still hold the chain.
pub async fn seal(bed: &TestBed) {
    for _ in 0..100 {
        bed.engine.seal_audit().await.unwrap();
        if checked(bed).await.unwrap().unsealed == 0 {
            return;
        }
    }
    panic!("entries are left that cannot be sealed");
}

pub async fn every_id(bed: &TestBed) -> Vec<i64> {
    let rows = audit::entries_after(&mut bed.read().await.conn(), 0, i64::MAX, 10_000).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

pub async fn checked(bed: &TestBed) -> Result<AuditState, AuditFault> {
    verify(&bed.store, &bed.engine.vault).await.unwrap()
}

async fn is_found(bed: &TestBed, seq: i64, kind: FaultKind) {
    assert_eq!(checked(bed).await, Err(AuditFault { seq, kind }));
}

/// A statement with these entries in the place of `:1`, `:2` and so on.
fn at(statement: &str, ids: &[i64]) -> String {
    let put =
        |text: String, (place, id): (usize, &i64)| text.replace(&format!(":{}", place + 1), &id.to_string());
    ids.iter().enumerate().fold(statement.to_owned(), put)
}

async fn r25_sealed_entries_are_verified(bed: TestBed) {
    assert_eq!(checked(&bed).await.unwrap().sealed, 0);
    let ids = sealed(&bed).await;
    let state = checked(&bed).await.unwrap();
    assert_eq!((state.sealed, state.unsealed, state.erased), (ids.len() as u64, 0, 0));
    append(&bed, Entry::new(AuditAction::Delete, "list", "ops", None)).await;
    assert_eq!(checked(&bed).await.unwrap().unsealed, 1);
    // The sweep seals.
    bed.tick().await;
    assert_eq!(checked(&bed).await.unwrap().sealed, ids.len() as u64 + 1);
}

async fn r25_a_changed_entry_is_found(bed: TestBed) {
    let ids = sealed(&bed).await;
    bed.tamper(&at("CREATE TABLE kept AS SELECT * FROM audit WHERE id = :1", &[ids[4]])).await;
    for change in
        ["actor = 'key:eve'", "business_unit = NULL", "at = 1", "reason = 'other'", "subject_id = ''"]
    {
        bed.tamper(&(["UPDATE audit SET ", change, &at(" WHERE id = :1", &[ids[4]])].concat())).await;
        is_found(&bed, ids[4], FaultKind::Changed).await;
        bed.tamper(&at("DELETE FROM audit WHERE id = :1", &[ids[4]])).await;
        bed.tamper("INSERT INTO audit SELECT * FROM kept").await;
        checked(&bed).await.unwrap();
    }
}

async fn r25_a_removed_entry_is_found(bed: TestBed) {
    let ids = sealed(&bed).await;
    let last = ids[ids.len() - 1];
    bed.tamper(&at("DELETE FROM audit WHERE id = :1", &[last])).await;
    is_found(&bed, last, FaultKind::Removed).await;
    bed.tamper(&at("DELETE FROM audit_seals WHERE entry_id = :1", &[last])).await;
    is_found(&bed, last, FaultKind::HeadMoved).await;
    // With its seal: the next entry is out of place.
    bed.tamper(&at("DELETE FROM audit WHERE id = :1", &[ids[3]])).await;
    is_found(&bed, ids[3], FaultKind::Removed).await;
    bed.tamper(&at("DELETE FROM audit_seals WHERE entry_id = :1", &[ids[3]])).await;
    is_found(&bed, ids[4], FaultKind::Removed).await;
}

async fn r25_an_inserted_entry_is_found(bed: TestBed) {
    let ids = sealed(&bed).await;
    // A number that an aborted transaction left free, or one before the first.
    let copy = "INSERT INTO audit (id, at, actor, action, subject_kind, subject_id)
        SELECT -1, at, actor, action, subject_kind, subject_id FROM audit WHERE id = :1";
    bed.tamper(&at(copy, &[ids[0]])).await;
    is_found(&bed, -1, FaultKind::Inserted).await;
    bed.engine.seal_audit().await.unwrap();
    is_found(&bed, -1, FaultKind::Inserted).await;
    let seal = "INSERT INTO audit_seals (entry_id, position, salt, payload_hash, digest)
        SELECT -1, position, salt, payload_hash, digest FROM audit_seals WHERE entry_id = :1";
    bed.tamper(&at(seal, &[ids[0]])).await;
    is_found(&bed, -1, FaultKind::Changed).await;
}

async fn r25_swapped_entries_are_found(bed: TestBed) {
    let ids = sealed(&bed).await;
    let swap = "UPDATE audit SET id = -:1 WHERE id = :1; UPDATE audit SET id = :1 WHERE id = :2;
        UPDATE audit SET id = :2 WHERE id = -:1";
    bed.tamper(&at(swap, &ids[5..7])).await;
    is_found(&bed, ids[5], FaultKind::Changed).await;
    // With their seals: the first is not at its place any more.
    let swap = "UPDATE audit_seals SET entry_id = -:1 WHERE entry_id = :1;
        UPDATE audit_seals SET entry_id = :1 WHERE entry_id = :2;
        UPDATE audit_seals SET entry_id = :2 WHERE entry_id = -:1";
    bed.tamper(&at(swap, &ids[5..7])).await;
    is_found(&bed, ids[5], FaultKind::Removed).await;
}

async fn r25_a_chain_that_was_put_back_is_found(bed: TestBed) {
    let ids = sealed(&bed).await;
    bed.tamper("CREATE TABLE kept AS SELECT * FROM audit_chain").await;
    append(&bed, Entry::new(AuditAction::Delete, "list", "ops", None)).await;
    seal(&bed).await;
    // An older head, which was signed: what came after it is there all the same.
    bed.tamper("DELETE FROM audit_chain; INSERT INTO audit_chain SELECT * FROM kept").await;
    is_found(&bed, ids[ids.len() - 1], FaultKind::HeadMoved).await;
    bed.tamper(&at("UPDATE audit_chain SET head_id = :1", &[ids[7]])).await;
    is_found(&bed, ids[7], FaultKind::NotSigned).await;
    // And nobody goes on with it.
    append(&bed, Entry::new(AuditAction::Delete, "list", "dev", None)).await;
    assert!(bed.engine.seal_audit().await.is_err());
}

async fn r25_the_database_refuses_changes(bed: TestBed) {
    let ids = sealed(&bed).await;
    append(&bed, Entry::new(AuditAction::Delete, "list", "ops", None)).await;
    for statement in [
        "UPDATE audit SET actor = 'key:eve'",
        "UPDATE audit SET reason = 'other'",
        "UPDATE audit SET subject_id = 'other', reason = NULL, data = NULL",
        "UPDATE audit SET business_unit = 'au', reason = NULL, data = NULL",
        "DELETE FROM audit",
        "UPDATE audit_seals SET digest = 'x'",
        "UPDATE audit_seals SET salt = 'x'",
        "DELETE FROM audit_seals",
    ] {
        let refused = bed.run_sql(statement).await.unwrap_err();
        assert!(refused.contains("neither changed nor removed"), "{statement}: {refused}");
    }
    assert_eq!(every_id(&bed).await.len(), ids.len() + 1);
    checked(&bed).await.unwrap();
}

async fn r25_an_erasure_is_accepted_and_said(bed: TestBed) {
    let ann = Actor::named("ann");
    let about = |address: &str| Entry {
        data: Some(r#"{"said":"on the phone"}"#.to_owned()),
        ..Entry::new(AuditAction::Suppress, "address", format!("email:{address}"), None)
    };
    append(&bed, about("ann@example.org")).await;
    append(&bed, about("bob@example.org")).await;
    seal(&bed).await;
    // One that is not sealed yet is emptied, too.
    append(&bed, about("ann@example.org")).await;
    let erased = erase(&bed.store, &ann, bed.now(), "address", "email:ann@example.org").await.unwrap();
    assert_eq!(erased.entries, 2);
    let state = checked(&bed).await.unwrap();
    assert_eq!((state.erased, state.unsealed), (1, 2));
    seal(&bed).await;
    let rows = audit::entries_after(&mut bed.read().await.conn(), 0, i64::MAX, 100).await.unwrap();
    let text = format!("{rows:?}");
    assert!(!text.contains("ann@example.org") && text.contains("bob@example.org"), "{text}");
    let said = rows.last().unwrap();
    assert_eq!((said.actor.as_str(), said.action.as_str()), ("ann", "erase"));
    let again = erase(&bed.store, &ann, bed.now(), "address", "email:ann@example.org").await.unwrap();
    assert_eq!(again.entries, 0);
    // Somebody empties one without saying so.
    let silent = rows.iter().find(|row| row.subject_id.contains("bob")).unwrap().id;
    let emptied =
        "UPDATE audit SET data = NULL WHERE id = :1; UPDATE audit_seals SET salt = NULL WHERE entry_id = :1";
    bed.run_sql(&at(emptied, &[silent])).await.unwrap();
    is_found(&bed, silent, FaultKind::ErasedSilently).await;
}

async fn r25_a_purge_leaves_a_signed_checkpoint(bed: TestBed) {
    let ids = sealed(&bed).await;
    bed.wait(1_800);
    append(&bed, Entry::new(AuditAction::Delete, "list", "ops", None)).await;
    seal(&bed).await;
    assert_eq!(bed.engine.purge_audit(bed.now()).await.unwrap(), 0);
    bed.wait(1_801);
    assert_eq!(bed.engine.purge_audit(bed.now()).await.unwrap(), ids.len() as u64);
    let state = checked(&bed).await.unwrap();
    assert_eq!((state.sealed, state.unsealed), (1, 1));
    assert_eq!(state.purged_up_to, ids[ids.len() - 1]);
    seal(&bed).await;
    assert_eq!(checked(&bed).await.unwrap().sealed, 2);
    let last = state.purged_up_to;
    let purged = bed.audit("audit", &last.to_string()).await;
    assert_eq!(purged, ["purge"]);
    bed.tamper("UPDATE audit_chain SET start_digest = 'x'").await;
    assert_eq!(checked(&bed).await.unwrap_err().kind, FaultKind::NotSigned);
}

async fn r25_a_lost_master_key_is_said_in_the_chain(bed: TestBed) {
    let ids = sealed(&bed).await;
    let another = bed.with(|bed| bed.master_keys(&[77]));
    assert_eq!(checked(&another).await.unwrap_err().kind, FaultKind::NotSigned);
    append(&bed, Entry::new(AuditAction::Put, "list", "ops", None)).await;
    assert!(another.engine.seal_audit().await.is_err(), "it is not its chain");
    forget_sealed(&bed.store, bed.now(), true).await.unwrap();
    another.engine.seal_audit().await.unwrap();
    assert_eq!(checked(&another).await.unwrap().sealed, ids.len() as u64 + 2);
    assert_eq!(bed.audit("master-key", "lost").await, ["forget-secrets"]);
}

async fn page(bed: &TestBed, reach: &Reach, filter: AuditFilter) -> Vec<ListedEntry> {
    audit::page(&mut bed.read().await.conn(), reach, &AuditFilter { limit: 100, ..filter }).await.unwrap()
}

async fn a_page_keeps_to_filters_time_and_units(bed: TestBed) {
    let begun = bed.now();
    bed.wait(10);
    sealed(&bed).await;
    bed.wait(10);
    append(&bed, Entry::new(AuditAction::Delete, "list", "3", Some("au"))).await;
    append(&bed, Entry::new(AuditAction::Delete, "template", "3", None)).await;
    let units =
        |names: &[&str]| Reach::limited_to(Some(names.iter().map(|name| (*name).to_owned()).collect()));
    let all = AuditFilter { from: Some(begun + SignedDuration::from_micros(1)), ..AuditFilter::default() };
    let count = |rows: Vec<ListedEntry>| rows.len();
    assert_eq!(count(page(&bed, &Reach::Everything, all.clone()).await), 12);
    assert_eq!(count(page(&bed, &units(&["nz"]), all.clone()).await), 5);
    assert_eq!(count(page(&bed, &units(&["au", "nz"]), all.clone()).await), 11, "and not the installation's");
    assert!(page(&bed, &units(&["ch"]), all.clone()).await.is_empty());
    let of = |kind: &str, id: &str| Some(AuditSubject { kind: kind.to_owned(), id: id.to_owned() });
    let third = AuditFilter { subject: of("list", "3"), ..AuditFilter::default() };
    assert_eq!(count(page(&bed, &Reach::Everything, third.clone()).await), 2);
    assert!(page(&bed, &units(&["nz"]), third).await.is_empty());
    let deleted = AuditFilter { action: Some("delete".to_owned()), ..AuditFilter::default() };
    assert_eq!(count(page(&bed, &Reach::Everything, deleted.clone()).await), 2);
    assert_eq!(count(page(&bed, &units(&["au"]), deleted).await), 1);
    let first = AuditFilter { actor: Some("key:1".to_owned()), ..AuditFilter::default() };
    let found = page(&bed, &Reach::Everything, first).await;
    assert!(found.len() == 3 && found.iter().all(|row| row.digest.is_some()), "{found:?}");
    let earlier = AuditFilter { to: Some(bed.now()), ..all.clone() };
    assert_eq!(count(page(&bed, &Reach::Everything, earlier).await), 10);
    // Page by page, newest first, nothing twice.
    for reach in [Reach::Everything, units(&["au", "nz"])] {
        let whole: Vec<i64> = page(&bed, &reach, all.clone()).await.iter().map(|row| row.id).collect();
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let filter = AuditFilter { after, limit: 3, ..all.clone() };
            let rows = audit::page(&mut bed.read().await.conn(), &reach, &filter).await.unwrap();
            paged.extend(rows.iter().map(|row| row.id));
            match rows.last() {
                Some(last) => after = Some((last.at.as_microsecond(), last.id)),
                None => break,
            }
        }
        assert_eq!(paged, whole);
        assert!(paged.is_sorted_by(|a, b| a > b), "{paged:?}");
    }
}
