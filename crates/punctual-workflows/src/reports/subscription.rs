//! A stored subscription, parsed for decisions.

use jiff::{Timestamp, civil::Weekday};
use punctual_model::{Audience, ChannelKey, Fault, KeyError, KeyParts, WorkKey, delivery_policy::Handling};
use punctual_reports::Definition;
use punctual_store::report_subscriptions::SubscriptionRow;
use punctual_templates::InlineTemplate;
use serde::Deserialize;
use serde_json::Value;

use super::{
    cadence::{Cadence, DEFAULT_ZONE, Occurrence, Written},
    period::{Period, PeriodRule},
};
use crate::{inline, recurrence::weekday};

/// What is done about runs that were missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// They are left out.
    Skip,
    /// Only the latest is made.
    #[default]
    Last,
    /// They are made one after the other, up to a bound.
    All,
}

impl CatchUp {
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "skip" => Self::Skip,
            "last" => Self::Last,
            "all" => Self::All,
            _ => return None,
        })
    }
}

/// The fields of a definition, as the API writes them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    name: String,
    cadence: StoredCadence,
    period: Option<String>,
    week_start: Option<String>,
    report: Value,
    recipients: StoredRecipients,
    channel: Option<String>,
    template: Option<String>,
    subject: Option<String>,
    locale: Option<String>,
    catch_up: Option<String>,
    when_empty: Option<String>,
    #[serde(flatten)]
    handling: Handling,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredCadence {
    cron: Option<String>,
    rrule: Option<String>,
    send_time: Option<String>,
    starts_on: Option<String>,
    time_zone: Option<String>,
}

#[derive(Debug, Deserialize)]
struct StoredRecipients {
    list: Option<String>,
    addresses: Option<Vec<String>>,
}

/// The zone of a stored subscription, without reading the rest of it: what looks at all of them asks for this alone.
pub(super) fn zone_name(row: &SubscriptionRow) -> String {
    #[derive(Deserialize)]
    struct Zoned {
        cadence: StoredCadence,
    }
    let own = serde_json::from_str(&row.definition).ok().and_then(|zoned: Zoned| zoned.cadence.time_zone);
    own.or_else(|| row.unit_time_zone.clone()).unwrap_or_else(|| DEFAULT_ZONE.to_owned())
}

/// A subscription that can be planned and run.
#[derive(Clone, Debug)]
pub struct Subscription {
    pub guid: String,
    pub name: String,
    pub business_unit: Option<String>,
    pub owner: Option<String>,
    pub paused: bool,
    pub deleted: bool,
    pub version: i64,
    pub cadence: Cadence,
    pub period: PeriodRule,
    pub catch_up: CatchUp,
    pub report: Definition,
    pub audience: Audience,
    pub channel: Option<ChannelKey>,
    pub template: Option<String>,
    pub subject: Option<InlineTemplate>,
    pub locale: String,
    pub handling: Handling,
    pub sends_empty: bool,
}

/// A run that is to be: its key, when, and about what.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    pub key: WorkKey,
    pub occurrence: Occurrence,
    pub period: Period,
}

/// Any fixed instant will do to see which period fits a cadence; the same one gives the same answer permanently.
const SAMPLED_FROM: Timestamp = Timestamp::constant(1_704_067_200, 0);

