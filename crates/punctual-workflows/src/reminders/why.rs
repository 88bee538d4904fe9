//! Explains the decisions for a source and a day: the outcome of each setting and its values.

use jiff::{Timestamp, civil::Date};
use punctual_boxed::boxed;
use punctual_model::{Reach, ReasonCode};
use punctual_store::{
    Conn, StoreError, audit,
    reminders::settings,
    sources,
    work::{self, WorkRow},
};
use serde_json::{Map, Value, json};

use super::{
    KIND, Providers, Setting,
    evaluate::{Inputs, invalid},
    load,
    providers::Case,
};

/// Rows of one source that are checked.
const ROWS: i64 = 1_000;

/// One step of how it came, or did not come.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub at: Timestamp,
    /// The setting's name, where one is concerned.
    pub setting: Option<(String, String)>,
    /// What was decided: a status of work, an act, or `notWanted` and `otherDay`.
    pub outcome: String,
    pub reason: Option<String>,
    pub values: Value,
    pub key: Option<String>,
    pub work_id: Option<i64>,
}

/// All that is known about a source and a local day, oldest first. Nothing where there is no such source.
#[boxed]
pub async fn why(
    conn: &mut Conn<'_>,
    reach: &Reach,
    providers: &Providers,
    source_type: &str,
    source_id: &str,
    date: Date,
    now: Timestamp,
) -> Result<Option<Vec<Step>>, StoreError> {
    let Some(source) = sources::get(conn, reach, source_type, source_id).await? else {
        return Ok(None);
    };
    let rows = work::of_source(conn, reach, source_type, source_id, ROWS).await?;
    let rows: Vec<WorkRow> = rows.into_iter().filter(|row| row.kind == KIND).collect();
    let stored = settings::of_type(conn, reach, source_type).await?;
    let mut ids: Vec<String> = rows.iter().filter_map(|row| row.setting_id.clone()).collect();
    ids.retain(|id| !stored.iter().any(|row| row.id == *id));
    let mut all = load::read_settings(providers, &stored);
    all.extend(load::read_settings(providers, &settings::by_ids(conn, reach, ids).await?));
    let inputs = Inputs::load(conn, all, vec![source], false).await?;
    let Some(source) = inputs.sources.first() else { return Ok(None) };
    let zone = inputs.zone(source);
    let mut steps = Vec::new();
    for setting in &inputs.settings {
        let case = inputs.case(setting, source, &zone);
        steps.extend(today(providers, &case, &rows, date, now));
    }
    let day = date.to_string();
    for row in rows.iter().filter(|row| row.local_date.as_deref() == Some(&day)) {
        let setting = inputs.settings.iter().find(|setting| Some(&setting.id) == row.setting_id.as_ref());
        steps.extend(recorded(conn, reach, row, setting).await?);
    }
    steps.sort_by_key(|step| step.at);
    Ok(Some(steps))
}

/// What a setting says of the day at present, where it has no row for it.
fn today(
    providers: &Providers,
    case: &Case<'_>,
    rows: &[WorkRow],
    date: Date,
    now: Timestamp,
) -> Option<Step> {
    let setting = case.setting;
    let named = Some((setting.id.clone(), setting.name.clone()));
    let step = |outcome: &str, reason: Option<ReasonCode>, values: Value| Step {
        at: now,
        setting: named.clone(),
        outcome: outcome.to_owned(),
        reason: reason.map(String::from),
        values,
        key: None,
        work_id: None,
    };
    if let Some(reason) = invalid(providers, case) {
        return Some(step("notWanted", Some(reason), looked_at(case)));
    }
    // Seen from the day that is asked about, so that an anniversary is looked for on it.
    let from = punctual_model::local_time::resolve(date, jiff::civil::Time::midnight(), &case.zone.zone).at;
    let wanted = setting.rule.wanted(case, from);
    let mut values = Map::new();
    for (name, value) in wanted.values {
        values.insert(name.to_owned(), value);
    }
    let days: Vec<String> =
        wanted.candidates.iter().map(|candidate| candidate.local_date.to_string()).collect();
    values.insert("planned".into(), json!(days));
    if wanted.candidates.is_empty() {
        return Some(step("notWanted", wanted.reason, Value::Object(values)));
    }
    let that_day: Vec<_> =
        wanted.candidates.iter().filter(|candidate| candidate.local_date == date).collect();
    if that_day.is_empty() {
        return Some(step("otherDay", None, Value::Object(values)));
    }
    let missing =
        that_day.into_iter().find(|candidate| !rows.iter().any(|row| row.key == candidate.key.as_str()))?;
    let late = setting.lateness.is_over(missing.due_at, now, case.zone);
    let reason = if late { ReasonCode::DueInPast } else { ReasonCode::NotPlannedYet };
    Some(Step {
        key: Some(missing.key.as_str().to_owned()),
        ..step("notPlanned", Some(reason), Value::Object(values))
    })
}

/// What the filter of a setting read.
fn looked_at(case: &Case<'_>) -> Value {
    let mut values = Map::new();
    for path in case.setting.filter.iter().flat_map(|filter| filter.paths()) {
        values.insert(path.to_owned(), case.source.at(path).unwrap_or(Value::Null));
    }
    let row = &case.source.row;
    values.insert("active".into(), json!(row.active && !row.deleted));
    values.insert("businessUnit".into(), json!(row.business_unit));
    Value::Object(values)
}

/// What was written down about a row of that day.
async fn recorded(
    conn: &mut Conn<'_>,
    reach: &Reach,
    row: &WorkRow,
    setting: Option<&Setting>,
) -> Result<Vec<Step>, StoreError> {
    let step =
        |at: Timestamp, outcome: &str, reason: Option<String>, values: Value| -> Result<Step, StoreError> {
            Ok(Step {
                at,
                setting: setting.map(|setting| (setting.id.clone(), setting.name.clone())),
                outcome: outcome.to_owned(),
                reason,
                values,
                key: Some(row.key.clone()),
                work_id: Some(row.id),
            })
        };
    let due =
        json!({ "dueAt": row.due_at.to_string(), "localDate": row.local_date, "timeZone": row.time_zone });
    let mut steps = vec![step(row.created_at, "planned", None, due)?];
    for entry in audit::of(conn, reach, "work", &row.id.to_string()).await? {
        steps.push(step(entry.at, &entry.action, entry.reason, json!({ "by": entry.actor }))?);
    }
    let word = if row.on_hold { "onHold" } else { row.status.as_str() };
    let result = row.coordinates().unwrap_or(Value::Null);
    steps.push(step(row.updated_at, word, row.reason_code.clone(), json!({ "result": result }))?);
    Ok(steps)
}
