//! Retrying and discarding parked notifications, one or a selection: first a page that says what will change, then the
//! button that does it.

use axum::extract::State;
use punctual_engine::{CommandError, EngineError, operate::NotificationAction};
use punctual_model::NotificationStatus;
use punctual_store::notifications::{self, Browse, Next};
use punctual_wire::{Code, Problem};

use super::filter::Filter;
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Act, Fields},
    frame::Visit,
    links,
    pages::confirm::{Confirm, Item},
    words::{self, counted},
};

/// Rows that are acted upon at once: one page, and then some.
const AT_ONCE: usize = 200;

/// What can be done with a parked notification.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Retry,
    Discard,
}

impl Action {
    fn read(fields: &Fields) -> Result<Self, Problem> {
        match fields.text("action") {
            "retry" => Ok(Self::Retry),
            "discard" => Ok(Self::Discard),
            _ => Err(Problem::new(Code::OutOfRange, "`action` is `retry` or `discard`.")),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Discard => "discard",
        }
    }

    fn on_row(self) -> NotificationAction {
        match self {
            Self::Retry => NotificationAction::Retry,
            Self::Discard => NotificationAction::Discard,
        }
    }
}

/// Rows by id and version, as the page showed them.
type Chosen = Vec<(String, i64)>;

/// The rows of a form: `id:version`.
fn chosen(fields: &Fields) -> Chosen {
    let pairs = fields.all("row").filter_map(|text| text.rsplit_once(':'));
    pairs.filter_map(|(id, version)| Some((id.to_owned(), version.parse().ok()?))).take(AT_ONCE).collect()
}

/// Where the reader came from.
fn back(fields: &Fields) -> String {
    Some(fields.text("back")).filter(|path| links::is_own_path(path)).unwrap_or("/outbox").to_owned()
}

/// Says what will change, with counts. It changes nothing.
pub async fn confirm(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let action = Action::read(&fields)?;
    let (chosen, there_are_more) = match matching(&app, &visit, &fields).await? {
        Some(found) => found,
        None => (chosen(&fields), false),
    };
    if chosen.is_empty() {
        return see_other(&back(&fields));
    }
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = notifications::by_ids(
        &mut reader.conn(),
        &visit.viewer.by.reach(),
        chosen.iter().map(|(id, _)| id.clone()).collect(),
    )
    .await?;
    drop(reader);
    let (ready, others): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row.status == NotificationStatus::Parked);
    let count = i64::try_from(ready.len()).unwrap_or(i64::MAX);
    let left = i64::try_from(chosen.len()).unwrap_or(i64::MAX) - count;
    let what = counted(count, "notification", "notifications");
    let (title, sentence, button) = match action {
        Action::Retry => (
            format!("Retry {what}?"),
            format!(
                "{what} will be sent at once, with a new count of attempts. Targets that accepted it get nothing again."
            ),
            format!("Retry {what}"),
        ),
        Action::Discard => (
            format!("Discard {what}?"),
            format!("{what} will never be sent. The rows stay, with who discarded them and why."),
            format!("Discard {what}"),
        ),
    };
    let items = ready.iter().map(|row| Item {
        link: format!("/notifications/{}", row.id),
        title: words::called(&row.subject, row.template.as_deref()),
        note: words::reason(row.reason_code.as_deref()),
        pill: words::notification(row.status),
    });
    let mut hidden = vec![("action", action.as_str().to_owned()), ("back", back(&fields))];
    hidden.extend(ready.iter().map(|row| ("row", format!("{}:{}", row.id, row.version))));
    page(&Confirm {
        frame: visit.frame(&app, &title, "/outbox").await?,
        sentence,
        left_alone: left_alone(left, !others.is_empty(), there_are_more),
        items: items.collect(),
        action: "/outbox/act",
        hidden,
        button: (count > 0).then_some(button),
        is_destructive: action == Action::Discard,
        back: back(&fields),
    })
}

