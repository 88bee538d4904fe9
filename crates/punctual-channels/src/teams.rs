//! Microsoft Teams through a workflow that posts what its webhook receives: an Adaptive Card, at most 28 KB.
//!
//! The URL is the right to post: it is a secret, and a target is only a name. A workflow takes no idempotency key and
//! gives no id. Its yes means that the workflow has started.

use punctual_model::{AboutAdapter, Outgoing, ReasonCode, SendOutcome, Setting};
use serde_json::{Value, json};

use crate::{
    guard::{CheckedUrl, Guard},
    http::{Answer, Call, Meaning, by_status, failed},
    provider::{Provider, ProviderAdapter, TIMEOUT},
    room::{body_of, check_room, room_url, shortened},
    settings::Reader,
};

/// The adapter `teams`.
pub type TeamsAdapter = ProviderAdapter<Teams>;

/// Where workflows are started: Logic Apps, and their newer name in Power Platform.
const HOSTS: &[&str] = &["logic.azure.com", "environment.api.powerplatform.com"];
/// What Teams takes as one message.
const MOST_BYTES: usize = 28 * 1024;
/// How many lines a card has at most; each is its own element.
const MOST_LINES: usize = 200;

/// The settings of a channel into one conversation.
pub struct Teams {
    url: CheckedUrl,
}

impl Provider for Teams {
    const NAME: &'static str = "teams";
    const ABOUT: &'static AboutAdapter = &AboutAdapter {
        title: "Microsoft Teams",
        purpose: "posts into one conversation through a workflow",
        types: &["teams"],
        example: r#"{"url":"env:TEAMS_URL"}"#,
        settings: &[
            Setting::url(
                "url",
                "Workflow URL",
                "the URL of the workflow `Post to a channel when a webhook request is received`",
            )
            .required()
            .secret(),
            TIMEOUT,
        ],
    };
    /// Teams takes four messages a second for each webhook.
    const PERMITS: usize = 4;

    fn read(reader: &mut Reader<'_>, guard: &Guard) -> Option<Self> {
        Some(Self { url: room_url(reader, guard, HOSTS)? })
    }

    fn call(&self, message: &Outgoing) -> Result<Call, SendOutcome> {
        Ok(Call::new(self.url.clone(), "application/json", body(message)))
    }

    fn outcome(&self, answer: &Answer, message: &Outgoing) -> SendOutcome {
        classify(answer, &message.message_id)
    }

    fn check_address(address: &str) -> Result<(), String> {
        check_room(address)
    }
}

/// The message as a card that fits: a body that is too long loses its end, and says so.
fn body(message: &Outgoing) -> Vec<u8> {
    let whole = body_of(message);
    let mut most = whole.chars().count();
    loop {
        let body = card(message.subject.trim(), &shortened(&whole, most)).to_string().into_bytes();
        if body.len() <= MOST_BYTES || most == 0 {
            return body;
        }
        // What is over the limit goes, and a little more, because escapes are not spread evenly.
        most = (most * MOST_BYTES / body.len()).min(most - 1) * 9 / 10;
    }
}

fn card(subject: &str, text: &str) -> Value {
    let mut elements = Vec::new();
    if !subject.is_empty() {
        elements
            .push(line(&[json!({"type": "TextRun", "text": subject, "size": "medium", "weight": "bolder"})]));
    }
    let lines: Vec<&str> = text.lines().collect();
    let (shown, rest) = lines.split_at(lines.len().min(MOST_LINES));
    elements.extend(shown.iter().map(|text| line(&runs(text))));
    if !rest.is_empty() {
        elements.push(line(&[json!({"type": "TextRun", "text": rest.join(" ")})]));
    }
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": {"width": "Full"},
                "body": elements,
            },
        }],
    })
}

fn line(runs: &[Value]) -> Value {
    json!({"type": "RichTextBlock", "spacing": "small", "inlines": runs})
}

/// A line as plain text, which Teams does not read as markdown, with its links made into links.
fn runs(line: &str) -> Vec<Value> {
    let mut runs = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("https://") {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| c.is_whitespace() || "<>\"".contains(c)).unwrap_or(from.len());
        let link = from[..end].trim_end_matches(['.', ',', ')', ';', '!', '?']);
        if !before.is_empty() {
            runs.push(json!({"type": "TextRun", "text": before}));
        }
        let open = json!({"type": "Action.OpenUrl", "url": link});
        runs.push(json!({"type": "TextRun", "text": link, "color": "accent", "underline": true, "selectAction": open}));
        rest = &from[link.len()..];
    }
    if !rest.is_empty() || runs.is_empty() {
        // A run without text is refused by some clients; a blank keeps the empty line.
        runs.push(json!({"type": "TextRun", "text": if rest.is_empty() { " " } else { rest }}));
    }
    runs
}

/// What an answer of a workflow means.
pub fn classify(answer: &Answer, message_id: &str) -> SendOutcome {
    if answer.is_success() {
        return SendOutcome::Delivered { provider_id: message_id.to_owned() };
    }
    let body = answer.json();
    let said = match (body["error"]["code"].as_str(), body["error"]["message"].as_str()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        _ => answer.text.clone(),
    };
    let meaning = match (answer.status, body["error"]["code"].as_str().unwrap_or_default()) {
        (_, "WorkflowTriggerIsNotEnabled" | "WorkflowNotFound" | "TriggerNotFound") => {
            Meaning::Never(ReasonCode::RecipientUnreachable)
        }
        (_, "TriggerInputSchemaMismatch" | "InvalidRequestContent") => {
            Meaning::Never(ReasonCode::ContentRefused)
        }
        (404 | 410, _) => Meaning::Never(ReasonCode::RecipientUnreachable),
        (status, _) => by_status(status),
    };
    failed(answer, &said, meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_links_and_marks_stay_text() {
        let texts: Vec<String> = runs("See **https://x.example/a?b=1**, (https://y.example/).")
            .iter()
            .map(|run| {
                format!(
                    "{}{}",
                    run["text"].as_str().unwrap(),
                    if run["selectAction"].is_object() { "!" } else { "" }
                )
            })
            .collect();
        assert_eq!(texts, ["See **", "https://x.example/a?b=1**!", ", (", "https://y.example/!", ")."]);
        assert_eq!(runs("")[0]["text"], " ");
    }

    #[test]
    fn a_card_is_never_larger_than_teams_takes() {
        for text in ["x".repeat(100_000), "\"\u{1}\n".repeat(20_000), "ü\n".repeat(30_000), String::new()] {
            let made = card("Subject", &text).to_string().len();
            let mut message = crate::test_message();
            message.body = text;
            let body = body(&message);
            assert!(body.len() <= MOST_BYTES, "{}", body.len());
            let read: Value = serde_json::from_slice(&body).unwrap();
            let shown = read["attachments"][0]["content"]["body"].to_string();
            assert_eq!(made > MOST_BYTES, shown.contains("(shortened)"));
        }
    }
}
