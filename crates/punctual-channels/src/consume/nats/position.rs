//! Where in its stream a message is: JetStream says it in the subject for the acknowledgement.

use jiff::Timestamp;

/// What the subject for the acknowledgement of a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub stream: String,
    /// The message's number in the stream.
    pub sequence: u64,
    /// When the stream stored it.
    pub stored_at: Option<Timestamp>,
    /// Messages of the stream that come after it.
    pub pending: u64,
}

impl Position {
    /// `$JS.ACK.stream.consumer.delivered.sequence.number.time.pending`; newer servers have domain and account before the stream,
    /// and may add more at the end.
    pub(super) fn read(subject: &str) -> Option<Self> {
        let rest = subject.strip_prefix("$JS.ACK.")?;
        let tokens: Vec<&str> = rest.split('.').collect();
        let tokens = if tokens.len() >= 9 { &tokens[2..] } else { &tokens[..] };
        let [stream, _consumer, _delivered, sequence, _number, time, pending, ..] = tokens else {
            return None;
        };
        Some(Self {
            stream: (*stream).to_owned(),
            sequence: sequence.parse().ok()?,
            stored_at: time.parse().ok().and_then(|nanos: i128| Timestamp::from_nanosecond(nanos).ok()),
            pending: pending.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_where_a_message_is() {
        let expected = Position {
            stream: "ORDERS".into(),
            sequence: 42,
            stored_at: "2026-05-14T05:12:34Z".parse().ok(),
            pending: 7,
        };
        for subject in [
            "$JS.ACK.ORDERS.punctual.1.42.9.1778735554000000000.7",
            "$JS.ACK._.ACC.ORDERS.punctual.1.42.9.1778735554000000000.7",
            "$JS.ACK.hub.ACC.ORDERS.punctual.1.42.9.1778735554000000000.7.random",
        ] {
            assert_eq!(Position::read(subject).as_ref(), Some(&expected), "{subject}");
        }
        for other in ["$JS.ACK.ORDERS.punctual.1", "_INBOX.1", "$JS.ACK.S.c.1.x.9.1.7"] {
            assert_eq!(Position::read(other), None, "{other}");
        }
    }
}
