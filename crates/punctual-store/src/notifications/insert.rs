//! Insert-if-absent: the id is the idempotency key, and a purged id stays known.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::{Audience, NewNotification};

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

#[derive(Debug, Record)]
pub struct InsertedNotification {
    pub seq: i64,
    pub id: String,
}

macro_rules! insert_absent { ($values:literal) => { concat!("
    INSERT INTO notifications (id, digest, kind, channel, list_name, targets, subject, body, html, template, locale,
        context, type_data, priority, ready_at, lease_expires_at, tries, last_attempt_at, business_unit, source_site,
        source_instance, source_script, work_id, reports_back, site_enqueued_at, topic, failover, attachments, status,
        created_at)
    ", $values) } }
// Ordered on PostgreSQL, because a join may give the rows in any order and numbers are to follow the order of the set.
const INSERT_ABSENT: Sql = Sql::rows(
    "notifications.insert_absent",
    insert_absent!("SELECT $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
        CASE WHEN $17 IS NULL THEN 0 ELSE 1 END, CASE WHEN $17 IS NULL THEN NULL ELSE $1 END,
        $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, 'pending', $1
    WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE id = $2)
    ON CONFLICT (id) DO NOTHING"),
    insert_absent!("SELECT r.id, r.digest, r.kind, r.channel, r.list_name, r.targets, r.subject, r.body, r.html,
        r.template, r.locale, r.context, r.type_data, r.priority, r.ready_at, r.lease_until,
        CASE WHEN r.lease_until IS NULL THEN 0 ELSE 1 END, CASE WHEN r.lease_until IS NULL THEN NULL ELSE $1 END,
        r.business_unit, r.source_site, r.source_instance, r.source_script, r.work_id, r.reports_back,
        r.site_enqueued_at, r.topic, r.failover, r.attachments, 'pending', $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bigint[], $16::bigint[], $17::bigint[],
            $18::text[], $19::text[], $20::text[], $21::text[], $22::bigint[], $23::boolean[], $24::bigint[],
            $25::text[], $26::text[], $27::text[])
        WITH ORDINALITY AS r(id, digest, kind, channel, list_name, targets, subject, body, html, template, locale, context,
             type_data, priority, ready_at, lease_until, business_unit, source_site, source_instance, source_script, work_id,
             reports_back, site_enqueued_at, topic, failover, attachments, position)
    WHERE NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.id = r.id)
    ORDER BY r.position
    ON CONFLICT (id) DO NOTHING
    RETURNING seq, id"),
);

/// Inserts what is new, numbered in the order of the set; returns what was inserted. Callers that may bring the same ids
/// bring them in one order, so that they cannot deadlock: that of the ids, or that of the one site they come from.
#[boxed]
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
    let bound = args![
        now,
        column!(|q| q.new.id.to_string()),
        column!(|q| q.digest.as_str()),
        column!(|q| q.new.kind.as_str()),
        column!(|q| q.channel.as_str()),
        column!(|q| match &q.new.audience {
            Audience::List(name) => Some(name.as_str()),
            Audience::Targets(_) => None,
        }),
        column!(|q| match &q.new.audience {
            Audience::List(_) => None,
            Audience::Targets(targets) => Some(targets_as_json(targets)),
        }),
        column!(|q| q.new.subject.as_str()),
        column!(|q| q.new.body.as_str()),
        column!(|q| q.new.html.as_deref()),
        column!(|q| q.new.template.as_deref()),
        column!(|q| q.new.locale.as_deref()),
        column!(|q| json(&q.new.context)),
        column!(|q| json(&q.new.type_data)),
        column!(|q| q.new.priority),
        column!(|q| q.ready_at),
        column!(|q| q.lease_until),
        column!(|q| q.new.business_unit.as_deref()),
        column!(|q| q.new.source.site.as_deref()),
        column!(|q| q.new.source.instance.as_deref()),
        column!(|q| q.new.source.script.as_deref()),
        column!(|q| q.work_id),
        column!(|q| q.reports_back),
        column!(|q| q.new.site_enqueued_at),
        column!(|q| q.new.topic.as_deref()),
        column!(|q| order_as_json(&q.new)),
        column!(|q| q.new.attachments_json()),
    ];
    let record = |row: usize, seq| InsertedNotification { seq, id: rows[row].new.id.to_string() };
    conn.insert(&INSERT_ABSENT, bound, record).await
}

/// The channels after its own; nothing where there are none.
fn order_as_json(new: &NewNotification) -> Option<String> {
    let keys: Vec<&str> = new.failover.iter().map(|channel| channel.as_str()).collect();
    (!keys.is_empty()).then(|| serde_json::Value::from(keys).to_string())
}

fn targets_as_json(targets: &[String]) -> String {
    serde_json::Value::from(targets.to_vec()).to_string()
}

/// How an id that is already known stands: as a row, or as the tombstone of one.
#[derive(Clone, Debug, Record)]
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

#[boxed]
pub async fn present(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<PresentState>> {
    conn.fetch_all(&PRESENT, args![ids]).await
}

crate::db::statements![INSERT_ABSENT, PRESENT];
