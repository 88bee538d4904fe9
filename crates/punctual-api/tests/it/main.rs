//! The API as its clients see it: every test goes through the router, on SQLite and on PostgreSQL.

mod attention;
mod bad_input;
mod client;
mod definitions;
mod document;
mod idempotency;
mod keys;
mod pages;
mod reminder_changes;
mod reminder_providers;
mod reminder_races;
mod reminder_repair;
mod reminder_settings;
mod reminder_thresholds;
mod reminders;
mod rig_reminders;
mod scopes;
mod server;
mod sites;
mod sources;
mod stories;
mod units;
