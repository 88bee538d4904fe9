//! `/api/v1/surveys`: what authors write, the events that trigger it, and what became of each link.
//!
//! A schema is checked when it is published, by the rules of surveys; here it is any object.

pub mod instances;
pub mod public;
pub mod results;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    batch::{Item, read_items},
    fields::Fields,
    limits::{EVENT_DATA_MAX, INGEST_BATCH_MAX, SURVEY_SCHEMA_MAX},
    problem::{Code, Problem},
};

/// A survey to be made or changed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurveyRequest {
    #[schema(example = "CSI-GR")]
    pub name: String,
    /// How other systems know it; sent to subscribers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integration_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
    /// Title, questions and triggers; checked when it is published.
    #[schema(value_type = Object)]
    pub schema: Value,
}

impl SurveyRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self::of(&mut fields);
        fields.finish().map(|()| request)
    }

    fn of(fields: &mut Fields<'_>) -> Self {
        Self {
            name: fields.required_name("name"),
            integration_id: fields.optional_name("integrationId"),
            business_unit: fields.optional_name("businessUnit"),
            schema: fields.required_object("schema", SURVEY_SCHEMA_MAX),
        }
    }
}

/// A survey with what is published of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SurveyDefinition {
    #[serde(flatten)]
    pub survey: SurveyRequest,
    /// `true` to publish the schema, or another schema to publish instead. Without it nothing is published, and the published
    /// version stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedSchema>,
}

/// What is published of a survey.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum PublishedSchema {
    /// Always `true`: the schema beside it.
    AsWritten(bool),
    /// Another schema.
    #[schema(value_type = Object)]
    Other(Value),
}

impl SurveyDefinition {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let survey = SurveyRequest::of(&mut fields);
        let published = match fields.get("published") {
            None => None,
            Some(Value::Bool(true)) => Some(PublishedSchema::AsWritten(true)),
            Some(Value::Object(_)) => {
                fields.object("published", SURVEY_SCHEMA_MAX).map(PublishedSchema::Other)
            }
            Some(_) => {
                let detail =
                    "`published` takes `true` or a schema; leave it out where nothing is to be published.";
                fields.refuse("published", Code::OutOfRange, detail);
                None
            }
        };
        fields.finish().map(|()| Self { survey, published })
    }
}

/// A survey as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    pub id: i64,
    pub name: String,
    pub integration_id: Option<String>,
    pub business_unit: Option<String>,
    /// The number of the version that events make instances of; null before the first publishing.
    pub published_version_number: Option<i64>,
    /// The schema as its author left it, published or not.
    #[schema(value_type = Object)]
    pub schema: Value,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What publishing came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SurveyPublished {
    /// The number under which the schema is pinned.
    pub version: i64,
    pub warnings: Vec<SurveyWarning>,
}

/// Something that is probably a mistake; it keeps nobody from publishing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SurveyWarning {
    #[schema(example = "/schema/triggers/0/dedupRecipe")]
    pub pointer: String,
    #[schema(example = "recipe_narrow")]
    pub code: String,
    pub detail: String,
}

/// Events of one kind.
#[derive(Clone, Debug, PartialEq, ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestRequest {
    #[schema(example = "service-visit-closed")]
    pub event_kind: String,
    /// At most 10,000.
    pub items: Vec<IngestItem>,
}

/// One event and the recipient of its survey.
#[derive(Clone, Debug, PartialEq, ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestItem {
    /// Any fields; filters and recipes see them as `candidate.…`.
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    pub recipient: Recipient,
    /// When it happened; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recipient {
    #[schema(example = "+964 770 000 0001")]
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_ref: Option<String>,
}

