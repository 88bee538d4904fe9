//! `/api/v1/sites`: the sites that forward notifications, and the forwarding itself.
//!
//! An acknowledgement names an item by its id and by the digest of what central read, so that one which is late,
//! doubled or meant for somebody else can never clear a row that is not safe.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::{
    batch::{Item, read_items},
    fields::Fields,
    limits::{BODY_MAX, NAME_MAX, SITE_BATCH_MAX, SITE_EVENT_DETAIL_MAX, SITE_EVENTS_MAX},
    problem::{Code, Problem},
};

/// A site to be made.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteRequest {
    /// 1 to 64 letters, digits, `-`, `_` or `.`.
    #[schema(example = "plant-7")]
    pub id: String,
    /// What the site hands over belongs to this business unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
}

impl SiteRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request =
            Self { id: fields.required_site("id"), business_unit: fields.optional_name("businessUnit") };
        fields.finish().map(|()| request)
    }
}

/// What is to be different about a site.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteChange {
    /// What the site hands over from now on belongs to this business unit; `null` for none.
    pub business_unit: Option<String>,
}

impl SiteChange {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let change = Self { business_unit: fields.optional_name("businessUnit") };
        fields.finish().map(|()| change)
    }
}

/// How the token of a site is to be replaced.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteRotateRequest {
    /// How many seconds the old token stays valid, so that the agent can be switched to the new one without a gap.
    #[schema(required = false, default = 0, minimum = 0, maximum = 604800)]
    pub keep_old_seconds: i64,
}

impl SiteRotateRequest {
    /// The longest time for which two tokens of one site are good: a week.
    pub const KEEP_MAX: i64 = 7 * 24 * 3_600;

    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let kept = fields.optional_int("keepOldSeconds", 0..=Self::KEEP_MAX);
        fields.finish().map(|()| Self { keep_old_seconds: kept.unwrap_or(0) })
    }
}

/// A site with its token, for the only time.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SiteToken {
    #[schema(example = "plant-7")]
    pub id: String,
    /// What the agent is started with. It is shown once and kept nowhere; absent where the same request is repeated.
    #[schema(required = false)]
    pub token: String,
}

impl std::fmt::Debug for SiteToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SiteToken").field("id", &self.id).field("token", &"***").finish()
    }
}

/// Whose token a request carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SiteIdentity {
    pub id: String,
}

/// A site as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Site {
    pub id: String,
    /// What it hands over belongs to this business unit.
    pub business_unit: Option<String>,
    pub created_at: Timestamp,
    /// Set once its token was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When the agent last spoke to central, by central's clock.
    pub last_contact_at: Option<Timestamp>,
    /// The agent's version.
    pub version: Option<String>,
    /// Rows that waited at the site after the last contact, when what it brought was acknowledged.
    pub backlog: Option<i64>,
    /// How long the oldest of them had waited.
    pub oldest_buffered_age_seconds: Option<i64>,
    /// Rows that the central server refused permanently and the site keeps.
    pub refused: Option<i64>,
    /// Central's clock minus the site's, in milliseconds; the way of the request is in it.
    pub clock_offset_ms: Option<i64>,
    /// The site's clock is off by more than a day; its times are not to be trusted.
    pub clock_suspect: bool,
    /// The agents that spoke for it, by name. What waits at the site waits with all of them.
    pub agents: Vec<SiteAgent>,
}

/// An agent of a site, as it was at its last contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteAgent {
    /// Nothing for an agent that was given no name.
    pub name: Option<String>,
    pub last_contact_at: Timestamp,
    pub version: Option<String>,
    pub backlog: i64,
    pub oldest_buffered_age_seconds: Option<i64>,
    pub refused: i64,
    pub clock_offset_ms: Option<i64>,
}

/// What a site forwards: notifications in their order, and how the site is doing.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SiteHandOver {
    /// At most 10,000.
    pub items: Vec<SiteItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<SiteReport>,
}

/// One notification from a site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteItem {
    /// A GUID made at the site, and the idempotency key.
    pub id: String,
    pub list: String,
    pub subject: String,
    pub body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// When the site took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enqueued_at: Option<Timestamp>,
}

impl SiteItem {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::open(value, pointer);
        let item = Self {
            id: fields.required_guid("id"),
            list: fields.required_name("list"),
            subject: fields.required_subject("subject"),
            body: fields.required_text("body", 0..=BODY_MAX),
            instance: fields.optional_name("instance"),
            script: fields.optional_name("script"),
            enqueued_at: fields.optional_instant("enqueuedAt"),
        };
        fields.finish().map(|()| item)
    }

    /// What an acknowledgement names beside the id: 16 hexadecimal digits over everything but the time. Frozen, because
    /// agents and servers of different versions compare it.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        let mut field = |text: Option<&str>| match text {
            Some(text) => {
                digest.update((text.len() as u64).to_be_bytes());
                digest.update(text.as_bytes());
            }
            None => digest.update(u64::MAX.to_be_bytes()),
        };
        field(Some(&self.id));
        field(Some(&self.list));
        field(Some(&self.subject));
        field(Some(&self.body));
        field(self.instance.as_deref());
        field(self.script.as_deref());
        let digest = digest.finalize();
        let mut text = String::with_capacity(16);
        for byte in &digest[..8] {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        text
    }
}

