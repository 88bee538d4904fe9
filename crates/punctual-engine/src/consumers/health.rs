//! The health of consumers, as reported by each node.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::ConsumerLink;
use punctual_store::{
    Conn, StoreError,
    consumers::{self, ConsumerRow, HealthRow},
};

use super::MessageTaken;
use crate::{
    Engine,
    attention::{Kind, Waiting},
    config::earlier,
};

/// A consumer that runs and has nothing new is reported this often.
pub(super) const REPORT_EVERY: Duration = Duration::from_secs(15);
/// What a node reported longer ago says nothing about now: three reports are missing.
const FRESH_FOR: Duration = Duration::from_secs(45);
/// A consumer that takes nothing for so long needs attention: brokers are restarted within minutes.
const LONG: Duration = Duration::from_secs(5 * 60);

/// Whether events are being taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerState {
    Connected,
    Connecting,
    Disconnected,
    /// No node runs it: none is there that works, or this is a sandbox.
    NotRunning,
    /// It is switched off.
    Off,
}

impl ConsumerState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Disconnected => "disconnected",
            Self::NotRunning => "notRunning",
            Self::Off => "off",
        }
    }
}

/// How a consumer is, over all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerHealth {
    pub state: ConsumerState,
    pub since: Timestamp,
    /// Nodes that are connected.
    pub nodes: usize,
    pub last_message_at: Option<Timestamp>,
    /// Messages that wait at the broker, if it reports them.
    pub lag: Option<i64>,
    pub last_error: Option<String>,
    pub last_error_at: Option<Timestamp>,
    pub accepted: i64,
    pub duplicates: i64,
    pub refused: i64,
}

impl ConsumerHealth {
    /// What the reports of one consumer come to.
    fn of(row: &ConsumerRow, reports: &[&HealthRow], now: Timestamp) -> Self {
        let fresh_from = earlier(now, FRESH_FOR);
        let fresh: Vec<&&HealthRow> = reports.iter().filter(|one| one.reported_at >= fresh_from).collect();
        let in_state =
            |state: ConsumerLink| fresh.iter().filter(|one| one.state == state).map(|one| one.since).min();
        let nodes = fresh.iter().filter(|one| one.state == ConsumerLink::Connected).count();
        let last_seen = reports.iter().map(|one| one.reported_at).max();
        let gone_since = last_seen.unwrap_or(row.updated_at).max(row.updated_at);
        let (state, since) = if !row.active {
            (ConsumerState::Off, row.updated_at)
        } else if let Some(since) = in_state(ConsumerLink::Connected) {
            (ConsumerState::Connected, since)
        } else if let Some(since) = in_state(ConsumerLink::Disconnected) {
            (ConsumerState::Disconnected, since)
        } else if let Some(since) = in_state(ConsumerLink::Connecting) {
            (ConsumerState::Connecting, since)
        } else {
            (ConsumerState::NotRunning, gone_since)
        };
        let failed = reports.iter().filter(|one| one.last_error_at.is_some());
        let failed = failed.max_by_key(|one| one.last_error_at);
        Self {
            state,
            since,
            nodes,
            last_message_at: reports.iter().filter_map(|one| one.last_message_at).max(),
            lag: fresh
                .iter()
                .filter(|one| one.state == ConsumerLink::Connected)
                .filter_map(|one| one.lag)
                .max(),
            last_error: failed.and_then(|one| one.last_error.clone()),
            last_error_at: failed.and_then(|one| one.last_error_at),
            accepted: reports.iter().map(|one| one.accepted).sum(),
            duplicates: reports.iter().map(|one| one.duplicates).sum(),
            refused: reports.iter().map(|one| one.refused).sum(),
        }
    }
}

