//! The retention times: from the configuration of the server, otherwise as set by people, otherwise the defaults.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::AuditAction;
use punctual_store::{
    Lane, StoreError, audit, facts, notifications,
    retention::{self as store, Rule, TableRule, Window},
};
use serde::{Deserialize, Serialize};

use crate::{Actor, CommandError, Engine, EngineError, config::earlier};

/// The name under which the settings are stored.
const SETTINGS: &str = "retention";
const DAY: u64 = 24 * 60 * 60;
/// A hundred years: more is permanently.
const LONGEST_DAYS: u64 = 36_500;
/// Rows that a plan looks at for one window; it says so where there are more.
const LOOKED_AT: i64 = 20_000;

/// What people have set: days, by the name of the setting. What is not named is kept as it ships.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RetentionSettings {
    pub days: BTreeMap<String, u64>,
}

impl RetentionSettings {
    pub fn of(&self, window: Window) -> Option<u64> {
        self.days.get(window.setting()).copied()
    }

    /// The same with another time for one window.
    #[must_use]
    pub fn with(mut self, window: Window, days: Option<u64>) -> Self {
        match days {
            Some(days) => self.days.insert(window.setting().to_owned(), days),
            None => self.days.remove(window.setting()),
        };
        self
    }
}

/// How long everything is kept, as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows(BTreeMap<Window, Option<Duration>>);

impl Windows {
    /// How long something is kept; nothing where it is kept permanently.
    pub fn of(&self, window: Window) -> Option<Duration> {
        self.0.get(&window).copied().flatten()
    }

    /// The same in whole days.
    pub fn days(&self, window: Window) -> Option<u64> {
        self.of(window).map(|window| window.as_secs() / DAY)
    }

    /// What ended before this is past its window; nothing where it is kept permanently.
    pub(crate) fn before(&self, window: Window, now: Timestamp) -> Option<Timestamp> {
        self.of(window).map(|window| earlier(now, window))
    }

    /// The rule of a table as a sentence.
    pub fn rule_sentence(&self, rule: &TableRule) -> String {
        let days = |window: Window| {
            self.days(window).map(|days| match days {
                1 => "1 day".to_owned(),
                days => format!("{days} days"),
            })
        };
        match rule.rule {
            Rule::Removed(window) => days(window)
                .map_or_else(|| "Kept forever".to_owned(), |days| format!("Removed {days} after its end")),
            Rule::Stripped(window, what) => days(window).map_or_else(
                || "Kept forever".to_owned(),
                |days| format!("Loses {what} {days} after its end"),
            ),
            Rule::Short(time) => format!("Removed after {time}"),
            Rule::With(table) => format!("Removed with its row of {table}"),
            Rule::AtItsEnd => "Removed when it ends".to_owned(),
            Rule::Defined => "Kept until deleted".to_owned(),
            Rule::Few => "Few rows; their number does not grow with messages".to_owned(),
            Rule::ForGood => "Kept forever".to_owned(),
        }
    }
}

/// What another time for one window would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowChange {
    pub window: Window,
    /// Days; `None` keeps rows forever.
    pub from: Option<u64>,
    pub to: Option<u64>,
    /// Rows that the next purge would remove; unknown for files.
    pub rows: Option<i64>,
    /// There are more than were counted.
    pub is_more: bool,
}

impl Engine {
    /// What the configuration sets, or what ships.
    fn configured(&self, window: Window) -> Option<Duration> {
        match window {
            Window::Messages => Some(self.config.keep_for),
            Window::Files => Some(self.config.keep_files_for),
            Window::Work => Some(self.config.keep_work_for),
            Window::Surveys => self.config.keep_surveys_for,
            Window::Audit => self.config.keep_audit_for,
            Window::Ids => self.config.keep_ids_for,
        }
    }

    /// Whether the configuration of the server sets it, so that it cannot be changed while it runs.
    pub fn is_window_fixed(&self, window: Window) -> bool {
        self.config.fixed_windows.contains(&window)
    }

    /// How long everything is kept at this moment.
    #[boxed]
    pub async fn windows(&self) -> Result<Windows, EngineError> {
        Ok(self.windows_with(&self.retention_settings().await?))
    }

    /// How long everything would be kept with these settings.
    pub fn windows_with(&self, settings: &RetentionSettings) -> Windows {
        let of = |window: Window| match settings.of(window) {
            Some(days) if !self.is_window_fixed(window) => Some(Duration::from_secs(days * DAY)),
            _ => self.configured(window),
        };
        Windows(Window::ALL.into_iter().map(|window| (window, of(window))).collect())
    }

