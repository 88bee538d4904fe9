//! What is done to keys, sessions and secrets has its entry, and entries have the business unit of what they are about.

use punctual_engine::{
    Actor,
    commands::NewList,
    keys::{NewKey, create_key, ensure_admin_key, mint_key, revoke_key},
};
use punctual_model::Scope;
use punctual_store::audit;
use punctual_testkit::{TestBed, on_both};

on_both! {
    keys_are_made_and_revoked_by_somebody;
    an_entry_has_the_unit_of_its_subject;
}

fn new_key(name: &str) -> NewKey {
    NewKey { name: name.to_owned(), scopes: vec![Scope::Read], business_units: None, expires_at: None }
}

async fn keys_are_made_and_revoked_by_somebody(bed: TestBed) {
    let ann = Actor::key("ann", None);
    let minted = mint_key(bed.random.as_ref(), "api", "live");
    bed.engine.make_key(&ann, bed.now(), &minted, &new_key("billing")).await.unwrap();
    bed.engine.revoke_key(&ann, bed.now(), &minted.id).await.unwrap();
    assert!(bed.engine.revoke_key(&ann, bed.now(), &minted.id).await.is_err());
    assert_eq!(bed.audit("key", &minted.id).await, ["create", "revoke"]);
    let by_hand =
        create_key(&bed.store, bed.random.as_ref(), bed.now(), "live", &new_key("cli")).await.unwrap();
    assert!(revoke_key(&bed.store, &Actor::named("operator"), bed.now(), &by_hand.id).await.unwrap());
    let rows =
        audit::of(&mut bed.read().await.conn(), &punctual_model::Reach::Everything, "key", &by_hand.id)
            .await
            .unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row.actor == "operator"), "{rows:?}");
    assert!(!format!("{rows:?}").contains(&by_hand.text), "the key itself is nowhere");
    for _ in 0..2 {
        ensure_admin_key(&bed.store, bed.now(), "a-key-of-the-operator").await.unwrap();
    }
    let made = audit::entries_after(&mut bed.read().await.conn(), 0, i64::MAX, 100).await.unwrap();
    assert_eq!(made.iter().filter(|row| row.subject_id.starts_with("operator-")).count(), 1);
}

async fn an_entry_has_the_unit_of_its_subject(bed: TestBed) {
    bed.has_unit("nz").await;
    let list = NewList {
        name: "ops".to_owned(),
        kind: "memory".to_owned(),
        channel: None,
        targets: vec!["a@example.org".to_owned()],
        business_unit: Some("nz".to_owned()),
    };
    let ann = Actor::key("ann", Some(vec!["nz".to_owned()])).because(Some("asked"));
    bed.engine.save_list(&ann, list).await.unwrap();
    bed.engine.delete_list(&ann, "ops").await.unwrap();
    let rows = audit::of(&mut bed.read().await.conn(), &punctual_model::Reach::Everything, "list", "ops")
        .await
        .unwrap();
    let units: Vec<Option<&str>> = rows.iter().map(|row| row.business_unit.as_deref()).collect();
    assert_eq!(units, [Some("nz"); 4], "the notes, too");
}
