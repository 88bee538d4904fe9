//! Signing in and out: what a session is, when it ends, and how guessing is slowed down.

use jiff::SignedDuration;
use punctual_console::sign_in_link;
use punctual_model::Clock;
use punctual_store::api_keys;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::keys::Scope;

use crate::client::{ADMIN, Client, attribute};

on_both! {
    a_key_signs_in_and_sign_out_ends_the_session_on_the_server;
    whoever_is_not_signed_in_is_led_to_the_sign_in_and_back;
    a_session_ends_when_it_idles_and_after_twelve_hours;
    a_session_ends_with_its_key;
    a_link_signs_in_once_and_only_by_its_form;
    guessing_is_slowed_down;
    rights_follow_the_scopes_of_the_key;
    the_cookie_is_bound_to_the_host_behind_tls;
}

async fn a_key_signs_in_and_sign_out_ends_the_session_on_the_server(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    let wrong = client.sign_in("a-key-that-nobody-has").await.refused(401, "auth_failed");
    assert!(wrong.headers.get("set-cookie").is_none());
    let reply = client.sign_in(ADMIN).await.leads_to("/");
    let set = reply.headers["set-cookie"].to_str().unwrap();
    assert!(
        set.contains("; HttpOnly") && set.contains("; SameSite=Strict") && set.contains("; Path=/"),
        "{set}"
    );
    client.page("/").await;
    let first = client.cookie().unwrap();
    // Signing in again gives a new session and ends the one before.
    client.sign_in(ADMIN).await.leads_to("/");
    assert_ne!(client.cookie().unwrap(), first);
    let keys = api_keys::all(&mut bed.read().await.conn()).await.unwrap();
    let signed_in = bed.audit("key", &keys[0].id).await;
    assert_eq!(signed_in.iter().filter(|entry| entry.starts_with("sign-in")).count(), 2, "{signed_in:?}");
    let second = client.cookie();
    client.set_cookie(Some(first));
    client.get("/outbox").await.leads_to("/sign-in?next=%2Foutbox");
    client.set_cookie(second.clone());
    client.act("/sign-out", &[]).await.leads_to("/sign-in");
    assert_eq!(client.cookie(), None);
    let signed_out = bed.audit("key", &keys[0].id).await;
    assert_eq!(signed_out.last().map(String::as_str), Some("sign-out"), "{signed_out:?}");
    client.set_cookie(second);
    client.get("/").await.leads_to("/sign-in");
}

async fn whoever_is_not_signed_in_is_led_to_the_sign_in_and_back(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    client.get("/outbox?status=parked").await.leads_to("/sign-in?next=%2Foutbox%3Fstatus%3Dparked");
    let page = client.page("/sign-in?next=%2Foutbox%3Fstatus%3Dparked").await;
    assert_eq!(attribute(&page, "name=\"next\" value=\""), "/outbox?status=parked");
    client
        .post("/sign-in", &[("key", ADMIN), ("next", "/outbox?status=parked")])
        .await
        .leads_to("/outbox?status=parked");
    for elsewhere in ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
        client.post("/sign-in", &[("key", ADMIN), ("next", elsewhere)]).await.leads_to("/");
    }
    client.get("/sign-in").await.leads_to("/");
    assert_eq!(client.nobody().get("/live").await.status, 401);
}

async fn a_session_ends_when_it_idles_and_after_twelve_hours(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let pass = |minutes: i64| client.wall.set(client.wall.now() + SignedDuration::from_mins(minutes));
    for _ in 0..24 {
        pass(29);
        client.page("/channels").await;
    }
    // What the page asks by itself keeps no session alive.
    pass(15);
    let live =
        client.send(axum::http::Method::GET, "/channels", &[("x-punctual-live", "1")], String::new()).await;
    assert_eq!(live.status, 200);
    pass(15);
    client.get("/channels").await.leads_to("/sign-in?next=%2Fchannels");
    let live =
        client.send(axum::http::Method::GET, "/channels", &[("x-punctual-live", "1")], String::new()).await;
    assert_eq!(live.status, 401);
    client.sign_in(ADMIN).await.leads_to("/");
    for _ in 0..24 {
        pass(29);
        client.page("/channels").await;
    }
    pass(25);
    client.get("/").await.leads_to("/sign-in");
}

