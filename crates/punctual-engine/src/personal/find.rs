//! Everything that is stored about a person and within reach.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use punctual_boxed::boxed;
use punctual_model::{Reach, WorkStatus, address::comparable};
use punctual_store::{
    Conn, StoreError,
    delivery_policy::preferences::{self, PreferenceRow},
    messages::{self, MessageRow},
    personal::{
        self, DefinitionKind, DefinitionRow, FoundInstance, FoundNotification, FoundPerson, FoundResponse,
        FoundSource, FoundWork, Part, SuppressedAt,
    },
    users::{self, UserRow},
};
use serde_json::Value;

use super::{
    KindCount, Names, Person,
    index::{self, Numbers},
    scrub,
};
use crate::Engine;

/// Rows of one statement.
const AT_ONCE: usize = 500;
/// Types of channels whose addresses are people's: the audit of suppressions names both.
const CHANNEL_TYPES: [&str; 8] = ["email", "inbox", "memory", "slack", "sms", "teams", "webhook", "whatsapp"];

/// A message to a person.
#[derive(Clone, Debug)]
pub(super) struct Theirs {
    pub(super) row: FoundNotification,
    /// Its other targets, where it names the person itself; a message to a list names nobody.
    pub(super) others: Option<Vec<String>>,
    /// Attempts for the person.
    pub(super) attempts: i64,
}

impl Theirs {
    /// Whether it was to the person alone: its text goes, too.
    pub(super) fn is_for_them_alone(&self) -> bool {
        self.others.as_ref().is_some_and(Vec::is_empty)
    }
}

/// A message that waits, or waited, for its time.
#[derive(Clone, Debug)]
pub(super) struct TheirMessage {
    pub(super) row: MessageRow,
    pub(super) others: Vec<String>,
    pub(super) work_id: i64,
    /// Whether its work may still send it.
    pub(super) is_pending: bool,
}

/// What is stored about a person.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub(super) names: Names,
    pub(super) notifications: Vec<Theirs>,
    pub(super) messages: Vec<TheirMessage>,
    /// Work whose input names them, or whose trace was made for a message to them.
    pub(super) work: Vec<FoundWork>,
    pub(super) instances: Vec<FoundInstance>,
    pub(super) responses: Vec<FoundResponse>,
    pub(super) events: Vec<i64>,
    pub(super) event_messages: Vec<i64>,
    /// Messages of surveys that were purged, by id: their attempts are kept beside the ledger.
    pub(super) purged_sends: Vec<String>,
    pub(super) sources: Vec<FoundSource>,
    pub(super) people: Vec<FoundPerson>,
    pub(super) definitions: Vec<(DefinitionKind, DefinitionRow)>,
    pub(super) preferences: Vec<PreferenceRow>,
    pub(super) suppressions: Vec<SuppressedAt>,
    pub(super) inbox: i64,
    pub(super) digests: i64,
    pub(super) user: Option<UserRow>,
    /// Entries of the audit, by the kind of their subject.
    pub(super) audit: BTreeMap<&'static str, i64>,
    /// Whether what belongs to no unit was searched, too.
    pub(super) is_of_all: bool,
}

impl Findings {
    /// How much there is of each kind; kinds of which there is nothing are left out.
    pub fn counts(&self) -> Vec<KindCount> {
        let of = |kind: DefinitionKind| self.definitions.iter().filter(|(of, _)| *of == kind).count();
        let attempts: i64 = self.notifications.iter().map(|one| one.attempts).sum();
        let rows = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
        [
            ("notifications", rows(self.notifications.len())),
            ("attempts", attempts),
            ("messages", rows(self.messages.len())),
            ("work", rows(self.work.len())),
            ("survey-instances", rows(self.instances.len())),
            ("answers", rows(self.responses.len())),
            ("events", rows(self.events.len())),
            ("sources", rows(self.sources.len())),
            ("people", rows(self.people.len())),
            ("lists", rows(of(DefinitionKind::List))),
            ("reminders", rows(of(DefinitionKind::Reminder))),
            ("reports", rows(of(DefinitionKind::Report))),
            ("preferences", rows(self.preferences.len())),
            ("suppressions", rows(self.suppressions.len())),
            ("inbox", self.inbox),
            ("digests", self.digests),
            ("users", rows(usize::from(self.user.is_some()))),
            ("audit-entries", self.audit.values().sum()),
        ]
        .into_iter()
        .filter(|(_, rows)| *rows > 0)
        .map(|(kind, rows)| KindCount { kind: kind.to_owned(), rows })
        .collect()
    }

