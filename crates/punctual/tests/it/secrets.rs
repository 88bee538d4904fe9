//! Secrets at rest: sealed in the file, nowhere else to be found, and of no use to whoever lacks the key.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use jiff::Timestamp;
use punctual_store::{
    Lane, Store, StoreOptions,
    channels::{self, ChannelRow},
};
use punctual_testkit::postgres::everything_stored;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::server::{KEY, Place, Server, binary};

/// What every secret field has in it.
const CANARY: &str = "canary-3b9f27d1c0ffee";

/// A receiver that repeats all it was sent, as the worst of them do, and gives no yes.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let said = whole_request(&mut stream).await;
                let head =
                    format!("HTTP/1.1 400 No\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", said.len());
                let _ = stream.write_all(format!("{head}{said}").as_bytes()).await;
            });
        }
    });
    address
}

/// A request to its last byte: a connection that is closed earlier would leave it open what became of it.
async fn whole_request(stream: &mut TcpStream) -> String {
    let (mut request, mut part) = (Vec::new(), vec![0; 65_536]);
    loop {
        let length = stream.read(&mut part).await.unwrap_or(0);
        request.extend_from_slice(&part[..length]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if length == 0 {
                return text;
            }
            continue;
        };
        let wanted = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if length == 0 || body.len() >= wanted.unwrap_or(0) {
            return text;
        }
    }
}

/// A channel over every adapter that has a secret, each with the canary in it.
fn channels_to(echo: &str) -> Vec<(&'static str, &'static str, Value)> {
    let sid = "AC0123456789abcdef0123456789abcdef";
    let hook = format!("{echo}/services/{CANARY}");
    // 24 bytes of base64 with the canary in it.
    let signing = format!("whsec_{}", "Y2FuYXJ5LTNiOWYyN2QxYzBmZmVlMDAw");
    vec![
        (
            "email:smtp",
            "a@b.example",
            json!({"adapter": "smtp", "settings": {"host": "127.0.0.1", "port": 1, "tls": "none", "from": "a@b.example", "username": "u", "password": CANARY}}),
        ),
        (
            "webhook:a",
            "x",
            json!({"adapter": "webhook", "settings": {"url": format!("{echo}/hook"), "secret": signing, "previousSecret": signing}}),
        ),
        (
            "sms:twilio",
            "+49301234567",
            json!({"adapter": "twilio", "settings": {"accountSid": sid, "authToken": CANARY, "callbackToken": CANARY, "callbackUrl": "https://p.example/api/v1/callbacks/sms:twilio", "from": "+14155552671", "baseUrl": echo}}),
        ),
        (
            "sms:twilio-key",
            "+49301234567",
            json!({"adapter": "twilio", "settings": {"accountSid": sid, "apiKeySid": sid.replace("AC", "SK"), "apiKeySecret": CANARY, "from": "Punctual", "baseUrl": echo}}),
        ),
        (
            "sms:gateway",
            "+49301234567",
            json!({"adapter": "sms-gateway", "settings": {"url": echo, "token": CANARY, "tokenIn": "field:key", "receiptSecret": CANARY}}),
        ),
        (
            "sms:basic",
            "+49301234567",
            json!({"adapter": "sms-gateway", "settings": {"url": echo, "username": "u", "password": CANARY}}),
        ),
        ("teams:a", "ops", json!({"adapter": "teams", "settings": {"url": hook}})),
        ("slack:a", "ops", json!({"adapter": "slack", "settings": {"url": hook}})),
        (
            "email:sendgrid",
            "a@b.example",
            json!({"adapter": "sendgrid", "settings": {"apiKey": CANARY, "from": "a@b.example", "baseUrl": echo}}),
        ),
        (
            "whatsapp:cloud",
            "+49301234567",
            json!({"adapter": "whatsapp-cloud", "settings": {"phoneNumberId": "106540352242922", "accessToken": CANARY, "appSecret": CANARY, "verifyToken": CANARY, "baseUrl": echo}}),
        ),
        (
            "whatsapp:360",
            "+49301234567",
            json!({"adapter": "whatsapp-360dialog", "settings": {"apiKey": CANARY, "callbackSecret": CANARY, "baseUrl": echo}}),
        ),
        (
            "whatsapp:infobip",
            "+49301234567",
            json!({"adapter": "whatsapp-infobip", "settings": {"apiKey": CANARY, "callbackSecret": CANARY, "baseUrl": echo, "from": "+442071234567"}}),
        ),
        (
            "nats:a",
            "x",
            json!({"adapter": "nats", "settings": {"url": "nats://127.0.0.1:1", "subject": "a", "username": "u", "password": CANARY}}),
        ),
        (
            "nats:token",
            "x",
            json!({"adapter": "nats", "settings": {"url": "nats://127.0.0.1:1", "subject": "a", "token": CANARY}}),
        ),
        (
            "amqp:a",
            "x",
            json!({"adapter": "amqp", "settings": {"url": "amqp://127.0.0.1:1", "queue": "a", "username": "u", "password": CANARY}}),
        ),
        (
            "amqp1:a",
            "x",
            json!({"adapter": "amqp1", "settings": {"url": "amqp://127.0.0.1:1", "address": "a", "username": "u", "password": CANARY}}),
        ),
    ]
}

