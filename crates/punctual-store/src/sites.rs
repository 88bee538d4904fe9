//! The sites that forward notifications, and what each reported at its last contact.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use serde::Deserialize;

use crate::db::{Conn, Result, Sql, args, sql};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SiteRow {
    pub id: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub last_contact_at: Option<Timestamp>,
    pub version: Option<String>,
    pub backlog: Option<i64>,
    pub oldest_buffered_age_seconds: Option<i64>,
    pub refused: Option<i64>,
    pub clock_offset_ms: Option<i64>,
    pub business_unit: Option<String>,
    /// Its agents as JSON, by name; see [`AgentRow`].
    pub agents: Option<String>,
}

/// An agent of a site, and what it reported at its last contact.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AgentRow {
    /// Empty for an agent that was given no name.
    pub agent: String,
    #[serde(with = "jiff::fmt::serde::timestamp::microsecond::required")]
    pub last_contact_at: Timestamp,
    pub version: Option<String>,
    pub backlog: i64,
    pub oldest_buffered_age_seconds: Option<i64>,
    pub refused: i64,
    pub clock_offset_ms: Option<i64>,
}

impl SiteRow {
    /// Its agents, by name. A fault of theirs is logged and hides no site.
    pub fn agents(&self) -> Vec<AgentRow> {
        let Some(text) = self.agents.as_deref() else { return Vec::new() };
        serde_json::from_str(text).unwrap_or_else(|error| {
            tracing::error!(site.id = self.id, %error, "the agents of a site cannot be read");
            Vec::new()
        })
    }
}

const READ: &str = "SELECT s.id, s.created_at, s.revoked_at, s.last_contact_at, s.version, s.backlog,
        s.oldest_buffered_age_seconds, s.refused, s.clock_offset_ms, s.business_unit,
        (SELECT {sqlite json_group_array(json_object(}{postgres CAST(json_agg(json_build_object(}'agent', a.agent,
             'last_contact_at', a.last_contact_at, 'version', a.version, 'backlog', a.backlog,
             'oldest_buffered_age_seconds', a.oldest_buffered_age_seconds, 'refused', a.refused,
             'clock_offset_ms', a.clock_offset_ms){sqlite )}{postgres  ORDER BY a.agent) AS TEXT)}
         FROM {sqlite (SELECT * FROM site_agents WHERE site = s.id ORDER BY agent) AS a}{postgres site_agents AS a
         WHERE a.site = s.id}) AS agents
     FROM sites AS s ";

const INSERT: Sql = sql!(
    "sites.insert",
    "INSERT INTO sites (id, business_unit, created_at) VALUES ($2, $3, $1) ON CONFLICT (id) DO NOTHING",
);

/// A new site; false if there is one of that id.
#[boxed]
pub async fn insert(
    conn: &mut Conn<'_>,
    now: Timestamp,
    id: &str,
    business_unit: Option<&str>,
) -> Result<bool> {
    Ok(conn.execute(&INSERT, args![now, id, business_unit]).await? > 0)
}

const GET: Sql = sql!("sites.get", READ, "WHERE s.id = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, id: &str) -> Result<Option<SiteRow>> {
    conn.fetch_optional(&GET, args![id]).await
}

const PAGE: Sql = sql!("sites.page", READ, "WHERE s.id > $1 ORDER BY s.id LIMIT $2");

/// Sites by id, after this one.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<SiteRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const SET_UNIT: Sql = sql!("sites.set_unit", "UPDATE sites SET business_unit = $2 WHERE id = $1");

/// Says whose a site is from now on; false if there is no such site.
#[boxed]
pub async fn set_unit(conn: &mut Conn<'_>, id: &str, business_unit: Option<&str>) -> Result<bool> {
    Ok(conn.execute(&SET_UNIT, args![id, business_unit]).await? > 0)
}

const SET_REVOKED: Sql = sql!("sites.set_revoked", "UPDATE sites SET revoked_at = $2 WHERE id = $1");

/// Says since when the site has no token, or that it has one again; false if there is no such site.
#[boxed]
pub async fn set_revoked(conn: &mut Conn<'_>, id: &str, at: Option<Timestamp>) -> Result<bool> {
    Ok(conn.execute(&SET_REVOKED, args![id, at]).await? > 0)
}

/// What an agent of a site reports.
#[derive(Clone, Debug, Default)]
pub struct Contact {
    /// The agent's name, where it has one.
    pub agent: Option<String>,
    pub version: Option<String>,
    pub backlog: i64,
    pub oldest_buffered_age_seconds: Option<i64>,
    pub refused: i64,
    pub clock_offset_ms: Option<i64>,
}

const SET_AGENT: Sql = sql!(
    "site_agents.put",
    "INSERT INTO site_agents
         (site, agent, last_contact_at, version, backlog, oldest_buffered_age_seconds, refused, clock_offset_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (site, agent) DO UPDATE
     SET last_contact_at = $3, version = COALESCE($4, site_agents.version), backlog = $5,
         oldest_buffered_age_seconds = $6, refused = $7,
         clock_offset_ms = COALESCE($8, site_agents.clock_offset_ms)",
);
// What waits at a site waits in the buffers of all its agents, also of one that is away.
const SET_CONTACT: Sql = sql!(
    "sites.set_contact",
    "UPDATE sites SET last_contact_at = $2, version = COALESCE($3, version),
         clock_offset_ms = COALESCE($4, clock_offset_ms),
         backlog = (SELECT CAST(SUM(a.backlog) AS BIGINT) FROM site_agents AS a WHERE a.site = $1),
         oldest_buffered_age_seconds =
             (SELECT MAX(a.oldest_buffered_age_seconds) FROM site_agents AS a WHERE a.site = $1),
         refused = (SELECT CAST(SUM(a.refused) AS BIGINT) FROM site_agents AS a WHERE a.site = $1)
     WHERE id = $1",
);

/// Keeps what an agent of a site reported at this contact.
#[boxed]
pub async fn set_contact(conn: &mut Conn<'_>, now: Timestamp, id: &str, contact: &Contact) -> Result<()> {
    let c = contact;
    let bound = args![
        id,
        c.agent.clone().unwrap_or_default(),
        now,
        c.version.clone(),
        c.backlog,
        c.oldest_buffered_age_seconds,
        c.refused,
        c.clock_offset_ms
    ];
    conn.execute(&SET_AGENT, bound).await?;
    conn.execute(&SET_CONTACT, args![id, now, c.version.clone(), c.clock_offset_ms]).await?;
    Ok(())
}

const TOUCH: Sql = sql!("sites.touch", "UPDATE sites SET last_contact_at = $2 WHERE id = $1");

/// A contact without a report.
#[boxed]
pub async fn touch(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<()> {
    conn.execute(&TOUCH, args![id, now]).await?;
    Ok(())
}

crate::db::statements![INSERT, GET, PAGE, SET_UNIT, SET_REVOKED, SET_AGENT, SET_CONTACT, TOUCH];
