//! Maps HTTP responses to outcomes; pure.

use std::time::Duration;

use jiff::Timestamp;
use punctual_model::{ReasonCode, SendOutcome};

use super::Answer;
use crate::text::tidy;

/// The longest wait that a receiver can ask for; the engine may cap it further.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// What a failure means for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It may work later.
    Later,
    /// It will not work later either, for this reason.
    Never(ReasonCode),
}

/// What came of a request to a receiver of which nothing is known but HTTP.
pub fn classify(answer: &Answer) -> SendOutcome {
    if answer.is_success() {
        return SendOutcome::Delivered { provider_id: answer.status.to_string() };
    }
    let meaning = match answer.status {
        410 => Meaning::Never(ReasonCode::Gone),
        408 | 429 | 500..=599 => Meaning::Later,
        400..=499 => Meaning::Never(ReasonCode::RejectedByReceiver),
        // Informational answers never end a request, and there is nothing beyond 599: whoever says so is no
        // receiver of ours today.
        _ => Meaning::Later,
    };
    failed(answer, &answer.text, meaning)
}

/// What the status of a provider's failure means where its own code says nothing better.
pub fn by_status(status: u16) -> Meaning {
    match status {
        401 | 403 => Meaning::Never(ReasonCode::CredentialsRefused),
        413 => Meaning::Never(ReasonCode::MessageTooLarge),
        408 | 429 => Meaning::Later,
        400..=499 => Meaning::Never(ReasonCode::RejectedByReceiver),
        _ => Meaning::Later,
    }
}

/// The outcome of a failure; `said` is the other side's own sentence. A redirect is one whatever else was said.
pub fn failed(answer: &Answer, said: &str, meaning: Meaning) -> SendOutcome {
    let status = answer.status;
    if (300..=399).contains(&status) {
        // The host alone: a location can carry secrets, and it is the receiver's text.
        let host = answer
            .header("location")
            .and_then(|target| reqwest::Url::parse(target).ok())
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_else(|| "another path of the same host".to_owned());
        let error = tidy(&format!("{status} redirect to {host} is not followed"));
        return SendOutcome::Permanent { reason: ReasonCode::RedirectNotFollowed, error };
    }
    let error = tidy(&format!("{status} {said}"));
    match meaning {
        Meaning::Later => SendOutcome::Transient { error, retry_after: answer.retry_after() },
        Meaning::Never(reason) => SendOutcome::Permanent { reason, error },
    }
}

/// A success without what every success of this provider has: from a proxy, or something else that accepts everything.
/// Nobody knows whether the message was taken.
pub fn not_understood(answer: &Answer, provider: &str) -> SendOutcome {
    let said = &answer.text;
    SendOutcome::Uncertain {
        error: tidy(&format!("{} and not an answer of {provider}: {said}", answer.status)),
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
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &'static str)]) -> Answer {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let at = "2026-11-03T08:00:00Z".parse().unwrap();
        Answer { status, headers, text: "said".to_owned(), is_cut: false, at }
    }

    #[test]
    fn every_status_has_one_meaning() {
        for status in 100..=999_u16 {
            let headers = [("retry-after", "7"), ("location", "https://other.example/x?token=1")];
            let meaning = match classify(&answer(status, &headers)) {
                SendOutcome::Delivered { .. } => "delivered".to_owned(),
                SendOutcome::Transient { retry_after, .. } => {
                    assert_eq!(retry_after, Some(Duration::from_secs(7)));
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
                300..=399 => "redirect-not-followed",
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
        let error = |headers: &[(&'static str, &'static str)]| match classify(&answer(302, headers)) {
            SendOutcome::Permanent { error, .. } => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            error(&[("location", "http://169.254.169.254/latest")]),
            "302 redirect to 169.254.169.254 is not followed"
        );
        for headers in [&[("location", "/elsewhere")][..], &[]] {
            assert_eq!(error(headers), "302 redirect to another path of the same host is not followed");
        }
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
