//! Names of operations, for people and for generated clients: `createNotification`, `listNotifications`.
//!
//! A name is derived from method and path, so a new route gets one automatically. This module lists names for routes where the
//! derived name would be unclear or not unique.

/// Names that do not follow from the path.
const GIVEN: [(&str, &str, &str); 37] = [
    ("get", "/healthz", "getHealth"),
    ("get", "/readyz", "getReadiness"),
    ("get", "/api/v1/site", "getOwnSite"),
    ("get", "/api/v1/nodes", "listNodes"),
    ("get", "/api/v1/definitions", "exportDefinitions"),
    ("post", "/api/v1/definitions", "importDefinitions"),
    ("get", "/api/v1/channels/health", "listChannelHealth"),
    ("get", "/api/v1/notifications/kpis", "getNotificationKpis"),
    ("get", "/api/v1/sources/{type}", "listSources"),
    ("get", "/api/v1/why", "explainDecisions"),
    ("get", "/api/v1/sandbox/sent", "listSandboxSent"),
    ("get", "/api/v1/report-runs/recent", "listRecentReportRuns"),
    ("get", "/api/v1/report-runs/failed", "listFailedReportRuns"),
    ("get", "/api/v1/report-subscriptions/orphans", "listOrphanedReportSubscriptions"),
    ("get", "/api/v1/report-subscriptions/{guid}/automation-runs/recent", "listRecentAutomationRuns"),
    ("get", "/api/v1/report-subscriptions/{guid}/automation-runs/failed", "listFailedAutomationRuns"),
    ("get", "/api/v1/callbacks/{channel}", "confirmCallback"),
    ("post", "/api/v1/callbacks/{channel}", "receiveCallback"),
    ("post", "/api/v1/callbacks/{channel}/{secret}", "receiveSecretCallback"),
    ("post", "/api/v1/channels/{key}/rotate-secret", "rotateChannelSecret"),
    ("post", "/api/v1/events", "sendEvents"),
    ("post", "/api/v1/sources", "putSources"),
    ("post", "/api/v1/sites/{site}/notifications", "handOverNotifications"),
    ("post", "/api/v1/sites/{site}/rotate", "rotateSiteToken"),
    ("post", "/api/v1/inbox/read", "readWholeInbox"),
    ("post", "/api/v1/inbox/{id}/read", "readInboxMessage"),
    ("post", "/api/v1/operations/import", "importCalendar"),
    ("post", "/api/v1/public/surveys/{publicId}/opened", "markSurveyOpened"),
    ("post", "/api/v1/public/surveys/{publicId}/responses", "respondToSurvey"),
    ("post", "/SurveyInstances/{publicId}/responses", "respondToSurveyInstance"),
    ("post", "/api/v1/reminder-settings/plan", "planNewReminderSetting"),
    ("post", "/api/v1/report-runs/{key}/ownership", "takeReportRunOwnership"),
    ("patch", "/api/v1/report-runs/{key}/ownership", "reportOnReportRun"),
    ("post", "/api/v1/retention/purge", "purge"),
    ("post", "/api/v1/secrets/rekey", "rekeySecrets"),
    ("post", "/api/v1/personal-data/export", "exportPersonalData"),
    ("post", "/api/Surveys/Triggers/ingest", "ingestSurveyTriggersAsKnown"),
];

/// Last segments that say what is done.
const ACTIONS: [&str; 20] = [
    "acknowledge",
    "cancel",
    "discard",
    "ingest",
    "pause",
    "plan",
    "preview",
    "publish",
    "purge",
    "release",
    "repair",
    "resend",
    "resume",
    "retry",
    "revoke",
    "rollback",
    "run",
    "test",
    "tick",
    "transfer",
];

/// The name of an operation. `is_page` says whether it returns a page of things.
pub fn operation_id(method: &str, path: &str, is_page: bool) -> String {
    if let Some((_, _, id)) = GIVEN.iter().find(|(of, at, _)| (*of, *at) == (method, path)) {
        return (*id).to_owned();
    }
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_parameter = |at: usize| segments.get(at).is_some_and(|part| part.starts_with('{'));
    // What is followed by a parameter is one of many.
    let nouns: Vec<String> = (0..segments.len())
        .filter(|at| !is_parameter(*at))
        .map(|at| if is_parameter(at + 1) { singular(segments[at]) } else { segments[at].to_owned() })
        .collect();
    let Some((last, before)) = nouns.split_last() else { return method.to_owned() };
    let is_one = is_parameter(segments.len().saturating_sub(1));
    let of_all =
        |last: &str| before.iter().map(String::as_str).chain([last]).map(capitalised).collect::<String>();
    match method {
        "post" if !is_one && ACTIONS.contains(&last.as_str()) => {
            last.clone() + &before.iter().map(|noun| capitalised(noun)).collect::<String>()
        }
        "post" => "create".to_owned() + &of_all(&singular(last)),
        "get" if is_page => "list".to_owned() + &of_all(last),
        "patch" => "update".to_owned() + &of_all(last),
        method => method.to_owned() + &of_all(last),
    }
}

fn singular(noun: &str) -> String {
    if noun == "people" {
        return "person".to_owned();
    }
    match (noun.strip_suffix("ies"), noun.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => stem.to_owned(),
        (None, None) => noun.to_owned(),
    }
}

/// `report-runs` as `ReportRuns`.
fn capitalised(noun: &str) -> String {
    let mut text = String::with_capacity(noun.len());
    for word in noun.split(['-', '.']) {
        let mut letters = word.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase).chain(letters));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_method_and_path() {
        for (method, path, is_page, expected) in [
            ("post", "/api/v1/notifications", false, "createNotification"),
            ("get", "/api/v1/notifications", true, "listNotifications"),
            ("get", "/api/v1/notifications/{id}", false, "getNotification"),
            ("post", "/api/v1/notifications/{id}/retry", false, "retryNotification"),
            ("get", "/api/v1/notifications/{id}/timeline", false, "getNotificationTimeline"),
            ("put", "/api/v1/operations/people/{id}", false, "putOperationsPerson"),
            ("patch", "/api/v1/business-units/{id}", false, "updateBusinessUnit"),
            ("delete", "/api/v1/sources/{type}/{id}", false, "deleteSource"),
            ("get", "/api/v1/surveys/{id}/results.csv", false, "getSurveyResultsCsv"),
            ("get", "/api/v1/why", false, "explainDecisions"),
        ] {
            assert_eq!(operation_id(method, path, is_page), expected);
        }
    }
}
