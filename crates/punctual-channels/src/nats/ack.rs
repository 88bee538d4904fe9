//! Maps responses of JetStream to outcomes; pure.

use punctual_model::{ReasonCode, SendOutcome};
use serde_json::Value;

use crate::{broker::Failure, text::tidy};

/// Reads an acknowledgement; the id is the stream's name and the message's number in it. A repeat that the stream
/// dropped has the number of the first one.
pub(crate) fn read(payload: &[u8]) -> Result<String, Failure> {
    let answer: Value = serde_json::from_slice(payload).unwrap_or_default();
    if let Some(error) = answer.get("error") {
        let number = |name: &str| error.get(name).and_then(Value::as_u64).unwrap_or(0);
        let said = error.get("description").and_then(Value::as_str).unwrap_or("no reason given");
        let text = format!("JetStream answered {} ({}): {said}", number("code"), number("err_code"));
        return Err(match (number("code"), number("err_code")) {
            (_, TOO_LARGE) => Failure::never(ReasonCode::MessageTooLarge, text),
            (_, OTHER_STREAM) => Failure::never(ReasonCode::SettingsInvalid, text),
            (400..=499, _) => Failure::never(ReasonCode::RejectedByReceiver, text),
            // A stream that is full or has no leader now.
            _ => Failure::Later(text),
        });
    }
    match (answer.get("stream").and_then(Value::as_str), answer.get("seq").and_then(Value::as_u64)) {
        (Some(stream), Some(number)) => Ok(format!("{stream}:{number}")),
        _ => Err(Failure::Unsure(format!(
            "the answer is not from JetStream: {}",
            String::from_utf8_lossy(&payload[..payload.len().min(200)])
        ))),
    }
}

/// "message size exceeds maximum allowed".
const TOO_LARGE: u64 = 10_054;
/// "expected stream does not match".
const OTHER_STREAM: u64 = 10_060;

/// What silence means, given what the server said beside it.
pub(super) fn silence(error: String, complaint: Option<String>, subject: &str) -> SendOutcome {
    let Some(complaint) = complaint else { return SendOutcome::Uncertain { error } };
    let lower = complaint.to_ascii_lowercase();
    if lower.contains("permissions violation for publish")
        && lower.contains(&format!("\"{}\"", subject.to_ascii_lowercase()))
    {
        return SendOutcome::Permanent {
            reason: ReasonCode::CredentialsRefused,
            error: tidy(&format!("the server forbids to publish here: {complaint}")),
        };
    }
    SendOutcome::Uncertain { error: tidy(&format!("{error}; the server said: {complaint}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_names_the_stream_and_the_number() {
        assert_eq!(read(br#"{"stream":"SURVEYS","seq":7}"#).unwrap(), "SURVEYS:7");
        assert_eq!(read(br#"{"stream":"SURVEYS","seq":7,"duplicate":true}"#).unwrap(), "SURVEYS:7");
    }

    #[test]
    fn a_refusal_is_final_or_not_by_its_code() {
        let answer = |code: u64, inner: u64| {
            let text = format!(r#"{{"error":{{"code":{code},"err_code":{inner},"description":"said"}}}}"#);
            read(text.as_bytes()).unwrap_err()
        };
        assert!(matches!(answer(503, 10_077), Failure::Later(text) if text.ends_with("said")));
        assert!(matches!(answer(503, 10_008), Failure::Later(_)));
        assert!(matches!(answer(400, 10_054), Failure::Never { reason: ReasonCode::MessageTooLarge, .. }));
        assert!(matches!(answer(400, 10_060), Failure::Never { reason: ReasonCode::SettingsInvalid, .. }));
        assert!(matches!(answer(400, 10_003), Failure::Never { reason: ReasonCode::RejectedByReceiver, .. }));
    }

    #[test]
    fn an_answer_of_somebody_else_is_neither_yes_nor_no() {
        for text in [&b"pong"[..], b"", b"{}", br#"{"stream":"S"}"#, &[0xff; 1_000]] {
            assert!(matches!(read(text), Err(Failure::Unsure(_))), "{text:?}");
        }
    }

    #[test]
    fn silence_after_a_refusal_to_publish_is_final() {
        let silence = |complaint: Option<&str>| {
            silence("no answer".into(), complaint.map(str::to_owned), "surveys.answers")
        };
        let refused = "Permissions Violation for Publish to \"surveys.answers\"";
        assert!(matches!(silence(Some(refused)), SendOutcome::Permanent { .. }));
        let other = "Permissions Violation for Publish to \"surveys.other\"";
        assert!(matches!(silence(Some(other)), SendOutcome::Uncertain { error } if error.contains("other")));
        assert_eq!(silence(None), SendOutcome::Uncertain { error: "no answer".into() });
    }
}
