//! What is done to a person: invite again, disable, remove, end their sessions.

use askama::Template;
use axum::{Router, extract::State, routing::post};
use punctual_engine::commands::{Mailed, UserChange};
use punctual_store::sessions::Owner;

use super::HERE;
use crate::{
    App, Shared,
    answer::{Page, page, plain, see_other},
    form::Signed,
    frame::{Frame, Visit},
    times::When,
};

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/settings/users/invite", post(invite))
        .route("/settings/users/active", post(set_active))
        .route("/settings/users/delete", post(delete))
        .route("/settings/users/end-sessions", post(end_sessions))
}

#[derive(Template)]
#[template(path = "user_invited.html")]
struct InvitedPage {
    frame: Frame,
    name: String,
    email: String,
    page: String,
    link: String,
    until: When,
    mailed: Option<String>,
    mail_error: Option<String>,
}

/// Makes a link, mails it where that is possible, and shows it, for the only time.
pub(super) async fn invited(app: &App, visit: &Visit, id: &str) -> Page {
    let now = app.wall.now();
    let invitation = app.engine.invite_user(&visit.viewer.by, now, id).await?;
    let mailed = app.engine.mail_invitation(app.wall.as_ref(), &invitation).await?;
    let (mailed, mail_error) = match mailed {
        Mailed::NoChannel => (None, None),
        Mailed::Sent { channel } => (Some(channel), None),
        Mailed::Failed { channel, error } => (None, Some(format!("{channel}: {error}"))),
    };
    let user = invitation.user;
    let shown = page(&InvitedPage {
        frame: visit.frame(app, &format!("Invitation for {}", user.name), HERE).await?,
        page: format!("{HERE}/{}", user.id),
        name: user.name,
        email: user.email,
        link: invitation.link,
        until: visit.zone.when(invitation.expires_at, now),
        mailed,
        mail_error,
    })?;
    plain(shown)
}

async fn invite(State(app): State<Shared>, form: Signed) -> Page {
    form.visit.must_admin()?;
    invited(&app, &form.visit, form.fields.text("id")).await
}

async fn set_active(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_admin()?;
    let (id, active) = (fields.text("id"), fields.text("active") == "yes");
    let change = UserChange { active: Some(active), ..UserChange::default() };
    app.engine.change_user(&visit.viewer.by, app.wall.now(), id, change).await?;
    let done = if active { "enabled" } else { "disabled" };
    see_other(&format!("{HERE}/{id}?done={done}"))
}

async fn delete(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_admin()?;
    app.engine.delete_user(&visit.viewer.by, app.wall.now(), fields.text("id")).await?;
    see_other(&format!("{HERE}?done=removed"))
}

/// Ends one session of a person, or all of them.
async fn end_sessions(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_admin()?;
    let id = super::edit::found(&app, fields.text("id")).await?.id;
    let (by, now, owner) = (&visit.viewer.by, app.wall.now(), Owner::User(id.clone()));
    let done = match fields.text("session") {
        "" => {
            app.engine.end_sessions_of(by, now, &owner, None).await?;
            "all-ended"
        }
        hash => {
            app.engine.end_session_of(by, now, &owner, hash).await?;
            "ended"
        }
    };
    see_other(&format!("{HERE}/{id}?done={done}"))
}
