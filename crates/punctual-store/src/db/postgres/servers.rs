//! The servers behind one address, and how a connection to them is opened.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection, Row as _, postgres::PgConnectOptions, raw_sql};

use crate::{
    StoreError,
    db::deadline::{Deadlines, within},
    error::DriverError,
};

/// How long a statement may wait for a lock.
const LOCK: Duration = Duration::from_secs(8);
/// When the server finds out that a client is gone without a word: probes from then on, three, five seconds apart.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// How long the server waits for the acknowledgement of what it has sent.
const USER_TIMEOUT: Duration = Duration::from_secs(20);

/// One server, or several of which one takes writes.
pub(in crate::db) struct Servers {
    each: Vec<PgConnectOptions>,
    /// The one that took writes last.
    preferred: AtomicUsize,
    /// Connections that failed since the start; see [`super::pool`].
    failures: AtomicU64,
    /// Whether a pooler stands before them; see [`Self::find_pooler`].
    pooled: AtomicBool,
    pub(super) deadlines: Deadlines,
}

impl Servers {
    pub(super) fn parse(url: &str, deadlines: Deadlines) -> Result<Self, StoreError> {
        let each = addresses(url)
            .iter()
            .map(|url| url.parse().map_err(|_| StoreError::Url))
            .collect::<Result<Vec<PgConnectOptions>, _>>()?;
        Ok(Self {
            each,
            preferred: AtomicUsize::new(0),
            failures: AtomicU64::new(0),
            pooled: AtomicBool::new(false),
            deadlines,
        })
    }

    /// Finds out whether the address leads to a pooler such as PgBouncer, which gives each transaction any of its sessions:
    /// it refuses the settings that a session is opened with, or drops them.
    pub(super) async fn find_pooler(&self) -> Result<(), DriverError> {
        let keeps_settings = match self.connect(None).await {
            Ok(mut conn) => {
                let seqscan = shown(&mut conn, "SHOW enable_seqscan");
                within(self.deadlines.connect, seqscan).await? == "off"
            }
            Err(error) if error.is_of_a_pooler() => false,
            Err(error) => return Err(error),
        };
        self.pooled.store(!keeps_settings, Ordering::Release);
        Ok(())
    }

    /// Whether nothing may rely on a session: neither its settings nor its prepared statements.
    pub(in crate::db) fn are_pooled(&self) -> bool {
        self.pooled.load(Ordering::Acquire)
    }

    /// What begins a transaction whose statements may take so long. Behind a pooler it brings all settings along, in the same
    /// round trip.
    pub(super) fn begin(&self, statement: Option<Duration>) -> String {
        let mut text = "BEGIN".to_owned();
        if self.are_pooled() {
            let limits = statement.map(|statement| self.limits(statement)).into_iter().flatten();
            for (name, value) in
                SETTINGS.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(limits)
            {
                text.push_str("; SET LOCAL ");
                text.push_str(name);
                text.push_str(" = '");
                text.push_str(&value);
                text.push('\'');
            }
        }
        text
    }

    fn limits(&self, statement: Duration) -> [(&'static str, String); 3] {
        [
            ("statement_timeout", millis(statement)),
            ("lock_timeout", millis(LOCK)),
            ("idle_in_transaction_session_timeout", millis(self.deadlines.idle_in_transaction)),
        ]
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Acquire)
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::AcqRel);
    }

    /// A new connection: to the server that takes writes, where one does; else to one that can be read. Without a limit
    /// for its statements it is for what may take long.
    pub(super) async fn connect(&self, statement: Option<Duration>) -> Result<PgConnection, DriverError> {
        let preferred = self.preferred.load(Ordering::Acquire);
        let (mut readable, mut refused) = (None, None);
        for number in (0..self.each.len()).map(|step| (preferred + step) % self.each.len()) {
            let mut options = self.configured(self.each[number].clone());
            if let (Some(statement), false) = (statement, self.are_pooled()) {
                options = options.options(self.limits(statement));
            }
            let opened = within(self.deadlines.connect, async {
                let mut conn = options.connect().await?;
                // A single server is used as it is: its refusals say more than this question.
                let writable = self.each.len() == 1 || takes_writes(&mut conn).await?;
                Ok::<_, sqlx::Error>((conn, writable))
            });
            match opened.await {
                Ok((conn, true)) => {
                    self.preferred.store(number, Ordering::Release);
                    return Ok(conn);
                }
                Ok((conn, false)) => readable = readable.or(Some(conn)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        readable.ok_or_else(|| refused.unwrap_or(DriverError::Closed))
    }

    /// How the server is reached that took writes last.
    pub(super) fn present(&self) -> PgConnectOptions {
        self.configured(self.each[self.preferred.load(Ordering::Acquire)].clone())
    }

    /// What every connection has.
    fn configured(&self, options: PgConnectOptions) -> PgConnectOptions {
        // Migrations know running nodes by it.
        let name = format!("punctual/{}", crate::schema::known());
        let options = options.application_name(&name).disable_statement_logging();
        if self.are_pooled() {
            return options.extra_float_digits(None);
        }
        options.options(SETTINGS).options([
            ("tcp_keepalives_idle", KEEPALIVE_IDLE.as_secs().to_string()),
            ("tcp_keepalives_interval", "5".to_owned()),
            ("tcp_keepalives_count", "3".to_owned()),
            ("tcp_user_timeout", millis(USER_TIMEOUT)),
        ])
    }
}

// Compiling a plan takes longer than any statement here runs. Statements go by their keys; a plan that reads a whole table
// is only ever made for one that was just created, and would stay while it grows.
const SETTINGS: [(&str, &str); 4] = [
    ("synchronous_commit", "on"),
    ("jit", "off"),
    ("enable_seqscan", "off"),
    ("default_transaction_isolation", "read committed"),
];

async fn takes_writes(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    Ok(shown(conn, "SHOW transaction_read_only").await? == "off")
}

/// One setting, asked for without preparing a statement.
async fn shown(conn: &mut PgConnection, statement: &'static str) -> Result<String, sqlx::Error> {
    raw_sql(statement).fetch_one(conn).await?.try_get(0)
}

/// Begins a transaction.
pub(super) async fn begin(conn: &mut PgConnection, text: String) -> Result<(), sqlx::Error> {
    raw_sql(AssertSqlSafe(text)).execute(conn).await.map(drop)
}

fn millis(limit: Duration) -> String {
    limit.as_millis().to_string()
}

/// One address for each host of `postgres://user@one:5432,two:5433/database`.
fn addresses(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, hosts) = authority
        .rsplit_once('@')
        .map_or((String::new(), authority), |(user, hosts)| (format!("{user}@"), hosts));
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_hosts_are_several_addresses() {
        for (url, expected) in [
            ("postgres://a/d", vec!["postgres://a/d"]),
            (
                "postgres://u:p@a:1,b:2/d?x=1,2",
                vec!["postgres://u:p@a:1/d?x=1,2", "postgres://u:p@b:2/d?x=1,2"],
            ),
            ("postgres://[::1]:1,b", vec!["postgres://[::1]:1", "postgres://b"]),
            ("postgres:///d?host=/run", vec!["postgres:///d?host=/run"]),
        ] {
            assert_eq!(addresses(url), expected);
            assert_eq!(Servers::parse(url, Deadlines::default()).unwrap().each.len(), expected.len());
        }
    }

    #[test]
    fn every_host_must_be_one() {
        assert!(matches!(Servers::parse("postgres://u@a:x,b/d", Deadlines::default()), Err(StoreError::Url)));
    }
}
