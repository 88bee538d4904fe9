//! The outbox: what happened, and which notification carries it to whom. An event's own state is never written: it
//! follows from its deliveries.

use jiff::Timestamp;
use serde::Deserialize;
use sqlx::FromRow;

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, FromRow, Deserialize)]
pub struct EventRow {
    pub id: i64,
    pub event_type: String,
    pub instance_public_id: String,
    pub survey_id: i64,
    pub business_unit: Option<String>,
    /// What subscribers are given, a JSON object.
    pub payload: String,
    pub created_at: i64,
}

/// Something that happened, to be told.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub event_type: String,
    pub instance_public_id: String,
    pub survey_id: i64,
    pub business_unit: Option<String>,
    pub payload: String,
}

#[derive(FromRow, Deserialize)]
struct Id {
    id: i64,
}

const INSERT: Sql = Sql::same(
    "outbox_events.insert",
    "INSERT INTO outbox_events (event_type, instance_public_id, survey_id, business_unit, payload, created_at)
     VALUES ($2, $3, $4, $5, $6, $1)
     ON CONFLICT (instance_public_id, event_type) DO NOTHING
     RETURNING id",
);

/// Keeps an event; nothing where the same was told of the instance before.
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, new: &NewEvent) -> Result<Option<i64>> {
    let n = new.clone();
    let bound = args![now, n.event_type, n.instance_public_id, n.survey_id, n.business_unit, n.payload];
    let row: Option<Id> = conn.fetch_optional(&INSERT, bound).await?;
    Ok(row.map(|row| row.id))
}

const INSERT_DELIVERIES: Sql = Sql::rows(
    "outbox_deliveries.insert",
    "INSERT INTO outbox_deliveries (event_id, subscriber, notification_id) VALUES ($1, $2, $3)",
    "INSERT INTO outbox_deliveries (event_id, subscriber, notification_id)
     SELECT $1, r.subscriber, r.notification_id FROM UNNEST($2::text[], $3::text[]) AS r(subscriber, notification_id)",
);

/// Says to whom an event goes, each by subscriber and notification.
pub async fn insert_deliveries(
    conn: &mut Conn<'_>,
    event_id: i64,
    deliveries: &[(String, String)],
) -> Result<u64> {
    let (subscribers, notifications): (Vec<&str>, Vec<&str>) =
        deliveries.iter().map(|(subscriber, id)| (subscriber.as_str(), id.as_str())).unzip();
    conn.execute(&INSERT_DELIVERIES, args![event_id, subscribers, notifications]).await
}

macro_rules! page {
    ($units:literal) => {
        concat!(
            "
    SELECT id, event_type, instance_public_id, survey_id, business_unit, payload, created_at
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
    "SELECT id, event_type, instance_public_id, survey_id, business_unit, payload, created_at
     FROM outbox_events WHERE id = $1",
);

pub async fn get(conn: &mut Conn<'_>, id: i64) -> Result<Option<EventRow>> {
    conn.fetch_optional(&GET, args![id]).await
}

const OF_INSTANCE: Sql = Sql::same(
    "outbox_events.of_instance",
    "SELECT id, event_type, instance_public_id, survey_id, business_unit, payload, created_at
     FROM outbox_events WHERE instance_public_id = $1 ORDER BY id",
);

pub async fn of_instance(conn: &mut Conn<'_>, public_id: &str) -> Result<Vec<EventRow>> {
    conn.fetch_all(&OF_INSTANCE, args![public_id]).await
}

/// How an event stands with one subscriber.
#[derive(Clone, Debug, PartialEq, FromRow, Deserialize)]
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
pub async fn deliveries(conn: &mut Conn<'_>, events: Vec<i64>) -> Result<Vec<DeliveryRow>> {
    conn.fetch_all(&DELIVERIES, args![events]).await
}
