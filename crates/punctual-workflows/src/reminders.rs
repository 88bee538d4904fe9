//! Reminders: what is due, by date and by threshold, kept true while the business changes.
//!
//! A source event becomes work rows in [`sink`]; at its moment a row is decided again on fresh state in [`due`]. What a
//! setting wants of a source is one pure function, [`evaluate`], whoever asks: an event, a changed setting
//! ([`changes`]), a plan, reconciliation, or somebody who wants to know why ([`why`]). How a kind of trigger, recipient
//! or delivery works is a provider, found by its name (see [`providers`]). What people do is in [`commands`].

pub mod changes;
pub mod children;
mod closed;
pub mod commands;
pub mod delivery;
pub mod due;
pub mod evaluate;
pub mod external;
pub mod forecast;
pub mod immediate;
pub mod load;
pub mod looks;
pub mod outlook;
pub mod providers;
pub mod recipients;
pub mod reconcile;
pub mod sample;
pub mod setting;
pub mod sink;
mod titles;
pub mod triggers;
pub mod why;
pub mod zones;

pub use providers::Providers;
pub use setting::Setting;
pub use sink::ReminderSink;

/// The kind of a reminder's work row.
pub const KIND: &str = "reminder";
