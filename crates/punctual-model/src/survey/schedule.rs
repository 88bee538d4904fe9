//! When the messages of an instance are due. A failed attempt moves nothing: only a message that arrived counts.

use jiff::{SignedDuration, Timestamp};

use super::{Schedule, SurveyTrigger};

/// What follows a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// When the next message is due; nothing once all of them are out.
    pub next_send_at: Option<Timestamp>,
    pub reminders_remaining: i64,
}

/// When the first message is due.
pub fn first_send(schedule: &Schedule, triggered_at: Timestamp) -> Timestamp {
    later(triggered_at, schedule.initial_delay)
}

/// The schedule after the message of this number (from 1) arrived.
pub fn advance(schedule: &Schedule, ordinal: i64, sent_at: Timestamp) -> Advance {
    let reminders = schedule.reminders.len();
    let sent = usize::try_from(ordinal).unwrap_or(usize::MAX);
    let next = sent.checked_sub(1).and_then(|reminder| schedule.reminders.get(reminder));
    Advance {
        next_send_at: next.map(|delay| later(sent_at, *delay)),
        reminders_remaining: i64::try_from(reminders.saturating_sub(sent)).unwrap_or(i64::MAX),
    }
}

/// When an instance with nothing left to send ends: after the grace time, counted from the last message that arrived, or
/// from when the first was due where none did.
pub fn expires_at(
    trigger: &SurveyTrigger,
    triggered_at: Timestamp,
    last_sent_at: Option<Timestamp>,
) -> Timestamp {
    later(last_sent_at.unwrap_or_else(|| first_send(&trigger.schedule, triggered_at)), trigger.grace)
}

/// Until when a message that was due then is worth sending.
pub fn latest_send(trigger: &SurveyTrigger, due_at: Timestamp) -> Timestamp {
    later(due_at, trigger.max_lateness)
}

fn later(at: Timestamp, by: std::time::Duration) -> Timestamp {
    SignedDuration::try_from(by).ok().and_then(|by| at.checked_add(by).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const DAY: u64 = 24 * 3_600;

    fn days(days: &[u64]) -> Vec<Duration> {
        days.iter().map(|days| Duration::from_secs(days * DAY)).collect()
    }

    #[test]
    fn r19_sixty_days_and_five_ten_fifteen_give_days_60_65_75_90() {
        let schedule = Schedule { initial_delay: days(&[60])[0], reminders: days(&[5, 10, 15]) };
        let triggered: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (mut due, mut ordinal, mut seen) = (Some(first_send(&schedule, triggered)), 0, Vec::new());
        let mut remaining = 3;
        while let Some(at) = due {
            seen.push((at.duration_since(triggered).as_secs() / DAY as i64, remaining));
            ordinal += 1;
            let after = advance(&schedule, ordinal, at);
            (due, remaining) = (after.next_send_at, after.reminders_remaining);
        }
        assert_eq!(seen, [(60, 3), (65, 2), (75, 1), (90, 0)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

        /// Every message is retried until it arrives, each failure putting it off: n reminders are n + 1 messages that
        /// arrived, at the written distance from the one before.
        #[test]
        fn r19_only_what_arrived_counts(
            initial in 0_u64..400_000,
            reminders in prop::collection::vec(0_u64..4_000_000, 0..=20),
            failures in prop::collection::vec(0_usize..4, 21),
            lag in 0_u64..5_000,
        ) {
            let schedule = Schedule {
                initial_delay: Duration::from_secs(initial),
                reminders: reminders.iter().map(|seconds| Duration::from_secs(*seconds)).collect(),
            };
            let start = Timestamp::from_second(1_750_000_000).unwrap();
            let mut due = Some(first_send(&schedule, start));
            let (mut ordinal, mut arrived, mut left) = (0_i64, Vec::new(), reminders.len() as i64);
            while let Some(at) = due {
                prop_assert_eq!(left, (reminders.len() as i64 - ordinal).max(0));
                // A failed attempt changes neither the number of the message nor what is left.
                let attempts = failures[ordinal as usize] as u64;
                let sent = at + SignedDuration::from_secs((attempts * 60 + lag) as i64);
                ordinal += 1;
                arrived.push(sent);
                let after = advance(&schedule, ordinal, sent);
                (due, left) = (after.next_send_at, after.reminders_remaining);
            }
            prop_assert_eq!(arrived.len(), reminders.len() + 1);
            // The oracle: add up.
            let mut expected = start.as_second() as u64 + initial;
            for (place, sent) in arrived.iter().enumerate() {
                expected += failures[place] as u64 * 60 + lag;
                prop_assert_eq!(sent.as_second() as u64, expected);
                expected += reminders.get(place).copied().unwrap_or(0);
            }
            prop_assert_eq!(left, 0);
        }
    }
}
