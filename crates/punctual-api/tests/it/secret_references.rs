//! Secrets that settings refer to: which references are taken, what happens when there is nothing behind one, and when a
//! secret must be given again.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_channels::{AllowList, Captured, Guard, Trust, adapters, consumer_adapters};
use punctual_engine::references::{NO_SECRETS_DIR, SecretSource};
use punctual_model::{Secret, SecretReference, Setting, SettingKind};
use punctual_store::{
    channels::{self, ChannelRow},
    subscribers,
};
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use punctual_wire::definitions::DefinitionKind;
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    consumers::{with_brokers, with_every_adapter},
    definitions::{every_provider, with_providers, with_smtp},
};

on_both! {
    t12_only_plain_references_are_saved with with_providers;
    t12_a_file_needs_a_directory_for_secrets with with_providers;
    t12_the_mark_of_a_stored_secret_keeps_it_wherever_it_is_saved with with_every_adapter;
    t12_a_channel_without_its_secret_parks_with_that_reason with with_smtp;
    t12_old_references_work_for_one_start with with_smtp;
    t12_a_definition_that_is_saved_has_no_old_reference with with_smtp;
    t12_a_changed_destination_asks_for_the_secret_again with with_providers;
    t12_every_destination_of_every_kind_asks_for_its_secret_again with with_everything;
}

/// What an export has in place of a secret is taken where a definition is saved, as the document says.
async fn t12_the_mark_of_a_stored_secret_keeps_it_wherever_it_is_saved(bed: TestBed) {
    let client = Client::new(&bed).await;
    let smtp = json!({ "host": "mail.example.com", "from": "a@b.example", "username": "u" });
    let nats = json!({ "url": "tls://nats.example.com", "stream": "A", "deadLetterSubject": "a.b", "username": "u" });
    let cases = [
        ("/api/v1/channels/email:a", json!({ "adapter": "smtp", "settings": smtp }), "password", "host"),
        ("/api/v1/subscribers/email:a", json!({ "adapter": "smtp", "settings": smtp }), "password", "host"),
        (
            "/api/v1/consumers/nats:a",
            json!({ "adapter": "nats", "settings": nats, "active": false }),
            "password",
            "url",
        ),
    ];
    for (path, body, secret, place) in cases {
        let with = |value: Value| {
            let mut body = body.clone();
            body["settings"][secret] = value;
            body
        };
        let refused = async |body: Value, pointer: &str, code: &str| {
            let refused = client.put(path, body).await.expect(422);
            let error = &refused["errors"][0];
            assert_eq!(
                (&error["pointer"], &error["code"]),
                (&json!(pointer), &json!(code)),
                "{path}: {refused}"
            );
        };
        let at = format!("/settings/{secret}");
        // Nothing is there that it could mean.
        refused(with(json!({ "set": true })), &at, "secret_required").await;
        client.put(path, with(json!("canary"))).await.expect(200);
        assert_eq!(
            client.put(path, with(json!({ "set": true }))).await.expect(200)["secretsSet"],
            json!([secret])
        );
        refused(with(json!({ "set": false })), &at, "wrong_type").await;
        refused(with(json!({ "set": true, "value": "x" })), &format!("{at}/value"), "unknown_field").await;
        // It goes to no other place than it was given for.
        let mut moved = with(json!({ "set": true }));
        moved["settings"][place] =
            json!(moved["settings"][place].as_str().unwrap().replace("example.com", "other.example"));
        refused(moved, &at, "secret_required").await;
        assert_eq!(client.get(path).await.expect(200)["secretsSet"], json!([secret]), "{path}");
    }
}

/// A machine with the file `smtp`, the variable `PUNCTUAL_SECRET_SMTP`, and what an earlier version read beside them.
struct Machine {
    has_directory: bool,
}

impl SecretSource for Machine {
    fn refusal(&self, reference: &SecretReference) -> Option<String> {
        reference.file_name().filter(|_| !self.has_directory).map(|_| NO_SECRETS_DIR.to_owned())
    }
    fn look_up(&self, reference: &SecretReference) -> Option<Secret> {
        ["file:smtp", "env:SMTP"].contains(&reference.to_string().as_str()).then(|| Secret::new("hunter2"))
    }
    fn look_up_old(&self, text: &str) -> Option<Secret> {
        ["file:/run/secrets/smtp", "env:SMTP_PASSWORD"].contains(&text).then(|| Secret::new("hunter2"))
    }
}

