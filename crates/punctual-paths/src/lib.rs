//! The paths: what becomes due, and what is decided when it is. Each is thin: its own table and decisions, and no
//! loop, lease, retry, timer or sender of its own.

pub mod digests;
pub mod due_window;
pub mod messages;
pub mod operations;
pub mod reminders;
pub mod schedules;
pub mod surveys;

use std::sync::Arc;

use punctual_engine::Path;

/// Every path that ships, with links to surveys as on a server without configuration.
pub fn all() -> Vec<Arc<dyn Path>> {
    all_with(Arc::new(reminders::Providers::built_in()), surveys::SurveyLink::default())
}

/// Every path that ships, with reminders by these providers and links to surveys that lead there.
pub fn all_with(
    providers: Arc<reminders::Providers>,
    survey_link: surveys::SurveyLink,
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
    ]
}
