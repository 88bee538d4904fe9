//! Accounts of the console and their permissions.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, PartialEq, Record, SetRow)]
pub struct UserRow {
    pub id: String,
    /// In lower case.
    pub email: String,
    pub name: String,
    /// A word of `Role`.
    pub role: String,
    /// A JSON array of business units, where the person is limited to some.
    pub business_units: Option<String>,
    pub active: bool,
    pub password_hash: Option<String>,
    /// Who vouches for the person at a single sign-on, and what it calls them.
    pub issuer: Option<String>,
    pub subject: Option<String>,
    /// Role and business units come from the groups of the single sign-on.
    pub rights_from_provider: bool,
    #[column(skip)]
    pub created_at: Timestamp,
    #[column(skip)]
    pub updated_at: Timestamp,
    #[column(skip)]
    pub last_sign_in_at: Option<Timestamp>,
    #[column(skip)]
    pub version: i64,
}

/// Without the hash: it belongs in no log.
impl std::fmt::Debug for UserRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserRow").field("id", &self.id).field("email", &self.email).finish_non_exhaustive()
    }
}

const INSERT: Sql = sql!(
    "users.insert", each UserRow, after 1,
    "INSERT INTO users ({names}, created_at, updated_at) {values {*}, $1, $1} ON CONFLICT DO NOTHING",
);

/// Keeps a new person; false if the id, the email or the external subject is already there.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, row: &UserRow) -> Result<bool> {
    Ok(conn.execute(&INSERT, with_rows(args![now], slice::from_ref(row))).await? > 0)
}

const GET: Sql = sql!("users.get", as UserRow, "SELECT {columns} FROM users WHERE id = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, id: &str) -> Result<Option<UserRow>> {
    conn.fetch_optional(&GET, args![id]).await
}

const BY_EMAIL: Sql = sql!("users.by_email", as UserRow, "SELECT {columns} FROM users WHERE email = $1");

/// The person with this email, given in lower case.
#[boxed]
pub async fn by_email(conn: &mut Conn<'_>, email: &str) -> Result<Option<UserRow>> {
    conn.fetch_optional(&BY_EMAIL, args![email]).await
}

const BY_SUBJECT: Sql = sql!(
    "users.by_subject", as UserRow,
    "SELECT {columns} FROM users WHERE issuer = $1 AND subject = $2",
);

/// The person whom the single sign-on calls this.
#[boxed]
pub async fn by_subject(conn: &mut Conn<'_>, issuer: &str, subject: &str) -> Result<Option<UserRow>> {
    conn.fetch_optional(&BY_SUBJECT, args![issuer, subject]).await
}

const PAGE: Sql =
    sql!("users.page", as UserRow, "SELECT {columns} FROM users WHERE email > $1 ORDER BY email LIMIT $2");

/// People by email, after this one.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<UserRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const UPDATE: Sql = sql!(
    "users.update",
    "UPDATE users SET email = $4, name = $5, role = $6, business_units = $7, active = $8, issuer = $9, subject = $10,
         rights_from_provider = $11, updated_at = $1, version = version + 1
     WHERE id = $2 AND version = $3",
);

/// Writes what is different about a person; false if somebody else was faster.
#[boxed]
pub async fn update(conn: &mut Conn<'_>, now: Timestamp, row: &UserRow) -> Result<bool> {
    let r = row.clone();
    let bound = args![
        now,
        r.id,
        r.version,
        r.email,
        r.name,
        r.role,
        r.business_units,
        r.active,
        r.issuer,
        r.subject,
        r.rights_from_provider
    ];
    Ok(conn.execute(&UPDATE, bound).await? > 0)
}

const SET_PASSWORD: Sql = sql!(
    "users.set_password",
    "UPDATE users SET password_hash = $3, updated_at = $1, version = version + 1 WHERE id = $2 AND active",
);

/// Gives somebody who is active another password; false if there is nobody.
#[boxed]
pub async fn set_password(conn: &mut Conn<'_>, now: Timestamp, id: &str, hash: &str) -> Result<bool> {
    Ok(conn.execute(&SET_PASSWORD, args![now, id, hash]).await? > 0)
}

const SIGNED_IN: Sql = sql!("users.signed_in", "UPDATE users SET last_sign_in_at = $1 WHERE id = $2");

#[boxed]
pub async fn signed_in(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<()> {
    conn.execute(&SIGNED_IN, args![now, id]).await?;
    Ok(())
}

const DELETE: Sql = sql!("users.delete", "DELETE FROM users WHERE id = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![INSERT, GET, BY_EMAIL, BY_SUBJECT, PAGE, UPDATE, SET_PASSWORD, SIGNED_IN, DELETE];
