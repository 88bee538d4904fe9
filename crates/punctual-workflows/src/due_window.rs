//! The accepted range of requested due times, relative to now.

use jiff::{SignedDuration, Timestamp};

/// What is at most this late runs at once; what is later was forgotten long ago.
pub const LATEST: SignedDuration = SignedDuration::from_hours(24);
/// Nobody plans further ahead than ten years.
pub const FURTHEST: SignedDuration = SignedDuration::from_hours(24 * 3_653);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutsideWindow {
    #[error("the moment is more than 24 h ago; at the earliest it can be {earliest}")]
    TooOld { earliest: Timestamp },
    #[error("the moment is more than ten years ahead; at the latest it can be {latest}")]
    TooFar { latest: Timestamp },
}

pub fn check(now: Timestamp, at: Timestamp) -> Result<(), OutsideWindow> {
    let earliest = now.checked_sub(LATEST).unwrap_or(Timestamp::MIN);
    let latest = now.checked_add(FURTHEST).unwrap_or(Timestamp::MAX);
    if at < earliest {
        return Err(OutsideWindow::TooOld { earliest });
    }
    if at > latest {
        return Err(OutsideWindow::TooFar { latest });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_late_is_taken_and_ten_years_ahead_is_the_end() {
        let now: Timestamp = "2026-05-14T05:12:34Z".parse().unwrap();
        for good in ["2026-05-13T05:12:34Z", "2026-05-14T05:12:34Z", "2036-05-13T00:00:00Z"] {
            assert_eq!(check(now, good.parse().unwrap()), Ok(()), "{good}");
        }
        assert!(matches!(
            check(now, "2026-05-13T05:12:33Z".parse().unwrap()),
            Err(OutsideWindow::TooOld { .. })
        ));
        assert!(matches!(
            check(now, "2036-06-01T00:00:00Z".parse().unwrap()),
            Err(OutsideWindow::TooFar { .. })
        ));
    }

    #[test]
    fn the_page_of_messages_says_how_far() {
        let page = include_str!("../../../docs/messages.md");
        assert_eq!((LATEST.as_hours(), FURTHEST.as_hours() / 24 / 365), (24, 10));
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("up to 24 hours in the past runs at once"));
        assert!(page.contains("more than ten years ahead") && page.contains("`due_out_of_range`"));
    }
}
