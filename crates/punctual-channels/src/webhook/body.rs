//! The body of a webhook.

use base64::{Engine, engine::general_purpose::STANDARD};
use punctual_model::Outgoing;
use serde_json::{Value, json};

/// The JSON of a message; an event is sent just as it was given.
pub(crate) fn of(message: &Outgoing) -> Vec<u8> {
    if let ("event", Some(event)) = (message.kind.as_str(), &message.type_data) {
        return event.to_string().into_bytes();
    }
    let mut data = json!({
        "notificationId": message.notification.to_string(),
        "channel": message.channel.as_str(),
        "target": message.address,
        "subject": message.subject,
        "body": message.body,
    });
    if let Some(html) = &message.html {
        data["html"] = Value::from(html.as_str());
    }
    if let Some(type_data) = &message.type_data {
        data["typeData"] = type_data.clone();
    }
    if !message.attachments.is_empty() {
        let files = message.attachments.iter().map(|file| {
            let mut part = json!({
                "fileName": file.file_name,
                "mediaType": file.media_type,
                "contentBase64": STANDARD.encode(&file.content),
            });
            if let Some(id) = &file.content_id {
                part["contentId"] = id.as_str().into();
            }
            part
        });
        data["attachments"] = files.collect();
    }
    json!({"type": message.kind, "timestamp": message.at.to_string(), "data": data}).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use punctual_model::channel::Attachment;

    use super::*;

    /// The names of all members, by their place.
    fn members(value: &Value, place: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let place = format!("{place}/{name}");
                    members(value, &place, found);
                    found.insert(place);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| members(item, place, found)),
            _ => {}
        }
    }

    #[test]
    fn the_reference_page_has_the_body_that_is_sent() {
        let page = include_str!("../../../../docs/webhooks.md");
        let (_, example) = page.split_once("```json\n").unwrap();
        let (example, after) = example.split_once("\n```").unwrap();
        let content = b"x".to_vec();
        let file = |content_id| Attachment {
            file_name: "a.pdf".into(),
            media_type: "application/pdf".into(),
            content: content.clone(),
            content_id,
        };
        let message = |content_id| Outgoing {
            html: Some("<p>".into()),
            type_data: Some(json!({})),
            attachments: vec![file(content_id)],
            ..crate::test_message()
        };
        let all = |bytes: &[u8]| {
            let mut found = BTreeSet::new();
            members(&serde_json::from_slice(bytes).unwrap(), "", &mut found);
            found
        };
        let shown = all(example.as_bytes());
        assert_eq!(all(&of(&message(None))), shown);
        let more = all(&of(&message(Some("logo".into()))));
        let more: Vec<&String> = more.difference(&shown).collect();
        assert_eq!(more, ["/data/attachments/contentId"]);
        assert!(after.contains("`contentId`"));
    }
}
