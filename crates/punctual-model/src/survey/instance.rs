//! The status of an instance, and its transitions.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstanceStatus {
    /// Made, and nothing has arrived yet.
    Pending,
    /// At least one message arrived.
    Sent,
    /// The page was shown to a person.
    Opened,
    /// Answered.
    Completed,
    /// Nobody answered in time.
    Expired,
}

/// What can happen to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceEvent {
    Deliver,
    Open,
    Answer,
    Expire,
}

impl InstanceStatus {
    pub const ALL: [Self; 5] = [Self::Pending, Self::Sent, Self::Opened, Self::Completed, Self::Expired];
    /// Those in which messages are still sent and an answer is taken, listed one by one: a new one is a decision.
    pub const ACTIVE: [Self; 3] = [Self::Pending, Self::Sent, Self::Opened];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Opened => "opened",
            Self::Completed => "completed",
            Self::Expired => "expired",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    pub fn is_active(self) -> bool {
        Self::ACTIVE.contains(&self)
    }

    /// The state after `event`; nothing where it is not allowed. Every pair is spelled out.
    pub fn after(self, event: InstanceEvent) -> Option<Self> {
        use InstanceEvent as E;
        match (self, event) {
            (Self::Pending | Self::Sent, E::Deliver) => Some(Self::Sent),
            (Self::Opened, E::Deliver) => Some(Self::Opened),
            (Self::Pending | Self::Sent | Self::Opened, E::Open) => Some(Self::Opened),
            (Self::Pending | Self::Sent | Self::Opened, E::Answer) => Some(Self::Completed),
            (Self::Pending | Self::Sent | Self::Opened, E::Expire) => Some(Self::Expired),
            (Self::Completed | Self::Expired, E::Deliver | E::Open | E::Answer | E::Expire) => None,
        }
    }
}

impl fmt::Display for InstanceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_of_instance_transitions() {
        let letter = |status: InstanceStatus| &status.as_str()[..1];
        let events =
            [InstanceEvent::Deliver, InstanceEvent::Open, InstanceEvent::Answer, InstanceEvent::Expire];
        let table: Vec<String> = InstanceStatus::ALL
            .into_iter()
            .map(|from| events.into_iter().map(|event| from.after(event).map_or("-", letter)).collect())
            .collect();
        assert_eq!(table, ["soce", "soce", "ooce", "----", "----"]);
        for status in InstanceStatus::ALL {
            assert_eq!(InstanceStatus::parse(status.as_str()), Some(status));
            assert_eq!(status.is_active(), status.after(InstanceEvent::Answer).is_some());
        }
    }
}
