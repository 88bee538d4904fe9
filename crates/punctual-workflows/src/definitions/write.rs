//! Writes a definition with its normal save command.

use punctual_boxed::boxed;
use punctual_engine::{
    Actor, CommandError, Engine,
    commands::{NewChannel, NewConsumer, NewList, NewTemplate, Seen, TemplateVariant},
};
use punctual_model::Fault;
use punctual_store::{
    Tx,
    lists::ListRow,
    reminders::settings::{self, SettingRow},
    report_subscriptions, sites,
};
use punctual_wire::{
    FieldError,
    business_units::BusinessUnitRequest,
    channels::ChannelRequest,
    consumers::ConsumerRequest,
    definitions::DefinitionKind,
    delivery_policy::DeliveryPolicy,
    limits::NAME_MAX,
    lists::ListRequest,
    names,
    operations::{organisations::OrganisationRequest, people::PersonRequest},
    sites::SiteChange,
    subscribers::SubscriberRequest,
    templates::{TemplateRequest, Variant},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Context, read::ONLY, surveys};
use crate::{
    business_units::{self, NewUnit, UnitSaved},
    faults::{fault, unreadable},
    operations::{
        directory,
        written::{organisation_row, person_row},
    },
    reminders::{self, Providers, changes::apply_announced},
    reports::{
        self,
        commands::{Change, change_in},
    },
    subscribers::{self, NewSubscriber},
};

/// What is left to do once the transaction is committed.
#[derive(Default)]
pub(super) struct AfterCommit {
    units: Vec<UnitSaved>,
    announced: Vec<String>,
    lists: Vec<(ListRow, Option<String>)>,
    /// Channels with other hours than before.
    channels: Vec<String>,
}

impl AfterCommit {
    /// Everything is written by now: what cannot be applied here is found by the passes that look for it.
    #[boxed]
    pub(super) async fn run(self, engine: &Engine, providers: &Providers) {
        engine.channels.invalidate();
        engine.consumers.invalidate();
        engine.policy.invalidate();
        for unit in self.units {
            unit.after_commit(engine, providers).await;
        }
        for key in self.announced {
            apply_announced(engine, providers, Some(key)).await;
        }
        for key in self.channels {
            if let Err(error) = engine.channel_hours_changed(&key).await {
                tracing::warn!(channel.key = key, %error, "messages that wait for the earlier hours of a channel could not be released");
            }
        }
        for (list, from) in self.lists {
            if let Err(error) = engine.list_moved(&list, from.as_deref()).await {
                tracing::warn!(list.name = list.name, %error, "queued messages of a list could not be moved to its channel yet");
            }
        }
    }
}

/// The adapter of a channel, subscriber or consumer, and the settings that it would have; none of one that cannot be read, which is
/// refused when it is saved.
pub(super) fn destination(value: &Value) -> Option<(String, Value)> {
    let adapter = value["adapter"].as_str()?.to_owned();
    let settings = value.get("settings").filter(|settings| settings.is_object())?.clone();
    Some((adapter, settings))
}

/// The definition of a channel as the command takes it.
fn new_channel(key: &str, value: &Value) -> Result<NewChannel, CommandError> {
    let ChannelRequest { adapter, settings, retry, at_most_once, policy } =
        ChannelRequest::read(value, "").map_err(unreadable)?;
    let retry = retry.as_ref().map(as_json);
    Ok(NewChannel { key: key.to_owned(), adapter, settings, retry, at_most_once, policy: policy.stored() })
}

