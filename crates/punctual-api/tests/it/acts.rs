//! Every act over the API has its entry in the audit, in the transaction of what it changes.
//!
//! The operations are those of the OpenAPI document: a new one that changes something fails the test until it is carried out
//! here, with the entry that it writes, or stands among those without one, with the reason. Each act is first tried while the
//! database refuses entries of the audit: it is refused as a whole, and what is stored is as it was. So the entry is no
//! afterthought.

mod story;

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use punctual_store::audit::{self, AuditRow};
use punctual_testkit::{TestBed, on_both};
use serde_json::Value;

use crate::{client::Client, consumers::with_every_adapter};

on_both! {
    r25_every_act_has_its_entry_in_the_transaction_of_its_change with with_every_adapter;
}

/// What an operation writes: the action, and what it is done to.
const ENTRIES: &[(&str, &str, &str)] = &[
    ("putBusinessUnit", "put", "business-unit"),
    ("deleteBusinessUnit", "delete", "business-unit"),
    ("putChannel", "put", "channel"),
    ("deleteChannel", "delete", "channel"),
    ("rotateChannelSecret", "rotate-secret", "channel"),
    ("testChannel", "test", "channel"),
    ("putConsumer", "put", "consumer"),
    ("deleteConsumer", "delete", "consumer"),
    ("importDefinitions", "put", "list"),
    ("putDeliveryPolicy", "put", "manners"),
    ("createErasure", "erase-person", "erasure"),
    ("exportPersonalData", "export", "personal-data"),
    ("createKey", "create", "key"),
    ("deleteKey", "revoke", "key"),
    ("putList", "put", "list"),
    ("deleteList", "delete", "list"),
    ("updateMessage", "change", "work"),
    ("deleteMessage", "cancel", "work"),
    ("acknowledgeNotification", "acknowledge", "notification"),
    ("discardNotification", "discard", "notification"),
    ("retryNotification", "retry", "notification"),
    ("createOperationsEvent", "create", "event"),
    ("updateOperationsEvent", "change", "event"),
    ("deleteOperationsEvent", "delete", "event"),
    ("createOperationsTask", "create", "task"),
    ("updateOperationsTask", "change", "task"),
    ("deleteOperationsTask", "delete", "task"),
    ("importCalendar", "create", "event"),
    ("createOperationsFeed", "put", "feed"),
    ("deleteOperationsFeed", "delete", "feed"),
    ("putOperationsOrganisation", "put", "organisation"),
    ("deleteOperationsOrganisation", "delete", "organisation"),
    ("putOperationsPerson", "put", "person"),
    ("deleteOperationsPerson", "delete", "person"),
    ("createOperationsRule", "add-rule", "event"),
    ("updateOperationsRule", "change-rule", "event"),
    ("deleteOperationsRule", "delete-rule", "event"),
    ("repairOperationsRule", "retry", "rule"),
    ("retryOutboxEventDelivery", "retry", "notification"),
    ("putPreference", "put", "preference"),
    ("deletePreference", "delete", "preference"),
    ("createPreferenceLink", "link", "preference"),
    ("runReconciliation", "run-now", "reconciliation"),
    ("createReminderSetting", "create", "reminder-setting"),
    ("putReminderSetting", "change", "reminder-setting"),
    ("updateReminderSetting", "change", "reminder-setting"),
    ("deleteReminderSetting", "delete", "reminder-setting"),
    ("createReportSubscription", "create", "report-subscription"),
    ("putReportSubscription", "change", "report-subscription"),
    ("updateReportSubscription", "change", "report-subscription"),
    ("pauseReportSubscription", "pause", "report-subscription"),
    ("resumeReportSubscription", "resume", "report-subscription"),
    ("transferReportSubscription", "transfer", "report-subscription"),
    ("deleteReportSubscription", "delete", "report-subscription"),
    ("createReportSubscriptionAutomationRun", "run-now", "report-subscription"),
    ("retryReportSubscriptionAutomationRun", "release", "work"),
    ("putRolloutsReportSubscription", "stage", "rollout"),
    ("rollbackRolloutsReportSubscription", "roll-back", "rollout"),
    ("deleteRolloutsReportSubscription", "delete", "rollout"),
    ("releaseRestore", "release", "restore"),
    ("discardRestore", "discard", "restore"),
    ("purge", "purge", "retention"),
    ("putRetention", "put", "retention"),
    ("putSandboxChannel", "misbehave", "channel"),
    ("putSandboxClock", "move-clock", "sandbox"),
    ("updateSchedule", "change", "work"),
    ("deleteSchedule", "cancel", "work"),
    ("rekeySecrets", "rekey", "master-key"),
    ("createSite", "create", "site"),
    ("updateSite", "change", "site"),
    ("rotateSiteToken", "rotate", "site"),
    ("revokeSite", "revoke", "site"),
    ("putSubscriber", "put", "subscriber"),
    ("deleteSubscriber", "delete", "subscriber"),
    ("retrySubscriber", "retry", "subscriber"),
    ("putSuppression", "suppress", "address"),
    ("deleteSuppression", "unsuppress", "address"),
    ("createSurvey", "put", "survey"),
    ("putSurvey", "put", "survey"),
    ("publishSurvey", "publish", "survey"),
    ("createSurveyCampaign", "run-now", "survey"),
    ("deleteSurveyInstance", "delete", "survey-instance"),
    ("putTemplate", "put", "template"),
    ("deleteTemplate", "delete", "template"),
    ("createUser", "create", "user"),
    ("updateUser", "change", "user"),
    ("createUserInvitation", "invite", "user"),
    ("deleteUser", "delete", "user"),
    ("cancelWork", "cancel", "work"),
    ("releaseWork", "release", "work"),
    ("retryWork", "retry", "work"),
];

