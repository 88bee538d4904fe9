//! `/api/v1/notifications`: one message each, to one list or set of targets over one channel.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;
use punctual_model::NotificationStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::{
    attachments::Attachment,
    batch::Item,
    content::Content,
    fields::{Fields, query_object},
    handling::Handling,
    limits::NAME_MAX,
    page::PageQuery,
    problem::FieldError,
};

/// A notification to be sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct NotificationRequest {
    /// A GUID made by the producer, and its idempotency key; made by the server when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What kind of message it is, for filters and figures; by default the channel's type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(flatten)]
    pub content: Content,
    #[serde(flatten)]
    pub handling: Handling,
    #[serde(skip_serializing_if = "SourceRequest::is_empty")]
    #[schema(required = false)]
    pub source: SourceRequest,
}

/// The origin of a notification, as given by the caller. Only the token of a site determines the site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = NotificationSourceRequest)]
pub struct SourceRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

impl SourceRequest {
    pub fn is_empty(&self) -> bool {
        self.instance.is_none() && self.script.is_none()
    }

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { instance: fields.optional_name("instance"), script: fields.optional_name("script") }
    }
}

/// Where a notification comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

impl NotificationRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let id = fields.optional_guid("id");
        let kind = fields.optional_name("type");
        let content = Content::read(&mut fields, kind.as_deref());
        let handling = Handling::read(&mut fields);
        let source = fields.nested("source", SourceRequest::read);
        fields.finish()?;
        Ok(Self { id, kind, content, handling, source: source.unwrap_or_default() })
    }
}

/// The response for one accepted notification: its id and status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotificationAccepted {
    pub id: String,
    /// `pending` when it is new; else the present state.
    #[schema(example = "pending")]
    pub status: Cow<'static, str>,
    /// Warnings about accepted values that do not work yet, such as a channel that does not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<FieldError>,
}

/// A notification as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// `pending`, `retrying`, `delivered`, `parked`, `withdrawn` or `discarded`.
    #[schema(example = "delivered")]
    pub status: Cow<'static, str>,
    /// Attempts made.
    pub retry_count: i64,
    pub last_error: Option<String>,
    pub reason_code: Option<String>,
    /// When the site accepted it, if it came through a site.
    pub enqueued_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub last_attempt_at: Option<Timestamp>,
    pub next_attempt_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
    pub channel: String,
    pub list: Option<String>,
    pub targets: Option<Vec<String>>,
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub type_data: Option<Value>,
    /// Files that go along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub attachments: Vec<Attachment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    pub headers: BTreeMap<String, String>,
    pub business_unit: Option<String>,
    /// `alarm`, `high`, `normal` or `campaign`.
    #[serde(default = "normal")]
    #[schema(example = "normal")]
    pub priority: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The channels that are used after its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub failover: Vec<String>,
    #[serde(default)]
    pub source: NotificationSource,
    /// The work row it was born from.
    pub work_id: Option<i64>,
    /// Attempts whose end is not known: each may have reached its target.
    #[serde(default)]
    pub uncertain: i64,
    /// Each target with what became of it; empty until the first attempt.
    #[serde(default)]
    pub resolved_targets: Vec<ResolvedTarget>,
    /// The sent content, rendered again from the stored data; only when a single notification is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<NotificationContent>,
    pub version: i64,
}

/// What a notification said, or will say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotificationContent {
    /// `stored` (its own texts and values), `template` (the version of its template that was in force when it was sent), `now`
    /// (the present template: no attempt was made yet) or `gone` (that version is no longer stored).
    #[schema(example = "template")]
    pub basis: Cow<'static, str>,
    /// Null where it cannot be made again; `note` says why.
    pub subject: Option<String>,
    pub body: Option<String>,
    pub html: Option<String>,
    pub template_version: Option<i64>,
    pub note: Option<String>,
}

fn normal() -> Cow<'static, str> {
    Cow::Borrowed("normal")
}

