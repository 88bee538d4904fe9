//! Turns events into instances, in sets: matching triggers, deduplication, and the first message of new instances.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, Engine, EngineError, ensure_in};
use punctual_model::{
    AuditAction, Cause, NewWork, Random,
    survey::{Candidate, first_send},
};
use punctual_store::{
    Lane, StoreError, Tx, audit,
    survey_instances::{self, Holder, NewInstance},
    work,
};
use serde_json::{Map, Value, json};

use super::{
    Catalogue, Step,
    catalogue::{Entry, Published},
    work_of,
};

/// Items of one transaction: on SQLite about 10 ms of its writer, on PostgreSQL as much as a request brings as a rule.
const AT_ONCE_SQLITE: usize = 500;
const AT_ONCE_POSTGRES: usize = 1_000;
/// How often a hash that is neither free nor held is retried: its holder went away in between, or is another unit's.
const ATTEMPTS: usize = 4;

/// One event as it was received.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub payload: Map<String, Value>,
    pub address: String,
    pub locale: Option<String>,
    pub customer_ref: Option<String>,
    /// When it happened; now where nothing is said.
    pub occurred_at: Option<Timestamp>,
}

/// The outcome of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It matched: an instance for each trigger, new or from before.
    Matched(Vec<Made>),
    NoMatch(Why),
}

impl Outcome {
    /// The instances that are new.
    fn created(&self) -> impl Iterator<Item = &Made> {
        let made = match self {
            Self::Matched(made) => made.as_slice(),
            Self::NoMatch(_) => &[],
        };
        made.iter().filter(|made| made.created)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub survey_id: i64,
    pub trigger_id: String,
    pub public_id: String,
    /// False where the event was seen before, and this is its instance from then.
    pub created: bool,
}

/// Why nothing matched, the nearest miss first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    NoTrigger,
    Disabled,
    FilterFalse,
}

impl Why {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoTrigger => "no-trigger",
            Self::Disabled => "disabled",
            Self::FilterFalse => "filter-false",
        }
    }
}

/// Whose triggers are asked.
#[derive(Clone, Debug)]
pub enum Asked<'a> {
    /// Every trigger of the published surveys that subscribes to events of this kind.
    Kind(&'a str),
    /// One trigger, by an operator's own decision.
    Campaign { survey_id: i64, trigger_id: &'a str, by: &'a Actor },
}

impl Asked<'_> {
    fn entries(&self, published: &Published) -> Vec<Entry> {
        match self {
            Self::Kind(kind) => published.of_kind(kind).to_vec(),
            Self::Campaign { survey_id, trigger_id, .. } => {
                published.entry(*survey_id, trigger_id).into_iter().collect()
            }
        }
    }

    fn triggered_by(&self) -> String {
        match self {
            Self::Kind(kind) => format!("event:{kind}"),
            Self::Campaign { trigger_id, .. } => format!("campaign:{trigger_id}"),
        }
    }
}

/// Takes events in their order; an answer for each. `units` limits whose surveys may answer.
#[boxed]
pub async fn ingest(
    engine: &Engine,
    catalogue: &Catalogue,
    asked: &Asked<'_>,
    trace: Option<work::Asked>,
    units: Option<&[String]>,
    items: &[Item],
) -> Result<Vec<Outcome>, EngineError> {
    let at_once = if engine.store.is_single_process() { AT_ONCE_SQLITE } else { AT_ONCE_POSTGRES };
    let now = engine.clock.now();
    let mut outcomes = Vec::with_capacity(items.len());
    for some in items.chunks(at_once) {
        let mut tx = engine.store.begin(Lane::Intake).await?;
        tx.asked_for(trace.map(work::AskedFor::everything).unwrap_or_default());
        let some: Vec<&Item> = some.iter().collect();
        let done = ingest_in(&mut tx, now, engine.random.as_ref(), catalogue, asked, units, &some).await?;
        if let Asked::Campaign { survey_id, trigger_id, by } = asked {
            let links = done.iter().flat_map(Outcome::created).count();
            sent_by(&mut tx, now, by, catalogue, *survey_id, trigger_id, links).await?;
        }
        tx.commit().await?;
        outcomes.extend(done);
    }
    Ok(outcomes)
}

