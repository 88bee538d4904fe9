//! Keys: what programs call with. One is shown once, when it is made.

use jiff::Timestamp;
use punctual_engine::{
    CommandError,
    commands::Seen,
    keys::{NewKey, mint_key},
};
use punctual_store::api_keys;
use punctual_wire::keys::{ApiKeyRequest, Scope};
use serde_json::{Value, json};

use super::offered_units;
use crate::{
    App,
    answer::Refusal,
    editor::{Done, Field, Form, Kind, Listed, Listing, Once, Part, Refused, Resource, Stored},
    form::Fields,
    frame::Visit,
    words::{Pill, counted},
};

const SCOPES: [(&str, &str); 6] = [
    ("send", "send: send messages, and see what the same client sent"),
    ("ingest", "ingest: events, sources and notifications"),
    ("read", "read: look at everything, change nothing"),
    ("operate", "operate: retry, discard, release, cancel"),
    ("author", "author: lists, templates and other definitions"),
    ("admin", "admin: everything, keys and channels included"),
];

pub struct Keys;

impl Resource for Keys {
    const HOME: &'static str = "/settings/keys";
    const ONE: &'static str = "key";
    const MANY: &'static str = "Keys";
    const KEY: &'static str = "/name";
    const EDITED: bool = false;
    const REMOVING: (&'static str, &'static str) =
        ("Revoke", "It stops working within five seconds, for good.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_admin()
    }

    async fn list(app: &App, visit: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        visit.must_admin()?;
        let (now, wall) = (Visit::now(app), app.wall.now());
        let mut reader = app.engine.store.read_for_people().await?;
        let rows = api_keys::all(&mut reader.conn()).await?;
        let when = |at: Option<Timestamp>| at.map(|at| visit.zone.when(at, now).text);
        let rows: Vec<Listed> = rows
            .into_iter()
            .map(|row| {
                let is_over = row.expires_at.is_some_and(|at| at <= wall);
                let units: Option<Vec<String>> =
                    row.business_units.as_deref().and_then(|text| serde_json::from_str(text).ok());
                let pill = match (row.revoked_at, is_over) {
                    (Some(_), _) => Some(Pill { word: "revoked", class: "muted" }),
                    (None, true) => Some(Pill { word: "expired", class: "muted" }),
                    (None, false) => None,
                };
                Listed {
                    removable: pill.is_none(),
                    pill,
                    note: row.site.map(|site| format!("token of the site {site}")).unwrap_or_default(),
                    cells: vec![
                        row.scopes.replace(' ', ", "),
                        units.map_or_else(|| "all units".to_owned(), |units| units.join(", ")),
                        when(row.last_used_at)
                            .map_or_else(|| "never used".to_owned(), |at| format!("used {at}")),
                        when(row.expires_at)
                            .map_or_else(|| "never expires".to_owned(), |at| format!("expires {at}")),
                    ],
                    title: row.name,
                    key: row.id,
                }
            })
            .collect();
        let active = rows.iter().filter(|row| row.removable).count();
        Ok(Listing {
            sentence: format!(
                "{} in use.",
                counted(i64::try_from(active).unwrap_or(i64::MAX), "key", "keys")
            ),
            columns: &["Key", "Scopes", "Business units", "Last use", "Expires"],
            rows,
            empty: "A program sends a key with each request to prove its rights.",
            next: None,
        })
    }

    async fn stored(_: &App, _: &Visit, _: &str) -> Result<Option<Stored>, Refusal> {
        Ok(None)
    }

    async fn form(app: &App, visit: &Visit, _: &Value, _: Option<&Stored>) -> Result<Form, Refusal> {
        let scopes = SCOPES.iter().map(|(value, name)| ((*value).to_owned(), (*name).to_owned())).collect();
        let units = offered_units(app, visit).await?;
        let mut fields = vec![
            Field::text("/name", "Name").required().hint("Who uses it, such as billing, production."),
            Field::new(
                "/expiresAt",
                format!("Expiry ({})", visit.zone.name),
                Kind::Moment(visit.zone.whole.clone()),
            )
            .hint("Never if empty."),
            Field::new("/scopes", "Scopes", Kind::Checks(scopes))
                .required()
                .hint("The requests that it may make."),
        ];
        if !units.is_empty() {
            let units = units
                .into_iter()
                .map(|(id, name)| (id.clone(), if name == id { name } else { format!("{name} ({id})") }))
                .collect();
            let hint = "It sees only rows of these; all if none is chosen.";
            fields.push(Field::new("/businessUnits", "Business units", Kind::Checks(units)).hint(hint));
        }
        Ok(Form::of(vec![Part::new("Key", fields)]))
    }

    async fn save(app: &App, visit: &Visit, _: Seen, draft: Value) -> Result<Done, Refused> {
        let draft = if draft.get("scopes").is_none() { with_no_scopes(draft) } else { draft };
        let ApiKeyRequest { name, scopes, business_units, expires_at } = ApiKeyRequest::read(&draft, "")?;
        let kind = if scopes.contains(&Scope::Admin) { "admin" } else { "api" };
        let env = if app.sandbox.is_some() { "sandbox" } else { "live" };
        let minted = mint_key(app.engine.random.as_ref(), kind, env);
        let new = NewKey { name: name.clone(), scopes, business_units, expires_at };
        app.engine.make_key(&visit.viewer.by, app.wall.now(), &minted, &new).await?;
        Ok(Done::Once(Once {
            title: format!("The key {name}"),
            label: "Key",
            secret: minted.text,
            hint: "A program sends it as Authorization: Bearer, followed by the key.".to_owned(),
        }))
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        app.engine.revoke_key(&visit.viewer.by, app.wall.now(), key).await
    }
}

/// Nothing was ticked: the reader says so at the field.
fn with_no_scopes(mut draft: Value) -> Value {
    draft["scopes"] = json!([]);
    draft
}
