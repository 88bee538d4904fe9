//! What must be there at the server before messages are taken: the stream, the durable consumer, and a stream for dead letters.

use async_nats::{Client, RequestErrorKind};
use punctual_model::ReasonCode;
use serde_json::{Value, json};

use super::NatsStream;
use crate::broker::Failure;

/// "consumer not found".
const CONSUMER_UNKNOWN: u64 = 10_014;
/// How long a message may be with a node before the server gives it to another one, in nanoseconds.
const ACK_WAIT: u64 = 30_000_000_000;

impl NatsStream {
    /// Dead letters must be kept, and must not come back as events.
    pub(super) async fn check_dead_letters(&self, client: &Client) -> Result<(), Failure> {
        let subject = self.dead_letter_subject.as_str();
        let answer = ask(client, "STREAM.NAMES", json!({ "subject": subject })).await?;
        refusal(&answer)?;
        let streams = answer.get("streams").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if streams.is_empty() {
            let detail = format!("no stream keeps the subject `{subject}` of dead letters");
            return Err(Failure::never(ReasonCode::SettingsInvalid, detail));
        }
        let is_own = streams.iter().any(|name| name.as_str() == Some(self.stream.as_str()));
        if is_own && self.subject.as_deref().is_none_or(|filter| matches(filter, subject)) {
            let detail = format!(
                "dead letters to `{subject}` would be read as events again; give `subject`, or another stream for them"
            );
            return Err(Failure::never(ReasonCode::SettingsInvalid, detail));
        }
        Ok(())
    }

    /// Uses the durable consumer that is there, or makes it. It starts with the first message of the stream.
    pub(super) async fn ensure_durable(&self, client: &Client) -> Result<(), Failure> {
        let Self { stream, durable, .. } = self;
        let found = ask(client, &format!("CONSUMER.INFO.{stream}.{durable}"), Value::Null).await?;
        if number(&found, "err_code") == CONSUMER_UNKNOWN {
            let mut config = json!({
                "durable_name": durable, "ack_policy": "explicit", "deliver_policy": "all", "ack_wait": ACK_WAIT,
            });
            if let Some(subject) = &self.subject {
                config["filter_subject"] = subject.as_str().into();
            }
            let wanted = json!({ "stream_name": stream, "config": config });
            let made = ask(client, &format!("CONSUMER.DURABLE.CREATE.{stream}.{durable}"), wanted).await?;
            return refusal(&made);
        }
        refusal(&found)?;
        self.check_durable(&found["config"])
    }

    fn check_durable(&self, config: &Value) -> Result<(), Failure> {
        let durable = &self.durable;
        let wrong = |detail: String| Err(Failure::never(ReasonCode::SettingsInvalid, detail));
        if config.get("deliver_subject").and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
            return wrong(format!(
                "the consumer `{durable}` at the server pushes messages; it must be a pull consumer"
            ));
        }
        if config.get("ack_policy").and_then(Value::as_str) != Some("explicit") {
            return wrong(format!(
                "the consumer `{durable}` at the server must have the ack policy `explicit`"
            ));
        }
        let filter = config.get("filter_subject").and_then(Value::as_str).unwrap_or_default();
        match &self.subject {
            Some(wanted) if filter != wanted => {
                wrong(format!("the consumer `{durable}` at the server reads `{filter}` and not `{wanted}`"))
            }
            _ => Ok(()),
        }
    }
}

async fn ask(client: &Client, what: &str, body: Value) -> Result<Value, Failure> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = client.request(format!("$JS.API.{what}"), body.into()).await;
    let answer = answer.map_err(|error| match error.kind() {
        RequestErrorKind::NoResponders => Failure::Later("JetStream is not there".to_owned()),
        _ => Failure::Lost(format!("the server did not answer {what}: {error}")),
    })?;
    serde_json::from_slice(&answer.payload)
        .map_err(|_| Failure::Unsure(format!("the answer to {what} is not from JetStream")))
}

fn number(answer: &Value, name: &str) -> u64 {
    answer.pointer(&format!("/error/{name}")).and_then(Value::as_u64).unwrap_or(0)
}

fn refusal(answer: &Value) -> Result<(), Failure> {
    if answer.get("error").is_none() {
        return Ok(());
    }
    let said = answer.pointer("/error/description").and_then(Value::as_str).unwrap_or("no reason given");
    let text =
        format!("JetStream answered {} ({}): {said}", number(answer, "code"), number(answer, "err_code"));
    Err(Failure::Later(text))
}

/// Whether a subject is one of those that a filter stands for.
fn matches(filter: &str, subject: &str) -> bool {
    let (mut filter, mut subject) = (filter.split('.'), subject.split('.'));
    loop {
        match (filter.next(), subject.next()) {
            (Some(">"), Some(_)) => return true,
            (Some(wanted), Some(word)) if wanted == "*" || wanted == word => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_stand_for_subjects() {
        for (filter, subject, expected) in [
            ("orders.new", "orders.new", true),
            ("orders.*", "orders.new", true),
            ("orders.>", "orders.new.eu", true),
            (">", "orders", true),
            ("orders.*", "orders", false),
            ("orders.>", "orders", false),
            ("orders.*", "orders.new.eu", false),
            ("orders.new", "orders.refused", false),
        ] {
            assert_eq!(matches(filter, subject), expected, "{filter} {subject}");
        }
    }
}
