//! The delivery policy in the demo: a limit, a person with quiet hours and an order of channels, one who wants no offers, and a
//! message to each of them.

use anyhow::Result;
use jiff::Timestamp;
use punctual_engine::{Actor, Engine, Handed};
use punctual_model::{
    Audience, NewNotification, NotificationId, Priority, delivery_policy::Preference, ids::derive_uuid,
};
use punctual_store::{Lane, delivery_policy::SETTINGS, facts};
use serde_json::json;

pub async fn load(engine: &Engine, now: Timestamp) -> Result<()> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let settings = json!({ "topics": [{ "name": "offers", "title": "Offers and news" },
        { "name": "outages", "title": "Outages" }], "organisation": "Harbour Cold Stores", "colour": "#1d5f8a" });
    facts::put(&mut tx.conn(), now, SETTINGS, &settings.to_string()).await?;
    tx.commit().await?;
    for (person, wants) in [
        (
            "kiri",
            json!({ "timeZone": "Pacific/Auckland", "addresses": { "email": "kiri@example.org", "sms": "+64215550123" },
                "quietHours": { "from": "21:00", "to": "07:00" }, "failover": ["sms:default", "email:default"] }),
        ),
        (
            "jonas@example.org",
            json!({ "timeZone": "Europe/Berlin", "topics": { "offers": { "subscribed": false } } }),
        ),
    ] {
        let wants: Preference = serde_json::from_value(wants)?;
        engine.change_preference(&Actor::named("demo"), person, |kept| *kept = wants).await?;
    }
    let message = |name: &str, target: &str, subject: &str, priority: Priority| {
        // The stored name is an older one: the ids stay the same.
        let id = NotificationId(derive_uuid(&["demo", "manners", name]));
        let audience = Audience::Targets(vec![target.to_owned()]);
        let mut new =
            NewNotification::new(id, audience, subject, "See the message's own page for its timeline.");
        new.channel = "email:default".parse().ok();
        new.priority = priority.number();
        new.topic = Some("offers".to_owned());
        new
    };
    let new = vec![
        message("kiri", "kiri@example.org", "Winter offers", Priority::Campaign),
        message("jonas", "jonas@example.org", "Winter offers", Priority::Campaign),
    ];
    engine.accept(new.into_iter().map(Handed::stored).collect()).await?;
    Ok(())
}
