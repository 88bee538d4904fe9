//! A viewer whose key is limited to business units: what concerns all of them is not theirs, whatever the scopes.

use jiff::Timestamp;
use punctual_store::subscribers::{self, SubscriberRow};
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::client::Client;

on_both! {
    t11_pages_of_the_installation_are_for_viewers_without_a_limit;
    t11_subscribers_are_shown_to_viewers_without_a_limit;
}

const EVERYTHING: [Scope; 5] = [Scope::Admin, Scope::Operate, Scope::Author, Scope::Ingest, Scope::Read];

async fn t11_pages_of_the_installation_are_for_viewers_without_a_limit(bed: TestBed) {
    let admin = Client::admin(&bed).await;
    let limited = admin.with_key(&EVERYTHING, Some(&["nz"])).await;
    for path in [
        "/nodes",
        "/consumers",
        "/sites",
        "/sites/berlin",
        "/suppressions",
        "/preferences",
        "/settings/users",
        "/settings/keys",
        "/settings/sites",
        "/settings/subscribers",
        "/settings/policy",
        "/settings/retention",
        "/channels/add",
        "/settings/templates/new",
    ] {
        let refused = limited.get(path).await.refused(403, "scope_missing");
        assert!(refused.text.contains("all business units"), "{path}: {}", refused.text);
        assert_ne!(admin.get(path).await.status, 403, "{path}");
    }
    let now = bed.now();
    for (path, fields) in [
        ("/channels/test", &[("channel", "memory:default"), ("address", "x")][..]),
        ("/suppressions", &[("address", "a@b.example"), ("channelType", "email")]),
        ("/suppressions/confirm", &[("address", "a@b.example"), ("channelType", "email")]),
        ("/suppressions/remove", &[("address", "a@b.example"), ("channelType", "email")]),
        ("/sandbox/clock", &[("to", "day")]),
        ("/settings/users/save", &[("email", "a@b.example"), ("name", "A"), ("role", "admin")]),
    ] {
        let refused = limited.act(path, fields).await.refused(403, "scope_missing");
        assert!(refused.text.contains("all business units"), "{path}: {}", refused.text);
    }
    assert_eq!((bed.now(), bed.sent().len()), (now, 0), "nothing was done");
    for path in [
        "/",
        "/attention",
        "/audit",
        "/outbox",
        "/work",
        "/calendar",
        "/reminders",
        "/sources",
        "/surveys",
        "/reports",
        "/operations",
        "/channels",
        "/inbox",
        "/account",
        "/settings",
        "/settings/lists",
        "/settings/templates",
        "/settings/units",
    ] {
        limited.page(path).await;
    }
}

async fn t11_subscribers_are_shown_to_viewers_without_a_limit(bed: TestBed) {
    let row = SubscriberRow {
        key: "memory:bi".into(),
        adapter: "memory".into(),
        settings: "{}".into(),
        events: "[\"response-completed\"]".into(),
        filter: None,
        retry: "{}".into(),
        active: true,
        version: 1,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    subscribers::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    tx.commit().await.unwrap();
    let admin = Client::admin(&bed).await;
    let limited = admin.with_key(&EVERYTHING, Some(&["nz"])).await;
    assert!(admin.page("/surveys").await.contains("memory:bi"));
    assert!(!limited.page("/surveys").await.contains("memory:bi"));
}
