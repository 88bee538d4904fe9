//! A reminder at its moment: setting, source, recipients and delivery are read again, and what is no longer so is an
//! outcome with a reason, not a failure.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use punctual_engine::{Claimed, Decide, Loads, Workflow, WritesRows};
use punctual_model::{Decided, Decision, Effect, KeyParts, ReasonCode, WorkKey};
use punctual_store::{
    Conn, StoreError,
    reminders::{settings, states},
    sources,
    work::Transfer,
};

use super::{
    KIND, Providers, Setting,
    delivery::{self, Occasion},
    evaluate::{self, Inputs, input_hash, new_work},
    immediate, load,
    providers::{Case, Parts, Source, Zone},
    recipients, sink,
};

/// The workflow of reminders.
pub struct Reminders {
    providers: Arc<Providers>,
}

impl Reminders {
    pub fn new(providers: Arc<Providers>) -> Self {
        Self { providers }
    }
}

impl Workflow for Reminders {
    fn kind(&self) -> &'static str {
        KIND
    }
}

impl Loads for Reminders {
    type Loaded = Loaded;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Loaded, StoreError> {
        let ids = batch.iter().filter_map(|row| row.setting_id.clone()).collect();
        let rows = settings::by_ids(conn, ids).await?;
        let settings = load::read_settings(&self.providers, &rows);
        let unreadable = rows.len() - settings.len();
        let places: Vec<(&str, &str)> = batch
            .iter()
            .filter_map(|row| Some((row.source_type.as_deref()?, row.source_id.as_deref()?)))
            .collect();
        let rows = sources::by_keys(conn, &places).await?;
        let mut inputs = Inputs {
            zones: load::zones(conn, rows.iter().map(|row| row.business_unit.clone())).await?,
            ..Inputs::default()
        };
        inputs.load_measures(conn, &settings, &rows).await?;
        let sources: HashMap<(String, String), Source> = rows.into_iter().map(keyed).collect();
        let looked_at = self.looked_at(batch, &settings, &sources);
        let borrowed: Vec<(&str, &str)> =
            looked_at.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).collect();
        let others = sources::by_keys(conn, &borrowed).await?;
        Ok(Loaded {
            providers: self.providers.clone(),
            settings: settings.into_iter().map(|setting| (setting.id.clone(), setting)).collect(),
            unreadable: unreadable > 0,
            inputs,
            sources,
            others: others.into_iter().map(keyed).collect(),
        })
    }
}

/// What decisions about reminders write.
#[derive(Clone, Debug, PartialEq)]
pub enum Put {
    /// The row goes along with its source to another business unit.
    Transfer(Transfer),
    /// A threshold has been reported and stays quiet until it is armed again.
    Fired(Fired),
}

/// The state of a threshold that has fired.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fired {
    setting: String,
    source: String,
    metric: String,
    scope: String,
}

impl WritesRows for Reminders {
    type Row = Put;

    async fn put(&self, conn: &mut Conn<'_>, now: Timestamp, rows: &[Put]) -> Result<(), StoreError> {
        let (mut transfers, mut fired) = (Vec::new(), Vec::new());
        for row in rows {
            match row {
                Put::Transfer(transfer) => transfers.push(transfer.clone()),
                Put::Fired(Fired { setting, source, metric, scope }) => {
                    fired.push((setting.clone(), source.clone(), metric.clone(), scope.clone()));
                }
            }
        }
        sink::transfer(conn, now, &transfers).await?;
        fired.sort_unstable();
        fired.dedup();
        if !fired.is_empty() {
            states::fire(conn, now, &fired).await?;
        }
        Ok(())
    }
}

impl Reminders {
    /// The other sources that recipients are looked up in.
    fn looked_at(
        &self,
        batch: &[Claimed],
        settings: &[Setting],
        sources: &HashMap<(String, String), Source>,
    ) -> Vec<(String, String)> {
        let by_id: HashMap<&str, &Setting> =
            settings.iter().map(|setting| (setting.id.as_str(), setting)).collect();
        let looks = batch.iter().filter_map(|row| {
            let setting = by_id.get(row.setting_id.as_deref()?)?;
            let source = sources.get(&(row.source_type.clone()?, row.source_id.clone()?))?;
            let (provider, spec) = recipients::named(&self.providers, &setting.definition)?;
            provider.looks_at(spec, source)
        });
        looks.collect()
    }
}

fn keyed(row: sources::SourceRow) -> ((String, String), Source) {
    ((row.source_type.clone(), row.source_id.clone()), Source::new(row))
}

/// What a batch of reminders is decided on.
pub struct Loaded {
    providers: Arc<Providers>,
    settings: HashMap<String, Setting>,
    /// A setting of the batch is there and cannot be read.
    unreadable: bool,
    inputs: Inputs,
    sources: HashMap<(String, String), Source>,
    others: HashMap<(String, String), Source>,
}

impl Decide<Put> for Loaded {
    fn decide(&self, row: &Claimed, now: Timestamp) -> Decided<Put> {
        let skip = |reason| Decided::from(Decision::Skip(reason));
        let Some(setting) = row.setting_id.as_ref().and_then(|id| self.settings.get(id)) else {
            if self.unreadable {
                return Decision::Hold(ReasonCode::SettingUnreadable).into();
            }
            return skip(ReasonCode::ReminderSettingInactive);
        };
        let place = row.source_type.clone().zip(row.source_id.clone());
        let Some(source) = place.and_then(|place| self.sources.get(&place)) else {
            return skip(ReasonCode::SourceNoLongerValid);
        };
        let zone = self.inputs.zone(source);
        self.decide_case(row, setting, source, &zone, now)
    }
}

