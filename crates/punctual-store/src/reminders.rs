//! The tables of reminders: settings, whether measures meet their thresholds, what is counted under what, how far
//! changes and reconciliations have got.

pub mod changes;
pub mod children;
pub mod reconciliations;
pub mod settings;
pub mod states;

crate::db::statements![; changes, children, reconciliations, settings, states];