    /// Subjects of the audit whose entries are about the person: the kind, the ids, and whether the ids name them.
    pub(super) fn audit_subjects(&self) -> Vec<(&'static str, Vec<String>, bool)> {
        let people: Vec<String> = self.people.iter().map(|one| one.id.clone()).collect();
        let mut preferences: Vec<String> = self.preferences.iter().map(|one| one.person.clone()).collect();
        let suppressed = |one: &SuppressedAt| format!("{}:{}", one.channel_type, one.address);
        let mut suppressed: BTreeSet<String> = self.suppressions.iter().map(suppressed).collect();
        // Of suppressions that were taken back, too.
        if self.is_of_all {
            let of_type = |kind: &'static str| {
                self.names.addresses.iter().map(move |address| format!("{kind}:{address}"))
            };
            suppressed.extend(CHANNEL_TYPES.into_iter().flat_map(of_type));
        }
        let mut subjects = vec![
            ("notification", self.notifications.iter().map(|one| one.row.id.clone()).collect(), false),
            ("work", self.work_ids().map(|id| id.to_string()).collect(), false),
            ("survey-instance", self.instances.iter().map(|one| one.public_id.clone()).collect(), false),
            ("person", people, true),
            ("address", suppressed.into_iter().collect(), true),
            ("user", self.user.iter().map(|one| one.id.clone()).collect(), true),
        ];
        // Preferences that were removed count too: their entries name the address.
        if self.is_of_all {
            preferences.extend(self.names.people());
        }
        preferences.sort_unstable();
        preferences.dedup();
        subjects.push(("preference", preferences, true));
        subjects.retain(|(_, ids, _)| !ids.is_empty());
        subjects
    }
}

impl Findings {
    /// Work that names the person, and work that sends a message to them.
    fn work_ids(&self) -> impl Iterator<Item = i64> {
        self.work.iter().map(|one| one.id).chain(self.messages.iter().map(|one| one.work_id))
    }

    /// Names under which the person has an inbox, counts and digests.
    pub(super) fn people_names(&self) -> Vec<String> {
        let mut people = self.names.people();
        people.extend(self.preferences.iter().map(|one| one.person.clone()));
        people.sort_unstable();
        people.dedup();
        people
    }

    /// The rows that the index names, but for sources: several are changed at one moment.
    pub(super) fn numbers(&self) -> Numbers {
        let notifications: BTreeSet<i64> = self.notifications.iter().map(|one| one.row.seq).collect();
        Numbers::from([
            (Part::Attempts, notifications.clone()),
            (Part::Notifications, notifications),
            (Part::Work, self.work_ids().collect()),
            (Part::Surveys, self.instances.iter().map(|one| one.id).collect()),
        ])
    }
}

impl Engine {
    /// Everything that is stored about a person and within reach.
    #[boxed]
    pub async fn find_person(&self, reach: &Reach, person: &Person) -> Result<Findings, StoreError> {
        let mut reader = self.store.read().await?;
        find(&mut reader.conn(), reach, person).await
    }
}

async fn find(conn: &mut Conn<'_>, reach: &Reach, person: &Person) -> Result<Findings, StoreError> {
    let mut found = Findings { names: names_of(conn, reach, person).await?, ..Findings::default() };
    let mut hints = index::occurrences(conn, &found.names).await?;
    let mut take = |part| hints.remove(&part).unwrap_or_default();
    let (named, sent) = (take(Part::Notifications), take(Part::Attempts));
    found.notifications = notifications(conn, reach, &found.names, named, sent).await?;
    work_and_messages(conn, reach, &mut found, take(Part::Work)).await?;
    surveys(conn, reach, &mut found, take(Part::Surveys)).await?;
    let moments: Vec<i64> = take(Part::Sources).into_iter().collect();
    for some in moments.chunks(AT_ONCE) {
        let rows = personal::found_sources(conn, reach, some.to_vec()).await?;
        found.sources.extend(rows.into_iter().filter(|row| names_in(&row.state, &found.names)));
    }
    traces_of_sources(conn, reach, &mut found).await?;
    events_of_work(conn, &mut found).await?;
    for kind in DefinitionKind::ALL {
        let mut rows = BTreeMap::new();
        for address in &found.names.addresses {
            let matching = personal::definitions_with(conn, reach, kind, address).await?;
            rows.extend(matching.into_iter().map(|row| (row.id.clone(), row)));
        }
        let theirs = rows.into_values().filter(|row| scrub::scrubbed(&row.text, &found.names).is_some());
        found.definitions.extend(theirs.map(|row| (kind, row)));
    }
    found.people = people(conn, reach, &found.names, take(Part::People)).await?;
    // What has no unit is the installation's.
    found.is_of_all = reach.units().is_none();
    if found.is_of_all {
        of_the_installation(conn, &mut found).await?;
    }
    for (kind, ids, with_subject) in found.audit_subjects() {
        for some in ids.chunks(AT_ONCE) {
            let rows = personal::audit_entries(conn, kind, some.to_vec(), with_subject).await?;
            *found.audit.entry(kind).or_default() += rows;
        }
    }
    Ok(found)
}

