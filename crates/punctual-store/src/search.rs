//! Search for people. Exact names are found by index; parts of texts are searched in a window of bounded size, the newest rows
//! first. Every search therefore costs about the same. For a caller limited to business units, the window contains their rows
//! among the newest of the installation. An index by unit would find the unit's own newest rows, but with 60,000 rows it added
//! 1.3 µs to an insert on SQLite (of 26) and 4 µs on PostgreSQL (of 19). Finding out whether older rows exist would need a full
//! scan and would reveal how much data other units have. [`sizes`] is therefore not called for such callers, and their result
//! always says that only the newest rows were searched.

use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql},
    notifications::contains_pattern,
};

/// Rows that a text is looked for in, of each part.
const WINDOW: i64 = 5_000;
/// Rows of the installation that a window is taken from: a small unit's rows may lie far apart.
const WALKED: i64 = 10_000;
/// Attempts among which an address is looked for.
const ATTEMPTS: i64 = 20_000;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct Match {
    /// The kind of thing: `reminder`, `list`, …; for messages their status, for work its kind, for sources their type.
    pub kind: String,
    pub id: String,
    pub title: String,
    /// What else it was found by.
    pub note: String,
}

// What a message is called and found by. A list of ten thousand addresses is searched at its beginning.
const MESSAGE: &str =
    "SELECT status AS kind, id, COALESCE(NULLIF(subject, ''), 'From template ' || template, '') AS title,
         COALESCE(last_error, list_name, SUBSTR(targets, 1, 200), '') AS note ";
const MESSAGE_HAS: &str = "(
    {contains $1 subject}
    OR {contains $1 last_error}
    OR {contains $1 list_name}
    OR {contains $1 SUBSTR(targets, 1, 1000)})";

const MESSAGE_BY_ID: Sql = sql!(
    "search.message",
    MESSAGE,
    "FROM notifications WHERE id = $1 AND kind <> 'event' AND {reach $2 business_unit}",
);
// Whom a list reached is in the attempts alone. An index over their targets would cost every attempt about 11 µs, a third of
// what a delivery takes, so the newest are looked through.
const MESSAGES_TO: Sql = sql!(
    "search.messages_to",
    MESSAGE,
    "FROM notifications
     WHERE seq IN (SELECT notification_seq
                   FROM (SELECT notification_seq, target FROM attempts ORDER BY notification_seq DESC LIMIT $4) AS a
                   WHERE target IN ($1, {folded $1}))
       AND kind <> 'event' AND {reach $2 business_unit}
     ORDER BY seq DESC LIMIT $3",
);
const MESSAGES: Sql = sql!(
    "search.messages",
    MESSAGE,
    "FROM (SELECT seq, id, kind, status, subject, template, last_error, list_name, targets, business_unit
           FROM (SELECT seq, id, kind, status, subject, template, last_error, list_name, targets, business_unit
                 FROM notifications ORDER BY seq DESC LIMIT $5) AS n
           WHERE kind <> 'event' AND {reach $2 business_unit} ORDER BY seq DESC LIMIT $4) AS w
     WHERE ",
    MESSAGE_HAS,
    " ORDER BY seq DESC LIMIT $3",
);
// What waits for a person is searched for most, and may be older than the newest.
const PARKED: Sql = sql!(
    "search.parked",
    MESSAGE,
    "FROM (SELECT seq, id, kind, status, subject, template, last_error, list_name, targets, business_unit
           FROM notifications {sqlite INDEXED BY notifications_parked}
           WHERE status = 'parked' AND kind <> 'event' AND {reach $2 business_unit} ORDER BY seq DESC LIMIT $4) AS w
     WHERE ",
    MESSAGE_HAS,
    " ORDER BY seq DESC LIMIT $3",
);

const WORK: &str = "SELECT kind, CAST(id AS TEXT) AS id, key AS title, '' AS note ";