const PROGRAMS: &str = "a program's routine: the row is the record, with whose key made it and when";
const PUBLIC: &str = "whoever has the link answers; the answer is the record";
const LOOKS: &str = "it changes nothing";

/// What writes no entry, and why.
const WITHOUT: &[(&str, &str)] = &[
    ("createNotification", PROGRAMS),
    ("createMessage", PROGRAMS),
    ("createSchedule", PROGRAMS),
    ("createBlob", PROGRAMS),
    ("sendEvents", PROGRAMS),
    ("putSource", PROGRAMS),
    ("putSources", PROGRAMS),
    ("deleteSource", PROGRAMS),
    ("ingestSurveysTriggers", PROGRAMS),
    ("ingestSurveyTriggersAsKnown", PROGRAMS),
    ("handOverNotifications", PROGRAMS),
    ("receiveCallback", "a provider's report: the receipt is the record"),
    ("receiveSecretCallback", "a provider's report: the receipt is the record"),
    (
        "takeReportRunOwnership",
        "a step between two schedulers: the row of the run says who has it, since when",
    ),
    ("reportOnReportRun", "a step between two schedulers: the row of the run says what became of it"),
    ("respondToSurvey", PUBLIC),
    ("respondToSurveyInstance", PUBLIC),
    ("markSurveyOpened", PUBLIC),
    ("readInboxMessage", "a mark in somebody's own inbox"),
    ("readWholeInbox", "a mark in somebody's own inbox"),
    ("planRetention", LOOKS),
    ("planNewReminderSetting", LOOKS),
    ("planReminderSetting", LOOKS),
    ("previewTemplate", LOOKS),
    ("tickScheduler", "what is due is done as by itself, and has its own entries"),
];

