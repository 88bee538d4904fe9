//! The message of a digest, and what happens to it when something in it is no longer wanted.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_model::{ReasonCode, WorkKey};
use punctual_store::{
    StoreError, Tx,
    delivery_policy::digests::{self, DigestItem, DigestOf},
    notifications::{self, NotificationRow, Rewritten, Withdrawn},
    work,
};
use serde_json::{Value, json};

/// Messages that are given in full; of more, only the subjects.
const IN_FULL: usize = 50;

/// What a digest says.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestText {
    pub subject: String,
    pub body: String,
    /// Names the messages in it.
    pub context: Value,
}

/// The text of a digest over what was held back on a day.
pub fn compose(local_date: &str, items: &[DigestItem]) -> DigestText {
    let subject = match items {
        [only] => only.subject.clone(),
        _ => format!("{} messages of {local_date}", items.len()),
    };
    let mut body =
        format!("You had many messages on {local_date}. These were kept back and come together now.\n");
    for (index, item) in items.iter().enumerate() {
        body.push_str(&format!("\n* {}\n", item.subject));
        if index < IN_FULL && !item.body.is_empty() {
            body.push_str(&format!("{}\n", item.body.trim_end()));
        }
    }
    let ids: Vec<&str> = items.iter().map(|item| item.notification_id.as_str()).collect();
    DigestText { subject, body, context: json!({ "digestOf": ids, "localDate": local_date }) }
}

/// Takes what these work rows queued out of digests: those that are still to be made, and those that are queued. One in which
/// nothing is left is withdrawn. Returns what was withdrawn, and those that say less now.
///
/// The row of a digest is locked first, as its decision does: so either the decision sees what is left, or its message is
/// found here. One that is being sent has left.
pub(crate) async fn leave_out(
    tx: &mut Tx,
    now: Timestamp,
    reason: ReasonCode,
    work_keys: Vec<String>,
) -> Result<(Vec<Withdrawn>, Vec<NotificationRow>), StoreError> {
    let of = digests::drop_of_work(&mut tx.conn(), work_keys).await?;
    if of.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let key = |digest: &DigestOf| {
        let DigestOf { person, local_date, business_unit } = digest;
        WorkKey::digest(person, local_date, business_unit.as_deref()).ok()
    };
    let by_key: HashMap<String, &DigestOf> =
        of.iter().filter_map(|digest| Some((key(digest)?.to_string(), digest))).collect();
    let rows = work::lock_existing(&mut tx.conn(), by_key.keys().cloned().collect()).await?;
    let mut left: HashMap<DigestOf, Vec<DigestItem>> = HashMap::new();
    for item in digests::of(&mut tx.conn(), &of).await? {
        left.entry(item.digest()).or_default().push(item);
    }
    let (mut emptied, mut shorter) = (Vec::new(), HashMap::new());
    for row in rows {
        let Some(digest) = by_key.get(&row.key) else { continue };
        match left.get(*digest) {
            None => emptied.push(row.key),
            Some(items) => drop(shorter.insert(row.id, compose(&digest.local_date, items))),
        }
    }
    let withdrawn = match emptied.is_empty() {
        true => Vec::new(),
        false => notifications::withdraw_by_work(&mut tx.conn(), now, reason, emptied).await?,
    };
    let waiting = match shorter.is_empty() {
        true => Vec::new(),
        false => notifications::waiting_of_work(&mut tx.conn(), shorter.keys().copied().collect()).await?,
    };
    let rewritten: Vec<Rewritten> = waiting
        .iter()
        .filter_map(|row| {
            let text = shorter.get(&row.work_id?.0)?.clone();
            let context = text.context.to_string();
            Some(Rewritten { wanted: row.seq, subject: text.subject, body: text.body, context })
        })
        .collect();
    notifications::rewrite(&mut tx.conn(), &rewritten).await?;
    Ok((withdrawn, waiting))
}