/// Writes down who asked so many people by hand.
async fn sent_by(
    tx: &mut Tx,
    now: Timestamp,
    by: &Actor,
    catalogue: &Catalogue,
    survey_id: i64,
    trigger_id: &str,
    links: usize,
) -> Result<(), StoreError> {
    if links == 0 {
        return Ok(());
    }
    let published = catalogue.current(&mut tx.conn()).await?;
    let unit = published.entry(survey_id, trigger_id).and_then(|entry| entry.business_unit);
    let entry = audit::Entry {
        data: Some(json!({ "trigger": trigger_id, "links": links }).to_string()),
        ..audit::Entry::new(AuditAction::RunNow, "survey", survey_id, unit.as_deref())
    };
    by.audit_entry(tx, now, entry).await
}

/// The same in a transaction that the caller commits.
#[boxed]
pub async fn ingest_in(
    tx: &mut Tx,
    now: Timestamp,
    random: &dyn Random,
    catalogue: &Catalogue,
    asked: &Asked<'_>,
    units: Option<&[String]>,
    items: &[&Item],
) -> Result<Vec<Outcome>, StoreError> {
    let published = catalogue.current(&mut tx.conn()).await?;
    let mut entries = asked.entries(&published);
    entries.retain(|entry| may_answer(entry, units));
    let triggered_by = asked.triggered_by();
    let mut wanted: Vec<Wanted> = Vec::with_capacity(items.len());
    let mut misses = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let mut why = Why::NoTrigger;
        for entry in &entries {
            match matched(entry, item) {
                Ok(identity) => wanted.push(Wanted { item: index, entry, identity }),
                Err(miss) => why = why.max(miss),
            }
        }
        misses.push(why);
    }
    let made = make(tx, now, random, items, &triggered_by, &wanted).await?;
    let mut outcomes: Vec<Outcome> = misses.into_iter().map(Outcome::NoMatch).collect();
    for (one, made) in wanted.iter().zip(made) {
        match &mut outcomes[one.item] {
            Outcome::Matched(all) => all.push(made),
            none => *none = Outcome::Matched(vec![made]),
        }
    }
    Ok(outcomes)
}

/// An instance that an item wants of a trigger.
struct Wanted<'e> {
    item: usize,
    entry: &'e Entry,
    identity: Identity,
}

impl Wanted<'_> {
    fn hash(&self) -> &str {
        &self.identity.hash
    }
}

/// What makes an event the same as another one. Within a business unit only an instance of that unit counts: those of another
/// are none of its business, also where the survey itself was that unit's before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// As it is stored.
    pub hash: String,
    unit: Option<String>,
    /// The other hash that it may have.
    other: Option<OtherHash>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OtherHash {
    /// As it was stored before units were distinguished.
    Before(String),
    /// As it is stored where an instance of another unit has the hash: the survey has moved since.
    Moved(String),
}

impl Identity {
    /// Under which hashes it may be stored.
    pub fn hashes(&self) -> impl Iterator<Item = &String> {
        let other = self.other.as_ref().map(|(OtherHash::Before(hash) | OtherHash::Moved(hash))| hash);
        std::iter::once(&self.hash).chain(other)
    }

    /// Whether this instance is of such an event.
    pub fn is_of(&self, holder: &Holder) -> bool {
        let is_own = self.unit.is_none() || self.unit == holder.business_unit;
        is_own && self.hashes().any(|hash| *hash == holder.unique_hash)
    }

    fn before(&self) -> Option<(&str, &str)> {
        match &self.other {
            Some(OtherHash::Before(hash)) => Some((hash, self.unit.as_deref()?)),
            _ => None,
        }
    }

    fn moved(&self) -> Option<&str> {
        match &self.other {
            Some(OtherHash::Moved(hash)) => Some(hash),
            _ => None,
        }
    }
}

