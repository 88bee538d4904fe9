//! Titles of the rows of reminders: `First aid certificate, document 103: 7 days before 14 May`.

use std::collections::HashMap;

use jiff::{Timestamp, civil::Date};
use punctual_engine::{
    Titles,
    titles::{day, line, moment},
};
use punctual_model::{KeyParts, Reach};
use punctual_store::{Conn, StoreError, reminders::settings, sources};
use serde_json::Value;
use uuid::Uuid;

use super::{
    changes::Changes, due::Reminders, external::Externals, immediate, providers::Case, reconcile::Reconcile,
};

/// The members of a source's state that may hold its name.
const NAMES: [&str; 3] = ["name", "title", "number"];

impl Titles for Reminders {
    async fn titles(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let named = Names::load(conn, reach, keys).await?;
        Ok(keys.iter().map(|key| named.title(key, now)).collect())
    }
}

impl Titles for Changes {
    async fn titles(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        _now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let named = Names::load(conn, reach, keys).await?;
        let title = |key: &KeyParts| match key {
            KeyParts::ReminderChange { of, id, .. } => Some(match of.as_str() {
                "setting" => format!("Change of reminder {}", named.setting(id)),
                "unit" => format!("Change of business unit {}", line(id)),
                _ => format!("Replanning after a cancel of work {}", line(id)),
            }),
            _ => None,
        };
        Ok(keys.iter().map(title).collect())
    }
}

impl Titles for Reconcile {
    async fn titles(
        &self,
        _conn: &mut Conn<'_>,
        _reach: &Reach,
        now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        Ok(keys.iter().map(|key| reconciliation(key, now)).collect())
    }
}

impl Titles for Externals {
    async fn titles(
        &self,
        _conn: &mut Conn<'_>,
        _reach: &Reach,
        now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        Ok(keys.iter().map(|key| reconciliation(key, now)).collect())
    }
}

fn reconciliation(key: &KeyParts, now: Timestamp) -> Option<String> {
    let KeyParts::Reconcile { provider, at } = key else { return None };
    let what = match provider.as_str() {
        "dateBased" => "reminders by date".to_owned(),
        "recurring" => "recurring reminders".to_owned(),
        "threshold" => "reminders by threshold".to_owned(),
        other => line(other),
    };
    Some(format!("Reconciliation of {what}, {}", moment(*at, now)))
}

/// The names of what keys are about.
struct Names {
    settings: HashMap<String, String>,
    /// Of sources whose ids say nothing.
    sources: HashMap<(String, String), String>,
}

impl Names {
    async fn load(conn: &mut Conn<'_>, reach: &Reach, keys: &[KeyParts]) -> Result<Self, StoreError> {
        let ids: Vec<String> = keys.iter().filter_map(setting_of).map(str::to_owned).collect();
        let rows = if ids.is_empty() { Vec::new() } else { settings::by_ids(conn, reach, ids).await? };
        let name = |row: settings::SettingRow| {
            let name = line(&row.name);
            (row.id, if row.deleted { format!("{name} (deleted)") } else { name })
        };
        let opaque: Vec<(&str, &str)> =
            keys.iter().filter_map(source_of).filter(|(_, id)| Uuid::try_parse(id).is_ok()).collect();
        let found = sources::within(conn, reach, &opaque).await?;
        let sources = found.into_iter().filter_map(|row| {
            let name = name_in(&row.state)?;
            Some(((row.source_type, row.source_id), name))
        });
        Ok(Self { settings: rows.into_iter().map(name).collect(), sources: sources.collect() })
    }

    fn setting(&self, id: &str) -> &str {
        self.settings.get(id).map_or("Deleted reminder", String::as_str)
    }

    fn title(&self, key: &KeyParts, now: Timestamp) -> Option<String> {
        let setting = self.setting(setting_of(key)?);
        let Some((kind, id)) = source_of(key) else { return Some(format!("{setting}: key too long")) };
        let name = self.sources.get(&(kind.to_owned(), id.to_owned())).map_or(id, String::as_str);
        titled(setting, kind, name, key, now)
    }
}

/// The title of a message that is about to be planned, from what is at hand.
pub(super) fn of_case(case: &Case<'_>, key: &KeyParts, now: Timestamp) -> String {
    let row = &case.source.row;
    let own = Uuid::try_parse(&row.source_id).ok().and_then(|_| name_in(&row.state));
    let name = own.as_deref().unwrap_or(&row.source_id);
    let title = titled(&line(&case.setting.name), &row.source_type, name, key, now);
    title
        .unwrap_or_else(|| format!("{}, {} {}", line(&case.setting.name), line(&row.source_type), line(name)))
}

