//! Subscribers on the page of surveys, and the retry of all that was given up for one: what it does, then the button.

use axum::{
    Router,
    extract::{Path, State},
    routing::{get, post},
};
use punctual_engine::channels::subscriber_channel;
use punctual_store::{Conn, StoreError, notifications, subscribers as stored};
use punctual_wire::{Problem, keys::Scope};

use crate::{
    App, Shared,
    answer::{Page, page, see_other},
    form::{Act, Fields},
    frame::Visit,
    links,
    pages::confirm::{Confirm, Item},
    words::{Pill, counted},
};

/// For viewers without a limit: a subscriber gets the events of all business units.
pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/surveys/subscribers/{key}/retry", get(ask))
        .route("/surveys/subscribers/retry", post(retry))
}

/// A subscriber as the list shows it.
pub(super) struct Subscriber {
    pub(super) key: String,
    pub(super) adapter: String,
    pub(super) events: String,
    pub(super) pill: Pill,
    pub(super) fault: String,
    /// What was given up, and where to have it sent again.
    pub(super) failed: Option<(String, String)>,
}

pub(super) async fn list(
    conn: &mut Conn<'_>,
    app: &App,
    may_act: bool,
) -> Result<Vec<Subscriber>, StoreError> {
    let rows = stored::all(conn).await?;
    let channels = rows.iter().map(|row| subscriber_channel(&row.key)).collect();
    let parked = notifications::parked_of_channels(conn, channels).await?;
    let shown = rows.into_iter().map(|row| {
        let channel = subscriber_channel(&row.key);
        let fault = app.engine.channels.broken(&channel).map(|broken| broken.why);
        let pill = match &fault {
            Some(_) => Pill { word: "cannot be reached", class: "bad" },
            None if row.active => Pill { word: "listens", class: "good" },
            None => Pill { word: "switched off", class: "muted" },
        };
        let events: Vec<String> = serde_json::from_str(&row.events).unwrap_or_default();
        let failed = parked.iter().find(|count| may_act && count.channel == channel.as_str());
        let failed = failed.map(|count| {
            let link = format!("/surveys/subscribers/{}/retry", links::encoded(&row.key));
            (format!("Retry {}…", counted(count.parked, "failed delivery", "failed deliveries")), link)
        });
        Subscriber {
            key: row.key,
            adapter: row.adapter,
            events: events.join(", "),
            pill,
            fault: fault.unwrap_or_default(),
            failed,
        }
    });
    Ok(shown.collect())
}

/// What a retry did, from the address it led to: `done=retry.3`.
pub(super) fn done(fields: &Fields) -> Option<String> {
    let count: i64 = fields.text("done").strip_prefix("retry.")?.parse().ok()?;
    Some(format!("Retrying {}.", counted(count, "delivery", "deliveries")))
}

async fn ask(State(app): State<Shared>, visit: Visit, Path(key): Path<String>) -> Page {
    if !visit.viewer.may_act() {
        return Err(Problem::scope_missing(Scope::Operate.as_str()).into());
    }
    let mut reader = app.engine.store.read_for_people().await?;
    let known = stored::get(&mut reader.conn(), &key).await?;
    let row = known.ok_or_else(|| Problem::not_found("subscriber", &key))?;
    let channel = subscriber_channel(&row.key);
    let parked = notifications::parked_of_channels(&mut reader.conn(), vec![channel]).await?;
    drop(reader);
    let count = parked.first().map_or(0, |count| count.parked);
    let what = counted(count, "delivery", "deliveries");
    page(&Confirm {
        frame: visit.frame(&app, &format!("Retry {what}?"), "/surveys").await?,
        sentence: format!(
            "{what} to {key} will be sent at once, oldest first, with a new count of attempts."
        ),
        left_alone: None,
        items: vec![Item {
            link: "/outbox?status=parked".to_owned(),
            title: row.key.clone(),
            note: row.adapter,
            pill: Pill { word: "parked", class: "bad" },
        }],
        action: "/surveys/subscribers/retry",
        hidden: vec![("key", row.key)],
        button: (count > 0).then(|| format!("Retry {what}")),
        is_destructive: false,
        back: "/surveys".to_owned(),
    })
}

async fn retry(State(app): State<Shared>, form: Act) -> Page {
    let Act { visit, fields } = form;
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    let done = app.engine.retry_subscriber(&by, fields.text("key")).await?;
    see_other(&format!("/surveys?done=retry.{}", done.retried))
}
