//! Messages for later: one message to given targets at a given time. The due row holds the id; this table holds the content.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{Envelope, FileRef, Json, Reach};
use serde_json::Value;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct MessageRow {
    pub id: String,
    pub channel: Option<String>,
    pub list_name: Option<String>,
    pub targets: Option<Json<Vec<String>>>,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    pub context: Option<Json<Value>>,
    pub type_data: Option<Json<Value>>,
    /// The files that go along.
    pub attachments: Option<Json<Vec<FileRef>>>,
    /// Where answers go, headers of the mail, the trace.
    pub envelope: Option<Json<Envelope>>,
    /// The client whose keys may look at it, where they may only send.
    pub client: Option<String>,
    pub business_unit: Option<String>,
    /// Topic, priority and order of channels: a JSON object.
    pub handling: Option<String>,
    pub send_at: Timestamp,
    #[column(skip)]
    pub created_at: Timestamp,
}

const INSERT: Sql = sql!(
    "messages.insert", each MessageRow, after 1,
    "INSERT INTO messages ({names}, created_at) {values {*}, $1} ON CONFLICT (id) DO NOTHING",
);

/// Keeps new messages, in id order; those already there stay as they are.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, messages: &[&MessageRow]) -> Result<u64> {
    conn.execute(&INSERT, with_rows(args![now], messages)).await
}

const CHANGE: Sql = sql!(
    "messages.change", each MessageRow, after 1,
    "INSERT INTO messages ({names}, created_at) {values {*}, $1} ON CONFLICT (id) DO UPDATE SET {replaced}",
);

/// Replaces what a message says, to whom and when.
#[boxed]
pub async fn change(conn: &mut Conn<'_>, now: Timestamp, message: &MessageRow) -> Result<u64> {
    conn.execute(&CHANGE, with_rows(args![now], &[message])).await
}

const BY_IDS: Sql = sql!("messages.by_ids", as MessageRow, "SELECT {columns} FROM messages WHERE id = {any $1} AND {reach $2 business_unit}");

/// The messages with these ids that are within reach.
#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, reach: &Reach, mut ids: Vec<String>) -> Result<Vec<MessageRow>> {
    ids.sort_unstable();
    ids.dedup();
    conn.fetch_all(&BY_IDS, args![ids, reach]).await
}

/// What a message is called.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct MessageSubject {
    pub id: String,
    pub subject: String,
    pub template: Option<String>,
    pub list_name: Option<String>,
    /// The beginning of its addresses, as JSON, where it has no subject.
    pub addresses: Option<String>,
}

const SUBJECTS: Sql = sql!(
    "messages.subjects", as MessageSubject,
    "SELECT id, subject, template, list_name, CASE WHEN subject = '' THEN SUBSTR(targets, 1, 400) END AS addresses
     FROM messages WHERE id = {any $1}",
);

/// The subjects of these messages, without their content.
#[boxed]
pub async fn subjects(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<MessageSubject>> {
    conn.fetch_all(&SUBJECTS, args![ids]).await
}

crate::db::statements![INSERT, CHANGE, BY_IDS, SUBJECTS];