/// All addresses of a person, where an id was given; else the address.
async fn names_of(conn: &mut Conn<'_>, reach: &Reach, person: &Person) -> Result<Names, StoreError> {
    let mut names = Names::default();
    match person {
        Person::Address(address) => {
            names.addresses.insert(comparable(address));
        }
        Person::Id(id) => {
            let id = id.trim().to_owned();
            for row in personal::people_by_ids(conn, reach, vec![id.clone()]).await? {
                names.addresses.extend(row.comparable_addresses());
            }
            if reach.units().is_none()
                && let Some(row) = preferences::get(conn, &id).await?
            {
                let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
                names.addresses.extend(personal::addresses_in(&definition));
            }
            names.ids.insert(id);
        }
    }
    Ok(names)
}

async fn people(
    conn: &mut Conn<'_>,
    reach: &Reach,
    names: &Names,
    moments: BTreeSet<i64>,
) -> Result<Vec<FoundPerson>, StoreError> {
    let ids: Vec<String> = names.ids.iter().cloned().collect();
    let mut rows = personal::people_by_ids(conn, reach, ids).await?;
    let moments: Vec<i64> = moments.into_iter().collect();
    for some in moments.chunks(AT_ONCE) {
        let changed = personal::people_changed_at(conn, reach, some.to_vec()).await?;
        let theirs = |row: &FoundPerson| !row.comparable_addresses().is_disjoint(&names.addresses);
        rows.extend(changed.into_iter().filter(theirs));
    }
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    rows.dedup_by(|a, b| a.id == b.id);
    rows.retain(|row| !(row.name.is_empty() && row.email.is_none() && row.addresses == "{}"));
    Ok(rows)
}

fn names_in(json: &str, names: &Names) -> bool {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    personal::addresses_in(&value).iter().any(|address| names.addresses.contains(address))
}

async fn notifications(
    conn: &mut Conn<'_>,
    reach: &Reach,
    names: &Names,
    named: BTreeSet<i64>,
    sent: BTreeSet<i64>,
) -> Result<Vec<Theirs>, StoreError> {
    let mut seqs: BTreeSet<i64> = named.into_iter().chain(sent).collect();
    for some in personal::live_attempted(conn).await?.chunks(AT_ONCE) {
        let received = personal::received(conn, some.to_vec(), names.lower()).await?;
        seqs.extend(received.iter().filter(|row| names.has(&row.target)).map(|row| row.seq));
    }
    let seqs: Vec<i64> = seqs.into_iter().collect();
    let mut found = Vec::new();
    for some in seqs.chunks(AT_ONCE) {
        let mut received: HashMap<i64, i64> = HashMap::new();
        for row in personal::received(conn, some.to_vec(), names.lower()).await? {
            if names.has(&row.target) {
                *received.entry(row.seq).or_default() += row.attempts;
            }
        }
        for row in personal::found_notifications(conn, reach, some.to_vec()).await? {
            let others = row.targets.as_deref().and_then(|targets| scrub::others(targets, names));
            let attempts = received.get(&row.seq).copied();
            if others.is_some() || attempts.is_some() {
                found.push(Theirs { row, others, attempts: attempts.unwrap_or(0) });
            }
        }
    }
    Ok(found)
}

