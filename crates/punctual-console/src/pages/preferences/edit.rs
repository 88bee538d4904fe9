//! The preferences of one person, as an operator sets them.

use punctual_engine::{CommandError, commands::Seen};
use punctual_model::delivery_policy::Preference;
use punctual_wire::{delivery_policy::PreferenceRequest, limits::MAIL_ADDRESS_MAX, names::name_fault};
use serde_json::{Map, Value, json};

use crate::{
    App,
    answer::Refusal,
    editor::{Done, Field, Form, Kind, Listing, Part, Refused, Resource, Rows, Stored, take_text},
    form::Fields,
    frame::Visit,
};

pub struct Preferences;

impl Resource for Preferences {
    const HOME: &'static str = "/preferences";
    const ONE: &'static str = "preference";
    const MANY: &'static str = "Preferences";
    const NAV: &'static str = "/preferences";
    const KEY: &'static str = "/person";
    const REMOVING: (&'static str, &'static str) = ("Remove", "The delivery policy alone applies then.");

    fn to_form(request: &Value) -> Value {
        to_form(request)
    }

    fn of_form(draft: Value) -> Value {
        of_form(draft)
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, _: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let row = app.engine.preference_of(key).await?;
        Ok(row.map(|row| {
            let mut draft = json!(Preference::read(&row.definition));
            draft["person"] = row.person.as_str().into();
            Stored {
                draft,
                version: row.version,
                secrets: Vec::new(),
                sentence: "People can also change this on their own page.".to_owned(),
                key: row.person,
            }
        }))
    }

    async fn form(app: &App, _: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let policy = app.engine.delivery_policy().await?;
        let topics: Vec<(String, String)> = policy["topics"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|topic| {
                let text = |name: &str| topic[name].as_str().unwrap_or_default().to_owned();
                (text("name"), text("title"))
            })
            .collect();
        let person = match stored {
            Some(_) => Field::new("/person", "Person or address", Kind::Fixed),
            None => Field::text("/person", "Person or address")
                .required()
                .person()
                .hint("An id of a person, or an address such as ann@example.org."),
        };
        let wanted = Kind::choice(&[("yes", "wanted"), ("no", "not wanted")]);
        let rows = Rows::new("/topics", "", "topic").unordered().each(draft, |index, at, topic| {
            let title = match topic["name"].as_str().unwrap_or_default() {
                "" => format!("Topic {}", index + 1),
                name => name.to_owned(),
            };
            let part = Part::new(
                "",
                vec![
                    Field::text(format!("{at}/name"), "Topic").required().offering(topics.clone()),
                    Field::new(format!("{at}/subscribed"), "Messages", wanted.clone()),
                    Field::new(format!("{at}/channels"), "Channels", Kind::Words).placeholder("any channel"),
                ],
            );
            (title, Part { columns: 3, ..part })
        });
        Ok(Form::of(vec![
            Part::new(
                "Who",
                vec![
                    person,
                    Field::text("/timeZone", "Time zone").placeholder("Europe/Berlin"),
                    Field::text("/locale", "Language").placeholder("en"),
                    Field::new("/addresses", "Addresses", Kind::Pairs)
                        .hint("Channel type = address, one a line, such as sms = +49301234567."),
                ],
            ),
            Part::new(
                "Time and channels",
                vec![
                    Field::new("/quietHours/from", "Quiet from", Kind::Time),
                    Field::new("/quietHours/to", "Quiet until", Kind::Time),
                    Field::new("/channels", "Channels", Kind::Words)
                        .placeholder("any channel")
                        .hint("Channels or channel types between commas, such as email, sms. All if empty."),
                    Field::new("/failover", "Fallback order", Kind::Words)
                        .hint("The next channel is used if one fails, such as sms:default, email:default."),
                    Field::new("/dailyCap", "Messages a day", Kind::Number)
                        .placeholder("as everybody")
                        .hint("The rest comes as a digest."),
                ],
            ),
            Part::new("Topics", Vec::new())
                .about("Topics that are not listed are subscribed.")
                .with_rows(rows),
        ]))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let person = take_text(&mut draft, "person");
        let read = PreferenceRequest::read(&draft, "");
        let mut faults = read.as_ref().err().cloned().unwrap_or_default();
        faults.extend(name_fault(&person, MAIL_ADDRESS_MAX, &|| "/person".to_owned()));
        let (true, Ok(request)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let wanted: Preference = serde_json::to_value(&request)
            .and_then(serde_json::from_value)
            .map_err(|error| Refused::Other(Refusal::internal(&error)))?;
        let row = app.engine.replace_preference(&visit.viewer.by, seen, &person, &wanted).await?;
        Ok(Done::Saved { key: row.person, note: "saved" })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        match app.engine.forget_preference(&visit.viewer.by, key).await? {
            true => Ok(()),
            false => Err(CommandError::not_found("preference", key)),
        }
    }
}

/// The request as its form has it: topics as rows.
fn to_form(request: &Value) -> Value {
    let mut draft = request.clone();
    let Some(topics) = request["topics"].as_object() else { return draft };
    let rows = topics.iter().map(|(name, topic)| {
        let mut row = topic.clone();
        row["name"] = name.as_str().into();
        row["subscribed"] = if topic["subscribed"] == false { "no" } else { "yes" }.into();
        row
    });
    draft["topics"] = rows.collect();
    draft
}

/// The same the other way round.
fn of_form(mut draft: Value) -> Value {
    let Some(rows) = draft["topics"].as_array() else { return draft };
    let mut topics = Map::new();
    for row in rows {
        let mut topic = row.clone();
        let name = take_text(&mut topic, "name");
        topic["subscribed"] = (row["subscribed"] != "no").into();
        topics.insert(name, topic);
    }
    draft["topics"] = Value::Object(topics);
    draft
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_rows_and_come_back() {
        let request = json!({ "timeZone": "Europe/Berlin", "topics": { "offers": { "subscribed": false }, "news": { "subscribed": true, "channels": ["email"] } } });
        assert_eq!(of_form(to_form(&request)), request);
        assert_eq!(to_form(&request)["topics"][1]["subscribed"], "no");
        assert_eq!(of_form(json!({})), json!({}));
    }
}