/// What is done in steps, each with its own entries, or outside the database: the last step's entry cannot undo the first.
const IN_STEPS: &[(&str, &str)] = &[
    ("testChannel", "the message has left"),
    ("releaseRestore", "rows are released in batches, each with its entries"),
    ("discardRestore", "rows are given up in batches, each with its entries"),
    ("retrySubscriber", "deliveries are retried in batches, each with its entries"),
    ("purge", "what is past its time goes in batches"),
    ("createErasure", "what is erased goes in batches, each with its entry"),
    ("runReconciliation", "what is repaired is work that anybody may repeat"),
    ("putSandboxClock", "the clock is not in the database"),
    ("putSandboxChannel", "the captured channel is not in the database"),
    ("rekeySecrets", "definitions are sealed one by one"),
];

/// Acts whose subject is no thing that somebody names.
const NAMED_ITSELF: &[&str] = &[
    "discardRestore",
    "exportPersonalData",
    "importCalendar",
    "purge",
    "putDeliveryPolicy",
    "rekeySecrets",
    "releaseRestore",
    "retryOutboxEventDelivery",
];

/// The operations that are not only for looking, by their id: method and path.
fn changing() -> BTreeMap<String, (Method, String)> {
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(method, _)| *method != "get") {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            found.insert(id, (method.to_uppercase().parse().unwrap(), path.clone()));
        }
    }
    found
}

/// Carries out acts, and keeps what is missing about each.
pub struct Acts {
    bed: TestBed,
    operations: BTreeMap<String, (Method, String)>,
    done: BTreeSet<String>,
    faults: Vec<String>,
    /// What the next act is about, where neither its address nor its answer names it.
    pub about: String,
}

/// Who acts, by which name in the audit, and in which business unit what they make is.
#[derive(Clone)]
pub struct Doer {
    pub client: Client,
    pub name: &'static str,
    pub unit: Option<&'static str>,
}

const LEVER: &str = "the_audit_is_refused";

impl Acts {
    async fn on(bed: &TestBed) -> Self {
        // tidy-allow: a lever of the test's own
        let lever = ["CREATE TABLE ", LEVER, " (id INTEGER PRIMARY KEY)"].concat();
        bed.behind_the_store(&lever, &lever).await;
        // tidy-allow: a lever of the test's own
        bed.refuse("audit", "INSERT", &["EXISTS (SELECT 1 FROM ", LEVER, ")"].concat()).await;
        Self {
            bed: bed.clone(),
            operations: changing(),
            done: BTreeSet::new(),
            faults: Vec::new(),
            about: String::new(),
        }
    }

    async fn pull(&self, refused: bool) {
        // tidy-allow: a lever of the test's own
        let (on, off) = (["INSERT INTO ", LEVER, " VALUES (1)"].concat(), ["DELETE FROM ", LEVER].concat());
        let text = if refused { on } else { off };
        self.bed.behind_the_store(&text, &text).await;
    }

