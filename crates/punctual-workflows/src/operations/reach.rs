//! Selects recipients, channels and addresses: pure, on the people at the due time.

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

/// The channels over which a person can be notified, in the order they like: of those that they chose, the ones whose type
/// the rule has. A rule that names a channel's key uses that one. Where nothing is left, nobody is notified: a rule for SMS
/// never sends a mail.
fn ways(person: &PersonRow, allowed: &[String]) -> Vec<(ChannelKey, String)> {
    let mut chosen = texts(&person.channels);
    if chosen.is_empty() {
        chosen = super::DEFAULT_CHANNELS.iter().map(|&word| word.to_owned()).collect();
    }
    let mut ways: Vec<(ChannelKey, String)> = Vec::new();
    for (own, address) in chosen.iter().filter_map(|word| way(person, word)) {
        let of_type = allowed.iter().filter(|word| kind_of(word) == own.kind());
        // A type alone leaves the channel to the person; a key is the channel that is used.
        let used = of_type.map(|word| word.parse().unwrap_or_else(|_| own.clone()));
        for channel in used {
            let one = (channel, address.clone());
            if !ways.contains(&one) {
                ways.push(one);
            }
        }
    }
    ways
}

/// Why nobody of a subject is notified.
pub fn why_nobody(subject: &SubjectRow, rule: &RuleRow, people: &Named<PersonRow>) -> &'static str {
    let unit = subject.business_unit.as_deref();
    let ids = people_of(subject);
    let known: Vec<&PersonRow> = ids.iter().filter_map(|id| people.get(unit, id)).collect();
    let allowed = texts(&rule.channels);
    let has_address = |person: &&PersonRow| {
        let chosen = texts(&person.channels);
        chosen.is_empty() || chosen.iter().any(|word| way(person, word).is_some())
    };
    let may_narrow = |person: &&PersonRow| {
        let chosen = texts(&person.channels);
        chosen.iter().any(|word| allowed.iter().any(|other| kind_of(other) == kind_of(word)))
    };
    if known.is_empty() {
        "none of its people is known"
    } else if !known.iter().any(may_narrow) && known.iter().any(has_address) {
        "none of its people chose a channel of the rule's types"
    } else {
        "none of its people has an address for the rule's channels"
    }
}

/// The type in a word such as `email` or `email:ops`.
fn kind_of(word: &str) -> &str {
    word.split(':').next().unwrap_or(word)
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
    use jiff::Timestamp;

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
            updated_at: Timestamp::UNIX_EPOCH,
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
    fn a_rule_narrows_what_a_person_chose_and_its_keys_are_used() {
        let ann = person(r#"["sms:twilio","email"]"#, Some("ann@x.example"), r#"{"sms":"+491"}"#);
        check(&ann, &["email"], &[("email:default", "ann@x.example")]);
        check(&ann, &["email", "sms"], &[("sms:twilio", "+491"), ("email:default", "ann@x.example")]);
        check(&ann, &["teams"], &[]);
        check(&ann, &["email:ops"], &[("email:ops", "ann@x.example")]);
        check(&ann, &["email:ops", "sms"], &[("sms:twilio", "+491"), ("email:ops", "ann@x.example")]);
        check(&ann, &["sms:a", "sms:b"], &[("sms:a", "+491"), ("sms:b", "+491")]);
        let mail_only = person(r#"["email"]"#, Some("ann@x.example"), r#"{"sms":"+491"}"#);
        check(&mail_only, &["sms"], &[]);
        let plain = person("[]", Some("ann@x.example"), "{}");
        check(&plain, &["email"], &[("email:default", "ann@x.example")]);
        check(&person(r#"["sms"]"#, Some("ann@x.example"), "{}"), &["email"], &[]);
        check(&person(r#"["email"]"#, None, "{}"), &["email"], &[]);
    }
}
