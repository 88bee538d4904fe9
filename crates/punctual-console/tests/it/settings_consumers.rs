//! Consumers in the console: made with the form of their adapter, changed, and removed.

use punctual_channels::{Guard, NatsAdapter, Trust, consumer_adapters, described_consumers};
use punctual_store::consumers::{self, ConsumerRow};
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    settings::{refused_at, with},
};

on_both! {
    a_consumer_is_made_with_the_form_of_its_adapter with with_brokers;
    what_is_wrong_with_a_consumer_stands_at_its_field with with_brokers;
    a_secret_of_a_consumer_goes_in_and_never_comes_out with with_brokers;
}

fn with_brokers(bed: TestBedBuilder) -> TestBedBuilder {
    let (guard, trust) = (Guard::new("127.0.0.0/8".parse().unwrap()), Trust::platform());
    bed.consumers(consumer_adapters(&guard, &trust)).adapter(NatsAdapter::new(guard, trust))
}

const NATS: [(&str, &str); 7] = [
    ("version", ""),
    ("/key", "nats:orders"),
    ("/adapter", "nats"),
    ("/active", "yes"),
    ("/settings/url", "tls://nats.example.com"),
    ("/settings/stream", "ORDERS"),
    ("/settings/deadLetterSubject", "orders.refused"),
];

async fn stored(bed: &TestBed) -> Option<ConsumerRow> {
    consumers::get(&mut bed.read().await.conn(), "nats:orders").await.unwrap()
}

fn settings(row: &ConsumerRow) -> Value {
    serde_json::from_str(&row.settings).unwrap()
}

async fn a_consumer_is_made_with_the_form_of_its_adapter(bed: TestBed) {
    let client = Client::admin(&bed).await;
    bed.has_unit("nz").await;
    assert!(client.page("/settings").await.contains("href=\"/consumers\""));
    assert!(client.page("/consumers").await.contains("href=\"/consumers/add\""));
    let choice = client.page("/consumers/add").await;
    for (name, about) in described_consumers() {
        assert!(choice.contains(about.purpose), "{name}: {choice}");
        let form = client.page(&format!("/consumers/new?adapter={name}&key={name}:a")).await;
        for setting in about.settings {
            assert!(
                form.contains(&format!("name=\"/settings/{}\"", setting.name)),
                "{name}/{}",
                setting.name
            );
        }
    }
    let more = with(&NATS, &[("/businessUnit", "nz"), ("/settings/batch", "20")]);
    client.act("/consumers/save", &more).await.leads_to("/consumers/edit?key=nats:orders&done=saved");
    let row = stored(&bed).await.unwrap();
    assert_eq!((row.adapter.as_str(), row.business_unit.as_deref(), row.active), ("nats", Some("nz"), true));
    let expected = json!({"url": "tls://nats.example.com", "stream": "ORDERS", "deadLetterSubject": "orders.refused",
        "batch": 20});
    assert_eq!(settings(&row), expected);
    // Changed by its form, and not over what somebody else saved meanwhile.
    let form = client.page("/consumers/edit?key=nats:orders").await;
    assert!(form.contains("value=\"ORDERS\"") && form.contains("It is active."), "{form}");
    let off: Vec<(&str, &str)> = with(&NATS, &[("version", "1"), ("known", "nats:orders")]);
    let off: Vec<(&str, &str)> = off.into_iter().filter(|(name, _)| *name != "/active").collect();
    client.act("/consumers/save", &off).await.leads_to("/consumers/edit?key=nats:orders&done=saved");
    assert!(!stored(&bed).await.unwrap().active);
    assert_eq!(client.act("/consumers/save", &off).await.status, 409, "it is version 2 by now");
    // Something new never replaces what is there.
    assert_eq!(client.act("/consumers/save", &NATS).await.status, 409);
    client.act("/consumers/delete", &[("key", "nats:orders")]).await.leads_to("/consumers?done=removed");
    assert!(stored(&bed).await.is_none());
    assert!(client.page("/consumers?done=removed").await.contains("The consumer is removed."));
    assert_eq!(bed.audit("consumer", "nats:orders").await, ["put", "put", "delete"]);
}

async fn what_is_wrong_with_a_consumer_stands_at_its_field(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let refused = async |other: &[(&str, &str)], id: &str| {
        refused_at(&client.act("/consumers/save", &with(&NATS, other)).await, id);
    };
    refused(&[("/key", "orders")], "f-key").await;
    refused(&[("/settings/stream", "")], "f-settings-stream").await;
    refused(&[("/settings/url", "tls://10.0.0.1")], "f-settings-url").await;
    refused(&[("/settings/batch", "0")], "f-settings-batch").await;
    refused(&[("/businessUnit", "nowhere")], "f-businessUnit").await;
    assert!(stored(&bed).await.is_none());
}

async fn a_secret_of_a_consumer_goes_in_and_never_comes_out(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let more = with(&NATS, &[("/settings/username", "punctual"), ("/settings/password", "broker-secret")]);
    client.act("/consumers/save", &more).await.leads_to("/consumers/edit?key=nats:orders&done=saved");
    let form = client.page("/consumers/edit?key=nats:orders").await;
    assert!(
        !form.contains("broker-secret") && !stored(&bed).await.unwrap().settings.contains("broker-secret")
    );
    let again =
        with(&NATS, &[("version", "1"), ("known", "nats:orders"), ("/settings/username", "punctual")]);
    client.act("/consumers/save", &again).await.leads_to("/consumers/edit?key=nats:orders&done=saved");
    assert!(settings(&stored(&bed).await.unwrap()).get("password").is_some(), "what is left empty stays");
}
