//! Recurrence rules (RFC 5545): computes dates, without the time of day.
//!
//! `FREQ` is DAILY, WEEKLY, MONTHLY or YEARLY, with `INTERVAL`, `BYDAY` (in months and years also as `1MO` or `-1FR`),
//! `BYMONTHDAY`, `BYMONTH`, `BYSETPOS`, `WKST`, `COUNT` and `UNTIL`. One engine for report cadences and calendar files: both
//! iterate over the periods of a rule, and each has its own restrictions and end.

use jiff::{
    Span, ToSpan,
    civil::{Date, Weekday},
};

mod read;
#[cfg(test)]
mod tests;

pub use read::{Unreadable, weekday};

/// How long a period is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// A rule that was read. Intervals, and what it leaves out, count from the date that it starts on (`first`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub frequency: Frequency,
    pub interval: i64,
    pub count: Option<usize>,
    /// The end as it is written.
    pub until: Option<String>,
    pub months: Vec<i8>,
    pub month_days: Vec<i8>,
    /// Which of the weekdays in the month or year, from its end if negative; each where none is named.
    pub weekdays: Vec<(Option<i8>, Weekday)>,
    pub positions: Vec<i8>,
    pub week_begins: Weekday,
}

/// A day, week, month or year of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    pub begins: Date,
    /// The days of the rule in it, in order.
    pub days: Vec<Date>,
}

impl Rule {
    /// The periods from the one that a date is in, or from the next where the rule leaves that one out.
    pub fn periods_from(&self, first: Date, date: Date) -> impl Iterator<Item = Period> + '_ {
        let start = -(-self.periods_between(first, date)).div_euclid(self.interval);
        (start..).map_while(move |n| self.period(first, n))
    }

    /// The periods up to the one that a date is in, the latest first.
    pub fn periods_until(&self, first: Date, date: Date) -> impl Iterator<Item = Period> + '_ {
        let start = self.periods_between(first, date).div_euclid(self.interval);
        (0..).map_while(move |back| self.period(first, start - back))
    }

    /// How many periods lie between those of two dates, counted without the interval.
    fn periods_between(&self, from: Date, to: Date) -> i64 {
        let days = |from: Date, to: Date| to.duration_since(from).as_hours() / 24;
        let months = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
        match self.frequency {
            Frequency::Daily => days(from, to),
            Frequency::Weekly => {
                days(week_start(from, self.week_begins), week_start(to, self.week_begins)) / 7
            }
            Frequency::Monthly => months(to) - months(from),
            Frequency::Yearly => i64::from(to.year()) - i64::from(from.year()),
        }
    }

    /// The nth period, counted from the one of the first date; none beyond the calendar.
    fn period(&self, first: Date, n: i64) -> Option<Period> {
        let steps = n.checked_mul(self.interval)?;
        let span = Span::new();
        let (begins, step) = match self.frequency {
            Frequency::Daily => (first, span.try_days(steps)),
            Frequency::Weekly => (week_start(first, self.week_begins), span.try_weeks(steps)),
            Frequency::Monthly => (first.first_of_month(), span.try_months(steps)),
            Frequency::Yearly => (first.first_of_year(), span.try_years(steps)),
        };
        let begins = begins.checked_add(step.ok()?).ok()?;
        let length = match self.frequency {
            Frequency::Daily => 1,
            Frequency::Weekly => 7,
            Frequency::Monthly => usize::from(begins.days_in_month().unsigned_abs()),
            Frequency::Yearly => usize::from(begins.days_in_year().unsigned_abs()),
        };
        let days = begins.series(1.day()).take(length).filter(|day| self.is_on(*day, first)).collect();
        Some(Period { begins, days: self.at_positions(days) })
    }

    /// The days at the positions that the rule names, or all of them.
    fn at_positions(&self, days: Vec<Date>) -> Vec<Date> {
        if self.positions.is_empty() {
            return days;
        }
        let is_wanted = |index: usize| {
            self.positions.iter().any(|position| {
                let place = usize::from(position.unsigned_abs());
                if *position > 0 { index + 1 == place } else { index + place == days.len() }
            })
        };
        days.iter().enumerate().filter(|(index, _)| is_wanted(*index)).map(|(_, day)| *day).collect()
    }

    fn is_on(&self, day: Date, first: Date) -> bool {
        (self.months.is_empty() || self.months.contains(&day.month()))
            && self.is_month_day(day, first)
            && self.is_weekday(day, first)
    }

    /// A month or year without days has the one that it starts on: 29 February in the years that have one.
    fn is_month_day(&self, day: Date, first: Date) -> bool {
        if !self.month_days.is_empty() {
            let from_end = day.day() - day.days_in_month() - 1;
            return self.month_days.iter().any(|wanted| [day.day(), from_end].contains(wanted));
        }
        let same_month = !self.months.is_empty() || day.month() == first.month();
        match self.frequency {
            _ if !self.weekdays.is_empty() => true,
            Frequency::Daily | Frequency::Weekly => true,
            Frequency::Monthly => day.day() == first.day(),
            Frequency::Yearly => day.day() == first.day() && same_month,
        }
    }

    fn is_weekday(&self, day: Date, first: Date) -> bool {
        if self.weekdays.is_empty() {
            return self.frequency != Frequency::Weekly || day.weekday() == first.weekday();
        }
        let is_nth = |nth: Option<i8>| nth.is_none_or(|nth| self.is_nth(day, nth));
        self.weekdays.iter().any(|(nth, weekday)| *weekday == day.weekday() && is_nth(*nth))
    }

    /// Whether a day is the nth of its weekday: in its year for a yearly rule without months, in its month for others, and
    /// always where a period is shorter.
    fn is_nth(&self, day: Date, nth: i8) -> bool {
        let (place, length) = match self.frequency {
            Frequency::Daily | Frequency::Weekly => return true,
            Frequency::Yearly if self.months.is_empty() => (day.day_of_year(), day.days_in_year()),
            Frequency::Monthly | Frequency::Yearly => (i16::from(day.day()), i16::from(day.days_in_month())),
        };
        let (from_start, from_end) = ((place - 1) / 7 + 1, -((length - place) / 7 + 1));
        [from_start, from_end].contains(&i16::from(nth))
    }
}

/// The first day of the week that a date is in.
pub fn week_start(date: Date, first: Weekday) -> Date {
    let back = i64::from(date.weekday().since(first));
    date.checked_sub(back.days()).unwrap_or(date)
}
