//! `/api/v1/definitions`: everything that people define, as one document, and what a document would change.
//!
//! The kinds, their names and the shape of the document are one list. What has no place in it cannot be exported; a test
//! compares it with the routes that define something.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    batch::Item,
    business_units::BusinessUnitRequest,
    channels::ChannelRequest,
    consumers::ConsumerRequest,
    delivery_policy::DeliveryPolicy,
    fields::{Fields, unknown},
    lists::ListRequest,
    operations::{organisations::OrganisationRequest, people::PersonRequest},
    problem::{Code, FieldError},
    reminders::ReminderSettingRequest,
    reports::ReportSubscriptionRequest,
    sites::SiteChange,
    strict::join,
    subscribers::SubscriberRequest,
    surveys::SurveyDefinition,
    templates::TemplateRequest,
};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident, $field:ident, $name:literal, $route:literal, $shape:ident;)*) => {
        /// A kind of definition, in the order of import: what others name comes first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DefinitionKind {
            $($(#[$doc])* $kind,)*
        }

        impl DefinitionKind {
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Its name in a document, which is also its folder.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }

            /// The route that defines one alone.
            pub fn route(self) -> &'static str {
                match self { $(Self::$kind => $route),* }
            }

            /// The name of its shape among the schemas of the OpenAPI document.
            pub fn shape(self) -> &'static str {
                match self { $(Self::$kind => stringify!($shape)),* }
            }
        }

        /// Definitions by kind and id.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
        #[serde(rename_all = "kebab-case")]
        pub struct Definitions {
            $($(#[$doc])*
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            #[schema(required = false)]
            pub $field: BTreeMap<String, $shape>,)*
        }
    };
}

kinds! {
    /// Business units by id.
    BusinessUnit, business_units, "business-units", "/api/v1/business-units/{id}", BusinessUnitRequest;
    /// Templates by name.
    Template, templates, "templates", "/api/v1/templates/{name}", TemplateRequest;
    /// Channels by key. A secret is a reference such as `env:NAME`, or `{"set": true}` to keep the server's secret.
    Channel, channels, "channels", "/api/v1/channels/{key}", ChannelRequest;
    /// Lists by name.
    List, lists, "lists", "/api/v1/lists/{name}", ListRequest;
    /// Subscribers by key; secrets as for channels.
    Subscriber, subscribers, "subscribers", "/api/v1/subscribers/{key}", SubscriberRequest;
    /// Consumers of events by key; secrets as for channels.
    Consumer, consumers, "consumers", "/api/v1/consumers/{key}", ConsumerRequest;
    /// The delivery policy, under the id `default`.
    DeliveryPolicy, delivery_policy, "delivery-policy", "/api/v1/delivery-policy", DeliveryPolicy;
    /// Organisations by id, with the rules that new events and tasks get.
    Organisation, organisations, "organisations", "/api/v1/operations/organisations/{id}", OrganisationRequest;
    /// People of events and tasks by id.
    Person, people, "people", "/api/v1/operations/people/{id}", PersonRequest;
    /// Reminder settings by id.
    ReminderSetting, reminder_settings, "reminder-settings", "/api/v1/reminder-settings/{id}", ReminderSettingRequest;
    /// Surveys by name; a second one of the same name has `~2` after it.
    Survey, surveys, "surveys", "/api/v1/surveys/{id}", SurveyDefinition;
    /// Report subscriptions by guid.
    ReportSubscription, report_subscriptions, "report-subscriptions", "/api/v1/report-subscriptions/{guid}", ReportSubscriptionRequest;
    /// Sites by id, without their tokens.
    Site, sites, "sites", "/api/v1/sites/{site}", SiteChange;
}

