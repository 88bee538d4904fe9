//! The cadence of a report: a cron pattern or a recurrence rule, in local time.
//!
//! Patterns only yield local times; `local_time` converts them to instants. A time that the zone skips therefore moves forward
//! by the gap, and one that occurs twice counts once.

use jiff::{
    SignedDuration, Span, Timestamp,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};
use punctual_model::{
    Fault,
    local_time::{self, Adjustment, DATE_YEARS},
};

use super::{cron::Cron, rule::DayRule};

/// The zone where neither the cadence nor its unit names one.
pub(super) const DEFAULT_ZONE: &str = "UTC";
/// By how much local times near a change of the clock may swap places as instants, with room to spare.
const WINDOW_HOURS: i64 = 3;
/// How far ahead the first occurrence is looked for; a pattern without one until then never fires.
const SEARCHED_YEARS: i64 = 40;
/// Occurrences that are checked to see how often a cadence fires.
const SAMPLE: usize = 100;

/// A cadence in its zone.
#[derive(Clone, Debug)]
pub struct Cadence {
    rule: Rule,
    pub zone: TimeZone,
    pub zone_name: String,
    /// It fires more than once on some local date.
    pub within_days: bool,
}

#[derive(Clone, Debug)]
enum Rule {
    Cron(Cron),
    Days { days: DayRule, at: Time },
}

/// One time at which a report is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub at: Timestamp,
    /// The local time that the pattern names.
    pub asked: DateTime,
    /// Why it is at another local time, or the first of two.
    pub adjusted: Option<Adjustment>,
}

/// A cadence as it is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written<'a> {
    pub cron: Option<&'a str>,
    pub rrule: Option<&'a str>,
    /// The time of day of a rule.
    pub send_time: Option<&'a str>,
    /// The date from which a rule counts its intervals.
    pub starts_on: Option<&'a str>,
    pub time_zone: Option<&'a str>,
}

impl Cadence {
    /// Reads a cadence; `unit_zone` is the zone of its business unit. Pointers are from the subscription.
    pub fn read(written: Written<'_>, unit_zone: Option<&str>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let zone_name = written.time_zone.or(unit_zone).unwrap_or(DEFAULT_ZONE).to_owned();
        let zone = local_time::zone(&zone_name).unwrap_or_else(|error| {
            faults.push(Fault::new("/cadence/timeZone", "zone_unknown", error.to_string()));
            TimeZone::UTC
        });
        let rule = match (written.cron, written.rrule) {
            (Some(cron), None) => {
                for (name, given) in [("sendTime", written.send_time), ("startsOn", written.starts_on)] {
                    if given.is_some() {
                        let detail =
                            format!("`{name}` is for an `rrule`; a `cron` pattern has its own time.");
                        faults.push(Fault::new(format!("/cadence/{name}"), "field_conflict", detail));
                    }
                }
                read_cron(cron).map_err(|fault| faults.push(fault)).ok()
            }
            (None, Some(rrule)) => read_rule(rrule, &written, &mut faults),
            (None, None) => {
                let detail = "Give either `cron` or `rrule`; neither was given.";
                faults.push(Fault::new("/cadence/cron", "missing_field", detail));
                None
            }
            (Some(_), Some(_)) => {
                let detail = "Give either `cron` or `rrule`; both were given.";
                faults.push(Fault::new("/cadence/rrule", "field_conflict", detail));
                None
            }
        };
        let (Some(rule), true) = (rule, faults.is_empty()) else { return Err(faults) };
        let mut cadence = Self { rule, zone, zone_name, within_days: false };
        cadence.within_days = cadence.fires_within_days();
        Ok(cadence)
    }

    /// What makes it useless from an instant on: a beginning beyond the calendar, or no further occurrence.
    pub fn faults_ahead(&self, now: Timestamp) -> Vec<Fault> {
        let starts = match &self.rule {
            Rule::Days { days, .. } => days.starts(),
            Rule::Cron(_) => None,
        };
        if starts.is_some_and(|starts| !DATE_YEARS.contains(&starts.year())) {
            let (first, last) = (DATE_YEARS.start(), DATE_YEARS.end());
            let detail = format!("`startsOn` takes a date from {first} to {last}, such as `2026-05-14`.");
            return vec![Fault::new("/cadence/startsOn", "date_out_of_range", detail)];
        }
        if self.next_after(now).is_some() {
            return Vec::new();
        }
        let name = if matches!(self.rule, Rule::Cron(_)) { "cron" } else { "rrule" };
        let today = self.date(now);
        let detail = format!("It names no time after {today}; {SEARCHED_YEARS} years were searched.");
        vec![Fault::new(format!("/cadence/{name}"), "schedule_never", detail)]
    }

