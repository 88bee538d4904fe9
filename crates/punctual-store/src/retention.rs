//! The retention rule of every table. The purge, the API, the console and the documentation use these rules, and a test fails
//! for a table without one.

mod ended;
mod short_lived;
mod work;

pub use ended::{
    EndedInstance, Place, delete_events, delete_records, delete_tombstones, ended_instances,
    expired_suppressions, old_events, old_tombstones, planned_erasures, strip_sources,
};
pub use short_lived::{forget_answers, forget_events, forget_inbox, forget_receipts};
pub use work::{EndedWork, PURGED_INPUT, ended_work, strip_messages, strip_work};

/// A time that an installation may set, with its name in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Window {
    Messages,
    Files,
    Work,
    Surveys,
    Audit,
    Ids,
}

impl Window {
    pub const ALL: [Self; 6] =
        [Self::Messages, Self::Files, Self::Work, Self::Surveys, Self::Audit, Self::Ids];

    /// The setting that says how long.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Messages => "keep_for",
            Self::Files => "keep_files_for",
            Self::Work => "keep_work_for",
            Self::Surveys => "keep_surveys_for",
            Self::Audit => "keep_audit_for",
            Self::Ids => "keep_ids_for",
        }
    }

    /// The same in the API.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Messages => "keepForDays",
            Self::Files => "keepFilesForDays",
            Self::Work => "keepWorkForDays",
            Self::Surveys => "keepSurveysForDays",
            Self::Audit => "keepAuditForDays",
            Self::Ids => "keepIdsForDays",
        }
    }

    /// The name that people see.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Messages => "Finished messages",
            Self::Files => "Files of reports",
            Self::Work => "Inputs and traces of finished work",
            Self::Surveys => "Answers and recipients of surveys",
            Self::Audit => "Audit",
            Self::Ids => "Ids of removed messages",
        }
    }
}