fn left_alone(left: i64, others: bool, there_are_more: bool) -> Option<String> {
    if there_are_more {
        let most = words::grouped(i64::try_from(AT_ONCE).unwrap_or(i64::MAX));
        return Some(format!(
            "More match than can be changed at once ({most}). Repeat the action for the rest."
        ));
    }
    (left > 0 || others).then(|| {
        format!(
            "{} of those you chose {} not parked any more and will be left alone.",
            words::grouped(left),
            if left == 1 { "is" } else { "are" }
        )
    })
}

/// The parked rows that fit the filters of the list, and whether there are more, where all of them were chosen.
async fn matching(app: &App, visit: &Visit, fields: &Fields) -> Result<Option<(Chosen, bool)>, Refusal> {
    let Some((_, query)) = Some(fields.text("matching")).filter(|text| !text.is_empty()).map(split) else {
        return Ok(None);
    };
    let filter = Filter::read(&Fields::read(query.as_bytes()), &visit.zone);
    let blocked = app.engine.blocked_channels().await?;
    let mut browse = Browse { limit: AT_ONCE, ..filter.browse(blocked.stuck(), AT_ONCE) };
    if browse.status.is_some_and(|status| status != NotificationStatus::Parked) {
        return Ok(Some((Vec::new(), false)));
    }
    browse.status = Some(NotificationStatus::Parked);
    let mut reader = app.engine.store.read_for_people().await?;
    let found = notifications::browse(&mut reader.conn(), &visit.viewer.by.reach(), &browse).await?;
    let rows = found.rows.into_iter().filter(|row| visit.viewer.by.may_touch(row.business_unit.as_deref()));
    let rows = rows.map(|row| (row.id.to_string(), row.version)).collect();
    Ok(Some((rows, found.next != Next::End)))
}

/// An address and what stands behind its `?`.
fn split(address: &str) -> (&str, &str) {
    address.split_once('?').unwrap_or((address, ""))
}

/// Does what was confirmed; what has changed since is left alone.
pub async fn act(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let action = Action::read(&fields)?;
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    let (mut changed, mut left) = (0_usize, 0_usize);
    for (id, version) in chosen(&fields) {
        let done = match app.engine.act_on_notification(&by, action.on_row(), &id, Some(version)).await {
            Ok(_) => true,
            Err(CommandError::NotFound { .. } | CommandError::Stale) => false,
            Err(CommandError::Engine(EngineError::StateNotAllowed { .. } | EngineError::NotFound)) => false,
            Err(error) => return Err(error.into()),
        };
        if done { changed += 1 } else { left += 1 }
    }
    let path = back(&fields);
    let sign = if path.contains('?') { '&' } else { '?' };
    see_other(&format!("{path}{sign}done={}.{changed}.{left}", action.as_str()))
}

/// What an action did, from the address it led to: `done=retry.3.1`.
pub fn done(fields: &Fields) -> Option<String> {
    let mut parts = fields.text("done").split('.');
    let action = parts.next()?;
    let changed: i64 = parts.next()?.parse().ok()?;
    let left: i64 = parts.next()?.parse().ok()?;
    let messages = || counted(changed, "message", "messages");
    let work_rows = || counted(changed, "work row", "work rows");
    let mut text = match action {
        "retry" => format!("Retrying {}.", messages()),
        "discard" => format!("{} discarded.", messages()),
        "release" => format!("{} released.", work_rows()),
        "repeat" => format!("Retrying {}.", work_rows()),
        "cancel" => format!("{} cancelled.", work_rows()),
        "listed" => "The list exists now. Its messages can be retried.".to_owned(),
        _ => return None,
    };
    if left > 0 {
        text.push_str(&format!(
            " {} left alone: changed in the meantime.",
            counted(left, "row was", "rows were")
        ));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_an_action_is_shown_and_nothing_else() {
        let shown = |query: &str| done(&Fields::read(query.as_bytes()));
        assert_eq!(shown("done=retry.3.0").as_deref(), Some("Retrying 3 messages."));
        let both = shown("done=discard.1.2");
        assert_eq!(
            both.as_deref(),
            Some("1 message discarded. 2 rows were left alone: changed in the meantime.")
        );
        for odd in ["", "done=", "done=<b>.1.1", "done=retry.x.1", "done=retry.1"] {
            assert_eq!(shown(odd), None, "{odd}");
        }
    }
}