const WORK_BY_ID: Sql = sql!("search.work_row", WORK, "FROM work WHERE id = $1 AND {reach $2 business_unit}");
const WORK_BY_KEYS: Sql = sql!(
    "search.work_keys",
    WORK,
    "FROM work WHERE id IN (SELECT work_id FROM work_keys WHERE key IN ({texts $1}))
       AND {reach $2 business_unit} ORDER BY key",
);
const WORK_TEXT: Sql = sql!(
    "search.work",
    WORK,
    "FROM (SELECT id, key, kind FROM (SELECT id, key, kind, business_unit FROM work ORDER BY id DESC LIMIT $5) AS n
           WHERE {reach $2 business_unit} ORDER BY id DESC LIMIT $4) AS w
     WHERE {contains $1 key}
     ORDER BY w.id DESC LIMIT $3",
);
const WORK_NEWEST: Sql = sql!(
    "search.newest_work",
    WORK,
    "FROM (SELECT id, key, kind, business_unit FROM work ORDER BY id DESC LIMIT $3) AS w
     WHERE {reach $1 business_unit} ORDER BY w.id DESC LIMIT $2",
);

const SOURCE: &str =
    "SELECT source_type AS kind, source_id AS id, source_type || ' ' || source_id AS title, '' AS note ";

const SOURCE_BY_ID: Sql = sql!(
    "search.source",
    SOURCE,
    "FROM sources WHERE source_type = {any $1} AND source_id = $2 AND NOT deleted AND {reach $3 business_unit}
     {postgres ORDER BY source_type}",
);
const SOURCES: Sql = sql!(
    "search.sources",
    SOURCE,
    "FROM (SELECT source_type, source_id, state, updated_at
           FROM (SELECT source_type, source_id, state, updated_at, deleted, business_unit
                 FROM sources ORDER BY updated_at DESC, source_type DESC, source_id DESC LIMIT $5) AS n
           WHERE NOT deleted AND {reach $2 business_unit}
           ORDER BY updated_at DESC, source_type DESC, source_id DESC LIMIT $4) AS w
     WHERE (
         {contains $1 source_type || ' ' || source_id}
         OR {contains $1 SUBSTR(state, 1, 1000)})
     ORDER BY updated_at DESC LIMIT $3",
);

const PERSON: &str = "SELECT 'person' AS kind, id, name AS title, COALESCE(email, '') AS note ";

const PERSON_BY_ID: Sql =
    sql!("search.person", PERSON, "FROM operations_people WHERE id = $1 AND {shared $2 business_unit}");
const PERSON_BY_EMAIL: Sql = sql!(
    "search.person_at",
    PERSON,
    "FROM operations_people WHERE email IS NOT NULL AND email = {any $1} AND {shared $2 business_unit}
     {postgres ORDER BY id}",
);
const PEOPLE: Sql = sql!(
    "search.people",
    PERSON,
    "FROM (SELECT id, name, email
           FROM (SELECT id, name, email, business_unit FROM operations_people ORDER BY id LIMIT $5) AS n
           WHERE {shared $2 business_unit} ORDER BY id LIMIT $4) AS w
     WHERE (
         {contains $1 name}
         OR {contains $1 email}
         OR {contains $1 id})
     ORDER BY w.id LIMIT $3",
);