impl Engine {
    /// Every consumer with how it is, by key.
    #[boxed]
    pub async fn consumers_with_health(
        &self,
        conn: &mut Conn<'_>,
    ) -> Result<Vec<(ConsumerRow, ConsumerHealth)>, StoreError> {
        let rows = consumers::all(conn).await?;
        let reports = if rows.is_empty() { Vec::new() } else { consumers::health(conn).await? };
        let now = self.clock.now();
        let with_health = |row: ConsumerRow| {
            let own: Vec<&HealthRow> = reports.iter().filter(|one| one.consumer == row.key).collect();
            let health = ConsumerHealth::of(&row, &own, now);
            (row, health)
        };
        Ok(rows.into_iter().map(with_health).collect())
    }

    /// The consumers that have taken nothing for long, because they cannot. In the sandbox none is meant to run.
    pub(crate) async fn consumers_waiting(&self, conn: &mut Conn<'_>) -> Result<Vec<Waiting>, StoreError> {
        if self.channels.captures() {
            return Ok(Vec::new());
        }
        let long_ago = earlier(self.clock.now(), LONG);
        let waiting = |(row, health): (ConsumerRow, ConsumerHealth)| {
            let reason = match (health.state, health.last_error) {
                (ConsumerState::Connected | ConsumerState::Off, _) => return None,
                (ConsumerState::NotRunning, _) => "No node runs it; its events wait at the broker".to_owned(),
                (_, Some(error)) => format!("It is disconnected, and its events wait at the broker: {error}"),
                (_, None) => "It is disconnected, and its events wait at the broker".to_owned(),
            };
            (health.since <= long_ago).then(|| Waiting {
                kind: Kind::Consumer,
                id: row.key.clone(),
                title: row.key,
                reason,
                since: health.since,
                link: "/consumers".to_owned(),
                cause: None,
            })
        };
        Ok(self.consumers_with_health(conn).await?.into_iter().filter_map(waiting).collect())
    }
}

/// How a consumer is on this node, as its task says.
pub(super) struct Status(Mutex<Current>);

struct Current {
    row: HealthRow,
    /// Whether anything is new since the last report.
    is_new: bool,
}

impl Status {
    pub(super) fn new(consumer: &str, node: &str, now: Timestamp) -> Self {
        let row = HealthRow {
            consumer: consumer.to_owned(),
            node: node.to_owned(),
            state: ConsumerLink::Connecting,
            since: now,
            last_message_at: None,
            lag: None,
            last_error: None,
            last_error_at: None,
            accepted: 0,
            duplicates: 0,
            refused: 0,
            reported_at: Timestamp::UNIX_EPOCH,
        };
        Self(Mutex::new(Current { row, is_new: true }))
    }

    fn change(&self, change: impl FnOnce(&mut HealthRow)) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut current.row);
        current.is_new = true;
    }

    pub(super) fn connected(&self, now: Timestamp) {
        self.change(|row| enter(row, ConsumerLink::Connected, now));
    }

    /// It cannot take events now; since when is when that began.
    pub(super) fn failed(&self, now: Timestamp, error: &str) {
        self.change(|row| {
            enter(row, ConsumerLink::Disconnected, now);
            row.last_error = Some(error.to_owned());
            row.last_error_at = Some(now);
            row.lag = None;
        });
    }

    pub(super) fn took(&self, now: Timestamp, taken: &[MessageTaken]) {
        self.change(|row| {
            row.last_message_at = Some(now);
            for one in taken {
                row.accepted += count(one.accepted);
                row.duplicates += count(one.duplicates);
                row.refused += count(one.refused.len() as u64);
            }
        });
    }

    pub(super) fn lags(&self, lag: Option<u64>) {
        let lag = lag.map(count);
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.is_new |= current.row.lag != lag;
        current.row.lag = lag;
    }

    pub(super) fn state(&self) -> (bool, Option<i64>) {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (current.row.state == ConsumerLink::Connected, current.row.lag)
    }

    /// What is to be reported, if it is time; the counts start again.
    pub(super) fn report(&self, now: Timestamp) -> Option<HealthRow> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due_from = earlier(now, REPORT_EVERY);
        if !current.is_new && current.row.reported_at > due_from {
            return None;
        }
        current.is_new = false;
        current.row.reported_at = now;
        let report = current.row.clone();
        (current.row.accepted, current.row.duplicates, current.row.refused) = (0, 0, 0);
        Some(report)
    }

    /// A report that was not stored: its counts are reported with the next one.
    pub(super) fn not_stored(&self, report: &HealthRow) {
        self.change(|row| {
            row.accepted += report.accepted;
            row.duplicates += report.duplicates;
            row.refused += report.refused;
        });
    }
}

