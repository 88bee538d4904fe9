//! The outbox: what happened, and which notification carries it to whom. An event's own state is never written: it
//! follows from its deliveries.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct EventRow {
    pub id: i64,
    pub event_type: String,
    /// The survey's instance that was answered, where it is about one.
    pub instance_public_id: Option<String>,
    pub survey_id: Option<i64>,
    /// The work row that arrived, where it is about one.
    pub work_key: Option<String>,
    pub business_unit: Option<String>,
    /// What subscribers are given, a JSON object.
    pub payload: String,
    pub created_at: i64,
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

macro_rules! insert { ($values:literal) => { concat!("
    INSERT INTO outbox_events (event_type, instance_public_id, survey_id, work_key, business_unit, payload, created_at)
    ", $values, "
    ON CONFLICT DO NOTHING") } }
const INSERT: Sql = Sql::rows(
    "outbox_events.insert",
    insert!("VALUES ($2, $3, $4, $5, $6, $7, $1)"),
    concat!(
        insert!(
            "SELECT r.event_type, r.instance_public_id, r.survey_id, r.work_key, r.business_unit, r.payload, $1
    FROM UNNEST($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[])
        AS r(event_type, instance_public_id, survey_id, work_key, business_unit, payload)"
        ),
        "
    RETURNING id, event_type, COALESCE(work_key, instance_public_id) AS about"
    ),
);

/// Stores events; returns those that were not published before.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, new: &[NewEvent]) -> Result<Vec<InsertedEvent>> {
    macro_rules! column {
        (|$event:ident| $value:expr) => {
            new.iter().map(|$event| $value).collect::<Vec<_>>()
        };
    }
    let survey = |event: &NewEvent| match &event.about {
        About::Survey { instance_public_id, survey_id } => Some((instance_public_id.clone(), *survey_id)),
        About::Work { .. } => None,
    };
    let work = |event: &NewEvent| match &event.about {
        About::Work { key } => Some(key.clone()),
        About::Survey { .. } => None,
    };
    let bound = args![
        now,
        column!(|event| event.event_type.as_str()),
        column!(|event| survey(event).map(|(id, _)| id)),
        column!(|event| survey(event).map(|(_, id)| id)),
        column!(|event| work(event)),
        column!(|event| event.business_unit.as_deref()),
        column!(|event| event.payload.as_str()),
    ];
    let record = |row: usize, id: i64| InsertedEvent {
        id,
        event_type: new[row].event_type.clone(),
        about: new[row].about.name().to_owned(),
    };
    conn.insert(&INSERT, bound, record).await
}

/// To whom an event goes, and which notification carries it there.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDelivery {
    pub event_id: i64,
    pub subscriber: String,
    pub notification_id: String,
}

const INSERT_DELIVERIES: Sql = Sql::rows(
    "outbox_deliveries.insert",
    "INSERT INTO outbox_deliveries (event_id, subscriber, notification_id) VALUES ($1, $2, $3)",
    "INSERT INTO outbox_deliveries (event_id, subscriber, notification_id)
     SELECT r.event_id, r.subscriber, r.notification_id
     FROM UNNEST($1::bigint[], $2::text[], $3::text[]) AS r(event_id, subscriber, notification_id)",
);

/// Says to whom events go.
#[boxed]
pub async fn insert_deliveries(conn: &mut Conn<'_>, deliveries: &[NewDelivery]) -> Result<u64> {
    macro_rules! column {
        (|$one:ident| $value:expr) => {
            deliveries.iter().map(|$one| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        column!(|one| one.event_id),
        column!(|one| one.subscriber.as_str()),
        column!(|one| one.notification_id.as_str()),
    ];
    conn.execute(&INSERT_DELIVERIES, bound).await
}

macro_rules! page {
    ($units:literal) => {
        concat!(
            "
    SELECT id, event_type, instance_public_id, survey_id, work_key, business_unit, payload, created_at
    FROM outbox_events
    WHERE ($1 IS NULL OR id < $1)
      AND (NOT $2 OR business_unit IS NULL OR business_unit IN (",
            $units,
            "))
    ORDER BY id DESC
    LIMIT $3"
        )
    };
}
const PAGE: Sql = Sql::each(
    "outbox_events.page",
    page!("SELECT value FROM json_each($4)"),
    page!("SELECT UNNEST($4::text[])"),
);

/// Events, newest first.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    before: Option<i64>,
    units: Option<&[String]>,
    limit: i64,
) -> Result<Vec<EventRow>> {
    let bound = args![before, units.is_some(), limit, units.unwrap_or_default().to_vec()];
    conn.fetch_all(&PAGE, bound).await
}

const GET: Sql = Sql::same(
    "outbox_events.get",
    "SELECT id, event_type, instance_public_id, survey_id, work_key, business_unit, payload, created_at
     FROM outbox_events WHERE id = $1",
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, id: i64) -> Result<Option<EventRow>> {
    conn.fetch_optional(&GET, args![id]).await
}

const OF_INSTANCE: Sql = Sql::same(
    "outbox_events.of_instance",
    "SELECT id, event_type, instance_public_id, survey_id, work_key, business_unit, payload, created_at
     FROM outbox_events WHERE instance_public_id = $1 ORDER BY id",
);

#[boxed]
pub async fn of_instance(conn: &mut Conn<'_>, public_id: &str) -> Result<Vec<EventRow>> {
    conn.fetch_all(&OF_INSTANCE, args![public_id]).await
}

/// How an event stands with one subscriber.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct DeliveryRow {
    pub event_id: i64,
    pub subscriber: String,
    pub notification_id: String,
    /// That of the notification, or of what a purge left of it.
    pub status: Option<String>,
    pub attempts: Option<i64>,
    pub last_error: Option<String>,
    pub delivered_at: Option<i64>,
}

macro_rules! deliveries { ($ids:literal) => { concat!("
    SELECT d.event_id, d.subscriber, d.notification_id, COALESCE(n.status, t.status) AS status, n.tries AS attempts,
           n.last_error, n.delivered_at
    FROM outbox_deliveries d
    LEFT JOIN notifications n ON n.id = d.notification_id
    LEFT JOIN tombstones t ON t.id = d.notification_id
    WHERE d.event_id IN (", $ids, ")
    ORDER BY d.event_id, d.subscriber") } }
const DELIVERIES: Sql = Sql::each(
    "outbox_deliveries.of",
    deliveries!("SELECT value FROM json_each($1)"),
    deliveries!("SELECT UNNEST($1::bigint[])"),
);

/// Who these events go to, and how each delivery stands.
#[boxed]
pub async fn deliveries(conn: &mut Conn<'_>, events: Vec<i64>) -> Result<Vec<DeliveryRow>> {
    conn.fetch_all(&DELIVERIES, args![events]).await
}

crate::db::statements![INSERT, INSERT_DELIVERIES, PAGE, GET, OF_INSTANCE, DELIVERIES];
