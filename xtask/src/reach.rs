//! Who reads business rows without a reach: two closed lists.
//!
//! A function of the store that reads business rows for somebody takes a `Reach`; what the API and the console call without
//! one is listed here, with why that is right. And the pipeline, which works for all units, says `Reach::Everything` in
//! listed files alone: commands take the reach of whoever gives them.

use std::collections::BTreeSet;

use crate::source::Source;

const STORE: &str = "crates/punctual-store/src/";
const FACES: [&str; 2] = ["crates/punctual-api/src/", "crates/punctual-console/src/"];
const BEHIND: [&str; 2] = ["crates/punctual-engine/src/", "crates/punctual-workflows/src/"];

/// What the API and the console read without a reach.
const READ_WITHOUT: &[&str] = &[
    // Of a row that was read with a reach: they are found by its own number.
    "attempts::of",
    "notifications::recipients",
    "outbox::deliveries",
    "people::named",
    "quotas::accepted",
    "receipts::of",
    "report_subscriptions::live_runs",
    "rollouts::over",
    "skipped_targets::of",
    "survey_responses::by_instance",
    "work::queued",
    // A site reads what it handed over itself.
    "notifications::of_site",
    "notifications::purged_of_site",
    // A list is found by the name and the unit of a message that was read with a reach.
    "lists::named",
    // Definitions that belong to everybody.
    "channels::all",
    "channels::get",
    "templates::by_names",
    "templates::page",
    // The caller's own: their key, their session, their repeated request.
    "api_keys::by_hash",
    "idempotency::find",
    "users::get",
    // Of the installation, on routes and in figures for callers without a limit.
    "api_keys::all",
    "attempts::health",
    "consumers::get",
    "facts::get",
    "nodes::all",
    "notifications::failed_events",
    "notifications::last_delivered",
    "notifications::parked_of_channels",
    "notifications::queue_ages",
    "preferences::page",
    "site_events::page",
    "sites::get",
    "sites::page",
    "subscribers::all",
    "subscribers::get",
    "suppressions::count",
    "suppressions::get",
    "suppressions::stretch",
    "users::page",
    "work::counts",
    // That something has changed, and not what.
    "attention::mark",
    "audit::last_id",
];

/// Where the pipeline works over all units: rows that it has claimed, settles, sweeps, purges or plans by itself.
const OVER_ALL: &[&str] = &[
    "crates/punctual-engine/src/attention.rs",
    "crates/punctual-engine/src/attention/chores.rs",
    // The seal of the whole chain.
    "crates/punctual-engine/src/audit_chain/seal.rs",
    "crates/punctual-engine/src/delivery/owed.rs",
    "crates/punctual-engine/src/delivery/policy/digest.rs",
    "crates/punctual-engine/src/delivery/settle.rs",
    // Only callers without a limit export and import definitions.
    "crates/punctual-workflows/src/definitions/read.rs",
    "crates/punctual-workflows/src/definitions/surveys.rs",
    "crates/punctual-workflows/src/messages.rs",
    "crates/punctual-workflows/src/operations/arrival.rs",
    "crates/punctual-workflows/src/operations/settled.rs",
    "crates/punctual-workflows/src/operations/sync.rs",
    "crates/punctual-workflows/src/reminders/changes.rs",
    "crates/punctual-workflows/src/reminders/due.rs",
    "crates/punctual-workflows/src/reminders/reconcile.rs",
    "crates/punctual-workflows/src/reminders/zones.rs",
    "crates/punctual-workflows/src/reports/decide.rs",
    "crates/punctual-workflows/src/reports/prepare.rs",
    "crates/punctual-workflows/src/reports/reconcile.rs",
    "crates/punctual-workflows/src/reports/rollouts.rs",
    "crates/punctual-workflows/src/rollout/stages.rs",
    "crates/punctual-workflows/src/surveys.rs",
    "crates/punctual-workflows/src/surveys/answer.rs",
    "crates/punctual-workflows/src/surveys/fan_out.rs",
    "crates/punctual-workflows/src/surveys/reconcile.rs",
];

/// A place, and what is wrong there.
pub type Found = (String, usize, String);

