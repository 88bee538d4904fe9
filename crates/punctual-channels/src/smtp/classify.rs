//! Maps replies of the relay to outcomes; pure.

use punctual_model::{ReasonCode, SendOutcome};

use crate::text::tidy;

/// What came of an attempt that the relay answered with this code.
///
/// A 4xx may work later and a 5xx will not. Wrong credentials (535, 530) are permanent for the message too: they
/// are mended by an admin, not by time, and the reason says so.
pub fn classify(code: u16, text: &str) -> SendOutcome {
    let error = tidy(&format!("{code} {text}"));
    let reason = match code {
        200..=299 => return SendOutcome::Delivered { provider_id: error },
        500..=599 => match code {
            530 => ReasonCode::SmtpAuthRequired,
            534 | 535 | 538 => ReasonCode::SmtpAuthFailed,
            521 | 556 => ReasonCode::DomainTakesNoMail,
            552 if is_size(text) => ReasonCode::MessageTooLarge,
            552 => ReasonCode::MailboxFull,
            550 | 551 | 553 => ReasonCode::MailboxUnavailable,
            _ => ReasonCode::RejectedByRelay,
        },
        // 4xx, and whatever a confused relay may say.
        _ => return SendOutcome::Transient { error, retry_after: None },
    };
    SendOutcome::Permanent { reason, error }
}

/// How far a mail had got when the relay refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The greeting, signing in or the sender: the relay did not know yet who the mail is for.
    BeforeRecipient,
    OfMail,
}

/// What came of an attempt that was refused at this step. What a relay says before it knows the recipient says nothing of
/// their mailbox: it is the sender, or this server, that it does not take.
pub(super) fn at_step(code: u16, text: &str, step: Step) -> SendOutcome {
    match classify(code, text) {
        SendOutcome::Permanent {
            reason: ReasonCode::MailboxUnavailable | ReasonCode::MailboxFull | ReasonCode::DomainTakesNoMail,
            error,
        } if step == Step::BeforeRecipient => {
            SendOutcome::Permanent { reason: ReasonCode::RejectedByRelay, error }
        }
        outcome => outcome,
    }
}

/// 552 means a full mailbox or a large message; the enhanced code says which.
fn is_size(text: &str) -> bool {
    text.contains("5.3.4") || text.contains("5.2.3") || text.to_ascii_lowercase().contains("size")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_meaning() {
        for (code, text, expected) in [
            (250, "2.0.0 Ok: queued as 4F", "delivered"),
            (354, "go on", "transient"),
            (421, "4.3.2 shutting down", "transient"),
            (432, "4.7.12 password transition needed", "transient"),
            (450, "4.2.1 greylisted", "transient"),
            (451, "4.3.0 local error", "transient"),
            (452, "4.2.2 over quota", "transient"),
            (454, "4.7.0 TLS not available", "transient"),
            (455, "parameters", "transient"),
            (500, "syntax", "rejected-by-relay"),
            (501, "syntax in parameters", "rejected-by-relay"),
            (502, "not implemented", "rejected-by-relay"),
            (503, "bad sequence", "rejected-by-relay"),
            (504, "parameter not implemented", "rejected-by-relay"),
            (521, "does not accept mail", "domain-takes-no-mail"),
            (530, "5.7.0 authentication required", "smtp-auth-required"),
            (534, "mechanism too weak", "smtp-auth-failed"),
            (535, "5.7.8 credentials invalid", "smtp-auth-failed"),
            (538, "encryption required", "smtp-auth-failed"),
            (550, "5.1.1 no such user", "mailbox-unavailable"),
            (551, "not local", "mailbox-unavailable"),
            (552, "5.2.2 mailbox full", "mailbox-full"),
            (552, "5.3.4 message size exceeds limit", "message-too-large"),
            (553, "name not allowed", "mailbox-unavailable"),
            (554, "5.7.1 spam", "rejected-by-relay"),
            (555, "parameters not recognised", "rejected-by-relay"),
            (556, "5.1.10 null MX", "domain-takes-no-mail"),
        ] {
            let meaning = match classify(code, text) {
                SendOutcome::Delivered { .. } => "delivered".to_owned(),
                SendOutcome::Transient { error, .. } => {
                    assert!(error.starts_with(&code.to_string()));
                    "transient".to_owned()
                }
                SendOutcome::Permanent { reason, error } => {
                    assert_eq!(error, format!("{code} {text}"));
                    reason.to_string()
                }
                SendOutcome::Uncertain { .. } => "uncertain".to_owned(),
            };
            assert_eq!(meaning, expected, "{code} {text}");
        }
    }

    #[test]
    fn the_first_digit_decides_for_every_code() {
        for code in 0..=999 {
            let outcome = classify(code, "");
            match code / 100 {
                2 => assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{code}"),
                5 => assert!(matches!(outcome, SendOutcome::Permanent { .. }), "{code}"),
                _ => assert!(matches!(outcome, SendOutcome::Transient { .. }), "{code}"),
            }
        }
    }
}
