//! The console as people meet it: through the router on both databases, and in a real Chromium.

mod act;
mod audit;
mod browser;
mod chromium;
mod client;
mod hardening;
mod live;
mod operations;
mod outbox;
mod pages;
mod people;
mod preferences;
mod receipts;
mod reminders;
mod reports;
mod sessions;
mod settings;
mod settings_access;
mod settings_browser;
mod sign_on;
mod survey_conditions;
mod survey_page;
mod surveys;
mod units;
mod users;
