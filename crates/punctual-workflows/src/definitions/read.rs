//! Reads stored definitions as documents, each in the format of its route.

use std::collections::BTreeMap;

use punctual_engine::{
    Engine,
    channels::{as_channel, consumer_as_channel},
};
use punctual_model::Reach;
use punctual_store::{
    Conn, StoreError, business_units,
    channels::{self, ChannelRow},
    consumers::{self, ConsumerRow},
    delivery_policy::SETTINGS,
    facts,
    lists::{self, ListRow},
    operations::{
        organisations::{self, OrganisationRow},
        people::{self, PersonRow},
    },
    reminders::settings,
    report_subscriptions, sites,
    subscribers::{self, SubscriberRow},
    templates,
};
use punctual_wire::{
    business_units::{BusinessUnitRequest, Quota},
    channels::{ChannelPolicy, ChannelRequest},
    consumers::ConsumerRequest,
    definitions::DefinitionKind,
    delivery_policy::DeliveryPolicy,
    lists::ListRequest,
    operations::{
        organisations::{DefaultRuleShape, OrganisationRequest},
        people::PersonRequest,
    },
    sites::SiteChange,
    subscribers::SubscriberRequest,
    templates::TemplateRequest,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    document::{Bundle, Document, shown_settings},
    surveys,
};
use crate::{
    operations::{commands::DefaultRule, written::rule_shape},
    reports::draft::whole,
};

/// The id of what there is once.
pub(super) const ONLY: &str = "default";
/// Rows that are read at once.
const PAGE: i64 = 500;

/// Everything that is defined, as this connection sees it.
pub(super) async fn everything(conn: &mut Conn<'_>, engine: &Engine) -> Result<Bundle, StoreError> {
    let mut bundle = Bundle::new();
    for kind in DefinitionKind::ALL {
        bundle.insert(*kind, of_kind(conn, engine, *kind).await?);
    }
    Ok(bundle)
}

/// Reads all rows of a table by its pages, and makes a document of each.
macro_rules! pages {
    ($after:ident => $read:expr, |$row:ident| ($id:expr, $document:expr)) => {{
        let (mut found, mut $after) = (BTreeMap::new(), String::new());
        loop {
            let rows = $read.await?;
            if rows.is_empty() {
                break found;
            }
            for $row in rows {
                let id: String = $id.clone();
                $after.clone_from(&id);
                let document: Option<Document> = $document;
                found.extend(document.map(|document| (id, document)));
            }
        }
    }};
}

async fn of_kind(
    conn: &mut Conn<'_>,
    engine: &Engine,
    kind: DefinitionKind,
) -> Result<BTreeMap<String, Document>, StoreError> {
    let all = &Reach::Everything;
    Ok(match kind {
        DefinitionKind::BusinessUnit => {
            pages!(after => business_units::page(conn, all, &after, PAGE), |row| (
                row.id,
                Some(written(&BusinessUnitRequest {
                    name: row.name,
                    time_zone: row.time_zone,
                    quota: Quota::stored(row.rows_per_day, row.channel_share),
                })?)
            ))
        }
        DefinitionKind::Template => {
            pages!(after => templates::page(conn, &after, PAGE), |row| (
                row.name,
                Some(written(&TemplateRequest {
                    variants: stored(&row.variants, "templates.variants")?,
                    default_locale: row.default_locale,
                })?)
            ))
        }
        DefinitionKind::Channel => {
            let rows = channels::all(conn).await?;
            rows.iter()
                .map(|row| Ok((row.key.clone(), channel(engine, row)?)))
                .collect::<Result<_, StoreError>>()?
        }
        DefinitionKind::List => {
            pages!(after => lists::page(conn, all, &after, PAGE), |row| (
                row.name,
                Some(list(row)?)
            ))
        }
        DefinitionKind::Subscriber => {
            let rows = subscribers::all(conn).await?;
            rows.into_iter()
                .map(|row| Ok((row.key.clone(), subscriber(engine, row)?)))
                .collect::<Result<_, StoreError>>()?
        }
        DefinitionKind::Consumer => {
            let rows = consumers::all(conn).await?;
            rows.into_iter()
                .map(|row| Ok((row.key.clone(), consumer(engine, row)?)))
                .collect::<Result<_, StoreError>>()?
        }
        DefinitionKind::DeliveryPolicy => {
            let policy = facts::get(conn, SETTINGS).await?.unwrap_or_else(|| "{}".to_owned());
            let policy: DeliveryPolicy = stored(&policy, "facts.delivery-policy")?;
            let document = written(&policy)?;
            // One that says nothing is none.
            let says_something = document.value().as_object().is_some_and(|fields| !fields.is_empty());
            says_something.then(|| (ONLY.to_owned(), document)).into_iter().collect()
        }
        DefinitionKind::Organisation => {
            pages!(after => organisations::page(conn, all, &after, PAGE), |row| (
                row.id,
                Some(organisation(row)?)
            ))
        }
        DefinitionKind::Person => {
            pages!(after => people::page(conn, all, &after, PAGE), |row| (
                row.id,
                Some(person(row)?)
            ))
        }
        DefinitionKind::ReminderSetting => {
            pages!(after => settings::page(conn, all, &after, PAGE), |row| (
                row.id,
                Some(Document::new(stored(&row.definition, "reminder_settings.definition")?))
            ))
        }
        DefinitionKind::Survey => {
            let mut found = BTreeMap::new();
            for (name, row) in surveys::named(conn).await? {
                found.insert(name, surveys::document(conn, &row).await?);
            }
            found
        }
        DefinitionKind::ReportSubscription => {
            pages!(after => report_subscriptions::page(conn, all, &after, PAGE), |row| (
                row.guid,
                Some(Document::new(Value::Object(whole(&row))))
            ))
        }
        // One that was revoked is as good as removed.
        DefinitionKind::Site => {
            pages!(after => sites::page(conn, &after, PAGE), |row| (
                row.id,
                match row.revoked_at {
                    None => Some(written(&SiteChange { business_unit: row.business_unit })?),
                    Some(_) => None,
                }
            ))
        }
    })
}