/// Secrets that are keys or certificates of a fixed form, in which no word of ours fits; they are sealed and hidden as the others are.
const FIXED_FORM: &[&str] = &["nkeySeed", "credentials", "ca"];

#[test]
fn t12_every_secret_of_every_adapter_has_the_canary() {
    let channels = channels_to("http://127.0.0.1:1");
    for (adapter, about) in punctual_channels::described() {
        for setting in about.settings.iter().filter(|setting| setting.is_secret) {
            let given = channels.iter().any(|(_, _, body)| {
                body["adapter"] == adapter && body["settings"].get(setting.name).is_some()
            });
            assert!(
                given || FIXED_FORM.contains(&setting.name),
                "no channel of this test gives `{}` of {adapter}",
                setting.name
            );
        }
    }
}

/// Every spelling in which a secret could be found.
fn needles() -> Vec<String> {
    let basic = |user: &str| {
        let sid = "AC0123456789abcdef0123456789abcdef";
        base64(&format!("{}:{CANARY}", user.replace("AC", sid)))
    };
    vec![CANARY.to_owned(), "Y2FuYXJ5LTNiOWYyN2QxYzBmZmVlMDAw".to_owned(), basic("u"), basic("AC")]
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for n in 0..4 {
            let is_there = n <= chunk.len();
            out.push(if is_there { char::from(LETTERS[(bits >> (18 - 6 * n)) as usize & 63]) } else { '=' });
        }
    }
    out
}

