//! Messages: one message to given people at a given time. The due row holds its id, the content is here.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct MessageRow {
    pub id: String,
    pub channel: Option<String>,
    pub list_name: Option<String>,
    /// A JSON array of texts.
    pub targets: Option<String>,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    pub context: Option<String>,
    pub business_unit: Option<String>,
    /// Topic, priority and order of channels: a JSON object.
    pub handling: Option<String>,
    pub send_at: i64,
    pub created_at: i64,
}

macro_rules! insert {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO messages (id, channel, list_name, targets, subject, body, html, template, locale, context,
        business_unit, handling, send_at, created_at)
    ",
            $values,
            "
    ON CONFLICT (id) DO NOTHING"
        )
    };
}
const INSERT: Sql = Sql::rows(
    "messages.insert",
    insert!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $1)"),
    insert!(
        "SELECT r.id, r.channel, r.list_name, r.targets, r.subject, r.body, r.html, r.template, r.locale, r.context,
        r.business_unit, r.handling, r.send_at, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[])
        AS r(id, channel, list_name, targets, subject, body, html, template, locale, context, business_unit, handling,
            send_at)"
    ),
);

/// Keeps new messages, in id order; those already there stay as they are.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, messages: &[&MessageRow]) -> Result<u64> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            messages.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    conn.execute(
        &INSERT,
        args![
            now,
            column!(|m| m.id.as_str()),
            column!(|m| m.channel.as_deref()),
            column!(|m| m.list_name.as_deref()),
            column!(|m| m.targets.as_deref()),
            column!(|m| m.subject.as_str()),
            column!(|m| m.body.as_str()),
            column!(|m| m.html.as_deref()),
            column!(|m| m.template.as_deref()),
            column!(|m| m.locale.as_deref()),
            column!(|m| m.context.as_deref()),
            column!(|m| m.business_unit.as_deref()),
            column!(|m| m.handling.as_deref()),
            column!(|m| m.send_at),
        ],
    )
    .await
}

macro_rules! by_ids {
    ($which:literal) => {
        concat!(
            "
    SELECT id, channel, list_name, targets, subject, body, html, template, locale, context, business_unit, handling,
        send_at, created_at
    FROM messages WHERE id = ",
            $which
        )
    };
}
const BY_IDS: Sql = Sql::rows("messages.by_ids", by_ids!("$1"), by_ids!("ANY($1)"));

#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, mut ids: Vec<String>) -> Result<Vec<MessageRow>> {
    ids.sort_unstable();
    ids.dedup();
    conn.fetch_all(&BY_IDS, args![ids]).await
}

crate::db::statements![INSERT, BY_IDS];
