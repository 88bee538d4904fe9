//! The tables of reminders: settings, threshold states, counted children, sent reminders, and the progress of changes and
//! reconciliations.

pub mod changes;
pub mod children;
pub mod reconciliations;
pub mod sends;
pub mod settings;
pub mod states;

crate::db::statements![; changes, children, reconciliations, sends, settings, states];
