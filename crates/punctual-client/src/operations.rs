//! One line for each operation, by the name that the OpenAPI document gives it. Generated from docs/openapi.json by
//! clients/generate; do not edit.

use punctual_wire as w;
use serde_json::Value;

use crate::table::{operations, queries};

queries! {
    /// What `create_blob` may be asked for.
    CreateBlobQuery {
        "businessUnit" business_unit: Option<String>,
        "contentType" content_type: Option<String>,
    }
    /// What `explain_decisions` may be asked for.
    ExplainDecisionsQuery {
        "sourceType" source_type: String,
        "sourceId" source_id: String,
        "date" date: String,
    }
    /// What `get_forecast` may be asked for.
    GetForecastQuery {
        "from" from: Option<String>,
        "to" to: Option<String>,
        "businessUnit" business_unit: Option<String>,
    }
    /// What `get_inbox` may be asked for.
    GetInboxQuery {
        "unread" unread: Option<bool>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `get_notification_kpis` may be asked for.
    GetNotificationKpisQuery {
        "site" site: Option<String>,
    }
    /// What `get_readiness` may be asked for.
    GetReadinessQuery {
        "write" write: Option<String>,
    }
    /// What `get_report_subscription_upcoming` may be asked for.
    GetReportSubscriptionUpcomingQuery {
        "count" count: Option<i64>,
    }
    /// What `get_rollouts_report_subscription_comparison` may be asked for.
    GetRolloutsReportSubscriptionComparisonQuery {
        "from" from: Option<String>,
        "to" to: Option<String>,
    }
    /// What `get_rollouts_report_subscription_figures` may be asked for.
    GetRolloutsReportSubscriptionFiguresQuery {
        "from" from: Option<String>,
        "to" to: Option<String>,
    }
    /// What `get_search` may be asked for.
    GetSearchQuery {
        "q" q: String,
    }
    /// What `get_survey_results` may be asked for.
    GetSurveyResultsQuery {
        "triggerId" trigger_id: Option<String>,
        "from" from: Option<String>,
        "to" to: Option<String>,
    }
    /// What `get_survey_results_csv` may be asked for.
    GetSurveyResultsCsvQuery {
        "triggerId" trigger_id: Option<String>,
        "from" from: Option<String>,
        "to" to: Option<String>,
    }
    /// What `get_survey_results_xlsx` may be asked for.
    GetSurveyResultsXlsxQuery {
        "triggerId" trigger_id: Option<String>,
        "from" from: Option<String>,
        "to" to: Option<String>,
    }
    /// What `import_calendar` may be asked for.
    ImportCalendarQuery {
        "creator" creator: String,
        "organisation" organisation: Option<String>,
        "businessUnit" business_unit: Option<String>,
    }
    /// What `list_audit` may be asked for.
    ListAuditQuery {
        "from" from: Option<String>,
        "to" to: Option<String>,
        "actor" actor: Option<String>,
        "action" action: Option<String>,
        "subject" subject: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// Which part of a list is meant.
    Paging {
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_notifications` may be asked for.
    ListNotificationsQuery {
        "status" status: Option<String>,
        "type" type_: Option<String>,
        "site" site: Option<String>,
        "list" list: Option<String>,
        "from" from: Option<String>,
        "to" to: Option<String>,
        "stuck" stuck: Option<bool>,
        "q" q: Option<String>,
        "work" work: Option<i64>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_operations_events` may be asked for.
    ListOperationsEventsQuery {
        "from" from: Option<String>,
        "to" to: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_operations_rules` may be asked for.
    ListOperationsRulesQuery {
        "subjectId" subject_id: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_operations_tasks` may be asked for.
    ListOperationsTasksQuery {
        "from" from: Option<String>,
        "to" to: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_report_subscription_automation_runs` may be asked for.
    ListReportSubscriptionAutomationRunsQuery {
        "status" status: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_suppressions` may be asked for.
    ListSuppressionsQuery {
        "channelType" channel_type: Option<String>,
        "reason" reason: Option<String>,
        "q" q: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_survey_instances` may be asked for.
    ListSurveyInstancesQuery {
        "status" status: Option<String>,
        "triggerId" trigger_id: Option<String>,
        "customerRef" customer_ref: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
    /// What `list_work` may be asked for.
    ListWorkQuery {
        "status" status: Option<String>,
        "kind" kind: Option<String>,
        "hold" hold: Option<bool>,
        "sourceType" source_type: Option<String>,
        "sourceId" source_id: Option<String>,
        "from" from: Option<String>,
        "to" to: Option<String>,
        "cursor" cursor: Option<String>,
        "limit" limit: Option<i64>,
    }
}

operations! {
    /// Say that a person has seen what did not arrive.
    acknowledge_notification: POST "/api/v1/notifications/" id "/acknowledge" {w::work::ActionRequest} => json w::notifications::Notification;
    /// Stop a row for good.
    cancel_work: POST "/api/v1/work/" id "/cancel" {w::work::ActionRequest} => json w::work::Work;
    /// Whether the address is ours.
    confirm_callback: GET "/api/v1/callbacks/" channel "" => bytes Vec<u8>;
    /// Upload a file that messages can attach.
    create_blob: POST "/api/v1/blobs" [CreateBlobQuery] (Vec<u8>) => json w::attachments::Blob;
    /// Plan the erasure of a person, or carry it out.
    create_erasure: POST "/api/v1/erasures" {w::erasures::ErasureRequest} => json w::erasures::Erasure;
    /// Make a key.
    create_key: POST "/api/v1/keys" {w::keys::ApiKeyRequest} => json w::keys::ApiKeyCreated;
    /// Send a message later, or an array of at most 1,000.
    create_message: POST "/api/v1/messages" {w::messages::MessageRequest} => json w::messages::MessageAccepted;
    /// Send a message later, or an array of at most 1,000. Many at once, each with its outcome.
    create_messages: POST "/api/v1/messages" {[w::messages::MessageRequest]} => json w::Batch<w::batch::BatchItem>;
    /// Send a notification, or an array of at most 1,000.
    create_notification: POST "/api/v1/notifications" {w::notifications::NotificationRequest} => json w::notifications::NotificationAccepted;
    /// Send a notification, or an array of at most 1,000. Many at once, each with its outcome.
    create_notifications: POST "/api/v1/notifications" {[w::notifications::NotificationRequest]} => json w::Batch<w::batch::BatchItem>;
    /// Create an event.
    create_operations_event: POST "/api/v1/operations/events" {w::operations::subjects::NewEvent} => json w::operations::subjects::Event;
    /// Make the secret link to the calendar of an organisation or a person.
    create_operations_feed: POST "/api/v1/operations/feeds" {w::operations::feeds::FeedRequest} => json w::operations::feeds::Feed;
    /// Add a rule to an event or task.
    create_operations_rule: POST "/api/v1/operations/rules" {w::operations::rules::RuleRequest} => json w::operations::rules::Rule;
    /// Create a task.
    create_operations_task: POST "/api/v1/operations/tasks" {w::operations::subjects::NewTask} => json w::operations::subjects::Task;
    /// A link to a person's own page.
    create_preference_link: POST "/api/v1/preferences/" person "/link" => json w::delivery_policy::PreferenceLink;
    /// Make a reminder setting.
    create_reminder_setting: POST "/api/v1/reminder-settings" {w::reminders::ReminderSettingRequest} => json w::reminders::ReminderSetting;
    /// Subscribe to a report.
    create_report_subscription: POST "/api/v1/report-subscriptions" {w::reports::ReportSubscriptionRequest} => json w::reports::ReportSubscription;
    /// Run a report now.
    create_report_subscription_automation_run: POST "/api/v1/report-subscriptions/" guid "/automation-runs" {w::reports::RunNowRequest} => json w::reports::RunNowAnswer;
    /// Make a schedule, or an array of at most 1,000.
    create_schedule: POST "/api/v1/schedules" {w::schedules::ScheduleRequest} => json w::schedules::Schedule;
    /// Make a schedule, or an array of at most 1,000. Many at once, each with its outcome.
    create_schedules: POST "/api/v1/schedules" {[w::schedules::ScheduleRequest]} => json w::Batch<w::batch::BatchItem>;
    /// Make a site.
    create_site: POST "/api/v1/sites" {w::sites::SiteRequest} => json w::sites::SiteToken;
    /// Write a survey.
    create_survey: POST "/api/v1/surveys" {w::surveys::SurveyRequest} => json w::surveys::Survey;
    /// Send a survey by hand, to at most 10,000 people.
    create_survey_campaign: POST "/api/v1/surveys/" id "/campaigns" {w::surveys::CampaignRequest} => json w::surveys::Ingested;
    /// Add a person and invite them.
    create_user: POST "/api/v1/users" {w::users::UserRequest} => json w::users::UserInvited;
    /// Invite a person again.
    create_user_invitation: POST "/api/v1/users/" id "/invitation" => json w::users::UserInvited;
    /// Remove a business unit.
    delete_business_unit: DELETE "/api/v1/business-units/" id "" => json ();
    /// Remove a channel.
    delete_channel: DELETE "/api/v1/channels/" key "" => json ();
    /// Remove a consumer.
    delete_consumer: DELETE "/api/v1/consumers/" key "" => json ();
    /// Revoke a key.
    delete_key: DELETE "/api/v1/keys/" id "" => json ();
    /// Remove a list.
    delete_list: DELETE "/api/v1/lists/" name "" => json ();
    /// Cancel a message.
    delete_message: DELETE "/api/v1/messages/" id "" => json ();
    /// Delete an event; what was scheduled for it stops.
    delete_operations_event: DELETE "/api/v1/operations/events/" id "" => json ();
    /// End the link to a calendar.
    delete_operations_feed: DELETE "/api/v1/operations/feeds/" owner_type "/" owner_id "" => json ();
    /// Remove an organisation.
    delete_operations_organisation: DELETE "/api/v1/operations/organisations/" id "" => json ();
    /// Remove a person.
    delete_operations_person: DELETE "/api/v1/operations/people/" id "" => json ();
    /// Delete a rule.
    delete_operations_rule: DELETE "/api/v1/operations/rules/" id "" => json ();
    /// Delete a task; what was scheduled for it stops.
    delete_operations_task: DELETE "/api/v1/operations/tasks/" id "" => json ();
    /// Forget what a person wants.
    delete_preference: DELETE "/api/v1/preferences/" person "" => json ();
    /// Remove a reminder setting.
    delete_reminder_setting: DELETE "/api/v1/reminder-settings/" id "" => json ();
    /// Remove a subscription.
    delete_report_subscription: DELETE "/api/v1/report-subscriptions/" guid "" => json ();
    /// End a rollout: the migration is complete and the old scheduler is no longer used.
    delete_rollouts_report_subscription: DELETE "/api/v1/rollouts/report-subscription/" scope "/" id "" => json ();
    /// Cancel a schedule.
    delete_schedule: DELETE "/api/v1/schedules/" id "" => json ();
    /// Say that a source is gone.
    delete_source: DELETE "/api/v1/sources/" type_ "/" id "" => json ();
    /// Remove a subscriber.
    delete_subscriber: DELETE "/api/v1/subscribers/" key "" => json ();
    /// Take an address off the list.
    delete_suppression: DELETE "/api/v1/suppressions/" channel_type "/" address "" => json ();
    /// Take a link back.
    delete_survey_instance: DELETE "/api/v1/surveys/" id "/instances/" public_id "" => json ();
    /// Remove a template.
    delete_template: DELETE "/api/v1/templates/" name "" => json ();
    /// Remove a person.
    delete_user: DELETE "/api/v1/users/" id "" => json ();
    /// Give a parked notification up.
    discard_notification: POST "/api/v1/notifications/" id "/discard" {w::work::ActionRequest} => json w::notifications::Notification;
    /// Give up what was due when the database was restored.
    discard_restore: POST "/api/v1/restore/discard" {w::work::ReasonRequest} => json w::restore::RestoreSettled;
    /// Why something was sent about a source on a day, or why not.
    explain_decisions: GET "/api/v1/why" [ExplainDecisionsQuery] => json w::reminders::Why;
    /// Export every definition.
    export_definitions: GET "/api/v1/definitions" => json w::definitions::DefinitionsDocument;
    /// What is stored about a person.
    export_personal_data: POST "/api/v1/personal-data/export" {w::erasures::PersonalDataRequest} => json w::erasures::PersonalData;
    /// Everything that needs attention, newest first.
    get_attention: GET "/api/v1/attention" => json w::attention::Attention;
    /// Look at a business unit.
    get_business_unit: GET "/api/v1/business-units/" id "" => json w::business_units::BusinessUnit;
    /// Look at a channel.
    get_channel: GET "/api/v1/channels/" key "" => json w::channels::Channel;
    /// Look at a consumer.
    get_consumer: GET "/api/v1/consumers/" key "" => json w::consumers::Consumer;
    /// Get the delivery policy.
    get_delivery_policy: GET "/api/v1/delivery-policy" => json w::delivery_policy::DeliveryPolicy;
    /// An erasure with its certificate, or a planned one.
    get_erasure: GET "/api/v1/erasures/" id "" => json w::erasures::Erasure;
    /// What will be sent, by local day.
    get_forecast: GET "/api/v1/forecast" [GetForecastQuery] => json w::reminders::Forecast;
    /// Whether the process lives.
    get_health: GET "/healthz" => json Value;
    /// Messages to the holder of the key, newest first.
    get_inbox: GET "/api/v1/inbox" [GetInboxQuery] => json w::inbox::Inbox;
    /// Look at a list.
    get_list: GET "/api/v1/lists/" name "" => json w::lists::List;
    /// Look at a message.
    get_message: GET "/api/v1/messages/" id "" => json w::messages::Message;
    /// Figures for Prometheus.
    get_metrics: GET "/metrics" => bytes Vec<u8>;
    /// Look at a notification.
    get_notification: GET "/api/v1/notifications/" id "" => json w::notifications::Notification;
    /// The figures of the outbox, of all of it and of each site.
    get_notification_kpis: GET "/api/v1/notifications/kpis" [GetNotificationKpisQuery] => json w::notifications::Kpis;
    /// The timeline of a notification, from its cause to the provider's answer.
    get_notification_timeline: GET "/api/v1/notifications/" id "/timeline" => json w::timeline::Timeline;
    /// Look at an event.
    get_operations_event: GET "/api/v1/operations/events/" id "" => json w::operations::subjects::Event;
    /// Look at an organisation.
    get_operations_organisation: GET "/api/v1/operations/organisations/" id "" => json w::operations::organisations::Organisation;
    /// Look at a person.
    get_operations_person: GET "/api/v1/operations/people/" id "" => json w::operations::people::Person;
    /// Read a rule; a deleted rule stays readable.
    get_operations_rule: GET "/api/v1/operations/rules/" id "" => json w::operations::rules::Rule;
    /// Look at a task.
    get_operations_task: GET "/api/v1/operations/tasks/" id "" => json w::operations::subjects::Task;
    /// Whose token this is.
    get_own_site: GET "/api/v1/site" => json w::sites::SiteIdentity;
    /// What a person wants.
    get_preference: GET "/api/v1/preferences/" person "" => json w::delivery_policy::Preference;
    /// Read what a link asks.
    get_public_survey: GET "/api/v1/public/surveys/" public_id "" => json w::surveys::public::PublicSurvey;
    /// Whether the database answers.
    get_readiness: GET "/readyz" [GetReadinessQuery] => json Value;
    /// Look at a reminder setting.
    get_reminder_setting: GET "/api/v1/reminder-settings/" id "" => json w::reminders::ReminderSetting;
    /// Ask who owns a run.
    get_report_run_ownership: GET "/api/v1/report-runs/" key "/ownership" => json w::reports::Ownership;
    /// Look at a subscription.
    get_report_subscription: GET "/api/v1/report-subscriptions/" guid "" => json w::reports::ReportSubscription;
    /// Look at a run.
    get_report_subscription_automation_run: GET "/api/v1/report-subscriptions/" guid "/automation-runs/" run "" => json w::reports::AutomationRun;
    /// A file of a run.
    get_report_subscription_automation_run_artefact: GET "/api/v1/report-subscriptions/" guid "/automation-runs/" run "/artefacts/" name "" => bytes Vec<u8>;
    /// The coordinates of a run.
    get_report_subscription_automation_run_coordinates: GET "/api/v1/report-subscriptions/" guid "/automation-runs/" run "/coordinates" => json w::reports::Coordinates;
    /// Who owns a run.
    get_report_subscription_automation_run_ownership: GET "/api/v1/report-subscriptions/" guid "/automation-runs/" run "/ownership" => json w::reports::Ownership;
    /// The next runs of a subscription, in its local time.
    get_report_subscription_upcoming: GET "/api/v1/report-subscriptions/" guid "/upcoming" [GetReportSubscriptionUpcomingQuery] => json w::reports::Upcoming;
    /// The last restore of the database, and what waits because of it.
    get_restore: GET "/api/v1/restore" => json w::restore::Restores;
    /// How long each table keeps its rows, and what the last purge removed.
    get_retention: GET "/api/v1/retention" => json w::retention::Retention;
    /// Look at a rollout.
    get_rollouts_report_subscription: GET "/api/v1/rollouts/report-subscription/" scope "/" id "" => json w::rollouts::Rollout;
    /// The expected runs against those that the old scheduler has taken.
    get_rollouts_report_subscription_comparison: GET "/api/v1/rollouts/report-subscription/" scope "/" id "/comparison" [GetRolloutsReportSubscriptionComparisonQuery] => json w::rollouts::Comparison;
    /// Conflicts, failures and latency by stage.
    get_rollouts_report_subscription_figures: GET "/api/v1/rollouts/report-subscription/" scope "/" id "/figures" [GetRolloutsReportSubscriptionFiguresQuery] => json w::rollouts::RolloutFigures;
    /// The time of the clock.
    get_sandbox_clock: GET "/api/v1/sandbox/clock" => json w::sandbox::SandboxClock;
    /// Look at a schedule.
    get_schedule: GET "/api/v1/schedules/" id "" => json w::schedules::Schedule;
    /// Search messages, work, sources, people and settings.
    get_search: GET "/api/v1/search" [GetSearchQuery] => json w::search::SearchResults;
    /// Look at a site.
    get_site: GET "/api/v1/sites/" site "" => json w::sites::Site;
    /// The status of a notification of this site.
    get_site_notification: GET "/api/v1/sites/" site "/notifications/" id "" => json w::sites::SiteNotificationStatus;
    /// Look at a source.
    get_source: GET "/api/v1/sources/" type_ "/" id "" => json w::sources::Source;
    /// Look at a subscriber.
    get_subscriber: GET "/api/v1/subscribers/" key "" => json w::subscribers::Subscriber;
    /// Look at an address.
    get_suppression: GET "/api/v1/suppressions/" channel_type "/" address "" => json w::suppressions::Suppression;
    /// Look at a survey.
    get_survey: GET "/api/v1/surveys/" id "" => json w::surveys::Survey;
    /// Look at an instance.
    get_survey_instance: GET "/api/v1/surveys/" id "/instances/" public_id "" => json w::surveys::instances::Instance;
    /// What the answers come to.
    get_survey_results: GET "/api/v1/surveys/" id "/results" [GetSurveyResultsQuery] => json w::surveys::results::SurveyResults;
    /// Every answer as CSV.
    get_survey_results_csv: GET "/api/v1/surveys/" id "/results.csv" [GetSurveyResultsCsvQuery] => bytes Vec<u8>;
    /// Every answer as a spreadsheet.
    get_survey_results_xlsx: GET "/api/v1/surveys/" id "/results.xlsx" [GetSurveyResultsXlsxQuery] => bytes Vec<u8>;
    /// Look at a template.
    get_template: GET "/api/v1/templates/" name "" => json w::templates::Template;
    /// Look at a person.
    get_user: GET "/api/v1/users/" id "" => json w::users::User;
    /// Look at a work row.
    get_work: GET "/api/v1/work/" id "" => json w::work::Work;
    /// How a work row came to where it is.
    get_work_trace: GET "/api/v1/work/" id "/trace" => json w::work::WorkTrace;
    /// Hand over at most 10,000 notifications.
    hand_over_notifications: POST "/api/v1/sites/" site "/notifications" {w::sites::SiteHandOver} => json w::Batch<w::sites::SiteAck>;
    /// Import a calendar file.
    import_calendar: POST "/api/v1/operations/import" [ImportCalendarQuery] (Vec<u8>) => json w::operations::feeds::Imported;
    /// Import definitions, or see what an import would change.
    import_definitions: POST "/api/v1/definitions" {Value} => json w::definitions::DefinitionsPlan;
    /// The same, at the address that other systems know.
    ingest_survey_triggers_as_known: POST "/api/Surveys/Triggers/ingest" {w::surveys::IngestRequest} => json w::surveys::Ingested;
    /// Tell events that surveys may ask about, at most 10,000.
    ingest_surveys_triggers: POST "/api/v1/surveys/triggers/ingest" {w::surveys::IngestRequest} => json w::surveys::Ingested;
    /// What people, keys and the engine did, newest first.
    list_audit: GET "/api/v1/audit" [ListAuditQuery] => json w::Page<w::audit::AuditEntry>;
    /// All business units, by id.
    list_business_units: GET "/api/v1/business-units" [Paging] => json w::Page<w::business_units::BusinessUnit>;
    /// How channels did in the last hour.
    list_channel_health: GET "/api/v1/channels/health" => json w::Page<w::channels::ChannelHealth>;
    /// All channels, by key.
    list_channels: GET "/api/v1/channels" => json w::Page<w::channels::Channel>;
    /// All consumers, by key, with how each is.
    list_consumers: GET "/api/v1/consumers" => json w::Page<w::consumers::Consumer>;
    /// Runs of a subscription that have failed, are held or wait for a retry.
    list_failed_automation_runs: GET "/api/v1/report-subscriptions/" guid "/automation-runs/failed" [Paging] => json w::Page<w::reports::RunSummary>;
    /// The failed queue over all subscriptions.
    list_failed_report_runs: GET "/api/v1/report-runs/failed" [Paging] => json w::Page<w::reports::RunSummary>;
    /// List keys.
    list_keys: GET "/api/v1/keys" => json w::Page<w::keys::ApiKey>;
    /// All lists, by name.
    list_lists: GET "/api/v1/lists" [Paging] => json w::Page<w::lists::List>;
    /// List messages, newest first.
    list_messages: GET "/api/v1/messages" [Paging] => json w::Page<w::messages::Message>;
    /// All nodes, by name.
    list_nodes: GET "/api/v1/nodes" => json w::nodes::Nodes;
    /// List notifications, newest first.
    list_notifications: GET "/api/v1/notifications" [ListNotificationsQuery] => json w::Page<w::notifications::Notification>;
    /// List events, in the order they were made, or those of a stretch of time by their end.
    list_operations_events: GET "/api/v1/operations/events" [ListOperationsEventsQuery] => json w::Page<w::operations::subjects::Event>;
    /// All organisations, by id.
    list_operations_organisations: GET "/api/v1/operations/organisations" [Paging] => json w::Page<w::operations::organisations::Organisation>;
    /// All people, by id.
    list_operations_people: GET "/api/v1/operations/people" [Paging] => json w::Page<w::operations::people::Person>;
    /// List rules.
    list_operations_rules: GET "/api/v1/operations/rules" [ListOperationsRulesQuery] => json w::Page<w::operations::rules::Rule>;
    /// List tasks, in the order they were made, or those of a stretch of time by their end.
    list_operations_tasks: GET "/api/v1/operations/tasks" [ListOperationsTasksQuery] => json w::Page<w::operations::subjects::Task>;
    /// Subscriptions whose owner or recipients are gone.
    list_orphaned_report_subscriptions: GET "/api/v1/report-subscriptions/orphans" [Paging] => json w::Page<w::reports::OrphanedSubscription>;
    /// What happened, newest first, with its deliveries.
    list_outbox_events: GET "/api/v1/outbox-events" [Paging] => json w::Page<w::subscribers::OutboxEvent>;
    /// What people want, by name.
    list_preferences: GET "/api/v1/preferences" [Paging] => json w::Page<w::delivery_policy::Preference>;
    /// The latest runs of a subscription.
    list_recent_automation_runs: GET "/api/v1/report-subscriptions/" guid "/automation-runs/recent" [Paging] => json w::Page<w::reports::RunSummary>;
    /// The latest runs over all subscriptions.
    list_recent_report_runs: GET "/api/v1/report-runs/recent" [Paging] => json w::Page<w::reports::RunSummary>;
    /// Every trigger provider, and how far it has looked.
    list_reconciliations: GET "/api/v1/reconciliations" => json w::Page<w::reminders::Reconciliation>;
    /// All reminder settings.
    list_reminder_settings: GET "/api/v1/reminder-settings" [Paging] => json w::Page<w::reminders::ReminderSetting>;
    /// The runs of a subscription, newest first.
    list_report_subscription_automation_runs: GET "/api/v1/report-subscriptions/" guid "/automation-runs" [ListReportSubscriptionAutomationRunsQuery] => json w::Page<w::reports::RunSummary>;
    /// All subscriptions.
    list_report_subscriptions: GET "/api/v1/report-subscriptions" [Paging] => json w::Page<w::reports::ReportSubscription>;
    /// All rollouts of report subscriptions.
    list_rollouts_report_subscription: GET "/api/v1/rollouts/report-subscription" => json w::Page<w::rollouts::Rollout>;
    /// What the channels were given, oldest first.
    list_sandbox_sent: GET "/api/v1/sandbox/sent" => json w::sandbox::SentMessages;
    /// List schedules, newest first.
    list_schedules: GET "/api/v1/schedules" [Paging] => json w::Page<w::schedules::Schedule>;
    /// A site's event log, newest first.
    list_site_events: GET "/api/v1/sites/" site "/events" [Paging] => json w::Page<w::sites::SiteEvent>;
    /// All sites, by id.
    list_sites: GET "/api/v1/sites" [Paging] => json w::Page<w::sites::Site>;
    /// The sources of one type, by id.
    list_sources: GET "/api/v1/sources/" type_ "" [Paging] => json w::Page<w::sources::Source>;
    /// All subscribers, by key.
    list_subscribers: GET "/api/v1/subscribers" => json w::Page<w::subscribers::Subscriber>;
    /// The list, by type and address.
    list_suppressions: GET "/api/v1/suppressions" [ListSuppressionsQuery] => json w::Page<w::suppressions::Suppression>;
    /// List the instances of a survey, newest first.
    list_survey_instances: GET "/api/v1/surveys/" id "/instances" [ListSurveyInstancesQuery] => json w::Page<w::surveys::instances::Instance>;
    /// List surveys, newest first.
    list_surveys: GET "/api/v1/surveys" [Paging] => json w::Page<w::surveys::Survey>;
    /// All templates, by name.
    list_templates: GET "/api/v1/templates" [Paging] => json w::Page<w::templates::Template>;
    /// List people, by email.
    list_users: GET "/api/v1/users" [Paging] => json w::Page<w::users::User>;
    /// List work, newest first.
    list_work: GET "/api/v1/work" [ListWorkQuery] => json w::Page<w::work::Work>;
    /// Say that the page is shown to a person.
    mark_survey_opened: POST "/api/v1/public/surveys/" public_id "/opened" => json ();
    /// Pause a subscription: what waits is deactivated.
    pause_report_subscription: POST "/api/v1/report-subscriptions/" guid "/pause" {w::work::ActionRequest} => json w::reports::ReportSubscription;
    /// See what a new reminder setting would do.
    plan_new_reminder_setting: POST "/api/v1/reminder-settings/plan" {w::reminders::ReminderSettingRequest} => json w::reminders::ReminderPlan;
    /// See what a change of a reminder setting would do.
    plan_reminder_setting: POST "/api/v1/reminder-settings/" id "/plan" {Value} => json w::reminders::ReminderPlan;
    /// See what other times would remove.
    plan_retention: POST "/api/v1/retention/plan" {w::retention::RetentionSettings} => json w::retention::RetentionPlan;
    /// Show a template as a recipient would see it.
    preview_template: POST "/api/v1/templates/" name "/preview" {w::templates::PreviewRequest} => json w::templates::Preview;
    /// Publish a survey.
    publish_survey: POST "/api/v1/surveys/" id "/publish" => json w::surveys::SurveyPublished;
    /// Purge now; with `confirm`, also what the daily run held back.
    purge: POST "/api/v1/retention/purge" {w::retention::PurgeRequest} => json w::retention::PurgeRun;
    /// Define a business unit.
    put_business_unit: PUT "/api/v1/business-units/" id "" {w::business_units::BusinessUnitRequest} => json w::business_units::BusinessUnit;
    /// Define a channel.
    put_channel: PUT "/api/v1/channels/" key "" {w::channels::ChannelRequest} => json w::channels::Channel;
    /// Define a consumer.
    put_consumer: PUT "/api/v1/consumers/" key "" {w::consumers::ConsumerRequest} => json w::consumers::Consumer;
    /// Set the delivery policy.
    put_delivery_policy: PUT "/api/v1/delivery-policy" {w::delivery_policy::DeliveryPolicy} => json w::delivery_policy::DeliveryPolicy;
    /// Define a list.
    put_list: PUT "/api/v1/lists/" name "" {w::lists::ListRequest} => json w::lists::List;
    /// Keep an organisation.
    put_operations_organisation: PUT "/api/v1/operations/organisations/" id "" {w::operations::organisations::OrganisationRequest} => json w::operations::organisations::Organisation;
    /// Keep a person.
    put_operations_person: PUT "/api/v1/operations/people/" id "" {w::operations::people::PersonRequest} => json w::operations::people::Person;
    /// Say what a person wants.
    put_preference: PUT "/api/v1/preferences/" person "" {w::delivery_policy::PreferenceRequest} => json w::delivery_policy::Preference;
    /// Define a reminder setting, whole.
    put_reminder_setting: PUT "/api/v1/reminder-settings/" id "" {w::reminders::ReminderSettingRequest} => json w::reminders::ReminderSetting;
    /// Define a subscription, whole.
    put_report_subscription: PUT "/api/v1/report-subscriptions/" guid "" {w::reports::ReportSubscriptionRequest} => json w::reports::ReportSubscription;
    /// Set how long is kept.
    put_retention: PUT "/api/v1/retention" {w::retention::RetentionSettings} => json w::retention::Retention;
    /// Set the stage of a rollout.
    put_rollouts_report_subscription: PUT "/api/v1/rollouts/report-subscription/" scope "/" id "" {w::rollouts::RolloutRequest} => json w::rollouts::Rollout;
    /// Make a channel misbehave.
    put_sandbox_channel: PUT "/api/v1/sandbox/channels/" key "" {w::sandbox::MisbehaviourRequest} => json ();
    /// Move the clock, and run what is ready.
    put_sandbox_clock: PUT "/api/v1/sandbox/clock" {w::sandbox::ClockRequest} => json w::sandbox::SandboxClock;
    /// Tell the state of a source.
    put_source: PUT "/api/v1/sources/" type_ "/" id "" {w::sources::SourceRequest} => json w::sources::Source;
    /// Tell the states of at most 10,000 sources.
    put_sources: POST "/api/v1/sources" {w::Batch<w::sources::NamedSourceRequest>} => json w::Batch<w::sources::SourceOutcome>;
    /// Define a subscriber.
    put_subscriber: PUT "/api/v1/subscribers/" key "" {w::subscribers::SubscriberRequest} => json w::subscribers::Subscriber;
    /// Put an address on the list.
    put_suppression: PUT "/api/v1/suppressions/" channel_type "/" address "" {w::suppressions::SuppressionRequest} => json w::suppressions::Suppression;
    /// Change a survey.
    put_survey: PUT "/api/v1/surveys/" id "" {w::surveys::SurveyRequest} => json w::surveys::Survey;
    /// Define a template.
    put_template: PUT "/api/v1/templates/" name "" {w::templates::TemplateRequest} => json w::templates::Template;
    /// Mark a message as read.
    read_inbox_message: POST "/api/v1/inbox/" id "/read" => json w::inbox::InboxMessage;
    /// Mark every message up to one as read.
    read_whole_inbox: POST "/api/v1/inbox/read" {w::inbox::InboxRead} => json ();
    /// What a provider reports about messages.
    receive_callback: POST "/api/v1/callbacks/" channel "" (Vec<u8>) => json Value;
    /// The same, for providers that sign nothing: the address itself is the secret.
    receive_secret_callback: POST "/api/v1/callbacks/" channel "/" secret "" (Vec<u8>) => json Value;
    /// Seal every secret again.
    rekey_secrets: POST "/api/v1/secrets/rekey" {w::secrets::RekeyRequest} => json w::secrets::Rekey;
    /// Send what was due when the database was restored.
    release_restore: POST "/api/v1/restore/release" {w::work::ReasonRequest} => json w::restore::RestoreSettled;
    /// Let a held row go on.
    release_work: POST "/api/v1/work/" id "/release" {w::work::ActionRequest} => json w::work::Work;
    /// Schedule a rule again that is out of step.
    repair_operations_rule: POST "/api/v1/operations/rules/" id "/repair" => json w::operations::rules::Rule;
    /// Report on a run.
    report_on_report_run: PATCH "/api/v1/report-runs/" key "/ownership" {Value} => json w::reports::Ownership;
    /// Answer.
    respond_to_survey: POST "/api/v1/public/surveys/" public_id "/responses" {w::surveys::public::ResponseRequest} => json w::surveys::public::ResponseTaken;
    /// The same, at the address that other systems know.
    respond_to_survey_instance: POST "/SurveyInstances/" public_id "/responses" {w::surveys::public::ResponseRequest} => json w::surveys::public::ResponseTaken;
    /// Resume a subscription: its next run is planned.
    resume_report_subscription: POST "/api/v1/report-subscriptions/" guid "/resume" {w::work::ActionRequest} => json w::reports::ReportSubscription;
    /// Try a parked notification again.
    retry_notification: POST "/api/v1/notifications/" id "/retry" {w::work::ActionRequest} => json w::notifications::Notification;
    /// Retry the delivery to one subscriber.
    retry_outbox_event_delivery: POST "/api/v1/outbox-events/" id "/deliveries/" subscriber "/retry" => json w::subscribers::OutboxEvent;
    /// Try a run again.
    retry_report_subscription_automation_run: POST "/api/v1/report-subscriptions/" guid "/automation-runs/" run "/retry" {w::work::ActionRequest} => json w::reports::AutomationRun;
    /// Retry all failed deliveries of a subscriber.
    retry_subscriber: POST "/api/v1/subscribers/" key "/retry" {w::work::ReasonRequest} => json w::subscribers::RetriedDeliveries;
    /// Try a row again.
    retry_work: POST "/api/v1/work/" id "/retry" {w::work::ActionRequest} => json w::work::Work;
    /// Revoke a site's token.
    revoke_site: POST "/api/v1/sites/" site "/revoke" => json w::sites::Site;
    /// Go back to the old scheduler.
    rollback_rollouts_report_subscription: POST "/api/v1/rollouts/report-subscription/" scope "/" id "/rollback" {w::rollouts::RollBackRequest} => json w::rollouts::RolledBack;
    /// Give a webhook a new signing secret.
    rotate_channel_secret: POST "/api/v1/channels/" key "/rotate-secret" => json w::channels::RotatedSecret;
    /// Give a site a new token.
    rotate_site_token: POST "/api/v1/sites/" site "/rotate" {w::sites::SiteRotateRequest} => json w::sites::SiteToken;
    /// Let a provider look now, or see what it would do.
    run_reconciliation: POST "/api/v1/reconciliations/" provider "/run" {w::reminders::RunRequest} => json w::reminders::ReconciliationRun;
    /// Report an event, or an array of at most 1,000.
    send_events: POST "/api/v1/events" {[w::events::EventRequest]} => json w::Batch<w::events::EventOutcome>;
    /// Take a run.
    take_report_run_ownership: POST "/api/v1/report-runs/" key "/ownership" {w::reports::OwnershipRequest} => json w::reports::Ownership;
    /// Send a test message over a channel.
    test_channel: POST "/api/v1/channels/" key "/test" {w::channels::ChannelTestRequest} => json w::channels::ChannelTest;
    /// Run one pass over every stage and return the counts.
    tick_scheduler: POST "/api/v1/scheduler/tick" {w::scheduler::TickRequest} => json w::scheduler::Tick;
    /// Hand a subscription over to another owner.
    transfer_report_subscription: POST "/api/v1/report-subscriptions/" guid "/transfer" {w::reports::TransferRequest} => json w::reports::ReportSubscription;
    /// Change a message that is pending.
    update_message: PATCH "/api/v1/messages/" id "" {Value} => json w::messages::Message;
    /// Change an event; a changed date moves its messages.
    update_operations_event: PATCH "/api/v1/operations/events/" id "" {Value} => json w::operations::subjects::Event;
    /// Change, pause or resume a rule.
    update_operations_rule: PATCH "/api/v1/operations/rules/" id "" {Value} => json w::operations::rules::Rule;
    /// Change a task; a changed date moves its messages.
    update_operations_task: PATCH "/api/v1/operations/tasks/" id "" {Value} => json w::operations::subjects::Task;
    /// Change some fields of a reminder setting.
    update_reminder_setting: PATCH "/api/v1/reminder-settings/" id "" {Value} => json w::reminders::ReminderSetting;
    /// Change some fields of a subscription.
    update_report_subscription: PATCH "/api/v1/report-subscriptions/" guid "" {Value} => json w::reports::ReportSubscription;
    /// Move a schedule to another moment.
    update_schedule: PATCH "/api/v1/schedules/" id "" {w::schedules::ScheduleChange} => json w::schedules::Schedule;
    /// Change whose a site is.
    update_site: PATCH "/api/v1/sites/" site "" {Value} => json w::sites::Site;
    /// Change a person.
    update_user: PATCH "/api/v1/users/" id "" {Value} => json w::users::User;
}

crate::table::pages! {
    /// Messages to the holder of the key, newest first. Page after page.
    iter_get_inbox: "/api/v1/inbox" [GetInboxQuery] => w::inbox::InboxMessage;
    /// What people, keys and the engine did, newest first. Page after page.
    iter_audit: "/api/v1/audit" [ListAuditQuery] => w::audit::AuditEntry;
    /// All business units, by id. Page after page.
    iter_business_units: "/api/v1/business-units" [Paging] => w::business_units::BusinessUnit;
    /// Runs of a subscription that have failed, are held or wait for a retry. Page after page.
    iter_failed_automation_runs: "/api/v1/report-subscriptions/" guid "/automation-runs/failed" [Paging] => w::reports::RunSummary;
    /// The failed queue over all subscriptions. Page after page.
    iter_failed_report_runs: "/api/v1/report-runs/failed" [Paging] => w::reports::RunSummary;
    /// All lists, by name. Page after page.
    iter_lists: "/api/v1/lists" [Paging] => w::lists::List;
    /// List messages, newest first. Page after page.
    iter_messages: "/api/v1/messages" [Paging] => w::messages::Message;
    /// List notifications, newest first. Page after page.
    iter_notifications: "/api/v1/notifications" [ListNotificationsQuery] => w::notifications::Notification;
    /// List events, in the order they were made, or those of a stretch of time by their end. Page after page.
    iter_operations_events: "/api/v1/operations/events" [ListOperationsEventsQuery] => w::operations::subjects::Event;
    /// All organisations, by id. Page after page.
    iter_operations_organisations: "/api/v1/operations/organisations" [Paging] => w::operations::organisations::Organisation;
    /// All people, by id. Page after page.
    iter_operations_people: "/api/v1/operations/people" [Paging] => w::operations::people::Person;
    /// List rules. Page after page.
    iter_operations_rules: "/api/v1/operations/rules" [ListOperationsRulesQuery] => w::operations::rules::Rule;
    /// List tasks, in the order they were made, or those of a stretch of time by their end. Page after page.
    iter_operations_tasks: "/api/v1/operations/tasks" [ListOperationsTasksQuery] => w::operations::subjects::Task;
    /// Subscriptions whose owner or recipients are gone. Page after page.
    iter_orphaned_report_subscriptions: "/api/v1/report-subscriptions/orphans" [Paging] => w::reports::OrphanedSubscription;
    /// What happened, newest first, with its deliveries. Page after page.
    iter_outbox_events: "/api/v1/outbox-events" [Paging] => w::subscribers::OutboxEvent;
    /// What people want, by name. Page after page.
    iter_preferences: "/api/v1/preferences" [Paging] => w::delivery_policy::Preference;
    /// The latest runs of a subscription. Page after page.
    iter_recent_automation_runs: "/api/v1/report-subscriptions/" guid "/automation-runs/recent" [Paging] => w::reports::RunSummary;
    /// The latest runs over all subscriptions. Page after page.
    iter_recent_report_runs: "/api/v1/report-runs/recent" [Paging] => w::reports::RunSummary;
    /// All reminder settings. Page after page.
    iter_reminder_settings: "/api/v1/reminder-settings" [Paging] => w::reminders::ReminderSetting;
    /// The runs of a subscription, newest first. Page after page.
    iter_report_subscription_automation_runs: "/api/v1/report-subscriptions/" guid "/automation-runs" [ListReportSubscriptionAutomationRunsQuery] => w::reports::RunSummary;
    /// All subscriptions. Page after page.
    iter_report_subscriptions: "/api/v1/report-subscriptions" [Paging] => w::reports::ReportSubscription;
    /// List schedules, newest first. Page after page.
    iter_schedules: "/api/v1/schedules" [Paging] => w::schedules::Schedule;
    /// A site's event log, newest first. Page after page.
    iter_site_events: "/api/v1/sites/" site "/events" [Paging] => w::sites::SiteEvent;
    /// All sites, by id. Page after page.
    iter_sites: "/api/v1/sites" [Paging] => w::sites::Site;
    /// The sources of one type, by id. Page after page.
    iter_sources: "/api/v1/sources/" type_ "" [Paging] => w::sources::Source;
    /// The list, by type and address. Page after page.
    iter_suppressions: "/api/v1/suppressions" [ListSuppressionsQuery] => w::suppressions::Suppression;
    /// List the instances of a survey, newest first. Page after page.
    iter_survey_instances: "/api/v1/surveys/" id "/instances" [ListSurveyInstancesQuery] => w::surveys::instances::Instance;
    /// List surveys, newest first. Page after page.
    iter_surveys: "/api/v1/surveys" [Paging] => w::surveys::Survey;
    /// All templates, by name. Page after page.
    iter_templates: "/api/v1/templates" [Paging] => w::templates::Template;
    /// List people, by email. Page after page.
    iter_users: "/api/v1/users" [Paging] => w::users::User;
    /// List work, newest first. Page after page.
    iter_work: "/api/v1/work" [ListWorkQuery] => w::work::Work;
}