/// The outcome of one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedTarget {
    pub address: String,
    /// `delivered` (the provider took it), `transient`, `permanent` or `uncertain`; `suppressed` where it was left out;
    /// null while the attempt is under way.
    pub outcome: Option<Cow<'static, str>>,
    /// The provider's id for it.
    pub message_id: Option<String>,
    pub at: Option<Timestamp>,
    /// When it arrived, as the provider says: another fact than that it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Timestamp>,
    /// What the provider reported last; only over channels whose provider calls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<TargetReceipt>,
}

/// What a provider reported about a message that it accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetReceipt {
    /// `accepted` until the provider says more; then `sent`, `delivered`, `read`, `failed` or `complained`.
    #[schema(example = "delivered")]
    pub state: Cow<'static, str>,
    /// The provider's own code and words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// When the last receipt came that said something new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_at: Option<Timestamp>,
}

/// Which notifications are listed; what is left out does not limit.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NotificationQuery {
    #[param(example = "parked", value_type = Option<String>)]
    pub status: Option<NotificationStatus>,
    #[param(rename = "type")]
    pub kind: Option<String>,
    pub site: Option<String>,
    pub list: Option<String>,
    /// Created at or after this instant.
    pub from: Option<Timestamp>,
    /// Created before this instant.
    pub to: Option<Timestamp>,
    /// Only those that should have been sent long ago; what waits for an hour, a limit or an open circuit is not stuck.
    #[param(value_type = Option<bool>)]
    pub stuck: bool,
    /// A keyword in the subject.
    pub q: Option<String>,
    /// Only those that the work row with this id queued; its `coordinates` name the first 20.
    pub work: Option<i64>,
    #[param(inline, ignore)]
    pub page: PageQuery,
}

impl NotificationQuery {
    pub fn read(parameters: impl IntoIterator<Item = (String, String)>) -> Result<Self, Vec<FieldError>> {
        let object = query_object(parameters);
        let mut fields = Fields::query(&object);
        let query = Self {
            status: fields
                .optional_choice("status", &NotificationStatus::ALL.map(|status| (status.as_str(), status))),
            kind: fields.optional_name("type"),
            site: fields.optional_name("site"),
            list: fields.optional_name("list"),
            from: fields.optional_instant("from"),
            to: fields.optional_instant("to"),
            stuck: fields.bool("stuck", false),
            q: fields.optional_text("q", 1..=NAME_MAX),
            work: fields.optional_int("work", 1..=i64::MAX),
            page: PageQuery::read(&mut fields),
        };
        fields.finish().map(|()| query)
    }
}

/// The metrics of the outbox at one time, computed from the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Kpis {
    pub at: Timestamp,
    /// Older than this counts as stuck.
    pub stuck_after_seconds: i64,
    /// The length of the interval that `deliveredLastInterval` covers.
    pub interval_seconds: i64,
    #[serde(flatten)]
    pub total: KpiFigures,
    /// Deliveries whose end is not known.
    #[serde(default)]
    pub uncertain: i64,
    /// Messages of which a provider said in the last interval that they arrived, and that they did not.
    #[serde(default)]
    pub confirmed_last_interval: i64,
    #[serde(default)]
    pub not_delivered_last_interval: i64,
    pub by_site: Vec<SiteKpis>,
    /// What the last daily purge did; null before the first.
    #[serde(default)]
    pub last_purge: Option<LastPurge>,
}

/// A purge of notifications that ended longer ago than they are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastPurge {
    pub at: Timestamp,
    /// Notifications that it removed; each left a tombstone.
    pub removed: u64,
    pub keep_for_days: u64,
}

/// The metrics of one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SiteKpis {
    pub site: String,
    #[serde(flatten)]
    pub figures: KpiFigures,
}

