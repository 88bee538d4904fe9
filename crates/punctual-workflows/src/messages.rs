//! Messages for later: one message to given targets at a given time. The content is in its own table; the due row holds its id.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{
    Actor, Claimed, CommandError, Decide, Engine, EngineError, EnsureOutcome, Ensured, Handed, Loads,
    Requested, Titles, Workflow, ensure_requested_in, personal::index_recipients, titles::line,
};
use punctual_model::{
    Audience, AuditAction, Decided, Decision, InputHash, Json, KeyError, NewNotification, NewWork,
    NotificationId, Reach, ReasonCode, Trigger, UnreadableJson, WorkKey, WorkStatus,
    delivery_policy::Handling, keys::KeyParts,
};
use punctual_store::{
    Conn, Lane, Stage, StoreError,
    messages::{self, MessageRow, MessageSubject},
    uploads, work,
};
use serde_json::json;

/// The kind of a message's work row.
pub const KIND: &str = "message";

/// A message that is wanted.
#[derive(Clone, Debug)]
pub struct NewMessage {
    pub id: String,
    pub send_at: Timestamp,
    /// One of this id that was cancelled is wanted again.
    pub revive: bool,
    /// Its id is not used; the notification gets the one that follows from the row.
    pub content: Handed,
}

impl NewMessage {
    /// The due row. The content is its identity; its moment is not.
    fn work(&self) -> Result<NewWork, KeyError> {
        let digest = self.content.content_digest().to_string();
        let mut identity = vec![("message", self.id.as_str().into()), ("content", digest.into())];
        // Topic and order are content; the priority counts only where it is there, so that the hashes of older rows stay
        // what they were.
        let priority = Handling::said_by(&self.content).priority;
        identity.extend(priority.map(|priority| ("priority", priority.as_str().into())));
        Ok(NewWork {
            key: WorkKey::message(&self.id)?,
            kind: KIND,
            trigger: Trigger::At,
            business_unit: self.content.business_unit.clone(),
            source: None,
            setting_id: None,
            due_at: self.send_at,
            local: None,
            input_hash: InputHash::of_fields(&identity),
            input: json!({ "messageId": self.id }).to_string(),
        })
    }

    fn row(&self) -> MessageRow {
        let content = &*self.content;
        let (list_name, targets) = match &content.audience {
            Audience::List(name) => (Some(name.clone()), None),
            Audience::Targets(targets) => (None, Some(Json::of(targets))),
        };
        MessageRow {
            id: self.id.clone(),
            channel: content.channel.as_ref().map(ToString::to_string),
            list_name,
            targets,
            subject: content.subject.clone(),
            body: content.body.clone(),
            html: content.html.clone(),
            template: content.template.clone(),
            locale: content.locale.clone(),
            context: content.context.as_ref().map(Json::of),
            type_data: content.type_data.as_ref().map(Json::of),
            attachments: (!content.attachments.is_empty()).then(|| Json::of(&content.attachments)),
            envelope: (!content.envelope.is_empty()).then(|| Json::of(&content.envelope)),
            client: content.client.clone(),
            business_unit: content.business_unit.clone(),
            handling: Handling::said_by(content).written(),
            send_at: self.send_at,
            created_at: Timestamp::UNIX_EPOCH,
        }
    }
}

/// Stores messages and their due rows together; a known id with other content is refused.
#[boxed]
pub async fn send_at(engine: &Engine, by: &Actor, new: &[NewMessage]) -> Result<Vec<Ensured>, EngineError> {
    let now = engine.clock.now();
    // Keys are checked before they come here; one that is too long after escaping says so as a conflict would.
    let requested = |one: &NewMessage| Ok(Requested { work: one.work()?, revive: one.revive });
    let works: Result<Vec<Requested>, KeyError> = new.iter().map(requested).collect();
    let works = works.map_err(|_| EngineError::StateNotAllowed {
        subject: "the id",
        state: "too long".into(),
        allowed: "a message id has at most 256 bytes",
    })?;
    let keys: Vec<String> = works.iter().map(|wanted| wanted.work.key.to_string()).collect();
    engine.look_at_quotas(now).await?;
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let ensured = ensure_requested_in(&mut tx, now, by, works).await?;
    let is_stored = |ensured: &Ensured| !matches!(ensured.outcome, EnsureOutcome::OverQuota(_));
    let stored = new.iter().zip(&ensured).filter(|(_, ensured)| is_stored(ensured));
    let mut rows: Vec<MessageRow> = stored.map(|(one, _)| one.row()).collect();
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    rows.dedup_by(|a, b| a.id == b.id);
    messages::insert(&mut tx.conn(), now, &rows.iter().collect::<Vec<_>>()).await?;
    // Of a repeat the files are those of the first.
    for ((one, key), ensured) in new.iter().zip(&keys).zip(&ensured) {
        if ensured.outcome == EnsureOutcome::Created && !one.content.attachments.is_empty() {
            uploads::use_by_message(&mut tx.conn(), key, &one.content.attachments).await?;
        }
    }
    tx.commit().await?;
    Ok(ensured)
}