    /// The first occurrence after an instant.
    pub fn next_after(&self, at: Timestamp) -> Option<Occurrence> {
        let here = self.zone.to_datetime(at);
        let mut local = here.checked_sub(window()).ok()?;
        let furthest = here.checked_add(Span::new().try_years(SEARCHED_YEARS).ok()?).unwrap_or(DateTime::MAX);
        let mut best: Option<Occurrence> = None;
        while let Some(next) = self.rule.after(local).filter(|next| *next <= furthest) {
            let end = best.and_then(|best| best.asked.checked_add(window()).ok());
            if end.is_some_and(|end| next > end) {
                break;
            }
            let found = self.occurrence(next);
            if found.at > at && best.is_none_or(|best| found.at < best.at) {
                best = Some(found);
            }
            local = next;
        }
        best
    }

    /// The last occurrence at or before an instant.
    pub fn latest_until(&self, at: Timestamp) -> Option<Occurrence> {
        let here = self.zone.to_datetime(at);
        let mut local = here.checked_add(window()).ok()?;
        let earliest = here.checked_sub(Span::new().try_years(SEARCHED_YEARS).ok()?).unwrap_or(DateTime::MIN);
        let mut best: Option<Occurrence> = None;
        while let Some(previous) = self.rule.before(local).filter(|previous| *previous >= earliest) {
            let end = best.and_then(|best| best.asked.checked_sub(window()).ok());
            if end.is_some_and(|end| previous < end) {
                break;
            }
            let found = self.occurrence(previous);
            if found.at <= at && best.is_none_or(|best| found.at > best.at) {
                best = Some(found);
            }
            local = previous;
        }
        best
    }

    /// The occurrences after an instant, in order.
    pub fn after(&self, at: Timestamp) -> impl Iterator<Item = Occurrence> + '_ {
        std::iter::successors(self.next_after(at), |last| self.next_after(last.at))
    }

    /// Whether an instant, in microseconds, is one of its moments by the rules of its zone as they are known now.
    pub fn names(&self, at: Timestamp) -> bool {
        let before = at.checked_sub(SignedDuration::from_micros(1)).ok();
        let next = before.and_then(|before| self.next_after(before));
        next.is_some_and(|next| next.at == at)
    }

    /// The local date of an instant.
    pub fn date(&self, at: Timestamp) -> Date {
        self.zone.to_datetime(at).date()
    }

    /// The instant at which a local date begins.
    pub fn midnight(&self, date: Date) -> Timestamp {
        local_time::resolve(date, Time::midnight(), &self.zone).at
    }

    fn occurrence(&self, local: DateTime) -> Occurrence {
        let resolved = local_time::resolve(local.date(), local.time(), &self.zone);
        Occurrence { at: resolved.at, asked: local, adjusted: resolved.adjusted }
    }

    fn fires_within_days(&self) -> bool {
        let Rule::Cron(_) = self.rule else { return false };
        // From a Monday in the past: how often a pattern fires has nothing to do with when it is asked.
        let start = Date::constant(2024, 1, 1).to_datetime(Time::midnight());
        let mut dates = Vec::with_capacity(SAMPLE);
        let mut local = start;
        while dates.len() < SAMPLE {
            let Some(next) = self.rule.after(local) else { break };
            dates.push(next.date());
            local = next;
        }
        dates.windows(2).any(|pair| pair[0] == pair[1])
    }
}

fn window() -> Span {
    Span::new().hours(WINDOW_HOURS)
}

impl Rule {
    fn after(&self, local: DateTime) -> Option<DateTime> {
        match self {
            Self::Cron(cron) => cron.after(local),
            Self::Days { days, at } => {
                // The same date counts where the time of day is still to come.
                let from = if local.time() < *at { local.date() } else { local.date().tomorrow().ok()? };
                Some(days.first_from(from)?.to_datetime(*at))
            }
        }
    }

    fn before(&self, local: DateTime) -> Option<DateTime> {
        match self {
            Self::Cron(cron) => cron.before(local),
            Self::Days { days, at } => {
                let until = if local.time() > *at { local.date() } else { local.date().yesterday().ok()? };
                Some(days.last_until(until)?.to_datetime(*at))
            }
        }
    }
}

fn read_cron(text: &str) -> Result<Rule, Fault> {
    let cron = Cron::read(text).map_err(|detail| Fault::new("/cadence/cron", "schedule_invalid", detail))?;
    let start = Date::constant(2024, 1, 1).to_datetime(Time::midnight());
    if cron.after(start).is_none() {
        let detail = format!("The pattern names no time; {SEARCHED_YEARS} years were searched.");
        return Err(Fault::new("/cadence/cron", "schedule_never", detail));
    }
    Ok(Rule::Cron(cron))
}

