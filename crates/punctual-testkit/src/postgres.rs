//! A separate, migrated PostgreSQL database for each test.
//!
//! The first test that asks makes a template database; every test then gets a copy of it, which takes a fraction of the
//! time of migrating again. The server comes from `cargo xtask test`. This file knows nothing of the schema: who
//! migrates, and what distinguishes schemas, is passed in.

mod dump;

use std::fmt::Display;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};

pub use dump::{Stored, everything_stored};

/// The variable with the URL of a server on which tests may make databases.
pub const POSTGRES_VARIABLE: &str = "PUNCTUAL_TEST_POSTGRES";

/// One at a time makes a template; the number only has to differ from other advisory locks in the server's first database.
const TEMPLATE_LOCK: i64 = 0x0070_756e_6374_7561;

/// A database that no other test sees. It is dropped with this value, whoever is still connected.
#[derive(Debug)]
pub struct TestDatabase {
    url: String,
    name: String,
    server: PgConnectOptions,
}

impl TestDatabase {
    /// A copy of the template for this schema, which `migrate` makes if no test has needed it before.
    ///
    /// `schema` names the content of the migrations, for example as a hash in hex: lower-case letters, digits
    /// and `_`, at most 40. `migrate` gets the URL of an empty database; connections it leaves open are cut.
    ///
    /// # Panics
    /// When there is no server, or it refuses, or `migrate` fails: a test cannot continue without its database.
    pub async fn migrated<E: Display>(
        schema: &str,
        migrate: impl AsyncFnOnce(&str) -> Result<(), E>,
    ) -> TestDatabase {
        let server = server();
        let mut admin = connect(&server).await;
        let template = ensure_template(&mut admin, &server, schema, migrate).await;
        Self::create(admin, server, &template).await
    }

    /// A database with nothing in it, for tests of the migrations themselves.
    ///
    /// # Panics
    /// When there is no server, or it refuses.
    pub async fn empty() -> TestDatabase {
        let server = server();
        Self::create(connect(&server).await, server, "template0").await
    }

    /// Where to connect.
    pub fn url(&self) -> &str {
        &self.url
    }

    async fn create(mut admin: PgConnection, server: PgConnectOptions, template: &str) -> TestDatabase {
        // The server makes up the name: processes of one test run, and of two, share it.
        let (name,): (String,) =
            sqlx::query_as("SELECT 'test_' || replace(gen_random_uuid()::text, '-', '')")
                .fetch_one(&mut admin)
                .await
                .unwrap_or_else(|error| panic!("no name for a test database: {error}"));
        execute(&mut admin, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        admin.close().await.ok();
        TestDatabase { url: url_of(&server, &name), name, server }
    }
}

impl Drop for TestDatabase {
    /// Drops the database on its own thread: the test's runtime may be ending, or be the one we block.
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let server = self.server.clone();
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut admin = PgConnection::connect_with(&server).await?;
                sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut admin).await?;
                admin.close().await
            })
        });
        // The server is thrown away with all its databases, so a failure is no reason to fail a test.
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("could not drop the test database {}: {error}", self.name);
        }
    }
}

/// Waits until somebody waits for a lock in this database.
///
/// # Panics
/// When the server cannot be asked.
pub async fn until_blocked(url: &str) {
    let mut conn = PgConnection::connect(url).await.unwrap_or_else(|error| panic!("{error}"));
    let waiting = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock')";
    loop {
        let blocked: sqlx::Result<bool> = sqlx::query_scalar(waiting).fetch_one(&mut conn).await;
        if blocked.unwrap_or_else(|error| panic!("{error}")) {
            return;
        }
    }
}

