//! Sites: agents at other places. A token is shown once, when a site is made or its token is replaced.

use askama::Template;
use axum::{Router, extract::State, routing::post};
use punctual_engine::{CommandError, commands::Seen};
use punctual_store::sites::{self, SiteRow};
use punctual_wire::sites::{SiteChange, SiteRequest};
use serde_json::{Value, json};

use super::{SHOWN, cut, offered_units};
use crate::{
    App, Shared,
    answer::{Page, Refusal},
    editor::{
        Done, Field, Form, Kind, Listed, Listing, Once, Part, Refused, Resource, Stored, shown_once,
        take_text, version_of,
    },
    form::{Fields, Signed},
    frame::Visit,
    words::Pill,
};

/// How long an old token works beside the new one, where somebody wants that.
const OVERLAP_SECONDS: i64 = 24 * 3_600;

pub struct Sites;

impl Resource for Sites {
    const HOME: &'static str = "/settings/sites";
    const ONE: &'static str = "site";
    const MANY: &'static str = "Sites";
    const KEY: &'static str = "/id";
    const REMOVING: (&'static str, &'static str) =
        ("Revoke", "Its tokens stop working. Its buffered messages stay there until it gets a new one.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_admin()
    }

    async fn list(app: &App, _: &Visit, fields: &Fields) -> Result<Listing, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let rows = sites::page(&mut reader.conn(), fields.text("after"), SHOWN + 1).await?;
        let (rows, next) = cut(rows, |row| row.id.clone());
        let rows = rows.into_iter().map(|row| Listed {
            note: String::new(),
            pill: row.revoked_at.map(|_| Pill { word: "revoked", class: "muted" }),
            cells: vec![row.business_unit.unwrap_or_default()],
            title: row.id.clone(),
            key: row.id,
            removable: true,
        });
        Ok(Listing {
            sentence: "The page Sites shows which are in contact and what waits there.".to_owned(),
            columns: &["Site", "Business unit"],
            rows: rows.collect(),
            empty: "A site is an agent at another place that keeps messages while the line is down. It signs in with a token.",
            next,
        })
    }

    async fn stored(app: &App, _: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let row = sites::get(&mut reader.conn(), key).await?;
        Ok(row.map(|row| {
            let draft = request(&row);
            Stored {
                version: version_of(&draft),
                draft,
                secrets: Vec::new(),
                sentence: if row.revoked_at.is_some() { "Revoked: no token works." } else { "" }.to_owned(),
                key: row.id,
            }
        }))
    }

    async fn form(app: &App, visit: &Visit, _: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let id = match stored {
            Some(_) => Field::new("/id", "Id", Kind::Fixed),
            None => Field::text("/id", "Id").required().hint("Such as plant-7."),
        };
        let unit = Field::text("/businessUnit", "Business unit")
            .offering(offered_units(app, visit).await?)
            .hint("Owner of the messages from the site; none if empty.");
        Ok(Form::of(vec![Part::new("Site", vec![id, unit])]))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let (by, now) = (&visit.viewer.by, app.wall.now());
        if seen != Seen::Nothing {
            let id = take_text(&mut draft, "id");
            let unit = SiteChange::read(&draft, "")?.business_unit;
            let mut reader = app.engine.store.read_for_people().await?;
            let stored = sites::get(&mut reader.conn(), &id).await?;
            drop(reader);
            if stored.is_some_and(|row| seen != Seen::Version(version_of(&request(&row)))) {
                return Err(Refused::Stale);
            }
            app.engine.move_site(by, now, &id, unit.as_deref()).await?;
            return Ok(Done::Saved { key: id, note: "saved" });
        }
        let SiteRequest { id, business_unit } = SiteRequest::read(&draft, "")?;
        let token = app.engine.create_site(by, now, &id, business_unit.as_deref(), env(app)).await?;
        Ok(Done::Once(once(&id, token)))
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        app.engine.revoke_site(&visit.viewer.by, app.wall.now(), key).await.map(drop)
    }

    async fn below(
        app: &App,
        visit: &Visit,
        stored: Option<&Stored>,
        _: &Value,
        _: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let Some(stored) = stored else { return Ok(String::new()) };
        let form =
            RotateForm { token: &visit.viewer.form_token(app.engine.random.as_ref()), site: &stored.key };
        form.render().map_err(|error| Refusal::internal(&error))
    }
}

/// The request that would make it.
fn request(row: &SiteRow) -> Value {
    json!({"id": row.id, "businessUnit": row.business_unit})
}

#[derive(Template)]
#[template(path = "settings_site_token.html")]
struct RotateForm<'a> {
    token: &'a str,
    site: &'a str,
}

/// A new token for a site.
pub fn tokens() -> Router<Shared> {
    Router::new().route("/settings/sites/rotate", post(rotate))
}

async fn rotate(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_admin()?;
    let id = fields.text("key");
    let keep = if fields.text("keep") == "yes" { OVERLAP_SECONDS } else { 0 };
    let token = app.engine.rotate_site(&visit.viewer.by, app.wall.now(), id, keep, env(&app)).await?;
    shown_once::<Sites>(&app, &visit, once(id, token)).await
}

fn once(id: &str, token: String) -> Once {
    Once {
        title: format!("The token of {id}"),
        label: "Token",
        secret: token,
        hint: "The agent at the site gets it as its token.".to_owned(),
    }
}

fn env(app: &App) -> &'static str {
    if app.sandbox.is_some() { "sandbox" } else { "live" }
}
