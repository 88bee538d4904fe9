//! Every act at the console has its entry in the audit.
//!
//! The routes are those that the console's sources declare. A form that a test sends and that is taken is looked up here, whatever
//! the test is about: the entry of the act must have been written, by whoever sent the form. A new form fails the test below until it
//! has its line, and so does one that no test sends. That entries are written in the transaction of the change is tried with the
//! commands behind the forms, over the API (`acts.rs` there).

use std::{collections::BTreeSet, path::Path};

use punctual_channels::Misbehaviour;
use punctual_engine::restored::mark_restored;
use punctual_model::{ChannelKey, Reach};
use punctual_store::{
    audit::{self, AuditRow},
    work::{self, WorkFilter},
};
use punctual_testkit::{TestBed, console_routes, on_both};
use punctual_workflows::rollout::{Owner, Run, RunKind, take};

use crate::{
    client::{Client, Reply},
    reports::{subscribe, weekly},
    surveys::{asked, schema, survey},
};

on_both! {
    what_a_restore_held_is_released_at_the_console;
    a_run_that_is_held_is_retried_at_the_console;
    deliveries_to_a_subscriber_are_retried_at_the_console;
}

/// The actions of which one is written when the form is taken.
const ENTRIES: &[(&str, &[&str])] = &[
    ("/account/end-sessions", &["end-session", "end-sessions"]),
    ("/account/password", &["set-password"]),
    ("/attention/act", &["retry", "release", "discard", "acknowledge"]),
    ("/attention/list", &["put"]),
    ("/channels/delete", &["delete"]),
    ("/channels/save", &["put"]),
    ("/consumers/delete", &["delete"]),
    ("/consumers/save", &["put"]),
    ("/invitation", &["set-password"]),
    ("/notifications/{id}/acknowledge", &["acknowledge"]),
    ("/operations/calendars/import", &["create", "change", "delete"]),
    ("/operations/calendars/link", &["put", "delete"]),
    ("/operations/delete", &["delete"]),
    ("/operations/organisations/delete", &["delete"]),
    ("/operations/organisations/save", &["put"]),
    ("/operations/people/delete", &["delete"]),
    ("/operations/people/save", &["put"]),
    ("/operations/repair", &["retry"]),
    ("/operations/rule", &["add-rule", "change-rule", "delete-rule"]),
    ("/operations/save", &["create", "change"]),
    ("/outbox/act", &["retry", "discard"]),
    ("/outbox/save", &["create"]),
    ("/p/{token}", &["put"]),
    ("/preferences/delete", &["delete"]),
    ("/preferences/save", &["put"]),
    ("/reminders/remove", &["delete"]),
    ("/reminders/save", &["create", "change"]),
    ("/reports/new", &["create"]),
    ("/reports/rollouts/back", &["roll-back"]),
    ("/reports/rollouts/end", &["delete"]),
    ("/reports/rollouts/{scope}/{id}/stage", &["stage"]),
    ("/reports/transfer", &["cancel", "transfer", "release"]),
    ("/reports/{guid}/act", &["pause", "resume", "run-now", "delete", "transfer"]),
    ("/reports/{guid}/edit", &["change"]),
    ("/reports/{guid}/runs/{run}/retry", &["retry", "release"]),
    ("/restore/settle", &["release", "discard"]),
    ("/sandbox/clock", &["move-clock"]),
    ("/settings/keys/delete", &["revoke"]),
    ("/settings/keys/save", &["create"]),
    ("/settings/lists/delete", &["delete"]),
    ("/settings/lists/save", &["put"]),
    ("/settings/personal-data/erase", &["erase-person"]),
    ("/settings/personal-data/export", &["export"]),
    ("/settings/policy/save", &["put"]),
    ("/settings/retention/purge", &["purge", "purge-confirmed"]),
    ("/settings/retention/save", &["put"]),
    ("/settings/sign-on/remove", &["delete"]),
    ("/settings/sign-on/save", &["put"]),
    ("/settings/sites/delete", &["revoke"]),
    ("/settings/sites/rotate", &["rotate"]),
    ("/settings/sites/save", &["create", "change"]),
    ("/settings/subscribers/delete", &["delete"]),
    ("/settings/subscribers/save", &["put"]),
    ("/settings/templates/delete", &["delete"]),
    ("/settings/templates/save", &["put"]),
    ("/settings/units/delete", &["delete"]),
    ("/settings/units/save", &["put"]),
    ("/settings/users/active", &["change"]),
    ("/settings/users/delete", &["delete"]),
    ("/settings/users/end-sessions", &["end-session", "end-sessions"]),
    ("/settings/users/invite", &["invite"]),
    ("/settings/users/save", &["create", "change"]),
    ("/sign-in", &["sign-in"]),
    ("/sign-in/again", &["sign-in"]),
    ("/suppressions", &["suppress"]),
    ("/suppressions/remove", &["unsuppress"]),
    ("/sources/delete", &["delete"]),
    ("/sources/save", &["put"]),
    ("/surveys/save", &["put"]),
    ("/surveys/subscribers/retry", &["retry"]),
    ("/surveys/{id}/publish", &["publish"]),
    ("/surveys/{id}/send", &["run-now"]),
    ("/work/act", &["release", "retry", "cancel"]),
    ("/work/save", &["create", "change"]),
];

