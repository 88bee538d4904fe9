//! The only SQL of Punctual: one file per table, each statement beside the function that binds it.
//!
//! Statement functions take `&mut Conn` and never open a transaction; callers do, with `Store::begin`.
//! Hot statements take sets. SQL never asks for the time: it is an argument.

pub mod api_keys;
pub mod attempts;
pub mod attention;
pub mod audit;
pub mod batches;
pub mod blobs;
pub mod business_units;
pub mod channels;
pub mod consumers;
pub mod database_clock;
mod db;
pub mod delivery_policy;
pub mod doctor;
pub mod error;
pub mod facts;
pub mod foreign;
pub mod idempotency;
pub mod inbox;
pub mod invitations;
pub mod known_events;
pub mod lists;
pub mod maintenance;
pub mod messages;
mod migrate;
mod named;
pub mod nodes;
pub mod notifications;
pub mod operations;
pub mod outbox;
pub mod owed;
pub mod personal;
mod private;
pub mod quotas;
mod ready;
pub mod receipts;
pub mod reminders;
pub mod report_subscriptions;
pub mod report_troubles;
pub mod restored;
pub mod retention;
pub mod rollouts;
pub mod run_ownership;
pub mod run_records;
pub mod saved_views;
pub mod schema;
pub mod search;
pub mod sessions;
pub mod sign_on_answers;
pub mod site_buffer;
pub mod site_events;
pub mod sites;
pub mod skipped_targets;
pub mod sources;
pub mod subscribers;
pub mod suppressions;
pub mod survey_attempts;
pub mod survey_instances;
pub mod survey_responses;
pub mod survey_results;
pub mod surveys;
pub mod templates;
pub mod uploads;
pub mod users;
pub mod verify;
pub mod wake;
mod walk;
pub mod work;

pub use db::{
    Conn, CopyStep, CrashPoint, Deadlines, Durability, Faults, Lane, Reader, SqliteCopy, Store, StoreOptions,
    Tx, WakeListener,
};
pub use error::StoreError;
pub use migrate::{Schema, schema_digest};
pub use named::{Named, Owned};
pub use private::private_folder;
pub use ready::After;
pub use wake::{Stage, Wake};
pub use walk::Stretch;

db::statements![
    ; api_keys, attempts, attention, audit, batches, business_units, channels, consumers, database_clock, db,
    delivery_policy, doctor, facts, idempotency, inbox, invitations, known_events, lists, messages, nodes,
    notifications, operations, outbox, owed, personal, quotas, receipts, reminders, report_subscriptions, report_troubles, restored, retention,
    rollouts, run_ownership, run_records, saved_views, search, sessions, sign_on_answers, site_events, sites, skipped_targets,
    sources,
    subscribers, suppressions, survey_attempts, survey_instances, survey_responses, survey_results, surveys,
    templates, uploads, users, verify, work
];

/// Every statement that runs on PostgreSQL: its name and its text. For the test of their plans.
#[doc(hidden)]
pub fn statements() -> Vec<(&'static str, &'static str)> {
    listed().into_iter().map(db::Sql::on_postgres).collect()
}
