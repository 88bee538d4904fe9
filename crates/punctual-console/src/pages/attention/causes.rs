//! Parked messages by their cause: what is at fault, the repair, and then all of them again.

use axum::{
    Router,
    extract::State,
    routing::{get, post},
};
use punctual_model::{NotificationStatus, reason::sentence_of};
use punctual_store::{
    attention::causes::{Cause, CauseCount},
    lists,
    notifications::NO_REASON,
};
use punctual_wire::Problem;

use super::list_form;
use crate::{
    Shared,
    answer::{Page, Refusal, page, see_other},
    form::Act,
    frame::Visit,
    links,
    pages::confirm::{Confirm, Item},
    words::{self, counted},
};

/// Messages that the page before a retry names.
const NAMED: usize = 200;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/attention/confirm", post(confirm))
        .route("/attention/act", post(act))
        .route("/attention/list", get(list_form::show).post(list_form::save))
}

/// One cause, as the page shows it.
pub struct Group {
    pub cause: Cause,
    pub sentence: String,
    pub count: i64,
    /// `6 messages`.
    pub messages: String,
    pub rows: String,
    /// Where the cause is repaired, with what that is called.
    pub repair: Option<(String, String)>,
    /// Whether it is repaired already, so that retrying comes first.
    pub is_repaired: bool,
}

/// The causes, the most frequent first.
pub async fn groups(app: &Shared, visit: &Visit) -> Result<Vec<Group>, Refusal> {
    let reach = visit.viewer.by.reach();
    let counts = app.engine.parked_causes(&reach).await?;
    let unknown = counts.iter().filter(|one| one.reason == "list-unknown").map(|one| one.about.clone());
    let mut reader = app.engine.store.read_for_people().await?;
    let known = lists::named(&mut reader.conn(), unknown.collect()).await?;
    let made = |name: &str| {
        let units = reach.units().into_iter().flatten().map(|unit| Some(unit.as_str()));
        [None].into_iter().chain(units).any(|unit| known.get(unit, name).is_some())
    };
    Ok(counts.into_iter().map(|one| group(visit, one, &made)).collect())
}

/// Where the cause of one parked message is repaired, with what that is called.
pub async fn repair_of(
    app: &Shared,
    visit: &Visit,
    reason: &str,
    about: &str,
) -> Result<Option<(String, String)>, Refusal> {
    let groups = groups(app, visit).await?;
    let own = groups.into_iter().find(|group| group.cause.reason == reason && group.cause.about == about);
    Ok(own.and_then(|group| group.repair))
}

fn group(visit: &Visit, one: CauseCount, made: &dyn Fn(&str) -> bool) -> Group {
    let is_repaired = one.reason == "list-unknown" && made(&one.about);
    let repair = match one.reason.as_str() {
        "list-unknown" if !is_repaired && visit.viewer.may_author() => Some((
            format!("/attention/list{}", links::query([("name", one.about.as_str())])),
            format!("Create list {}", one.about),
        )),
        "list-unknown" => None,
        "suppressed" if visit.viewer.sees_all() => {
            Some(("/suppressions".to_owned(), "Check suppressions".to_owned()))
        }
        "no-channel" | "secret-missing" | "secret-invalid" | "settings-invalid" => {
            Some(("/channels".to_owned(), format!("Check channel {}", one.about)))
        }
        _ => None,
    };
    Group {
        sentence: said(&one, is_repaired),
        messages: counted(one.count, "message", "messages"),
        count: one.count,
        rows: rows_of(&one),
        repair,
        is_repaired,
        cause: Cause { reason: one.reason, about: one.about },
    }
}

fn said(one: &CauseCount, is_repaired: bool) -> String {
    match one.reason.as_str() {
        "list-unknown" if is_repaired => format!("List {} was missing and exists now", one.about),
        "list-unknown" => format!("No list {}", one.about),
        "no-channel" => format!("No channel {}", one.about),
        "" => format!("Parked without a reason, over {}", one.about),
        reason => match sentence_of(reason) {
            "" => format!("{reason}, {}", one.about),
            words => format!("{words} ({})", one.about),
        },
    }
}

/// The rows in the outbox: by the cause and by what it is about, as they were counted.
fn rows_of(one: &CauseCount) -> String {
    let cause = if one.reason.is_empty() { NO_REASON } else { one.reason.as_str() };
    let pairs =
        [("status", NotificationStatus::Parked.as_str()), ("cause", cause), ("about", one.about.as_str())];
    format!("/outbox{}", links::query(pairs))
}

fn cause_in(fields: &crate::form::Fields) -> Cause {
    Cause { reason: fields.text("cause").to_owned(), about: fields.text("about").to_owned() }
}

/// Says what will change, by name. It changes nothing.
async fn confirm(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let cause = cause_in(&fields);
    let plan = app.engine.plan_retry_of_cause(&visit.viewer.by.reach(), &cause).await?;
    let what = counted(i64::try_from(plan.rows.len()).unwrap_or(i64::MAX), "message", "messages");
    let items = plan.rows.iter().take(NAMED).map(|row| Item {
        link: format!("/notifications/{}", row.id),
        title: row.title.clone(),
        note: words::reason(Some(&row.reason)),
        pill: words::notification(punctual_model::NotificationStatus::Parked),
    });
    let more = plan.rows.len().saturating_sub(NAMED);
    let title = format!("Retry {what}?");
    page(&Confirm {
        frame: visit.frame(&app, &title, "/attention").await?,
        sentence: format!(
            "{what} will be sent at once, with a new count of attempts. Targets that accepted it get nothing again."
        ),
        left_alone: (more > 0)
            .then(|| format!("The newest {NAMED} are listed; {more} more will be retried.")),
        items: items.collect(),
        action: "/attention/act",
        hidden: vec![("cause", cause.reason), ("about", cause.about), ("upTo", plan.up_to.to_string())],
        button: (!plan.rows.is_empty()).then(|| format!("Retry {what}")),
        is_destructive: false,
        back: "/attention".to_owned(),
    })
}

/// Does what was confirmed; what was parked since is left alone.
async fn act(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let Ok(up_to) = fields.text("upTo").parse() else { return Err(Problem::stale_version().into()) };
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    let retried = app.engine.retry_cause(&by, &cause_in(&fields), up_to).await?;
    see_other(&format!("/attention?done=retry.{retried}.0"))
}
