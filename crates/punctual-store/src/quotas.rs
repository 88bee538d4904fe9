//! Quotas of business units: the rows per local day, and the share of a channel's concurrent calls.
//!
//! The transaction that inserts rows counts them, so the count matches the stored rows. Each commit adds a separate row to
//! `unit_rows` and waits for no other; the sweep adds them up. Units without a quota are not counted; every node caches the
//! units with a quota for a second.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp, civil::Time, tz::TimeZone};
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{
    Priority, Reach,
    delivery_policy::LEVELS,
    local_time::{self, resolve},
};

use crate::{
    business_units::{self, BusinessUnitRow},
    db::{Conn, Result, Sql, args, sql, with_rows},
    notifications::NotificationRow,
};

/// How long the quotas may be used without looking at the table again.
const FRESH_FOR: Duration = Duration::from_secs(1);
/// How long a day's count may be used without asking again.
const COUNT_FRESH_FOR: Duration = Duration::from_secs(2);
/// A node asks again after it has given this part of what was left, so that so many nodes that counted in the same moment do not pass the quota.
const PARTS: i64 = 8;
/// With so few rows left the table is asked every time, so that nodes together pass a quota by what they are committing alone.
const NEAR: i64 = 2_000;
/// Counts that are added up at once.
const FOLDED_AT_ONCE: i64 = 10_000;
/// A day's counts are added up when there are more rows of them.
const FOLDED_FROM: i64 = 20;

/// What one unit may use.
#[derive(Clone, Debug)]
pub struct UnitQuota {
    pub rows_per_day: Option<i64>,
    /// Where its messages wait, and the per cent of a channel's calls that they may have.
    lane: Option<(i64, Option<i64>)>,
    zone: TimeZone,
}

/// What is left of a quota today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub left: i64,
    pub rows_per_day: i64,
    /// The beginning of the unit's next day.
    pub until: Timestamp,
}

/// What a node knows of the quotas.
#[derive(Default)]
pub struct Quotas {
    known: RwLock<Known>,
    used: Mutex<HashMap<Day, Used>>,
    /// How many rows were refused here, by unit.
    refused: Mutex<HashMap<String, u64>>,
}

#[derive(Default)]
struct Known {
    read_at: Option<Timestamp>,
    units: Arc<HashMap<String, UnitQuota>>,
}

/// A unit and its own date.
type Day = (String, String);

#[derive(Clone, Copy)]
struct Used {
    counted: i64,
    read_at: Timestamp,
    /// Committed by this node since.
    since: i64,
}

impl UnitQuota {
    fn of(row: &BusinessUnitRow) -> Self {
        let zone = local_time::zone(&row.time_zone).unwrap_or(TimeZone::UTC);
        Self { rows_per_day: row.rows_per_day, lane: row.lane.map(|lane| (lane, row.channel_share)), zone }
    }

    /// The unit's date.
    fn date(&self, now: Timestamp) -> String {
        self.zone.to_datetime(now).date().to_string()
    }

    fn next_day(&self, now: Timestamp) -> Timestamp {
        let today = self.zone.to_datetime(now).date();
        today.tomorrow().map_or(Timestamp::MAX, |date| resolve(date, Time::midnight(), &self.zone).at)
    }
}

/// The date of a unit, by which its rows are counted, and when its next one begins.
pub fn day_of(unit: &BusinessUnitRow, now: Timestamp) -> (String, Timestamp) {
    let quota = UnitQuota::of(unit);
    (quota.date(now), quota.next_day(now))
}

