//! How often a report comes: presets of every day, week and month, or a pattern or rule of its own.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::Form;

impl Form {
    pub(super) fn take_cadence(&mut self, cadence: &Value) {
        let text = |name: &str| cadence[name].as_str().unwrap_or_default().to_owned();
        if let Some(day) = clamped_day(cadence) {
            self.set("cadence", "monthly");
            self.set("monthDay", day.to_string());
            self.set("sendTime", text("sendTime"));
            return;
        }
        if cadence.get("rrule").is_some() {
            self.set("cadence", "rrule");
            ["rrule", "sendTime", "startsOn"].iter().for_each(|name| self.set(name, text(name)));
            return;
        }
        let cron = text("cron");
        if let [minute, hour, day, "*", weekday] = cron.split(' ').collect::<Vec<_>>()[..] {
            self.set("sendTime", format!("{hour:0>2}:{minute:0>2}"));
            self.set("weekday", weekday);
            self.set("monthDay", day);
            let preset = match (day, weekday) {
                ("*", "*") => "daily",
                ("*", "MON-FRI") => "weekdays",
                ("*", _) => "weekly",
                _ => "monthly",
            };
            self.set("cadence", preset);
        }
        // A preset that would write it otherwise is none.
        if self.clamped().is_some() || self.cron().as_deref() != Some(cron.as_str()) {
            ["sendTime", "weekday", "monthDay"].iter().for_each(|name| self.set(name, ""));
            self.set("cadence", "cron");
            self.set("cron", cron);
        }
    }

    pub(super) fn cadence(&self) -> Value {
        if let Some(day) = self.clamped() {
            return json!({ "rrule": clamped_rule(day), "sendTime": self.get("sendTime") });
        }
        if self.get("cadence") != "rrule" {
            return json!({ "cron": self.cron().unwrap_or_default() });
        }
        let mut cadence = json!({ "rrule": self.get("rrule") });
        for name in ["sendTime", "startsOn"] {
            if !self.get(name).is_empty() {
                cadence[name] = self.get(name).into();
            }
        }
        cadence
    }

    /// The day of *every month* where some months do not have it and a pattern would leave them out.
    fn clamped(&self) -> Option<u8> {
        let day = self.get("monthDay").parse().ok().filter(|day| CLAMPED.contains(day))?;
        (self.get("cadence") == "monthly").then_some(day)
    }

    /// The pattern that is meant; none where the time of day of a preset cannot be read.
    pub(super) fn cron(&self) -> Option<String> {
        let days = match self.get("cadence") {
            "daily" => "* * *".to_owned(),
            "weekdays" => "* * MON-FRI".to_owned(),
            "weekly" => format!("* * {}", self.get("weekday")),
            // Every month has a last day, and not every one a 31st.
            "monthly" if self.get("monthDay") == "31" => "L * *".to_owned(),
            "monthly" => format!("{} * *", self.get("monthDay")),
            _ => return Some(self.get("cron").to_owned()),
        };
        let (hour, minute) = self.get("sendTime").split_once(':')?;
        let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
        (hour < 24 && minute < 60).then(|| format!("{minute} {hour} {days}"))
    }
}

/// Days that February, or it in most years, does not have: *every month* means the last day there.
const CLAMPED: RangeInclusive<u8> = 29..=30;

/// The rule for a day of every month, or the last one where a month is shorter.
fn clamped_rule(day: u8) -> String {
    let days: Vec<String> = (28..=day).map(|day| day.to_string()).collect();
    format!("FREQ=MONTHLY;BYMONTHDAY={};BYSETPOS=-1", days.join(","))
}

fn clamped_day(cadence: &Value) -> Option<u8> {
    let rule = cadence["rrule"].as_str()?;
    CLAMPED.into_iter().find(|day| clamped_rule(*day) == rule && cadence["startsOn"].is_null())
}
