//! Compares the required reminders of settings and sources with the existing rows: one pure function for events, changed
//! settings, plans and reconciliation.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use punctual_model::{
    InputHash, NewWork, ReasonCode, WorkKey, WorkStatus,
    local_time::{Adjustment, as_stored},
};
use punctual_store::{
    reminders::states::StateRow,
    work::{OfSource, Transfer},
};
use serde_json::Value;

use super::{
    KIND, Setting,
    providers::{Candidate, Case, Providers, Source, Wanted, Zone},
};

/// All that was read about a set of sources, for a set of settings.
#[derive(Default)]
pub struct Inputs {
    pub settings: Vec<Setting>,
    pub sources: Vec<Source>,
    /// By business unit.
    pub zones: HashMap<String, Zone>,
    /// By setting and source.
    pub states: HashMap<(String, String), Vec<StateRow>>,
    /// What children come to, by setting and parent.
    pub sums: HashMap<(String, String), i64>,
    /// By type and id of the source.
    pub existing: HashMap<(String, String), Vec<OfSource>>,
    /// Whether this evaluates events, not what is stored.
    pub from_event: bool,
}

impl Inputs {
    pub fn zone(&self, source: &Source) -> Zone {
        let unit = source.row.business_unit.as_deref();
        unit.and_then(|unit| self.zones.get(unit)).cloned().unwrap_or_else(|| Zone::named(None))
    }

    pub fn case<'a>(&'a self, setting: &'a Setting, source: &'a Source, zone: &'a Zone) -> Case<'a> {
        let pair = (setting.id.clone(), source.row.source_id.clone());
        Case {
            setting,
            source,
            zone,
            states: self.states.get(&pair).map_or(&[], Vec::as_slice),
            children: self.sums.get(&pair).copied(),
            from_event: self.from_event,
        }
    }
}

/// Which rows of the sources are checked.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    /// All of them: what no setting wants is over.
    All,
    /// Those of one setting.
    Setting(&'a str),
    /// Only what is due within a window is added, and nothing is taken away that a setting still wants.
    Window(Timestamp, Timestamp),
}

/// What is to be written.
#[derive(Default)]
pub struct Outcome {
    /// Rows that are no longer wanted, by reason.
    pub gone: BTreeMap<ReasonCode, Vec<String>>,
    /// Rows to be ensured.
    pub wanted: Vec<NewWork>,
    /// Rows that go to another business unit with their source, before they are ensured there.
    pub transfers: Vec<Transfer>,
    /// Rows whose time was over before they were known: written down, and never sent.
    pub over: Vec<NewWork>,
    /// Rows that cannot be planned, with the reason: written down as failed, so that somebody sees them.
    pub failed: Vec<(ReasonCode, NewWork)>,
    pub states: Vec<StateRow>,
    /// Rows that are right as they are, by source.
    pub unchanged: HashMap<(String, String), u64>,
    /// The source of every key that is no longer wanted.
    pub gone_of: HashMap<String, (String, String)>,
    pub plan: Plan,
}

/// What an outcome comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub create: u64,
    pub deactivate: u64,
    /// The same row at another moment.
    pub moved: u64,
    /// Of those created or moved: local times that a clock change skips, or has twice.
    pub gap: u64,
    pub overlap: u64,
    pub unchanged: u64,
    pub past: u64,
}

impl Plan {
    pub fn add(&mut self, other: &Self) {
        self.create += other.create;
        self.deactivate += other.deactivate;
        self.moved += other.moved;
        self.gap += other.gap;
        self.overlap += other.overlap;
        self.unchanged += other.unchanged;
        self.past += other.past;
    }
}

/// Why a case has no rows at all, whatever its trigger would want.
pub fn invalid(providers: &Providers, case: &Case<'_>) -> Option<ReasonCode> {
    providers.invalidations.iter().find_map(|provider| provider.invalid(case))
}