    /// What people have set.
    #[boxed]
    pub async fn retention_settings(&self) -> Result<RetentionSettings, EngineError> {
        let mut reader = self.store.read_for_people().await?;
        let stored = facts::get(&mut reader.conn(), SETTINGS).await?;
        Ok(read(stored)?)
    }

    /// That these settings can be stored.
    pub fn check_retention(&self, settings: &RetentionSettings) -> Result<(), CommandError> {
        for window in Window::ALL {
            let Some(days) = settings.of(window) else { continue };
            let pointer = format!("/{}", window.field());
            if days == 0 || days > LONGEST_DAYS {
                let detail = format!("It is 1 to {LONGEST_DAYS} days.");
                return Err(CommandError::invalid(pointer, "out_of_range", detail));
            }
            let configured = self.configured(window).map(|window| window.as_secs() / DAY);
            if self.is_window_fixed(window) && configured != Some(days) {
                let detail =
                    format!("The configuration of the server sets `{}`; change it there.", window.setting());
                return Err(CommandError::invalid(pointer, "out_of_range", detail));
            }
        }
        Ok(())
    }

    /// Sets how long is kept, for all nodes from their next purge on. Somebody who has seen other settings is refused.
    #[boxed]
    pub async fn save_retention(
        &self,
        by: &Actor,
        seen: Option<&RetentionSettings>,
        settings: &RetentionSettings,
    ) -> Result<(), CommandError> {
        self.check_retention(settings)?;
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let stored = read(facts::get(&mut tx.conn(), SETTINGS).await?)?;
        if seen.is_some_and(|seen| *seen != stored) {
            return Err(CommandError::Stale);
        }
        let text = serde_json::json!(settings).to_string();
        facts::put(&mut tx.conn(), now, SETTINGS, &text).await?;
        let data = serde_json::json!({ "from": stored, "to": settings }).to_string();
        let entry = audit::Entry {
            data: Some(data),
            ..audit::Entry::new(AuditAction::Put, "retention", "settings", None)
        };
        by.audit_entry(&mut tx, now, entry).await?;
        Ok(tx.commit().await?)
    }

    /// What these settings would change, and how many rows the next purge would take for each.
    #[boxed]
    pub async fn plan_retention(
        &self,
        settings: &RetentionSettings,
    ) -> Result<Vec<WindowChange>, CommandError> {
        self.check_retention(settings)?;
        let (from, to) = (self.windows().await?, self.windows_with(settings));
        let now = self.clock.now();
        let mut changes = Vec::new();
        for window in Window::ALL.into_iter().filter(|window| from.of(*window) != to.of(*window)) {
            let (rows, is_more) = match to.before(window, now) {
                Some(before) => self.past(window, before).await?,
                None => (Some(0), false),
            };
            let (from, to) = (from.days(window), to.days(window));
            changes.push(WindowChange { window, from, to, rows, is_more });
        }
        Ok(changes)
    }

    /// How many rows of a window ended before then, as far as a plan counts.
    async fn past(&self, window: Window, before: Timestamp) -> Result<(Option<i64>, bool), EngineError> {
        let mut reader = self.store.read_for_people().await?;
        let conn = &mut reader.conn();
        let counted = |found: usize, looked_at: usize| {
            let is_more = i64::try_from(looked_at).is_ok_and(|looked_at| looked_at >= LOOKED_AT);
            (i64::try_from(found).ok(), is_more)
        };
        Ok(match window {
            Window::Messages => (Some(notifications::purge_size(conn, before).await?.doomed), false),
            // The purge of each workflow finds its own files.
            Window::Files => (None, false),
            Window::Work => {
                let rows = store::ended_work(conn, 0, i64::MAX, before, LOOKED_AT).await?;
                let past = rows
                    .iter()
                    .filter(|row| row.is_over && row.created_at < before && row.input != store::PURGED_INPUT);
                counted(past.count(), rows.len())
            }
            Window::Surveys => {
                let rows = store::ended_instances(conn, 0, i64::MAX, before, LOOKED_AT).await?;
                let past = rows.iter().filter(|row| row.is_over && row.triggered_at < before);
                counted(past.count(), rows.len())
            }
            Window::Audit => {
                let rows = audit::entries_after(conn, 0, i64::MAX, LOOKED_AT).await?;
                let past = rows.iter().take_while(|row| row.at < before).count();
                counted(past, past)
            }
            Window::Ids => {
                let found = store::old_tombstones(conn, "", before, LOOKED_AT).await?;
                let past = found.map_or(0, |(old, _)| old.len());
                counted(past, past)
            }
        })
    }
}

fn read(stored: Option<String>) -> Result<RetentionSettings, StoreError> {
    let read = stored.map_or_else(|| Ok(RetentionSettings::default()), |text| serde_json::from_str(&text));
    read.map_err(|_| StoreError::Stored("facts.retention"))
}
