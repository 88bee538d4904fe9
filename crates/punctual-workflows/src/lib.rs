//! The workflows, which decide what becomes due and what is sent. Each has its own tables and decisions, and no loop, lease,
//! retry, timer or sender.

pub mod business_units;
pub mod definitions;
pub mod digests;
pub mod due_window;
pub mod event_intake;
mod faults;
pub mod inline;
pub mod messages;
pub mod operations;
mod recurrence;
pub mod reminders;
pub mod reports;
pub mod rollout;
pub mod schedules;
pub mod sources;
pub mod subscribers;
pub mod surveys;

use std::sync::Arc;

use punctual_engine::Registration;

/// Returns all built-in workflows, with links to surveys as on a server without configuration.
pub fn all() -> Vec<Registration> {
    let providers = Arc::new(reminders::Providers::built_in());
    all_with(providers, surveys::Surveys::default(), reports::built_in())
}

/// Returns all built-in workflows, with these providers for reminders, this workflow of surveys and these sources for reports.
pub fn all_with(
    providers: Arc<reminders::Providers>,
    surveys: surveys::Surveys,
    report_sources: Arc<punctual_reports::Sources>,
) -> Vec<Registration> {
    vec![
        Registration::of(schedules::Schedules).decides_alone().into(),
        Registration::of(messages::Messages).loads().into(),
        Registration::of(digests::Digests).loads().into(),
        Registration::of(operations::Operations)
            .writes_rows()
            .loads()
            .follows_deliveries()
            .watches_attempts()
            .maintains()
            .into(),
        Registration::of(reminders::due::Reminders::new(providers.clone())).writes_rows().loads().into(),
        Registration::of(reminders::changes::Changes::new(providers.clone())).writes_rows().loads().into(),
        Registration::of(reminders::reconcile::Reconcile::new(providers.clone()))
            .writes_rows()
            .loads()
            .into(),
        Registration::of(reminders::external::Externals::new(providers)).prepares().into(),
        Registration::of(surveys).writes_rows().loads().follows_deliveries().maintains().into(),
        Registration::of(reports::Reports::new(report_sources)).writes_rows().prepares().maintains().into(),
    ]
}
