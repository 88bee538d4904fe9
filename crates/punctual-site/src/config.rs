//! The agent's settings, with the defaults that ship.

use std::{path::PathBuf, time::Duration};

use punctual_model::Secret;
use punctual_wire::{limits::SITE_BATCH_MAX, sites::AGENT_MAX};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Every bound and interval of the agent.
#[derive(Clone, Debug)]
pub struct SiteConfig {
    /// The address of the central server, such as `https://punctual.example.org`.
    pub central: String,
    pub token: Secret,
    /// The name of this agent, where the site has several.
    pub agent: Option<String>,
    pub data_dir: PathBuf,
    /// How long after a failure the next attempt to forward starts; always the same.
    pub retry_every: Duration,
    /// How often the site reports its state to central when there is nothing to forward.
    pub report_every: Duration,
    /// Rows of one request.
    pub batch: usize,
    /// Bytes of one request before it is compressed; a single row may have more.
    pub batch_bytes: i64,
    /// Rows that may wait.
    pub max_rows: i64,
    /// Bytes that may wait, refused rows included.
    pub max_bytes: i64,
    /// Rows that wait longer are written to the event log.
    pub long_buffered_after: Duration,
    /// How long the id of a row that central has is remembered, with what was last known of it.
    pub keep_ids: Duration,
    /// How long a row that central refused is kept.
    pub keep_refused: Duration,
    /// Entries of the event log.
    pub events_kept: i64,
    /// How long central may take to answer a batch.
    pub request_time: Duration,
    /// How long central may take to return the status of a notification.
    pub status_time: Duration,
    /// Disk space held back, so that acknowledgements can be written when the disk is full.
    pub reserve_bytes: u64,
}

/// Why settings cannot be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {why}")]
pub struct ConfigError {
    pub setting: &'static str,
    pub why: String,
}

impl SiteConfig {
    pub fn new(central: impl Into<String>, token: Secret, data_dir: impl Into<PathBuf>) -> Self {
        Self {
            central: central.into(),
            token,
            agent: None,
            data_dir: data_dir.into(),
            retry_every: Duration::from_secs(10),
            report_every: Duration::from_secs(30),
            batch: 5_000,
            batch_bytes: 8 << 20,
            max_rows: 1_000_000,
            max_bytes: 1 << 30,
            long_buffered_after: Duration::from_secs(600),
            keep_ids: DAY * 7,
            keep_refused: DAY * 30,
            events_kept: 1_000,
            request_time: Duration::from_secs(60),
            status_time: Duration::from_secs(3),
            reserve_bytes: 8 << 20,
        }
    }

    /// One of several agents of a site: its buffer is in its own folder, so that no two share one by mistake.
    #[must_use]
    pub fn named(mut self, agent: &str) -> Self {
        self.data_dir = self.data_dir.join(agent);
        self.agent = Some(agent.to_owned());
        self
    }

    /// Says what cannot be right.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fault = |setting, why: String| Err(ConfigError { setting, why });
        if !(self.central.starts_with("https://") || self.central.starts_with("http://")) {
            return fault("central", format!("`{}` must start with https:// or http://", self.central));
        }
        if self.token.expose().is_empty() || !self.token.expose().bytes().all(|byte| byte.is_ascii_graphic())
        {
            return fault(
                "token",
                "a token is visible ASCII characters, as `POST /api/v1/sites` gave it".into(),
            );
        }
        if let Some(agent) = &self.agent {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if !(1..=AGENT_MAX).contains(&agent.len()) || !agent.chars().all(is_plain) {
                let why = format!("a name is 1 to {AGENT_MAX} letters, digits, `-` and `_`, not `{agent}`");
                return fault("agent", why);
            }
        }
        if !(1..=SITE_BATCH_MAX).contains(&self.batch) {
            return fault("batch", format!("{} is not between 1 and {SITE_BATCH_MAX}", self.batch));
        }
        if self.max_rows < 1 || self.max_bytes < 1 {
            return fault("max_rows", "the buffer must have room for something".into());
        }
        for (setting, duration) in [
            ("retry_every", self.retry_every),
            ("report_every", self.report_every),
            ("long_buffered_after", self.long_buffered_after),
        ] {
            if duration.is_zero() {
                return fault(setting, "must be longer than nothing".into());
            }
        }
        Ok(())
    }

    pub fn buffer_file(&self) -> PathBuf {
        self.data_dir.join("site.sqlite")
    }
}

/// The moment that lies `by` after `at`, or the last one there is.
pub(crate) fn later(at: jiff::Timestamp, by: Duration) -> jiff::Timestamp {
    let by = jiff::SignedDuration::try_from(by).ok();
    by.and_then(|by| at.checked_add(by).ok()).unwrap_or(jiff::Timestamp::MAX)
}

/// The moment that lies `by` before `at`, or the first one there is.
pub(crate) fn earlier(at: jiff::Timestamp, by: Duration) -> jiff::Timestamp {
    let by = jiff::SignedDuration::try_from(by).ok();
    by.and_then(|by| at.checked_sub(by).ok()).unwrap_or(jiff::Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_be_right_are_named() {
        let good = SiteConfig::new("https://central.example", Secret::new("punctual_site_x"), "d");
        assert_eq!(good.check(), Ok(()));
        let check = |change: fn(&mut SiteConfig), setting: &str| {
            let mut config = good.clone();
            change(&mut config);
            assert_eq!(config.check().unwrap_err().setting, setting);
        };
        check(|config| config.central = "central.example".into(), "central");
        check(|config| config.token = Secret::new(""), "token");
        check(|config| config.token = Secret::new("a b"), "token");
        check(|config| config.batch = 10_001, "batch");
        check(|config| *config = config.clone().named("../a"), "agent");
        check(|config| *config = config.clone().named(""), "agent");
        let named = good.clone().named("a");
        assert_eq!((named.check(), named.buffer_file()), (Ok(()), PathBuf::from("d/a/site.sqlite")));
        check(|config| config.max_rows = 0, "max_rows");
        check(|config| config.retry_every = Duration::ZERO, "retry_every");
        assert!(!format!("{good:?}").contains("punctual_site_x"));
    }
}
