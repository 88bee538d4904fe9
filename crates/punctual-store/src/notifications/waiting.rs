//! Waiting and stuck are two things. A message that waits for an hour or for a slot under a limit waits by intention; a
//! stuck one should have been sent long ago. What waits for an open circuit waits because something is broken: it is stuck
//! when it is old enough.
//!
//! A row that waits for a slot of its channel is not touched while it waits, so its row does not say so. Whoever asks says
//! which channels hold their messages back by intention: a JSON object of the channel's key and the first priority (the
//! most urgent) that it holds back.

use jiff::Timestamp;
use punctual_model::NotificationStatus;

/// The reasons of rows that wait by intention.
pub const WAITS: [&str; 3] = ["quiet-hours", "send-window", "rate-limited"];
/// The reason of rows that wait because something is broken.
const BROKEN: &str = "circuit-open";

/// What counts as stuck: live, created and ready before this instant, and not held back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    pub before: i64,
    pub held_back: Option<String>,
}

/// Whether a live row is stuck, given whether its channel holds it back: the statement below, for one row.
pub fn is_stuck(
    before: Timestamp,
    status: NotificationStatus,
    created_at: Timestamp,
    ready_at: Timestamp,
    reason: Option<&str>,
    is_held_back: bool,
) -> bool {
    let fails = reason == Some(BROKEN)
        || status == NotificationStatus::Retrying && !reason.is_some_and(|reason| WAITS.contains(&reason));
    created_at < before && (ready_at < before || fails) && !is_held_back
}

macro_rules! waits {
    () => {
        "(reason_code IS NOT NULL AND reason_code IN ('quiet-hours', 'send-window', 'rate-limited'))"
    };
}

/// Whether the channel of a row holds it back.
macro_rules! held_back {
    ($held:literal) => {
        concat!(
            "priority % 10 >= COALESCE({sqlite ",
            $held,
            " ->> channel}{postgres (CAST(",
            $held,
            " AS TEXT)::jsonb ->> channel)::bigint}, 99)"
        )
    };
}

/// Whether a live row is stuck.
macro_rules! stuck {
    ($before:literal, $held:literal) => {
        concat!(
            "created_at < ",
            $before,
            " AND (ready_at < ",
            $before,
            " OR (status = 'retrying' AND NOT ",
            waits!(),
            ") OR (reason_code IS NOT NULL AND reason_code = 'circuit-open')) AND NOT (",
            held_back!($held),
            ")"
        )
    };
}

/// Whether a live row waits for something that passes by itself.
macro_rules! waiting {
    ($now:literal, $held:literal) => {
        concat!(
            "((",
            waits!(),
            " AND ready_at > ",
            $now,
            ") OR (ready_at <= ",
            $now,
            " AND ",
            held_back!($held),
            "))"
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_names_the_same_reasons() {
        let text = waits!();
        assert_eq!(text.matches('\'').count(), 2 * WAITS.len());
        assert!(WAITS.iter().all(|reason| text.contains(&format!("'{reason}'"))), "{text}");
    }
}
