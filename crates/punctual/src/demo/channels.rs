//! Channels of the demo beside mail: as they would be set up, with their secrets elsewhere. Nothing leaves in a sandbox.

use anyhow::Result;
use jiff::Timestamp;
use punctual_engine::Engine;
use punctual_model::{Audience, NewNotification, NotificationId, ids::derive_uuid};
use punctual_store::{
    Lane,
    channels::{self, ChannelRow},
    lists::{self, ListRow},
};
use serde_json::json;

pub async fn load(engine: &Engine, now: Timestamp) -> Result<()> {
    let sid = "AC0123456789abcdef0123456789abcdef";
    let mut tx = engine.store.begin(Lane::Intake).await?;
    for (key, adapter, settings) in [
        (
            "sms:default",
            "twilio",
            json!({"accountSid": sid, "authToken": "env:TWILIO_TOKEN", "from": "+14155552671"}),
        ),
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
            manners: "{}".to_owned(),
            version: 1,
            updated_at: 0,
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
            updated_at: 0,
        };
        lists::put(&mut tx.conn(), now, &list).await?;
    }
    tx.commit().await?;
    let told = ["on-call", "ops-room"].map(|list| {
        let id = NotificationId(derive_uuid(&["demo", list, "generator"]));
        let (subject, body) = ("Generator 2 has started", "The mains failed at 03:12. Fuel for 9 hours.");
        NewNotification::new(id, Audience::List(list.into()), subject, body)
    });
    engine.accept(told.into()).await?;
    Ok(())
}