/// The figures themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KpiFigures {
    /// Pending and retrying.
    pub queue_depth: i64,
    /// Those that should have gone long ago, and do not wait for anything.
    pub stuck_count: i64,
    /// Those that wait for an hour, a slot under a limit, or an open circuit; they are sent later by themselves.
    #[serde(default)]
    pub waiting_count: i64,
    pub parked_count: i64,
    pub delivered_last_interval: i64,
    pub oldest_pending_age_seconds: Option<i64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{batch::OneOrMany, limits::BATCH_MAX};

    const ID: &str = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";

    #[test]
    fn a_notification_is_read_and_written_alike() {
        let body = json!({"id": ID, "type": "alarm", "list": "ops", "subject": "S", "body": "B",
                          "priority": "alarm", "topic": "outages", "failover": ["sms:a", "email:b"],
                          "source": {"instance": "i", "script": "watch.sh"}});
        let OneOrMany::One(request) = OneOrMany::read(&body, BATCH_MAX, NotificationRequest::read).unwrap()
        else {
            panic!()
        };
        assert_eq!(serde_json::to_value(&request).unwrap(), body);
    }

    #[test]
    fn a_batch_reads_each_item_on_its_own() {
        let body =
            json!([{"list": "ops", "subject": "S", "body": "B"}, {"id": "7", "source": 1, "later": 1}]);
        let OneOrMany::Many(items) = OneOrMany::read(&body, BATCH_MAX, NotificationRequest::read).unwrap()
        else {
            panic!()
        };
        assert!(items[0].is_ok());
        let faults = items[1].as_ref().unwrap_err();
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, ["/1/id", "/1/list", "/1/subject", "/1/body", "/1/source", "/1/later"]);
        let many = Value::Array(vec![json!({}); 1_001]);
        assert_eq!(OneOrMany::read(&many, BATCH_MAX, NotificationRequest::read).unwrap_err().status, 413);
    }

    #[test]
    fn t13_the_site_of_a_notification_is_not_for_callers_to_say() {
        let body = json!({"list": "ops", "subject": "S", "body": "B", "source": {"site": "plant-7"}});
        let faults = NotificationRequest::read(&body, "").unwrap_err();
        assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/source/site", crate::Code::UnknownField));
    }

    #[test]
    fn a_type_of_email_checks_the_targets_as_mail() {
        let body = json!({"type": "email", "targets": ["nobody"], "subject": "S", "body": "B"});
        assert_eq!(NotificationRequest::read(&body, "").unwrap_err()[0].code.as_str(), "address_invalid");
    }

    #[test]
    fn a_list_is_asked_for_by_query() {
        let parameters = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let query = NotificationQuery::read(parameters(&[
            ("status", "parked"),
            ("from", "2026-05-14T00:00:00Z"),
            ("stuck", "true"),
            ("limit", "10"),
        ]));
        let query = query.unwrap();
        assert_eq!(
            (query.status, query.stuck, query.page.limit),
            (Some(NotificationStatus::Parked), true, 10)
        );
        let faults = NotificationQuery::read(parameters(&[("status", "lost"), ("to", "x"), ("limit", "0")]));
        let codes: Vec<_> = faults.unwrap_err().iter().map(|fault| fault.code.as_str()).collect();
        assert_eq!(codes, ["out_of_range", "date_invalid", "page_size"]);
    }

    #[test]
    fn a_notification_is_answered_as_documented() {
        let json = json!({
            "id": ID, "type": "email", "status": "delivered", "retryCount": 1, "lastError": null, "reasonCode": null,
            "enqueuedAt": null, "createdAt": "2026-05-14T05:12:34Z", "lastAttemptAt": "2026-05-14T05:12:35Z",
            "nextAttemptAt": null, "deliveredAt": "2026-05-14T05:12:35.25Z", "channel": "email:default",
            "list": "ops", "targets": null, "subject": "S", "template": null, "locale": null, "businessUnit": null,
            "priority": "alarm", "topic": "outages", "failover": ["sms:a"], "source": {}, "workId": null, "uncertain": 0,
            "resolvedTargets": [{"address": "a@b.example", "outcome": "delivered", "messageId": "mem-1",
                                 "at": "2026-05-14T05:12:35Z"}],
            "version": 3
        });
        let notification: Notification = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(notification).unwrap(), json);
    }
}
