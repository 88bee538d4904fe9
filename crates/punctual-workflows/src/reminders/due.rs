//! Decides a due reminder: setting, source, recipients and delivery are read again. A reminder that no longer applies is an
//! outcome with a reason, not a failure.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use punctual_engine::{Claimed, Decide, Loads, Workflow, WritesRows};
use punctual_model::{Decided, Decision, Effect, KeyParts, NewWork, Reach, ReasonCode, WorkKey};
use punctual_store::{
    Conn, StoreError,
    reminders::{sends, settings, states},
    sources,
    work::{Transfer, WorkRow},
};

use super::{
    KIND, Providers, Setting,
    changes::Change,
    delivery::{self, Occurrence},
    evaluate::{self, Inputs, input_hash, new_work},
    immediate, load,
    providers::{Candidate, Case, Parts, Source, Zone},
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

    fn after_cancel(&self, cancelled: &WorkRow, now: Timestamp) -> Vec<NewWork> {
        let change = Self::source_of(cancelled);
        change.and_then(|change| change.work(now, 0)).into_iter().collect()
    }
}

impl Reminders {
    /// The source of a row, to be evaluated again.
    fn source_of(cancelled: &WorkRow) -> Option<Change> {
        Some(Change::Cancelled {
            work: cancelled.id,
            version: cancelled.version,
            source_type: cancelled.source_type.clone()?,
            source_id: cancelled.source_id.clone()?,
        })
    }
}

impl Loads for Reminders {
    type Loaded = Loaded;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Loaded, StoreError> {
        let ids = batch.iter().filter_map(|row| row.setting_id.clone()).collect();
        let rows = settings::by_ids(conn, &Reach::Everything, ids).await?;
        let settings = load::read_settings(&self.providers, &rows);
        let unreadable = rows.len() - settings.len();
        let places: Vec<(&str, &str)> = batch
            .iter()
            .filter_map(|row| Some((row.source_type.as_deref()?, row.source_id.as_deref()?)))
            .collect();
        let rows = sources::within(conn, &Reach::Everything, &places).await?;
        let mut inputs = Inputs {
            zones: load::zones(conn, rows.iter().map(|row| row.business_unit.clone())).await?,
            ..Inputs::default()
        };
        inputs.load_measures(conn, &settings, &rows).await?;
        let sources: HashMap<(String, String), Source> = rows.into_iter().map(keyed).collect();
        let looked_at = self.looked_at(batch, &settings, &sources);
        let borrowed: Vec<(&str, &str)> =
            looked_at.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).collect();
        let others = sources::within(conn, &Reach::Everything, &borrowed).await?;
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
    /// The row moves with its source to another business unit.
    Transfer(Transfer),
    /// A threshold has been reported and stays quiet until it is armed again.
    Fired(Fired),
    /// What the page of its setting lists.
    Sent { setting: String, work: i64 },
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
        let (mut transfers, mut fired, mut sent) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            match row {
                Put::Transfer(transfer) => transfers.push(transfer.clone()),
                Put::Sent { setting, work } => sent.push((setting.as_str(), *work)),
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
        if !sent.is_empty() {
            sends::put(conn, now, &sent).await?;
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
        let own = wanted.filter_map(|candidate| candidate.named(key));
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
        let due_at = row.due_at;
        if self.providers.is_immediate(&key) {
            return self.decide_wanted(row, &case, &key, None, repeated, now);
        }
        let own = match setting.rule.still_wants(&case, &key, due_at) {
            Ok(own) => Some(own),
            Err(_) if repeated => None,
            Err(reason) => return Decision::Skip(reason).into(),
        };
        let decided = self.decide_wanted(row, &case, &key, own.as_ref(), repeated, now);
        if matches!(decided.decision, Decision::Defer(..)) {
            return decided;
        }
        // Whatever becomes of this one, the next one is planned: a row that is held does not end its chain.
        let next = setting.rule.next(&case, now);
        decided.with_effects(
            next.map(|candidate| Effect::Ensure(Box::new(new_work(setting, source, zone, &candidate)))),
        )
    }

    /// Decides about a row that is wanted; `own` is the row as it is wanted now, for all but messages at once.
    fn decide_wanted(
        &self,
        row: &Claimed,
        case: &Case<'_>,
        key: &WorkKey,
        own: Option<&Candidate>,
        repeated: bool,
        now: Timestamp,
    ) -> Decided<Put> {
        let Case { setting, source, zone, .. } = *case;
        let due_at = row.due_at;
        let ready_at = row.ready_at;
        let (here, there) = (row.business_unit.as_deref(), source.row.business_unit.as_deref());
        // An operator repeats a reminder within the row's unit and may not send for a source that moved to another unit.
        if repeated && here != there {
            return Decision::Skip(ReasonCode::SourceNoLongerValid).into();
        }
        if !repeated {
            if row.input_hash != input_hash(key, there).to_string() {
                if row.input_hash == input_hash(key, here).to_string() {
                    return self.goes_along(setting, source, zone, key, now);
                }
                return Decision::Hold(ReasonCode::InputConflict).into();
            }
            // Its hour or zone has changed, and the change, which is applied batch by batch, has not come to it yet.
            let moved = own.filter(|own| !own.at_once && own.due_at != due_at && own.due_at > now);
            if let Some(own) = moved {
                return Decision::Defer(own.due_at, ReasonCode::Moved).into();
            }
        }
        // Counted from when it could first be worked on: what waited for quiet hours or a person is not late.
        if setting.lateness.is_over(ready_at, now, zone) {
            return Decision::Skip(ReasonCode::DueInPast).into();
        }
        let Some(policy) = delivery::named(&self.providers, &setting.definition) else {
            return Decision::Hold(ReasonCode::SettingUnreadable).into();
        };
        if let Some(until) = policy.waits_until(case, now) {
            return Decision::Defer(until, ReasonCode::QuietHours).into();
        }
        let Some((provider, spec)) = recipients::named(&self.providers, &setting.definition) else {
            return Decision::Hold(ReasonCode::SettingUnreadable).into();
        };
        let audience = match provider.resolve(spec, case, &Parts::new(&self.others)) {
            Ok(audience) => audience,
            Err(reason) => return Decision::Skip(reason).into(),
        };
        let occurrence = Occurrence::of(key, due_at, own.and_then(|own| own.about));
        let mut message = policy.message(case, &occurrence, audience);
        message.not_after = setting.lateness.latest(ready_at);
        let sent = Put::Sent { setting: setting.id.clone(), work: row.id };
        if self.providers.is_immediate(key) {
            message.kind = immediate::NOTIFICATION_KIND.to_owned();
            return Decided::from(Decision::Deliver(vec![message])).with_rows([sent]);
        }
        let fired = setting.rule.fired(case).map(|state| {
            Put::Fired(Fired {
                setting: state.setting_id,
                source: state.source_id,
                metric: state.metric,
                scope: state.scope,
            })
        });
        Decided::from(Decision::Deliver(vec![message])).with_rows(fired.into_iter().chain([sent]))
    }
}
