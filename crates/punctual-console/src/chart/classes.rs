//! What the bars of a chart are divided by: how something ended, the channel, or the cause. No class stands for several: each is
//! a link to exactly its rows.

use punctual_model::NotificationStatus;
use punctual_store::notifications::NO_REASON;

use super::{Figure, ended};
use crate::{
    figures::{Group, Interval},
    words,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Outcome,
    Channel,
    Cause,
}

impl By {
    pub const ALL: [Self; 3] = [Self::Outcome, Self::Channel, Self::Cause];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Channel => "channel",
            Self::Cause => "cause",
        }
    }

    /// As the address has it; by outcome where it says nothing.
    pub fn read(text: &str) -> Self {
        Self::ALL.into_iter().find(|by| by.as_str() == text).unwrap_or(Self::Outcome)
    }
}

/// A part of every bar.
pub struct Class {
    of: Of,
    pub name: String,
    /// The class of its colour.
    pub style: &'static str,
    /// The one channel that the whole chart is about.
    only: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
enum Of {
    Outcome(Outcome),
    Channel(String),
    /// Delivered has no cause; what was not delivered has one, or none is known.
    Cause(NotificationStatus, Option<String>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Delivered,
    SetAside,
    Parked,
}

impl Outcome {
    fn of(status: NotificationStatus) -> Self {
        use NotificationStatus::{Delivered, Discarded, Parked, Pending, Retrying, Withdrawn};
        match status {
            Delivered => Self::Delivered,
            Withdrawn | Discarded => Self::SetAside,
            Parked | Pending | Retrying => Self::Parked,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::SetAside => "set-aside",
            Self::Parked => "parked",
        }
    }
}

/// Colours of classes that have none of their own; where there are more classes, they begin again.
const SERIES: [&str; 8] = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];

impl Class {
    fn has(&self, group: &Group) -> bool {
        self.of == of_group(group, by_of(&self.of))
    }

    /// How many of an interval are of this class.
    pub fn count(&self, interval: &Interval) -> i64 {
        interval.count(|group| self.has(group))
    }

    /// The rows that it counts.
    pub fn link(&self, interval: &Interval) -> String {
        let (status, cause, channel) = match &self.of {
            Of::Outcome(outcome) => (outcome.as_str(), "", ""),
            Of::Channel(channel) => ("", "", channel.as_str()),
            Of::Cause(status @ NotificationStatus::Delivered, _) => (status.as_str(), "", ""),
            Of::Cause(status, cause) => (status.as_str(), cause.as_deref().unwrap_or(NO_REASON), ""),
        };
        let channel = self.only.as_deref().unwrap_or(channel);
        ended(interval, &[("status", status), ("cause", cause), ("channel", channel)])
    }

    /// Its count in an interval, with the rows.
    pub fn figure(&self, interval: &Interval) -> Figure {
        Figure { count: self.count(interval), link: self.link(interval) }
    }

    /// The same where every row is of one channel.
    #[must_use]
    pub fn only(self, channel: &str) -> Self {
        Self { only: Some(channel.to_owned()), ..self }
    }
}

fn by_of(of: &Of) -> By {
    match of {
        Of::Outcome(_) => By::Outcome,
        Of::Channel(_) => By::Channel,
        Of::Cause(..) => By::Cause,
    }
}

fn of_group(group: &Group, by: By) -> Of {
    match by {
        By::Outcome => Of::Outcome(Outcome::of(group.status)),
        By::Channel => Of::Channel(group.channel.clone()),
        By::Cause if group.status == NotificationStatus::Delivered => Of::Cause(group.status, None),
        By::Cause => Of::Cause(group.status, group.cause.clone()),
    }
}

/// The classes of what ended, those with most first; by outcome always the same three, in the order of their bars.
pub fn classes(intervals: &[Interval], by: By) -> Vec<Class> {
    if by == By::Outcome {
        let class = |outcome, name: &str, style| Class {
            of: Of::Outcome(outcome),
            name: name.to_owned(),
            style,
            only: None,
        };
        return vec![
            class(Outcome::Delivered, "delivered", "good"),
            class(Outcome::SetAside, "set aside", "aside"),
            class(Outcome::Parked, "parked", "bad"),
        ];
    }
    let mut sums: Vec<(Of, i64)> = Vec::new();
    for (group, count) in intervals.iter().flat_map(|interval| &interval.groups) {
        let of = of_group(group, by);
        match sums.iter_mut().find(|(known, _)| *known == of) {
            Some((_, sum)) => *sum += count,
            None => sums.push((of, *count)),
        }
    }
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    let named = |(n, (of, _)): (usize, (Of, i64))| {
        let series = SERIES[n % SERIES.len()];
        let (name, style) = match &of {
            Of::Channel(channel) => (channel.clone(), series),
            Of::Cause(NotificationStatus::Delivered, _) => ("delivered".to_owned(), "good"),
            Of::Cause(status, cause) => {
                let word = words::notification(*status).word;
                let why = match cause {
                    Some(code) => words::reason(Some(code)),
                    None => "no reason is known".to_owned(),
                };
                (format!("{word}: {}", why.trim_end_matches('.')), series)
            }
            Of::Outcome(outcome) => (outcome.as_str().to_owned(), series),
        };
        Class { of, name, style, only: None }
    };
    sums.into_iter().enumerate().map(named).collect()
}
