//! The paths: what becomes due, and what is decided when it is. Each is thin: its own table and decisions, and no
//! loop, lease, retry, timer or sender of its own.

pub mod digests;
pub mod due_window;
pub mod messages;
pub mod operations;
pub mod reminders;
pub mod reports;
pub mod rollout;
pub mod schedules;
pub mod surveys;

use std::sync::Arc;

use punctual_engine::Path;

/// Every path that ships, with links to surveys as on a server without configuration.
pub fn all() -> Vec<Arc<dyn Path>> {
    let providers = Arc::new(reminders::Providers::built_in());
    all_with(providers, surveys::SurveyLink::default(), reports::built_in())
}

/// Every path that ships, with reminders by these providers, links to surveys that lead there, and reports from these
/// sources.
pub fn all_with(
    providers: Arc<reminders::Providers>,
    survey_link: surveys::SurveyLink,
    report_sources: Arc<punctual_reports::Sources>,
) -> Vec<Arc<dyn Path>> {
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