impl IngestItem {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        Self::read_fields(Fields::new(value, pointer))
    }

    /// Reads the `data` of an event, in which producers have fields of their own.
    pub fn read_data(value: &Value, pointer: &str) -> Item<Self> {
        Self::read_fields(Fields::open(value, pointer))
    }

    fn read_fields(mut fields: Fields<'_>) -> Item<Self> {
        fields.require("payload", || "an object".into());
        let payload = fields.object("payload", EVENT_DATA_MAX);
        fields.require("recipient", || "an object with an `address`".into());
        let recipient = fields.nested("recipient", |fields| Recipient {
            address: fields.required_address("address", None),
            locale: fields.optional_locale("locale"),
            customer_ref: fields.optional_name("customerRef"),
        });
        let occurred_at = fields.optional_past_instant("occurredAt");
        fields.finish()?;
        let payload = match payload {
            Some(Value::Object(payload)) => payload,
            _ => Map::new(),
        };
        let recipient = recipient.unwrap_or_else(|| Recipient {
            address: String::new(),
            locale: None,
            customer_ref: None,
        });
        Ok(Self { payload, recipient, occurred_at })
    }
}

impl IngestRequest {
    /// The kind of the events, and each of them or what is wrong with it.
    pub fn read(value: &Value) -> Result<(String, Vec<Item<IngestItem>>), Problem> {
        let mut fields = Fields::new(value, "");
        let kind = fields.required_name("eventKind");
        fields.require("items", || format!("an array of at most {INGEST_BATCH_MAX} items"));
        let items = fields.array("items", 0..=usize::MAX).unwrap_or_default();
        fields.finish()?;
        Ok((kind, read_items(items, "/items", INGEST_BATCH_MAX, IngestItem::read)?))
    }
}

/// A send by an operator: one trigger for given events.
#[derive(Clone, Debug, PartialEq, ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CampaignRequest {
    pub trigger_id: String,
    /// At most 10,000.
    pub items: Vec<IngestItem>,
}

impl CampaignRequest {
    /// The trigger, and each item or what is wrong with it.
    pub fn read(value: &Value) -> Result<(String, Vec<Item<IngestItem>>), Problem> {
        let mut fields = Fields::new(value, "");
        let trigger = fields.required_name("triggerId");
        fields.require("items", || format!("an array of at most {INGEST_BATCH_MAX} items"));
        let items = fields.array("items", 0..=usize::MAX).unwrap_or_default();
        fields.finish()?;
        Ok((trigger, read_items(items, "/items", INGEST_BATCH_MAX, IngestItem::read)?))
    }
}

/// What became of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Ingested {
    /// Instances that are new.
    pub created: u64,
    /// Instances that were there already, because the event was reported before.
    pub skipped: u64,
    /// Items that could not be taken.
    pub failed: u64,
    /// Items that no trigger took.
    pub unmatched: u64,
    /// In the order of the request.
    pub items: Vec<IngestedItem>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IngestedItem {
    /// `Created`, `Skipped`, `NoMatch` or `Failed`.
    #[schema(example = "Created")]
    pub outcome: String,
    pub instances: Vec<IngestedInstance>,
    /// Why nothing matched: `no-trigger`, `filter-false` or `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Problem>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestedInstance {
    pub survey_id: i64,
    pub trigger_id: String,
    pub public_id: String,
    /// `Created`, or `Skipped` where the event was seen before and this is its instance from then.
    pub outcome: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_ingest_is_read_as_the_seed_writes_it() {
        let body = json!({"eventKind": "service-visit-closed", "items": [
            {"payload": {"wip": "40956", "VIN": "J"}, "recipient": {"address": "+964 770 000 0001", "locale": "ar", "customerRef": "cust-123"}},
            {"payload": [], "recipient": {"locale": "?"}}, 7]});
        let (kind, items) = IngestRequest::read(&body).unwrap();
        assert_eq!((kind.as_str(), items.len()), ("service-visit-closed", 3));
        let first = items[0].as_ref().unwrap();
        assert_eq!(
            (first.payload["VIN"].as_str(), first.recipient.customer_ref.as_deref()),
            (Some("J"), Some("cust-123"))
        );
        let pointers = |at: usize| -> Vec<String> {
            items[at].as_ref().unwrap_err().iter().map(|fault| fault.pointer.clone()).collect()
        };
        assert_eq!(
            pointers(1),
            ["/items/1/payload", "/items/1/recipient/address", "/items/1/recipient/locale"]
        );
        assert_eq!(pointers(2), ["/items/2"]);
        assert_eq!(IngestRequest::read(&json!({"items": 1})).unwrap_err().errors.len(), 2);
    }
}
