//! People who sign in to the console: made, changed and removed by whoever may do everything.

use axum::http::Method;
use punctual_model::Clock;
use punctual_store::{audit, invitations, users};
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_user_is_made_changed_and_removed_and_the_audit_says_so;
    an_email_is_unique_whatever_its_case;
    what_is_wrong_with_a_user_names_its_field_and_stores_nothing;
    only_an_admin_without_a_limit_manages_users;
    the_link_of_an_invitation_is_shown_once_and_stored_as_a_hash;
    an_invitation_is_mailed_beside_the_outbox;
    users_come_in_pages_by_email;
}

fn ada() -> Value {
    json!({ "email": "Ada@Example.org", "name": "Ada", "role": "operator", "businessUnits": ["nz"] })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

async fn a_user_is_made_changed_and_removed_and_the_audit_says_so(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.has_unit("nz").await;
    let made = client.post("/api/v1/users", ada()).await.expect(201);
    let path = format!("/api/v1/users/{}", text(&made["id"]));
    assert_eq!((text(&made["email"]), text(&made["role"])), ("ada@example.org", "operator"));
    assert_eq!((&made["active"], &made["hasPassword"]), (&json!(true), &json!(false)));
    let found = client.get(&path).await.expect(200);
    assert_eq!((&found["businessUnits"], found.get("invitation")), (&json!(["nz"]), None));
    let changed = client.patch(&path, json!({ "role": "viewer", "businessUnits": null })).await.expect(200);
    assert_eq!((text(&changed["role"]), &changed["businessUnits"]), ("viewer", &json!(null)));
    assert_eq!((text(&changed["name"]), &changed["active"]), ("Ada", &json!(true)), "what is absent stays");
    let disabled = client.patch(&path, json!({ "active": false })).await.expect(200);
    assert_eq!(disabled["active"], false);
    let invite = format!("{path}/invitation");
    client.call(Method::POST, &invite, None).await.refused(409, "state_not_allowed");
    client.delete(&path).await.expect(204);
    client.get(&path).await.refused(404, "not_found");
    client.delete(&path).await.refused(404, "not_found");
    client.patch(&path, json!({ "name": "x" })).await.refused(404, "not_found");
    let entries = audit::of(
        &mut bed.read().await.conn(),
        &punctual_model::Reach::Everything,
        "user",
        text(&made["id"]),
    )
    .await
    .unwrap();
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["create", "invite", "change", "change", "delete"]);
    let last = entries.last().unwrap();
    assert_eq!(last.actor, "key:operator");
    assert!(last.data.as_deref().unwrap().contains("ada@example.org"), "{last:?}");
}

async fn an_email_is_unique_whatever_its_case(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.has_unit("nz").await;
    client.post("/api/v1/users", ada()).await.expect(201);
    let mut again = ada();
    again["email"] = json!("ADA@example.ORG");
    client.post("/api/v1/users", again.clone()).await.refused(409, "id_reused");
    again["email"] = json!("bob@example.org");
    let bob = client.post("/api/v1/users", again).await.expect(201);
    let path = format!("/api/v1/users/{}", text(&bob["id"]));
    client.patch(&path, json!({ "email": "Ada@example.org" })).await.refused(409, "id_reused");
    client.patch(&path, json!({ "email": "BOB@example.org", "name": "Robert" })).await.expect(200);
    assert_eq!(client.get("/api/v1/users").await.expect(200)["items"].as_array().unwrap().len(), 2);
}

async fn what_is_wrong_with_a_user_names_its_field_and_stores_nothing(bed: TestBed) {
    let client = Client::new(&bed).await;
    let refused = async |change: &dyn Fn(&mut Value), code: &str, pointer: &str| {
        let mut body = ada();
        body["businessUnits"] = json!(null);
        change(&mut body);
        let body = client.post("/api/v1/users", body).await.refused(422, code);
        assert_eq!(body["errors"][0]["pointer"], pointer, "{body}");
    };
    refused(&|body| body["email"] = json!("nobody"), "address_invalid", "/email").await;
    refused(&|body| body["role"] = json!("root"), "out_of_range", "/role").await;
    refused(&|body| body["name"] = json!(""), "key_invalid", "/name").await;
    refused(&|body| body["businessUnits"] = json!(["atlantis"]), "unit_unknown", "/businessUnits").await;
    refused(&|body| body["password"] = json!("x"), "unknown_field", "/password").await;
    assert_eq!(client.get("/api/v1/users").await.expect(200)["items"], json!([]));
}

