//! Insert-if-absent: the id is the idempotency key, and a purged id stays known.

use jiff::Timestamp;
use punctual_model::{Audience, NewNotification};
use serde::Deserialize;
use sqlx::FromRow;

use crate::db::{Conn, Result, Sql, args};

/// A notification with everything the engine adds to it on the way into the table.
#[derive(Clone, Debug)]
pub struct Queued {
    pub new: NewNotification,
    /// The digest of its content, by which a repeated id is told from a reused one.
    pub digest: String,
    pub channel: String,
    pub ready_at: Timestamp,
    /// Set where the inserting node sends it itself: it is inserted already claimed.
    pub lease_until: Option<Timestamp>,
    pub work_id: Option<i64>,
    /// Whether its work row counts the notifications that are still open.
    pub reports_back: bool,
}

#[derive(Debug, FromRow, Deserialize)]
pub struct InsertedNotification {
    pub seq: i64,
    pub id: String,
}

macro_rules! insert_absent { ($rows:literal, $order:literal, $returning:literal) => { concat!("
    INSERT INTO notifications (id, digest, kind, channel, list_name, targets, subject, body, html, template, locale,
        context, type_data, priority, ready_at, lease_expires_at, tries, last_attempt_at, business_unit, source_site,
        source_instance, source_script, work_id, reports_back, site_enqueued_at, status, created_at)
    SELECT r.id, r.digest, r.kind, r.channel, r.list_name, r.targets, r.subject, r.body, r.html, r.template, r.locale,
        r.context, r.type_data, r.priority, r.ready_at, r.lease_until,
        CASE WHEN r.lease_until IS NULL THEN 0 ELSE 1 END, CASE WHEN r.lease_until IS NULL THEN NULL ELSE $1 END,
        r.business_unit, r.source_site, r.source_instance, r.source_script, r.work_id, r.reports_back,
        r.site_enqueued_at, 'pending', $1
    FROM ", $rows, "
    WHERE NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.id = r.id)", $order, "
    ON CONFLICT (id) DO NOTHING",
            $returning) } }
macro_rules! insert_from_json { ($returning:literal) => { insert_absent!(
    "(SELECT value->>0 AS id, value->>1 AS digest, value->>2 AS kind, value->>3 AS channel,
            value->>4 AS list_name, value->>5 AS targets, value->>6 AS subject, value->>7 AS body, value->>8 AS html,
            value->>9 AS template, value->>10 AS locale, value->>11 AS context, value->>12 AS type_data,
            value->>13 AS priority, value->>14 AS ready_at, value->>15 AS lease_until, value->>16 AS business_unit,
            value->>17 AS source_site, value->>18 AS source_instance, value->>19 AS source_script,
            value->>20 AS work_id, value->>21 AS reports_back, value->>22 AS site_enqueued_at
        FROM jsonb_each($2)) AS r", "", $returning) } }
const INSERT_ABSENT: Sql = Sql::each(
    "notifications.insert_absent",
    insert_from_json!(" RETURNING seq, id"),
    // A join may give the rows in any order, and numbers are to follow the order of the set.
    insert_absent!("UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bigint[], $16::bigint[], $17::bigint[],
            $18::text[], $19::text[], $20::text[], $21::text[], $22::bigint[], $23::boolean[], $24::bigint[])
        WITH ORDINALITY AS r(id, digest, kind, channel, list_name, targets, subject, body, html, template, locale, context, type_data,
             priority, ready_at, lease_until, business_unit, source_site, source_instance, source_script, work_id,
             reports_back, site_enqueued_at, position)", " ORDER BY r.position", " RETURNING seq, id"),
);
const INSERT_ALL: Sql = Sql::same("notifications.insert_absent", insert_from_json!(""));
// Right after every row of a set was inserted: their numbers follow each other, and the last one is known.
const JUST_INSERTED: Sql = Sql::same(
    "notifications.just_inserted",
    "SELECT json_group_array(json_array(seq, id)) FROM notifications
     WHERE seq > last_insert_rowid() - $1 AND seq <= last_insert_rowid()",
);

/// Inserts what is new, numbered in the order of the set; answers what was inserted. Callers that may bring the same ids
/// bring them in one order, so that they cannot deadlock: that of the ids, or that of the one site they come from.
pub async fn insert_absent(
    conn: &mut Conn<'_>,
    now: Timestamp,
    rows: &[&Queued],
) -> Result<Vec<InsertedNotification>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let json = |value: &Option<serde_json::Value>| value.as_ref().map(serde_json::Value::to_string);
    let bound = || {
        args![
            now,
            column!(|q| q.new.id.to_string()),
            column!(|q| q.digest.clone()),
            column!(|q| q.new.kind.clone()),
            column!(|q| q.channel.clone()),
            column!(|q| match &q.new.audience {
                Audience::List(name) => Some(name.clone()),
                Audience::Targets(_) => None,
            }),
            column!(|q| match &q.new.audience {
                Audience::List(_) => None,
                Audience::Targets(targets) => Some(targets_as_json(targets)),
            }),
            column!(|q| q.new.subject.clone()),
            column!(|q| q.new.body.clone()),
            column!(|q| q.new.html.clone()),
            column!(|q| q.new.template.clone()),
            column!(|q| q.new.locale.clone()),
            column!(|q| json(&q.new.context)),
            column!(|q| json(&q.new.type_data)),
            column!(|q| q.new.priority),
            column!(|q| q.ready_at),
            column!(|q| q.lease_until),
            column!(|q| q.new.business_unit.clone()),
            column!(|q| q.new.source.site.clone()),
            column!(|q| q.new.source.instance.clone()),
            column!(|q| q.new.source.script.clone()),
            column!(|q| q.work_id),
            column!(|q| q.reports_back),
            column!(|q| q.new.site_enqueued_at),
        ]
    };
    if conn.changes_all(&INSERT_ALL, bound(), rows.len()).await? {
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        return conn.fetch_set(&JUST_INSERTED, args![count]).await;
    }
    conn.fetch_all(&INSERT_ABSENT, bound()).await
}

fn targets_as_json(targets: &[String]) -> String {
    serde_json::Value::from(targets.to_vec()).to_string()
}

/// How an id that is already known stands: as a row, or as the tombstone of one.
#[derive(Clone, Debug, FromRow)]
pub struct PresentState {
    pub id: String,
    pub digest: String,
    pub status: String,
    pub source_site: Option<String>,
}

macro_rules! present {
    ($ids:literal) => {
        concat!(
            "
    SELECT id, digest, status, source_site FROM notifications WHERE id IN (",
            $ids,
            ")
    UNION ALL
    SELECT id, digest, status, NULL FROM tombstones WHERE id IN (",
            $ids,
            ")"
        )
    };
}
const PRESENT: Sql = Sql::each(
    "notifications.present",
    present!("SELECT value FROM json_each($1)"),
    present!("SELECT UNNEST($1::text[])"),
);

pub async fn present(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<PresentState>> {
    conn.fetch_all(&PRESENT, args![ids]).await
}
