//! The readers of a report: known people in their own language and time zone, others in those of the subscription. A report is
//! rendered once for each pair of language and zone, not once for each person.

use std::collections::{BTreeMap, HashMap};

use jiff::tz::TimeZone;
use punctual_boxed::boxed;
use punctual_model::{Audience, local_time};
use punctual_store::{Conn, StoreError, lists, operations::people};
use serde::{Deserialize, Serialize};

use super::subscription::Subscription;

/// Ways of reading that one run is written in. Whoever has a rarer one gets it as the subscription has it: a report of a
/// hundred thousand rows takes a second to write.
pub const READINGS_MAX: usize = 16;

/// How somebody reads numbers, dates and times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    pub locale: String,
    pub time_zone: String,
}

impl Reading {
    /// As the subscription has it.
    pub fn own(subscription: &Subscription) -> Self {
        Self { locale: subscription.locale.clone(), time_zone: subscription.cadence.zone_name.clone() }
    }

    pub fn zone(&self) -> TimeZone {
        local_time::zone(&self.time_zone).unwrap_or(TimeZone::UTC)
    }

    /// As it appears in the name of a file: `de.Europe-Berlin`.
    pub fn tag(&self) -> String {
        // `Etc/GMT+1` and `Etc/GMT-1` are two zones.
        let plain = |text: &str| -> String {
            let text = text.replace('+', "plus");
            text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
        };
        format!("{}.{}", plain(&self.locale), plain(&self.time_zone))
    }
}

/// Those who get a report at one moment, by how they read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readers {
    pub groups: Vec<(Reading, Vec<String>)>,
    /// The channel of the list, where they are the members of one.
    pub channel: Option<String>,
}

impl Readers {
    /// Reads who they are now; nobody where the list is gone.
    #[boxed]
    pub async fn load(conn: &mut Conn<'_>, subscription: &Subscription) -> Result<Self, StoreError> {
        let (targets, channel) = match &subscription.audience {
            Audience::Targets(targets) => (targets.clone(), None),
            Audience::List(name) => {
                let lists = lists::named(conn, vec![name.clone()]).await?;
                match lists.get(subscription.business_unit.as_deref(), name) {
                    Some(list) => {
                        (serde_json::from_str(&list.targets).unwrap_or_default(), Some(list.channel.clone()))
                    }
                    None => (Vec::new(), None),
                }
            }
        };
        let own = Reading::own(subscription);
        let people = people::at_emails(conn, targets.clone()).await?;
        let reading = |target: &String| {
            let person = people.get(subscription.business_unit.as_deref(), target)?;
            let zone = person.time_zone.clone().filter(|zone| local_time::zone(zone).is_ok());
            Some(Reading {
                locale: person.locale.clone().unwrap_or_else(|| own.locale.clone()),
                time_zone: zone.unwrap_or_else(|| own.time_zone.clone()),
            })
        };
        let known: HashMap<String, Reading> =
            targets.iter().filter_map(|target| Some((target.clone(), reading(target)?))).collect();
        Ok(Self { groups: grouped(targets, &known, &own), channel })
    }

    /// The ways of reading that a run is written in: that of the subscription where nobody is known.
    pub fn readings(&self, own: Reading) -> Vec<Reading> {
        if self.groups.is_empty() {
            return vec![own];
        }
        self.groups.iter().map(|(reading, _)| reading.clone()).collect()
    }
}

fn grouped(
    targets: Vec<String>,
    known: &HashMap<String, Reading>,
    own: &Reading,
) -> Vec<(Reading, Vec<String>)> {
    let mut groups: BTreeMap<Reading, Vec<String>> = BTreeMap::new();
    for target in targets {
        let reading = known.get(&target).unwrap_or(own).clone();
        groups.entry(reading).or_default().push(target);
    }
    let mut groups: Vec<(Reading, Vec<String>)> = groups.into_iter().collect();
    // That of the subscription first, then those that most people have.
    groups.sort_by_key(|(reading, targets)| (reading != own, std::cmp::Reverse(targets.len())));
    if groups.len() > READINGS_MAX {
        let has_own = groups.first().is_some_and(|(first, _)| first == own);
        let rare = groups.split_off(if has_own { READINGS_MAX } else { READINGS_MAX - 1 });
        let rest: Vec<String> = rare.into_iter().flat_map(|(_, targets)| targets).collect();
        match groups.first_mut().filter(|_| has_own) {
            Some((_, targets)) => targets.extend(rest),
            None => groups.insert(0, (own.clone(), rest)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(locale: &str, zone: &str) -> Reading {
        Reading { locale: locale.into(), time_zone: zone.into() }
    }

    #[test]
    fn people_who_read_alike_are_one_group_and_strangers_read_as_the_subscription_does() {
        let own = reading("en", "UTC");
        let known = HashMap::from([
            ("a".to_owned(), reading("de", "Europe/Berlin")),
            ("c".to_owned(), reading("de", "Europe/Berlin")),
            ("d".to_owned(), reading("de", "Europe/Vienna")),
        ]);
        let groups = grouped(["a", "b", "c", "d"].map(str::to_owned).to_vec(), &known, &own);
        let reported: Vec<(&str, Vec<&str>)> = groups
            .iter()
            .map(|(one, targets)| (one.time_zone.as_str(), targets.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(
            reported,
            [("UTC", vec!["b"]), ("Europe/Berlin", vec!["a", "c"]), ("Europe/Vienna", vec!["d"])]
        );
        assert!(grouped(Vec::new(), &known, &own).is_empty());
    }

    #[test]
    fn nobody_is_left_out_where_there_are_too_many_ways_of_reading() {
        let own = reading("en", "UTC");
        let known: HashMap<String, Reading> =
            (0..30).map(|n| (format!("p{n}"), reading(&format!("x{n}"), "UTC"))).collect();
        for strangers in [0, 2] {
            let targets: Vec<String> =
                (0..30).map(|n| format!("p{n}")).chain((0..strangers).map(|n| format!("s{n}"))).collect();
            let groups = grouped(targets.clone(), &known, &own);
            assert_eq!((groups.len(), &groups[0].0), (READINGS_MAX, &own));
            assert_eq!(groups.iter().map(|(_, some)| some.len()).sum::<usize>(), targets.len());
        }
    }

    #[test]
    fn a_tag_is_fit_for_the_name_of_a_file() {
        assert_eq!(reading("de-AT", "Europe/Vienna").tag(), "de-AT.Europe-Vienna");
        assert_eq!(reading("../x", "America/New_York").tag(), "---x.America-New_York");
        assert_ne!(reading("en", "Etc/GMT+1").tag(), reading("en", "Etc/GMT-1").tag());
    }
}
