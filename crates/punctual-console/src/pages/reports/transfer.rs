//! Handing a subscription over to another owner: who would answer for it is said first, then it is done.

use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use punctual_store::{operations::people, report_subscriptions::SubscriptionRow};
use punctual_wire::Problem;
use punctual_workflows::reports::commands::{self, Change};

use super::{found, state};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::Visit,
    pages::confirm::{Confirm, Item},
};

/// The longest id of a person.
const ID_MAX: usize = 200;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/reports/{guid}/transfer", get(ask)).route("/reports/transfer", post(transfer))
}

/// Shows the present and the next owner.
async fn ask(State(app): State<Shared>, visit: Visit, Path(guid): Path<String>, uri: Uri) -> Page {
    let row = touchable(&app, &visit, &guid).await?;
    let owner = owner_of(&Fields::of_query(&uri));
    let (now, then) =
        (named(&app, &visit, row.owner.as_deref()).await?, named(&app, &visit, owner.as_deref()).await?);
    let is_same = row.owner == owner;
    let sentence = match (&owner, is_same) {
        (None, true) => "The report has no owner, and none was chosen.".to_owned(),
        (Some(_), true) => format!("{} is the owner already.", now.words),
        (Some(_), false) => format!("{} will be the owner, in place of {}.", then.words, now.words_inside),
        (None, false) => format!("It will have no owner, in place of {}.", now.words_inside),
    };
    let unknown = (!then.is_known)
        .then(|| "No person has this id: the report will be listed as one without an owner.".to_owned());
    page(&Confirm {
        frame: visit.frame(&app, &format!("Transfer {}?", row.name), "/reports").await?,
        sentence,
        left_alone: unknown,
        items: vec![Item {
            link: format!("/reports/{}", row.guid),
            note: format!("version {}", row.version),
            pill: state(&row, true),
            title: row.name,
        }],
        action: "/reports/transfer",
        hidden: vec![
            ("guid", row.guid.clone()),
            ("version", row.version.to_string()),
            ("owner", owner.unwrap_or_default()),
        ],
        button: (!is_same).then(|| "Transfer report".to_owned()),
        is_destructive: false,
        back: format!("/reports/{}", row.guid),
    })
}

async fn transfer(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    let row = touchable(&app, &visit, fields.text("guid")).await?;
    if row.version.to_string() != fields.text("version") {
        return Err(Problem::stale_version().into());
    }
    let change = Change::Transfer(owner_of(&fields));
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    commands::change(&app.engine, &by, &row.guid, &change, None).await?;
    see_other(&format!("/reports/{}?done=transferred", row.guid))
}

fn owner_of(fields: &Fields) -> Option<String> {
    let id: String = fields.text("owner").chars().take(ID_MAX).collect();
    (!id.is_empty()).then_some(id)
}

/// A person as a sentence calls them.
struct Named {
    words: String,
    words_inside: String,
    is_known: bool,
}

async fn named(app: &App, visit: &Visit, id: Option<&str>) -> Result<Named, Refusal> {
    let Some(id) = id else {
        return Ok(Named { words: "Nobody".into(), words_inside: "nobody".into(), is_known: true });
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let seen = people::get(&mut reader.conn(), &visit.viewer.by.reach(), id).await?;
    let words = seen.as_ref().map_or_else(|| id.to_owned(), |row| format!("{} ({id})", row.name));
    Ok(Named { words_inside: words.clone(), words, is_known: seen.is_some() })
}

async fn touchable(app: &App, visit: &Visit, guid: &str) -> Result<SubscriptionRow, Refusal> {
    visit.must_author()?;
    let row = found(app, visit, guid).await?;
    if visit.viewer.by.may_touch(row.business_unit.as_deref()) && !row.deleted {
        return Ok(row);
    }
    Err(Problem::not_found("report subscription", guid).into())
}