/// Returns the template's name. Where it exists it is whole: it gets its name only after it was migrated.
async fn ensure_template<E: Display>(
    admin: &mut PgConnection,
    server: &PgConnectOptions,
    schema: &str,
    migrate: impl AsyncFnOnce(&str) -> Result<(), E>,
) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!((1..=40).contains(&schema.len()) && schema.chars().all(plain), "not a plain name: {schema:?}");
    let template = format!("punctual_template_{schema}");
    if exists(admin, &template).await {
        return template;
    }
    lock(admin, "SELECT pg_advisory_lock($1)").await;
    if !exists(admin, &template).await {
        // A test that was killed may have left one half made.
        let making = format!("punctual_making_{schema}");
        execute(admin, format!("DROP DATABASE IF EXISTS {making} WITH (FORCE)")).await;
        execute(admin, format!("CREATE DATABASE {making} TEMPLATE template0")).await;
        if let Err(error) = migrate(&url_of(server, &making)).await {
            panic!("could not migrate the template database: {error}");
        }
        // Nobody may be connected to a database that is renamed or copied, so from here on nobody can be.
        execute(admin, format!("ALTER DATABASE {making} WITH ALLOW_CONNECTIONS false")).await;
        disconnect_all(admin, &making).await;
        execute(admin, format!("ALTER DATABASE {making} RENAME TO {template}")).await;
    }
    lock(admin, "SELECT pg_advisory_unlock($1)").await;
    template
}

async fn exists(admin: &mut PgConnection, name: &str) -> bool {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)")
        .bind(name)
        .fetch_one(admin)
        .await
        .unwrap_or_else(|error| panic!("could not look for the database {name}: {error}"))
}

