//! Lists: named sets of targets.

use punctual_engine::{
    CommandError,
    commands::{NewList, Seen},
};
use punctual_store::{channels, lists};
use punctual_wire::{limits::NAME_MAX, lists::ListRequest, names::name_fault};
use serde_json::{Map, Value, json};

use super::{SHOWN, cut, offered_units, uses};
use crate::{
    App,
    answer::Refusal,
    editor::{Done, Field, Form, Kind, Listed, Listing, Part, Refused, Resource, Stored, take_text},
    form::Fields,
    frame::Visit,
    links,
    words::counted,
};

/// The types that lists usually have.
const TYPES: [&str; 9] = ["email", "sms", "whatsapp", "teams", "slack", "webhook", "inbox", "nats", "memory"];

pub struct Lists;

impl Resource for Lists {
    const HOME: &'static str = "/settings/lists";
    const ONE: &'static str = "list";
    const MANY: &'static str = "Lists";
    const KEY: &'static str = "/name";
    const REMOVING: (&'static str, &'static str) =
        ("Remove", "Its messages are parked until there is a list with this name again.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn fresh(_: &App, _: &Visit, draft: &mut Map<String, Value>) {
        draft.insert("type".to_owned(), "email".into());
    }

    async fn list(app: &App, visit: &Visit, fields: &Fields) -> Result<Listing, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let reach = visit.viewer.by.reach();
        let rows = lists::page(&mut reader.conn(), &reach, fields.text("after"), SHOWN + 1).await?;
        let (rows, next) = cut(rows, |row| row.name.clone());
        let rows: Vec<Listed> = rows
            .into_iter()
            .map(|row| {
                let targets: Vec<String> = serde_json::from_str(&row.targets).unwrap_or_default();
                let count = i64::try_from(targets.len()).unwrap_or(i64::MAX);
                Listed {
                    note: String::new(),
                    pill: None,
                    cells: vec![
                        counted(count, "address", "addresses"),
                        row.channel,
                        row.business_unit.unwrap_or_default(),
                    ],
                    title: row.name.clone(),
                    key: row.name,
                    removable: true,
                }
            })
            .collect();
        Ok(Listing {
            sentence: "A message to a list goes to the addresses on it at the time of sending.".to_owned(),
            columns: &["List", "Members", "Channel", "Business unit"],
            rows,
            empty: "A list names the people that messages go to. Events, reminders and reports refer to it by its name.",
            next,
        })
    }

    async fn stored(app: &App, visit: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let row = lists::get(&mut reader.conn(), &visit.viewer.by.reach(), key).await?;
        Ok(row.map(|row| {
            let targets: Value = serde_json::from_str(&row.targets).unwrap_or_default();
            Stored {
                draft: json!({"name": row.name, "type": row.kind, "channel": row.channel, "targets": &targets,
                    "businessUnit": row.business_unit}),
                version: row.updated_at.as_microsecond(),
                secrets: Vec::new(),
                sentence: match targets.as_array().map_or(0, Vec::len) {
                    0 => "It has no members, so its messages reach nobody.".to_owned(),
                    n => format!(
                        "{} over {}.",
                        counted(i64::try_from(n).unwrap_or(i64::MAX), "address", "addresses"),
                        row.channel
                    ),
                },
                key: row.name,
            }
        }))
    }

    async fn form(app: &App, visit: &Visit, _: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let channels = channels::all(&mut reader.conn()).await?;
        drop(reader);
        let channels = channels.into_iter().map(|row| (row.key, row.adapter)).collect();
        let types = TYPES.iter().map(|word| ((*word).to_owned(), String::new())).collect();
        let name = match stored {
            Some(_) => Field::new("/name", "Name", Kind::Fixed),
            None => Field::text("/name", "Name").required().hint("Messages refer to it, such as ops."),
        };
        Ok(Form::of(vec![Part::new(
            "List",
            vec![
                name,
                Field::text("/type", "Type").required().offering(types).hint("The kind of its addresses."),
                Field::text("/channel", "Channel")
                    .offering(channels)
                    .hint("The default channel of the type if empty."),
                Field::text("/businessUnit", "Business unit")
                    .offering(offered_units(app, visit).await?)
                    .hint("Shared by all units if empty."),
                Field::new("/targets", "Members", Kind::List).hint("One address a line, at most 10,000."),
            ],
        )]))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let name = take_text(&mut draft, "name");
        let read = ListRequest::read(&draft, "");
        let mut faults = read.as_ref().err().cloned().unwrap_or_default();
        faults.extend(name_fault(&name, NAME_MAX, &|| "/name".to_owned()));
        let (true, Ok(request)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let ListRequest { kind, channel, targets, business_unit } = request;
        let new = NewList { name, kind, channel, targets, business_unit };
        let saved = app.engine.replace_list(&visit.viewer.by, seen, new).await?;
        let note = if saved.channel_is_known { "saved" } else { "channel-unknown" };
        Ok(Done::Saved { key: saved.row.name, note })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        app.engine.delete_list(&visit.viewer.by, key).await
    }

    async fn below(
        app: &App,
        visit: &Visit,
        stored: Option<&Stored>,
        _: &Value,
        _: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let Some(stored) = stored else { return Ok(String::new()) };
        let query = links::query([("list", stored.key.as_str())]);
        let mut acts = vec![(format!("/outbox{query}"), "Show its messages")];
        if visit.viewer.may_author() {
            acts.push((format!("/outbox/new{query}"), "Write a message to it"));
        }
        uses::part(app, visit, "list", &stored.key, acts).await
    }
}
