//! After a restore: what was due since the backup, and the choice to send or give up all of it.

use askama::Template;
use axum::{
    Router,
    extract::State,
    routing::{get, post},
};
use punctual_engine::restored::AfterRestore;
use punctual_wire::Problem;

use super::confirm::Confirm;
use crate::{
    Shared,
    answer::{Page, page, see_other},
    form::Act,
    frame::{Frame, Visit},
    times::When,
    words::counted,
};

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/restore", get(show))
        .route("/restore/confirm", post(confirm))
        .route("/restore/settle", post(settle))
}

#[derive(Template)]
#[template(path = "restore.html")]
struct RestorePage {
    frame: Frame,
    sentence: String,
    /// When it was restored, where it was.
    at: Option<When>,
    backup: Option<When>,
    waits: bool,
    may_act: bool,
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    let last = app.engine.last_restore().await?;
    let now = Visit::now(&app);
    // What workflows were not called for is a follow-up of work.
    let waiting = last.as_ref().map_or((0, 0), |(_, left)| (left.notifications, left.work + left.owed));
    let sentence = match (&last, waiting) {
        (None, _) => "This database was never restored from a backup.".to_owned(),
        (Some(_), (0, 0)) => "Nothing waits because of the restore.".to_owned(),
        (Some(_), (messages, work)) => format!(
            "{} and {} wait: whether they were sent is not known.",
            counted(messages, "message", "messages"),
            counted(work, "work row", "work rows")
        ),
    };
    page(&RestorePage {
        frame: visit.frame(&app, "After a restore", "/attention").await?,
        sentence,
        at: last.as_ref().map(|(restore, _)| visit.zone.when(restore.restored_at, now)),
        backup: last.and_then(|(restore, _)| restore.backup_at).map(|at| visit.zone.when(at, now)),
        waits: waiting != (0, 0),
        may_act: visit.must_admin().is_ok(),
    })
}

fn chosen(text: &str) -> Result<AfterRestore, Problem> {
    match text {
        "release" => Ok(AfterRestore::Release),
        "discard" => Ok(AfterRestore::Discard),
        other => Err(Problem::not_found("choice", other)),
    }
}

/// Says what it means. It changes nothing.
async fn confirm(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    visit.must_admin()?;
    let (title, sentence, button) = match chosen(fields.text("choice"))? {
        AfterRestore::Release => (
            "Send everything that waits?",
            "People who got a message after the backup get it a second time.",
            "Send all of it",
        ),
        AfterRestore::Discard => (
            "Discard everything that waits?",
            "People who had not got a message before the restore never get it.",
            "Discard all of it",
        ),
    };
    page(&Confirm {
        frame: visit.frame(&app, title, "/attention").await?,
        sentence: sentence.to_owned(),
        left_alone: None,
        items: Vec::new(),
        action: "/restore/settle",
        hidden: vec![("choice", fields.text("choice").to_owned())],
        button: Some(button.to_owned()),
        is_destructive: true,
        back: "/restore".to_owned(),
    })
}

async fn settle(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    visit.must_admin()?;
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    app.engine.settle_restored(&by, chosen(fields.text("choice"))?).await?;
    see_other("/restore")
}
