//! Digests: messages above a person's daily cap, sent in one message the next morning.
//!
//! Delivery creates the work row when it holds a message back; the held items are in their own table.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_engine::{
    Claimed, Decide, Loads, Titles, Workflow,
    delivery_policy::{
        digests::{DigestText, compose},
        preferences::DIGEST,
    },
    titles::{day as shown_day, line},
};
use punctual_model::{
    Audience, Decided, Decision, KeyParts, NewNotification, NotificationId, Reach, ReasonCode,
};
use punctual_store::{
    Conn, StoreError,
    delivery_policy::digests::{self, DigestItem, DigestOf},
    operations::people,
};

/// The workflow of digests. It reads what was held back for a whole batch at once.
pub struct Digests;

impl Workflow for Digests {
    fn kind(&self) -> &'static str {
        DIGEST
    }
}

impl Titles for Digests {
    async fn titles(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let person = |key: &KeyParts| match key {
            KeyParts::Digest { person, .. } => Some(person.clone()),
            _ => None,
        };
        let names = people::names(conn, reach, keys.iter().filter_map(person).collect()).await?;
        let title = |key: &KeyParts| match key {
            KeyParts::Digest { person, local_date, .. } => {
                let name = names.get(person).unwrap_or(person);
                let date =
                    local_date.parse().map_or_else(|_| local_date.clone(), |date| shown_day(date, now));
                Some(format!("Digest for {}, {date}", line(name)))
            }
            _ => None,
        };
        Ok(keys.iter().map(title).collect())
    }
}

impl Loads for Digests {
    type Loaded = Loaded;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Loaded, StoreError> {
        let wanted: Vec<DigestOf> = batch.iter().filter_map(|row| digest(&row.input)).collect();
        let mut held: HashMap<DigestOf, Vec<DigestItem>> = HashMap::new();
        for item in digests::of(conn, &wanted).await? {
            held.entry(item.digest()).or_default().push(item);
        }
        Ok(Loaded(held))
    }
}

/// Which digest a row is for. One from before each unit had its own names none, as what was held back for it does.
fn digest(input: &str) -> Option<DigestOf> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        person: String,
        local_date: String,
        #[serde(default)]
        business_unit: Option<String>,
    }
    let Input { person, local_date, business_unit } = serde_json::from_str(input).ok()?;
    Some(DigestOf { person, local_date, business_unit })
}

/// What was held back, by digest.
pub struct Loaded(HashMap<DigestOf, Vec<DigestItem>>);

impl Decide for Loaded {
    fn decide(&self, row: &Claimed, _now: Timestamp) -> Decided {
        let Some(digest) = digest(&row.input) else {
            return Decision::Hold(ReasonCode::InputUnreadable).into();
        };
        let Some(items) = self.0.get(&digest).filter(|items| !items.is_empty()) else {
            return Decision::Skip(ReasonCode::NoLongerWanted).into();
        };
        let mut new = message(&digest.local_date, items);
        new.business_unit = row.business_unit.clone();
        Decision::Deliver(vec![new]).into()
    }
}

/// One message over the channel of the first that was held back, to the address that it was for.
fn message(local_date: &str, items: &[DigestItem]) -> NewNotification {
    let DigestText { subject, body, context } = compose(local_date, items);
    let first = &items[0];
    let audience = Audience::Targets(vec![first.target.clone()]);
    let mut new = NewNotification::new(NotificationId(Default::default()), audience, subject, body);
    new.kind = DIGEST.to_owned();
    new.channel = first.channel.parse().ok();
    new.context = Some(context);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(n: usize) -> DigestItem {
        DigestItem {
            person: "ann".into(),
            local_date: "2026-05-14".into(),
            notification_id: format!("id-{n}"),
            target: "ann@example.org".into(),
            channel: "email:default".into(),
            subject: format!("Subject {n}"),
            body: format!("Body {n}"),
            work_id: None,
            business_unit: None,
            held_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_digest_has_what_was_held_back_and_names_it() {
        let one = message("2026-05-14", &[item(1)]);
        assert_eq!(one.subject, "Subject 1");
        let many: Vec<DigestItem> = (0..60).map(item).collect();
        let many = message("2026-05-14", &many);
        assert_eq!(many.subject, "60 messages of 2026-05-14");
        assert!(
            many.body.contains("* Subject 59")
                && many.body.contains("Body 49")
                && !many.body.contains("Body 50")
        );
        assert_eq!(many.context.unwrap()["digestOf"].as_array().unwrap().len(), 60);
    }
}
