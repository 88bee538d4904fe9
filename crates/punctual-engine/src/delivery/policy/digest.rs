//! What is too much for a day is kept, and sent in one message the next morning.

use std::collections::HashMap;

use jiff::{
    Timestamp,
    civil::{Date, Time},
    tz::TimeZone,
};
use punctual_model::{
    Cause, InputHash, NewWork, NotificationId, NotificationStatus, Reach, Trigger, WorkId, WorkKey,
    delivery_policy::DeliveryPolicy, local_time,
};
use punctual_store::{
    StoreError, Tx,
    delivery_policy::{
        days::Day,
        digests::{self, DigestItem, DigestOf},
    },
    notifications::{self, Delivery, NotificationRow},
};
use serde_json::Value;

use crate::{Engine, delivery::render::Templates, ensure::ensure_in};

pub(super) use crate::delivery_policy::preferences::DIGEST as KIND;

/// When a digest is sent where nothing is configured.
const AT: Time = Time::constant(8, 0, 0, 0);
/// What a digest has of one message.
const EXCERPT: usize = 2_000;

/// One message to one person that is too much for their day.
pub(super) struct Held<'h> {
    pub(super) row: &'h NotificationRow,
    pub(super) zone: TimeZone,
    pub(super) day: &'h Day,
    pub(super) target: &'h str,
}

impl Engine {
    pub(super) async fn hold_for_digest(
        &self,
        tx: &mut Tx,
        held: &[Held<'_>],
        settings: &DeliveryPolicy,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let names = held.iter().filter_map(|one| one.row.template.clone()).collect();
        let mut templates = Templates::load(&mut tx.conn(), names).await?;
        let mut works: HashMap<DigestOf, NewWork> = HashMap::new();
        let mut items = Vec::new();
        for one in held {
            let text = templates.render(one.row).ok();
            let (subject, body) = text.map_or_else(Default::default, |text| (text.subject, text.body));
            let item = DigestItem {
                person: one.day.person.clone(),
                local_date: one.day.local_date.clone(),
                notification_id: one.row.id.to_string(),
                target: one.target.to_owned(),
                channel: one.row.channel.to_string(),
                subject,
                body: body.chars().take(EXCERPT).collect(),
                work_id: one.row.work_id,
                business_unit: one.row.business_unit.clone(),
                held_at: now,
            };
            let digest = item.digest();
            items.push(item);
            if !works.contains_key(&digest) {
                // A key that is too long has no digest; the message itself says that it was held back.
                works.extend(work(one, &digest, settings).map(|work| (digest, work)));
            }
        }
        digests::keep(&mut tx.conn(), now, &items).await?;
        let mut works: Vec<NewWork> = works.into_values().collect();
        works.sort_by(|a, b| a.key.cmp(&b.key));
        ensure_in(tx, now, &works, Cause::Machine).await?;
        Ok(())
    }
}

/// What arrived, or was given up, in these digests: for the workflows that wait for it, the outcome of the digest is that of the
/// messages in it.
pub(in crate::delivery) async fn digested(
    tx: &mut Tx,
    settled: &[(&NotificationRow, &Delivery)],
) -> Result<Vec<(WorkId, NotificationId, NotificationStatus)>, StoreError> {
    let mut outcomes: HashMap<String, NotificationStatus> = HashMap::new();
    for (row, delivery) in settled {
        if row.kind != KIND || !delivery.status.is_final() {
            continue;
        }
        let arrived = delivery.status == NotificationStatus::Delivered;
        let outcome = if arrived { NotificationStatus::Delivered } else { NotificationStatus::Parked };
        let context = row.context.as_ref().and_then(|context| context.read().ok()).unwrap_or_default();
        let ids = context["digestOf"].as_array().into_iter().flatten();
        outcomes.extend(ids.filter_map(Value::as_str).map(|id| (id.to_owned(), outcome)));
    }
    if outcomes.is_empty() {
        return Ok(Vec::new());
    }
    let rows =
        notifications::by_ids(&mut tx.conn(), &Reach::Everything, outcomes.keys().cloned().collect()).await?;
    let waited_for = rows.into_iter().filter(|row| row.reports_back);
    let reported = waited_for.filter_map(|row| {
        let outcome = outcomes.get(&row.id.to_string()).copied()?;
        Some((row.work_id?, row.id, outcome))
    });
    Ok(reported.collect())
}

fn work(held: &Held<'_>, of: &DigestOf, settings: &DeliveryPolicy) -> Option<NewWork> {
    let DigestOf { person, local_date, business_unit } = of;
    let date: Date = local_date.parse().ok()?;
    let morning = date.tomorrow().ok()?;
    let due_at = local_time::resolve(morning, settings.digest_at.unwrap_or(AT), &held.zone).at;
    Some(NewWork {
        key: WorkKey::digest(person, local_date, business_unit.as_deref()).ok()?,
        kind: KIND,
        trigger: Trigger::At,
        business_unit: business_unit.clone(),
        source: None,
        setting_id: None,
        due_at,
        local: held.zone.iana_name().map(|zone| (morning.to_string(), zone.to_owned())),
        input_hash: InputHash::of_fields(&[
            ("person", person.as_str().into()),
            ("date", local_date.as_str().into()),
        ]),
        input:
            serde_json::json!({ "person": person, "localDate": local_date, "businessUnit": business_unit })
                .to_string(),
    })
}
