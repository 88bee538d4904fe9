//! Titles of timeline steps; a step without a title does not compile.

use punctual_model::{AttemptOutcome, AuditAction, WorkStatus};
use serde_json::Value;

/// One kind of step, with what its title is made of.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Of a work row itself.
    Created {
        is_retry: bool,
    },
    Repeated,
    Now {
        status: WorkStatus,
        on_hold: bool,
    },
    /// Of the work behind a message.
    Planned,
    Due,
    EnqueuedAtSite {
        site: &'a str,
    },
    Queued,
    AttemptStarted {
        n: i64,
        target: &'a str,
    },
    AttemptEnded {
        n: i64,
        target: &'a str,
        outcome: AttemptOutcome,
    },
    TargetSkipped {
        target: &'a str,
    },
    Confirmed {
        target: &'a str,
    },
    NotDelivered {
        target: &'a str,
    },
    Complained {
        target: &'a str,
    },
    Audited {
        action: &'a str,
        data: &'a Value,
    },
    Delivered,
    Waiting,
}

impl Step<'_> {
    /// The word for programs.
    pub fn what(self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Repeated => "repeated",
            Self::Now { on_hold: true, .. } => "onHold",
            Self::Now { status, .. } => status.as_str(),
            Self::Planned => "workCreated",
            Self::Due => "workDecided",
            Self::EnqueuedAtSite { .. } => "enqueuedAtSite",
            Self::Queued => "queued",
            Self::AttemptStarted { .. } => "attemptStarted",
            Self::AttemptEnded { .. } => "attemptEnded",
            Self::TargetSkipped { .. } => "targetSkipped",
            Self::Confirmed { .. } => "confirmed",
            Self::NotDelivered { .. } => "notDelivered",
            Self::Complained { .. } => "complained",
            Self::Audited { .. } => "audit",
            Self::Delivered => "delivered",
            Self::Waiting => "waiting",
        }
    }

    /// The title for people.
    pub fn title(self) -> String {
        match self {
            Self::Created { is_retry: true } => "Created as a retry".to_owned(),
            Self::Created { is_retry: false } | Self::Planned => "Planned".to_owned(),
            Self::Repeated => "Repeated".to_owned(),
            Self::Now { on_hold: true, .. } => "On hold".to_owned(),
            Self::Now { status, .. } => now(status).to_owned(),
            Self::Due => "Due".to_owned(),
            Self::EnqueuedAtSite { site } => format!("Handed in at site {site}"),
            Self::Queued => "Queued".to_owned(),
            Self::AttemptStarted { n, target } => format!("Attempt {n} to {target} is under way"),
            Self::AttemptEnded { n, target, outcome } => {
                format!("Attempt {n} to {target}: {}", outcome.in_words())
            }
            Self::TargetSkipped { target } => format!("{target} was left out"),
            Self::Confirmed { target } => format!("Arrived at {target}"),
            Self::NotDelivered { target } => format!("Did not arrive at {target}"),
            Self::Complained { target } => format!("{target} called it spam"),
            Self::Audited { action, data } => audited(action, data),
            Self::Delivered => "Delivered".to_owned(),
            Self::Waiting => "Waits for its channel".to_owned(),
        }
    }
}

fn now(status: WorkStatus) -> &'static str {
    match status {
        WorkStatus::Pending => "Waiting",
        WorkStatus::Processing => "Taken",
        WorkStatus::Completed => "Completed",
        WorkStatus::Failed => "Failed",
        WorkStatus::Deactivated => "Skipped",
        WorkStatus::Cancelled => "Cancelled",
    }
}

/// An entry of the audit as a step of the row that it is about: shorter than its sentence where the timeline says the rest.
fn audited(action: &str, data: &Value) -> String {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let Ok(action) = action.parse::<AuditAction>() else { return action.to_owned() };
    let short = match action {
        AuditAction::Hold | AuditAction::Conflict => "Put on hold",
        AuditAction::Park => "Parked",
        AuditAction::Release => "Released",
        AuditAction::Discard => "Discarded",
        AuditAction::Withdraw => "Withdrawn",
        AuditAction::Deactivate => "Skipped",
        AuditAction::Note => "Noted",
        AuditAction::Acknowledge => "Seen",
        AuditAction::Defer => "Waits",
        AuditAction::FailOver => {
            return format!("Goes on over {} instead of {}", text("to"), text("from"));
        }
        AuditAction::LeaveOut => return format!("{} is left out", text("target")),
        other => other.sentence(),
    };
    short.to_owned()
}

/// Who did what an entry of the audit says, as people call them.
pub fn actor(name: &str) -> String {
    match name.split_once(':') {
        Some(("key", key)) => key.to_owned(),
        Some(("site", site)) => format!("site {site}"),
        Some(("consumer", key)) => format!("consumer {key}"),
        _ if name == "engine" => "Punctual itself".to_owned(),
        _ if name == "recipient" => "the recipient".to_owned(),
        _ if name == crate::keys::OPERATOR => "the operator at the command line".to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_act_has_a_title_in_words() {
        for action in AuditAction::all() {
            let data = json!({ "to": "sms:b", "from": "email:a", "target": "ann@example.org" });
            let title = Step::Audited { action: action.as_str(), data: &data }.title();
            assert_ne!(title, action.as_str());
            assert!(!title.ends_with('.') && !title.ends_with(' '), "{title}");
        }
    }

    #[test]
    fn whoever_acted_has_a_name() {
        let names = ["engine", "recipient", "key:billing", "ann@example.org", "site:plant-7"].map(actor);
        assert_eq!(names, ["Punctual itself", "the recipient", "billing", "ann@example.org", "site plant-7"]);
    }
}