/// The identity of an event that this trigger takes, or why it does not.
fn matched(entry: &Entry, item: &Item) -> Result<Identity, Why> {
    let trigger = entry.trigger();
    if !trigger.enabled {
        return Err(Why::Disabled);
    }
    let candidate = candidate(entry.version.survey_id, item);
    if trigger.filter.as_ref().is_some_and(|filter| !filter.matches(&|path| candidate.get(path))) {
        return Err(Why::FilterFalse);
    }
    let plain = hex(&trigger.recipe.hash(&candidate));
    let unit = entry.business_unit.clone();
    let own = unit.as_deref().map(|unit| hex(&trigger.recipe.hash_within(unit, &candidate)));
    // A recipe without the survey takes events of other surveys for its own, so that the unit is always in its hash.
    let (hash, other) = match own {
        Some(own) if trigger.recipe.names_survey() => (plain, Some(OtherHash::Moved(own))),
        Some(own) => (own, Some(OtherHash::Before(plain))),
        None => (plain, None),
    };
    Ok(Identity { hash, unit, other })
}

/// The identity of an event for the one trigger of a campaign, or why it is not taken.
pub(super) fn only_identity(
    published: &Published,
    asked: &Asked<'_>,
    units: Option<&[String]>,
    item: &Item,
) -> Result<Identity, Why> {
    let entries = asked.entries(published).into_iter().filter(|entry| may_answer(entry, units));
    let mut why = Why::NoTrigger;
    for entry in entries {
        match matched(&entry, item) {
            Ok(identity) => return Ok(identity),
            Err(miss) => why = why.max(miss),
        }
    }
    Err(why)
}

/// Whether a survey may answer to somebody who is limited to these units.
fn may_answer(entry: &Entry, units: Option<&[String]>) -> bool {
    units.is_none_or(|units| entry.business_unit.as_ref().is_some_and(|unit| units.contains(unit)))
}

/// The event as filters and recipes see it.
pub fn candidate(survey_id: i64, item: &Item) -> Candidate<'_> {
    Candidate {
        survey_id,
        payload: &item.payload,
        address: &item.address,
        locale: item.locale.as_deref(),
        customer_ref: item.customer_ref.as_deref(),
    }
}

/// A hash as it is stored.
pub fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(64);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Inserts what is new, finds what is not, and plans the first message of what is; an answer for each.
async fn make(
    tx: &mut Tx,
    now: Timestamp,
    random: &dyn Random,
    items: &[&Item],
    triggered_by: &str,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Made>, StoreError> {
    // The first of those with one hash counts; in order of the hashes, so that two callers cannot deadlock.
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(wanted.len());
    for (place, one) in wanted.iter().enumerate() {
        first.entry(one.hash()).or_insert(place);
    }
    let mut open: Vec<usize> = first.values().copied().collect();
    open.sort_unstable_by(|a, b| wanted[*a].hash().cmp(wanted[*b].hash()));
    let mut holders: HashMap<&str, (String, bool)> = HashMap::with_capacity(open.len());
    let mut works: Vec<NewWork> = Vec::with_capacity(open.len());
    // Under what hash each is stored, where that is not the first.
    let mut moved: HashMap<usize, &str> = HashMap::new();
    for (hash, holder) in held_before(tx, wanted, &open).await? {
        holders.insert(hash, (holder, false));
    }
    open.retain(|place| !holders.contains_key(wanted[*place].hash()));
    for _ in 0..ATTEMPTS {
        if open.is_empty() {
            break;
        }
        let new: Vec<NewInstance> = open
            .iter()
            .map(|place| {
                let one = &wanted[*place];
                let hash = moved.get(place).copied().unwrap_or_else(|| one.hash());
                let public_id = random.uuid().hyphenated().to_string();
                instance(one, items[one.item], triggered_by, hash, public_id, now)
            })
            .collect();
        let by_id: HashMap<&str, (usize, &NewInstance)> = open
            .iter()
            .zip(&new)
            .map(|(place, instance)| (instance.public_id.as_str(), (*place, instance)))
            .collect();
        let inserted =
            survey_instances::insert_absent(&mut tx.conn(), &new.iter().collect::<Vec<_>>()).await?;
        for row in inserted {
            let Some((place, instance)) = by_id.get(row.public_id.as_str()) else { continue };
            works.extend(first_message(instance));
            holders.insert(wanted[*place].hash(), (row.public_id, true));
        }
        open.retain(|place| !holders.contains_key(wanted[*place].hash()));
        if open.is_empty() {
            break;
        }
        let stored: HashMap<String, usize> = open
            .iter()
            .map(|place| (moved.get(place).copied().unwrap_or_else(|| wanted[*place].hash()), *place))
            .map(|(hash, place)| (hash.to_owned(), place))
            .collect();
        for holder in survey_instances::by_hashes(&mut tx.conn(), stored.keys().cloned().collect()).await? {
            let Some(place) = stored.get(&holder.unique_hash) else { continue };
            let identity = &wanted[*place].identity;
            if identity.is_of(&holder) {
                holders.insert(wanted[*place].hash(), (holder.public_id, false));
            } else if let Some(hash) = identity.moved() {
                moved.insert(*place, hash);
            }
        }
        open.retain(|place| !holders.contains_key(wanted[*place].hash()));
    }
    if !works.is_empty() {
        ensure_in(tx, now, &works, Cause::Machine).await?;
    }
    wanted
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let (public_id, created) =
                holders.get(one.hash()).ok_or(StoreError::Stored("an instance that was just made"))?.clone();
            Ok(Made {
                survey_id: one.entry.version.survey_id,
                trigger_id: one.entry.trigger().id.clone(),
                public_id,
                created: created && first.get(one.hash()) == Some(&place),
            })
        })
        .collect()
}

