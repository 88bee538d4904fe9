//! Channels of the demo beside mail: as they would be set up, with their secrets elsewhere. Nothing leaves in a sandbox.

use anyhow::Result;
use jiff::Timestamp;
use punctual_engine::{Actor, Engine, Handed};
use punctual_model::{Audience, NewNotification, NotificationId, ReceiptState, ids::derive_uuid};
use punctual_store::{
    Lane,
    channels::{self, ChannelRow},
    lists::{self, ListRow},
    receipts::{self, Expected, News},
    suppressions::SuppressionRow,
};
use serde_json::json;

pub async fn load(engine: &Engine, now: Timestamp) -> Result<()> {
    let sid = "AC0123456789abcdef0123456789abcdef";
    let mut tx = engine.store.begin(Lane::Intake).await?;
    for (key, adapter, settings) in [
        (
            "sms:default",
            "twilio",
            json!({"accountSid": sid, "authToken": "env:TWILIO_TOKEN", "from": "+14155552671",
                   "callbackUrl": "https://punctual.example.org/api/v1/callbacks/sms:default"}),
        ),
        ("inbox:default", "inbox", json!({})),
        ("slack:default", "slack", json!({"url": "env:SLACK_OPS"})),
    ] {
        let (settings, retry) = (settings.to_string(), "{}".to_owned());
        let (key, adapter) = (key.to_owned(), adapter.to_owned());
        let row = ChannelRow {
            key,
            adapter,
            settings,
            retry,
            at_most_once: false,
            policy: "{}".to_owned(),
            version: 1,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        channels::put(&mut tx.conn(), now, &row).await?;
    }
    for (name, kind, target) in [("on-call", "sms", "+64215550199"), ("ops-room", "slack", "ops")] {
        let list = ListRow {
            name: name.into(),
            kind: kind.into(),
            channel: format!("{kind}:default"),
            targets: json!([target]).to_string(),
            business_unit: None,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        lists::put(&mut tx.conn(), now, &punctual_model::Reach::Everything, &list).await?;
    }
    tx.commit().await?;
    let reported = ["on-call", "ops-room"].map(|list| {
        let id = NotificationId(derive_uuid(&["demo", list, "generator"]));
        let (subject, body) = ("Generator 2 has started", "The mains failed at 03:12. Fuel for 9 hours.");
        NewNotification::new(id, Audience::List(list.into()), subject, body)
    });
    engine.accept(reported.into_iter().map(Handed::stored).collect()).await?;
    people(engine, now).await
}

/// Who gets nothing, a message that leaves one of them out, and messages to whoever uses the console.
async fn people(engine: &Engine, now: Timestamp) -> Result<()> {
    for (kind, address, reason, detail) in [
        ("email", "old-desk@example.org", "hardBounce", "550 5.1.1 no such user here"),
        ("email", "m.keller@example.org", "unsubscribed", "used the link in a mail"),
        ("sms", "+64215550142", "manual", "asked on the phone"),
    ] {
        let row = SuppressionRow {
            channel_type: kind.into(),
            address: address.into(),
            reason: reason.into(),
            source: "key:demo".into(),
            detail: Some(detail.into()),
            since: now,
            expires_at: None,
        };
        engine.suppress(&Actor::named("key:demo"), &row).await?;
    }
    let message = |name: &str, channel: &str, targets: &[&str], subject: &str, body: &str| {
        let id = NotificationId(derive_uuid(&["demo", "people", name]));
        let targets = targets.iter().map(|target| (*target).to_owned()).collect();
        let mut new = NewNotification::new(id, Audience::Targets(targets), subject, body);
        new.channel = channel.parse().ok();
        new
    };
    let desk = ["front-desk@example.org", "old-desk@example.org"];
    let rota = message("rota", "email:default", &desk, "Rota for next week", "Please look at Thursday.");
    let id = rota.id.to_string();
    let me = ["first admin", "operator"];
    let hello = message("hello", "inbox:default", &me, "Welcome to Punctual", "Messages to you come here.");
    let pump =
        message("pump", "inbox:default", &me, "Pump 7 was serviced", "The next service is in 90 days.");
    engine.accept([rota, hello, pump].map(Handed::stored).into()).await?;
    confirmed(engine, now, &id, desk[0]).await
}

/// As if the provider had reported later that the mail arrived: in a sandbox nobody calls back.
async fn confirmed(engine: &Engine, now: Timestamp, id: &str, target: &str) -> Result<()> {
    let seq = engine.notification_row(&punctual_model::Reach::Everything, id).await?.seq;
    let provider_id = "demo-rota".to_owned();
    let expected = Expected {
        provider_id: provider_id.clone(),
        channel: "email:default".to_owned(),
        seq,
        target: target.to_owned(),
        attempt: 1,
    };
    let news = News {
        provider_id,
        rank: ReceiptState::Delivered.rank(),
        confirmed_at: Some(now),
        failed_at: None,
        code: None,
        detail: None,
        suppress: None,
    };
    let mut tx = engine.store.begin(Lane::Intake).await?;
    receipts::expect(&mut tx.conn(), "sendgrid", &[expected]).await?;
    receipts::report(&mut tx.conn(), now, "sendgrid", &[news]).await?;
    Ok(tx.commit().await?)
}
