//! The priority of a message: four names for people, a number in the table, and three classes for permits and slots.

use serde::{Deserialize, Serialize};

/// How many numbers a lane has. Messages of a business unit with its own share wait in its lane: their number is the lane times
/// this, plus that of their priority. Lane 0 is everybody's.
pub const LEVELS: i64 = 10;

/// What a producer says about a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Priority {
    /// Goes at once: no quiet hours, no cap, before everything else.
    Alarm,
    High,
    #[default]
    Normal,
    /// Goes when nothing else wants to.
    Campaign,
}

impl Priority {
    pub const ALL: [(&'static str, Self); 4] = [
        ("alarm", Self::Alarm),
        ("high", Self::High),
        ("normal", Self::Normal),
        ("campaign", Self::Campaign),
    ];

    /// As it is stored: lower is sooner.
    pub fn number(self) -> i64 {
        match self {
            Self::Alarm => 0,
            Self::High => 3,
            Self::Normal => 5,
            Self::Campaign => 8,
        }
    }

    /// The word for a stored number; numbers in between belong to the less urgent word. From [`LEVELS`] on a number also says
    /// in which lane a message waits.
    pub fn of(number: i64) -> Self {
        match if number < LEVELS { number } else { number % LEVELS } {
            ..=0 => Self::Alarm,
            1..=3 => Self::High,
            4..=7 => Self::Normal,
            _ => Self::Campaign,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alarm => "alarm",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Campaign => "campaign",
        }
    }
}

/// Who may have the last of something scarce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// Alarms and messages of high priority.
    Urgent,
    Ordinary,
    Campaign,
}

impl Urgency {
    /// The least urgent first.
    pub const ALL: [Self; 3] = [Self::Campaign, Self::Ordinary, Self::Urgent];

    pub fn of(priority: i64) -> Self {
        match Priority::of(priority) {
            Priority::Alarm | Priority::High => Self::Urgent,
            Priority::Normal => Self::Ordinary,
            Priority::Campaign => Self::Campaign,
        }
    }

    /// The highest number of the class: a claim up to it takes this class and what is more urgent.
    pub fn highest(self) -> i64 {
        match self {
            Self::Urgent => 3,
            Self::Ordinary => 7,
            Self::Campaign => 9,
        }
    }

    /// The lowest number of the class.
    pub fn lowest(self) -> i64 {
        match self {
            Self::Urgent => 0,
            Self::Ordinary => 4,
            Self::Campaign => 8,
        }
    }

    /// How much of `max` this class may use up: a part stays for what is more urgent, so that a campaign which has used a
    /// day's sends by ten o'clock does not keep back an alarm at eleven.
    pub fn share(self, max: i64) -> i64 {
        let kept = if max < 4 { 0 } else { (max / 10).max(1) };
        match self {
            Self::Urgent => max,
            Self::Ordinary => max - kept,
            Self::Campaign => (max - 2 * kept).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_number_and_its_class() {
        for (word, priority) in Priority::ALL {
            assert_eq!((Priority::of(priority.number()), priority.as_str()), (priority, word));
        }
        for number in -1..=9 {
            let class = Urgency::of(number);
            assert!((class.lowest()..=class.highest()).contains(&number.clamp(0, 9)), "{number}");
        }
    }

    #[test]
    fn a_lane_changes_nothing_about_how_urgent_a_message_is() {
        for (_, priority) in Priority::ALL {
            for lane in [1, 7, 1_000] {
                assert_eq!(Priority::of(lane * LEVELS + priority.number()), priority);
            }
        }
    }

    #[test]
    fn something_is_left_for_what_is_more_urgent_and_nobody_gets_nothing() {
        for max in 1..200 {
            let [campaign, ordinary, urgent] = Urgency::ALL.map(|urgency| urgency.share(max));
            assert!(1 <= campaign && campaign <= ordinary && ordinary <= urgent && urgent == max, "{max}");
            assert_eq!(max >= 4, ordinary < urgent, "{max}");
        }
    }
}