async fn work_and_messages(
    conn: &mut Conn<'_>,
    reach: &Reach,
    found: &mut Findings,
    hints: BTreeSet<i64>,
) -> Result<(), StoreError> {
    let alone = found.notifications.iter().filter(|one| one.is_for_them_alone());
    let traced: BTreeSet<i64> = alone.filter_map(|one| one.row.work_id).collect();
    let ids: Vec<i64> = hints.union(&traced).copied().collect();
    for some in ids.chunks(AT_ONCE) {
        let mut sends: HashMap<String, (i64, bool)> = HashMap::new();
        for row in personal::found_work(conn, reach, some.to_vec()).await? {
            let input: Value = serde_json::from_str(&row.input).unwrap_or_default();
            if let (true, Some(message)) = (row.kind == "message", input["messageId"].as_str()) {
                let is_pending = row.status == WorkStatus::Pending;
                sends.insert(message.to_owned(), (row.id, is_pending));
            }
            let has_trace = traced.contains(&row.id) && row.trace_blob.is_some();
            if has_trace || names_in(&row.input, &found.names) {
                found.work.push(row);
            }
        }
        let ids: Vec<String> = sends.keys().cloned().collect();
        if ids.is_empty() {
            continue;
        }
        for row in messages::by_ids(conn, reach, ids).await? {
            let targets = row.targets.as_ref();
            let others = targets.and_then(|targets| scrub::others(targets.as_str(), &found.names));
            if let (Some(others), Some(&(work_id, is_pending))) = (others, sends.get(&row.id)) {
                found.messages.push(TheirMessage { row, others, work_id, is_pending });
            }
        }
    }
    Ok(())
}

/// Traces of decisions about the person's sources: they may tell what a state said.
async fn traces_of_sources(
    conn: &mut Conn<'_>,
    reach: &Reach,
    found: &mut Findings,
) -> Result<(), StoreError> {
    let known: BTreeSet<i64> = found.work.iter().map(|one| one.id).collect();
    for source in &found.sources {
        let rows = personal::traced_of_source(conn, reach, &source.source_type, &source.source_id).await?;
        found.work.extend(rows.into_iter().filter(|row| !known.contains(&row.id)));
    }
    Ok(())
}

/// Events about work whose input names the person, such as the arrival of a schedule, and the messages that carry them.
async fn events_of_work(conn: &mut Conn<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let keys: Vec<String> = found.work.iter().map(|one| one.key.clone()).collect();
    for some in keys.chunks(AT_ONCE) {
        let events = personal::events_of_work(conn, some.to_vec()).await?;
        found.event_messages.extend(personal::event_notifications(conn, events.clone()).await?);
        found.events.extend(events);
    }
    Ok(())
}

async fn surveys(
    conn: &mut Conn<'_>,
    reach: &Reach,
    found: &mut Findings,
    hints: BTreeSet<i64>,
) -> Result<(), StoreError> {
    let hints: Vec<i64> = hints.into_iter().collect();
    for some in hints.chunks(AT_ONCE) {
        let rows = personal::found_instances(conn, reach, some.to_vec()).await?;
        let rows = rows.into_iter().filter(|row| found.names.has(&row.recipient_address));
        let rows: Vec<FoundInstance> = rows.collect();
        let ids = rows.iter().map(|row| row.id).collect();
        let responses = personal::responses_of(conn, ids).await?;
        found.responses.extend(responses.into_iter().filter(|row| row.answers != "{}"));
        let events =
            personal::events_of(conn, rows.iter().map(|row| row.public_id.clone()).collect()).await?;
        found.event_messages.extend(personal::event_notifications(conn, events.clone()).await?);
        found.events.extend(events);
        for row in &rows {
            found.purged_sends.extend(personal::sends_of(conn, &row.public_id).await?);
        }
        found.instances.extend(rows);
    }
    Ok(())
}

async fn of_the_installation(conn: &mut Conn<'_>, found: &mut Findings) -> Result<(), StoreError> {
    let mut owners: BTreeSet<String> = found.names.ids.clone();
    let addresses: Vec<String> = found.names.addresses.iter().cloned().collect();
    let wanted = preferences::by_addresses(conn, addresses.clone()).await?;
    owners.extend(wanted.into_iter().map(|row| row.person));
    for owner in owners {
        found.preferences.extend(preferences::get(conn, &owner).await?);
    }
    found.suppressions = personal::suppressions_of(conn, addresses).await?;
    let people = found.people_names();
    found.inbox = personal::count_inbox(conn, people.clone()).await?;
    found.digests = personal::count_digests(conn, people, found.names.lower()).await?;
    for address in &found.names.addresses {
        if found.user.is_none() {
            found.user = users::by_email(conn, address).await?;
        }
    }
    Ok(())
}
