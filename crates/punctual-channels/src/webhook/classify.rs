//! What an HTTP answer means for the message: plain values in, an outcome out.

use std::time::Duration;

use jiff::Timestamp;
use punctual_model::{ReasonCode, SendOutcome};

use crate::text::tidy;

/// The longest wait that a receiver can ask for; the engine may cap it further.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// What came of a request that was answered.
pub fn classify(
    status: u16,
    said: &str,
    retry_after: Option<Duration>,
    location: Option<&str>,
) -> SendOutcome {
    let error = tidy(&format!("{status} {said}"));
    let permanent =
        |reason: &'static str, error| SendOutcome::Permanent { reason: ReasonCode::new(reason), error };
    match status {
        200..=299 => SendOutcome::Delivered { provider_id: status.to_string() },
        300..=399 => {
            // The host alone: a location can carry secrets, and it is the receiver's text.
            let host = location
                .and_then(|target| reqwest::Url::parse(target).ok())
                .and_then(|url| url.host_str().map(str::to_owned))
                .unwrap_or_else(|| "another path of the same host".to_owned());
            permanent("redirect_not_followed", tidy(&format!("{status} redirect to {host} is not followed")))
        }
        410 => permanent("gone", error),
        408 | 429 | 500..=599 => SendOutcome::Transient { error, retry_after },
        400..=499 => permanent("rejected-by-receiver", error),
        // Informational answers never end a request, and there is nothing beyond 599: whoever says so is no
        // receiver of webhooks today.
        _ => SendOutcome::Transient { error, retry_after },
    }
}

/// How long a receiver wants to be left alone, in seconds or until an HTTP date.
pub fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
            // A moment that has passed means: at once.
            Duration::try_from(until.duration_since(now)).unwrap_or_default()
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_one_meaning() {
        for status in 100..=999_u16 {
            let wait = Some(Duration::from_secs(7));
            let meaning = match classify(status, "said", wait, Some("https://other.example/x?token=1")) {
                SendOutcome::Delivered { .. } => "delivered".to_owned(),
                SendOutcome::Transient { retry_after, .. } => {
                    assert_eq!(retry_after, wait);
                    "transient".to_owned()
                }
                SendOutcome::Permanent { reason, error } => {
                    assert!(!error.contains("token"), "{error}");
                    reason.to_string()
                }
                SendOutcome::Uncertain { .. } => "uncertain".to_owned(),
            };
            let expected = match status {
                200..=299 => "delivered",
                300..=399 => "redirect_not_followed",
                410 => "gone",
                408 | 429 => "transient",
                400..=499 => "rejected-by-receiver",
                _ => "transient",
            };
            assert_eq!(meaning, expected, "{status}");
        }
    }

    #[test]
    fn a_redirect_names_the_host_and_nothing_more() {
        let error = |location| match classify(302, "", None, location) {
            SendOutcome::Permanent { error, .. } => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            error(Some("http://169.254.169.254/latest")),
            "302 redirect to 169.254.169.254 is not followed"
        );
        assert_eq!(
            error(Some("/elsewhere")),
            "302 redirect to another path of the same host is not followed"
        );
        assert_eq!(error(None), "302 redirect to another path of the same host is not followed");
    }

    #[test]
    fn a_wait_is_seconds_or_a_date_and_has_a_cap() {
        let now: Timestamp = "2026-11-03T08:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Tue, 03 Nov 2026 08:02:00 GMT", Some(120)),
            ("Tue, 03 Nov 2026 07:00:00 GMT", Some(0)),
            ("99999999", Some(86_400)),
            ("18446744073709551616", None),
            ("soon", None),
            ("-5", None),
            ("", None),
        ] {
            assert_eq!(retry_after(text, now).map(|wait| wait.as_secs()), expected, "{text}");
        }
    }
}