#[track_caller]
fn has_none(what: &str, bytes: &[u8]) {
    for needle in needles() {
        let found = bytes.windows(needle.len()).position(|window| window == needle.as_bytes());
        if let Some(at) = found {
            let around = &bytes[at.saturating_sub(60)..(at + needle.len() + 20).min(bytes.len())];
            panic!("{what} shows a secret: {}", String::from_utf8_lossy(around));
        }
    }
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_under(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn punctual(server: &Server, args: &[&str]) -> String {
    let done =
        Command::new(binary()).args(args).args(["--server", &server.address, "--key", KEY]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Uses every channel in every way that could make it tell a secret; gives back all that was answered.
async fn all_answers(server: &Server) -> String {
    let (echo, mut answers) = (echo().await, String::new());
    for (key, address, mut body) in channels_to(&echo) {
        body["retry"] = json!({"max": 0});
        answers.push_str(&server.put(&format!("/api/v1/channels/{key}"), &body).await.to_string());
        let test =
            server.post(&format!("/api/v1/channels/{key}/test"), &json!({"address": address})).await.unwrap();
        assert_eq!(test.0, 200, "{key}: {}", test.1);
        let is_answered = body.to_string().contains(&echo);
        assert!(!is_answered || test.1["outcome"] == "permanent", "{key}: {}", test.1);
        answers.push_str(&test.1.to_string());
        let send = json!({"targets": [address], "channel": key, "subject": "S", "body": "B"});
        let (status, sent) = server.post("/api/v1/notifications", &send).await.unwrap();
        assert_eq!(status, 201, "{sent}");
        let id = sent["id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/notifications/{id}/timeline");
        let ended = server.until("the message to end", async |server| {
            let (_, row) = server.get(&format!("/api/v1/notifications/{id}")).await;
            (row["status"] == "parked").then_some(row)
        });
        answers.push_str(&ended.await.to_string());
        answers.push_str(&server.get(&path).await.1.to_string());
        // A change that keeps the secret, and one that is refused.
        body["settings"]["timeoutSeconds"] = json!(9);
        server.put(&format!("/api/v1/channels/{key}"), &body).await;
        body["settings"]["nonsense"] = json!(1);
        let request = server
            .client
            .put(format!("{}/api/v1/channels/{key}", server.address))
            .bearer_auth(KEY)
            .json(&body);
        answers.push_str(&request.send().await.unwrap().text().await.unwrap());
    }
    // Whoever else holds secrets: a subscriber, and a consumer of a broker that is not there.
    let hook = &channels_to(&echo)[1].2["settings"];
    let subscriber = json!({"adapter": "webhook", "settings": hook, "events": ["operations.*"]});
    answers.push_str(&server.put("/api/v1/subscribers/webhook:s", &subscriber).await.to_string());
    let consumer = json!({"adapter": "nats", "settings": {"url": "nats://127.0.0.1:1", "stream": "S",
        "deadLetterSubject": "dead", "username": "u", "password": CANARY}});
    answers.push_str(&server.put("/api/v1/consumers/nats:c", &consumer).await.to_string());
    // Calls of providers: one that knows the secret and one that says nonsense, and one that Meta makes to ask.
    for (key, body) in
        [("whatsapp:360", "{}"), ("whatsapp:360", "<html>"), ("whatsapp:infobip", "{"), ("sms:gateway", "{}")]
    {
        let path = format!("{}/api/v1/callbacks/{key}/{CANARY}", server.address);
        let said = server.client.post(path).body(body).send().await.unwrap();
        answers.push_str(&said.text().await.unwrap());
    }
    let asks = format!("hub.mode=subscribe&hub.verify_token={CANARY}&hub.challenge=7");
    let asks = format!("{}/api/v1/callbacks/whatsapp:cloud?{asks}", server.address);
    assert_eq!(server.client.get(asks).send().await.unwrap().text().await.unwrap(), "7");
    for path in [
        "/api/v1/channels",
        "/api/v1/channels/health",
        "/api/v1/subscribers",
        "/api/v1/consumers",
        "/api/v1/definitions",
        "/api/v1/audit",
        "/api/v1/search?q=canary",
        "/api/v1/attention",
        "/api/v1/notifications",
        "/api/v1/suppressions",
        "/api/v1/inbox",
        "/openapi.json",
    ] {
        answers.push_str(&server.get(path).await.1.to_string());
    }
    let metrics = server.client.get(format!("{}/metrics", server.address)).send().await.unwrap();
    answers.push_str(&metrics.text().await.unwrap());
    assert!(answers.contains("***"), "the receiver did repeat the secrets");
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_no_secret_is_in_an_answer_a_log_an_export_or_the_database_file() {
    assert_eq!(base64("u:p w"), "dTpwIHc=");
    let (mut place, elsewhere) = (Place::sqlite(), tempfile::tempdir().unwrap());
    let log = elsewhere.path().join("server.log");
    let server = place.start_with_log(&[], &log);
    has_none("an answer", all_answers(&server).await.as_bytes());
    punctual(&server, &["secrets", "rekey", "--new-key"]);
    let export = elsewhere.path().join("definitions");
    punctual(&server, &["export", export.to_str().unwrap()]);
    // The file and its log as they are while the server runs, and after it has ended.
    let mut looked = 0;
    for _ in 0..2 {
        for file in files_under(place.folder()).into_iter().chain(files_under(elsewhere.path())) {
            if file.file_name().is_some_and(|name| name != "master.key") {
                has_none(&file.display().to_string(), &std::fs::read(&file).unwrap());
                looked += 1;
            }
        }
        let _ = server.client.get(format!("{}/healthz", server.address)).send().await;
    }
    drop(server);
    let crash = crashed(&mut place, elsewhere.path()).await;
    has_none("what a crash leaves behind", &std::fs::read(&crash).unwrap());
    for file in files_under(place.folder()) {
        has_none(&file.display().to_string(), &std::fs::read(&file).unwrap());
    }
    assert!(looked > 20, "{looked}");
    assert!(std::fs::read(&log).unwrap().len() > 1_000, "there is a log to look at");
}

/// Ends the server between a call with a secret and the record of it; returns the file with all that it wrote.
async fn crashed(place: &mut Place, folder: &Path) -> PathBuf {
    place.environment.push(("RUST_BACKTRACE".into(), "full".into()));
    let log = folder.join("crash.log");
    let point = "before:commit:40";
    let server = place.start_with_log(&["--crash-at", point], &log);
    let send = json!({"targets": ["+49301234567"], "channel": "sms:twilio", "subject": "S", "body": "B"});
    for _ in 0..200 {
        if server.post("/api/v1/notifications", &send).await.is_none() {
            break;
        }
    }
    server.until_ended(point).await;
    log
}

/// PostgreSQL alone: its files are the server's, so its columns are read instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_no_secret_is_in_any_column_of_a_postgresql_database() {
    let (place, elsewhere) = (Place::postgres().await, tempfile::tempdir().unwrap());
    let log = elsewhere.path().join("server.log");
    let server = place.start_with_log(&[], &log);
    has_none("an answer", all_answers(&server).await.as_bytes());
    let looked_at = async || {
        let stored = everything_stored(&place.database_url()).await;
        stored.iter().for_each(|one| has_none(&one.place, &one.bytes));
        stored
    };
    let running = looked_at().await;
    drop(server);
    for stored in [running, looked_at().await] {
        let has = |place: &str, text: &str| {
            stored.iter().any(|one| one.place == place && String::from_utf8_lossy(&one.bytes).contains(text))
        };
        assert!(has("channels.key", "sms:twilio") && has("channels.settings", "sealed:"), "it was read");
        assert!(has("attempts.answer", "***"), "what the receiver repeated was stored without its secrets");
    }
    has_none("the log", &std::fs::read(&log).unwrap());
}

async fn settings_of(url: &str, key: &str) -> String {
    let store = Store::open(StoreOptions { accept_weak_durability: true, ..StoreOptions::new(url) }, now())
        .await
        .unwrap();
    let mut reader = store.read().await.unwrap();
    let settings = channels::get(&mut reader.conn(), key).await.unwrap().unwrap().settings;
    drop(reader);
    store.close().await;
    drop(store);
    settings
}

fn now() -> Timestamp {
    "2026-11-03T08:00:00Z".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_what_an_earlier_version_left_open_is_sealed_at_start() {
    let place = Place::sqlite();
    let url = place.database_url();
    let store = Store::open(StoreOptions::new(url.clone()), now()).await.unwrap();
    let mut tx = store.begin(Lane::Intake).await.unwrap();
    let row = ChannelRow {
        key: "email:old".into(),
        adapter: "smtp".into(),
        settings: json!({"host": "127.0.0.1", "port": 1, "tls": "none", "from": "a@b.example", "username": "u", "password": CANARY}).to_string(),
        retry: "{}".into(),
        at_most_once: false,
        policy: "{}".into(),
        version: 1,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let by_name = ChannelRow {
        key: "email:env".into(),
        settings: row.settings.replace(CANARY, "env:SMTP_PASSWORD"),
        ..row.clone()
    };
    for row in [&row, &by_name] {
        channels::put(&mut tx.conn(), now(), row).await.unwrap();
    }
    tx.commit().await.unwrap();
    store.close().await;
    drop(store);
    let found = std::fs::read(place.folder().join("punctual.sqlite")).unwrap();
    assert!(found.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()), "it stood open");
    let server = place.start(&[]);
    let (status, shown) = server.get("/api/v1/channels/email:old").await;
    assert_eq!((status, &shown["secretsSet"], &shown["version"]), (200, &json!(["password"]), &json!(1)));
    for file in files_under(place.folder()) {
        has_none(&file.display().to_string(), &std::fs::read(&file).unwrap());
    }
    drop(server);
    let settings = settings_of(&url, "email:old").await;
    assert!(settings.contains("sealed:1:") && !settings.contains(CANARY), "{settings}");
    assert!(settings_of(&url, "email:env").await.contains("\"env:SMTP_PASSWORD\""));
    // Without its key file the server says what is missing instead of making another key.
    let file = place.folder().join("master.key");
    let kept = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let refusal = place.refusal(&[]);
    assert!(refusal.contains("master.key is missing") && refusal.contains("secrets forget"), "{refusal}");
    std::fs::write(&file, kept).unwrap();
    drop(place.start(&[]));
    // Lost for good: what is sealed goes, the rest stays, and the server starts.
    std::fs::remove_file(&file).unwrap();
    let forget = |more: &[&str]| {
        let folder = place.folder().to_str().unwrap().to_owned();
        let done = Command::new(binary())
            .args(["secrets", "forget", "--data-dir", &folder])
            .args(more)
            .output()
            .unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    assert!(forget(&[]).contains("email:old: password\nSecrets of 1 channels would be removed"));
    assert!(settings_of(&url, "email:old").await.contains("sealed:1:"));
    assert!(forget(&["--confirm"]).contains("were removed"));
    let server = place.start(&[]);
    assert_eq!(server.get("/api/v1/channels/email:old").await.1["secretsSet"], json!([]));
    assert_eq!(server.get("/api/v1/channels/email:env").await.1["secretsSet"], json!(["password"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_every_node_needs_the_same_master_key() {
    let place = Place::postgres().await;
    let first = place.start(&[]);
    let other = place.folder().join("other.key");
    let new_key = || {
        let made = Command::new(binary()).args(["secrets", "new-key"]).output().unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    std::fs::write(&other, new_key()).unwrap();
    let file = other.to_str().unwrap();
    let refusal = place.refusal(&["--master-key-file", file]);
    assert!(refusal.contains("every node needs the same key") && refusal.contains(file), "{refusal}");
    std::fs::write(&other, "nonsense").unwrap();
    assert!(place.refusal(&["--master-key-file", file]).contains("a master key is 32 random bytes"));
    assert!(place.refusal(&["--master-key-file", "nowhere.key"]).contains("nowhere.key cannot be read"));

    // The way to a new key: in front of the old one on every node, then one of them is asked to seal anew.
    let present = std::fs::read_to_string(place.folder().join("master.key")).unwrap();
    std::fs::write(&other, format!("# new\n{}\n{present}", new_key())).unwrap();
    let second = place.start(&["--master-key-file", file]);
    let hook =
        json!({"adapter": "slack", "settings": {"url": format!("http://127.0.0.1:1/services/{CANARY}")}});
    second.put("/api/v1/channels/slack:a", &hook).await;
    let reaches = async |server: &Server| {
        let test = server.post("/api/v1/channels/slack:a/test", &json!({"address": "x"})).await.unwrap().1;
        test["detail"].as_str().unwrap().contains("cannot be reached")
    };
    assert!(reaches(&first).await && reaches(&second).await, "the old key is in use until then");
    std::fs::copy(&other, place.folder().join("master.key")).unwrap();
    let reported = punctual(&second, &["secrets", "rekey"]);
    assert!(reported.contains("1 channels were sealed again"), "{reported}");
    first.put("/api/v1/channels/slack:a", &hook).await;
    assert!(reaches(&first).await && reaches(&second).await, "the first node read its file again");
    let (first_key, second_key) = (present.trim(), std::fs::read_to_string(&other).unwrap());
    drop((first, second));
    std::fs::write(&other, first_key).unwrap();
    assert!(place.refusal(&["--master-key-file", file]).contains("every node needs the same key"));
    std::fs::write(&other, second_key.lines().nth(1).unwrap()).unwrap();
    let third = place.start(&["--master-key-file", file]);
    assert!(reaches(&third).await, "the old key is not needed any more");
}

/// A channel to a port where nobody is, with this password.
fn mail(password: &str) -> Value {
    json!({"adapter": "smtp", "settings": {"host": "127.0.0.1", "port": 1, "tls": "none", "from": "a@b.example",
        "username": "u", "password": password, "timeoutSeconds": 1}})
}

async fn opens(server: &Server, key: &str) -> bool {
    let path = format!("/api/v1/channels/{key}/test");
    let tried = server.post(&path, &json!({"address": "x@y.example"})).await.unwrap().1;
    tried["outcome"] == "transient"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_references_read_the_directory_and_the_variables_for_secrets_alone() {
    let mut place = Place::sqlite();
    place.environment = vec![
        ("PUNCTUAL_SECRET_SMTP".into(), CANARY.into()),
        ("SMTP_PASSWORD".into(), CANARY.into()),
        ("PUNCTUAL_SECRETS_DIR".into(), place.folder().join("secrets").display().to_string()),
    ];
    std::fs::create_dir(place.folder().join("secrets")).unwrap();
    std::fs::write(place.folder().join("secrets/smtp"), CANARY).unwrap();
    let refusal = place.refusal(&["--secrets-dir", place.folder().to_str().unwrap()]);
    assert!(refusal.contains("is the data folder"), "{refusal}");
    let server = place.start(&[]);
    for (key, password, works) in [
        ("email:file", "file:smtp", true),
        ("email:env", "env:SMTP", true),
        ("email:none", "file:none", false),
        ("email:other", "env:SMTP_PASSWORD", false),
    ] {
        server.put(&format!("/api/v1/channels/{key}"), &mail(password)).await;
        assert_eq!(opens(&server, key).await, works, "{password}");
    }
    let own = mail(&format!("file:{}", place.folder().join("master.key").display()));
    let put = server.client.put(format!("{}/api/v1/channels/email:own", server.address)).bearer_auth(KEY);
    let refused = put.json(&own).send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 422);
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "secret_reference");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_references_of_an_earlier_version_work_for_one_start() {
    let mut place = Place::sqlite();
    place.environment = vec![("SMTP_PASSWORD".into(), CANARY.into())];
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("smtp"), CANARY).unwrap();
    let url = place.database_url();
    let store = Store::open(StoreOptions::new(url), now()).await.unwrap();
    let mut tx = store.begin(Lane::Intake).await.unwrap();
    let file = format!("file:{}/smtp", elsewhere.path().display());
    let own = format!("file:{}/master.key", place.folder().display());
    for (key, password) in [("email:file", &*file), ("email:env", "env:SMTP_PASSWORD"), ("email:own", &*own)]
    {
        let row = ChannelRow {
            key: key.into(),
            adapter: "smtp".into(),
            settings: mail(password)["settings"].to_string(),
            retry: "{}".into(),
            at_most_once: false,
            policy: "{}".into(),
            version: 1,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        channels::put(&mut tx.conn(), now(), &row).await.unwrap();
    }
    tx.commit().await.unwrap();
    store.close().await;
    drop(store);
    let log = place.folder().join("start.log");
    let server = place.start_with_log(&[], &log);
    for (key, works) in [("email:file", true), ("email:env", true), ("email:own", false)] {
        assert_eq!(opens(&server, key).await, works, "{key}");
    }
    server.kill();
    let reported = std::fs::read_to_string(&log).unwrap();
    let reported = reported.lines().find(|line| line.contains("for the last time")).unwrap();
    for part in [
        "channel email:file, `password`",
        "as `smtp` and write `file:smtp`",
        "PUNCTUAL_SECRET_SMTP_PASSWORD and keep `env:SMTP_PASSWORD`",
        "channel email:own",
    ] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    has_none("the log", reported.as_bytes());
    let server = place.start_with_log(&[], &log);
    for key in ["email:file", "email:env", "email:own"] {
        assert!(!opens(&server, key).await, "{key}");
    }
    let message = json!({"targets": ["x@y.example"], "channel": "email:file", "subject": "S", "body": "B"});
    let id =
        server.post("/api/v1/notifications", &message).await.unwrap().1["id"].as_str().unwrap().to_owned();
    let reason = server
        .until("it is parked", async |server| {
            let row = server.get(&format!("/api/v1/notifications/{id}")).await.1;
            (row["status"] == "parked").then(|| row["reasonCode"].clone())
        })
        .await;
    assert_eq!(reason, "secret-missing");
    server.kill();
    assert!(
        std::fs::read_to_string(&log).unwrap().contains("these secret references are no longer supported")
    );
}