impl DefinitionKind {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// Definitions as they are given: by kind and id.
pub type GivenDefinitions = BTreeMap<DefinitionKind, BTreeMap<String, Value>>;

/// Definitions to be planned or imported.
#[derive(Clone, Debug, PartialEq, ToSchema)]
pub struct DefinitionsRequest {
    /// Say what would change, and change nothing.
    #[schema(required = false, default = false)]
    pub plan: bool,
    /// Remove definitions that are not given, of the kinds that are.
    #[schema(required = false, default = false)]
    pub prune: bool,
    #[schema(value_type = Definitions)]
    pub definitions: GivenDefinitions,
}

impl DefinitionsRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.require("definitions", || "an object of definitions by kind and id".into());
        let at = fields.pointer_to("definitions");
        let mut definitions = GivenDefinitions::new();
        match fields.get("definitions") {
            None => {}
            Some(Value::Object(kinds)) => {
                for (name, given) in kinds.iter().filter(|(_, given)| !given.is_null()) {
                    let part = read_kind(name, given, &join(&at, name));
                    if let Some((kind, of_kind)) = fields.accept(part) {
                        definitions.insert(kind, of_kind);
                    }
                }
            }
            Some(_) => {
                let detail = "`definitions` takes an object of definitions by kind and id.";
                fields.refuse("definitions", Code::WrongType, detail);
            }
        }
        let request =
            Self { plan: fields.bool("plan", false), prune: fields.bool("prune", false), definitions };
        fields.finish().map(|()| request)
    }
}

fn read_kind(name: &str, given: &Value, at: &str) -> Item<(DefinitionKind, BTreeMap<String, Value>)> {
    let names: Vec<&str> = DefinitionKind::ALL.iter().map(|kind| kind.name()).collect();
    let Some(kind) = DefinitionKind::parse(name) else {
        return Err(vec![unknown(at.to_owned(), name, &names)]);
    };
    let wrong = |at: String| FieldError::new(at, Code::WrongType, "Expected an object.");
    let Some(of_kind) = given.as_object() else { return Err(vec![wrong(at.to_owned())]) };
    let faults: Vec<FieldError> =
        of_kind.iter().filter(|(_, one)| !one.is_object()).map(|(id, _)| wrong(join(at, id))).collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok((kind, of_kind.iter().map(|(id, one)| (id.clone(), one.clone())).collect()))
}

/// Everything that is defined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DefinitionsDocument {
    /// By kind and id, as the routes of each kind take them. A secret is the reference that is stored, or `{"set": true}`.
    pub definitions: BTreeMap<String, BTreeMap<String, Value>>,
}

/// What an import changed, or would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DefinitionsPlan {
    /// Whether it was done; a plan and an import without changes do nothing.
    pub applied: bool,
    pub changes: Vec<DefinitionChange>,
    /// How many of the given definitions are there as they are given.
    pub unchanged: u64,
    /// What is not given and cannot be removed; only with `prune`.
    pub kept: Vec<KeptDefinition>,
}

/// A definition that changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DefinitionChange {
    #[schema(example = "lists")]
    pub kind: String,
    #[schema(example = "ops")]
    pub id: String,
    pub action: DefinitionAction,
    pub fields: Vec<FieldChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum DefinitionAction {
    Create,
    Update,
    Delete,
}

/// A field that changes; null stands for a field that is not there. Secrets are never shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    #[schema(example = "/targets/0")]
    pub pointer: String,
    pub from: Value,
    pub to: Value,
}

/// A definition that a prune leaves, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeptDefinition {
    pub kind: String,
    pub id: String,
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_are_read_by_kind_and_id() {
        let body =
            json!({"plan": true, "definitions": {"lists": {"ops": {"type": "email"}}, "channels": null}});
        let request = DefinitionsRequest::read(&body, "").unwrap();
        assert!(request.plan && !request.prune);
        assert_eq!(request.definitions[&DefinitionKind::List]["ops"], json!({"type": "email"}));
        assert_eq!(request.definitions.len(), 1);
    }

    #[test]
    fn each_fault_names_its_place() {
        let body = json!({"definitions": {"list": {}, "lists": {"a/b": 1}, "channels": []}, "purge": true});
        let faults = DefinitionsRequest::read(&body, "").unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        let expected = [
            ("/definitions/channels", "wrong_type"),
            ("/definitions/list", "unknown_field"),
            ("/definitions/lists/a~1b", "wrong_type"),
            ("/purge", "unknown_field"),
        ];
        assert_eq!(found, expected);
        assert_eq!(DefinitionsRequest::read(&json!({}), "").unwrap_err()[0].pointer, "/definitions");
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        for kind in DefinitionKind::ALL {
            assert_eq!(DefinitionKind::parse(kind.name()), Some(*kind));
        }
    }
}