const LOOKS: &str = "it changes nothing";
const PUBLIC: &str = "whoever has the link answers; the answer is the record";

/// What writes no entry when it is taken, and why; or where else it is looked for.
const WITHOUT: &[(&str, &str)] = &[
    ("/attention/confirm", LOOKS),
    ("/channels/test", "answers with a page, sent or not; the command is tried over the API"),
    ("/inbox", "a mark in somebody's own inbox"),
    ("/operations/preview", LOOKS),
    ("/outbox/confirm", LOOKS),
    ("/outbox/preview", LOOKS),
    ("/reminders/preview", LOOKS),
    ("/reports/check", LOOKS),
    ("/reports/preview", LOOKS),
    ("/restore/confirm", LOOKS),
    ("/s/{publicId}", PUBLIC),
    ("/s/{publicId}/opened", PUBLIC),
    ("/settings/personal-data/plan", LOOKS),
    ("/settings/sign-on/test", LOOKS),
    ("/settings/templates/html", LOOKS),
    ("/settings/templates/preview", LOOKS),
    ("/views/remove", "a filter that somebody keeps for themselves"),
    ("/views/save", "a filter that somebody keeps for themselves"),
    ("/sign-out", "taken with and without a session; the entry is looked for in `sessions.rs`"),
    ("/sources/import", "plans first, at the same address; the entries are looked for in `sources.rs`"),
    ("/suppressions/confirm", LOOKS),
    ("/surveys/preview", LOOKS),
    ("/surveys/try", LOOKS),
    ("/work/confirm", LOOKS),
    ("/zone", "a cookie of the browser's own"),
];

/// Forms that are answered with a page that shows something once, or with a file. Refusals have another status.
const ANSWERED: [&str; 5] = [
    "/settings/keys/save",
    "/settings/personal-data/export",
    "/settings/sites/rotate",
    "/settings/users/invite",
    "/settings/personal-data/erase",
];

fn fits(route: &str, path: &str) -> bool {
    let mut path = path.split('/');
    let all =
        route.split('/').all(|part| path.next().is_some_and(|one| part.starts_with('{') || part == one));
    all && path.next().is_none()
}

/// The last entry so far.
pub async fn before(bed: &TestBed) -> Option<i64> {
    audit::last_id(&mut bed.store.read().await.ok()?.conn()).await.ok()
}

/// That a form which was taken has left its entry.
pub async fn check(bed: &TestBed, path: &str, last: Option<i64>, reply: &Reply) {
    let path = path.split('?').next().unwrap_or_default();
    let known = ENTRIES.iter().filter(|(route, _)| fits(route, path));
    // A route of its own comes before one with a placeholder.
    let Some((route, actions)) = known.min_by_key(|(route, _)| route.matches('{').count()) else { return };
    let place = reply.headers.get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_taken = match reply.status {
        // Nothing was left to do, or somebody has to sign in first.
        303 => !place.contains(".0.") && !place.contains("sent=0") && !place.starts_with("/sign-in"),
        200 => ANSWERED.contains(route),
        _ => false,
    };
    let (true, Some(last)) = (is_taken, last) else { return };
    let Ok(mut reader) = bed.store.read().await else { return };
    let Ok(written) = audit::entries_after(&mut reader.conn(), last, i64::MAX, 100_000).await else { return };
    let said = |row: &AuditRow| actions.contains(&row.action.as_str()) && row.actor != "engine";
    let written: Vec<String> =
        written.iter().map(|row| format!("{}{}", if said(row) { "!" } else { "" }, row.action)).collect();
    assert!(
        written.iter().any(|action| action.starts_with('!')),
        "{path} was taken ({} {place}) and wants one of {actions:?} in the audit, which has {written:?}",
        reply.status
    );
}

