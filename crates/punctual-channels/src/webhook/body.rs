//! What a webhook says.

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
