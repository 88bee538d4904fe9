//! Titles of the rows of events and tasks: `Stand-up: 1h before the start on 14 May 09:00 Berlin`.

use std::collections::HashMap;

use jiff::{Timestamp, tz::Offset};
use punctual_engine::{
    Titles,
    titles::{day, line, moment_in},
};
use punctual_model::{KeyParts, Reach};
use punctual_store::{
    Conn, StoreError,
    operations::{
        organisations::{self, OrganisationRow},
        rules::{self, RuleRow},
        subjects::{self, SubjectRow},
    },
};

use super::{Anchor, Operations, RuleSpec, organisation_of, rule::zone_name, spec_of};

impl Titles for Operations {
    async fn titles(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let rule = |key: &KeyParts| match key {
            KeyParts::Operations { rule_id, .. } => Some(rule_id.clone()),
            _ => None,
        };
        let found = rules::by_ids(conn, reach, keys.iter().filter_map(rule).collect()).await?;
        let about =
            subjects::by_ids(conn, reach, found.iter().map(|row| row.subject_id.clone()).collect()).await?;
        let groups = about.iter().filter_map(|row| row.organisation.clone()).collect();
        let groups = organisations::named(conn, groups).await?;
        let about: HashMap<&str, &SubjectRow> = about.iter().map(|row| (row.id.as_str(), row)).collect();
        let found: HashMap<&str, &RuleRow> = found.iter().map(|row| (row.id.as_str(), row)).collect();
        let title = |key: &KeyParts| {
            let rule = found.get(rule(key)?.as_str()).copied();
            let subject = rule.and_then(|rule| about.get(rule.subject_id.as_str()).copied());
            let group = subject.and_then(|subject| organisation_of(&groups, subject));
            Some(called(rule, subject, group, now))
        };
        Ok(keys.iter().map(title).collect())
    }
}

fn called(
    rule: Option<&RuleRow>,
    subject: Option<&SubjectRow>,
    group: Option<&OrganisationRow>,
    now: Timestamp,
) -> String {
    let anchor = rule.map_or(Anchor::Start, |rule| rule.kind);
    // What is sent at the date itself needs no more words.
    let spec = rule.and_then(spec_of).filter(|spec| !matches!(spec, RuleSpec::AtSubjectDate { .. }));
    let word = spec.map_or_else(|| anchor.as_str().to_owned(), |spec| spec.in_words());
    let Some(subject) = subject else {
        let what = rule.map_or("event or task", |rule| rule.subject_type.as_str());
        return format!("Deleted {what}: {word}");
    };
    let title = line(&subject.title);
    match subject.date(anchor) {
        Some(at) if subject.is_all_day => {
            format!("{title}: {word} on {}", day(Offset::UTC.to_datetime(at).date(), now))
        }
        Some(at) => format!("{title}: {word} on {}", moment_in(at, zone_name(subject, group), now)),
        None => format!("{title}: {word}"),
    }
}