async fn only_an_admin_without_a_limit_manages_users(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.has_unit("nz").await;
    let made = client.post("/api/v1/users", ada()).await.expect(201);
    let path = format!("/api/v1/users/{}", text(&made["id"]));
    let others = [
        client.new_key(&["read", "operate", "author", "ingest"], None).await,
        client.new_key(&["admin"], Some(&["nz"])).await,
    ];
    for other in others {
        other.get("/api/v1/users").await.refused(403, "scope_missing");
        other.get(&path).await.refused(403, "scope_missing");
        other.post("/api/v1/users", ada()).await.refused(403, "scope_missing");
        other.patch(&path, json!({ "role": "admin" })).await.refused(403, "scope_missing");
        other.call(Method::POST, &format!("{path}/invitation"), None).await.refused(403, "scope_missing");
        other.delete(&path).await.refused(403, "scope_missing");
    }
    assert_eq!(client.get(&path).await.expect(200)["role"], "operator");
}

async fn the_link_of_an_invitation_is_shown_once_and_stored_as_a_hash(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.has_unit("nz").await;
    let headers = [("content-type", "application/json"), ("idempotency-key", "invite-ada")];
    let send = || client.send(Method::POST, "/api/v1/users", &headers, ada().to_string());
    let made = send().await.expect(201);
    let link = text(&made["invitation"]["link"]).to_owned();
    let secret = link.split_once("/invitation?token=").unwrap().1;
    assert_eq!(secret.len(), 64);
    let repeated = send().await;
    assert!(!repeated.text.contains(secret), "{}", repeated.text);
    assert_eq!(repeated.expect(201)["id"], made["id"]);
    // What is stored opens nothing.
    let now = client.wall.now();
    let stored = invitations::find(&mut bed.read().await.conn(), now, secret).await.unwrap();
    assert_eq!(stored, None, "the text itself is not stored");
    assert!(bed.engine.invited(now, secret).await.unwrap().is_some());
    // Another invitation ends the first.
    let path = format!("/api/v1/users/{}/invitation", text(&made["id"]));
    let second = client.call(Method::POST, &path, None).await.expect(200);
    assert_ne!(text(&second["invitation"]["link"]), link);
    assert!(bed.engine.invited(now, secret).await.unwrap().is_none());
    let row = users::get(&mut bed.read().await.conn(), text(&made["id"])).await.unwrap().unwrap();
    assert!(!format!("{row:?}").contains("hash"), "{row:?}");
}

async fn an_invitation_is_mailed_beside_the_outbox(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.has_unit("nz").await;
    let channel = json!({ "adapter": "memory", "settings": {} });
    client.put("/api/v1/channels/email:default", channel).await.expect(200);
    let made = client.post("/api/v1/users", ada()).await.expect(201);
    assert_eq!(made["invitation"]["mailedOver"], "email:default");
    let sent = bed.sent();
    assert_eq!((sent.len(), sent[0].address.as_str()), (1, "ada@example.org"));
    assert!(sent[0].body.contains(text(&made["invitation"]["link"])), "{:?}", sent[0]);
    // In the outbox everybody who may read could take the link.
    assert_eq!(client.get("/api/v1/notifications").await.expect(200)["items"], json!([]));
}

async fn users_come_in_pages_by_email(bed: TestBed) {
    let client = Client::new(&bed).await;
    for name in ["carl", "ann", "bob"] {
        let body = json!({ "email": format!("{name}@example.org"), "name": name, "role": "viewer" });
        client.post("/api/v1/users", body).await.expect(201);
    }
    let first = client.get("/api/v1/users?limit=2").await.expect(200);
    let names = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|user| text(&user["name"]).to_owned()).collect()
    };
    assert_eq!(names(&first), ["ann", "bob"]);
    let cursor = text(&first["nextCursor"]);
    let second = client.get(&format!("/api/v1/users?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!(names(&second), ["carl"]);
}
