//! The first steps of a fresh installation, on its overview: a channel, a test message, a list, a source, a first workflow. Each is a link to its
//! form and ticks itself from what exists; when messages leave by themselves they are not shown again.

use std::sync::atomic::Ordering;

use punctual_model::AuditAction;
use punctual_store::{
    audit, channels, lists, notifications, reminders::settings, report_subscriptions, sources, surveys, work,
};

use crate::{App, answer::Refusal, frame::Visit, links};

/// Channels that are asked whether a test message left: a fresh installation has few.
const ASKED: usize = 5;

/// One step.
pub struct Step {
    pub title: &'static str,
    pub about: &'static str,
    pub link: String,
    pub button: &'static str,
    pub is_done: bool,
    /// The first that is not done.
    pub is_next: bool,
}

/// The steps, for somebody who may take them; none once all are done.
pub async fn steps(app: &App, visit: &Visit) -> Result<Vec<Step>, Refusal> {
    if !visit.viewer.may_define() || app.is_set_up.load(Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let reach = visit.viewer.by.reach();
    let kinds = app.engine.kinds_of_interest();
    let mut reader = app.engine.store.read_for_people().await?;
    let mut conn = reader.conn();
    let defined = channels::all(&mut conn).await?;
    let mut is_tested = notifications::last_delivered(&mut conn).await?.is_some();
    for channel in defined.iter().take(ASKED) {
        let reported = audit::of(&mut conn, &reach, "channel", &channel.key).await?;
        is_tested |= reported.iter().any(|entry| entry.action == AuditAction::Test.as_str());
    }
    let has_list = !lists::page(&mut conn, &reach, "", 1).await?.is_empty();
    let has_source = !sources::types(&mut conn, &reach).await?.is_empty();
    let has_workflow = !settings::page(&mut conn, &reach, "", 1).await?.is_empty()
        || !surveys::page(&mut conn, None, &reach, 1).await?.is_empty()
        || !report_subscriptions::page(&mut conn, &reach, "", 1).await?.is_empty()
        || !work::coming(&mut conn, &kinds, &reach, None, 1).await?.is_empty();
    drop(reader);
    let first = defined.first().map(|channel| links::encoded(&channel.key));
    let test = first.map_or("/channels".to_owned(), |key| format!("/channels/edit?key={key}#test-address"));
    let step = |title, about, link: &str, button, is_done| Step {
        title,
        about,
        link: link.to_owned(),
        button,
        is_done,
        is_next: false,
    };
    let mut steps = vec![
        step(
            "Channel",
            "The way messages are sent: mail over SMTP, SMS, chat, webhooks.",
            "/channels/add",
            "Add a channel",
            !defined.is_empty(),
        ),
        step(
            "Test message",
            "One message over the channel, to yourself, outside the outbox.",
            &test,
            "Send a test message",
            is_tested && !defined.is_empty(),
        ),
        step(
            "List",
            "A name for a set of addresses that get messages.",
            "/settings/lists/new",
            "Create a list",
            has_list,
        ),
        step(
            "Source",
            "A document, an invoice or a class: reminders take their dates and addresses from it.",
            "/sources/new",
            "Add a source",
            has_source,
        ),
        step(
            "First workflow",
            "Sends messages automatically: a reminder, a survey, a report or an event.",
            "/reminders/new",
            "Create a reminder",
            has_workflow,
        ),
    ];
    // Whoever names addresses in messages needs no list, and only reminders need a source.
    if !defined.is_empty() && is_tested && has_workflow {
        app.is_set_up.store(true, Ordering::Relaxed);
        return Ok(Vec::new());
    }
    if let Some(next) = steps.iter_mut().find(|step| !step.is_done) {
        next.is_next = true;
    }
    Ok(steps)
}