fn enter(row: &mut HealthRow, state: ConsumerLink, now: Timestamp) {
    if row.state != state {
        row.state = state;
        row.since = now;
    }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(active: bool) -> ConsumerRow {
        ConsumerRow {
            key: "nats:orders".into(),
            adapter: "nats".into(),
            settings: "{}".into(),
            business_unit: None,
            active,
            version: 1,
            updated_at: Timestamp::from_second(1).expect("an instant"),
        }
    }

    fn report(node: &str, state: ConsumerLink, since: i64, reported_at: i64) -> HealthRow {
        let status = Status::new("nats:orders", node, Timestamp::UNIX_EPOCH);
        let report = status.report(Timestamp::UNIX_EPOCH).expect("it is new");
        let at = |second| Timestamp::from_second(second).expect("an instant");
        let (since, reported_at) = (at(since), at(reported_at));
        HealthRow { state, since, reported_at, accepted: 2, ..report }
    }

    #[test]
    fn one_connected_node_is_enough_and_old_reports_say_nothing() {
        let now = Timestamp::from_second(1_000).expect("an instant");
        let of = |reports: &[HealthRow]| {
            let reports: Vec<&HealthRow> = reports.iter().collect();
            let health = ConsumerHealth::of(&row(true), &reports, now);
            (health.state, health.since.as_second(), health.accepted)
        };
        let (down, up) =
            (report("a", ConsumerLink::Disconnected, 10, 990), report("b", ConsumerLink::Connected, 20, 990));
        assert_eq!(of(&[down.clone(), up.clone()]), (ConsumerState::Connected, 20, 4));
        assert_eq!(of(std::slice::from_ref(&down)), (ConsumerState::Disconnected, 10, 2));
        let old = HealthRow { reported_at: Timestamp::from_second(900).expect("an instant"), ..up };
        assert_eq!(of(&[down, old.clone()]), (ConsumerState::Disconnected, 10, 4));
        assert_eq!(of(&[old]), (ConsumerState::NotRunning, 900, 2));
        assert_eq!(of(&[]), (ConsumerState::NotRunning, 1, 0));
        assert_eq!(ConsumerHealth::of(&row(false), &[], now).state, ConsumerState::Off);
    }

    #[test]
    fn counts_are_reported_once_and_again_when_they_were_not_stored() {
        let now = Timestamp::from_second(1_000).expect("an instant");
        let status = Status::new("nats:orders", "a", now);
        status.took(now, &[MessageTaken { accepted: 3, ..MessageTaken::default() }]);
        let first = status.report(now).expect("it is new");
        assert_eq!(first.accepted, 3);
        assert_eq!(status.report(now), None);
        status.not_stored(&first);
        assert_eq!(status.report(now).map(|row| row.accepted), Some(3));
        let later = now + jiff::SignedDuration::from_secs(15);
        assert_eq!(status.report(later).map(|row| row.accepted), Some(0), "to say that it is there");
    }

    #[test]
    fn a_state_lasts_since_it_was_entered() {
        let at = |second| Timestamp::from_second(second).expect("an instant");
        let status = Status::new("nats:orders", "a", at(1));
        status.failed(at(2), "no answer");
        status.failed(at(5), "no answer");
        let report = status.report(at(6)).expect("it is new");
        assert_eq!((report.since, report.last_error_at), (at(2), Some(at(5))));
    }
}
