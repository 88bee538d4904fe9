//! One parsed reminder setting.

use std::{borrow::Cow, sync::Arc, time::Duration};

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, Time},
};
use punctual_model::{Fault, Filter, Trigger, durations, local_time};
use punctual_store::reminders::settings::SettingRow;
use serde_json::Value;

use super::{
    delivery::OwnTexts,
    providers::{Providers, Source, TriggerRule, Zone},
};

/// A setting as the workflow uses it.
#[derive(Clone)]
pub struct Setting {
    pub id: String,
    pub name: String,
    pub business_unit: Option<String>,
    pub source_type: String,
    pub trigger_key: String,
    pub kind: String,
    pub trigger: Trigger,
    pub rule: Arc<dyn TriggerRule>,
    pub filter: Option<Filter>,
    pub lateness: Lateness,
    pub active: bool,
    pub deleted: bool,
    pub version: i64,
    /// What its messages say where it names no template.
    pub texts: OwnTexts,
    /// The whole definition.
    pub definition: Value,
}

/// How late a reminder may still be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// Until its local day is over.
    EndOfDay,
    AtMost(Duration),
}

impl Lateness {
    fn identity(self) -> String {
        match self {
            Self::EndOfDay => "EndOfDay".to_owned(),
            Self::AtMost(most) => format!("AtMost({}ns)", most.as_nanos()),
        }
    }

    /// The last instant at which a message may leave whose row was ready then, where the setting names a span. What waits for
    /// a channel beyond its day is late for nobody.
    pub fn latest(self, ready_at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::EndOfDay => None,
            Self::AtMost(most) => ready_at.checked_add(SignedDuration::try_from(most).ok()?).ok(),
        }
    }

    /// Whether what was due at `due` is too late at `now`.
    pub fn is_over(self, due: Timestamp, now: Timestamp, zone: &Zone) -> bool {
        match self {
            Self::EndOfDay => now >= end_of_day(due, zone),
            Self::AtMost(most) => {
                let most = SignedDuration::try_from(most).unwrap_or(SignedDuration::MAX);
                now.duration_since(due) > most
            }
        }
    }
}

/// The first instant after the local day that `at` belongs to.
pub fn end_of_day(at: Timestamp, zone: &Zone) -> Timestamp {
    let today = zone.date(at);
    let mut next = today;
    // A zone may have left a date out; the day ends where the next one that exists begins.
    for _ in 0..3 {
        next = next.tomorrow().unwrap_or(Date::MAX);
        let begins = local_time::resolve(next, Time::midnight(), &zone.zone).at;
        if begins > at {
            return begins;
        }
    }
    Timestamp::MAX
}

impl Setting {
    /// Reads a stored setting, or says what is wrong with it, by pointers into its definition.
    pub fn read(providers: &Providers, row: &SettingRow) -> Result<Self, Vec<Fault>> {
        let definition: Value = serde_json::from_str(&row.definition)
            .map_err(|_| vec![Fault::new("", "wrong_type", "The definition cannot be read.")])?;
        let mut faults = Vec::new();
        let provider = providers.triggers.get(&row.kind);
        let base: Option<Value> = row.key_base.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let rule = match provider {
            None => {
                let known: Vec<&str> = providers.triggers.keys().collect();
                let detail =
                    format!("`{}` is not possible; `kind` takes `{}`.", row.kind, known.join("`, `"));
                faults.push(Fault::new("/kind", "out_of_range", detail));
                None
            }
            Some(provider) => {
                provider.rule(&definition, base.as_ref()).map_err(|found| faults.extend(found)).ok()
            }
        };
        let filter = definition.get("filter").filter(|filter| !filter.is_null());
        let filter = filter.and_then(|filter| match Filter::parse(filter) {
            Ok(filter) => Some(filter),
            Err(found) => {
                faults.extend(
                    found
                        .into_iter()
                        .map(|fault| Fault { pointer: format!("/filter{}", fault.pointer), ..fault }),
                );
                None
            }
        });
        let lateness = match definition.get("maxLateness").and_then(Value::as_str).map(durations::parse) {
            None => Lateness::EndOfDay,
            Some(Ok(most)) => Lateness::AtMost(most),
            Some(Err(error)) => {
                faults.push(Fault::new("/maxLateness", error.code(), sentence(&error)));
                Lateness::EndOfDay
            }
        };
        faults.extend(super::recipients::check(providers, &definition));
        faults.extend(super::delivery::check(providers, &definition));
        let trigger_key = definition.get("triggerKey").and_then(Value::as_str).unwrap_or_default().to_owned();
        match (rule, provider) {
            (Some(rule), Some(provider)) if faults.is_empty() => Ok(Self {
                id: row.id.clone(),
                name: row.name.clone(),
                business_unit: row.business_unit.clone(),
                source_type: row.source_type.clone(),
                trigger_key,
                kind: row.kind.clone(),
                trigger: provider.trigger(),
                rule,
                filter,
                lateness,
                active: row.active,
                deleted: row.deleted,
                version: row.version,
                texts: OwnTexts::stored(&definition),
                definition,
            }),
            _ => Err(faults),
        }
    }

    /// Whether it wants anything at all.
    pub fn is_on(&self) -> bool {
        self.active && !self.deleted
    }

    pub fn matches(&self, filter: &Filter, source: &Source) -> bool {
        filter.matches(&|path| source.at(path).map(Cow::Owned))
    }

    /// Everything that decides which rows there are and when they are due. Two versions that say the same here leave
    /// every row as it is: texts, recipients and delivery are read when a row is due.
    pub fn plan_identity(&self) -> String {
        let filter = self.definition.get("filter").map(Value::to_string);
        format!(
            "{}|{}|{:?}|{:?}|{}|{}|{}",
            self.kind,
            self.trigger_key,
            self.business_unit,
            filter,
            self.lateness.identity(),
            self.is_on(),
            self.rule.identity()
        )
    }
}

/// An error as one sentence.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    if let Some(first) = text.get(..1) {
        let upper = first.to_uppercase();
        text.replace_range(..1, &upper);
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::named(Some(name))
    }

    #[test]
    fn a_day_ends_where_the_next_begins() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(end_of_day(at("2026-05-14T05:00:00Z"), &zone("UTC")), at("2026-05-15T00:00:00Z"));
        assert_eq!(
            end_of_day(at("2026-05-14T05:00:00Z"), &zone("Pacific/Auckland")),
            at("2026-05-14T12:00:00Z")
        );
        // Clocks go forward at midnight: the day begins an hour late.
        assert_eq!(
            end_of_day(at("2026-09-05T12:00:00Z"), &zone("America/Santiago")),
            at("2026-09-06T04:00:00Z")
        );
        // Samoa had no 30 December 2011.
        assert_eq!(end_of_day(at("2011-12-29T20:00:00Z"), &zone("Pacific/Apia")), at("2011-12-30T10:00:00Z"));
    }

    #[test]
    fn late_is_counted_from_the_moment_or_to_the_end_of_the_day() {
        let due: Timestamp = "2026-05-14T07:00:00Z".parse().unwrap();
        let hours = |hours| due + SignedDuration::from_hours(hours);
        let day = Lateness::EndOfDay;
        assert!(!day.is_over(due, hours(14), &zone("Europe/Berlin")));
        assert!(day.is_over(due, hours(15), &zone("Europe/Berlin")));
        let most = Lateness::AtMost(Duration::from_secs(3_600));
        assert!(!most.is_over(due, hours(1), &zone("UTC")));
        assert!(most.is_over(due, hours(1) + SignedDuration::from_secs(1), &zone("UTC")));
    }
}
