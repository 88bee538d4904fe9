//! The delivery policy: caps, digests and topics for everybody.

use axum::{Router, extract::State, routing::get};
use punctual_engine::{CommandError, EngineError, commands::Seen, keys::digest};
use punctual_wire::delivery_policy::DeliveryPolicy;
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Page, Refusal},
    editor::{Done, Field, Form, Kind, Listing, Part, Refused, Resource, Stored, shown},
    form::Fields,
    frame::Visit,
};

/// There is one.
const KEY: &str = "Delivery policy";

pub struct Policy;

pub fn page() -> Router<Shared> {
    Router::new().route("/settings/policy", get(show))
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    shown::<Policy>(&app, &visit, KEY, None).await
}

impl Resource for Policy {
    const HOME: &'static str = "/settings/policy";
    const ABOVE: &'static str = "/settings";
    const ONE: &'static str = "delivery policy";
    const MANY: &'static str = "Settings";
    const KEY: &'static str = "";

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_admin()
    }

    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, _: &Visit, _: &str) -> Result<Option<Stored>, Refusal> {
        let draft = app.engine.delivery_policy().await?;
        Ok(Some(Stored {
            version: number(&draft),
            draft,
            key: KEY.to_owned(),
            secrets: Vec::new(),
            sentence: "Applies to everybody; people can restrict more on their own page.".to_owned(),
        }))
    }

    async fn form(_: &App, _: &Visit, _: &Value, _: Option<&Stored>) -> Result<Form, Refusal> {
        Ok(Form::of(vec![
            Part::new(
            "Delivery policy",
            vec![
                Field::new("/dailyCap", "Messages a day", Kind::Number)
                    .hint("To one person on one local day, over all channels; alarms are not counted. No limit if empty."),
                Field::new("/digestAt", "Digest time", Kind::Time)
                    .hint("The local time of the digest of the day before; 08:00 if empty."),
                Field::new("/topics", "Topics", Kind::Titles)
                    .hint("The topics that people can choose from: name = title, one a line, such as offers = Offers and news."),
            ],
        ),
            Part::new(
                "Preference page",
                vec![
                    Field::new("/organisation", "Organisation", Kind::Text)
                        .hint("The organisation's name, at the top of the page."),
                    Field::new("/colour", "Colour", Kind::Text)
                        .hint("The accent colour of the page, such as #1a6f5c."),
                ],
            ),
        ]))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, draft: Value) -> Result<Done, Refused> {
        let policy = DeliveryPolicy::read(&draft, "")?;
        let policy =
            serde_json::to_value(policy).map_err(|error| Refused::Other(Refusal::internal(&error)))?;
        let stored = app.engine.delivery_policy().await?;
        // What was seen is known by its number; the command compares it with what is stored when it writes.
        if seen != Seen::Version(number(&stored)) {
            return Err(Refused::Stale);
        }
        app.engine.replace_delivery_policy(&visit.viewer.by, Some(&stored), &policy).await?;
        Ok(Done::Saved { key: KEY.to_owned(), note: "saved" })
    }

    async fn remove(_: &App, _: &Visit, _: &str) -> Result<(), CommandError> {
        Err(CommandError::Engine(EngineError::NotFound))
    }
}

/// A number that is another for another policy.
fn number(policy: &Value) -> i64 {
    let digest = digest(policy.to_string().as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(bytes)
}
