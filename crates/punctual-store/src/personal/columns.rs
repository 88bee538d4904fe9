//! Every text column of the schema, and the effect of an erasure on it.
//!
//! A test compares this list with the schema. Another test writes a person into every column to be erased, through the API, and
//! searches the whole database after the erasure.

/// What a column of text may hold about a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Nothing about a person.
    Nothing,
    /// Something that an erasure empties, removes or rewrites.
    Erased,
    /// Something that goes by itself within the time that its retention says.
    Expires,
    /// Something that stays on purpose.
    Kept,
}

/// Columns of any table that hold the same wherever they are: codes of the program, names of definitions, numbers and
/// digests. None is a text that a caller writes about a person.
const ANYWHERE: &[&str] = &[
    "action",
    "adapter",
    "all_day_at",
    "business_unit",
    "business_units",
    "category",
    "channel",
    "channel_type",
    "channels",
    "client",
    "code",
    "consumer",
    "default_locale",
    "digest",
    "earlier_reason",
    "event_type",
    "from_status",
    "guid",
    "handling",
    "hash",
    "host",
    "instance_public_id",
    "integration_id",
    "issuer",
    "kind",
    "list_name",
    "local_date",
    "locale",
    "media_type",
    "metric",
    "node",
    "notification_id",
    "outcome",
    "part",
    "password_hash",
    "policy",
    "provider",
    "provider_id",
    "public_id",
    "reason_code",
    "recipient_locale",
    "retry",
    "role",
    "rule_type",
    "salt",
    "scopes",
    "secret_hash",
    "setting_id",
    "signature",
    "site",
    "source_site",
    "source_type",
    "status",
    "subject_kind",
    "subject_type",
    "subscriber",
    "suppress",
    "template",
    "time_zone",
    "to_status",
    "topic",
    "trigger_id",
    "trigger_type",
    "version",
    "workflow",
];

/// Columns that hold nothing about a person, by why.
const NOTHING: &[(&str, &[&str])] = &[
    (
        "names and settings of definitions, which people of the installation write for all recipients",
        &[
            "api_keys.name",
            "business_units.name",
            "channels.key",
            "channels.settings",
            "consumers.key",
            "consumers.settings",
            "facts.name",
            "lists.name",
            "operations_organisations.name",
            "operations_organisations.rules",
            "operations_rules.rule",
            "operations_rules.texts",
            "reminder_settings.name",
            "reminder_settings.child_type",
            "reminder_settings.key_base",
            "report_subscriptions.name",
            "rollouts.checklist",
            "rollouts.scope",
            "rollouts.scope_id",
            "rollouts.selected_runs",
            "subscribers.events",
            "subscribers.filter",
            "subscribers.key",
            "subscribers.settings",
            "survey_versions.schema_json",
            "surveys.draft",
            "surveys.name",
            "template_versions.name",
            "template_versions.variants",
            "templates.name",
            "templates.variants",
        ],
    ),
    (
        "ids that the program makes, and digests",
        &[
            "api_keys.id",
            "audit_chain.head_digest",
            "audit_chain.start_digest",
            "audit_seals.payload_hash",
            "batches.ids",
            "erasures.id",
            "erasures.subject_hash",
            "inbox.id",
            "invitations.user_id",
            "operations_rules.id",
            "operations_rules.subject_id",
            "reminder_sends.setting_id",
            "reminder_settings.id",
            "saved_views.owner",
            "sessions.key_id",
            "sessions.user_id",
            "sign_in_links.key_id",
            "survey_instances.unique_hash",
            "survey_responses.submission_id",
            "tombstones.id",
            "upload_uses.upload_id",
            "uploads.id",
            "users.id",
            "work.input_hash",
            "work.trace",
        ],
    ),
    (
        "what the program writes about its own work: counts, places, outcomes",
        &[
            "address_index_parts.after_text",
            "consumer_health.state",
            "erasures.erased",
            "erasures.found",
            "erasures.units",
            "facts.value",
            "limiters.key",
            "limiters.state",
            "notifications.failover",
            "operations_rules.last_sent_occurrence",
            "operations_rules.occurrence",
            "operations_rules.sync_error",
            "operations_rules.sync_status",
            "reconciliations.report",
            "reminder_states.value",
            "run_ownership.coordinates",
            "run_ownership.owner",
            "run_ownership.owner_version",
            "run_records.details",
            "run_records.reason",
            "saved_views.page",
            "skipped_targets.detail",
            "skipped_targets.reason",
            "suppressions.reason",
            "work.result",
            "survey_answers.question_id",
            "schema_steps.name",
        ],
    ),
    (
        "machines, sites and scripts",
        &[
            "api_keys.site",
            "notifications.source_instance",
            "notifications.source_script",
            "site_agents.agent",
            "site_events.detail",
            "site_events.id",
            "sites.id",
        ],
    ),
];

