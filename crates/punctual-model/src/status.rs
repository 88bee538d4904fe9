//! The statuses of work and notifications, and their only transitions.
//!
//! SQL writes only the transitions that these functions allow; a test checks every pair of status and event.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// The status of a work row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkStatus {
    Pending,
    Processing,
    Completed,
    Failed,
    Deactivated,
    Cancelled,
}

/// What can happen to a work row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEvent {
    /// Someone wants the row to exist (again).
    Ensure,
    Claim,
    Complete,
    Fail,
    /// Decided at due time that nothing is to be sent, or no longer wanted.
    Deactivate,
    /// Queued again: deferred, retried later, lease expired, released by a stopping node.
    Requeue,
    /// A person stops it.
    Cancel,
    /// A person asks for another attempt of a row that ended without completing.
    Retry,
}

/// An event that this state does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a row that is {from} cannot take {event}")]
pub struct NotAllowed<S: fmt::Display, E: fmt::Display> {
    pub from: S,
    pub event: E,
}

impl WorkStatus {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Processing, Self::Completed, Self::Failed, Self::Deactivated, Self::Cancelled];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Deactivated => "deactivated",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// The state after `event`, or a refusal. Every pair is spelled out.
    pub fn after(self, event: WorkEvent) -> Result<Self, NotAllowed<Self, WorkEvent>> {
        use WorkEvent as E;
        use WorkStatus::*;
        match (self, event) {
            (Pending, E::Ensure) => Ok(Pending),
            (Pending, E::Claim) => Ok(Processing),
            (Pending, E::Deactivate) => Ok(Deactivated),
            (Pending, E::Cancel) => Ok(Cancelled),
            (Pending, E::Complete | E::Fail | E::Requeue | E::Retry) => Err(NotAllowed { from: self, event }),

            (Processing, E::Ensure) => Ok(Processing), // left alone: the claim under way decides on fresh state
            (Processing, E::Complete) => Ok(Completed),
            (Processing, E::Fail) => Ok(Failed),
            (Processing, E::Deactivate) => Ok(Deactivated),
            (Processing, E::Requeue) => Ok(Pending),
            (Processing, E::Claim | E::Cancel | E::Retry) => Err(NotAllowed { from: self, event }),

            (Completed, E::Ensure) => Ok(Completed), // returns the first coordinates, sends nothing
            (
                Completed,
                E::Claim | E::Complete | E::Fail | E::Deactivate | E::Requeue | E::Cancel | E::Retry,
            ) => Err(NotAllowed { from: self, event }),

            (Failed, E::Ensure | E::Retry) => Ok(Pending),
            (Failed, E::Cancel) => Ok(Cancelled),
            (Failed, E::Deactivate) => Ok(Deactivated),
            (Failed, E::Claim | E::Complete | E::Fail | E::Requeue) => Err(NotAllowed { from: self, event }),

            (Deactivated, E::Ensure | E::Retry) => Ok(Pending),
            (Deactivated, E::Deactivate) => Ok(Deactivated),
            (Deactivated, E::Claim | E::Complete | E::Fail | E::Requeue | E::Cancel) => {
                Err(NotAllowed { from: self, event })
            }

            (Cancelled, E::Ensure | E::Retry) => Ok(Pending), // ensure revives it only for a person
            (Cancelled, E::Cancel) => Ok(Cancelled),
            (Cancelled, E::Claim | E::Complete | E::Fail | E::Deactivate | E::Requeue) => {
                Err(NotAllowed { from: self, event })
            }
        }
    }

    /// Nothing happens to it any more by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::Processing)
    }
}

impl WorkEvent {
    pub const ALL: [Self; 8] = [
        Self::Ensure,
        Self::Claim,
        Self::Complete,
        Self::Fail,
        Self::Deactivate,
        Self::Requeue,
        Self::Cancel,
        Self::Retry,
    ];
}

/// The status of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotificationStatus {
    Pending,
    Retrying,
    Delivered,
    Parked,
    Withdrawn,
    Discarded,
}

/// What can happen to a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationEvent {
    Deliver,
    /// An attempt failed and another is planned.
    FailTransient,
    /// It waits for an hour, a slot or another channel, or its node gives it back: nothing has failed.
    Requeue,
    /// It continues over another channel, where its attempts are counted again.
    FailOver,
    /// A permanent failure, or no attempts left.
    Park,
    /// Its reason went away.
    Withdraw,
    /// A person asks for another attempt.
    Retry,
    /// A person gives it up.
    Discard,
}

