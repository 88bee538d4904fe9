//! Files in an object store that several nodes share, against a server that speaks S3's published protocol and checks
//! each signature by itself.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use ring::{digest, hmac};
use serde_json::json;

use crate::server::{KEY, Place};

const ACCESS: &str = "AKIATEST";
const SECRET: &str = "a-secret-that-only-the-two-ends-know";

/// A bucket, and how many calls were not signed as they should have been.
#[derive(Clone, Default)]
struct Bucket {
    objects: Arc<Mutex<HashMap<String, Bytes>>>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Bucket {
    async fn start() -> (Self, String) {
        let bucket = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(bucket.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (bucket, url)
    }

    fn names(&self) -> Vec<String> {
        self.objects.lock().unwrap().keys().cloned().collect()
    }
}

async fn answer(
    State(bucket): State<Bucket>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(why) = signed(&method, &uri, &headers, &body) {
        bucket.refused.lock().unwrap().push(why);
        return (StatusCode::FORBIDDEN, error("SignatureDoesNotMatch")).into_response();
    }
    let mut objects = bucket.objects.lock().unwrap();
    match method {
        Method::PUT => {
            objects.insert(uri.path().to_owned(), body);
            [("etag", "\"1\"")].into_response()
        }
        Method::GET => match objects.get(uri.path()) {
            Some(found) => {
                let facts = [("etag", "\"1\""), ("last-modified", "Mon, 04 May 2026 08:00:00 GMT")];
                (facts, found.clone()).into_response()
            }
            None => (StatusCode::NOT_FOUND, error("NoSuchKey")).into_response(),
        },
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

fn error(code: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{code}</Message></Error>")
}

/// AWS Signature Version 4, from its public description.
fn signed(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let given = text("authorization").strip_prefix("AWS4-HMAC-SHA256 ").ok_or("no signature")?;
    let parts: BTreeMap<&str, &str> = given
        .split(", ")
        .flat_map(|part| part.split(','))
        .filter_map(|part| part.trim().split_once('='))
        .collect();
    let part = |name: &str| parts.get(name).copied().unwrap_or_default();
    let scope = part("Credential").strip_prefix(&format!("{ACCESS}/")).ok_or("another key")?;
    let claimed = text("x-amz-content-sha256");
    if claimed != "UNSIGNED-PAYLOAD" && claimed != hex(digest::digest(&digest::SHA256, body).as_ref()) {
        return Err(format!("the content is not what its digest says: {claimed}"));
    }
    let names = part("SignedHeaders");
    let listed: String = names.split(';').map(|name| format!("{name}:{}\n", text(name).trim())).collect();
    let query = uri.query().unwrap_or_default();
    let request = format!("{method}\n{}\n{query}\n{listed}\n{names}\n{claimed}", uri.path());
    let hashed = hex(digest::digest(&digest::SHA256, request.as_bytes()).as_ref());
    let to_sign = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{hashed}", text("x-amz-date"));
    let key = scope.split('/').fold(format!("AWS4{SECRET}").into_bytes(), |key, word| mac(&key, word));
    match hex(&mac(&key, &to_sign)) == part("Signature") {
        true => Ok(()),
        false => Err(format!("a wrong signature over {request}")),
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn environment(endpoint: &str, secret: &str) -> Vec<(String, String)> {
    let facts = [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", ACCESS),
        ("AWS_SECRET_ACCESS_KEY", secret),
    ];
    facts.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// PostgreSQL alone: only there can two processes share a database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_one_node_made_is_handed_out_by_another() {
    let (bucket, endpoint) = Bucket::start().await;
    let mut place = Place::postgres().await;
    place.environment = environment(&endpoint, SECRET);
    let place_of_files = ["--blobs", "s3://files/punctual"];
    let answers = place.start(&[&["--role", "api"], &place_of_files[..]].concat());
    let subscription = json!({
        "name": "Figures", "cadence": { "cron": "0 8 1 1 *", "timeZone": "UTC" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["csv"] },
        "recipients": { "addresses": ["someone"] }, "channel": "memory:default",
    });
    let (_, made) = answers.post("/api/v1/report-subscriptions", &subscription).await.unwrap();
    let runs = format!("/api/v1/report-subscriptions/{}/automation-runs", made["guid"].as_str().unwrap());
    let (status, asked) = answers.post(&runs, &json!({})).await.unwrap();
    assert_eq!(status, 202, "{asked}");
    let run = format!("{runs}/{}", asked["manualRunGuid"].as_str().unwrap());
    let _works = place.start(&[&["--role", "worker"], &place_of_files[..]].concat());
    let done = answers
        .until("the run", async |server| {
            let (_, run) = server.get(&run).await;
            let reported = run["notifications"].as_array()?.iter().all(|one| one["status"] == "delivered");
            (run["status"] == "completed" && reported).then_some(run)
        })
        .await;
    let name = done["artefacts"][0]["name"].as_str().unwrap();
    let url = format!("{}{run}/artefacts/{name}", answers.address);
    let file = answers.client.get(url).bearer_auth(KEY).send().await.unwrap();
    assert_eq!(file.status(), 200);
    assert!(file.text().await.unwrap().lines().count() >= 1);
    assert!(bucket.names().iter().all(|name| name.starts_with("/files/punctual/")), "{:?}", bucket.names());
    assert!(!bucket.names().is_empty());
    assert_eq!(*bucket.refused.lock().unwrap(), Vec::<String>::new());
    assert!(!place.folder().join("blobs").exists(), "nothing was left in the folder of a node");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_take_the_credentials_is_found_at_the_start() {
    let (_bucket, endpoint) = Bucket::start().await;
    let mut place = Place::sqlite();
    place.environment = environment(&endpoint, "another secret");
    let said = place.refusal(&["--blobs", "s3://files/punctual"]);
    assert!(said.contains("files cannot be kept in s3://files/punctual"), "{said}");
    assert!(!said.contains("another secret"), "{said}");
    let said = place.refusal(&["--blobs", "ftp://files/punctual"]);
    assert!(said.contains("expected s3://bucket, az://container or gs://bucket"), "{said}");
}