async fn lock(admin: &mut PgConnection, statement: &'static str) {
    let done = sqlx::query(statement).bind(TEMPLATE_LOCK).execute(admin).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// Waits for each connection to end, at most five seconds.
async fn disconnect_all(admin: &mut PgConnection, name: &str) {
    let done = sqlx::query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1")
        .bind(name)
        .execute(admin)
        .await;
    done.unwrap_or_else(|error| panic!("could not end the connections to {name}: {error}"));
}

/// For statements about databases, whose names cannot be bound; all names are made in this file.
async fn execute(admin: &mut PgConnection, statement: String) {
    let done = sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(admin).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn server() -> PgConnectOptions {
    let Ok(url) = std::env::var(POSTGRES_VARIABLE) else {
        panic!("this test needs PostgreSQL and {POSTGRES_VARIABLE} is not set: run `cargo xtask test`")
    };
    PgConnectOptions::from_str(&url).unwrap_or_else(|error| panic!("{POSTGRES_VARIABLE}: {error}"))
}

async fn connect(server: &PgConnectOptions) -> PgConnection {
    let connected = PgConnection::connect_with(server).await;
    connected.unwrap_or_else(|error| {
        panic!("no PostgreSQL at {POSTGRES_VARIABLE} ({error}): run `cargo xtask test`")
    })
}

fn url_of(server: &PgConnectOptions, database: &str) -> String {
    server.clone().database(database).to_url_lossy().to_string()
}

/// Runs statements of a test's own on a database.
///
/// # Panics
/// When they fail.
pub async fn run_on(url: &str, statements: &str) {
    let conn = PgConnection::connect(url).await;
    let mut conn = conn.unwrap_or_else(|error| panic!("no connection: {error}"));
    let run = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut conn).await;
    run.unwrap_or_else(|error| panic!("{statements}: {error}"));
}

/// Runs statements as a migration does: in one transaction that gives way to sessions that are in its way. Returns whether it
/// was committed.
///
/// # Panics
/// When they fail for another reason.
pub async fn migrate_on(url: &str, statements: &str) -> bool {
    let conn = PgConnection::connect(url).await;
    let mut conn = conn.unwrap_or_else(|error| panic!("no connection: {error}"));
    let statements = format!("BEGIN; SET LOCAL lock_timeout = 2000; {statements}; COMMIT");
    let run = sqlx::raw_sql(AssertSqlSafe(statements.clone())).execute(&mut conn).await;
    let Err(error) = run else { return true };
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    assert!(code.is_some_and(|code| matches!(&*code, "55P03" | "40P01")), "{statements}: {error}");
    false
}

/// A session with an open transaction, such as that of a backup; it ends with this value.
pub struct OpenTransaction(PgConnection);

impl OpenTransaction {
    /// Begins a transaction with these statements, under this name.
    ///
    /// # Panics
    /// When they fail.
    pub async fn begin(url: &str, name: &str, statements: &str) -> Self {
        let options = PgConnectOptions::from_str(url).unwrap_or_else(|error| panic!("{error}"));
        let conn = options.application_name(name).connect().await;
        let mut conn = conn.unwrap_or_else(|error| panic!("no connection: {error}"));
        let statements = format!("BEGIN; {statements}");
        let run = sqlx::raw_sql(AssertSqlSafe(statements.clone())).execute(&mut conn).await;
        run.unwrap_or_else(|error| panic!("{statements}: {error}"));
        Self(conn)
    }

    /// Runs further statements in it.
    ///
    /// # Panics
    /// When they fail.
    pub async fn run(&mut self, statements: &str) {
        let run = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut self.0).await;
        run.unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    /// Ends it, and what it has locked is free.
    ///
    /// # Panics
    /// When the server is gone.
    pub async fn end(self) {
        self.0.close().await.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn create_a_table(url: &str) -> Result<(), sqlx::Error> {
        let mut conn = PgConnection::connect(url).await?;
        sqlx::raw_sql("CREATE TABLE things (id BIGINT PRIMARY KEY)").execute(&mut conn).await?;
        // Left open on purpose: the template must be usable all the same.
        std::mem::forget(conn);
        Ok(())
    }

    async fn things(url: &str) -> i64 {
        let mut conn = PgConnection::connect(url).await.unwrap();
        sqlx::query_scalar("SELECT count(*) FROM things").fetch_one(&mut conn).await.unwrap()
    }

    /// A schema of this process's own, so that the template is really made.
    fn schema(test: &str) -> String {
        format!("{test}_{}", std::process::id())
    }

    #[tokio::test]
    async fn each_database_is_a_fresh_copy_of_what_was_migrated() {
        let schema = schema("copy");
        let first = TestDatabase::migrated(&schema, create_a_table).await;
        let mut conn = PgConnection::connect(first.url()).await.unwrap();
        sqlx::raw_sql("INSERT INTO things VALUES (1)").execute(&mut conn).await.unwrap();

        let second = TestDatabase::migrated(&schema, async |_: &str| Err("must not migrate twice")).await;
        assert_eq!(things(second.url()).await, 0);
        assert_eq!(things(first.url()).await, 1);
    }

    #[tokio::test]
    async fn many_that_ask_at_once_share_one_migration() {
        let schema = schema("share");
        let asking: Vec<_> = (0..8)
            .map(|_| {
                let schema = schema.clone();
                // A thread each, as nextest gives each test a process.
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    let mut migrations = 0;
                    runtime.block_on(async {
                        let database = TestDatabase::migrated(&schema, async |url: &str| {
                            migrations += 1;
                            create_a_table(url).await
                        })
                        .await;
                        assert_eq!(things(database.url()).await, 0);
                    });
                    migrations
                })
            })
            .collect();
        let migrations: i32 = asking.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(migrations, 1);
    }

    #[tokio::test]
    async fn a_template_half_made_is_made_again() {
        let schema = schema("half");
        let failing = schema.clone();
        let killed = tokio::spawn(async move {
            TestDatabase::migrated(&failing, async |url: &str| {
                create_a_table(url).await.unwrap();
                Err("power cut")
            })
            .await
        });
        assert!(killed.await.is_err());
        let database = TestDatabase::migrated(&schema, create_a_table).await;
        assert_eq!(things(database.url()).await, 0);
    }

    #[tokio::test]
    async fn a_dropped_database_is_gone_even_with_a_connection_open() {
        let database = TestDatabase::empty().await;
        let url = database.url().to_owned();
        let _open = PgConnection::connect(&url).await.unwrap();
        drop(database);
        let error = PgConnection::connect(&url).await.unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{error}");
    }
}
