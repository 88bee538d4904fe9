//! The metadata of a message: reply address, mail headers, and trace context.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Span, TraceParent};

/// What only the way of a message needs to know; most have nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// Where an answer to the mail goes, instead of to its sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Headers of the mail, each checked by [`check_header`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The trace of the request that made it, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// When that span was recorded here; nothing where another program's word is only passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced_at: Option<Timestamp>,
    /// What its workflow knows it by when it is called for attempts; callers neither set nor see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Which of its texts are templates, filled in with its context when it is sent. All others are sent as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inline: Vec<TextField>,
}

/// A text of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextField {
    Subject,
    Body,
    Html,
}

/// What a notification was made for, in the words of its workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The kind of the workflow.
    pub kind: String,
    pub topic: String,
    /// The definition that asked for it, such as the id of a rule.
    pub definition: String,
}

impl Envelope {
    /// The span that it belongs to and since when, where that is recorded here.
    pub fn trace(&self) -> Option<(TraceParent, Timestamp)> {
        let traced_at = self.traced_at?;
        Some((TraceParent::parse(self.traceparent.as_deref()?)?, traced_at))
    }

    /// What follows belongs to this span, if it is recorded.
    pub fn belongs_to(&mut self, span: &Span, now: Timestamp) {
        if let Some(context) = span.context() {
            (self.traceparent, self.traced_at) = (Some(context.to_string()), Some(now));
        }
    }

    pub fn is_empty(&self) -> bool {
        !self.is_for_mail() && self.traceparent.is_none() && self.origin.is_none() && self.inline.is_empty()
    }

    /// Whether it says something that only a mail can carry.
    pub fn is_for_mail(&self) -> bool {
        self.reply_to.is_some() || !self.headers.is_empty()
    }
}

/// The headers that a caller may set, beside `X-…`. All others are the channel's own.
pub const HEADERS: [&str; 4] = ["In-Reply-To", "References", "List-Id", "Auto-Submitted"];

/// How many headers one message may bring.
pub const HEADERS_MAX: usize = 20;

/// A header line is at most 998 bytes (RFC 5322, 2.1.1).
const LINE_MAX: usize = 998;

/// Why a header is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    #[error("a message may set `X-…`, `In-Reply-To`, `References`, `List-Id` and `Auto-Submitted`")]
    NotAllowed,
    #[error("the value of a header is one line of 1 to 998 visible ASCII characters and blanks")]
    Value,
}

/// Whether a caller may set this header to this value. Values that are not ASCII would have to be encoded, and each mail
/// program reads unknown headers in its own way.
pub fn check_header(name: &str, value: &str) -> Result<(), HeaderFault> {
    let is_own = |rest: &str| {
        (1..=70).contains(&rest.len())
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    let prefixed = name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("x-"));
    let allowed = if prefixed {
        name.get(2..).is_some_and(is_own)
    } else {
        HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    if !allowed {
        return Err(HeaderFault::NotAllowed);
    }
    let fits = (1..=LINE_MAX).contains(&value.len());
    let is_visible = value.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if fits && is_visible && value.trim() == value { Ok(()) } else { Err(HeaderFault::Value) }
}

/// The name of this header as it is always written: two spellings are one header.
pub fn canonical_header(name: &str) -> String {
    HEADERS.iter().find(|known| known.eq_ignore_ascii_case(name)).map_or_else(
        || name.split('-').map(capitalised).collect::<Vec<_>>().join("-"),
        |known| (*known).to_owned(),
    )
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_uppercase().to_string() + &letters.as_str().to_ascii_lowercase()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t09_only_harmless_headers_may_be_set() {
        for (name, value, expected) in [
            ("X-Ticket", "42", Ok(())),
            ("x-ticket_no", "a b", Ok(())),
            ("In-Reply-To", "<a@b.example>", Ok(())),
            ("references", "<a@b.example> <c@d.example>", Ok(())),
            ("List-Id", "News <news.example.com>", Ok(())),
            ("Auto-Submitted", "no", Ok(())),
            ("Subject", "x", Err(HeaderFault::NotAllowed)),
            ("Bcc", "x@y.example", Err(HeaderFault::NotAllowed)),
            ("Message-ID", "<a@b>", Err(HeaderFault::NotAllowed)),
            ("List-Unsubscribe", "<https://x.example>", Err(HeaderFault::NotAllowed)),
            ("X-", "1", Err(HeaderFault::NotAllowed)),
            ("X-A: b\r\nBcc", "1", Err(HeaderFault::NotAllowed)),
            ("X-Ä", "1", Err(HeaderFault::NotAllowed)),
            ("", "1", Err(HeaderFault::NotAllowed)),
            ("Ä", "1", Err(HeaderFault::NotAllowed)),
            ("X-A", "", Err(HeaderFault::Value)),
            ("X-A", "a\r\nBcc: x@y.example", Err(HeaderFault::Value)),
            ("X-A", "a\nb", Err(HeaderFault::Value)),
            ("X-A", "a\0b", Err(HeaderFault::Value)),
            ("X-A", "é", Err(HeaderFault::Value)),
            ("X-A", " a", Err(HeaderFault::Value)),
        ] {
            assert_eq!(check_header(name, value), expected, "{name:?} {value:?}");
        }
        assert_eq!(check_header("X-A", &"a".repeat(999)), Err(HeaderFault::Value));
    }

    #[test]
    fn two_spellings_are_one_header() {
        assert_eq!(canonical_header("x-tIcket-no"), "X-Ticket-No");
        assert_eq!(canonical_header("LIST-ID"), "List-Id");
        assert_eq!(canonical_header("in-reply-to"), "In-Reply-To");
    }
}
