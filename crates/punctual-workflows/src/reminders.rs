//! Reminders by date and by threshold, kept up to date while the sources change.
//!
//! [`sink`] turns source events into work rows; [`due`] decides a row again, on current state, when it is due. One pure
//! function, [`evaluate`], computes the reminders of a setting for a source. Events, changed settings ([`changes`]), plans,
//! reconciliation and explanations ([`why`]) all use it. Triggers, recipients and deliveries are providers, found by name (see
//! [`providers`]). [`commands`] has the actions of people.

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
