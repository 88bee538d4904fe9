//! Quotas of business units: refuses requests above the daily quota of the unit.
//!
//! Requests for notifications, messages and schedules are refused. A repeated request with a known id is answered as usual and
//! does not count. Rows that the engine creates from events and definitions (reminders, invitations, runs), and messages
//! forwarded by sites, are counted but never refused: refusing an event would lose it, and a site has already accepted its
//! messages. The channel share applies to all of them (`delivery/permits.rs`).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::Reach;
use punctual_store::{
    Conn, Lane, Reader, StoreError, Tx, business_units,
    notifications::{self, LanePlace},
    quotas::{self, Quotas, Room},
};

use crate::{
    Engine, EngineError,
    attention::{Kind, Waiting},
};

/// Messages of a unit that get into its lane in one transaction.
const MOVED_AT_ONCE: i64 = 500;

/// Waiting messages are counted up to this number.
const COUNTED: i64 = 10_000;

/// Why a row was refused: its business unit has been given all rows of its day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaReached {
    pub business_unit: String,
    pub rows_per_day: i64,
    /// When the unit's next day begins.
    pub until: Timestamp,
    pub now: Timestamp,
}

impl QuotaReached {
    /// Whole seconds until the next day, at least one.
    pub fn retry_after_seconds(&self) -> u64 {
        let left = self.until.as_second().saturating_sub(self.now.as_second());
        u64::try_from(left).unwrap_or(0).max(1)
    }
}

/// What is left for the units of a request, where that may not be enough.
pub(crate) struct Short {
    quotas: Arc<Quotas>,
    rooms: HashMap<String, Room>,
    now: Timestamp,
}

impl Short {
    /// Looks at the units that new rows are wanted for; nothing where every quota has room for all of them.
    pub(crate) async fn read<'u>(
        tx: &mut Tx,
        units: impl Iterator<Item = Option<&'u str>>,
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        let quotas = tx.quotas();
        if !quotas.limits_rows() {
            return Ok(None);
        }
        let mut wanted: BTreeMap<&str, i64> = BTreeMap::new();
        for unit in units.flatten() {
            *wanted.entry(unit).or_default() += 1;
        }
        let mut rooms = HashMap::new();
        for (unit, count) in wanted {
            if let Some(room) = quotas.room(&mut tx.conn(), unit, now).await?
                && room.left < count
            {
                rooms.insert(unit.to_owned(), room);
            }
        }
        Ok((!rooms.is_empty()).then_some(Self { quotas, rooms, now }))
    }

    pub(crate) fn concerns(&self, unit: Option<&str>) -> bool {
        unit.is_some_and(|unit| self.rooms.contains_key(unit))
    }

    /// Takes room for what is not known yet, in order; says for each whether it is refused. What comes twice counts once.
    pub(crate) fn choose<'u, K: Eq + Hash>(
        mut self,
        rows: impl Iterator<Item = (Option<&'u str>, K)>,
        known: &HashSet<K>,
    ) -> Vec<Option<QuotaReached>> {
        let mut taken = HashSet::new();
        rows.map(|(unit, key)| {
            let unit = unit?;
            let room = self.rooms.get_mut(unit)?;
            if known.contains(&key) || taken.contains(&key) {
                return None;
            }
            if room.left > 0 {
                room.left -= 1;
                taken.insert(key);
                return None;
            }
            self.quotas.note_refused(unit);
            let (rows_per_day, until) = (room.rows_per_day, room.until);
            Some(QuotaReached { business_unit: unit.to_owned(), rows_per_day, until, now: self.now })
        })
        .collect()
    }
}

impl Engine {
    /// Reads the quotas again where that was not done lately.
    pub(crate) async fn refresh_quotas(&self, now: Timestamp) -> Result<(), StoreError> {
        if self.store.quotas().is_stale(now) {
            let mut reader: Reader = self.store.read().await?;
            self.store.quotas().refresh(&mut reader.conn(), now).await?;
            self.channels.shares.set(self.store.quotas().shares());
        }
        Ok(())
    }

    /// The same for commands of workflows, before the transaction in which rows are asked for.
    #[boxed]
    pub async fn look_at_quotas(&self, now: Timestamp) -> Result<(), StoreError> {
        self.refresh_quotas(now).await
    }

