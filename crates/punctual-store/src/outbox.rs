//! The outbox: events, and the notifications that deliver them to subscribers. The status of an event is not stored; it is
//! computed from its deliveries.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{NotificationStatus, Reach};

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    walk::{IN_ORDER, Stretch, with_surplus},
};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct EventRow {
    pub id: i64,
    pub event_type: String,
    /// The survey's instance that was answered, where it is about one.
    pub instance_public_id: Option<String>,
    pub survey_id: Option<i64>,
    /// The work row that arrived, if the event is about one.
    pub work_key: Option<String>,
    pub business_unit: Option<String>,
    /// What subscribers are given, a JSON object.
    pub payload: String,
    pub created_at: Timestamp,
}

/// An event to publish.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub event_type: String,
    pub about: About,
    pub business_unit: Option<String>,
    pub payload: String,
}

/// What an event is about. An event of one type is published about it once.
#[derive(Clone, Debug, PartialEq)]
pub enum About {
    Survey { instance_public_id: String, survey_id: i64 },
    Work { key: String },
}

impl About {
    /// The name by which it is found again.
    pub fn name(&self) -> &str {
        match self {
            Self::Survey { instance_public_id, .. } => instance_public_id,
            Self::Work { key } => key,
        }
    }
}

/// An event that was not published before.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct InsertedEvent {
    pub id: i64,
    pub event_type: String,
    /// The name of what it is about.
    pub about: String,
}

/// An event as its row has it.
#[derive(SetRow)]
struct Written<'a> {
    event_type: &'a str,
    instance_public_id: Option<&'a str>,
    survey_id: Option<i64>,
    work_key: Option<&'a str>,
    business_unit: Option<&'a str>,
    payload: &'a str,
}

impl<'a> Written<'a> {
    fn of(event: &'a NewEvent) -> Self {
        let (instance_public_id, survey_id, work_key) = match &event.about {
            About::Survey { instance_public_id, survey_id } => {
                (Some(instance_public_id.as_str()), Some(*survey_id), None)
            }
            About::Work { key } => (None, None, Some(key.as_str())),
        };
        Self {
            event_type: &event.event_type,
            instance_public_id,
            survey_id,
            work_key,
            business_unit: event.business_unit.as_deref(),
            payload: &event.payload,
        }
    }
}

const INSERT: Sql = sql!(
    "outbox_events.insert", each Written<'_>, after 1,
    "INSERT INTO outbox_events ({names}, created_at) {values {*}, $1} ON CONFLICT DO NOTHING
     {postgres RETURNING id, event_type, COALESCE(work_key, instance_public_id) AS about}",
);

/// Stores events; returns those that were not published before.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, new: &[NewEvent]) -> Result<Vec<InsertedEvent>> {
    let written: Vec<Written<'_>> = new.iter().map(Written::of).collect();
    let record = |row: usize, id: i64| InsertedEvent {
        id,
        event_type: new[row].event_type.clone(),
        about: new[row].about.name().to_owned(),
    };
    conn.insert(&INSERT, with_rows(args![now], &written), record).await
}

/// To whom an event goes, and which notification carries it there.
#[derive(Clone, Debug, PartialEq, SetRow)]
pub struct NewDelivery {
    pub event_id: i64,
    pub subscriber: String,
    pub notification_id: String,
}

const INSERT_DELIVERIES: Sql = sql!(
    "outbox_deliveries.insert", each NewDelivery, after 0,
    "INSERT INTO outbox_deliveries ({names}) {values {*}}",
);

/// Says to whom events go.
#[boxed]
pub async fn insert_deliveries(conn: &mut Conn<'_>, deliveries: &[NewDelivery]) -> Result<u64> {
    conn.execute(&INSERT_DELIVERIES, with_rows(args![], deliveries)).await
}

const PAGE: Sql = sql!(
    "outbox_events.page", as EventRow,
    "SELECT {columns} FROM outbox_events
     WHERE id < $1 AND id > $4 AND {reach $2 business_unit}
     ORDER BY id DESC
     LIMIT $3",
);
// The newest event that one page does not look at.
const HORIZON: Sql = sql!(
    "outbox_events.page_horizon",
    "SELECT id FROM outbox_events WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2",
);

#[derive(Record)]
struct Id {
    id: i64,
}

/// Events within reach, newest first. For a caller of few it may be short, or empty, and still continue.
#[boxed]
pub async fn stretch(
    conn: &mut Conn<'_>,
    before: Option<i64>,
    reach: &Reach,
    limit: i64,
) -> Result<Stretch<EventRow>> {
    let before = before.unwrap_or(i64::MAX);
    let horizon: Option<Id> = match reach.units() {
        Some(_) => conn.fetch_optional(&HORIZON, args![before, IN_ORDER]).await?,
        None => None,
    };
    let horizon = horizon.map(|row| row.id);
    let bound = args![before, reach, with_surplus(limit), horizon.unwrap_or(i64::MIN)];
    let rows = conn.fetch_all(&PAGE, bound).await?;
    Ok(Stretch::cut(rows, limit, |row: &EventRow| row.id, horizon.map(|id| id.saturating_add(1))))
}

/// The events of the first page.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    before: Option<i64>,
    reach: &Reach,
    limit: i64,
) -> Result<Vec<EventRow>> {
    Ok(stretch(conn, before, reach, limit).await?.rows)
}

const GET: Sql = sql!(
    "outbox_events.get", as EventRow,
    "SELECT {columns} FROM outbox_events WHERE id = $1 AND {reach $2 business_unit}",
);

/// The event, if it is within reach.
#[boxed]
pub async fn get(conn: &mut Conn<'_>, reach: &Reach, id: i64) -> Result<Option<EventRow>> {
    conn.fetch_optional(&GET, args![id, reach]).await
}

const OF_INSTANCE: Sql = sql!(
    "outbox_events.of_instance", as EventRow,
    "SELECT {columns}
     FROM outbox_events WHERE instance_public_id = $1 AND {reach $2 business_unit} ORDER BY id",
);

/// The events of an instance that are within reach.
#[boxed]
pub async fn of_instance(conn: &mut Conn<'_>, reach: &Reach, public_id: &str) -> Result<Vec<EventRow>> {
    conn.fetch_all(&OF_INSTANCE, args![public_id, reach]).await
}

/// The delivery of an event to one subscriber.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct DeliveryRow {
    pub event_id: i64,
    pub subscriber: String,
    pub notification_id: String,
    /// That of the notification, or of what a purge left of it.
    pub status: Option<NotificationStatus>,
    pub attempts: Option<i64>,
    pub last_error: Option<String>,
    pub delivered_at: Option<Timestamp>,
}

const DELIVERIES: Sql = sql!(
    "outbox_deliveries.of",
    "SELECT d.event_id, d.subscriber, d.notification_id, COALESCE(n.status, t.status) AS status, n.attempts,
            n.last_error, n.delivered_at
     FROM outbox_deliveries d
     LEFT JOIN notifications n ON n.id = d.notification_id
     LEFT JOIN tombstones t ON t.id = d.notification_id
     WHERE d.event_id IN ({ints $1})
     ORDER BY d.event_id, d.subscriber",
);

/// To whom these events go, and the state of each delivery.
#[boxed]
pub async fn deliveries(conn: &mut Conn<'_>, events: Vec<i64>) -> Result<Vec<DeliveryRow>> {
    conn.fetch_all(&DELIVERIES, args![events]).await
}

crate::db::statements![INSERT, INSERT_DELIVERIES, PAGE, HORIZON, GET, OF_INSTANCE, DELIVERIES];