fn written(definition: &impl Serialize) -> Result<Document, StoreError> {
    let value = serde_json::to_value(definition).map_err(|_| StoreError::Stored("definition"))?;
    Ok(Document::new(value))
}

fn stored<T: DeserializeOwned>(text: &str, what: &'static str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Stored(what))
}

fn channel(engine: &Engine, row: &ChannelRow) -> Result<Document, StoreError> {
    let (settings, secrets) = shown_settings(engine, row);
    let request = ChannelRequest {
        adapter: row.adapter.clone(),
        settings,
        // Where nothing was written, what is usual for its kind counts.
        retry: (row.retry != "{}").then(|| stored(&row.retry, "channels.retry")).transpose()?,
        at_most_once: row.at_most_once,
        policy: ChannelPolicy::of_stored(&row.policy),
    };
    let value = serde_json::to_value(request).map_err(|_| StoreError::Stored("channels"))?;
    Ok(Document::with_secrets(value, secrets))
}

fn subscriber(engine: &Engine, row: SubscriberRow) -> Result<Document, StoreError> {
    let (settings, secrets) = shown_settings(engine, &as_channel(row.clone()));
    let request = SubscriberRequest {
        adapter: row.adapter,
        settings,
        events: stored(&row.events, "subscribers.events")?,
        filter: row.filter.as_deref().map(|text| stored(text, "subscribers.filter")).transpose()?,
        retry: (row.retry != "{}").then(|| stored(&row.retry, "subscribers.retry")).transpose()?,
        active: row.active,
    };
    let value = serde_json::to_value(request).map_err(|_| StoreError::Stored("subscribers"))?;
    Ok(Document::with_secrets(value, secrets))
}

fn consumer(engine: &Engine, row: ConsumerRow) -> Result<Document, StoreError> {
    let (settings, secrets) = shown_settings(engine, &consumer_as_channel(&row));
    let request = ConsumerRequest {
        adapter: row.adapter,
        settings,
        business_unit: row.business_unit,
        active: row.active,
    };
    let value = serde_json::to_value(request).map_err(|_| StoreError::Stored("consumers"))?;
    Ok(Document::with_secrets(value, secrets))
}

fn list(row: ListRow) -> Result<Document, StoreError> {
    written(&ListRequest {
        targets: stored(&row.targets, "lists.targets")?,
        kind: row.kind,
        channel: Some(row.channel),
        business_unit: row.business_unit,
    })
}

fn organisation(row: OrganisationRow) -> Result<Document, StoreError> {
    let rules: Option<Vec<DefaultRule>> =
        row.rules.as_deref().map(|text| stored(text, "operations_organisations.rules")).transpose()?;
    let shaped = |one: DefaultRule| DefaultRuleShape {
        rule: rule_shape(&one.rule),
        channels: one.channels,
        handling: one.handling.into(),
        message: one.message,
    };
    written(&OrganisationRequest {
        rules: rules.map(|rules| rules.into_iter().map(shaped).collect()),
        name: row.name,
        time_zone: row.time_zone,
        all_day_at: row.all_day_at,
        business_unit: row.business_unit,
    })
}

fn person(row: PersonRow) -> Result<Document, StoreError> {
    written(&PersonRequest {
        channels: stored(&row.channels, "operations_people.channels")?,
        addresses: stored(&row.addresses, "operations_people.addresses")?,
        name: row.name,
        email: row.email,
        time_zone: row.time_zone,
        locale: row.locale,
        business_unit: row.business_unit,
    })
}
