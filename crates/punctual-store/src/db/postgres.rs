//! PostgreSQL: how its pool is opened, and what it says about keeping what it acknowledged.

mod decode;

use std::time::Duration;

use sqlx::{
    ConnectOptions, PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};

use super::{Durability, Result, StoreOptions, open::keeps_at_a_power_cut};
use crate::StoreError;

pub(super) async fn open(options: &StoreOptions) -> Result<PgPool> {
    let connect: PgConnectOptions = options.url.parse().map_err(|_| StoreError::Url)?;
    let connect = connect
        .application_name("punctual")
        // Compiling a plan takes longer than any statement here runs. Statements go by their keys; a plan that reads a
        // whole table is only ever made for one that was just created, and would stay while it grows.
        .options([
            ("synchronous_commit", "on"),
            ("jit", "off"),
            ("enable_seqscan", "off"),
            ("default_transaction_isolation", "read committed"),
        ])
        .disable_statement_logging();
    PgPoolOptions::new()
        .max_connections(options.connections)
        .min_connections(1)
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(30))
        .connect_with(connect)
        .await
        .map_err(StoreError::connection)
}

pub(super) async fn durability(pool: &PgPool) -> Result<Durability> {
    let settings: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, setting FROM pg_settings \
         WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name",
    )
    .fetch_all(pool)
    .await
    .map_err(StoreError::connection)?;
    let version: String = sqlx::query_scalar("SELECT current_setting('server_version')")
        .fetch_one(pool)
        .await
        .map_err(StoreError::connection)?;
    let survives_power_loss = keeps_at_a_power_cut(&settings);
    Ok(Durability { database: "postgres", version, settings, survives_power_loss })
}

/// A connection of its own on which other nodes' wake-ups arrive.
pub(super) async fn listen(pool: &PgPool) -> Result<PgListener> {
    let mut listener = PgListener::connect_with(pool).await.map_err(StoreError::connection)?;
    listener.listen(crate::wake::NOTIFY_CHANNEL).await.map_err(StoreError::connection)?;
    Ok(listener)
}
