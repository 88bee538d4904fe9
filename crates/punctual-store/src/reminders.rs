//! The tables of reminders: settings, whether measures meet their thresholds, what is counted under what, what was sent, how far
//! changes and reconciliations have got.

pub mod changes;
pub mod children;
pub mod reconciliations;
pub mod sends;
pub mod settings;
pub mod states;

crate::db::statements![; changes, children, reconciliations, sends, settings, states];