/// Writes one definition. Nobody commits what a refusal leaves behind.
pub(super) async fn save(
    tx: &mut Tx,
    context: &Context<'_>,
    (kind, id): (DefinitionKind, &str),
    value: &Value,
    after: &mut AfterCommit,
) -> Result<(), CommandError> {
    let Context { engine, providers, sources, by } = *context;
    check_id(kind, id)?;
    let now = engine.clock.now();
    match kind {
        DefinitionKind::BusinessUnit => {
            let request = BusinessUnitRequest::read(value, "").map_err(unreadable)?;
            let new = NewUnit::of(id.to_owned(), request);
            let (_, saved) = business_units::save_in(tx, engine, by, Seen::Anything, new).await?;
            after.units.push(saved);
        }
        DefinitionKind::Template => {
            let TemplateRequest { default_locale, variants } =
                TemplateRequest::read(value, "").map_err(unreadable)?;
            let variants = variants.into_iter().map(|(locale, one)| (locale, texts(one))).collect();
            let new = NewTemplate { name: id.to_owned(), default_locale, variants };
            engine.save_template_in(tx, by, Seen::Anything, new).await?;
        }
        DefinitionKind::Channel => {
            let new = new_channel(id, value)?;
            let (saved, has_other_hours) = engine.save_channel_in(tx, by, Seen::Anything, new).await?;
            after.channels.extend(has_other_hours.then_some(saved.key));
        }
        DefinitionKind::List => {
            let ListRequest { kind, targets, channel, business_unit } =
                ListRequest::read(value, "").map_err(unreadable)?;
            let new = NewList { name: id.to_owned(), kind, channel, targets, business_unit };
            let (saved, moved_from) = engine.save_list_in(tx, by, Seen::Anything, new).await?;
            after.lists.push((saved.row, moved_from));
        }
        DefinitionKind::Subscriber => {
            let SubscriberRequest { adapter, settings, events, filter, retry, active } =
                SubscriberRequest::read(value, "").map_err(unreadable)?;
            let retry = retry.as_ref().map(as_json);
            let key = id.to_owned();
            let new = NewSubscriber { key, adapter, settings, events, filter, retry, active };
            subscribers::save_in(tx, engine, by, Seen::Anything, new).await?;
        }
        DefinitionKind::Consumer => {
            let ConsumerRequest { adapter, settings, business_unit, active } =
                ConsumerRequest::read(value, "").map_err(unreadable)?;
            let new = NewConsumer { key: id.to_owned(), adapter, settings, business_unit, active };
            engine.save_consumer_in(tx, by, Seen::Anything, new).await?;
        }
        DefinitionKind::DeliveryPolicy => {
            let policy = DeliveryPolicy::read(value, "").map_err(unreadable)?;
            engine.save_delivery_policy_in(tx, by, &as_json(&policy)).await?;
        }
        DefinitionKind::Organisation => {
            let request = OrganisationRequest::read(value, "").map_err(unreadable)?;
            let row = organisation_row(id.to_owned(), request, now)
                .map_err(|found| CommandError::Invalid(vec![fault(found)]))?;
            directory::put_organisation_in(tx, engine, by, &row).await?;
        }
        DefinitionKind::Person => {
            let request = PersonRequest::read(value, "").map_err(unreadable)?;
            directory::put_person_in(tx, engine, by, &person_row(id.to_owned(), request, now)).await?;
        }
        DefinitionKind::ReminderSetting => {
            let before = setting(tx, by, id).await?;
            if before.as_ref().is_some_and(|row| row.deleted) {
                return Err(removed("reminder setting"));
            }
            let id = id.to_owned();
            let draft =
                reminders::commands::Draft::read_in(&mut tx.conn(), providers, by, id, before, value).await?;
            let (_, announced) = draft.save_in(tx, engine, providers, by).await?;
            after.announced.extend(announced);
        }
        DefinitionKind::Survey => surveys::save(tx, context, id, value).await?,
        DefinitionKind::ReportSubscription => {
            let before =
                report_subscriptions::by_guids(&mut tx.conn(), &by.reach(), vec![id.to_owned()]).await?.pop();
            if before.as_ref().is_some_and(|row| row.deleted) {
                return Err(removed("report subscription"));
            }
            let guid = id.to_owned();
            let draft = reports::Draft::read_in(&mut tx.conn(), sources, by, guid, before, value).await?;
            draft.save_in(tx, engine, by).await?;
        }
        DefinitionKind::Site => {
            let unit = SiteChange::read(value, "").map_err(unreadable)?.business_unit;
            let unit = unit.as_deref();
            match sites::get(&mut tx.conn(), id).await? {
                None => engine.create_site_in(tx, by, now, id, unit).await?,
                Some(row) if row.revoked_at.is_some() => {
                    drop(engine.restore_site_in(tx, by, now, id, unit).await?);
                }
                Some(_) => drop(engine.move_site_in(tx, by, now, id, unit).await?),
            }
        }
    }
    Ok(())
}

