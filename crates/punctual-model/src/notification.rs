//! A new notification: one message to one list or set of targets over one channel.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{ChannelKey, Envelope, InputHash, NotificationId};

/// Whom a notification is for. A list is resolved when it is delivered, not before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Audience {
    List(String),
    Targets(Vec<String>),
}

impl Audience {
    /// A text that is equal for equal audiences, whatever the order of the targets.
    pub fn identity(&self) -> String {
        match self {
            Self::List(name) => format!("list={name}"),
            Self::Targets(targets) => {
                let mut sorted: Vec<&str> = targets.iter().map(String::as_str).collect();
                sorted.sort_unstable();
                sorted.dedup();
                format!("targets={}", sorted.join("\n"))
            }
        }
    }
}

/// Where a notification from a remote site comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

/// A file that is sent along, by the name of its blob: it is read when the message is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRef {
    pub blob: String,
    pub file_name: String,
    pub media_type: String,
    /// Set where the HTML shows it in place, as `cid:CONTENT_ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
    /// The digest of its content, for one that a caller brought: the blob is another one in each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How large such a one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
}

/// Where the blobs of uploads lie.
const UPLOADS: &str = "uploads/";

impl FileRef {
    /// The name of the blob of an upload.
    pub fn upload_blob(id: &str) -> String {
        format!("{UPLOADS}{id}")
    }

    /// The upload whose content it is, where a caller brought it.
    pub fn upload(&self) -> Option<&str> {
        self.blob.strip_prefix(UPLOADS)
    }

    /// What is compared where a message is handed in again.
    fn identity(&self) -> String {
        match &self.digest {
            Some(digest) => {
                serde_json::json!({"digest": digest, "name": self.file_name, "type": self.media_type})
            }
            None => serde_json::json!(self),
        }
        .to_string()
    }
}

/// A notification as its producer hands it over.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNotification {
    pub id: NotificationId,
    /// What kind of message it is for filters and KPIs; by default the channel's type.
    pub kind: String,
    pub channel: Option<ChannelKey>,
    pub audience: Audience,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    /// What the template sees, a JSON object.
    pub context: Option<serde_json::Value>,
    /// Fields that only this type of channel understands, a JSON object.
    pub type_data: Option<serde_json::Value>,
    pub attachments: Vec<FileRef>,
    pub envelope: Envelope,
    /// The client whose key may read it again, for keys that may only send.
    pub client: Option<String>,
    pub business_unit: Option<String>,
    pub source: NotificationSource,
    pub site_enqueued_at: Option<Timestamp>,
    /// Lower is sooner; 5 is ordinary.
    pub priority: i64,
    /// Not before this instant.
    pub not_before: Option<Timestamp>,
    /// Not after this instant: it is withdrawn instead. An operator's retry lifts the limit.
    pub not_after: Option<Timestamp>,
    /// What it is about, for people who want messages about some things only.
    pub topic: Option<String>,
    /// The channels to use, in order, if its own channel fails.
    pub failover: Vec<ChannelKey>,
}

/// The priority of an ordinary message.
pub const ORDINARY_PRIORITY: i64 = 5;

impl NewNotification {
    /// A plain message; everything else keeps its default.
    pub fn new(
        id: NotificationId,
        audience: Audience,
        subject: impl Into<String>,
        body: impl Into<String>,
    ) -> Self {
        Self {
            id,
            kind: String::new(),
            channel: None,
            audience,
            subject: subject.into(),
            body: body.into(),
            html: None,
            template: None,
            locale: None,
            context: None,
            type_data: None,
            attachments: Vec::new(),
            envelope: Envelope::default(),
            client: None,
            business_unit: None,
            source: NotificationSource::default(),
            site_enqueued_at: None,
            priority: ORDINARY_PRIORITY,
            not_before: None,
            not_after: None,
            topic: None,
            failover: Vec::new(),
        }
    }
}

impl NewNotification {
    /// The digest of its content: equal for a repeat, different for a reused id. The site counts as content, so that
    /// no site can use an id in another one's name; when it was enqueued does not, for a resend may say another time.
    pub fn content_digest(&self) -> InputHash {
        let mut digest = Sha256::new();
        let mut field = |text: Option<&str>| match text {
            Some(text) => {
                digest.update((text.len() as u64).to_be_bytes());
                digest.update(text.as_bytes());
            }
            None => digest.update(u64::MAX.to_be_bytes()),
        };
        let json =
            |value: &Option<serde_json::Value>| value.as_ref().map(|value| InputHash::of(value).to_string());
        field(Some(&self.kind));
        field(self.channel.as_ref().map(ChannelKey::as_str));
        field(Some(&self.audience.identity()));
        field(Some(&self.subject));
        field(Some(&self.body));
        field(self.html.as_deref());
        field(self.template.as_deref());
        field(self.locale.as_deref());
        field(json(&self.context).as_deref());
        field(json(&self.type_data).as_deref());
        // What a site hands over gets the unit of the site: a resend after the site has moved is the same.
        let unit = self.business_unit.as_deref().filter(|_| self.source.site.is_none());
        field(unit);
        field(self.source.site.as_deref());
        field(self.source.instance.as_deref());
        field(self.source.script.as_deref());
        // Only where they are there, so that the digests of older rows stay what they were.
        if let Some(topic) = &self.topic {
            field(Some("topic"));
            field(Some(topic));
        }
        for channel in &self.failover {
            field(Some("failover"));
            field(Some(channel.as_str()));
        }
        if !self.attachments.is_empty() {
            let files: Vec<String> = self.attachments.iter().map(FileRef::identity).collect();
            field(Some(&format!("[{}]", files.join(","))));
        }
        if self.envelope.is_for_mail() {
            // A trace is another one in each request.
            let Envelope { reply_to, headers, .. } = self.envelope.clone();
            let compared = Envelope { reply_to, headers, ..Envelope::default() };
            field(Some(&serde_json::json!(compared).to_string()));
        }
        InputHash::from_bytes(digest.finalize().into())
    }
}