/// The instances of these events that were stored before units were distinguished, by today's hash.
async fn held_before<'w>(
    tx: &mut Tx,
    wanted: &'w [Wanted<'_>],
    open: &[usize],
) -> Result<Vec<(&'w str, String)>, StoreError> {
    let before: HashMap<(&str, &str), &str> = open
        .iter()
        .filter_map(|place| Some((wanted[*place].identity.before()?, wanted[*place].hash())))
        .collect();
    if before.is_empty() {
        return Ok(Vec::new());
    }
    let mut hashes: Vec<String> = before.keys().map(|(hash, _)| (*hash).to_owned()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let holders = survey_instances::by_hashes(&mut tx.conn(), hashes).await?;
    let own = holders.into_iter().filter_map(|holder| {
        let now = before.get(&(holder.unique_hash.as_str(), holder.business_unit.as_deref()?))?;
        Some((*now, holder.public_id))
    });
    Ok(own.collect())
}

fn instance(
    one: &Wanted<'_>,
    item: &Item,
    triggered_by: &str,
    hash: &str,
    public_id: String,
    now: Timestamp,
) -> NewInstance {
    let trigger = one.entry.trigger();
    let triggered_at = item.occurred_at.unwrap_or(now);
    NewInstance {
        public_id,
        survey_id: one.entry.version.survey_id,
        version_id: one.entry.version.id,
        trigger_id: trigger.id.clone(),
        triggered_by: triggered_by.to_owned(),
        triggered_at,
        business_unit: one.entry.business_unit.clone(),
        customer_ref: item.customer_ref.clone(),
        metadata: serde_json::to_string(&item.payload).unwrap_or_else(|_| "{}".to_owned()),
        channel: trigger.channel.as_str().to_owned(),
        recipient_address: item.address.clone(),
        recipient_locale: item.locale.clone(),
        next_send_at: first_send(&trigger.schedule, triggered_at),
        reminders_remaining: i64::try_from(trigger.schedule.reminders.len()).unwrap_or(i64::MAX),
        unique_hash: hash.to_owned(),
    }
}

/// The work row of an instance's first message. A key of a GUID is never too long.
fn first_message(new: &NewInstance) -> Option<NewWork> {
    let unit = new.business_unit.clone();
    work_of(&new.public_id, Step::Send(1), new.survey_id, unit, new.next_send_at).ok()
}