/// Everything in these files that reads past a reach, and what is listed and no longer there.
pub fn check(files: &[(String, Source)]) -> Vec<Found> {
    let without: BTreeSet<String> = files
        .iter()
        .filter(|(path, _)| path.starts_with(STORE))
        .flat_map(|(path, source)| readers_without(path, source))
        .collect();
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for (path, source) in files {
        let code = own_code(source);
        if FACES.iter().any(|face| path.starts_with(face)) {
            for reader in &without {
                for at in calls(code, reader) {
                    used.insert(reader.as_str());
                    if !READ_WITHOUT.contains(&reader.as_str()) {
                        let says = format!(
                            "`{reader}` reads without a reach; give it one, or say in xtask/src/reach.rs why not"
                        );
                        found.push((path.clone(), source.line_of(at), says));
                    }
                }
            }
        }
        let is_face = FACES.iter().any(|face| path.starts_with(face));
        if is_face || BEHIND.iter().any(|place| path.starts_with(place)) && !OVER_ALL.contains(&path.as_str())
        {
            for (at, _) in code.match_indices("Reach::Everything") {
                let says =
                    "the reach is the caller's; `Reach::Everything` is for the files of xtask/src/reach.rs";
                found.push((path.clone(), source.line_of(at), says.to_owned()));
            }
        }
    }
    for listed in READ_WITHOUT.iter().filter(|listed| !used.contains(**listed)) {
        found.push(("xtask/src/reach.rs".to_owned(), 1, format!("nobody calls `{listed}` without a reach")));
    }
    for listed in OVER_ALL {
        let is_there =
            files.iter().any(|(path, source)| path == listed && source.code.contains("Reach::Everything"));
        if !is_there {
            let says = format!("`{listed}` no longer says `Reach::Everything`");
            found.push(("xtask/src/reach.rs".to_owned(), 1, says));
        }
    }
    found
}

/// The code before the tests of a file.
fn own_code(source: &Source) -> &str {
    source.code.split("#[cfg(test)]").next().unwrap_or_default()
}

/// The public functions of a file of the store that fetch rows and take no reach, as they are called: by the name of their
/// module, and by that of the module above, which may give them out.
fn readers_without(path: &str, source: &Source) -> Vec<String> {
    let inner = path.trim_start_matches(STORE).trim_end_matches(".rs");
    let modules: Vec<&str> = inner.rsplit('/').take(2).collect();
    let mut names = Vec::new();
    for (at, _) in source.code.match_indices("pub async fn ") {
        let rest = &source.code[at + "pub async fn ".len()..];
        let (signature, body) = rest.split_once('{').unwrap_or((rest, ""));
        let body = body.split("\n}").next().unwrap_or_default();
        let name = signature.split(['(', '<']).next().unwrap_or_default();
        // A filter may hold the reach.
        if body.contains("fetch_") && !signature.contains("Reach") && !signature.contains("Counted") {
            names.extend(modules.iter().map(|module| format!("{module}::{name}")));
        }
    }
    names
}

/// Where a function is called by this name, with or without more of its path.
fn calls<'a>(code: &'a str, reader: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(reader).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back();
        let is_whole = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        is_whole && code[at + reader.len()..].starts_with('(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), Source::parse(text))).collect();
        let found = check(&files).into_iter().filter(|(path, ..)| path != "xtask/src/reach.rs");
        found.map(|(path, line, _)| format!("{path}:{line}")).collect()
    }

    const READER: (&str, &str) = (
        "crates/punctual-store/src/notifications/query.rs",
        "pub async fn all_of(conn: &mut Conn<'_>) -> R {\n    conn.fetch_all(&ALL).await\n}\n\
         pub async fn seen(conn: &mut Conn<'_>, reach: &Reach) -> R {\n    conn.fetch_all(&ALL).await\n}",
    );

    #[test]
    fn t11_a_reader_without_a_reach_is_found_where_the_api_calls_it() {
        let face = "crates/punctual-api/src/work.rs";
        let calls = "fn a() {\n    notifications::seen(c, r);\n    notifications::all_of(c);\n}";
        assert_eq!(found_in(&[READER, (face, calls)]), [format!("{face}:3")]);
        assert_eq!(found_in(&[READER, ("crates/punctual-engine/src/due.rs", calls)]), Vec::<String>::new());
    }

    #[test]
    fn t11_everything_is_said_in_listed_files_alone() {
        let text = "fn a() { work::by_id(c, &Reach::Everything, 1) }";
        for path in ["crates/punctual-console/src/pages/work.rs", "crates/punctual-engine/src/operate.rs"] {
            assert_eq!(found_in(&[(path, text)]), [format!("{path}:1")]);
        }
        assert!(found_in(&[("crates/punctual-workflows/src/reminders/due.rs", text)]).is_empty());
        let in_a_test = "#[cfg(test)]\nmod tests { fn a() { Reach::Everything } }";
        assert!(found_in(&[("crates/punctual-engine/src/operate.rs", in_a_test)]).is_empty());
    }
}