async fn a_session_ends_with_its_key(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let other = client.with_key(&[Scope::Read], None).await;
    other.page("/").await;
    let mut tx = bed.begin().await;
    let keys = api_keys::all(&mut tx.conn()).await.unwrap();
    let key = keys.iter().find(|key| key.name == "somebody").unwrap();
    api_keys::revoke(&mut tx.conn(), client.wall.now(), &key.id).await.unwrap();
    tx.commit().await.unwrap();
    other.get("/").await.leads_to("/sign-in");
    client.page("/").await;
}

async fn a_link_signs_in_once_and_only_by_its_form(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    let link = sign_in_link(&bed.engine, client.wall.as_ref()).await.unwrap().unwrap();
    let page = client.page(&link).await;
    client.page(&link).await;
    let secret = attribute(&page, "name=\"link\" value=\"");
    client.post("/sign-in", &[("link", &secret)]).await.leads_to("/");
    client.page("/").await;
    client.nobody().post("/sign-in", &[("link", &secret)]).await.refused(401, "auth_failed");
    let late = sign_in_link(&bed.engine, client.wall.as_ref()).await.unwrap().unwrap();
    client.wall.set(client.wall.now() + SignedDuration::from_mins(15));
    let secret = late.split_once("token=").unwrap().1;
    client.nobody().post("/sign-in", &[("link", secret)]).await.refused(401, "auth_failed");
}

async fn guessing_is_slowed_down(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    for _ in 0..10 {
        client.sign_in("a-key-that-nobody-has").await.refused(401, "auth_failed");
    }
    let slow = client.sign_in(ADMIN).await.refused(429, "rate_limited");
    assert!(slow.headers.contains_key("retry-after"));
    // Who has a key that cannot be guessed is not locked out by others.
    let made = client.new_key(&[Scope::Read], None).await;
    client.nobody().sign_in(&made).await.leads_to("/");
    client.wall.set(client.wall.now() + SignedDuration::from_mins(10));
    client.sign_in(ADMIN).await.leads_to("/");
}

async fn rights_follow_the_scopes_of_the_key(bed: TestBed) {
    let id = bed.accept_one(bed.message_over("no:such", &["a"])).await;
    bed.tick().await;
    let admin = Client::admin(&bed).await;
    let ingest = admin.new_key(&[Scope::Ingest], None).await;
    admin.nobody().sign_in(&ingest).await.refused(403, "scope_missing");
    let row = format!("{id}:{}", bed.notification(&id).await.version);
    let retry = [("action", "retry"), ("row", row.as_str())];
    let reader = admin.with_key(&[Scope::Read], None).await;
    let page = reader.page(&format!("/notifications/{id}")).await;
    assert!(!page.contains("value=\"retry\"") && !page.contains("name=\"to\""), "{page}");
    reader.act("/outbox/act", &retry).await.refused(403, "scope_missing");
    reader.act("/sandbox/clock", &[("to", "day")]).await.refused(403, "scope_missing");
    assert_eq!(bed.notification(&id).await.status.as_str(), "parked");
    let operator = admin.with_key(&[Scope::Read, Scope::Operate], None).await;
    assert!(operator.page(&format!("/notifications/{id}")).await.contains("value=\"retry\""));
    operator.act("/outbox/act", &retry).await.leads_to("/outbox?done=retry.1.0");
    assert_eq!(bed.audit("notification", &id).await, ["park:no-channel", "retry:no-channel"]);
    bed.leaves_open("it is queued again");
}

async fn the_cookie_is_bound_to_the_host_behind_tls(bed: TestBed) {
    let client = Client::stranger(&bed).await;
    let headers = [("sec-fetch-site", "same-origin"), ("x-forwarded-proto", "https")];
    let reply = client
        .send(axum::http::Method::POST, "/sign-in", &headers, format!("key={ADMIN}"))
        .await
        .leads_to("/");
    let set = reply.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-") && set.ends_with("; Secure"), "{set}");
    let secure = [("x-forwarded-proto", "https")];
    assert_eq!(client.send(axum::http::Method::GET, "/", &secure, String::new()).await.status, 200);
    client.get("/").await.leads_to("/sign-in");
}