fn read_rule(text: &str, written: &Written<'_>, faults: &mut Vec<Fault>) -> Option<Rule> {
    let at = match written.send_time.map(local_time::parse_time) {
        None => {
            let detail = "An `rrule` needs a `sendTime` such as `08:00`.";
            faults.push(Fault::new("/cadence/sendTime", "missing_field", detail));
            None
        }
        Some(Ok(time)) => Some(time),
        Some(Err(error)) => {
            faults.push(Fault::new("/cadence/sendTime", "date_invalid", error.to_string()));
            None
        }
    };
    let starts = match written.starts_on.map(local_time::parse_date) {
        None => None,
        Some(Ok(date)) => Some(date),
        Some(Err(error)) => {
            faults.push(Fault::new("/cadence/startsOn", "date_invalid", error.to_string()));
            return None;
        }
    };
    match DayRule::read(text, starts) {
        Ok(days) => Some(Rule::Days { days, at: at? }),
        Err(fault) => {
            faults.push(fault);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron(pattern: &str, zone: &str) -> Cadence {
        let written = Written { cron: Some(pattern), time_zone: Some(zone), ..Written::default() };
        Cadence::read(written, None).unwrap()
    }

    fn next(cadence: &Cadence, after: &str, count: usize) -> Vec<String> {
        cadence.after(after.parse().unwrap()).take(count).map(|one| one.at.to_string()).collect()
    }

    #[test]
    fn every_monday_at_eight_keeps_its_local_time_over_the_year() {
        let mondays = cron("0 8 * * MON", "Europe/Berlin");
        assert_eq!(
            next(&mondays, "2026-03-20T00:00:00Z", 3),
            ["2026-03-23T07:00:00Z", "2026-03-30T06:00:00Z", "2026-04-06T06:00:00Z"]
        );
    }

    #[test]
    fn r20_half_past_two_on_sundays_is_once_on_both_days_of_the_change() {
        let sundays = cron("30 2 * * SUN", "Europe/Berlin");
        let spring: Vec<Occurrence> =
            sundays.after("2026-03-22T12:00:00Z".parse().unwrap()).take(2).collect();
        assert_eq!(spring[0].at.to_string(), "2026-03-29T01:30:00Z", "half past three, summer time");
        assert_eq!(spring[0].adjusted, Some(Adjustment::Gap));
        assert_eq!(spring[1].at.to_string(), "2026-04-05T00:30:00Z");
        let autumn: Vec<Occurrence> =
            sundays.after("2026-10-18T12:00:00Z".parse().unwrap()).take(2).collect();
        assert_eq!(autumn[0].at.to_string(), "2026-10-25T00:30:00Z", "the first of the two");
        assert_eq!(autumn[0].adjusted, Some(Adjustment::Overlap));
        assert_eq!(autumn[1].at.to_string(), "2026-11-01T01:30:00Z");
    }

    #[test]
    fn times_that_swap_places_in_a_gap_come_in_order_of_instants() {
        let quarter = cron("0,30 2,3 * * *", "Europe/Berlin");
        // 02:00 and 02:30 move to 03:00 and 03:30, where there are times already.
        assert_eq!(
            next(&quarter, "2026-03-29T00:00:00Z", 3),
            ["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:00:00Z"]
        );
    }

    #[test]
    fn the_latest_until_is_the_one_before_the_next() {
        for (pattern, zone) in
            [("0 8 * * MON", "Europe/Berlin"), ("30 2 * * *", "Europe/Berlin"), ("15 */4 1 * *", "UTC")]
        {
            let cadence = cron(pattern, zone);
            let mut at: Timestamp = "2026-03-20T03:00:00Z".parse().unwrap();
            for _ in 0..40 {
                let one = cadence.next_after(at).unwrap();
                assert_eq!(cadence.latest_until(one.at), Some(one), "{pattern}");
                let before = one.at - jiff::SignedDuration::from_micros(1);
                assert!(cadence.latest_until(before).unwrap().at < one.at, "{pattern}");
                at = one.at;
            }
        }
    }

    #[test]
    fn how_often_it_fires_is_seen() {
        assert!(!cron("0 8 * * MON-FRI", "UTC").within_days);
        assert!(cron("0 8,20 * * *", "UTC").within_days);
        assert!(cron("0 */6 1 * *", "UTC").within_days);
    }

    #[test]
    fn a_bad_cadence_says_what_would_be_right() {
        let fault = |written: Written<'_>| {
            let faults = Cadence::read(written, None).unwrap_err();
            (faults[0].pointer.clone(), faults[0].code)
        };
        let written = Written { time_zone: Some("UTC"), ..Written::default() };
        let at = |pointer: &str, code| (pointer.to_owned(), code);
        assert_eq!(
            fault(Written { cron: Some("0 8 * *"), ..written }),
            at("/cadence/cron", "schedule_invalid")
        );
        assert_eq!(
            fault(Written { cron: Some("61 8 * * *"), ..written }),
            at("/cadence/cron", "schedule_invalid")
        );
        assert_eq!(
            fault(Written { cron: Some("0 0 30 2 *"), ..written }),
            at("/cadence/cron", "schedule_never")
        );
        assert_eq!(fault(written), at("/cadence/cron", "missing_field"));
        let both = Written { cron: Some("0 8 * * *"), rrule: Some("FREQ=DAILY"), ..written };
        assert_eq!(fault(both), at("/cadence/rrule", "field_conflict"));
        assert_eq!(
            fault(Written { rrule: Some("FREQ=DAILY"), ..written }),
            at("/cadence/sendTime", "missing_field")
        );
        let zone = Written { cron: Some("0 8 * * *"), time_zone: Some("Berlin"), ..Written::default() };
        assert_eq!(fault(zone), at("/cadence/timeZone", "zone_unknown"));
    }
}