// Definitions are few; each of these is bounded all the same. Reach is applied after the walk.
const DEFINITIONS: Sql = sql!(
    "search.definitions",
    "SELECT kind, id, title, note FROM (
         SELECT 'reminder' AS kind, id, name AS title, source_type AS note, business_unit
         FROM (SELECT id, name, source_type, business_unit, deleted FROM reminder_settings ORDER BY id LIMIT $4) AS r
         WHERE NOT deleted
         UNION ALL
         SELECT 'survey', CAST(id AS TEXT), name, COALESCE(integration_id, ''), business_unit
         FROM (SELECT id, name, integration_id, business_unit FROM surveys ORDER BY id LIMIT $4) AS s
         UNION ALL
         SELECT 'report', guid, name, COALESCE(list_name, ''), business_unit
         FROM (SELECT guid, name, list_name, business_unit, deleted FROM report_subscriptions ORDER BY guid LIMIT $4) AS p
         WHERE NOT deleted
         UNION ALL
         SELECT subject_type, id, title, '', business_unit
         FROM (SELECT subject_type, id, title, business_unit FROM operations_subjects
               WHERE deleted_at IS NULL ORDER BY last_at DESC, id DESC LIMIT $4) AS o
         UNION ALL
         SELECT 'list', name, name, channel, business_unit
         FROM (SELECT name, channel, business_unit FROM lists ORDER BY name LIMIT $4) AS l
         UNION ALL
         SELECT 'channel', key, key, adapter, CAST(NULL AS TEXT)
         FROM (SELECT key, adapter FROM channels ORDER BY key LIMIT $4) AS c
         UNION ALL
         SELECT 'template', name, name, default_locale, CAST(NULL AS TEXT)
         FROM (SELECT name, default_locale FROM templates ORDER BY name LIMIT $4) AS t) AS d
     WHERE {shared $2 d.business_unit} AND (
         {contains $1 title}
         OR {contains $1 id})
     ORDER BY title, kind, id LIMIT $3",
);

/// How many rows there are of each part, counted just beyond what is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct Sizes {
    messages: i64,
    attempts: i64,
    work: i64,
    sources: i64,
    people: i64,
    subjects: i64,
}

impl Sizes {
    /// Whether there are messages that no text is looked for in, or attempts whose addresses are not compared.
    pub fn exceed_messages(&self) -> bool {
        self.messages > WINDOW || self.attempts > ATTEMPTS
    }

    /// Whether there is work beyond the newest so many.
    pub fn exceed_work(&self, newest: i64) -> bool {
        self.work > newest
    }

    pub fn exceed_sources(&self) -> bool {
        self.sources > WINDOW
    }

    pub fn exceed_people(&self) -> bool {
        self.people > WINDOW
    }

    /// Whether there are events and tasks beyond those that are looked through with the definitions.
    pub fn exceed_definitions(&self) -> bool {
        self.subjects > WALKED
    }
}

const SIZES: Sql = sql!(
    "search.sizes",
    "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM notifications ORDER BY seq DESC LIMIT $1) AS n) AS messages,
            (SELECT COUNT(*) FROM (SELECT 1 AS one FROM attempts ORDER BY notification_seq DESC LIMIT $2) AS n) AS attempts,
            (SELECT COUNT(*) FROM (SELECT 1 AS one FROM work ORDER BY id DESC LIMIT $1) AS n) AS work,
            (SELECT COUNT(*) FROM (SELECT 1 AS one FROM sources
                 ORDER BY updated_at DESC, source_type DESC, source_id DESC LIMIT $1) AS n) AS sources,
            (SELECT COUNT(*) FROM (SELECT 1 AS one FROM operations_people ORDER BY id LIMIT $1) AS n) AS people,
            (SELECT COUNT(*) FROM (SELECT 1 AS one FROM operations_subjects WHERE deleted_at IS NULL
                 ORDER BY last_at DESC, id DESC LIMIT $3) AS n) AS subjects",
);

/// What is searched for, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Search<'s> {
    pub text: &'s str,
    pub reach: &'s Reach,
    /// Of each part.
    pub limit: i64,
}

