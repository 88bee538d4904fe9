//! The form of one source: its fields with their values, for those who have no program that reports it yet.

use std::collections::BTreeSet;

use punctual_engine::{CommandError, commands::Seen};
use punctual_store::sources;
use punctual_wire::{Code, FieldError, sources::NamedSourceRequest};
use punctual_workflows::sources as commands;
use serde_json::{Map, Value, json};

use super::{link, sinks};
use crate::{
    App,
    answer::Refusal,
    editor::{Done, Field, Form, Kind, Listing, Part, Refused, Resource, Rows, Stored, take_text},
    form::Fields,
    frame::Visit,
    pages::settings::offered_units,
};

/// How the value of a field is written.
const KINDS: [(&str, &str); 4] =
    [("text", "text"), ("date", "date"), ("number", "number"), ("flag", "yes or no")];
/// What a source has that nothing is known of: a date, and whom to tell.
const USUAL: [(&str, &str); 2] = [("expiresOn", "date"), ("email", "text")];

pub struct Sources;

/// The key of a form: type and id. A type with a slash has no form.
pub fn key_of(kind: &str, id: &str) -> String {
    format!("{kind}/{id}")
}

impl Resource for Sources {
    const HOME: &'static str = "/sources";
    const ONE: &'static str = "source";
    const MANY: &'static str = "Sources";
    const NAV: &'static str = "/sources";
    const KEY: &'static str = "/key";
    const REMOVING: (&'static str, &'static str) = ("Remove", "Its planned messages are withdrawn.");

    fn after(key: &str, _: &str, _: &str) -> String {
        let (kind, id) = key.split_once('/').unwrap_or((key, ""));
        format!("{}?done=saved", link(kind, id))
    }

    fn back(stored: Option<&Stored>) -> String {
        let key = stored.and_then(|stored| stored.key.split_once('/'));
        key.map_or_else(|| Self::HOME.to_owned(), |(kind, id)| link(kind, id))
    }

    fn name(stored: &Stored) -> String {
        stored.key.replacen('/', " ", 1)
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    /// The state as rows of fields; what is no single value stays where it is, and is edited as JSON.
    fn to_form(request: &Value) -> Value {
        let mut draft = request.clone();
        let Some(state) = draft.get("state").and_then(Value::as_object) else { return draft };
        let rows: Vec<Value> = state.iter().filter_map(|(name, value)| row(name, value)).collect();
        let rest = state.iter().filter(|(name, value)| row(name, value).is_none());
        let rest: Map<String, Value> = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        draft["fields"] = rows.into();
        draft["state"] = rest.into();
        draft
    }

    fn of_form(mut draft: Value) -> Value {
        let Some(fields) = draft.as_object_mut() else { return draft };
        if let Some(Value::Array(rows)) = fields.remove("fields") {
            let mut state = state_of(&rows);
            if let (Some(Value::Object(rest)), Some(state)) = (fields.remove("state"), state.as_object_mut())
            {
                state.extend(rest);
            }
            fields.insert("state".to_owned(), state);
            // Rows that make no state are refused when they are saved.
            if !faults_of(&rows).is_empty() {
                fields.insert("fields".to_owned(), rows.into());
            }
        }
        draft
    }

    fn place(pointer: &str) -> String {
        if pointer.starts_with("/state") { "/fields".to_owned() } else { pointer.to_owned() }
    }

    /// One of a type that is known has the fields of another one of it.
    async fn fresh(app: &App, visit: &Visit, draft: &mut Map<String, Value>) {
        let kind = draft.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = match kind.as_str() {
            "" => None,
            kind => like(app, visit, kind).await,
        };
        let fields: Vec<Value> = match known {
            Some(rows) => rows,
            None => USUAL.iter().map(|(name, kind)| json!({ "name": name, "as": kind })).collect(),
        };
        draft.insert("fields".to_owned(), fields.into());
        draft.insert("active".to_owned(), true.into());
    }

    /// The list is a page of its own.
    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, visit: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let Some((kind, id)) = key.split_once('/') else { return Ok(None) };
        let mut reader = app.engine.store.read_for_people().await?;
        let row = sources::get(&mut reader.conn(), &visit.viewer.by.reach(), kind, id).await?;
        Ok(row.filter(|row| !row.deleted).map(|row| {
            let state: Value = serde_json::from_str(&row.state).unwrap_or_default();
            Stored {
                draft: json!({ "key": key, "type": row.source_type, "id": row.source_id,
                    "businessUnit": row.business_unit, "active": row.active, "state": state }),
                version: row.version,
                secrets: Vec::new(),
                sentence: "A program that reports this source replaces what is entered here.".to_owned(),
                key: key.to_owned(),
            }
        }))
    }