/// Columns that an erasure empties, removes or rewrites.
const ERASED: &[&str] = &[
    "attempts.answer",
    "attempts.target",
    "audit.data",
    "audit.reason",
    "audit.subject_id",
    "circuits.last_error",
    "digest_items.body",
    "digest_items.person",
    "digest_items.subject",
    "digest_items.target",
    "inbox.body",
    "inbox.person",
    "inbox.subject",
    "lists.targets",
    "messages.attachments",
    "messages.body",
    "messages.context",
    "messages.envelope",
    "messages.html",
    "messages.subject",
    "messages.targets",
    "messages.type_data",
    "notifications.attachments",
    "notifications.body",
    "notifications.context",
    "notifications.envelope",
    "notifications.html",
    "notifications.last_error",
    "notifications.subject",
    "notifications.targets",
    "notifications.type_data",
    "operations_people.addresses",
    "operations_people.email",
    "operations_people.name",
    "outbox_events.payload",
    "owed.last_error",
    "preference_addresses.address",
    "preference_addresses.person",
    "preferences.definition",
    "preferences.person",
    "receipts.detail",
    "receipts.target",
    "reminder_settings.definition",
    "report_subscriptions.definition",
    "saved_views.name",
    "saved_views.pairs",
    "sent_days.person",
    "sessions.device",
    "skipped_targets.target",
    "sources.state",
    "suppressions.address",
    "suppressions.detail",
    "survey_answers.value",
    "survey_attempts.answer",
    "survey_instances.customer_ref",
    "survey_instances.metadata",
    "survey_instances.recipient_address",
    "survey_responses.agent_id",
    "survey_responses.answers",
    "users.email",
    "users.name",
    "users.subject",
    "work.input",
    "work.key",
    "work.trace_blob",
    "work_keys.key",
];

/// Columns that go by themselves, and when.
const EXPIRES: &[(&str, &[&str])] = &[
    (
        "a day: answers to idempotency keys",
        &["idempotency_keys.body", "idempotency_keys.key", "idempotency_keys.owner"],
    ),
    (
        "30 days: ids of events from brokers, and the health of their consumers",
        &["consumer_health.last_error", "known_events.event_id", "known_events.scope", "known_events.source"],
    ),
];

/// Columns that stay, and why.
const KEPT: &[(&str, &[&str])] = &[
    (
        "who did something is what an audit is for",
        &[
            "audit.actor",
            "erasures.requested_by",
            "suppressions.source",
            "survey_instances.triggered_by",
            "survey_versions.published_by",
        ],
    ),
    (
        "ids and keys that callers choose: they are known to the caller's own systems, and nothing may be sent twice for one",
        &[
            "messages.id",
            "notifications.id",
            "operations_feeds.owner_id",
            "operations_feeds.owner_type",
            "operations_organisations.id",
            "operations_people.id",
            "operations_subjects.creator",
            "operations_subjects.ical_series",
            "operations_subjects.ical_uid",
            "operations_subjects.id",
            "operations_subjects.organisation",
            "operations_subjects.people",
            "outbox_events.work_key",
            "reminder_changes.after_id",
            "reminder_changes.after_type",
            "reminder_changes.key",
            "reminder_children.child_id",
            "reminder_children.parent_id",
            "reminder_states.scope",
            "reminder_states.source_id",
            "report_subscriptions.owner",
            "run_ownership.key",
            "run_ownership.subject_id",
            "run_records.key",
            "run_records.subject_id",
            "sources.source_id",
            "upload_uses.used_by",
            "work.source_id",
            "business_units.id",
        ],
    ),
    (
        "titles of events and tasks, which belong to all who take part; whoever keeps them changes them",
        &["operations_subjects.description", "operations_subjects.location", "operations_subjects.title"],
    ),
];

/// What a column may hold about a person; nothing where the column is not known here.
pub fn holds(table: &str, column: &str) -> Option<Holds> {
    let name = format!("{table}.{column}");
    let among = |groups: &[(&str, &[&str])]| groups.iter().any(|(_, names)| names.contains(&name.as_str()));
    if ERASED.contains(&name.as_str()) {
        Some(Holds::Erased)
    } else if among(EXPIRES) {
        Some(Holds::Expires)
    } else if among(KEPT) {
        Some(Holds::Kept)
    } else if among(NOTHING) || ANYWHERE.contains(&column) {
        Some(Holds::Nothing)
    } else {
        None
    }
}

/// Every column that is named here with its table.
pub fn named() -> Vec<&'static str> {
    let groups = [NOTHING, EXPIRES, KEPT].into_iter().flatten();
    groups.flat_map(|(_, names)| names.iter()).chain(ERASED).copied().collect()
}
