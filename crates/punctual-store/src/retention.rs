//! How long each table keeps its rows: one rule for every table, in one place. The purge follows it, the document, the
//! console and the guide are made of it, and a test reads the schema and fails for a table without a rule.

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

    /// What it is about, as people call it.
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
    /// A row is removed so long after its end.
    Removed(Window),
    /// A row loses what is named so long after its end; the rest stays.
    Stripped(Window, &'static str),
    /// A row is removed after a fixed time.
    Short(&'static str),
    /// A row goes with the row of another table that it belongs to.
    With(&'static str),
    /// A row goes by itself when what it is about has ended.
    AtItsEnd,
    /// A row stays until a person removes what it defines.
    Defined,
    /// There are few rows, however much is sent.
    Few,
    /// A row stays for good.
    ForGood,
}

impl Rule {
    /// The time that an installation may set for it.
    pub const fn window(self) -> Option<Window> {
        match self {
            Self::Removed(window) | Self::Stripped(window, _) => Some(window),
            Self::Short(_) | Self::With(_) | Self::AtItsEnd | Self::Defined | Self::Few | Self::ForGood => {
                None
            }
        }
    }
}

/// The rule of a table, and why it is so.
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
    rule("address_index", With("notifications"), "hashes of addresses go with the rows that name them"),
    rule("address_index_parts", Few, "one for each part of the index"),
    rule("api_keys", Defined, "a revoked key still says who did something"),
    rule("attempts", With("notifications"), "the ledger of a message"),
    rule("audit", Removed(Audit), "a sealed beginning is removed, and a signed checkpoint stays"),
    rule("audit_chain", Few, "one row"),
    rule("audit_seals", With("audit"), "the seal of an entry"),
    rule("batches", Few, "one for each node"),
    rule("business_units", Defined, ""),
    rule("channels", Defined, ""),
    rule("circuits", AtItsEnd, "a circuit that closes has no row"),
    rule("consumer_health", Short("30 days"), "what a consumer last said about itself"),
    rule("consumers", Defined, ""),
    rule("digest_items", Removed(Messages), "what was held back is sent the next morning"),
    rule("erasures", ForGood, "certificates are proof; a plan that was not carried out goes after 30 days"),
    rule("facts", Few, "one for each name"),
    rule("idempotency_keys", Short("1 day"), "a client repeats within minutes"),
    rule("inbox", Removed(Messages), ""),
    rule("invitations", AtItsEnd, "a link ends when it is used or too old"),
    rule(
        "known_events",
        Short("30 days"),
        "a broker repeats within minutes, and a stream is repaired within weeks",
    ),
    rule("limiters", Few, "one for each limit"),
    rule("lists", Defined, ""),
    rule(
        "messages",
        Stripped(Work, "recipients and texts"),
        "the id stays, so that it is not accepted a second time",
    ),
    rule("nodes", Short("1 hour"), "a node that is not seen any more"),
    rule("notifications", Removed(Messages), "a tombstone stays in its place"),
    rule("operations_feeds", Defined, ""),
    rule("operations_organisations", Defined, ""),
    rule("operations_people", Defined, ""),
    rule("operations_rules", Defined, "rules go with their event or task"),
    rule(
        "operations_subjects",
        Defined,
        "a deleted event or task stays, so that an old copy of it does not come back",
    ),
    rule("outbox_deliveries", With("outbox_events"), ""),
    rule("outbox_events", Removed(Messages), "an event goes when no message of it is left"),
    rule("owed", AtItsEnd, "what is owed is done"),
    rule("preference_addresses", With("preferences"), ""),
    rule("preferences", Defined, "a wish not to be written to has no end"),
    rule("receipts", With("notifications"), "those of messages that are not ours go after a day"),
    rule("reconciliations", Few, "one for each provider"),
    rule("reminder_changes", Few, "one for each setting and business unit that changed"),
    rule("reminder_children", With("sources"), ""),
    rule("reminder_sends", Removed(Messages), "what a setting has sent, for people"),
    rule("reminder_settings", Defined, "a deleted setting stays, because keys name it"),
    rule("reminder_states", With("sources"), "a threshold that has fired does not fire again"),
    rule("report_subscriptions", Defined, "a deleted subscription stays, because keys name it"),
    rule("rollouts", Defined, ""),
    rule("run_ownership", ForGood, "who owns a run: a period that was reported is not reported again"),
    rule("run_records", Removed(Files), "once its files are gone"),
    rule("saved_views", Defined, "those of a person go with the account"),
    rule("schema_steps", Few, "one for each step"),
    rule("sent_days", Short("3 days"), "a day that is over in every zone"),
    rule("sessions", AtItsEnd, "a session that is too old"),
    rule("sign_in_links", AtItsEnd, ""),
    rule("sign_on_answers", AtItsEnd, ""),
    rule("site_agents", With("sites"), ""),
    rule("site_events", Few, "the newest of each site"),
    rule("sites", Defined, ""),
    rule("skipped_targets", With("notifications"), ""),
    rule(
        "sources",
        Stripped(Work, "the state of a deleted source"),
        "its number stays, so that an old event does not bring it back",
    ),
    rule("subscribers", Defined, ""),
    rule("suppressions", AtItsEnd, "one without an end stays: nobody is written to again by mistake"),
    rule("survey_answers", With("survey_responses"), ""),
    rule("survey_attempts", Stripped(Surveys, "what providers answered"), "the log of an instance"),
    rule("survey_instances", Stripped(Surveys, "recipient, reference and metadata"), "figures stay right"),
    rule("survey_responses", Stripped(Surveys, "answers"), "that somebody answered, and when, stays"),
    rule("survey_versions", Defined, "answers name the version that they are of"),
    rule("surveys", Defined, ""),
    rule("template_versions", Removed(Messages), "as long as messages that were made of it"),
    rule("templates", Defined, ""),
    rule("tombstones", Removed(Ids), "an id that was used sends nothing again"),
    rule("unit_rows", Short("60 days"), "one for each day of a business unit with a quota"),
    rule("upload_uses", With("notifications"), ""),
    rule("uploads", AtItsEnd, "a file that nothing uses goes after a day"),
    rule("users", Defined, ""),
    rule("work", Stripped(Work, "input and trace"), "its key stays: nothing is sent for it again"),
    rule("work_keys", With("work"), ""),
    rule("work_notifications", With("notifications"), ""),
];

/// The rule of a table.
pub fn of(table: &str) -> Option<&'static TableRule> {
    TABLES.iter().find(|one| one.table == table)
}

crate::db::statements![; ended, short_lived, work];
