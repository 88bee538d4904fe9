//! Dates and lengths as calendar files write them.

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};
use punctual_model::local_time;

/// A date of a component: a day, or a local time in a zone.
#[derive(Clone, Debug)]
pub enum Dated {
    Day(Date),
    At { local: DateTime, zone: TimeZone },
}

impl Dated {
    /// `20260514T090000` in a zone.
    pub fn local(text: &str, zone: TimeZone) -> Option<Self> {
        let local = DateTime::strptime("%Y%m%dT%H%M%S", text).ok()?;
        Some(Self::At { local, zone })
    }

    pub fn at(&self) -> Timestamp {
        match self {
            Self::Day(day) => midnight(*day),
            Self::At { local, zone } => local_time::resolve(local.date(), local.time(), zone).at,
        }
    }

    /// The local date.
    pub fn date(&self) -> Date {
        match self {
            Self::Day(day) => *day,
            Self::At { local, .. } => local.date(),
        }
    }

    /// The same time of day on another day.
    pub fn on(&self, day: Date) -> Self {
        match self {
            Self::Day(_) => Self::Day(day),
            Self::At { local, zone } => Self::At { local: day.to_datetime(local.time()), zone: zone.clone() },
        }
    }

    pub fn is_day(&self) -> bool {
        matches!(self, Self::Day(_))
    }

    /// The name by which one date of a series is distinguished from the others.
    pub fn name(&self) -> String {
        match self {
            Self::Day(day) => day.strftime("%Y%m%d").to_string(),
            Self::At { .. } => self.at().strftime("%Y%m%dT%H%M%SZ").to_string(),
        }
    }
}

/// A date or time without its own zone, such as the end of a rule.
#[derive(Clone, Debug)]
pub enum Moment {
    Day(Date),
    Local(DateTime),
    Utc(Timestamp),
}

impl Moment {
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() == 8 {
            return Date::strptime("%Y%m%d", text).ok().map(Self::Day);
        }
        let local = |text: &str| DateTime::strptime("%Y%m%dT%H%M%S", text).ok();
        match text.strip_suffix(['Z', 'z']) {
            Some(text) => {
                let local = local(text)?;
                Some(Self::Utc(local_time::resolve(local.date(), local.time(), &TimeZone::UTC).at))
            }
            None => local(text).map(Self::Local),
        }
    }

    /// Whether a date lies behind it.
    pub fn is_before(&self, one: &Dated) -> bool {
        match (self, one) {
            (Self::Day(last), one) => one.date() > *last,
            (Self::Local(last), Dated::At { local, .. }) => local > last,
            (Self::Local(last), Dated::Day(day)) => *day > last.date(),
            (Self::Utc(last), one) => one.at() > *last,
        }
    }
}

pub fn midnight(day: Date) -> Timestamp {
    local_time::resolve(day, Time::midnight(), &TimeZone::UTC).at
}

/// A length such as `PT1H30M`, `P1D` or `P2W`.
pub fn duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text).strip_prefix('P')?;
    let mut seconds: i64 = 0;
    while !rest.is_empty() {
        rest = rest.strip_prefix('T').unwrap_or(rest);
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        let mut characters = rest[digits..].chars();
        let unit = match characters.next()? {
            'W' => 7 * 86_400,
            'D' => 86_400,
            'H' => 3_600,
            'M' => 60,
            'S' => 1,
            _ => return None,
        };
        seconds = number.checked_mul(unit).and_then(|part| seconds.checked_add(part))?;
        rest = characters.as_str();
    }
    Some(SignedDuration::from_secs(seconds))
}
