//! Maps responses of the broker to outcomes; pure.

use lapin::{Confirmation, Error, ErrorKind};
use punctual_model::ReasonCode;

use crate::broker::Failure;

/// What a confirm means.
pub(crate) fn confirmed(confirmation: &Confirmation) -> Result<(), Failure> {
    match confirmation {
        Confirmation::Ack(None) => Ok(()),
        // A queue that is not there now may be bound again, for example when its consumer is back.
        Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => Err(Failure::Later(
            format!("no queue takes this message: {} {}", returned.reply_code, returned.reply_text),
        )),
        Confirmation::Nack(None) => Err(Failure::Later("the broker rejected this message".to_owned())),
        Confirmation::NotRequested => Err(Failure::Unsure("the broker confirms nothing".to_owned())),
    }
}

/// What an error after the hand-over means.
pub(crate) fn refused(fault: &Error) -> Failure {
    let Some(code) = code(fault) else {
        return Failure::Lost(format!("the connection broke before a confirm came: {fault}"));
    };
    let text = fault.to_string();
    match code {
        311 => Failure::never(ReasonCode::MessageTooLarge, text),
        403 => Failure::never(ReasonCode::CredentialsRefused, text),
        404 => Failure::never(ReasonCode::ExchangeUnknown, text),
        // Syntax, not allowed, not implemented, a precondition.
        402 | 406 | 501..=540 => Failure::never(ReasonCode::RejectedByReceiver, text),
        // The broker is going down, or asks to use another one.
        _ => Failure::Lost(text),
    }
}

/// What an error in the handshake means. A broker that lets us not in often only hangs up.
pub(super) fn not_let_in(fault: &Error) -> Failure {
    match code(fault) {
        Some(403) => Failure::never(ReasonCode::CredentialsRefused, fault.to_string()),
        Some(402 | 530) => Failure::never(ReasonCode::SettingsInvalid, fault.to_string()),
        _ => Failure::Later(format!("the broker cannot be reached: {fault}")),
    }
}

/// The protocol's number of an error.
fn code(fault: &Error) -> Option<u16> {
    match fault.kind() {
        ErrorKind::ProtocolError(error) => Some(error.get_id()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lapin::protocol::AMQPError;

    use super::*;

    #[test]
    fn only_an_acknowledgement_of_a_routed_message_is_a_yes() {
        assert!(confirmed(&Confirmation::Ack(None)).is_ok());
        assert!(matches!(confirmed(&Confirmation::Nack(None)), Err(Failure::Later(_))));
        assert!(matches!(confirmed(&Confirmation::NotRequested), Err(Failure::Unsure(_))));
    }

    #[test]
    fn every_number_of_the_protocol_has_one_meaning() {
        let meaning = |code: u16| {
            let error = AMQPError::from_id(code, "said".into())?;
            Some(match refused(&ErrorKind::ProtocolError(error).into()) {
                Failure::Never { reason, .. } => reason.as_str(),
                Failure::Lost(_) => "lost",
                other => panic!("{other:?}"),
            })
        };
        for (code, expected) in [
            (311, "message-too-large"),
            (320, "lost"),
            (402, "rejected-by-receiver"),
            (403, "credentials-refused"),
            (404, "exchange-unknown"),
            (405, "lost"),
            (406, "rejected-by-receiver"),
            (501, "rejected-by-receiver"),
            (530, "rejected-by-receiver"),
            (540, "rejected-by-receiver"),
        ] {
            assert_eq!(meaning(code), Some(expected), "{code}");
        }
    }
}
