//! Who is notified, over which channel and where: pure, on the people as they are when the moment comes.

use std::collections::{HashMap, HashSet};

use punctual_model::ChannelKey;
use punctual_store::{
    Named,
    operations::{organisations::OrganisationRow, people::PersonRow, rules::RuleRow, subjects::SubjectRow},
};

use super::{people_of, rule::zone_name, texts};

/// One person at one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    pub person: String,
    pub channel: ChannelKey,
    pub address: String,
    pub zone: String,
    pub locale: Option<String>,
    /// Whether another channel is left, should this one not reach them.
    pub has_next: bool,
}

/// Where each person of a subject is notified at this step: 0 is the channel they like best. Two people behind one address
/// count once.
pub fn reach(
    subject: &SubjectRow,
    rule: &RuleRow,
    organisation: Option<&OrganisationRow>,
    people: &Named<PersonRow>,
    step: usize,
    only: Option<&[String]>,
) -> Vec<Reach> {
    let allowed = texts(&rule.channels);
    let mut seen = HashSet::new();
    let mut reached = Vec::new();
    for id in people_of(subject) {
        let Some(person) = people.get(subject.business_unit.as_deref(), &id) else { continue };
        if only.is_some_and(|only| !only.contains(&id)) {
            continue;
        }
        let ways = ways(person, &allowed);
        let Some((channel, address)) = ways.get(step).cloned() else { continue };
        if !seen.insert((channel.as_str().to_owned(), address.to_lowercase())) {
            continue;
        }
        let zone = person.time_zone.as_deref().or(zone_name(subject, organisation)).unwrap_or("UTC");
        reached.push(Reach {
            person: id,
            channel,
            address,
            zone: zone.to_owned(),
            locale: person.locale.clone(),
            has_next: step + 1 < ways.len(),
        });
    }
    reached
}

/// The channels over which a person can be notified, in the order they like: those that the rule has, or, where it has none
/// of them, all that they chose. A rule may narrow what somebody chose, and never takes all of it away.
fn ways(person: &PersonRow, allowed: &[String]) -> Vec<(ChannelKey, String)> {
    let mut chosen = texts(&person.channels);
    if chosen.is_empty() {
        chosen = super::DEFAULT_CHANNELS.iter().map(|&word| word.to_owned()).collect();
    }
    let kind = |word: &str| word.split(':').next().unwrap_or(word).to_owned();
    let allowed_kinds: HashSet<String> = allowed.iter().map(|word| kind(word)).collect();
    let all: Vec<(ChannelKey, String)> = chosen.iter().filter_map(|word| way(person, word)).collect();
    let narrowed: Vec<(ChannelKey, String)> =
        all.iter().filter(|(channel, _)| allowed_kinds.contains(channel.kind())).cloned().collect();
    if narrowed.is_empty() { all } else { narrowed }
}

/// The channel that a word such as `email` or `sms:twilio` stands for, and the person's address there.
fn way(person: &PersonRow, word: &str) -> Option<(ChannelKey, String)> {
    let channel = word.parse().or_else(|_| ChannelKey::default_of(word)).ok()?;
    let address = if channel.kind() == "email" {
        person.email.clone()
    } else {
        let addresses: HashMap<String, String> = serde_json::from_str(&person.addresses).unwrap_or_default();
        addresses.get(channel.kind()).cloned()
    };
    Some((channel, address.filter(|address| !address.is_empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(channels: &str, email: Option<&str>, addresses: &str) -> PersonRow {
        PersonRow {
            id: "ann".into(),
            name: "Ann".into(),
            email: email.map(str::to_owned),
            time_zone: None,
            locale: None,
            channels: channels.into(),
            addresses: addresses.into(),
            business_unit: None,
            updated_at: 0,
        }
    }

    #[track_caller]
    fn check(person: &PersonRow, allowed: &[&str], expected: &[(&str, &str)]) {
        let allowed: Vec<String> = allowed.iter().map(|&word| word.to_owned()).collect();
        let found = ways(person, &allowed);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(channel, address)| (channel.as_str(), address.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rule_narrows_what_a_person_chose_and_never_takes_all_of_it() {
        let ann = person(r#"["sms:twilio","email"]"#, Some("ann@x.example"), r#"{"sms":"+491"}"#);
        check(&ann, &["email"], &[("email:default", "ann@x.example")]);
        check(&ann, &["email", "sms"], &[("sms:twilio", "+491"), ("email:default", "ann@x.example")]);
        check(&ann, &["teams"], &[("sms:twilio", "+491"), ("email:default", "ann@x.example")]);
        let plain = person("[]", Some("ann@x.example"), "{}");
        check(&plain, &["email"], &[("email:default", "ann@x.example")]);
        check(&person(r#"["sms"]"#, Some("ann@x.example"), "{}"), &["email"], &[]);
        check(&person(r#"["email"]"#, None, "{}"), &["email"], &[]);
    }
}
