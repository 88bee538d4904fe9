//! The workflows: what becomes due, and what is decided when it is. Each is thin: it has its own tables and decisions, and
//! no loop, lease, retry, timer or sender.

pub mod business_units;
pub mod digests;
pub mod due_window;
mod faults;
pub mod messages;
pub mod operations;
pub mod reminders;
pub mod reports;
pub mod rollout;
pub mod schedules;
pub mod subscribers;
pub mod surveys;

use std::sync::Arc;

use punctual_engine::Workflow;

/// Returns all built-in workflows, with links to surveys as on a server without configuration.
pub fn all() -> Vec<Arc<dyn Workflow>> {
    let providers = Arc::new(reminders::Providers::built_in());
    all_with(providers, surveys::SurveyLink::default(), reports::built_in())
}

/// Returns all built-in workflows, with these providers for reminders, this link to surveys and these sources for reports.
pub fn all_with(
    providers: Arc<reminders::Providers>,
    survey_link: surveys::SurveyLink,
    report_sources: Arc<punctual_reports::Sources>,
) -> Vec<Arc<dyn Workflow>> {
    vec![
        Arc::new(schedules::Schedules),
        Arc::new(messages::Messages),
        Arc::new(digests::Digests),
        Arc::new(operations::Operations),
        Arc::new(reminders::due::Reminders::new(providers.clone())),
        Arc::new(reminders::changes::Changes::new(providers.clone())),
        Arc::new(reminders::reconcile::Reconcile::new(providers.clone())),
        Arc::new(reminders::external::Externals::new(providers)),
        Arc::new(surveys::Surveys::new(survey_link)),
        Arc::new(reports::Reports::new(report_sources)),
    ]
}