/// How long a table keeps its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A row is removed this long after it ended.
    Removed(Window),
    /// A row loses the named content this long after it ended; the rest stays.
    Stripped(Window, &'static str),
    /// A row is removed after a fixed time.
    Short(&'static str),
    /// A row is removed with the row of another table that it belongs to.
    With(&'static str),
    /// A row is removed when the thing it describes ends.
    AtItsEnd,
    /// A row stays until a person deletes it.
    Defined,
    /// The number of rows does not grow with the number of messages.
    Few,
    /// A row is never removed.
    ForGood,
}

impl Rule {
    /// The time setting that applies, if an installation can change it.
    pub const fn window(self) -> Option<Window> {
        match self {
            Self::Removed(window) | Self::Stripped(window, _) => Some(window),
            Self::Short(_) | Self::With(_) | Self::AtItsEnd | Self::Defined | Self::Few | Self::ForGood => {
                None
            }
        }
    }
}

/// The rule of a table and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRule {
    pub table: &'static str,
    pub rule: Rule,
    pub why: &'static str,
}

const fn rule(table: &'static str, rule: Rule, why: &'static str) -> TableRule {
    TableRule { table, rule, why }
}

use Rule::{AtItsEnd, Defined, Few, ForGood, Removed, Short, Stripped, With};
use Window::{Audit, Files, Ids, Messages, Surveys, Work};

/// Every table of the pipeline, by name.
pub const TABLES: &[TableRule] = &[
    rule("address_index", With("notifications"), "hashes of addresses, removed with the rows they point to"),
    rule("address_index_parts", Few, "one row for each part of the index"),
    rule("api_keys", Defined, "the audit log still needs the name of a revoked key"),
    rule("attempts", With("notifications"), "the attempts of a message"),
    rule("audit", Removed(Audit), "a sealed prefix is removed; a signed checkpoint stays"),
    rule("audit_chain", Few, "one row"),
    rule("audit_seals", With("audit"), "the seals of audit entries"),
    rule("batches", Few, "one row for each node"),
    rule("business_units", Defined, ""),
    rule("channels", Defined, ""),
    rule("circuits", AtItsEnd, "a closed circuit has no row"),
    rule("consumer_health", Short("30 days"), "the last status of a consumer"),
    rule("consumers", Defined, ""),
    rule("digest_items", Removed(Messages), "held items are sent the next morning"),
    rule(
        "erasures",
        ForGood,
        "certificates are proof; plans that were not carried out are removed after 30 days",
    ),
    rule("facts", Few, "one row for each name"),
    rule("idempotency_keys", Short("1 day"), "clients retry within minutes"),
    rule("inbox", Removed(Messages), ""),
    rule("invitations", AtItsEnd, "a link is removed when it is used or expired"),
    rule(
        "known_events",
        Short("30 days"),
        "brokers redeliver within minutes; a stream is repaired within weeks",
    ),
    rule("limiters", Few, "one row for each rate limit"),
    rule("lists", Defined, ""),
    rule(
        "messages",
        Stripped(Work, "recipients and texts"),
        "the id stays, so that it is not accepted again",
    ),
    rule("nodes", Short("1 hour"), "nodes that are no longer seen"),
    rule("notifications", Removed(Messages), "a tombstone replaces the row"),
    rule("operations_feeds", Defined, ""),
    rule("operations_organisations", Defined, ""),
    rule("operations_people", Defined, ""),
    rule("operations_rules", Defined, "removed with their event or task"),
    rule(
        "operations_subjects",
        Defined,
        "a deleted event or task stays, so that an old copy does not restore it",
    ),
    rule("outbox_deliveries", With("outbox_events"), ""),
    rule("outbox_events", Removed(Messages), "once none of its messages is left"),
    rule("owed", AtItsEnd, "pending follow-ups, removed when done"),
    rule("preference_addresses", With("preferences"), ""),
    rule("preferences", Defined, "an opt-out does not expire"),
    rule("receipts", With("notifications"), "receipts of unknown messages are removed after a day"),
    rule("reconciliations", Few, "one row for each provider"),
    rule("reminder_changes", Few, "one row for each changed setting or business unit"),
    rule("reminder_children", With("sources"), ""),
    rule(
        "reminder_sends",
        Removed(Messages),
        "the reminders that a setting has sent, as shown in the console",
    ),
    rule("reminder_settings", Defined, "a deleted setting stays, because keys contain its id"),
    rule("reminder_states", With("sources"), "remembers which thresholds have fired"),
    rule("report_subscriptions", Defined, "a deleted subscription stays, because keys contain its id"),
    rule("rollouts", Defined, ""),
    rule("run_ownership", ForGood, "the owner of a run, so that no period is reported twice"),
    rule("run_records", Removed(Files), "once its files are gone"),
    rule("saved_views", Defined, "the views of a person are removed with the account"),
    rule("schema_steps", Few, "one row for each step"),
    rule("sent_days", Short("3 days"), "a day that has ended in every time zone"),
    rule("sessions", AtItsEnd, "expired sessions"),
    rule("sign_in_links", AtItsEnd, ""),
    rule("sign_on_answers", AtItsEnd, ""),
    rule("site_agents", With("sites"), ""),
    rule("site_events", Few, "the newest events of each site"),
    rule("sites", Defined, ""),
    rule("skipped_targets", With("notifications"), ""),
    rule(
        "sources",
        Stripped(Work, "the state of a deleted source"),
        "its sequence number stays, so that an old event does not restore it",
    ),
    rule("subscribers", Defined, ""),
    rule(
        "suppressions",
        AtItsEnd,
        "a suppression without an end stays, so that nobody gets messages by mistake",
    ),
    rule("survey_answers", With("survey_responses"), ""),
    rule(
        "survey_attempts",
        Stripped(Surveys, "the responses of providers"),
        "the delivery log of an instance",
    ),
    rule("survey_instances", Stripped(Surveys, "recipient, reference and metadata"), "results stay correct"),
    rule("survey_responses", Stripped(Surveys, "answers"), "the fact and the time of the answer stay"),
    rule("survey_versions", Defined, "answers refer to their version"),
    rule("surveys", Defined, ""),
    rule("template_versions", Removed(Messages), "as long as the messages rendered from it"),
    rule("templates", Defined, ""),
    rule("tombstones", Removed(Ids), "prevents a used id from being sent again"),
    rule("unit_rows", Short("60 days"), "one row per day for each business unit with a quota"),
    rule("upload_uses", With("notifications"), ""),
    rule("uploads", AtItsEnd, "an unused file is removed after a day"),
    rule("users", Defined, ""),
    rule("work", Stripped(Work, "input and trace"), "its key stays, so that nothing is sent for it again"),
    rule("work_keys", With("work"), ""),
    rule("work_notifications", With("notifications"), ""),
];

/// The rule of a table.
pub fn of(table: &str) -> Option<&'static TableRule> {
    TABLES.iter().find(|one| one.table == table)
}

crate::db::statements![; ended, short_lived, work];