/// Removes one definition.
pub(super) async fn remove(
    tx: &mut Tx,
    context: &Context<'_>,
    (kind, id): (DefinitionKind, &str),
    after: &mut AfterCommit,
) -> Result<(), CommandError> {
    let Context { engine, by, .. } = *context;
    match kind {
        DefinitionKind::BusinessUnit => {
            after.units.push(business_units::remove_in(tx, engine, by, id).await?);
        }
        DefinitionKind::Template => engine.delete_template_in(tx, by, id).await?,
        DefinitionKind::Channel => engine.delete_channel_in(tx, by, id).await?,
        DefinitionKind::List => engine.delete_list_in(tx, by, id).await?,
        DefinitionKind::Subscriber => subscribers::remove_in(tx, engine, by, id).await?,
        DefinitionKind::Consumer => engine.delete_consumer_in(tx, by, id).await?,
        DefinitionKind::DeliveryPolicy => engine.save_delivery_policy_in(tx, by, &json!({})).await?,
        DefinitionKind::Organisation => directory::remove_organisation_in(tx, engine, by, id).await?,
        DefinitionKind::Person => directory::remove_person_in(tx, engine, by, id).await?,
        DefinitionKind::ReminderSetting => {
            let row = setting(tx, by, id).await?;
            let row = row.ok_or_else(|| CommandError::not_found("reminder setting", id))?;
            after.announced.extend(reminders::commands::remove_in(tx, engine, by, row).await?);
        }
        DefinitionKind::Survey => {
            let state = "kept with its answers".to_owned();
            return Err(CommandError::NotAllowed { action: "delete", state, allowed: &["put"] });
        }
        DefinitionKind::ReportSubscription => {
            change_in(tx, engine, by, id, &Change::Delete, None).await?;
        }
        DefinitionKind::Site => drop(engine.revoke_site_in(tx, by, engine.clock.now(), id).await?),
    }
    Ok(())
}

async fn setting(tx: &mut Tx, by: &Actor, id: &str) -> Result<Option<SettingRow>, CommandError> {
    Ok(settings::by_ids(&mut tx.conn(), &by.reach(), vec![id.to_owned()]).await?.pop())
}

/// What a path of the definition's own route would refuse.
fn check_id(kind: DefinitionKind, id: &str) -> Result<(), CommandError> {
    let here = String::new;
    let found = match kind {
        DefinitionKind::Channel | DefinitionKind::Subscriber | DefinitionKind::Consumer => {
            names::channel_fault(id, &here)
        }
        DefinitionKind::Site => names::site_fault(id, &here),
        DefinitionKind::ReportSubscription if names::guid(id).as_deref() != Some(id) => {
            let why = "a guid is written as `0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071`";
            Some(FieldError::key_invalid(here(), why))
        }
        DefinitionKind::DeliveryPolicy if id != ONLY => {
            Some(FieldError::key_invalid(here(), format!("there is one, under the id `{ONLY}`")))
        }
        DefinitionKind::BusinessUnit
        | DefinitionKind::Template
        | DefinitionKind::List
        | DefinitionKind::DeliveryPolicy
        | DefinitionKind::Organisation
        | DefinitionKind::Person
        | DefinitionKind::ReminderSetting
        | DefinitionKind::ReportSubscription => names::name_fault(id, NAME_MAX, &here),
        // Its name is checked with it.
        DefinitionKind::Survey => None,
    };
    found.map_or(Ok(()), |found| Err(CommandError::Invalid(vec![fault(found)])))
}

fn removed(what: &str) -> CommandError {
    let detail =
        format!("A {what} of this id was removed, and its history goes by that id; give it another one.");
    CommandError::Invalid(vec![Fault::new("", "id_reused", detail)])
}

/// A variant as it is rendered.
fn texts(variant: Variant) -> TemplateVariant {
    let Variant { subject, body, html } = variant;
    TemplateVariant { subject, body, html }
}

fn as_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