impl Subscription {
    /// Reads a stored subscription; every fault has a pointer into its definition.
    pub fn read(row: &SubscriptionRow) -> Result<Self, Vec<Fault>> {
        let stored: Stored = serde_json::from_str(&row.definition)
            .map_err(|error| vec![Fault::new("", "wrong_type", error.to_string())])?;
        let mut faults = Vec::new();
        let written = Written {
            cron: stored.cadence.cron.as_deref(),
            rrule: stored.cadence.rrule.as_deref(),
            send_time: stored.cadence.send_time.as_deref(),
            starts_on: stored.cadence.starts_on.as_deref(),
            time_zone: stored.cadence.time_zone.as_deref(),
        };
        let cadence =
            Cadence::read(written, row.unit_time_zone.as_deref()).map_err(|found| faults.extend(found)).ok();
        let report = Definition::read(&stored.report)
            .map_err(|found| faults.extend(found.into_iter().map(|fault| inside("/report", fault))))
            .ok();
        let first_day = stored.week_start.as_deref().map_or(Some(Weekday::Monday), weekday);
        if first_day.is_none() {
            let detail = "`weekStart` takes a day such as `MON` or `SUN`.";
            faults.push(Fault::new("/weekStart", "out_of_range", detail));
        }
        let first_day = first_day.unwrap_or(Weekday::Monday);
        let period = cadence.as_ref().map(|cadence| period(&stored, cadence, first_day, &mut faults));
        let catch_up = match stored.catch_up.as_deref().map(CatchUp::parse) {
            None => CatchUp::default(),
            Some(Some(known)) => known,
            Some(None) => {
                let detail = "`catchUp` takes `skip`, `last` or `all`.";
                faults.push(Fault::new("/catchUp", "out_of_range", detail));
                CatchUp::default()
            }
        };
        let audience = match (stored.recipients.list, stored.recipients.addresses) {
            (Some(list), None) => Audience::List(list),
            (None, addresses) => Audience::Targets(addresses.unwrap_or_default()),
            (Some(_), Some(_)) => {
                let detail = "Give either `list` or `addresses`; both were given.";
                faults.push(Fault::new("/recipients/addresses", "field_conflict", detail));
                Audience::Targets(Vec::new())
            }
        };
        let (Some(cadence), Some(report), Some(period), true) = (cadence, report, period, faults.is_empty())
        else {
            return Err(faults);
        };
        Ok(Self {
            guid: row.guid.clone(),
            name: stored.name,
            business_unit: row.business_unit.clone(),
            owner: row.owner.clone(),
            paused: row.paused,
            deleted: row.deleted,
            version: row.version,
            cadence,
            period,
            catch_up,
            report,
            audience,
            channel: stored.channel.and_then(|key| key.parse().ok()),
            template: stored.template,
            subject: stored.subject.map(|text| InlineTemplate::stored(&text, inline::REPORT)),
            locale: stored.locale.unwrap_or_else(|| "en".to_owned()),
            handling: stored.handling,
            sends_empty: stored.when_empty.as_deref() != Some("skip"),
        })
    }

    pub fn is_active(&self) -> bool {
        !self.paused && !self.deleted
    }

    /// The run of an occurrence.
    pub fn planned(&self, occurrence: Occurrence) -> Result<Planned, KeyError> {
        let period = self.period.of(&self.cadence, occurrence.at);
        let key = WorkKey::report_scheduled(&self.guid, period.start)?;
        Ok(Planned { key, occurrence, period })
    }

    /// What the run of a key is about. The key of a planned run says it; one that a person asked for, or asked for
    /// again, is about what was complete when they did.
    pub fn period_of(&self, key: &str, asked_at: Timestamp) -> Option<Period> {
        match WorkKey::parse(key).ok()?.parts() {
            KeyParts::ReportScheduled { period_start, .. } => {
                Some(self.period.starting_at(&self.cadence, period_start))
            }
            KeyParts::ReportManual { .. } => Some(self.period.of_now(&self.cadence, asked_at)),
            KeyParts::SupportRetry { of, .. } => self.period_of(of.as_str(), asked_at),
            _ => None,
        }
    }

    /// The local dates of a period, for people: `2026-05-11 – 2026-05-17`.
    pub fn label(&self, period: Period) -> String {
        let zone = &self.cadence.zone;
        let (from, to) = (zone.to_datetime(period.start), zone.to_datetime(period.end));
        if self.cadence.within_days {
            return format!("{} – {}", from.strftime("%Y-%m-%d %H:%M"), to.strftime("%Y-%m-%d %H:%M"));
        }
        let last = to.date().yesterday().unwrap_or(to.date());
        if last <= from.date() { from.date().to_string() } else { format!("{} – {last}", from.date()) }
    }
}

fn period(stored: &Stored, cadence: &Cadence, first_day: Weekday, faults: &mut Vec<Fault>) -> PeriodRule {
    let fitting = || PeriodRule::fitting(cadence, SAMPLED_FROM, first_day);
    let Some(word) = stored.period.as_deref() else { return fitting() };
    let Some(rule) = PeriodRule::parse(word, first_day) else {
        let detail = "`period` takes `day`, `week`, `month`, `quarter`, `year` or `sinceLast`.";
        faults.push(Fault::new("/period", "out_of_range", detail));
        return fitting();
    };
    if !rule.holds_one(cadence, SAMPLED_FROM) {
        let detail = format!(
            "The cadence fires more than once in a {word}, and a period is reported once; take a shorter `period` or \
             `sinceLast`."
        );
        faults.push(Fault::new("/period", "field_conflict", detail));
    }
    rule
}

/// The same fault, seen from outside.
fn inside(at: &str, fault: Fault) -> Fault {
    Fault { pointer: format!("{at}{}", fault.pointer), ..fault }
}
