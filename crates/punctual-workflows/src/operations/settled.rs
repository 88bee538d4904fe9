//! Runs when all messages of an occurrence have settled: records who was reached, and notifies the others over another channel.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_engine::{Settled, SettledWork};
use punctual_model::{
    AttemptOutcome, Effect, Followed, InputHash, NewWork, NotificationStatus, Reach, ReasonCode, Trigger,
    WorkKey,
};
use punctual_store::{
    Conn, StoreError,
    attempts::{self, AttemptRow},
    notifications::{self, NotificationRow},
    work::{self, WorkRow},
};
use serde_json::json;

use super::{
    Fallback, Input, KIND,
    arrival::{Known, read},
    key,
    log::Put,
    occurrence_of, reach,
};

/// What was loaded for occurrences that have settled.
pub struct Deliveries {
    known: Known,
    works: HashMap<String, WorkRow>,
    messages: HashMap<i64, Vec<NotificationRow>>,
    attempts: HashMap<i64, Vec<AttemptRow>>,
}

pub(super) async fn load(conn: &mut Conn<'_>, works: &[SettledWork]) -> Result<Deliveries, StoreError> {
    let rows =
        work::by_keys(conn, &Reach::Everything, works.iter().map(|work| work.key.clone()).collect()).await?;
    let ids = work::queued(conn, &rows).await?.into_values().flatten().collect();
    let found = notifications::by_ids(conn, &Reach::Everything, ids).await?;
    let tried = attempts::of(conn, found.iter().map(|row| row.seq).collect()).await?;
    let payloads = rows.iter().filter_map(|row| read(&row.input)).map(|input| input.payload).collect();
    let known = Known::load(conn, payloads).await?;
    let mut messages: HashMap<i64, Vec<NotificationRow>> = HashMap::new();
    for row in found {
        messages.entry(row.work_id.map_or(0, |work| work.0)).or_default().push(row);
    }
    let mut attempts: HashMap<i64, Vec<AttemptRow>> = HashMap::new();
    for row in tried {
        attempts.entry(row.notification_seq).or_default().push(row);
    }
    let works = rows.into_iter().map(|row| (row.key.clone(), row)).collect();
    Ok(Deliveries { known, works, messages, attempts })
}

impl Settled<Put> for Deliveries {
    fn settled(&self, settled: &SettledWork, now: Timestamp) -> Followed<Put> {
        let Some(work) = self.works.get(&settled.key) else { return Followed::default() };
        let (Some(input), Some((occurrence, step, _))) = (read(&work.input), occurrence_of(&work.key)) else {
            return Followed::default();
        };
        let nothing = Vec::new();
        let messages = self.messages.get(&work.id).unwrap_or(&nothing);
        let (mut reached, mut is_news) = (HashSet::new(), !self.is_marked(&input, &occurrence));
        for message in messages {
            for attempt in self.attempts.get(&message.seq).unwrap_or(&Vec::new()) {
                if attempt.outcome == Some(AttemptOutcome::Delivered) {
                    reached.insert(attempt.target.to_lowercase());
                    // After a retry, only what the last attempt has reached is news.
                    is_news |= attempt.n == message.attempts;
                }
            }
        }
        let rows = if reached.is_empty() || !is_news {
            Vec::new()
        } else {
            let (payload, recipients) = (input.payload.clone(), reached.len());
            vec![Put::Sent { payload, occurrence: occurrence.clone(), recipients }]
        };
        Followed { effects: self.fall_back(work, &input, &occurrence, step, messages, now), rows }
    }
}

impl Deliveries {
    /// Whether the rule knows already that this occurrence was sent.
    fn is_marked(&self, input: &Input, occurrence: &str) -> bool {
        let rule = self.known.rules.get(&input.payload.notification_rule_id);
        rule.is_some_and(|rule| rule.last_sent_occurrence.as_deref() == Some(occurrence))
    }

    /// Those whom a parked message did not reach are notified over their next channel, where they have one.
    fn fall_back(
        &self,
        work: &WorkRow,
        input: &Input,
        occurrence: &str,
        step: usize,
        messages: &[NotificationRow],
        now: Timestamp,
    ) -> Vec<Effect> {
        let known = &self.known;
        let rule = known.rules.get(&input.payload.notification_rule_id);
        let rule = rule.filter(|rule| rule.active && rule.deleted_at.is_none());
        let (Some(rule), Some(subject)) = (rule, known.subjects.get(&input.payload.subject_id)) else {
            return Vec::new();
        };
        let only = input.fallback.as_ref().map(|fallback| fallback.people.as_slice());
        let reached = reach(subject, rule, known.organisation_of(subject), &known.people, step, only);
        let (mut people, mut left) = (Vec::new(), 0);
        for message in messages.iter().filter(|message| message.status == NotificationStatus::Parked) {
            for target in self.missed(message) {
                let one = reached.iter().find(|one| {
                    one.channel.as_str() == message.channel.as_str()
                        && one.address.eq_ignore_ascii_case(&target)
                });
                match one.filter(|one| one.has_next) {
                    Some(one) => people.push(one.person.clone()),
                    None => left += 1,
                }
            }
        }
        let Ok(next) = key(&rule.id, occurrence, step + 1) else { return Vec::new() };
        if people.is_empty() {
            return Vec::new();
        }
        let mut effects = vec![Effect::Ensure(Box::new(self.next(work, input, next, step + 1, people, now)))];
        // Nobody has to check a message whose people are notified another way; where some are not, it stays.
        if left == 0
            && let Ok(origin) = WorkKey::parse(&work.key)
        {
            effects.push(Effect::Withdraw { origin, reason: ReasonCode::ToldAnotherWay });
        }
        effects
    }

    /// The targets of a parked message that surely do not have it. Of one with no certain end nobody knows.
    fn missed(&self, message: &NotificationRow) -> Vec<String> {
        let nothing = Vec::new();
        let attempts = self.attempts.get(&message.seq).unwrap_or(&nothing);
        let may_have_it = |target: &str| {
            attempts.iter().filter(|attempt| attempt.target == target).any(|attempt| {
                matches!(attempt.outcome, Some(AttemptOutcome::Delivered | AttemptOutcome::Uncertain) | None)
            })
        };
        let targets = message.targets.as_ref().and_then(|targets| targets.read().ok()).unwrap_or_default();
        targets.into_iter().filter(|target| !may_have_it(target)).collect()
    }

    fn next(
        &self,
        work: &WorkRow,
        input: &Input,
        key: WorkKey,
        step: usize,
        people: Vec<String>,
        now: Timestamp,
    ) -> NewWork {
        let input = Input { fallback: Some(Fallback { step, people }), ..input.clone() };
        NewWork {
            key,
            kind: KIND,
            trigger: Trigger::At,
            business_unit: work.business_unit.clone(),
            source: work.source_type.clone().zip(work.source_id.clone()),
            setting_id: work.setting_id.clone(),
            due_at: now,
            local: None,
            input_hash: InputHash::of_fields(&[
                ("topic", input.topic.as_str().into()),
                ("payload", json!(input.payload)),
                ("step", step.into()),
            ]),
            input: serde_json::to_string(&input).unwrap_or_default(),
        }
    }
}
