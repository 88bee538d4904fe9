//! Exports the data about a person as one document.

use punctual_boxed::boxed;
use punctual_model::{AttemptOutcome, AuditAction, Reach};
use punctual_store::{Lane, attempts, audit, notifications, personal as store, receipts};
use serde_json::{Map, Value, json};

use super::{Findings, Person, certificate::subject_hash, erase::only_unit};
use crate::{Actor, CommandError, Engine};

/// Rows of each kind in one document. Who has more is found again with the part that is missing said.
const MOST: usize = 10_000;
/// Messages that are read together.
const AT_ONCE: usize = 500;

/// A document of what is stored about a person.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonalData {
    /// Kind to its rows.
    pub data: Map<String, Value>,
    /// Kinds of which there is more than the document has.
    pub cut: Vec<String>,
}

impl PersonalData {
    fn put(&mut self, kind: &str, rows: Vec<Value>, all: usize) {
        if all > rows.len() {
            self.cut.push(kind.to_owned());
        }
        if !rows.is_empty() {
            self.data.insert(kind.to_owned(), Value::Array(rows));
        }
    }

    fn take<T>(&mut self, kind: &str, rows: &[T], shape: impl Fn(&T) -> Value) {
        self.put(kind, rows.iter().take(MOST).map(shape).collect(), rows.len());
    }
}

/// JSON where a text is JSON, else the text.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

impl Engine {
    /// What is stored about a person and within reach of the caller.
    #[boxed]
    pub async fn export_person(&self, by: &Actor, person: &Person) -> Result<PersonalData, CommandError> {
        let reach = by.reach();
        let found = self.find_person(&reach, person).await?;
        let mut document = PersonalData { data: Map::new(), cut: Vec::new() };
        let messages = self.sent(&reach, &found).await?;
        document.put("notifications", messages, found.notifications.len());
        document.take("messages", &found.messages, |one| {
            json!({ "id": one.row.id, "subject": one.row.subject, "body": one.row.body, "html": one.row.html,
                "context": one.row.context.as_ref().map(|context| read(context.as_str())), "sendAt": one.row.send_at.to_string() })
        });
        document.take("surveys", &found.instances, |one| {
            json!({ "id": one.public_id, "survey": one.survey_id, "status": one.status,
                "recipient": one.recipient_address, "customerRef": one.customer_ref,
                "metadata": read(&one.metadata), "triggeredAt": one.triggered_at.to_string() })
        });
        document.take(
            "answers",
            &found.responses,
            |one| json!({ "answers": read(&one.answers), "completedAt": one.completed_at.to_string() }),
        );
        document.take(
            "sources",
            &found.sources,
            |one| json!({ "type": one.source_type, "id": one.source_id, "state": read(&one.state) }),
        );
        document.take(
            "work",
            &found.work,
            |one| json!({ "id": one.id, "key": one.key, "input": read(&one.input) }),
        );
        document.take("people", &found.people, |one| {
            json!({ "id": one.id, "name": one.name, "email": one.email, "addresses": read(&one.addresses) })
        });
        document.take(
            "preferences",
            &found.preferences,
            |one| json!({ "person": one.person, "preference": read(&one.definition) }),
        );
        document.take(
            "suppressions",
            &found.suppressions,
            |one| json!({ "channelType": one.channel_type, "address": one.address }),
        );
        document.take(
            "definitions",
            &found.definitions,
            |(kind, row)| json!({ "kind": format!("{kind:?}").to_lowercase(), "id": row.id }),
        );
        self.export_texts(&found, &mut document).await?;
        if let Some(user) = &found.user {
            document.data.insert("user".to_owned(), json!({ "email": user.email, "name": user.name }));
        }
        self.exported(by, person, &document).await?;
        Ok(document)
    }

    /// Writes down who got what is stored about somebody. It says so of them with a salted hash, as a certificate of erasure does:
    /// whoever knows the address can check, and nothing is left to erase.
    async fn exported(
        &self,
        by: &Actor,
        person: &Person,
        document: &PersonalData,
    ) -> Result<(), CommandError> {
        let now = self.clock.now();
        let id = self.random.ordered_uuid(now).to_string();
        let kinds: Vec<&String> = document.data.keys().collect();
        let entry = audit::Entry {
            data: Some(json!({ "subject": subject_hash(&id, person), "kinds": kinds }).to_string()),
            ..audit::Entry::new(AuditAction::Export, "personal-data", &id, only_unit(by))
        };
        let mut tx = self.store.begin(Lane::Intake).await?;
        by.audit_entry(&mut tx, now, entry).await?;
        Ok(tx.commit().await?)
    }