/// The state of the site, sent with each contact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteReport {
    /// The agent's name, where a site has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub agent: Option<String>,
    /// The agent's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The site's clock when it sent this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// Rows that wait, those of this request included.
    #[schema(required = false)]
    pub backlog: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_buffered_age_seconds: Option<i64>,
    /// Rows that the central server refused permanently and the site keeps.
    #[schema(required = false)]
    pub refused: i64,
    /// New or changed entries of the site's event log, at most 200.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub events: Vec<SiteEvent>,
}

/// The longest name of an agent.
pub const AGENT_MAX: usize = 64;

impl SiteReport {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.nested("report", |report| {
            let events = report.array("events", 0..=SITE_EVENTS_MAX).unwrap_or_default();
            let pointer = report.pointer_to("events");
            let read = events.iter().enumerate().filter_map(|(index, event)| {
                let event = SiteEvent::read(event, &format!("{pointer}/{index}"));
                report.accept(event)
            });
            let events = read.collect();
            Self {
                agent: report.optional_text("agent", 1..=AGENT_MAX),
                version: report.optional_text("version", 1..=NAME_MAX),
                sent_at: report.optional_instant("sentAt"),
                backlog: report.optional_int("backlog", 0..=i64::MAX).unwrap_or(0),
                oldest_buffered_age_seconds: report.optional_int("oldestBufferedAgeSeconds", 0..=i64::MAX),
                refused: report.optional_int("refused", 0..=i64::MAX).unwrap_or(0),
                events,
            }
        })
    }
}

/// An entry of a site's event log: a failure to forward, or rows that wait too long. Success is not logged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteEvent {
    /// A GUID made at the site.
    pub id: String,
    #[schema(example = "notification")]
    pub category: Cow<'static, str>,
    /// `forward-failed`, `long-buffered` or `refused`.
    #[schema(example = "forward-failed")]
    pub kind: String,
    /// When it began.
    pub at: Timestamp,
    /// When it was last seen.
    pub last_at: Timestamp,
    /// How often, or for how many rows.
    pub count: i64,
    pub detail: String,
}

impl SiteEvent {
    /// The one category that this version has.
    pub const NOTIFICATION: &'static str = "notification";

    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::open(value, pointer);
        let at = fields.instant("at");
        let event = Self {
            id: fields.required_guid("id"),
            category: fields.optional_name("category").map_or(Cow::Borrowed(Self::NOTIFICATION), Cow::Owned),
            kind: fields.required_name("kind"),
            last_at: fields.optional_instant("lastAt").unwrap_or(at),
            at,
            count: fields.optional_int("count", 1..=i64::MAX).unwrap_or(1),
            detail: fields.required_text("detail", 0..=SITE_EVENT_DETAIL_MAX),
        };
        fields.finish().map(|()| event)
    }
}

/// A hand-over that was read: each item on its own, so that a bad one does not spoil the others.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadHandOver {
    pub items: Vec<Item<SiteItem>>,
    /// The ids as they were written, for the acknowledgement of items that could not be read.
    pub ids: Vec<Option<String>>,
    pub report: Option<SiteReport>,
}

impl SiteHandOver {
    /// Reads `{"items": […], "report"?: {…}}`. A report that cannot be read is no reason to refuse the notifications.
    pub fn read_body(value: &Value) -> Result<ReadHandOver, Problem> {
        let mut fields = Fields::open(value, "");
        fields.require("items", || format!("an array of at most {SITE_BATCH_MAX} items"));
        let items = fields.array("items", 0..=usize::MAX).unwrap_or_default();
        fields.finish()?;
        let mut reported = Fields::open(value, "");
        let report = SiteReport::read(&mut reported).filter(|_| reported.finish().is_ok());
        let id = |item: &Value| item.get("id").and_then(Value::as_str).map(str::to_owned);
        Ok(ReadHandOver {
            ids: items.iter().map(id).collect(),
            items: read_items(items, "/items", SITE_BATCH_MAX, SiteItem::read)?,
            report,
        })
    }
}

/// The outcome of one forwarded item; returned after the commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SiteAck {
    pub id: Option<String>,
    /// `stored`, `duplicate` (known with the same content), `conflict` (known with other content, or from another
    /// site) or `rejected`.
    #[schema(example = "stored")]
    pub outcome: Cow<'static, str>,
    /// The digest of the item as the central server read it; null if it could not read it.
    #[serde(default)]
    pub digest: Option<String>,
    /// Why not, as a problem's code.
    #[serde(default)]
    pub code: Option<Code>,
    /// Why not, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The status of one notification of a site at central.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteNotificationStatus {
    pub id: String,
    /// `pending`, `retrying`, `delivered`, `parked`, `withdrawn` or `discarded`.
    #[schema(example = "delivered")]
    pub status: Cow<'static, str>,
    pub retry_count: i64,
    pub last_error: Option<String>,
    /// Why it is parked: `retries-exhausted`, or a reason that no retry would change.
    #[serde(default)]
    pub reason_code: Option<String>,
    pub enqueued_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}