    async fn form(app: &App, visit: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let types = sources::types(&mut reader.conn(), &visit.viewer.by.reach()).await?;
        drop(reader);
        let mut what = match stored {
            Some(_) => vec![
                Field::new("/key", "", Kind::Hidden),
                Field::new("/type", "Kind of source", Kind::Fixed),
                Field::new("/id", "Id", Kind::Fixed),
            ],
            None => vec![
                Field::text("/type", "Kind of source")
                    .required()
                    .placeholder("document")
                    .offering(types.into_iter().map(|kind| (kind, String::new())).collect())
                    .hint("Reminders are set for a kind, such as document, invoice or class."),
                Field::text("/id", "Id")
                    .required()
                    .placeholder("42")
                    .hint("What distinguishes it from others of its kind."),
            ],
        };
        what.push(
            Field::text("/businessUnit", "Business unit")
                .offering(offered_units(app, visit).await?)
                .hint("Its time zone applies."),
        );
        what.push(
            Field::new("/active", "Active", Kind::Flag)
                .hint("Nothing is sent for a source that is not active."),
        );
        let fields = Rows::new("/fields", "Fields", "field")
            .unordered()
            .about("Reminders take their dates, addresses and texts from these.")
            .each(draft, |n, at, row| {
                let name = row["name"].as_str().filter(|name| !name.is_empty());
                let title = name.map_or_else(|| format!("Field {}", n + 1), str::to_owned);
                let only = |kind: &str| format!("{at}/as={kind}");
                let yes_or_no = Kind::choice(&[("true", "yes"), ("false", "no")]);
                let mut part = Part::new(
                    "",
                    vec![
                        Field::text(format!("{at}/name"), "Name").required(),
                        Field::new(format!("{at}/as"), "Content", Kind::choice(&KINDS)).decides(),
                        Field::text(format!("{at}/text"), "Value").prose().only(only("text|")),
                        Field::new(format!("{at}/date"), "Value", Kind::Date).only(only("date")),
                        Field::new(format!("{at}/number"), "Value", Kind::Decimal).only(only("number")),
                        Field::new(format!("{at}/flag"), "Value", yes_or_no).only(only("flag")),
                    ],
                );
                part.columns = 3;
                (title, part)
            });
        Ok(Form::of(vec![Part::new("Source", what), Part::new("State", Vec::new()).with_rows(fields)]))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        // What is stored keeps its name.
        let known = take_text(&mut draft, "key");
        if let Some((kind, id)) = known.split_once('/') {
            draft["type"] = kind.into();
            draft["id"] = id.into();
        }
        let rows = draft.as_object_mut().and_then(|fields| fields.remove("fields"));
        let mut faults =
            rows.as_ref().and_then(Value::as_array).map_or_else(Vec::new, |rows| faults_of(rows));
        let read = NamedSourceRequest::read(&draft, "");
        faults.extend(read.as_ref().err().into_iter().flatten().cloned());
        let (true, Ok(mut source)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let unit = source.source.business_unit.as_deref().unwrap_or_default();
        source.source.business_unit = visit.viewer.unit_or_first(unit);
        let key = key_of(&source.kind, &source.id);
        commands::enter(&app.engine, &sinks(app), &visit.viewer.by, seen, source).await?;
        Ok(Done::Saved { key, note: "saved" })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        let (kind, id) = key.split_once('/').unwrap_or((key, ""));
        commands::remove(&app.engine, &sinks(app), &visit.viewer.by, kind, id).await
    }
}

/// A field of the state as a row, where it is a single value.
fn row(name: &str, value: &Value) -> Option<Value> {
    let kind = match value {
        Value::String(text) if is_date(text) => "date",
        Value::String(_) => "text",
        Value::Number(_) => "number",
        Value::Bool(_) => "flag",
        _ => return None,
    };
    let shown = if let Value::Bool(is) = value { is.to_string().into() } else { value.clone() };
    Some(json!({ "name": name, "as": kind, kind: shown }))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn kind_of(row: &Value) -> &str {
    row["as"].as_str().filter(|kind| !kind.is_empty()).unwrap_or("text")
}

/// The state that rows make; a row without a value says nothing.
fn state_of(rows: &[Value]) -> Value {
    let said = rows.iter().filter(|row| !row[kind_of(row)].is_null());
    let state = said.map(|row| {
        let (kind, name) = (kind_of(row), row["name"].as_str().unwrap_or_default());
        let value = if kind == "flag" { Value::Bool(row[kind] == "true") } else { row[kind].clone() };
        (name.to_owned(), value)
    });
    Value::Object(state.collect())
}

/// Rows that make no state: without a name, with one that is taken, or with a value of another kind.
fn faults_of(rows: &[Value]) -> Vec<FieldError> {
    let (mut names, mut faults) = (BTreeSet::new(), Vec::new());
    for (n, row) in rows.iter().enumerate() {
        let (kind, name) = (kind_of(row), row["name"].as_str().unwrap_or_default());
        let value = &row[kind];
        let mut refuse = |at: &str, code, detail: &str| {
            faults.push(FieldError::new(format!("/fields/{n}/{at}"), code, detail));
        };
        match name {
            "" if !value.is_null() => refuse("name", Code::MissingField, "Name is missing."),
            name if !name.is_empty() && !names.insert(name) => {
                refuse("name", Code::KeyInvalid, "There is a field of this name already.");
            }
            _ => {}
        }
        match (kind, value) {
            ("number", Value::String(_)) => refuse(kind, Code::WrongType, "This is no number."),
            ("date", Value::String(text)) if !is_date(text) => {
                refuse(kind, Code::DateInvalid, "This is no date; one is written like 2026-05-14.");
            }
            _ => {}
        }
    }
    faults
}

/// The rows of another source of a kind, without their values.
async fn like(app: &App, visit: &Visit, kind: &str) -> Option<Vec<Value>> {
    let mut reader = app.engine.store.read_for_people().await.ok()?;
    let found = sources::page(&mut reader.conn(), &visit.viewer.by.reach(), kind, "", 1).await.ok()?;
    let state: Value = serde_json::from_str(&found.first()?.state).ok()?;
    let rows = state.as_object()?.iter().filter_map(|(name, value)| row(name, value));
    Some(rows.map(|row| json!({ "name": row["name"], "as": row["as"] })).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_rows_and_the_same_again() {
        let request =
            json!({ "state": { "expiresOn": "2026-05-14", "number": "10", "seats": 4.5, "open": false } });
        let draft = Sources::to_form(&request);
        let kinds: Vec<&str> =
            draft["fields"].as_array().unwrap().iter().filter_map(|row| row["as"].as_str()).collect();
        assert_eq!(kinds.len(), 4);
        assert_eq!(state_of(draft["fields"].as_array().unwrap()), request["state"]);
        let rows = [
            json!({ "name": "a", "as": "text", "text": "1" }),
            json!({ "name": "b", "as": "date" }),
            json!({ "as": "text", "text": "x" }),
        ];
        let places =
            |rows: &[Value]| faults_of(rows).into_iter().map(|fault| fault.pointer).collect::<Vec<_>>();
        assert_eq!(places(&rows), ["/fields/2/name"]);
        assert_eq!(places(&[rows[0].clone(), rows[0].clone()]), ["/fields/1/name"]);
        let wrong = [
            json!({ "name": "a", "as": "number", "number": "x" }),
            json!({ "name": "b", "as": "date", "date": "soon" }),
        ];
        assert_eq!(places(&wrong), ["/fields/0/number", "/fields/1/date"]);
    }
}