    /// Texts beside messages: inboxes, digests, events, what providers reported, and the audit.
    async fn export_texts(&self, found: &Findings, document: &mut PersonalData) -> Result<(), CommandError> {
        let mut reader = self.store.read().await?;
        let conn = &mut reader.conn();
        let most = i64::try_from(MOST).unwrap_or(i64::MAX);
        let text = |one: &store::FoundText| json!({ "subject": one.subject, "body": one.body, "at": one.at.to_string() });
        let count = |rows: i64| usize::try_from(rows).unwrap_or(0);
        if found.is_of_all {
            let people = found.people_names();
            let inbox = store::inbox_of(conn, people.clone(), most).await?;
            document.put("inbox", inbox.iter().map(text).collect(), count(found.inbox));
            let held = store::digests_of(conn, people, found.names.lower(), most).await?;
            document.put("digests", held.iter().map(text).collect(), count(found.digests));
        }
        let (mut events, mut reported) = (Vec::new(), Vec::new());
        for some in found.events[..found.events.len().min(MOST)].chunks(AT_ONCE) {
            events.extend(store::published(conn, some.to_vec()).await?.iter().map(|one| {
                json!({ "type": one.event_type, "payload": read(&one.payload), "at": one.created_at.to_string() })
            }));
        }
        document.put("events", events, found.events.len());
        for some in found.notifications[..found.notifications.len().min(MOST)].chunks(AT_ONCE) {
            let rows = receipts::of(conn, some.iter().map(|one| one.row.seq).collect()).await?;
            let theirs =
                rows.iter().filter(|row| row.target.as_deref().is_some_and(|one| found.names.has(one)));
            reported.extend(theirs.map(|row| {
                json!({ "target": row.target, "channel": row.channel, "code": row.code, "detail": row.detail })
            }));
        }
        let all = reported.len();
        document.put("receipts", reported, all);
        let mut entries = Vec::new();
        for (kind, ids, with_subject) in found.audit_subjects() {
            for some in ids.chunks(AT_ONCE) {
                let left = i64::try_from(MOST.saturating_sub(entries.len())).unwrap_or(0);
                entries.extend(store::entries(conn, kind, some.to_vec(), with_subject, left).await?);
            }
        }
        let all = count(found.audit.values().sum());
        let entry = |one: &store::FoundEntry| {
            json!({ "at": one.at.to_string(), "action": one.action,
                "subject": format!("{}/{}", one.subject_kind, one.subject_id), "reason": one.reason,
                "data": one.data.as_deref().map(read) })
        };
        document.put("audit", entries.iter().map(entry).collect(), all);
        Ok(())
    }

    /// The messages to a person, with the attempts for them alone.
    async fn sent(&self, reach: &Reach, found: &Findings) -> Result<Vec<Value>, CommandError> {
        let mut reader = self.store.read().await?;
        let mut rows = Vec::new();
        let most = found.notifications.len().min(MOST);
        for some in found.notifications[..most].chunks(AT_ONCE) {
            let ids = some.iter().map(|one| one.row.id.clone()).collect();
            let messages = notifications::by_ids(&mut reader.conn(), reach, ids).await?;
            let seqs = some.iter().filter(|one| one.attempts > 0).map(|one| one.row.seq).collect();
            let mut attempts = attempts::of(&mut reader.conn(), seqs).await?;
            attempts.retain(|attempt| found.names.has(&attempt.target));
            for message in messages {
                let attempts: Vec<Value> = attempts
                    .iter()
                    .filter(|attempt| attempt.notification_seq == message.seq)
                    .map(|attempt| {
                        json!({ "target": attempt.target, "channel": attempt.channel,
                            "at": attempt.started_at.to_string(), "outcome": attempt.outcome.map(AttemptOutcome::as_str) })
                    })
                    .collect();
                rows.push(json!({
                    "id": message.id.to_string(), "status": message.status.as_str(), "channel": message.channel.as_str(),
                    "list": message.list_name, "subject": message.subject, "body": message.body, "html": message.html,
                    "context": message.context.map(|context| read(context.as_str())),
                    "createdAt": message.created_at.to_string(), "attempts": attempts,
                }));
            }
        }
        Ok(rows)
    }
}
