//! One conformance suite: each statement function, on both databases, grouped by table.

mod attempts;
mod browse;
mod consumers;
mod definitions;
mod delivery_policy;
mod doctor;
mod every_plan;
mod foreign;
mod kept;
mod notifications;
mod online_steps;
mod open;
mod operations;
mod pages;
mod people;
mod personal_columns;
mod plans;
mod pooler;
mod receipts;
mod reminders;
mod reports;
mod retention_rules;
mod schema;
mod schema_rules;
mod silence;
mod site_buffer;
mod surveys;
mod transactions;
mod upgrade;
mod uploads;
mod work;

/// A connection to a bed's file, behind the store's back.
fn sqlite_file(bed: &punctual_testkit::TestBed) -> rusqlite::Connection {
    rusqlite::Connection::open(bed.url().strip_prefix("sqlite:").unwrap()).unwrap()
}
