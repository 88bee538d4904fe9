//! Operations: events and tasks, the people involved, the rules that announce them, and links to their calendars.

pub mod feeds;
pub mod organisations;
pub mod people;
pub mod rules;
pub mod subjects;

crate::db::statements![; feeds, organisations, people, rules, subjects];