impl NotificationStatus {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Retrying, Self::Delivered, Self::Parked, Self::Withdrawn, Self::Discarded];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Retrying => "retrying",
            Self::Delivered => "delivered",
            Self::Parked => "parked",
            Self::Withdrawn => "withdrawn",
            Self::Discarded => "discarded",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// The state after `event`, or a refusal. Every pair is spelled out.
    pub fn after(self, event: NotificationEvent) -> Result<Self, NotAllowed<Self, NotificationEvent>> {
        use NotificationEvent as E;
        use NotificationStatus::*;
        match (self, event) {
            (Pending | Retrying, E::Deliver) => Ok(Delivered),
            (Pending | Retrying, E::FailTransient) => Ok(Retrying),
            (Pending, E::Requeue) => Ok(Pending),
            (Retrying, E::Requeue) => Ok(Retrying),
            (Pending | Retrying, E::FailOver) => Ok(Pending),
            (Pending | Retrying, E::Park) => Ok(Parked),
            (Pending | Retrying, E::Withdraw) => Ok(Withdrawn),
            (Pending | Retrying, E::Retry | E::Discard) => Err(NotAllowed { from: self, event }),

            (Parked, E::Retry) => Ok(Pending),
            (Parked, E::Discard) => Ok(Discarded),
            (Parked, E::Withdraw) => Ok(Withdrawn),
            (Parked, E::Deliver | E::FailTransient | E::Requeue | E::FailOver | E::Park) => {
                Err(NotAllowed { from: self, event })
            }

            (
                Delivered | Withdrawn | Discarded,
                E::Deliver
                | E::FailTransient
                | E::Requeue
                | E::FailOver
                | E::Park
                | E::Withdraw
                | E::Retry
                | E::Discard,
            ) => Err(NotAllowed { from: self, event }),
        }
    }

    /// It is sent, or will be.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Retrying)
    }

    /// Nothing happens to it any more by itself.
    pub fn is_final(self) -> bool {
        !self.is_live()
    }
}

impl NotificationEvent {
    pub const ALL: [Self; 8] = [
        Self::Deliver,
        Self::FailTransient,
        Self::Requeue,
        Self::FailOver,
        Self::Park,
        Self::Withdraw,
        Self::Retry,
        Self::Discard,
    ];
}

/// The words of the API, which are those of the database.
impl From<NotificationStatus> for Cow<'_, str> {
    fn from(status: NotificationStatus) -> Self {
        Self::Borrowed(status.as_str())
    }
}

impl From<WorkStatus> for Cow<'_, str> {
    fn from(status: WorkStatus) -> Self {
        Self::Borrowed(status.as_str())
    }
}

macro_rules! display_by_debug {
    ($($event:ty),*) => { $(
        impl fmt::Display for $event {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&format!("{self:?}").to_lowercase())
            }
        }
    )* };
}
display_by_debug!(WorkStatus, WorkEvent, NotificationStatus, NotificationEvent);

#[cfg(test)]
mod tests {
    use super::*;

    /// One line a state, one letter an event: the first letter of the state it leads to, `-` where it is refused.
    #[test]
    fn the_whole_table_of_work_transitions() {
        // Ensure, Claim, Complete, Fail, Deactivate, Requeue, Cancel, Retry; k is cancelled, r is processing.
        let letter = |status: WorkStatus| match status {
            WorkStatus::Pending => 'p',
            WorkStatus::Processing => 'r',
            WorkStatus::Completed => 'c',
            WorkStatus::Failed => 'f',
            WorkStatus::Deactivated => 'd',
            WorkStatus::Cancelled => 'k',
        };
        let table: Vec<String> = WorkStatus::ALL
            .into_iter()
            .map(|from| {
                WorkEvent::ALL.into_iter().map(|event| from.after(event).map_or('-', letter)).collect()
            })
            .collect();
        assert_eq!(table, ["pr--d-k-", "r-cfdp--", "c-------", "p---d-kp", "p---d--p", "p-----kp"]);
    }

    #[test]
    fn the_whole_table_of_notification_transitions() {
        // Deliver, FailTransient, Requeue, FailOver, Park, Withdraw, Retry, Discard; k is parked, x is discarded.
        let letter = |status: NotificationStatus| match status {
            NotificationStatus::Pending => 'p',
            NotificationStatus::Retrying => 'r',
            NotificationStatus::Delivered => 'd',
            NotificationStatus::Parked => 'k',
            NotificationStatus::Withdrawn => 'w',
            NotificationStatus::Discarded => 'x',
        };
        let table: Vec<String> = NotificationStatus::ALL
            .into_iter()
            .map(|from| {
                NotificationEvent::ALL
                    .into_iter()
                    .map(|event| from.after(event).map_or('-', letter))
                    .collect()
            })
            .collect();
        assert_eq!(table, ["drppkw--", "drrpkw--", "--------", "-----wpx", "--------", "--------"]);
    }

    #[test]
    fn names_are_read_back() {
        for status in WorkStatus::ALL {
            assert_eq!(WorkStatus::parse(status.as_str()), Some(status));
        }
        for status in NotificationStatus::ALL {
            assert_eq!(NotificationStatus::parse(status.as_str()), Some(status));
        }
    }
}