pub fn on_a_machine(bed: &TestBed) {
    bed.engine.channels.resolve_secrets_with(Arc::new(Machine { has_directory: true }));
}

fn smtp(password: &str) -> Value {
    json!({ "adapter": "smtp", "settings": { "host": "127.0.0.1", "port": 1, "tls": "none", "from": "a@b.example",
        "username": "u", "password": password, "timeoutSeconds": 1 } })
}

async fn tried(client: &Client, key: &str) -> Value {
    let path = format!("/api/v1/channels/{key}/test");
    client.post(&path, json!({ "address": "x@y.example" })).await.expect(200)
}

async fn t12_only_plain_references_are_saved(bed: TestBed) {
    on_a_machine(&bed);
    let client = Client::new(&bed).await;
    for wrong in [
        "file:",
        "file:/var/lib/punctual/admin.key",
        "file:../master.key",
        "file:a/b",
        "file:a\\b",
        "file:.env",
        "env:",
        "env:A-B",
        "env:A B",
    ] {
        let problem = client.put("/api/v1/channels/email:a", smtp(wrong)).await;
        let problem = problem.refused(422, "secret_reference");
        assert_eq!(Reply::pointers(&problem), ["/settings/password"], "{wrong}");
        let right = problem["detail"].as_str().unwrap();
        assert!(right.contains("file:smtp") || right.contains("PUNCTUAL_SECRET_SMTP"), "{right}");
        let hook = json!({ "adapter": "webhook", "events": ["response-completed"],
            "settings": { "url": "https://bi.example.org/in", "secret": wrong } });
        let problem = client.put("/api/v1/subscribers/webhook:bi", hook).await;
        assert_eq!(Reply::pointers(&problem.refused(422, "secret_reference")), ["/settings/secret"]);
    }
    assert!(channels::get(&mut bed.read().await.conn(), "email:a").await.unwrap().is_none());
    assert!(subscribers::get(&mut bed.read().await.conn(), "webhook:bi").await.unwrap().is_none());
    for right in ["file:smtp", "env:SMTP"] {
        client.put("/api/v1/channels/email:a", smtp(right)).await.expect(200);
        let tried = tried(&client, "email:a").await;
        assert_eq!(tried["outcome"], "transient", "nobody is there, but the channel opened: {tried}");
    }
    // A rotation keeps the present secret beside the new one, so it cannot keep what is not allowed.
    let row = ChannelRow {
        key: "webhook:old".into(),
        adapter: "webhook".into(),
        settings: json!({ "secret": "file:/run/secrets/hook" }).to_string(),
        ..channels::get(&mut bed.read().await.conn(), "email:a").await.unwrap().unwrap()
    };
    store(&bed, &row).await;
    let problem = client.post("/api/v1/channels/webhook:old/rotate-secret", json!({})).await;
    assert_eq!(Reply::pointers(&problem.refused(422, "secret_reference")), ["/settings/previousSecret"]);
}

async fn t12_a_file_needs_a_directory_for_secrets(bed: TestBed) {
    bed.engine.channels.resolve_secrets_with(Arc::new(Machine { has_directory: false }));
    let client = Client::new(&bed).await;
    let problem = client.put("/api/v1/channels/email:a", smtp("file:smtp")).await;
    let problem = problem.refused(422, "secret_reference");
    assert_eq!(Reply::pointers(&problem), ["/settings/password"]);
    assert!(problem["detail"].as_str().unwrap().contains("--secrets-dir"), "{problem}");
    client.get("/api/v1/channels/email:a").await.refused(404, "not_found");
    client.put("/api/v1/channels/email:a", smtp("env:SMTP")).await.expect(200);
}

