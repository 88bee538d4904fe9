//! The statements about who did and may do what: audit, API keys, answers already given, and blobs.

use punctual_model::AuditAction;
use punctual_store::{
    api_keys::{self, ApiKeyRow},
    audit::{self, Entry},
    blobs::Blobs,
    idempotency::{self, Answered},
    retention,
};
use punctual_testkit::{TestBed, on_both};

on_both! {
    the_audit_keeps_every_word_in_order;
    a_key_is_found_by_its_hash_and_ends_once;
    the_first_answer_stays_and_old_ones_are_forgotten;
}

async fn the_audit_keeps_every_word_in_order(bed: TestBed) {
    let full = Entry {
        actor: "ann".into(),
        from: Some("pending".into()),
        to: Some("pending".into()),
        version: Some(3),
        reason: Some("look".into()),
        data: Some(r#"{"a":"\"b\""}"#.into()),
        ..Entry::new(AuditAction::Hold, "work", 7, Some("nz"))
    };
    let bare = Entry::new(AuditAction::Park, "work", 7, None);
    let other = Entry::new(AuditAction::Park, "work", 8, None);
    let mut tx = bed.begin().await;
    audit::append(&mut tx.conn(), bed.now(), &[full.clone(), other]).await.unwrap();
    audit::append(&mut tx.conn(), bed.after(1), &[bare]).await.unwrap();
    audit::append(&mut tx.conn(), bed.after(1), &[]).await.unwrap();
    let rows = audit::of(&mut tx.conn(), &punctual_model::Reach::Everything, "work", "7").await.unwrap();
    assert_eq!(rows.iter().map(|row| row.action.as_str()).collect::<Vec<_>>(), ["hold", "park"]);
    let row = &rows[0];
    assert_eq!((row.at, row.actor.as_str(), row.version), (bed.now(), "ann", Some(3)));
    assert_eq!(
        (&row.from_status, &row.to_status, &row.reason, &row.data),
        (&full.from, &full.to, &full.reason, &full.data)
    );
    let units: Vec<_> = rows.iter().map(|row| row.business_unit.as_deref()).collect();
    assert_eq!(units, [Some("nz"), None]);
    assert_eq!((rows[1].reason.as_ref(), rows[1].version), (None, None));
    assert!(
        audit::of(&mut tx.conn(), &punctual_model::Reach::Everything, "notification", "7")
            .await
            .unwrap()
            .is_empty()
    );
}

async fn a_key_is_found_by_its_hash_and_ends_once(bed: TestBed) {
    let key = ApiKeyRow {
        id: "k-1".into(),
        name: "ops".into(),
        secret_hash: "abc".into(),
        scopes: "read operate".into(),
        business_units: Some(r#"["nz"]"#.into()),
        created_at: bed.now(),
        expires_at: Some(bed.after(60)),
        revoked_at: None,
        last_used_at: None,
        site: None,
    };
    let mut tx = bed.begin().await;
    assert!(api_keys::insert(&mut tx.conn(), bed.now(), &key).await.unwrap());
    assert!(!api_keys::insert(&mut tx.conn(), bed.now(), &key).await.unwrap());
    let same_secret = ApiKeyRow { id: "k-2".into(), ..key.clone() };
    assert!(!api_keys::insert(&mut tx.conn(), bed.now(), &same_secret).await.unwrap());
    assert_eq!(api_keys::by_hash(&mut tx.conn(), "abc").await.unwrap(), Some(key));
    assert_eq!(api_keys::by_hash(&mut tx.conn(), "abd").await.unwrap(), None);
    api_keys::touch(&mut tx.conn(), bed.after(5), "k-1").await.unwrap();
    assert!(api_keys::revoke(&mut tx.conn(), bed.after(9), "k-1").await.unwrap());
    assert!(!api_keys::revoke(&mut tx.conn(), bed.after(10), "k-1").await.unwrap());
    let all = api_keys::all(&mut tx.conn()).await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].revoked_at, Some(bed.after(9)));
    assert_eq!(all[0].last_used_at, Some(bed.after(5)));
}

async fn the_first_answer_stays_and_old_ones_are_forgotten(bed: TestBed) {
    let answer = |body: &str| Answered { digest: "d".into(), status: 201, body: body.into() };
    let mut tx = bed.begin().await;
    idempotency::remember(&mut tx.conn(), bed.now(), "ann", "k", &answer("first")).await.unwrap();
    idempotency::remember(&mut tx.conn(), bed.now(), "ann", "k", &answer("second")).await.unwrap();
    idempotency::remember(&mut tx.conn(), bed.after(10), "bob", "k", &answer("bob's")).await.unwrap();
    assert_eq!(idempotency::find(&mut tx.conn(), "ann", "k").await.unwrap(), Some(answer("first")));
    assert_eq!(idempotency::find(&mut tx.conn(), "bob", "k").await.unwrap(), Some(answer("bob's")));
    assert_eq!(retention::forget_answers(&mut tx.conn(), bed.after(10), 10).await.unwrap(), 1);
    assert_eq!(idempotency::find(&mut tx.conn(), "ann", "k").await.unwrap(), None);
}

#[tokio::test]
async fn blobs_are_kept_in_a_folder_or_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    for blobs in [Blobs::folder(&folder.path().join("blobs")).unwrap(), Blobs::in_memory()] {
        assert_eq!(blobs.get("traces/1").await.unwrap(), None);
        blobs.put("traces/1", b"one".to_vec()).await.unwrap();
        blobs.put("traces/1", b"two".to_vec()).await.unwrap();
        assert_eq!(blobs.get("traces/1").await.unwrap().as_deref(), Some(&b"two"[..]));
    }
}
