//! Maps responses of the broker to outcomes; pure.

use fe2o3_amqp::{
    connection::OpenError,
    link::{
        DetachError, LinkStateError, ReceiverAttachError, SendError, SenderAttachError, SessionStopReason,
    },
    types::{
        definitions::{AmqpError, Error, ErrorCondition, LinkError},
        messaging::Outcome,
    },
};
use punctual_model::ReasonCode;

use crate::broker::Failure;

/// What a disposition means.
pub(crate) fn disposition(outcome: Outcome) -> Result<(), Failure> {
    match outcome {
        Outcome::Accepted(_) => Ok(()),
        Outcome::Rejected(rejected) => Err(match rejected.error {
            Some(error) => said(&error),
            None => Failure::never(ReasonCode::RejectedByReceiver, "the broker rejected this message"),
        }),
        // Nothing was wrong with the message: nobody took it.
        Outcome::Released(_) => Err(Failure::Later("no queue takes this message".to_owned())),
        Outcome::Modified(modified) if modified.undeliverable_here == Some(true) => {
            Err(Failure::never(ReasonCode::RejectedByReceiver, "the broker cannot deliver this message here"))
        }
        Outcome::Modified(_) => Err(Failure::Later("the broker gave this message back".to_owned())),
    }
}

/// What an error that the broker names means.
fn said(error: &Error) -> Failure {
    let text = match &error.description {
        Some(description) => format!("{:?}: {description}", error.condition),
        None => format!("{:?}", error.condition),
    };
    match &error.condition {
        ErrorCondition::AmqpError(condition) => match condition {
            AmqpError::UnauthorizedAccess => Failure::never(ReasonCode::CredentialsRefused, text),
            AmqpError::NotFound | AmqpError::ResourceDeleted => {
                Failure::never(ReasonCode::AddressUnknown, text)
            }
            AmqpError::DecodeError
            | AmqpError::NotAllowed
            | AmqpError::InvalidField
            | AmqpError::NotImplemented
            | AmqpError::PreconditionFailed
            | AmqpError::FrameSizeTooSmall => Failure::never(ReasonCode::RejectedByReceiver, text),
            AmqpError::InternalError
            | AmqpError::ResourceLimitExceeded
            | AmqpError::ResourceLocked
            | AmqpError::IllegalState => Failure::Later(text),
        },
        ErrorCondition::LinkError(LinkError::MessageSizeExceeded) => {
            Failure::never(ReasonCode::MessageTooLarge, text)
        }
        ErrorCondition::LinkError(_)
        | ErrorCondition::ConnectionError(_)
        | ErrorCondition::SessionError(_) => Failure::Later(text),
        // A broker's own words, such as `com.microsoft:server-busy`: what they mean is not known, so it is retried.
        ErrorCondition::Custom(_) => Failure::Later(text),
    }
}

/// What it means when the connection is not opened.
pub(crate) fn not_let_in(fault: &OpenError) -> Failure {
    match fault {
        OpenError::SaslError { .. } => {
            Failure::never(ReasonCode::CredentialsRefused, "the broker refused the user name or the password")
        }
        OpenError::RemoteClosedWithError(error) => said(error),
        other => Failure::Later(format!("the broker cannot be reached: {other}")),
    }
}

/// What it means when there is no link to the address.
pub(crate) fn not_attached(fault: &SenderAttachError) -> Failure {
    match fault {
        SenderAttachError::RemoteClosedWithError(error)
        | SenderAttachError::SessionStopped(SessionStopReason::RemoteEndedWithError(error)) => said(error),
        other => Failure::Later(format!("no link to the address: {other}")),
    }
}

/// What it means when there is no link from the address.
pub(crate) fn not_received(fault: &ReceiverAttachError) -> Failure {
    match fault {
        ReceiverAttachError::RemoteClosedWithError(error)
        | ReceiverAttachError::SessionStopped(SessionStopReason::RemoteEndedWithError(error)) => said(error),
        other => Failure::Later(format!("no link from the address: {other}")),
    }
}

/// What an error in place of a disposition means.
pub(crate) fn refused(fault: &SendError) -> Failure {
    match fault {
        SendError::MessageSizeExceeded(size) => Failure::never(ReasonCode::MessageTooLarge, size.to_string()),
        SendError::LinkStateError(
            LinkStateError::RemoteClosedWithError(error)
            | LinkStateError::RemoteDetachedWithError(error)
            | LinkStateError::SessionStopped(SessionStopReason::RemoteEndedWithError(error)),
        )
        | SendError::Detached(
            DetachError::RemoteClosedWithError(error)
            | DetachError::RemoteDetachedWithError(error)
            | DetachError::SessionStopped(SessionStopReason::RemoteEndedWithError(error)),
        ) => match said(error) {
            // The link is gone, and with it the word about this message.
            Failure::Later(text) => Failure::Lost(text),
            never => never,
        },
        other => Failure::Lost(format!("the link broke before a disposition came: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use fe2o3_amqp::types::messaging::{Accepted, Modified, Rejected, Released};

    use super::*;

    fn rejected(condition: impl Into<ErrorCondition>) -> Failure {
        let error = Error::new(condition, "said".to_owned(), None);
        disposition(Outcome::Rejected(Rejected { error: Some(error) })).unwrap_err()
    }

    #[test]
    fn only_an_accepted_transfer_is_a_yes() {
        assert!(disposition(Outcome::Accepted(Accepted {})).is_ok());
        assert!(matches!(disposition(Outcome::Released(Released {})), Err(Failure::Later(_))));
        let modified = |here| Modified {
            delivery_failed: Some(true),
            undeliverable_here: here,
            message_annotations: None,
        };
        assert!(matches!(disposition(Outcome::Modified(modified(None))), Err(Failure::Later(_))));
        assert!(matches!(disposition(Outcome::Modified(modified(Some(true)))), Err(Failure::Never { .. })));
        let silent = disposition(Outcome::Rejected(Rejected { error: None }));
        assert!(matches!(silent, Err(Failure::Never { reason: ReasonCode::RejectedByReceiver, .. })));
    }

    #[test]
    fn a_rejection_is_final_or_not_by_its_condition() {
        for (condition, reason) in [
            (AmqpError::UnauthorizedAccess, ReasonCode::CredentialsRefused),
            (AmqpError::NotFound, ReasonCode::AddressUnknown),
            (AmqpError::ResourceDeleted, ReasonCode::AddressUnknown),
            (AmqpError::PreconditionFailed, ReasonCode::RejectedByReceiver),
            (AmqpError::DecodeError, ReasonCode::RejectedByReceiver),
        ] {
            assert!(matches!(rejected(condition), Failure::Never { reason: got, .. } if got == reason));
        }
        for condition in [AmqpError::InternalError, AmqpError::ResourceLimitExceeded] {
            assert!(matches!(rejected(condition), Failure::Later(text) if text.contains("said")));
        }
        let size = rejected(LinkError::MessageSizeExceeded);
        assert!(matches!(size, Failure::Never { reason: ReasonCode::MessageTooLarge, .. }));
    }
}
