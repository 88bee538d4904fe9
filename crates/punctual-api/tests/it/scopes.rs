//! Every route with every scope: the OpenAPI document says what a route needs, and that is what it asks for.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_route_takes_the_scope_that_its_description_names;
}

async fn a_route_takes_the_scope_that_its_description_names(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut keys = Vec::new();
    for scope in ["admin", "operate", "author", "ingest", "send", "read", "site"] {
        keys.push((scope, client.new_key(&[scope], None).await));
    }
    let mut checked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let needed = operation["security"].as_array().into_iter().flatten();
            let needed: Vec<&str> = needed.filter_map(|any| any["key"][0].as_str()).collect();
            let Some(first) = needed.first() else {
                let open = [
                    "/healthz",
                    "/readyz",
                    "/api/v1/public/surveys/",
                    "/SurveyInstances/",
                    "/api/v1/callbacks/",
                ];
                assert!(open.iter().any(|open| path.starts_with(open)), "{method} {path} names no scope");
                continue;
            };
            let method: Method = method.to_uppercase().parse().unwrap();
            // Ids that lead nowhere: whoever may call gets another refusal than one for the key.
            let path = path.replace("{key}", "no:such").replace(['{', '}'], "");
            let body = needs_body(&method).then(|| json!("no object"));
            Client { key: None, ..client.clone() }
                .call(method.clone(), &path, body.clone())
                .await
                .refused(401, "auth_failed");
            for (scope, client) in &keys {
                let reply = client.call(method.clone(), &path, body.clone()).await;
                let may = needed.contains(scope) || *scope == "admin";
                assert_eq!(reply.status != 403, may, "{method} {path} with {scope}: {}", reply.text);
                if !may {
                    assert_eq!(reply.refused(403, "scope_missing")["scope"], *first);
                } else {
                    assert!(reply.status < 500 && reply.status != 401, "{method} {path}: {}", reply.text);
                }
                checked += 1;
            }
        }
    }
    assert!(checked >= 40 * 6, "only {checked} pairs");
    assert_eq!(document["components"]["securitySchemes"]["key"]["scheme"], Value::from("bearer"));
}

fn needs_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}