/// A case that is not valid wants nothing, and what is remembered of a measure ends: a source that comes back starts again.
fn not_valid(case: &Case<'_>, reason: ReasonCode) -> Wanted {
    let state = case.states.iter().find(|state| state.met);
    let state = state.map(|state| StateRow { met: false, ..state.clone() });
    Wanted { reason: Some(reason), state, ..Wanted::default() }
}

/// What one case wants that is valid, seen from now and from the rows that there are.
fn wanted(providers: &Providers, case: &Case<'_>, rows: &Rows<'_>, now: Timestamp) -> Wanted {
    let mut wanted = case.setting.rule.wanted(case, now);
    wanted.candidates.iter_mut().for_each(|candidate| rows.keep_key(candidate));
    rows.go_on(case, &mut wanted.candidates);
    rows.at_their_moment(case, &mut wanted.candidates);
    let immediate = providers.immediate.iter().filter_map(|provider| provider.immediate(case, now));
    wanted.candidates.extend(immediate);
    wanted
}

/// Compares what is wanted with what there is.
pub fn evaluate(providers: &Providers, inputs: &Inputs, now: Timestamp, scope: Scope<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    for source in &inputs.sources {
        evaluate_source(providers, inputs, source, now, scope, &mut outcome);
    }
    outcome
}

fn evaluate_source(
    providers: &Providers,
    inputs: &Inputs,
    source: &Source,
    now: Timestamp,
    scope: Scope<'_>,
    outcome: &mut Outcome,
) {
    let place = (source.row.source_type.clone(), source.row.source_id.clone());
    let existing = inputs.existing.get(&place).map_or(&[][..], Vec::as_slice);
    let rows = Rows::of(existing);
    let zone = inputs.zone(source);
    let mut keep: HashSet<String> = HashSet::new();
    let mut reasons: HashMap<&str, ReasonCode> = HashMap::new();
    let mut valid: HashSet<&str> = HashSet::new();
    let mut unchanged = 0;
    for setting in inputs.settings.iter().filter(|setting| setting.source_type == place.0) {
        let case = inputs.case(setting, source, &zone);
        let wanted = match invalid(providers, &case) {
            Some(reason) => not_valid(&case, reason),
            None => {
                valid.insert(&setting.id);
                wanted(providers, &case, &rows, now)
            }
        };
        outcome.states.extend(wanted.state);
        if let Some(reason) = wanted.reason {
            reasons.insert(&setting.id, reason);
        }
        for candidate in wanted.candidates {
            let row = rows.get(&candidate.key);
            keep.insert(candidate.key.as_str().to_owned());
            if let Some(reason) = candidate.fault {
                match row {
                    Some(_) => unchanged += 1,
                    None => outcome.failed.push((reason, new_work(setting, source, &zone, &candidate))),
                }
                continue;
            }
            let is_over = |due_at| !candidate.at_once && setting.lateness.is_over(due_at, now, &zone);
            let unit = source.row.business_unit.as_deref();
            let transfer = row.and_then(|row| transfer_of(row, &candidate.key, unit));
            match row_state(row, &candidate, &zone, now, is_over, transfer.is_some()) {
                RowState::Right => unchanged += 1,
                RowState::Over => {
                    outcome.plan.past += 1;
                    outcome.over.push(new_work(setting, source, &zone, &candidate));
                }
                RowState::MovedAway => {
                    keep.remove(candidate.key.as_str());
                    reasons.insert(&setting.id, ReasonCode::DueInPast);
                }
                RowState::MovedToPast => {
                    outcome.plan.moved += 1;
                    outcome.transfers.extend(transfer);
                    let at_once = Candidate { due_at: now, ..candidate };
                    outcome.wanted.push(new_work(setting, source, &zone, &at_once));
                }
                state @ (RowState::Missing | RowState::Ended | RowState::Elsewhere) => {
                    if let Scope::Window(from, to) = scope
                        && (candidate.due_at < from || candidate.due_at > to)
                    {
                        continue;
                    }
                    match state {
                        RowState::Elsewhere => outcome.plan.moved += 1,
                        _ => outcome.plan.create += 1,
                    }
                    match candidate.adjusted {
                        Some(Adjustment::Gap) => outcome.plan.gap += 1,
                        Some(Adjustment::Overlap) => outcome.plan.overlap += 1,
                        None => {}
                    }
                    outcome.transfers.extend(transfer);
                    outcome.wanted.push(new_work(setting, source, &zone, &candidate));
                }
            }
        }
    }
    for row in existing {
        if !is_live(row) || keep.contains(&row.key) {
            continue;
        }
        let setting = row.setting_id.as_deref().unwrap_or_default();
        if let Scope::Setting(only) = scope
            && only != setting
        {
            continue;
        }
        // A message at once waits for nothing but to be sent, as long as its source and setting are good.
        if valid.contains(setting) && WorkKey::parse(&row.key).is_ok_and(|key| providers.is_immediate(&key)) {
            continue;
        }
        let reason = reasons.get(setting).copied().unwrap_or(ReasonCode::ReminderSettingInactive);
        outcome.plan.deactivate += 1;
        outcome.gone_of.insert(row.key.clone(), place.clone());
        outcome.gone.entry(reason).or_default().push(row.key.clone());
    }
    outcome.plan.unchanged += unchanged;
    if unchanged > 0 {
        outcome.unchanged.insert(place, unchanged);
    }
}

