//! A validated subscription that is not stored yet.

use jiff::{Timestamp, civil::Date};
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, commands::Units};
use punctual_reports::{Author, Sources};
use punctual_store::{Conn, StoreError, Tx, business_units, lists, report_subscriptions::SubscriptionRow};
use punctual_wire::reports::ReportSubscriptionRequest;
use serde_json::{Map, Value};

use super::{Subscription, commands};
use crate::{
    faults::unreadable,
    inline::{self, Saved},
};

/// What the server adds to a definition and takes back without a word, so that an answer can be sent again.
const ANSWERED: [&str; 7] =
    ["guid", "nextRunAt", "timeZone", "createdAt", "updatedAt", "warnings", "version"];

/// Two years: every month comes at least once that is not in a leap year.
const MONTHS: usize = 24;

pub struct Draft {
    row: SubscriptionRow,
    pub subscription: Subscription,
    is_new: bool,
}

impl Draft {
    /// Reads a definition as its author gives it. A cadence that is new must still fire; an import may bring one that has ended.
    #[boxed]
    pub async fn read(
        engine: &Engine,
        sources: &Sources,
        by: &Actor,
        guid: String,
        before: Option<SubscriptionRow>,
        value: &Value,
    ) -> Result<Self, CommandError> {
        let cadence = before.as_ref().and_then(|row| cadence_of(&row.definition));
        let mut reader = engine.store.read_for_people().await?;
        let draft = Self::read_in(&mut reader.conn(), sources, by, guid, before, value).await?;
        if cadence_of(&draft.row.definition) != cadence {
            let faults = draft.subscription.cadence.faults_ahead(engine.clock.now());
            if !faults.is_empty() {
                return Err(CommandError::Invalid(faults));
            }
        }
        Ok(draft)
    }

    /// The same over a connection of the caller's, which sees what its transaction has written.
    #[boxed]
    pub async fn read_in(
        conn: &mut Conn<'_>,
        sources: &Sources,
        by: &Actor,
        guid: String,
        before: Option<SubscriptionRow>,
        value: &Value,
    ) -> Result<Self, CommandError> {
        let (value, version) = without_version(value)?;
        if before.as_ref().is_some_and(|row| version.is_some_and(|version| version != row.version)) {
            return Err(CommandError::Stale);
        }
        let mut request = ReportSubscriptionRequest::read(&value, "").map_err(unreadable)?;
        let own = before.as_ref().map(|row| &row.business_unit);
        let units = Units::read(conn, by, request.business_unit.as_deref().into_iter().collect()).await?;
        request.business_unit = units.unit_after(own, request.business_unit, "")?.into_name();
        let unit_time_zone = zone_of(conn, request.business_unit.as_deref()).await?;
        let definition = serde_json::to_value(&request)
            .map_err(|_| StoreError::Stored("report_subscriptions.definition"))?;
        let row = SubscriptionRow {
            guid,
            name: request.name,
            business_unit: request.business_unit,
            owner: request.owner,
            list_name: request.recipients.list,
            paused: request.paused,
            deleted: false,
            definition: definition.to_string(),
            version: before.as_ref().map_or(1, |row| row.version),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            unit_time_zone,
        };
        let subscription = Subscription::read(&row).map_err(CommandError::Invalid)?;
        let known: Option<Value> = before.as_ref().and_then(|row| serde_json::from_str(&row.definition).ok());
        let text = request.subject.as_deref().map(|text| Saved {
            pointer: "/subject".to_owned(),
            text,
            before: known.as_ref().and_then(|known| known["subject"].as_str()),
        });
        let faults = inline::faults(text, inline::REPORT);
        if !faults.is_empty() {
            return Err(CommandError::Invalid(faults));
        }
        let author = Author { business_unit: row.business_unit.as_deref(), is_limited: by.units.is_some() };
        // Where the rows come from stays as somebody else was allowed to choose it.
        let is_as_before = before.as_ref().is_some_and(|before| before.business_unit == row.business_unit)
            && known
                .as_ref()
                .is_some_and(|known| known["report"]["source"] == definition["report"]["source"]);
        let faults = if is_as_before { Vec::new() } else { sources.check(&subscription.report, author) };
        if !faults.is_empty() {
            let inside = faults.into_iter().map(|mut fault| {
                fault.pointer = format!("/report{}", fault.pointer);
                fault
            });
            return Err(CommandError::Invalid(inside.collect()));
        }
        Ok(Self { row, subscription, is_new: before.is_none() })
    }