async fn t12_a_channel_without_its_secret_parks_with_that_reason(bed: TestBed) {
    // Channels are opened as they are; the sandbox of the other tests captures them.
    on_a_machine(&bed);
    let client = Client::new(&bed).await;
    client.put("/api/v1/channels/email:a", smtp("env:FORGOTTEN")).await.expect(200);
    let test = tried(&client, "email:a").await;
    assert_eq!(test["outcome"], "permanent");
    assert!(test["detail"].as_str().unwrap().contains("env:FORGOTTEN"), "{test}");
    // Another fault keeps its reason.
    let row = channels::get(&mut bed.read().await.conn(), "email:a").await.unwrap().unwrap();
    store(&bed, &ChannelRow { key: "email:b".into(), adapter: "gone".into(), ..row }).await;
    for (channel, reason) in [("email:a", "secret-missing"), ("email:b", "no-channel")] {
        let id = bed.accept_one(bed.message_over(channel, &["x@y.example"])).await;
        bed.tick().await;
        let row = bed.notification(&id).await;
        assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some(reason)), "{channel}");
    }
}

async fn store(bed: &TestBed, row: &ChannelRow) {
    let mut tx = bed.begin().await;
    channels::put(&mut tx.conn(), bed.now(), row).await.unwrap();
    tx.commit().await.unwrap();
    bed.engine.channels.invalidate();
}