/// The rows that a source has, by key.
struct Rows<'r>(HashMap<&'r str, &'r OfSource>);

impl<'r> Rows<'r> {
    fn of(rows: &'r [OfSource]) -> Self {
        Self(rows.iter().map(|row| (row.key.as_str(), row)).collect())
    }

    fn get(&self, key: &WorkKey) -> Option<&'r OfSource> {
        self.0.get(key.as_str()).copied()
    }

    /// A row that was made under the key of an earlier version keeps it, and is neither made nor sent a second time.
    fn keep_key(&self, candidate: &mut Candidate) {
        if self.get(&candidate.key).is_none()
            && let Some(formerly) = candidate.formerly.take_if(|key| self.get(key).is_some())
        {
            candidate.key = formerly;
        }
    }

    /// What follows an occurrence whose row was sent, cancelled or held: one that does not continue by itself never ends its
    /// chain. Every step passes a row that exists. One that cannot be sent is followed by none: the next ones could not either,
    /// and each event of the source would add one.
    fn go_on(&self, case: &Case<'_>, candidates: &mut Vec<Candidate>) {
        let is_stopped = |row: &OfSource| {
            row.on_hold || !matches!(row.status, WorkStatus::Pending | WorkStatus::Processing)
        };
        while let Some(last) = candidates.last()
            && last.fault.is_none()
            && self.get(&last.key).is_some_and(is_stopped)
            && let Some(mut next) = case.setting.rule.next(case, last.due_at)
        {
            self.keep_key(&mut next);
            candidates.push(next);
        }
    }

    /// Rows that are planned and still wanted at the moment that they were planned for, though not when seen from now: an
    /// occurrence further on, or the day on which a threshold was met while its message waits for the morning.
    fn at_their_moment(&self, case: &Case<'_>, candidates: &mut Vec<Candidate>) {
        let mut planned: Vec<&OfSource> = self.0.values().copied().filter(|row| is_live(row)).collect();
        planned.sort_unstable_by_key(|row| row.id);
        for row in planned {
            let is_own = row.setting_id.as_ref() == Some(&case.setting.id);
            if !is_own || candidates.iter().any(|candidate| candidate.key.as_str() == row.key) {
                continue;
            }
            let due_at = row.due_at;
            let key = WorkKey::stored(row.key.as_str());
            candidates.extend(case.setting.rule.still_wants(case, &key, due_at));
        }
    }
}