#[test]
fn r25_every_form_has_its_entry_or_a_reason_and_is_sent_by_a_test() {
    let routes = console_routes();
    let posts: BTreeSet<&str> = routes
        .iter()
        .filter(|(_, methods)| methods.contains("post"))
        .map(|(route, _)| route.as_str())
        .collect();
    let with: BTreeSet<&str> = ENTRIES.iter().map(|(route, _)| *route).collect();
    let without: BTreeSet<&str> = WITHOUT.iter().map(|(route, _)| *route).collect();
    let known: BTreeSet<&str> = with.union(&without).copied().collect();
    assert!(with.is_disjoint(&without));
    let missing: Vec<&&str> = posts.difference(&known).collect();
    assert!(missing.is_empty(), "say which entry these write, or why none: {missing:?}");
    let gone: Vec<&&str> = known.difference(&posts).collect();
    assert!(gone.is_empty(), "these are no forms any more: {gone:?}");
    let sources = sources();
    let unsent: Vec<&&str> = with.iter().filter(|route| !is_sent(route, &sources)).collect();
    assert!(unsent.is_empty(), "no test sends these forms: {unsent:?}");
}

/// The lines of the tests, without those of the tables above.
fn sources() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| !line.trim_start().starts_with("(\"/")).collect()
}

/// Whether a test sends the form: a line names it; of one with a placeholder its end, where a form is sent.
fn is_sent(route: &str, lines: &[String]) -> bool {
    let end = route.rsplit('}').next().filter(|end| !end.is_empty() && route.contains('{'));
    let sends = |line: &&String| ["act(", ".post(", "let "].iter().any(|call| line.contains(call));
    match end {
        Some(end) => lines.iter().filter(sends).any(|line| line.contains(&format!("{end}\""))),
        None => lines.iter().any(|line| line.contains(route.split('{').next().unwrap_or(route))),
    }
}

async fn what_a_restore_held_is_released_at_the_console(bed: TestBed) {
    let client = Client::admin(&bed).await;
    bed.accept_one(bed.message("a@example.org")).await;
    mark_restored(&bed.store, bed.now(), Some(bed.now())).await.unwrap();
    bed.wait(3_600);
    bed.engine.hold_restored(bed.now()).await.unwrap().unwrap();
    let form = [("choice", "release"), ("reason", "asked them")];
    client.act("/restore/settle", &form).await.leads_to("/restore");
    assert_eq!(bed.audit("restore", "last").await, ["release", "note:asked them"]);
    bed.run_for(1).await;
    assert_eq!(bed.sent_to(), ["a@example.org"]);
}

async fn a_run_that_is_held_is_retried_at_the_console(bed: TestBed) {
    bed.leaves_open("the next run is planned");
    let client = Client::admin(&bed).await;
    let guid = subscribe(&client, &weekly()).await;
    let filter = WorkFilter { limit: 1, ..WorkFilter::default() };
    let planned = work::list(&mut bed.read().await.conn(), &Reach::Everything, &filter).await.unwrap();
    let key = planned[0].key.clone();
    let run = Run {
        workflow: "report-subscription",
        subject_id: &guid,
        business_unit: None,
        key: &key,
        kind: RunKind::Scheduled,
        manual_run: None,
    };
    let mut tx = bed.begin().await;
    take(&mut tx, bed.now(), run, Owner::OldScheduler, "1").await.unwrap();
    tx.commit().await.unwrap();
    bed.run_for(8 * 86_400).await;
    assert!(bed.work(&key).await.on_hold);
    let page = format!("/reports/{guid}/runs/{}", key.replace('/', "%2F"));
    let done = client.act(&format!("{page}/retry"), &[]).await;
    assert_eq!(done.status, 303, "{}", done.text);
    bed.tick().await;
}

async fn deliveries_to_a_subscriber_are_retried_at_the_console(bed: TestBed) {
    bed.leaves_open("the survey is to be answered");
    let client = Client::admin(&bed).await;
    let subscriber =
        [("/key", "memory:bi"), ("/adapter", "memory"), ("/events", "instance-sent"), ("/active", "yes")];
    let saved = client.act("/settings/subscribers/save", &subscriber).await;
    saved.leads_to("/settings/subscribers/edit?key=memory:bi&done=saved");
    let channel = ChannelKey::stored("event.memory:bi");
    bed.captured.misbehave(channel, Misbehaviour::Permanent, 1, "gone");
    survey(&bed, schema()).await;
    asked(&bed, "1", "en").await;
    bed.run_for(60).await;
    client.act("/surveys/subscribers/retry", &[("key", "memory:bi")]).await.leads_to("/surveys?done=retry.1");
    bed.run_for(60).await;
}