    /// Somebody carries out an operation, with these in the places of its path.
    pub async fn did(&mut self, who: &Doer, id: &str, places: &[&str], body: Value) -> Value {
        let (method, path) = self.operations[id].clone();
        let mut places = places.iter();
        let path: Vec<String> = path
            .split('/')
            .map(|part| {
                if part.starts_with('{') {
                    places.next().unwrap().replace('/', "%2F")
                } else {
                    part.to_owned()
                }
            })
            .collect();
        let path = path.join("/") + if id == "importCalendar" { "?creator=ann" } else { "" };
        let about = std::mem::take(&mut self.about);
        let media = if id == "importCalendar" { "text/calendar" } else { "application/json" };
        let sent = match &body {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            body => body.to_string().into_bytes(),
        };
        let headers: &[(&str, &str)] = if body.is_null() { &[] } else { &[("content-type", media)] };
        let call = async || who.client.send(method.clone(), &path, headers, sent.clone()).await;
        if !IN_STEPS.iter().any(|(known, _)| *known == id) {
            self.pull(true).await;
            let before = self.bed.everything_stored().await;
            let reply = call().await;
            let after = self.bed.everything_stored().await;
            self.pull(false).await;
            if reply.status < 500 {
                self.faults.push(format!("{id} went on without its entry: {} {}", reply.status, reply.text));
            }
            // When a key was last used is no part of the act.
            let is_own =
                |row: &&String| !row.starts_with("api_keys:") && !row.starts_with("sqlite_sequence:");
            let changed: Vec<&String> = before.symmetric_difference(&after).filter(is_own).collect();
            if !changed.is_empty() {
                self.faults.push(format!("{id} left something behind without its entry: {changed:#?}"));
            }
        }
        let last = self.entries(0).await.last().map_or(0, |row| row.id);
        let reply = call().await;
        if !(200..300).contains(&reply.status) {
            self.faults.push(format!("{id} was refused: {} {}", reply.status, reply.text));
            return reply.body;
        }
        let written = self.entries(last).await;
        let (_, action, kind) = ENTRIES.iter().find(|(known, ..)| *known == id).unwrap();
        let is_it = |row: &&AuditRow| {
            row.action == *action
                && row.subject_kind == *kind
                && row.actor == who.name
                && row.business_unit.as_deref() == who.unit
                && !row.subject_id.is_empty()
        };
        // What it was done to is in the address, the request or the answer; of some acts it is a place of its own.
        let named = |row: &&AuditRow| {
            let texts = [&path, &body.to_string(), &reply.text, &about].map(|text| text.replace("%2F", "/"));
            let has = |part: &str| texts.iter().any(|text| text.contains(part));
            NAMED_ITSELF.contains(&id)
                || has(&row.subject_id)
                || row.subject_id.split([':', '/']).any(|part| part.len() > 6 && has(part))
        };
        if !written.iter().filter(is_it).any(|row| named(&row)) {
            let written: Vec<String> = written
                .iter()
                .map(|row| {
                    let AuditRow { action, subject_kind, subject_id, actor, business_unit, .. } = row;
                    format!("{action} {subject_kind} {subject_id} by {actor} in {business_unit:?}")
                })
                .collect();
            let wanted = format!("{action} {kind} by {} in {:?}", who.name, who.unit);
            self.faults.push(format!("{id} wants {wanted}: {written:#?}"));
        }
        self.done.insert(id.to_owned());
        reply.body
    }

    async fn entries(&self, after: i64) -> Vec<AuditRow> {
        audit::entries_after(&mut self.bed.read().await.conn(), after, i64::MAX, 100_000).await.unwrap()
    }
}

async fn r25_every_act_has_its_entry_in_the_transaction_of_its_change(bed: TestBed) {
    let client = Client::new(&bed).await;
    let scopes = ["operate", "author", "ingest", "read"];
    let nz = Doer {
        client: client.new_key(&scopes, Some(&["nz"])).await,
        name: "key:for operate author ingest read",
        unit: Some("nz"),
    };
    let all = Doer { client, name: "key:operator", unit: None };
    let mut acts = Acts::on(&bed).await;
    story::carry_out_all(&mut acts, &bed, &all, &nz).await;

    let with: BTreeSet<&str> = ENTRIES.iter().map(|(id, ..)| *id).collect();
    let without: BTreeSet<&str> = WITHOUT.iter().map(|(id, _)| *id).collect();
    let mut faults = std::mem::take(&mut acts.faults);
    for id in acts.operations.keys().map(String::as_str) {
        match (with.contains(id), without.contains(id)) {
            (true, false) if !acts.done.contains(id) => faults.push(format!("{id} was not carried out")),
            (true, true) => faults.push(format!("{id} is said to write an entry, and not to")),
            (false, false) => faults.push(format!("{id} is new: carry it out, or say why it has no entry")),
            _ => {}
        }
    }
    for id in with.union(&without).filter(|id| !acts.operations.contains_key(**id)) {
        faults.push(format!("{id} is no operation any more"));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    bed.leaves_open("much of it is to come");
}
