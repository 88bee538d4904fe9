//! What saving a setting would do, as its editor shows it before it is done.

use askama::Template;
use jiff::civil::Date;
use punctual_workflows::reminders::{
    evaluate::Plan,
    outlook::{Expected, NAMED, Outlook},
};

use crate::{
    App,
    frame::Visit,
    times::When,
    words::{self, counted},
};

/// What a change comes to: rows that change, and messages by name and date.
#[derive(Template)]
#[template(path = "reminder_plan.html")]
pub struct PlanPart {
    sentence: String,
    tiles: Vec<(&'static str, String)>,
    matching: String,
    next: Vec<(String, When)>,
    past: Vec<(String, When)>,
    past_sentence: String,
    months: Vec<(String, u64)>,
    named: usize,
    cut: bool,
    is_unknown: bool,
}

impl PlanPart {
    pub fn new(plan: &Plan, outlook: Outlook, visit: &Visit, app: &App) -> Self {
        let number = |count: u64| words::grouped(i64::try_from(count).unwrap_or(i64::MAX));
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let now = Visit::now(app);
        let listed = |all: Vec<Expected>| -> Vec<(String, When)> {
            all.into_iter().map(|one| (one.title, visit.zone.when(one.due_at, now))).collect()
        };
        Self {
            sentence: match (plan.create, plan.deactivate, plan.moved) {
                (0, 0, 0) => "Every planned reminder stays as it is.".to_owned(),
                _ => "Saving does exactly this; what was sent stays on record.".to_owned(),
            },
            // What does not happen is not said, but that something is planned at all.
            tiles: [
                ("created", plan.create),
                ("withdrawn", plan.deactivate),
                ("moved", plan.moved),
                ("in a gap of the clock", plan.gap),
                ("in a doubled hour", plan.overlap),
            ]
            .into_iter()
            .filter(|(name, count)| *count > 0 || *name == "created")
            .map(|(name, count)| (name, number(count)))
            .collect(),
            matching: format!(
                "It applies to {} of {}.",
                number(outlook.matching),
                counted(count(outlook.sources), "source of this kind", "sources of this kind")
            ),
            past_sentence: format!("{}.", counted(count(outlook.past_count), "message", "messages")),
            months: outlook
                .past_by_month
                .into_iter()
                .map(|(month, count)| (in_words(month), count))
                .collect(),
            next: listed(outlook.next),
            past: listed(outlook.past),
            named: NAMED,
            cut: outlook.cut,
            is_unknown: outlook.is_unknown,
        }
    }
}

/// `2026-10` as people write it: `Oct 2026`.
fn in_words(month: String) -> String {
    let first: Option<Date> = format!("{month}-01").parse().ok();
    first.map_or(month, |first| first.strftime("%b %Y").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_written_as_people_do() {
        assert_eq!(in_words("2026-10".to_owned()), "Oct 2026");
        assert_eq!(in_words("later".to_owned()), "later");
    }
}
