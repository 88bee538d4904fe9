//! Slack through an incoming webhook. Its URL is the right to post: it is a secret, and a target is only a name.
//!
//! Slack takes no idempotency key and gives no id of the message.

use punctual_model::{AboutAdapter, Outgoing, ReasonCode, SendOutcome, Setting};
use serde_json::json;

use crate::{
    guard::{CheckedUrl, Guard},
    http::{Answer, Call, Meaning, by_status, failed, not_understood},
    provider::{Provider, ProviderAdapter, TIMEOUT},
    room::{body_of, check_room, room_url, shortened},
    settings::Reader,
};

/// The adapter `slack`.
pub type SlackAdapter = ProviderAdapter<Slack>;

const HOSTS: &[&str] = &["hooks.slack.com", "hooks.slack-gov.com"];
/// Slack cuts a text off here without a word.
const MOST_CHARACTERS: usize = 40_000;

/// The settings of a channel into one room of Slack.
pub struct Slack {
    url: CheckedUrl,
}

impl Provider for Slack {
    const NAME: &'static str = "slack";
    const ABOUT: &'static AboutAdapter = &AboutAdapter {
        title: "Slack",
        purpose: "posts into one room through an incoming webhook",
        types: &["slack"],
        example: r#"{"url":"env:SLACK_URL"}"#,
        settings: &[
            Setting::url(
                "url",
                "Webhook URL",
                "the URL of an incoming webhook, https://hooks.slack.com/services/…",
            )
            .required()
            .secret(),
            TIMEOUT,
        ],
    };
    /// Slack takes about one message a second for each webhook, with short bursts.
    const PERMITS: usize = 2;

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        Some(Self { url: room_url(reader, guard, HOSTS)? })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        Ok(Call::json(self.url.clone(), &json!({ "text": text(message) })))
    }

    fn outcome(&self, answer: &Answer, message: &Outgoing) -> SendOutcome {
        classify(answer, &message.message_id)
    }

    fn check_address(address: &str) -> Result<(), String> {
        check_room(address)
    }
}

/// The subject in bold and the body, as they are: Slack's own marks in them are only text.
fn text(message: &Outgoing) -> String {
    let (subject, body) = (escaped(message.subject.trim()), escaped(&body_of(message)));
    let whole = match (subject.is_empty(), body.is_empty()) {
        (true, _) => body,
        (false, true) => format!("*{subject}*"),
        (false, false) => format!("*{subject}*\n{body}"),
    };
    shortened(&whole, MOST_CHARACTERS)
}

/// The three characters that begin links, mentions and entities.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// What an answer of Slack's means: one word in plain text.
pub fn classify(answer: &Answer, message_id: &str) -> SendOutcome {
    let word = answer.text.trim();
    if answer.is_success() {
        return if word.eq_ignore_ascii_case("ok") {
            SendOutcome::Delivered { provider_id: message_id.to_owned() }
        } else {
            not_understood(answer, "Slack")
        };
    }
    let meaning = match word {
        "rollup_error" | "rate_limited" | "ratelimited" => Meaning::Later,
        "invalid_payload" | "no_text" | "too_many_attachments" | "invalid_blocks" => {
            Meaning::Never(ReasonCode::ContentRefused)
        }
        "channel_not_found" | "channel_is_archived" | "user_not_found" => {
            Meaning::Never(ReasonCode::RecipientUnreachable)
        }
        "action_prohibited" | "posting_to_general_channel_denied" => {
            Meaning::Never(ReasonCode::RejectedByReceiver)
        }
        "invalid_token" | "no_active_hooks" | "no_service" | "no_service_id" | "no_team"
        | "team_disabled" => Meaning::Never(ReasonCode::CredentialsRefused),
        _ => by_status(answer.status),
    };
    failed(answer, word, meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_slack_are_only_text() {
        assert_eq!(escaped("<!channel> & <https://x|y>"), "&lt;!channel&gt; &amp; &lt;https://x|y&gt;");
    }
}