/// Replaces what a pending message says, to whom and when.
#[boxed]
pub async fn change(engine: &Engine, by: &Actor, changed: &NewMessage) -> Result<(), CommandError> {
    let missing = || CommandError::not_found("message", &changed.id);
    let work = changed.work().map_err(|_| missing())?;
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let key = work.key.to_string();
    let row = work::lock_existing(&mut tx.conn(), vec![key]).await?.pop();
    let row = row.filter(|row| by.may_touch(row.business_unit.as_deref())).ok_or_else(missing)?;
    if row.on_hold || row.status != WorkStatus::Pending {
        let state = if row.on_hold { "on hold" } else { row.status.as_str() }.to_owned();
        return Err(CommandError::NotAllowed { action: "change", state, allowed: &["pending"] });
    }
    messages::change(&mut tx.conn(), now, &changed.row()).await?;
    if let Audience::Targets(targets) = &changed.content.audience {
        index_recipients(&mut tx, row.id, targets).await?;
    }
    // A file that stays is released and used again in one transaction.
    uploads::release_message(&mut tx.conn(), work.key.as_str()).await?;
    uploads::use_by_message(&mut tx.conn(), work.key.as_str(), &changed.content.attachments).await?;
    work::change_input(&mut tx.conn(), now, &row, work.input_hash, work.due_at).await?;
    tx.raise(Stage::Work, work.due_at);
    by.audit(&mut tx, now, AuditAction::Change, "work", &row.id.to_string(), row.business_unit.as_deref())
        .await?;
    tx.commit().await?;
    Ok(())
}

/// The workflow of messages. It reads the content of a whole batch at once.
pub struct Messages;

impl Workflow for Messages {
    fn kind(&self) -> &'static str {
        KIND
    }
}

impl Titles for Messages {
    async fn titles(
        &self,
        conn: &mut Conn<'_>,
        _reach: &Reach,
        _now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let id = |key: &KeyParts| match key {
            KeyParts::Message { id } => Some(id.clone()),
            _ => None,
        };
        let found = messages::subjects(conn, keys.iter().filter_map(id).collect()).await?;
        let found: HashMap<&str, &MessageSubject> = found.iter().map(|row| (row.id.as_str(), row)).collect();
        let title = |key: &KeyParts| {
            let id = id(key)?;
            let called = found.get(id.as_str()).and_then(|row| {
                let template = || {
                    let name = row.template.as_ref()?;
                    Some(line(&format!("Message from template {name}{}", to_whom(row))))
                };
                Some(line(&row.subject)).filter(|subject| !subject.is_empty()).or_else(template)
            });
            Some(called.unwrap_or_else(|| format!("Message {}", line(&id))))
        };
        Ok(keys.iter().map(title).collect())
    }
}

/// Whom a message is to: ` to ann@example.org and others`; messages of one template differ by it.
fn to_whom(row: &MessageSubject) -> String {
    if let Some(list) = &row.list_name {
        return format!(" to list {list}");
    }
    let addresses = row.addresses.as_deref().and_then(|text| text.strip_prefix("[\"")).unwrap_or_default();
    match addresses.split_once('"') {
        Some((first, "]")) => format!(" to {first}"),
        Some((first, _)) => format!(" to {first} and others"),
        None => String::new(),
    }
}

impl Loads for Messages {
    type Loaded = Loaded;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Loaded, StoreError> {
        let ids = batch.iter().filter_map(|row| message_id(&row.input)).collect();
        let rows = messages::by_ids(conn, &Reach::Everything, ids).await?;
        Ok(Loaded(rows.into_iter().map(|row| (row.id.clone(), row)).collect()))
    }
}

fn message_id(input: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Input {
        #[serde(rename = "messageId")]
        message_id: String,
    }
    serde_json::from_str::<Input>(input).ok().map(|input| input.message_id)
}

/// The messages of a batch, by id.
pub struct Loaded(HashMap<String, MessageRow>);

impl Decide for Loaded {
    fn decide(&self, row: &Claimed, _now: Timestamp) -> Decided {
        let Some(message) = message_id(&row.input).and_then(|id| self.0.get(&id)) else {
            return Decision::Hold(ReasonCode::MessageMissing).into();
        };
        match content_of(message) {
            // What cannot be read is not sent without: a person looks.
            Err(_) => Decision::Hold(ReasonCode::InputUnreadable).into(),
            Ok(None) => Decision::Skip(ReasonCode::NoRecipients).into(),
            Ok(Some(new)) => Decision::Deliver(vec![new]).into(),
        }
    }
}

/// What a stored message says; nothing where it is to nobody.
fn content_of(message: &MessageRow) -> Result<Option<NewNotification>, UnreadableJson> {
    let targets = message.targets.as_ref().map(Json::read).transpose()?.unwrap_or_default();
    let audience = match &message.list_name {
        Some(list) => Audience::List(list.clone()),
        None if targets.is_empty() => return Ok(None),
        None => Audience::Targets(targets),
    };
    let id = NotificationId(Default::default());
    let mut new = NewNotification::new(id, audience, message.subject.clone(), message.body.clone());
    new.channel = message.channel.as_deref().and_then(|key| key.parse().ok());
    new.html = message.html.clone();
    new.template = message.template.clone();
    new.locale = message.locale.clone();
    new.context = message.context.as_ref().map(Json::read).transpose()?;
    new.type_data = message.type_data.as_ref().map(Json::read).transpose()?;
    new.attachments = message.attachments.as_ref().map(Json::read).transpose()?.unwrap_or_default();
    new.envelope = message.envelope.as_ref().map(Json::read).transpose()?.unwrap_or_default();
    new.client = message.client.clone();
    new.business_unit = message.business_unit.clone();
    Handling::read(message.handling.as_deref()).give(&mut new);
    Ok(Some(new))
}

/// The message id of a work key, where it is one of ours.
pub fn id_of_key(key: &str) -> Option<String> {
    match WorkKey::parse(key).ok()?.parts() {
        KeyParts::Message { id } => Some(id),
        _ => None,
    }
}