/// Channels as an earlier version has stored them.
async fn stored_before(bed: &TestBed, references: &[(&str, &str)]) {
    for (key, reference) in references {
        let row = ChannelRow {
            key: (*key).to_owned(),
            adapter: "smtp".to_owned(),
            settings: smtp(reference)["settings"].to_string(),
            retry: "{}".to_owned(),
            at_most_once: false,
            policy: "{}".to_owned(),
            version: 1,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        store(bed, &row).await;
    }
}

async fn t12_old_references_work_for_one_start(bed: TestBed) {
    let references = [
        ("email:file", "file:/run/secrets/smtp"),
        ("email:env", "env:SMTP_PASSWORD"),
        ("email:own", "file:/var/lib/punctual/admin.key"),
        ("email:new", "env:SMTP"),
    ];
    stored_before(&bed, &references).await;
    let works = async |node: &TestBed| {
        let client = Client::new(node).await;
        let mut works = Vec::new();
        for (key, _) in references {
            if tried(&client, key).await["outcome"] == "transient" {
                works.push(key);
            }
        }
        works
    };
    on_a_machine(&bed);
    let old = bed.engine.adopt_references(bed.now(), "a").await.unwrap();
    assert!(old.work_in_this_run);
    let mut reported: Vec<_> =
        old.found.iter().map(|one| (one.owner.as_str(), one.field.as_str(), one.stored.as_str())).collect();
    reported.sort_unstable();
    assert_eq!(
        reported,
        [
            ("channel email:env", "password", "env:SMTP_PASSWORD"),
            ("channel email:file", "password", "file:/run/secrets/smtp"),
            ("channel email:own", "password", "file:/var/lib/punctual/admin.key"),
        ]
    );
    assert_eq!(works(&bed).await, ["email:file", "email:env", "email:new"]);
    // The other node of the same upgrade has its start too.
    let other = bed.node("other").await;
    on_a_machine(&other);
    assert!(other.engine.adopt_references(bed.now(), "b").await.unwrap().work_in_this_run);
    assert_eq!(works(&other).await, ["email:file", "email:env", "email:new"]);
    // The next start of each, and the first one of a node that comes later.
    for (name, hours) in [("a", 0), ("b", 0), ("c", 2)] {
        bed.wait(hours * 3_600);
        let next = bed.node("next").await;
        on_a_machine(&next);
        let old = next.engine.adopt_references(bed.now(), name).await.unwrap();
        assert_eq!((old.work_in_this_run, old.found.len()), (false, 3), "{name}");
        assert_eq!(works(&next).await, ["email:new"], "{name}");
        let id = next.accept_one(next.message_over("email:file", &["x@y.example"])).await;
        next.tick().await;
        assert_eq!(next.notification(&id).await.reason_code.as_deref(), Some("secret-missing"));
    }
}

async fn t12_a_definition_that_is_saved_has_no_old_reference(bed: TestBed) {
    stored_before(&bed, &[("email:file", "file:/run/secrets/smtp"), ("email:env", "env:SMTP_PASSWORD")])
        .await;
    on_a_machine(&bed);
    bed.engine.adopt_references(bed.now(), "a").await.unwrap();
    let client = Client::new(&bed).await;
    assert_eq!(tried(&client, "email:env").await["outcome"], "transient");
    // Whoever saves it now could send the secret elsewhere.
    let elsewhere = |reference: &str| {
        let mut body = smtp(reference);
        body["settings"]["port"] = json!(2);
        body
    };
    client.put("/api/v1/channels/email:env", elsewhere("env:SMTP_PASSWORD")).await.expect(200);
    assert_eq!(tried(&client, "email:env").await["outcome"], "permanent");
    client.put("/api/v1/channels/email:new", elsewhere("env:SMTP_PASSWORD")).await.expect(200);
    assert_eq!(tried(&client, "email:new").await["outcome"], "permanent");
    let mut kept = smtp("");
    kept["settings"].as_object_mut().unwrap().remove("password");
    client.put("/api/v1/channels/email:file", kept).await.refused(422, "secret_reference");
    assert_eq!(tried(&client, "email:file").await["outcome"], "transient", "nothing was stored");
}

async fn t12_a_changed_destination_asks_for_the_secret_again(bed: TestBed) {
    on_a_machine(&bed);
    let client = Client::new(&bed).await;
    let path = "/api/v1/channels/email:a";
    for password in ["hunter2", "env:SMTP"] {
        client.put(path, smtp(password)).await.expect(200);
        let before = channels::get(&mut bed.read().await.conn(), "email:a").await.unwrap().unwrap().settings;
        let without = |field: &str, value: Value| {
            let mut body = smtp("");
            let settings = body["settings"].as_object_mut().unwrap();
            settings.remove("password");
            settings.insert(field.to_owned(), value);
            body
        };
        for (field, value) in [
            ("host", json!("evil.example")),
            ("port", json!(25)),
            ("port", Value::Null),
            ("tls", json!("starttls")),
        ] {
            let problem = client.put(path, without(field, value)).await.refused(422, "secret_required");
            assert_eq!(Reply::pointers(&problem), ["/settings/password"], "{field}");
            assert!(problem["detail"].as_str().unwrap().contains("given again"), "{problem}");
        }
        let after = channels::get(&mut bed.read().await.conn(), "email:a").await.unwrap().unwrap().settings;
        assert_eq!(before, after, "nothing was stored");
        client.put(path, without("from", json!("c@d.example"))).await.expect(200);
        let mut again = smtp(password);
        again["settings"]["port"] = json!(2);
        client.put(path, again).await.expect(200);
    }
    // Another adapter with a secret of the same name.
    let gateway = json!({ "adapter": "sms-gateway", "settings": { "url": "https://sms.example.org/", "username": "u" } });
    let problem = client.put(path, gateway).await.refused(422, "secret_required");
    assert_eq!(Reply::pointers(&problem), ["/settings/password"]);
    let hook = |url: &str, secret: Value| json!({ "adapter": "webhook", "events": ["response-completed"], "settings": { "url": url, "secret": secret } });
    let path = "/api/v1/subscribers/webhook:bi";
    let signing = json!("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    client.put(path, hook("https://bi.example.org/in", signing.clone())).await.expect(200);
    let mut moved = hook("https://evil.example.org/in", Value::Null);
    moved["settings"].as_object_mut().unwrap().remove("secret");
    let problem = client.put(path, moved).await.refused(422, "secret_required");
    assert_eq!(Reply::pointers(&problem), ["/settings/secret"]);
    assert_eq!(client.get(path).await.expect(200)["settings"]["url"], "https://bi.example.org/in");
    client.put(path, hook("https://bi.example.org/other", signing)).await.expect(200);
}

fn with_everything(bed: TestBedBuilder) -> TestBedBuilder {
    with_brokers(with_providers(bed))
}

/// What has secrets, one for each adapter: where it is put, and its body with all secrets that it wants.
fn with_secrets(kind: DefinitionKind) -> Vec<(String, Value)> {
    let broker = |url: &str, more: Value| {
        let mut settings = json!({ "url": url, "username": "u", "password": "canary-hidden" });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    };
    let nats = broker("tls://nats.example.com", json!({ "subject": "a" }));
    let orders = json!({ "stream": "ORDERS", "deadLetterSubject": "orders.refused" });
    let body = |adapter: &str, settings: Value| json!({ "adapter": adapter, "settings": settings });
    match kind {
        DefinitionKind::Channel => {
            let providers = every_provider().into_iter().map(|(key, body, ..)| (key, body));
            let hook = json!({ "url": "https://bi.example.org/in", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
            let brokers = [("nats:a", body("nats", nats)), ("webhook:a", body("webhook", hook))];
            providers.chain(brokers).map(|(key, body)| (format!("/api/v1/channels/{key}"), body)).collect()
        }
        DefinitionKind::Subscriber => {
            let mut body = body("nats", nats);
            body["events"] = json!(["response-completed"]);
            vec![("/api/v1/subscribers/nats:bi".to_owned(), body)]
        }
        DefinitionKind::Consumer => {
            let settings = broker("tls://nats.example.com", orders);
            vec![("/api/v1/consumers/nats:orders".to_owned(), body("nats", settings))]
        }
        // They have no secrets. The single sign-on is no definition; it has the same rule, tested on its page.
        DefinitionKind::BusinessUnit
        | DefinitionKind::Template
        | DefinitionKind::List
        | DefinitionKind::DeliveryPolicy
        | DefinitionKind::Organisation
        | DefinitionKind::Person
        | DefinitionKind::ReminderSetting
        | DefinitionKind::Survey
        | DefinitionKind::ReportSubscription
        | DefinitionKind::Site => Vec::new(),
    }
}

/// The settings of an adapter, and which of them say where its secrets are sent.
fn described(kind: DefinitionKind, name: &str) -> (&'static [Setting], &'static [&'static str]) {
    let (guard, trust) = (Guard::new(AllowList::default()), Trust::platform());
    if kind == DefinitionKind::Consumer {
        let all = consumer_adapters(&guard, &trust);
        let one = all.iter().find(|one| one.name() == name).unwrap();
        return (one.about().settings, one.destination_fields());
    }
    let all = adapters(&guard, &trust, &Captured::new());
    let one = all.iter().find(|one| one.name() == name).unwrap();
    (one.about().settings, one.destination_fields())
}

async fn t12_every_destination_of_every_kind_asks_for_its_secret_again(bed: TestBed) {
    on_a_machine(&bed);
    let client = Client::new(&bed).await;
    let mut tried = 0;
    for kind in DefinitionKind::ALL {
        for (path, body) in with_secrets(*kind) {
            client.put(&path, body.clone()).await.expect(200);
            let before = client.get(&path).await.expect(200);
            let (settings, destinations) = described(*kind, body["adapter"].as_str().unwrap());
            let secrets: Vec<&str> = settings
                .iter()
                .filter(|one| one.is_secret && !body["settings"][one.name].is_null())
                .map(|one| one.name)
                .collect();
            assert!(!secrets.is_empty(), "{path}");
            for setting in settings.iter().filter(|one| destinations.contains(&one.name)) {
                // An address that is a secret itself is the destination: whoever gives another gives the secret.
                let asked: Vec<&str> = secrets.iter().copied().filter(|one| *one != setting.name).collect();
                if asked.is_empty() {
                    continue;
                }
                let mut moved = body.clone();
                let fields = moved["settings"].as_object_mut().unwrap();
                asked.iter().for_each(|secret| drop(fields.remove(*secret)));
                fields.insert(setting.name.to_owned(), elsewhere(setting));
                let problem = client.put(&path, moved).await.refused(422, "secret_required");
                let expected: Vec<String> = asked.iter().map(|one| format!("/settings/{one}")).collect();
                assert_eq!(Reply::pointers(&problem), expected, "{path} {}", setting.name);
                tried += 1;
            }
            assert_eq!(client.get(&path).await.expect(200), before, "{path}: nothing was stored");
        }
    }
    assert!(tried > 12, "{tried}");
}

/// Another value than any that is stored here.
fn elsewhere(setting: &Setting) -> Value {
    match setting.kind {
        SettingKind::Number { most, .. } => json!(most),
        SettingKind::Choice(words) => json!(words[0].0),
        _ => json!("https://elsewhere.example.org/"),
    }
}
