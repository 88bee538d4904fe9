//! What the rows of events and tasks are called: `Stand-up: start on 14 May 07:00 UTC`.

use std::collections::HashMap;

use jiff::{Timestamp, tz::Offset};
use punctual_engine::{
    Titles,
    titles::{day, line, moment},
};
use punctual_model::{KeyParts, Reach};
use punctual_store::{
    Conn, StoreError,
    operations::{
        rules::{self, RuleRow},
        subjects::{self, SubjectRow},
    },
};

use super::{Anchor, Operations, instant};

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
        let about: HashMap<&str, &SubjectRow> = about.iter().map(|row| (row.id.as_str(), row)).collect();
        let found: HashMap<&str, &RuleRow> = found.iter().map(|row| (row.id.as_str(), row)).collect();
        let title = |key: &KeyParts| {
            let rule = found.get(rule(key)?.as_str()).copied();
            Some(called(rule, rule.and_then(|rule| about.get(rule.subject_id.as_str()).copied()), now))
        };
        Ok(keys.iter().map(title).collect())
    }
}

fn called(rule: Option<&RuleRow>, subject: Option<&SubjectRow>, now: Timestamp) -> String {
    let anchor = rule.map_or(Anchor::Start, |rule| rule.kind);
    let word = anchor.as_str();
    let Some(subject) = subject else {
        let what = rule.map_or("event or task", |rule| rule.subject_type.as_str());
        return format!("Deleted {what}: {word}");
    };
    let title = line(&subject.title);
    match subject.date(anchor).map(instant) {
        Some(at) if subject.is_all_day => {
            format!("{title}: {word} on {}", day(Offset::UTC.to_datetime(at).date(), now))
        }
        Some(at) => format!("{title}: {word} on {}", moment(at, now)),
        None => format!("{title}: {word}"),
    }
}