fn titled(setting: &str, kind: &str, name: &str, key: &KeyParts, now: Timestamp) -> Option<String> {
    let moment = match key {
        KeyParts::ReminderDate { target_date, offset_days, .. } => offset(*offset_days, *target_date, now),
        KeyParts::ReminderOccurrence { occurrence, .. } => day(*occurrence, now),
        KeyParts::ReminderThreshold { metric_key, .. } if metric_key == immediate::METRIC => {
            "when it was added".to_owned()
        }
        KeyParts::ReminderThreshold { metric_key, threshold_value, .. } => {
            format!("{} at {}", line(&measure(metric_key)), line(threshold_value))
        }
        _ => return None,
    };
    Some(format!("{setting}, {} {}: {moment}", line(kind), line(name)))
}

/// A measure in words: `share(count(booking),/capacity)` is `number of booking per capacity`.
fn measure(key: &str) -> String {
    if let Some(both) = key.strip_prefix("share(") {
        let mut depth = 0;
        let comma = both.char_indices().find(|(_, sign)| {
            depth += i32::from(*sign == '(') - i32::from(*sign == ')');
            *sign == ',' && depth == 0
        });
        if let Some((at, _)) = comma {
            return format!("{} per {}", measure(&both[..at]), measure(&both[at + 1..]));
        }
    }
    let inside = |rest: &str| rest.split(')').next().unwrap_or_default().to_owned();
    if let Some(rest) = key.strip_prefix("count(") {
        return format!("number of {}", inside(rest));
    }
    if let Some(rest) = key.strip_prefix("sum(") {
        let inside = inside(rest);
        let (of, field) = inside.split_once('/').unwrap_or((&inside, ""));
        return format!("sum of {} of {of}", field.replace('/', " › "));
    }
    // Behind a field, a key has the operator that it was edited to.
    let field = key.split(['<', '>', '=', ')', ',', '#']).next().unwrap_or_default();
    match field.trim_start_matches('/').replace('/', " › ") {
        words if words.is_empty() => key.to_owned(),
        words => words,
    }
}

fn offset(days: i64, date: Date, now: Timestamp) -> String {
    let date = day(date, now);
    match days {
        0 => format!("on {date}"),
        1 => format!("1 day before {date}"),
        -1 => format!("1 day after {date}"),
        days if days > 0 => format!("{days} days before {date}"),
        days => format!("{} days after {date}", days.unsigned_abs()),
    }
}

fn setting_of(key: &KeyParts) -> Option<&str> {
    match key {
        KeyParts::ReminderDate { setting, .. }
        | KeyParts::ReminderThreshold { setting, .. }
        | KeyParts::ReminderOccurrence { setting, .. }
        | KeyParts::ReminderTooLong { setting, .. } => Some(setting),
        KeyParts::ReminderChange { of, id, .. } if of == "setting" => Some(id),
        _ => None,
    }
}

fn source_of(key: &KeyParts) -> Option<(&str, &str)> {
    match key {
        KeyParts::ReminderDate { source_type, source, .. }
        | KeyParts::ReminderThreshold { source_type, source, .. }
        | KeyParts::ReminderOccurrence { source_type, source, .. } => Some((source_type, source)),
        _ => None,
    }
}

/// What a state calls its source, where it does.
fn name_in(state: &str) -> Option<String> {
    let state: Value = serde_json::from_str(state).ok()?;
    let text = |name: &str| match &state[name] {
        Value::String(text) => Some(line(text)).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    NAMES.iter().find_map(|name| text(name))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_title_says_what_it_is_about_and_when() {
        let now: Timestamp = "2026-05-01T00:00:00Z".parse().unwrap();
        let source = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
        let names = Names {
            settings: [("s1".to_owned(), "First aid certificate".to_owned())].into(),
            sources: [(("document".to_owned(), source.to_owned()), "Ada's".to_owned())].into(),
        };
        let key = |setting: &str, source: &str, offset_days| KeyParts::ReminderDate {
            setting: setting.into(),
            source_type: "document".into(),
            source: source.into(),
            trigger_key: "t".into(),
            target_date: date(2026, 5, 14),
            offset_days,
        };
        let title = |key: &KeyParts| names.title(key, now).unwrap();
        assert_eq!(title(&key("s1", "103", 7)), "First aid certificate, document 103: 7 days before 14 May");
        assert_eq!(title(&key("s1", "103", 0)), "First aid certificate, document 103: on 14 May");
        assert_eq!(
            title(&key("s1", source, -1)),
            "First aid certificate, document Ada's: 1 day after 14 May"
        );
        assert_eq!(title(&key("gone", "103", 1)), "Deleted reminder, document 103: 1 day before 14 May");
        assert_eq!(name_in(r#"{"name": " ", "number": 103}"#).as_deref(), Some("103"));
        assert_eq!(name_in("{}"), None);
    }

    #[test]
    fn a_measure_is_said_in_words() {
        for (key, words) in [
            ("/stock", "stock"),
            ("/stock<=", "stock"),
            ("/room/stock", "room › stock"),
            ("count(booking)", "number of booking"),
            ("sum(booking/seats)", "sum of seats of booking"),
            ("share(count(booking),/capacity)", "number of booking per capacity"),
            ("share(/booked,/capacity)<", "booked per capacity"),
            ("", ""),
        ] {
            assert_eq!(measure(key), words, "{key}");
        }
    }
}