impl Quotas {
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let read_at = self.known.read().unwrap_or_else(PoisonError::into_inner).read_at;
        read_at.is_none_or(|read| is_over(read, FRESH_FOR, now))
    }

    /// The next look reads the table again: a unit was just written here.
    pub fn invalidate(&self) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).read_at = None;
    }

    /// Reads which units have a quota.
    #[boxed]
    pub async fn refresh(&self, conn: &mut Conn<'_>, now: Timestamp) -> Result<()> {
        let rows = business_units::with_quota(conn, &Reach::Everything).await?;
        let units = rows.iter().map(|row| (row.id.clone(), UnitQuota::of(row))).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) =
            Known { read_at: Some(now), units: Arc::new(units) };
        self.used().retain(|_, used| !is_over(used.read_at, Duration::from_secs(60 * 60), now));
        Ok(())
    }

    fn units(&self) -> Arc<HashMap<String, UnitQuota>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).units.clone()
    }

    /// The share of each lane, in per cent. A lane that is not here has no limit.
    pub fn shares(&self) -> HashMap<i64, i64> {
        let units = self.units();
        units.values().filter_map(|unit| unit.lane).filter_map(|(lane, share)| Some((lane, share?))).collect()
    }

    /// The units that have a share, with their lanes.
    pub fn lanes(&self) -> Vec<(String, i64)> {
        let units = self.units();
        let lane = |unit: &UnitQuota| unit.lane.filter(|(_, share)| share.is_some()).map(|(lane, _)| lane);
        units.iter().filter_map(|(id, unit)| Some((id.clone(), lane(unit)?))).collect()
    }

    /// Puts new messages into the lanes of their units. Urgent ones stay in everybody's: no share delays an alarm.
    pub fn place(&self, rows: &mut [NotificationRow]) {
        let units = self.units();
        if units.is_empty() {
            return;
        }
        for row in rows {
            let unit = row.business_unit.as_ref().and_then(|unit| units.get(unit));
            if let Some((lane, Some(_))) = unit.and_then(|unit| unit.lane)
                && matches!(Priority::of(row.priority), Priority::Normal | Priority::Campaign)
            {
                row.priority = lane * LEVELS + row.priority % LEVELS;
            }
        }
    }

    /// Whether any unit has a limit of rows.
    pub fn limits_rows(&self) -> bool {
        self.units().values().any(|unit| unit.rows_per_day.is_some())
    }

    /// The day on which rows of this unit are counted; nothing where it has no quota.
    pub(crate) fn counts(&self, unit: &str, now: Timestamp) -> Option<String> {
        let units = self.units();
        units.get(unit).filter(|unit| unit.rows_per_day.is_some()).map(|unit| unit.date(now))
    }

    pub(crate) fn committed(&self, counted: &BTreeMap<Day, Counted>) {
        let mut all = self.used();
        for (day, counted) in counted {
            if let Some(used) = all.get_mut(day) {
                used.since += counted.accepted;
            }
        }
    }

    /// What is left for a unit today; nothing where it has no quota.
    #[boxed]
    pub async fn room(&self, conn: &mut Conn<'_>, unit: &str, now: Timestamp) -> Result<Option<Room>> {
        let Some(quota) = self.units().get(unit).cloned() else { return Ok(None) };
        let Some(rows_per_day) = quota.rows_per_day else { return Ok(None) };
        let day = (unit.to_owned(), quota.date(now));
        let known = self.used().get(&day).copied();
        let left = |used: Used| rows_per_day - used.counted - used.since;
        let is_its_part = |used: Used| used.since <= (rows_per_day - used.counted) / PARTS;
        let is_fresh = |used: Used| !is_over(used.read_at, COUNT_FRESH_FOR, now);
        let used = match known {
            Some(used) if left(used) > NEAR && is_its_part(used) && is_fresh(used) => used,
            _ => {
                let counted = accepted(conn, unit, &day.1).await?;
                let used = Used { counted, read_at: now, since: 0 };
                self.used().insert(day, used);
                used
            }
        };
        Ok(Some(Room { left: left(used).max(0), rows_per_day, until: quota.next_day(now) }))
    }

    /// Notes that a row was refused.
    pub fn note_refused(&self, unit: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused.entry(unit.to_owned()).or_default() += 1;
    }

    /// How many rows this node has refused since it started, by unit.
    pub fn refused(&self) -> HashMap<String, u64> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The units that have a limit of rows.
    pub fn limited(&self) -> Vec<String> {
        let units = self.units();
        let limited = units.iter().filter(|(_, unit)| unit.rows_per_day.is_some());
        limited.map(|(id, _)| id.clone()).collect()
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Day, Used>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over(read_at: Timestamp, fresh_for: Duration, now: Timestamp) -> bool {
    let age = now.duration_since(read_at);
    age.is_negative() || age >= SignedDuration::try_from(fresh_for).unwrap_or(SignedDuration::MAX)
}

/// Rows that a transaction has inserted for a unit on a day.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) accepted: i64,
    pub(crate) at: i64,
}

#[derive(Debug, SetRow)]
struct NewCount<'a> {
    business_unit: &'a str,
    local_date: &'a str,
    accepted: i64,
    counted_at: i64,
}

const ADD: Sql = sql!(
    "unit_rows.add", each NewCount<'_>, after 0,
    "INSERT INTO unit_rows ({names}) {values {*}}",
);

