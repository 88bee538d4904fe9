//! The workflows through the whole pipeline, on both databases. Schedules are published to listeners, so their tests are
//! with the listeners of the engine.

mod author;
mod commands;
mod event_intake;
mod messages;
mod operations;
mod reminders;
mod reports;
mod survey_results;
