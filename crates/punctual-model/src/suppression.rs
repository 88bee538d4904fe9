//! Suppressed addresses and their reasons.

use crate::ReasonCode;

/// Why an address is on the suppression list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SuppressionReason {
    /// The address does not exist: what is sent there comes back.
    HardBounce,
    /// Its owner called a message spam.
    Complaint,
    /// A person put it there.
    Manual,
    /// Its owner wants no more of this.
    Unsubscribed,
}

impl SuppressionReason {
    pub const ALL: [Self; 4] = [Self::HardBounce, Self::Complaint, Self::Manual, Self::Unsubscribed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::HardBounce => "hardBounce",
            Self::Complaint => "complaint",
            Self::Manual => "manual",
            Self::Unsubscribed => "unsubscribed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// The same for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::HardBounce => "messages to it came back",
            Self::Complaint => "its owner complained",
            Self::Manual => "a person put it there",
            Self::Unsubscribed => "its owner wants no more messages",
        }
    }
}

/// The type of a channel: the part before the colon of its key.
pub fn channel_type(channel: &str) -> &str {
    channel.split(':').next().unwrap_or(channel)
}

/// What a refusal at sending says about the address itself, if anything.
///
/// Only certain refusals count: a misconfigured mail server refuses everybody, mostly with its own 550, and that must not end
/// up as a list of everybody.
pub fn after_refusal(reason: ReasonCode, said: &str) -> Option<SuppressionReason> {
    match reason {
        ReasonCode::RecipientOptedOut => Some(SuppressionReason::Unsubscribed),
        ReasonCode::MailboxUnavailable | ReasonCode::DomainTakesNoMail if names_no_mailbox(said) => {
            Some(SuppressionReason::HardBounce)
        }
        _ => None,
    }
}

/// The enhanced status codes (RFC 3463, RFC 7505) that speak of the mailbox: no such one, no such domain, moved away,
/// takes no mail, is closed.
const NO_MAILBOX: &[&str] = &["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"];
/// What servers without enhanced codes say of it.
const IN_WORDS: &[&str] = &[
    "user unknown",
    "unknown user",
    "no such user",
    "no such mailbox",
    "mailbox not found",
    "unknown recipient",
    "recipient unknown",
    "does not exist",
    "no mailbox here",
];

fn names_no_mailbox(said: &str) -> bool {
    let codes = said.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter(|word| is_enhanced(word));
    let mut found = false;
    for code in codes {
        if NO_MAILBOX.contains(&code) {
            return true;
        }
        found = true;
    }
    let said = said.to_lowercase();
    // A code that says something else (5.7.1: policy) is believed more than words.
    !found && IN_WORDS.iter().any(|words| said.contains(words))
}

fn is_enhanced(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    parts.len() == 3 && parts[0] == "5" && parts.iter().all(|part| part.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_as_they_are_written() {
        for reason in SuppressionReason::ALL {
            assert_eq!(SuppressionReason::parse(reason.as_str()), Some(reason));
        }
        assert_eq!(SuppressionReason::parse("bored"), None);
    }

    #[test]
    fn the_type_of_a_channel_stands_before_the_colon() {
        assert_eq!(channel_type("email:default"), "email");
        assert_eq!(channel_type("email"), "email");
    }

    #[test]
    fn only_a_refusal_of_the_mailbox_itself_counts() {
        let hard = Some(SuppressionReason::HardBounce);
        for (reason, said, expected) in [
            (ReasonCode::MailboxUnavailable, "550 5.1.1 <a@b.example>: user unknown", hard),
            (ReasonCode::MailboxUnavailable, "550 5.1.10 null MX", hard),
            (ReasonCode::DomainTakesNoMail, "556 5.1.10 null MX", hard),
            (ReasonCode::MailboxUnavailable, "550 5.2.1 mailbox disabled", hard),
            (ReasonCode::MailboxUnavailable, "550 No such user here", hard),
            (ReasonCode::MailboxUnavailable, "550 5.7.1 relaying denied, user unknown to us", None),
            (ReasonCode::MailboxUnavailable, "550 relay not permitted", None),
            (ReasonCode::MailboxUnavailable, "550 5.1.11 odd", None),
            (ReasonCode::MailboxFull, "552 5.2.2 mailbox full", None),
            (ReasonCode::RejectedByRelay, "554 5.1.1 whatever", None),
            (ReasonCode::RecipientOptedOut, "21610 unsubscribed", Some(SuppressionReason::Unsubscribed)),
            (ReasonCode::RecipientUnreachable, "30003 unreachable", None),
            (ReasonCode::CredentialsRefused, "535 5.7.8 no", None),
        ] {
            assert_eq!(after_refusal(reason, said), expected, "{reason}: {said}");
        }
    }
}