pub(crate) async fn add(conn: &mut Conn<'_>, counted: &BTreeMap<Day, Counted>) -> Result<()> {
    let rows: Vec<NewCount<'_>> = counted
        .iter()
        .map(|((business_unit, local_date), one)| NewCount {
            business_unit,
            local_date,
            accepted: one.accepted,
            counted_at: one.at,
        })
        .collect();
    conn.execute(&ADD, with_rows(args![], &rows)).await?;
    Ok(())
}

#[derive(Record)]
struct Sum {
    accepted: i64,
}

// Relies on unit_rows_by_day.
const ACCEPTED: Sql = sql!(
    "unit_rows.accepted",
    "SELECT CAST(COALESCE(SUM(accepted), 0) AS {sqlite INTEGER}{postgres BIGINT}) AS accepted
     FROM unit_rows WHERE business_unit = $1 AND local_date = $2",
);

/// How many rows a unit was given on its own date, as far as they were counted.
#[boxed]
pub async fn accepted(conn: &mut Conn<'_>, unit: &str, local_date: &str) -> Result<i64> {
    let sum: Option<Sum> = conn.fetch_optional(&ACCEPTED, args![unit, local_date]).await?;
    Ok(sum.map_or(0, |sum| sum.accepted))
}

/// A day of a unit: what it was given, and when the last of it.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct UnitDay {
    pub business_unit: String,
    pub local_date: String,
    pub accepted: i64,
    pub counted_at: i64,
}

// Relies on unit_rows_by_day. The units are those within reach that have a quota.
const DAYS: Sql = sql!(
    "unit_rows.days", as UnitDay,
    "SELECT {columns} FROM (
         SELECT business_unit, local_date, CAST(SUM(accepted) AS {sqlite INTEGER}{postgres BIGINT}) AS accepted,
             MAX(counted_at) AS counted_at
         FROM unit_rows WHERE business_unit IN ({texts $1}) AND local_date >= $2
         GROUP BY business_unit, local_date) AS days
     ORDER BY business_unit, local_date",
);

/// What these units were given on each date from this one on.
#[boxed]
pub async fn days(conn: &mut Conn<'_>, units: Vec<String>, from: &str) -> Result<Vec<UnitDay>> {
    if units.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&DAYS, args![units, from]).await
}

/// Counts of one day of a unit that are still many rows.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct ManyCounts {
    pub business_unit: String,
    pub local_date: String,
}

// Reads the whole table, which is a row for each day of a unit and what the last seconds have added.
const MANY: Sql = sql!(
    "unit_rows.many", as ManyCounts,
    "SELECT {columns} FROM unit_rows GROUP BY business_unit, local_date HAVING COUNT(*) > $1
     ORDER BY business_unit, local_date",
);

/// The days whose counts are worth adding up.
#[boxed]
pub async fn unfolded(conn: &mut Conn<'_>) -> Result<Vec<ManyCounts>> {
    conn.fetch_all(&MANY, args![FOLDED_FROM]).await
}

// Relies on unit_rows_by_day. What others are adding up is left to them.
const TAKE_DAY: Sql = sql!(
    "unit_rows.take_day", as UnitDay,
    "DELETE FROM unit_rows WHERE id IN (SELECT id FROM unit_rows WHERE business_unit = $1 AND local_date = $2
         LIMIT $3{postgres  FOR UPDATE SKIP LOCKED})
     RETURNING {columns}",
);

/// Adds up the counts of a day of a unit; returns how many rows there are less.
#[boxed]
pub async fn fold(conn: &mut Conn<'_>, day: &ManyCounts) -> Result<usize> {
    let all = args![&day.business_unit, &day.local_date, FOLDED_AT_ONCE];
    let rows: Vec<UnitDay> = conn.fetch_all(&TAKE_DAY, all).await?;
    let before = rows.len();
    let mut sums: BTreeMap<Day, Counted> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry((row.business_unit, row.local_date)).or_default();
        sum.accepted += row.accepted;
        sum.at = sum.at.max(row.counted_at);
    }
    if !sums.is_empty() {
        add(conn, &sums).await?;
    }
    Ok(before - sums.len())
}

const FORGET: Sql = sql!("unit_rows.forget", "DELETE FROM unit_rows WHERE counted_at < $1");

/// Removes the counts of days that are long over.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: Timestamp) -> Result<u64> {
    conn.execute(&FORGET, args![before]).await
}

crate::db::statements![ADD, ACCEPTED, DAYS, MANY, TAKE_DAY, FORGET];
