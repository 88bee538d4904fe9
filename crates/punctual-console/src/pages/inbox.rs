//! The inbox: messages to whoever looks, newest first, and a button that marks them as read.

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_engine::{CommandError, inbox::person};
use punctual_store::inbox::{self, InboxRow};

use crate::{
    Shared,
    answer::{Page, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, UNREAD_COUNTED as COUNTED, Visit},
    links,
    times::When,
    words::counted,
};

const ROWS: usize = 30;

pub fn routes() -> Router<Shared> {
    Router::new().route("/inbox", get(show).post(read))
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Row>,
    only_unread: bool,
    /// The newest message that is shown, for marking all as read.
    newest: Option<String>,
    has_unread: bool,
    next: Option<String>,
}

struct Row {
    id: String,
    subject: String,
    body: String,
    is_read: bool,
    link: String,
    at: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let now = Visit::now(&app);
    let whose = person(&visit.viewer.name);
    let only_unread = fields.text("unread") == "1";
    let before = fields.text("before").parse().ok();
    let mut reader = app.engine.store.read_for_people().await?;
    let reach = visit.viewer.by.reach();
    let mut rows =
        inbox::page(&mut reader.conn(), &whose, &reach, before, only_unread, ROWS as i64 + 1).await?;
    let unread = inbox::count_unread(&mut reader.conn(), &whose, &reach, COUNTED).await?;
    drop(reader);
    let more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let next = rows.last().filter(|_| more).map(|last| {
        let before = last.seq.to_string();
        format!("/inbox{}", links::query([("unread", fields.text("unread")), ("before", before.as_str())]))
    });
    page(&InboxPage {
        frame: visit.frame(&app, "Inbox", "/inbox").await?,
        sentence: match unread {
            0 => "You have read everything.".to_owned(),
            COUNTED.. => format!("{COUNTED}+ messages are not read."),
            n => format!("{} not read.", counted(n, "message is", "messages are")),
        },
        only_unread,
        newest: rows.first().map(|row| row.id.clone()),
        has_unread: unread > 0,
        rows: rows.into_iter().map(|row| shaped(row, &visit, now)).collect(),
        next,
    })
}

fn shaped(row: InboxRow, visit: &Visit, now: Timestamp) -> Row {
    let at = row.created_at;
    Row {
        link: format!("/notifications/{}", row.notification_id),
        is_read: row.read_at.is_some(),
        at: visit.zone.when(at, now),
        id: row.id,
        subject: row.subject,
        body: row.body,
    }
}

/// Marks one message as read, or all up to one. Everybody may, for they are their own.
async fn read(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    let (by, name) = (&visit.viewer.by, &visit.viewer.name);
    let read = match fields.text("upTo") {
        "" => app.engine.read_message(by, name, fields.text("id")).await.map(drop),
        newest => app.engine.read_messages_up_to(by, name, newest).await,
    };
    // A message that is gone needs no reading.
    if let Err(error @ (CommandError::Engine(_) | CommandError::Secrets(_))) = read {
        return Err(error.into());
    }
    see_other(if fields.text("unread") == "1" { "/inbox?unread=1" } else { "/inbox" })
}
