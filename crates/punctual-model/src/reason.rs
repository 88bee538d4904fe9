//! Reason codes: why something did not go the ordinary way, in words that are stable and countable.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// A stable, short code such as `no-recipients` or `SourceNoLongerValid`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReasonCode(Cow<'static, str>);

impl ReasonCode {
    pub const fn new(code: &'static str) -> Self {
        Self(Cow::Borrowed(code))
    }
    pub fn owned(code: String) -> Self {
        Self(Cow::Owned(code))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&'static str> for ReasonCode {
    fn from(code: &'static str) -> Self {
        Self::new(code)
    }
}

/// The known codes in plain words, for people who have to decide something; `None` for a code that says it itself.
pub fn in_words(code: &str) -> Option<&'static str> {
    Some(match code {
        "ReminderSettingInactive" => "Its setting is switched off or gone",
        "SourceNoLongerValid" => "What it is about is no longer there or no longer counts",
        "applying" => "A change is being applied, batch by batch",
        "date-missing" => "The source has no such date",
        "date-unreadable" => "The date of the source cannot be read",
        "due-in-past" => "Its time was over before it could be sent",
        "filter-false" => "The filter of its setting does not match",
        "metric-missing" => "The measure cannot be worked out from the source",
        "no-longer-wanted" => "Another date or setting took its place",
        "other-business-unit" => "The setting is for another business unit",
        "quiet-hours" => "It waits for the end of the quiet hours",
        "suppressed" => "Everybody it was for is on the suppression list",
        "send-window" => "It waits until the channel's hours begin",
        "rate-limited" => "The channel has sent as much as it may; it waits for its turn",
        // Audit entries of earlier versions have `channel-resting`.
        "circuit-open" | "channel-resting" => {
            "The channel failed repeatedly; it waits until the channel works again"
        }
        "daily-cap" => "Its recipient had enough messages for a day; it is in their digest",
        "preference" => "Its recipient does not want it over this channel",
        "unsubscribed" => "Its recipient does not want this topic",
        "failed-over" => "One channel did not get it across, so the next one was taken",
        "superseded" => "A later change took its place",
        "threshold-not-met" => "The threshold is not met",
        "threshold-already-fired" => "It has been sent for this source before",
        "account-blocked" => "The provider has blocked the account or has no money left in it",
        "address_invalid" => "An address cannot be right",
        "already-delivered" => "It was sent before",
        "anchor-in-past" => "Its date had long passed when it was set",
        "attachment_invalid" => "An attachment cannot be sent",
        "business-unit-changed" => "Its source belongs to another business unit now",
        "cancelled" => "A person cancelled it",
        "certificate-invalid" => "The receiver's certificate is not valid",
        "content-refused" => "The provider refused the text",
        "credentials-refused" => "The provider did not accept the credentials",
        "delivery-failed" => "It could not be prepared for delivery: its row is at fault",
        "record-failed" => "The results of its calls could not be recorded",
        "sweep-failed" => "Its node is gone, and it could not be taken over",
        "claim-failed" => "It could not be taken up",
        "decision-failed" => "It could not be decided what to send",
        "domain-takes-no-mail" => "The domain takes no mail",
        "host-forbidden" | "url_forbidden" => "The address is not one that messages may go to",
        "input-conflict" => "Two different inputs were given under one key",
        "input-unreadable" => "What was stored for it cannot be read",
        "invalid-payload" => "What was scheduled cannot be read",
        "lease-expired" => "Whoever worked on it was gone",
        "list-unknown" => "There is no list of that name",
        "listener-failed" => "A listener failed",
        "mailbox-full" => "The mailbox is full",
        "mailbox-unavailable" => "There is no such mailbox",
        "message-missing" => "The message was removed",
        "message-too-large" => "The message is too large for the receiver",
        "moved" => "It was moved to another time",
        "not-delivered" => "The provider took it, and it did not arrive",
        "no-channel" => "There is no channel of that key",
        "secret-missing" => "The channel's secret is not where its settings say",
        "no-recipients" => "Nobody was left to send it to",
        "orphaned" => "No rule wanted it any more",
        "outcome-unknown" => "Nobody knows whether it arrived",
        "panic" => "A fault of the program stopped it",
        "phone_invalid" => "The number is no phone number with its country's code",
        "recipient-opted-out" => "The recipient does not want messages from this sender",
        "recipient-unreachable" => "The recipient cannot be reached over this channel",
        "redirect_not_followed" => "The receiver sent it elsewhere, and redirects are not followed",
        "site-never-called" => "Its agent has never called",
        "site-silent" => "Its agent has not called for a while",
        "rejected-by-receiver" => "The receiver refused it",
        "rejected-by-relay" => "The mail server refused it",
        "attachment-missing" => "A file that goes along is gone",
        "definition-invalid" => "Its definition cannot be read any more",
        "missed" => "Its time was over, and what is missed is left out",
        "ownership-conflict" => "Another scheduler owns this run",
        "report-empty" => "The report has no rows, and then it is not sent",
        "rolled-back" => "The run was given back to the old scheduler",
        "rollout-not-begun" => "Its move from the old scheduler has not begun",
        "shadow" => "It only shadows the old scheduler",
        "source-unavailable" => "The source of the report does not answer",
        "subscription-deleted" => "Its subscription was removed",
        "subscription-paused" => "Its subscription is paused",
        "rule-canceled" => "The rule for it was deleted",
        "rule-inactive" => "The rule for it is paused",
        "rule-missing" => "There is no rule for it",
        "retries-exhausted" => "All attempts failed",
        "secret_invalid" | "settings_invalid" => "The channel's settings cannot be used",
        "sender-invalid" => "The sender is not set up at the provider",
        "smtp-auth-failed" | "smtp-auth-required" => "The mail server did not accept the sign-in",
        "subject-missing" => "What it was about is gone",
        "subject_invalid" => "The subject cannot be sent",
        "owner-gone" => "Its owner is no longer among the people",
        "recipients-gone" => "Its list is gone or empty",
        "sync-failed" => "It could not be scheduled",
        "template-unusable" => "The template could not be filled in",
        "template-refused" => "The provider did not take the template",
        "told-another-way" => "Its people are told over another channel",
        "tls-not-offered" => "The mail server offers no encryption",
        "window-closed" => {
            "The recipient has not written within a day: only an approved template may be sent"
        }
        _ => return None,
    })
}
