//! Whatever a route defines has its place among the kinds of definitions, or a reason why not.

use std::collections::BTreeSet;

use punctual_wire::definitions::DefinitionKind;

/// Operations that write something whole under an id and are no definitions, with why.
const NO_DEFINITIONS: &[(&str, &str)] = &[
    ("/api/v1/blobs", "files of messages"),
    ("/api/v1/definitions", "this document"),
    ("/api/v1/erasures", "what is done to a person's data"),
    ("/api/v1/events", "what happened"),
    ("/api/v1/keys", "credentials"),
    ("/api/v1/messages", "a message at a time"),
    ("/api/v1/messages/{id}", "a message at a time"),
    ("/api/v1/notifications", "a message now"),
    ("/api/v1/operations/events", "rows of the business"),
    ("/api/v1/operations/events/{id}", "rows of the business"),
    ("/api/v1/operations/feeds", "a secret link"),
    ("/api/v1/operations/import", "rows of the business"),
    ("/api/v1/operations/rules", "of one event or task"),
    ("/api/v1/operations/rules/{id}", "of one event or task"),
    ("/api/v1/operations/tasks", "rows of the business"),
    ("/api/v1/operations/tasks/{id}", "rows of the business"),
    ("/api/v1/preferences/{person}", "what a person wants, by themselves"),
    ("/api/v1/report-runs/{key}/ownership", "a run"),
    ("/api/v1/retention", "how long this installation keeps rows: an import must not remove any"),
    ("/api/v1/rollouts/report-subscription/{scope}/{id}", "how far a migration is, confirmed by people"),
    ("/api/v1/sandbox/clock", "the clock of the sandbox"),
    ("/api/v1/sandbox/channels/{key}", "how the sandbox misbehaves"),
    ("/api/v1/schedules", "an instant"),
    ("/api/v1/schedules/{id}", "an instant"),
    ("/api/v1/sources", "rows of the business"),
    ("/api/v1/sources/{type}/{id}", "rows of the business"),
    ("/api/v1/suppressions/{channelType}/{address}", "what receivers have said"),
    ("/api/v1/users", "accounts of people"),
    ("/api/v1/users/{id}", "accounts of people"),
];

/// A route that writes and is neither a kind of definition nor named above has no place in version control: give it one.
#[test]
fn whatever_is_defined_has_its_place_in_the_document() {
    let document = punctual_api::document();
    let routes: BTreeSet<&str> = DefinitionKind::ALL.iter().map(|kind| kind.route()).collect();
    let others: BTreeSet<&str> = NO_DEFINITIONS.iter().map(|(path, _)| *path).collect();
    let paths = document["paths"].as_object().unwrap();
    assert!(others.iter().all(|path| paths.contains_key(*path)), "one of them is gone");
    let mut found = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let is_collection = !path.contains('{') && path.starts_with("/api/v1/");
        let has_one = document["paths"].as_object().unwrap().keys().any(|other| {
            other
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.starts_with("/{") && !rest[2..].contains('/'))
        });
        let writes = item.get("put").is_some() || item.get("patch").is_some();
        let creates = item.get("post").is_some() && is_collection && has_one;
        if !(writes || creates) || others.contains(path.as_str()) {
            continue;
        }
        let one = routes.iter().find(|route| **route == path || route.starts_with(&format!("{path}/{{")));
        let one = one.unwrap_or_else(|| panic!("{path} defines something that is in no export"));
        found.insert(*one);
    }
    assert_eq!(found, routes, "every kind has the route that defines one alone");
    for kind in DefinitionKind::ALL {
        let shape = &document["components"]["schemas"]["Definitions"]["properties"][kind.name()];
        let of = shape["additionalProperties"]["$ref"].as_str().unwrap_or_default();
        assert!(of.contains(kind.shape()), "{}: {shape}", kind.name());
    }
}
