//! The console as people meet it: through the router on both databases, and in a real Chromium.

mod act;
mod audit;
mod browser;
mod chromium;
mod client;
mod hardening;
mod live;
mod oidc_provider;
mod operations;
mod outbox;
mod pages;
mod people;
mod preferences;
mod receipts;
mod reminders;
mod reports;
mod sessions;
mod sign_on;
mod sign_on_page;
mod survey_conditions;
mod survey_page;
mod surveys;
mod units;
mod users;