    /// Writes it and plans its next run.
    #[boxed]
    pub async fn save(self, engine: &Engine, by: &Actor) -> Result<SubscriptionRow, CommandError> {
        commands::save(engine, by, &self.row, self.is_new).await
    }

    /// The same in a transaction of the caller's.
    #[boxed]
    pub async fn save_in(
        self,
        tx: &mut Tx,
        engine: &Engine,
        by: &Actor,
    ) -> Result<SubscriptionRow, CommandError> {
        commands::save_in(tx, engine, by, &self.row, self.is_new).await
    }

    /// Whether it fires on a day that not every month has, so that short months are skipped.
    pub fn skips_months(&self, now: Timestamp) -> bool {
        let cadence = &self.subscription.cadence;
        let dates: Vec<Date> = cadence.after(now).take(MONTHS).map(|one| cadence.date(one.at)).collect();
        let month = |date: &Date| i32::from(date.year()) * 12 + i32::from(date.month());
        let steps: Vec<i32> = dates.windows(2).map(|pair| month(&pair[1]) - month(&pair[0])).collect();
        let is_uneven = steps.iter().min() != steps.iter().max();
        is_uneven && dates.iter().all(|date| date.day() > 28)
    }

    /// What was taken but will not work yet.
    #[boxed]
    pub async fn not_there_yet(&self, engine: &Engine) -> Result<NotThereYet, StoreError> {
        let mut reader = engine.store.read().await?;
        let mut missing = NotThereYet::default();
        if let Some(channel) = &self.subscription.channel {
            let known = engine.channels.is_known(&mut reader.conn(), channel.as_str()).await?;
            missing.channel = (!known).then(|| channel.to_string());
        }
        if let Some(list) = &self.row.list_name {
            let known = lists::named(&mut reader.conn(), vec![list.clone()]).await?;
            let known = known.get(self.row.business_unit.as_deref(), list);
            missing.list = known.is_none().then(|| list.clone());
        }
        Ok(missing)
    }
}

/// What a subscription names and nobody has defined yet.
#[derive(Clone, Debug, Default)]
pub struct NotThereYet {
    pub channel: Option<String>,
    pub list: Option<String>,
}

/// The cadence as it is stored.
fn cadence_of(definition: &str) -> Option<Value> {
    serde_json::from_str::<Value>(definition).ok()?.get_mut("cadence").map(Value::take)
}

async fn zone_of(conn: &mut Conn<'_>, unit: Option<&str>) -> Result<Option<String>, StoreError> {
    let Some(unit) = unit else { return Ok(None) };
    let row = business_units::by_ids(conn, vec![unit.to_owned()]).await?.pop();
    Ok(row.map(|row| row.time_zone))
}

/// The version that a client saw is beside the definition, and so is what only responses have.
fn without_version(value: &Value) -> Result<(Value, Option<i64>), CommandError> {
    let mut value = value.clone();
    let Some(fields) = value.as_object_mut() else { return Ok((value, None)) };
    let version = fields.get("version").filter(|version| !version.is_null()).cloned();
    ANSWERED.iter().for_each(|name| drop(fields.remove(*name)));
    match version {
        None => Ok((value, None)),
        Some(version) => match version.as_i64() {
            Some(number) => Ok((value, Some(number))),
            None => {
                let detail = "`version` takes the whole number that was read with the subscription.";
                Err(CommandError::invalid("/version", "wrong_type", detail))
            }
        },
    }
}

/// The stored definition with what is in columns of its own.
pub fn whole(row: &SubscriptionRow) -> Map<String, Value> {
    let mut definition: Map<String, Value> = serde_json::from_str(&row.definition).unwrap_or_default();
    definition.insert("businessUnit".into(), row.business_unit.clone().into());
    definition.insert("owner".into(), row.owner.clone().into());
    definition.insert("paused".into(), row.paused.into());
    definition
}

/// The stored definition with some fields replaced; null takes one away.
pub fn merged(row: &SubscriptionRow, change: &Value) -> Result<Value, CommandError> {
    let Some(change) = change.as_object() else {
        let detail = "Expected an object with the fields to change.";
        return Err(CommandError::invalid("", "wrong_type", detail));
    };
    let mut merged = whole(row);
    for (name, value) in change {
        if value.is_null() {
            merged.remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    Ok(Value::Object(merged))
}