    /// Adds up what commits have counted, and shows what is left of each quota.
    pub(crate) async fn fold_quotas(&self, now: Timestamp) -> Result<usize, EngineError> {
        self.refresh_quotas(now).await?;
        self.metrics.rows_refused(self.store.quotas().refused());
        let lanes = self.store.quotas().lanes();
        let channels = if lanes.is_empty() { Vec::new() } else { self.channels_with_messages().await? };
        let mut waiting = Vec::with_capacity(lanes.len());
        for (unit, lane) in lanes {
            waiting.push((unit, self.count_waiting(&channels, lane).await?));
        }
        self.metrics.waiting_for_share(waiting);
        if !self.store.quotas().limits_rows() {
            return Ok(0);
        }
        let many = {
            let mut reader = self.store.read().await?;
            for unit in self.store.quotas().limited() {
                if let Some(room) = self.store.quotas().room(&mut reader.conn(), &unit, now).await? {
                    self.metrics.rows_left(&unit, room.left);
                }
            }
            quotas::unfolded(&mut reader.conn()).await?
        };
        let mut folded = 0;
        for day in many {
            let mut tx = self.store.begin(Lane::Claim).await?;
            folded += quotas::fold(&mut tx.conn(), &day).await?;
            tx.commit().await?;
        }
        Ok(folded)
    }

    /// How many messages of the unit with this lane are due and wait for a call, up to 10,000.
    #[boxed]
    pub async fn waiting_in_lane(&self, lane: i64) -> Result<i64, StoreError> {
        let channels = self.channels_with_messages().await?;
        self.count_waiting(&channels, lane).await
    }

    async fn channels_with_messages(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.earliest_deliveries().await?.into_iter().map(|(channel, _)| channel).collect())
    }

    async fn count_waiting(&self, channels: &[String], lane: i64) -> Result<i64, StoreError> {
        let mut reader = self.store.read_for_people().await?;
        notifications::waiting_in_lane(&mut reader.conn(), channels, lane, self.clock.now(), COUNTED).await
    }

    /// Puts the messages of a unit that wait already into its lane, so that a share holds for them too. New ones get there by
    /// themselves.
    #[boxed]
    pub async fn join_lane(&self, unit: &str, lane: i64) -> Result<(), EngineError> {
        let channels: Vec<String> =
            self.earliest_deliveries().await?.into_iter().map(|(channel, _)| channel).collect();
        for channel in channels {
            let mut place: Option<LanePlace> = None;
            loop {
                let mut tx = self.store.begin(Lane::Claim).await?;
                place = notifications::join_lane(&mut tx, &channel, unit, lane, place, MOVED_AT_ONCE).await?;
                tx.commit().await?;
                if place.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Engine {
    /// Units within reach that have been given all rows of their day.
    pub(crate) async fn quotas_waiting(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
    ) -> Result<Vec<Waiting>, StoreError> {
        let now = self.clock.now();
        let mut waiting = Vec::new();
        for unit in business_units::with_quota(conn, reach).await? {
            let Some(rows_per_day) = unit.rows_per_day else { continue };
            let (date, until) = quotas::day_of(&unit, now);
            let day = quotas::days(conn, vec![unit.id.clone()], &date).await?;
            let Some(day) = day.into_iter().find(|day| day.local_date == date) else { continue };
            if day.accepted >= rows_per_day {
                waiting.push(Waiting {
                    kind: Kind::Quota,
                    title: unit.name,
                    reason: format!(
                        "All {rows_per_day} rows of {date} are used; requests for more are refused until {until}"
                    ),
                    since: Timestamp::from_microsecond(day.counted_at).unwrap_or_default(),
                    link: format!("/settings/units/edit?key={}", unit.id),
                    id: unit.id,
                    cause: None,
                });
            }
        }
        Ok(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(left: i64) -> Short {
        let room = Room { left, rows_per_day: 100, until: Timestamp::from_second(500).unwrap() };
        let quotas = Arc::default();
        Short {
            quotas,
            rooms: HashMap::from([("nz".to_owned(), room)]),
            now: Timestamp::from_second(440).unwrap(),
        }
    }

    #[test]
    fn what_is_known_or_repeated_takes_no_room_and_others_are_not_concerned() {
        let rows = ["a", "b", "b", "known", "c", "d"].map(|key| (Some("nz"), key));
        let rows = rows.into_iter().chain([(Some("au"), "e"), (None, "f")]);
        let chosen = short(2).choose(rows, &HashSet::from(["known"]));
        let refused: Vec<bool> = chosen.iter().map(Option::is_some).collect();
        assert_eq!(refused, [false, false, false, false, true, true, false, false]);
        let reached = chosen[4].as_ref().unwrap();
        assert_eq!((reached.business_unit.as_str(), reached.retry_after_seconds()), ("nz", 60));
    }
}