impl Search<'_> {
    async fn in_window(&self, conn: &mut Conn<'_>, sql: &Sql) -> Result<Vec<Match>> {
        let text = contains_pattern(self.text);
        conn.fetch_all(sql, args![text, self.reach, self.limit, WINDOW, WALKED]).await
    }

    /// The same where an index has the rows apart.
    async fn in_few(&self, conn: &mut Conn<'_>, sql: &Sql) -> Result<Vec<Match>> {
        conn.fetch_all(sql, args![contains_pattern(self.text), self.reach, self.limit, WINDOW]).await
    }

    /// The message of exactly this id.
    #[boxed]
    pub async fn message(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        conn.fetch_all(&MESSAGE_BY_ID, args![self.text, self.reach]).await
    }

    /// Messages that were sent, or attempted, lately to exactly this address or to it in lower case, newest first.
    #[boxed]
    pub async fn messages_to(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        conn.fetch_all(&MESSAGES_TO, args![self.text, self.reach, self.limit, ATTEMPTS]).await
    }

    /// Messages with the text in their subject, error, list or recipients: parked ones, and the newest.
    #[boxed]
    pub async fn messages(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        let mut found = self.in_few(conn, &PARKED).await?;
        found.extend(self.in_window(conn, &MESSAGES).await?);
        Ok(found)
    }

    /// The row of work of this number, and those of these keys.
    #[boxed]
    pub async fn work_exactly(&self, conn: &mut Conn<'_>, keys: Vec<String>) -> Result<Vec<Match>> {
        let mut found = match self.text.parse::<i64>() {
            Ok(id) => conn.fetch_all(&WORK_BY_ID, args![id, self.reach]).await?,
            Err(_) => Vec::new(),
        };
        found.extend(conn.fetch_all::<Match>(&WORK_BY_KEYS, args![keys, self.reach]).await?);
        Ok(found)
    }

    /// The newest work with the text in its key.
    #[boxed]
    pub async fn work(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        self.in_window(conn, &WORK_TEXT).await
    }

    /// The newest work, whatever it is: its titles are not stored.
    #[boxed]
    pub async fn newest_work(&self, conn: &mut Conn<'_>, limit: i64) -> Result<Vec<Match>> {
        conn.fetch_all(&WORK_NEWEST, args![self.reach, limit, WALKED]).await
    }

    /// The sources of exactly this id, of these types.
    #[boxed]
    pub async fn sources_of(&self, conn: &mut Conn<'_>, types: Vec<String>, id: &str) -> Result<Vec<Match>> {
        conn.fetch_all(&SOURCE_BY_ID, args![types, id, self.reach]).await
    }

    /// The sources that changed last, with the text in their names or states.
    #[boxed]
    pub async fn sources(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        self.in_window(conn, &SOURCES).await
    }

    /// The people of exactly this id or address.
    #[boxed]
    pub async fn people_exactly(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        let mut found: Vec<Match> = conn.fetch_all(&PERSON_BY_ID, args![self.text, self.reach]).await?;
        let mut addresses = vec![self.text.to_owned(), self.text.to_lowercase()];
        addresses.dedup();
        found.extend(conn.fetch_all::<Match>(&PERSON_BY_EMAIL, args![addresses, self.reach]).await?);
        Ok(found)
    }

    /// People with the text in their names, addresses or ids.
    #[boxed]
    pub async fn people(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        self.in_window(conn, &PEOPLE).await
    }

    /// Definitions with the text in their names.
    #[boxed]
    pub async fn definitions(&self, conn: &mut Conn<'_>) -> Result<Vec<Match>> {
        let text = contains_pattern(self.text);
        conn.fetch_all(&DEFINITIONS, args![text, self.reach, self.limit, WALKED]).await
    }
}

/// For callers without a limit.
#[boxed]
pub async fn sizes(conn: &mut Conn<'_>) -> Result<Sizes> {
    conn.fetch_one(&SIZES, args![WINDOW + 1, ATTEMPTS + 1, WALKED + 1]).await
}

crate::db::statements![
    MESSAGE_BY_ID,
    MESSAGES_TO,
    MESSAGES,
    PARKED,
    WORK_BY_ID,
    WORK_BY_KEYS,
    WORK_TEXT,
    WORK_NEWEST,
    SOURCE_BY_ID,
    SOURCES,
    PERSON_BY_ID,
    PERSON_BY_EMAIL,
    PEOPLE,
    DEFINITIONS,
    SIZES
];
