//! Commands: what is refused leaves nothing behind, and what is done stands in the audit with it.

use punctual_engine::{
    Actor, CommandError,
    commands::{NewChannel, NewList, NewTemplate, SigningIn},
    keys::{NewKey, create_key},
};
use punctual_model::Scope;
use punctual_store::{channels, lists};
use punctual_templates::Variant;
use punctual_testkit::{TestBed, on_both};
use serde_json::json;

on_both! {
    a_refused_list_leaves_neither_row_nor_audit;
    a_deleted_list_is_audited_with_the_reason;
    a_template_with_faults_is_not_stored;
    a_refused_channel_leaves_neither_row_nor_audit;
    a_session_ends_the_one_before_it;
    a_sign_in_link_works_once;
}

fn list(unit: Option<&str>) -> NewList {
    NewList {
        name: "ops".to_owned(),
        kind: "pigeon".to_owned(),
        channel: None,
        targets: vec!["a@example.org".to_owned()],
        business_unit: unit.map(str::to_owned),
    }
}

fn of_unit(unit: &str) -> Actor {
    Actor::key("limited", Some(vec![unit.to_owned()]))
}

async fn stored_unit(bed: &TestBed) -> Option<String> {
    let mut reader = bed.store.read().await.unwrap();
    let row = lists::get(&mut reader.conn(), &punctual_model::Reach::Everything, "ops").await.unwrap();
    row.and_then(|row| row.business_unit)
}

async fn a_refused_list_leaves_neither_row_nor_audit(bed: TestBed) {
    bed.has_unit("nz").await;
    bed.has_unit("au").await;
    bed.engine.save_list(&of_unit("nz"), list(None)).await.unwrap();
    let refused = bed.engine.save_list(&of_unit("au"), list(None)).await;
    assert!(matches!(refused, Err(CommandError::IdReused { .. })), "{refused:?}");
    let refused = bed.engine.delete_list(&of_unit("au"), "ops").await;
    assert!(matches!(refused, Err(CommandError::NotFound { what: "list", .. })), "{refused:?}");
    assert_eq!(stored_unit(&bed).await.as_deref(), Some("nz"));
    assert_eq!(bed.audit("list", "ops").await, ["put"]);

    let saved = bed.engine.save_list(&Actor::named("ann"), list(None)).await.unwrap();
    assert!(!saved.channel_is_known, "there is no channel pigeon:default");
    let refused = bed.engine.save_list(&of_unit("nz"), list(None)).await;
    assert!(matches!(refused, Err(CommandError::Shared)), "{refused:?}");
    assert_eq!((stored_unit(&bed).await, bed.audit("list", "ops").await.len()), (None, 2));
}

async fn a_deleted_list_is_audited_with_the_reason(bed: TestBed) {
    let ann = Actor::key("ann", None);
    bed.engine.save_list(&ann, list(None)).await.unwrap();
    bed.engine.delete_list(&ann.because(Some("nobody reads it")), "ops").await.unwrap();
    assert_eq!(bed.audit("list", "ops").await, ["put", "delete", "note:nobody reads it"]);
}

async fn a_template_with_faults_is_not_stored(bed: TestBed) {
    let variant = |body: &str| Variant { subject: "Due".to_owned(), body: body.to_owned(), html: None };
    let template = |body: &str| NewTemplate {
        name: "due".to_owned(),
        default_locale: "en".to_owned(),
        variants: [("en".to_owned(), variant(body))].into(),
    };
    let ann = Actor::named("ann");
    let refused = bed.engine.save_template(&ann, template("{{ date")).await;
    let Err(CommandError::Invalid(faults)) = refused else { panic!("not refused: {refused:?}") };
    assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/variants/en/body", "template_syntax"));
    assert!(bed.audit("template", "due").await.is_empty());
    assert_eq!(bed.engine.save_template(&ann, template("{{ date }}")).await.unwrap().version, 1);
    assert_eq!(bed.audit("template", "due").await, ["put"]);
}

async fn a_refused_channel_leaves_neither_row_nor_audit(bed: TestBed) {
    let channel = |adapter: &str, settings| NewChannel {
        key: "memory:ops".to_owned(),
        adapter: adapter.to_owned(),
        settings,
        retry: None,
        at_most_once: false,
        policy: json!({}),
    };
    let ann = Actor::named("ann");
    let cases =
        [(channel("pigeon", json!({})), "/adapter"), (channel("inbox", json!({"a": 1})), "/settings/a")];
    for (new, pointer) in cases {
        let refused = bed.engine.save_channel(&ann, new).await;
        let Err(CommandError::Invalid(faults)) = refused else { panic!("not refused: {refused:?}") };
        assert_eq!(faults[0].pointer, pointer);
    }
    let mut reader = bed.store.read().await.unwrap();
    assert!(channels::get(&mut reader.conn(), "memory:ops").await.unwrap().is_none());
    drop(reader);
    assert!(bed.audit("channel", "memory:ops").await.is_empty());
    let refused = bed.engine.delete_channel(&ann, "memory:default").await;
    assert!(matches!(refused, Err(CommandError::NotAllowed { action: "delete", .. })), "{refused:?}");
}

async fn key(bed: &TestBed) -> punctual_store::api_keys::ApiKeyRow {
    let new =
        NewKey { name: "ann".to_owned(), scopes: vec![Scope::Admin], business_units: None, expires_at: None };
    let minted = create_key(&bed.store, bed.random.as_ref(), bed.now(), "live", &new).await.unwrap();
    bed.engine.good_key(bed.now(), &minted.text).await.unwrap().unwrap()
}

async fn a_session_ends_the_one_before_it(bed: TestBed) {
    let key = key(&bed).await;
    let first = bed.engine.start_session(bed.now(), SigningIn::Key(&key), None, None).await.unwrap();
    let second = bed.engine.start_session(bed.now(), SigningIn::Key(&key), Some(&first), None).await.unwrap();
    assert!(bed.engine.session(bed.now(), &first, true).await.unwrap().is_none());
    assert!(bed.engine.session(bed.now(), &second, true).await.unwrap().is_some());
    bed.engine.end_session(&second).await.unwrap();
    assert_eq!(bed.audit("key", &key.id).await, ["create", "sign-in", "sign-in", "sign-out"]);
    assert!(bed.engine.session(bed.now(), &second, true).await.unwrap().is_none());
}

async fn a_sign_in_link_works_once(bed: TestBed) {
    assert!(bed.engine.make_sign_in_link(bed.now()).await.unwrap().is_none(), "there is no key yet");
    let key = key(&bed).await;
    let link = bed.engine.make_sign_in_link(bed.now()).await.unwrap().unwrap();
    let used = bed.engine.use_sign_in_link(bed.now(), &link).await.unwrap();
    assert_eq!(used.map(|used| used.id), Some(key.id));
    assert!(bed.engine.use_sign_in_link(bed.now(), &link).await.unwrap().is_none());
}