/// Another moment than the one it was planned for: its hour or zone has changed, and the change, which is applied batch
/// by batch, has not come to this row yet.
fn moved_to(setting: &Setting, case: &Case<'_>, key: &WorkKey, due_at: Timestamp) -> Option<Timestamp> {
    let wanted = setting.rule.wanted(case, due_at).candidates.into_iter();
    let own = wanted.filter(|candidate| candidate.key == *key && !candidate.at_once);
    own.map(|candidate| candidate.due_at).find(|moment| *moment != due_at)
}

impl Loaded {
    /// The source has moved to another business unit while the row could not go along, being worked on or held: it does
    /// now, and is planned there.
    fn goes_along(
        &self,
        setting: &Setting,
        source: &Source,
        zone: &Zone,
        key: &WorkKey,
        now: Timestamp,
    ) -> Decided<Put> {
        let case = self.inputs.case(setting, source, zone);
        let there = source.row.business_unit.clone();
        let transfer = Transfer {
            key: key.as_str().to_owned(),
            input_hash: input_hash(key, there.as_deref()).to_string(),
            business_unit: there,
        };
        let wanted = setting.rule.wanted(&case, now).candidates.into_iter();
        let own = wanted.filter(|candidate| candidate.key == *key);
        let effects =
            own.map(|candidate| Effect::Ensure(Box::new(new_work(setting, source, zone, &candidate))));
        let decided = Decided::from(Decision::Defer(now, ReasonCode::BusinessUnitChanged));
        decided.with_effects(effects).with_rows([Put::Transfer(transfer)])
    }

    fn decide_case(
        &self,
        row: &Claimed,
        setting: &Setting,
        source: &Source,
        zone: &Zone,
        now: Timestamp,
    ) -> Decided<Put> {
        let case = self.inputs.case(setting, source, zone);
        if let Some(reason) = evaluate::invalid(&self.providers, &case) {
            return Decision::Skip(reason).into();
        }
        let Ok(key) = WorkKey::parse(&row.key) else {
            return Decision::Hold(ReasonCode::InputUnreadable).into();
        };
        // A person who repeats a reminder means the one that was sent.
        let (key, repeated) = match key.parts() {
            KeyParts::SupportRetry { of, .. } => (of, true),
            _ => (key, false),
        };
        let due_at = Timestamp::from_microsecond(row.due_at).unwrap_or(now);
        let ready_at = Timestamp::from_microsecond(row.ready_at).unwrap_or(due_at);
        let immediate = self.providers.is_immediate(&key);
        if !repeated {
            if !immediate && let Err(reason) = setting.rule.still_wants(&case, &key, due_at) {
                return Decision::Skip(reason).into();
            }
            let (here, there) = (row.business_unit.as_deref(), source.row.business_unit.as_deref());
            if row.input_hash != input_hash(&key, there).to_string() {
                if row.input_hash == input_hash(&key, here).to_string() {
                    return self.goes_along(setting, source, zone, &key, now);
                }
                return Decision::Hold(ReasonCode::InputConflict).into();
            }
            if let Some(later) = moved_to(setting, &case, &key, due_at).filter(|later| *later > now) {
                return Decision::Defer(later, ReasonCode::Moved).into();
            }
        }
        let next: Vec<Effect> = setting
            .rule
            .next(&case, now)
            .map(|candidate| Effect::Ensure(Box::new(new_work(setting, source, zone, &candidate))))
            .into_iter()
            .collect();
        // Counted from when it could first be worked on: what waited for quiet hours or a person is not late.
        if setting.lateness.is_over(ready_at, now, zone) {
            return Decided::from(Decision::Skip(ReasonCode::DueInPast)).with_effects(next);
        }
        let Some(policy) = delivery::named(&self.providers, &setting.definition) else {
            return Decision::Hold(ReasonCode::SettingUnreadable).into();
        };
        if let Some(until) = policy.waits_until(&case, now) {
            return Decision::Defer(until, ReasonCode::QuietHours).into();
        }
        let Some((provider, spec)) = recipients::named(&self.providers, &setting.definition) else {
            return Decision::Hold(ReasonCode::SettingUnreadable).into();
        };
        let audience = match provider.resolve(spec, &case, &Parts { sources: &self.others }) {
            Ok(audience) => audience,
            Err(reason) => return Decided::from(Decision::Skip(reason)).with_effects(next),
        };
        let mut message = policy.message(&case, &Occasion::of(&key, due_at), audience);
        if immediate {
            message.kind = immediate::NOTIFICATION_KIND.to_owned();
            return Decision::Deliver(vec![message]).into();
        }
        let fired = setting.rule.fired(&case).map(|state| {
            Put::Fired(Fired {
                setting: state.setting_id,
                source: state.source_id,
                metric: state.metric,
                scope: state.scope,
            })
        });
        Decided::from(Decision::Deliver(vec![message])).with_effects(next).with_rows(fired)
    }
}