fn is_live(row: &OfSource) -> bool {
    matches!(row.status, WorkStatus::Pending | WorkStatus::Failed)
}

/// The state of a row that is wanted.
#[derive(Clone, Copy)]
enum RowState {
    Missing,
    /// It ended without being sent and is wanted again.
    Ended,
    /// Planned for another moment.
    Elsewhere,
    Right,
    /// Not there, and its time is over.
    Over,
    /// Planned, and both its moment and its new one are over.
    MovedAway,
    /// Planned for later, and moved to a moment that is over: it was never due, so it is sent at once.
    MovedToPast,
}

fn row_state(
    row: Option<&OfSource>,
    candidate: &Candidate,
    zone: &Zone,
    now: Timestamp,
    is_over: impl Fn(Timestamp) -> bool,
    is_transferred: bool,
) -> RowState {
    let late = is_over(candidate.due_at);
    let Some(row) = row else {
        return if late { RowState::Over } else { RowState::Missing };
    };
    let date = candidate.local_date.to_string();
    let same = !is_transferred
        && (candidate.at_once
            || row.due_at == as_stored(candidate.due_at)
                && row.local_date.as_deref() == Some(&date)
                && row.time_zone.as_deref() == Some(&zone.name));
    match row.status {
        WorkStatus::Completed | WorkStatus::Processing => RowState::Right,
        WorkStatus::Pending if row.on_hold || same => RowState::Right,
        WorkStatus::Pending if late => {
            let planned_for = row.due_at;
            match (is_over(planned_for), planned_for <= now) {
                (true, _) => RowState::MovedAway,
                // It is due already, and sent with the next pass.
                (false, true) => RowState::Right,
                (false, false) => RowState::MovedToPast,
            }
        }
        WorkStatus::Pending => RowState::Elsewhere,
        WorkStatus::Failed | WorkStatus::Deactivated | WorkStatus::Cancelled if late => RowState::Right,
        WorkStatus::Failed | WorkStatus::Deactivated | WorkStatus::Cancelled => RowState::Ended,
    }
}

/// The row of a candidate. Its hash covers what the key means and the business unit; never a send time, a zone, other
/// fields of the source or its delivery.
pub fn new_work(setting: &Setting, source: &Source, zone: &Zone, candidate: &Candidate) -> NewWork {
    let row = &source.row;
    NewWork {
        kind: KIND,
        trigger: candidate.trigger.unwrap_or(setting.trigger),
        business_unit: row.business_unit.clone(),
        source: Some((row.source_type.clone(), row.source_id.clone())),
        setting_id: Some(setting.id.clone()),
        due_at: candidate.due_at,
        local: Some((candidate.local_date.to_string(), zone.name.clone())),
        input_hash: input_hash(&candidate.key, row.business_unit.as_deref()),
        input: "{}".to_owned(),
        key: candidate.key.clone(),
    }
}

/// How a row is transferred whose source has moved to another business unit. A row that was made from something else than
/// its own key and unit is none of these, and stays a conflict.
fn transfer_of(row: &OfSource, key: &WorkKey, unit: Option<&str>) -> Option<Transfer> {
    let is_open = !matches!(row.status, WorkStatus::Processing | WorkStatus::Completed);
    let (here, there) = (row.business_unit.as_deref(), input_hash(key, unit).to_string());
    let moves = row.input_hash != there && row.input_hash == input_hash(key, here).to_string();
    let unit = unit.map(str::to_owned);
    let may_move = !row.on_hold || row.status == WorkStatus::Deactivated;
    (is_open && moves && may_move).then(|| Transfer {
        key: key.as_str().to_owned(),
        business_unit: unit,
        input_hash: there,
    })
}

pub fn input_hash(key: &WorkKey, business_unit: Option<&str>) -> InputHash {
    InputHash::of_fields(&[
        ("key", Value::from(key.as_str())),
        ("businessUnit", business_unit.map_or(Value::Null, Value::from)),
    ])
}
