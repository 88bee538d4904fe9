//! Every list of the API with every filter, beside large tables: made from the OpenAPI document, so that a new route or a new
//! parameter is measured without a word here.

use anyhow::{Context, Result, ensure};
use jiff::SignedDuration;
use punctual_engine::Listeners;
use punctual_model::Clock;
use serde_json::{Value, json};

use super::{
    Bench, Filled, Measured,
    server::{Client, KEY, Server, at, get, with_body},
};

/// Calls of each request: after five PostgreSQL may choose another plan.
const ROUNDS: usize = 7;
/// How many of the slowest are shown.
const SHOWN: usize = 12;

pub(super) async fn measure(bench: &Bench, rows: usize) -> Result<Vec<Measured>> {
    let Filled { rig, rows: written, took } = bench.filled("lists", Listeners::default(), rows).await?;
    let rows = i64::try_from(rows)?;
    let written = usize::try_from(written)?;
    let server = Server::start(bench, &rig).await?;
    let limited = limited_key(server.address).await?;
    let requests = requests(&punctual_api::document(), bench.clock.now(), rows);
    let mut measured = Vec::new();
    for (caller, key) in [("all", KEY), ("unit", limited.as_str())] {
        for request in &requests {
            let wire = get(request, key);
            let mut client = Client::connect(server.address).await?;
            let (status, _) = client.call(&wire).await?;
            // A parameter that a route refuses is no measure; a server that fails is no list.
            ensure!(status < 500, "{caller} {request} was answered {status}");
            if status != 200 {
                continue;
            }
            let mut times = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                let started = bench.clock.now();
                client.expect(&wire).await?;
                times.push(bench.clock.now().duration_since(started).as_secs_f64() * 1_000.0);
            }
            measured.push((at(&mut times, 0.5), at(&mut times, 1.0), format!("{caller} {request}")));
        }
    }
    server.stop().await?;
    rig.remove().await?;
    measured.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut typical: Vec<f64> = measured.iter().map(|(median, ..)| *median).collect();
    let slowest: Vec<Value> = measured
        .iter()
        .take(SHOWN)
        .map(|(median, worst, request)| json!({ "request": request, "ms": median, "worst": worst }))
        .collect();
    let figures = json!({ "p50": at(&mut typical, 0.5), "p99": at(&mut typical, 0.99), "max": at(&mut typical, 1.0),
        "requests": measured.len(), "over_100_ms": typical.iter().filter(|ms| **ms > 100.0).count(), "slowest": slowest });
    let lists = Measured { test: "lists", jobs: usize::try_from(rows)?, figures };
    Ok(took.map(|took| Measured::rate("fill", written, took)).into_iter().chain([lists]).collect())
}

/// A key that is limited to the business unit which has one row of ten thousand.
async fn limited_key(address: std::net::SocketAddr) -> Result<String> {
    let mut client = Client::connect(address).await?;
    let unit = json!({ "name": "New Zealand", "timeZone": "Pacific/Auckland" }).to_string();
    client.expect(&with_body("PUT", "/api/v1/business-units/nz", &unit)).await?;
    let key = json!({ "name": "limited", "scopes": ["read"], "businessUnits": ["nz"] }).to_string();
    let answer: Value =
        serde_json::from_slice(client.expect(&with_body("POST", "/api/v1/keys", &key)).await?)?;
    let key = answer.get("key").or_else(|| answer.get("secret")).and_then(Value::as_str);
    Ok(key.with_context(|| format!("no key in {answer}"))?.to_owned())
}

/// What each parameter is called with: what many rows have, what few have and what none has.
fn values(name: &str, now: jiff::Timestamp, rows: i64) -> Vec<String> {
    let long_ago = |seconds: i64| {
        (now - SignedDuration::from_hours(24 * 180) + SignedDuration::from_secs(seconds)).to_string()
    };
    let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match name {
        "status" => texts(&[
            "pending",
            "retrying",
            "delivered",
            "parked",
            "withdrawn",
            "discarded",
            "processing",
            "completed",
            "failed",
            "deactivated",
            "cancelled",
            "sent",
            "opened",
            "expired",
        ]),
        "from" => vec![long_ago(0)],
        "to" => vec![long_ago(60)],
        "date" => texts(&["2026-05-14"]),
        "type" => texts(&["email", "event"]),
        "site" => texts(&["plant-7", "nowhere"]),
        "list" => texts(&["seldom", "nowhere"]),
        "kind" => texts(&["report-subscription", "schedule", "nowhere"]),
        "sourceType" => texts(&["document", "nowhere"]),
        "sourceId" => texts(&["doc-5", "nowhere"]),
        "actor" => texts(&["seldom", "nowhere"]),
        "action" => texts(&["discard", "retry"]),
        "subject" => texts(&["notification/n-5", "notification/nowhere"]),
        "channelType" => texts(&["email", "sms"]),
        "reason" => texts(&["complaint", "manual"]),
        "triggerId" => texts(&["sale", "nowhere"]),
        "customerRef" => texts(&["cust-5", "nowhere"]),
        "subjectId" => texts(&["s-5"]),
        "businessUnit" => texts(&["nz"]),
        "stuck" | "hold" | "unread" => texts(&["true", "false"]),
        "limit" => texts(&["200"]),
        "count" => texts(&["5"]),
        "work" => vec![(rows / 2).to_string()],
        "q" => texts(&["needle"]),
        _ => Vec::new(),
    }
}

/// The addresses of every GET of the document: alone, with each value of each parameter, and with each pair of parameters.
pub(super) fn requests(document: &Value, now: jiff::Timestamp, rows: i64) -> Vec<String> {
    let mut requests = Vec::new();
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        let operation = &operations["get"];
        // Files are made whole and not in pages, and so is the export of all definitions.
        let is_file =
            path.contains("results.") || path.contains("/artefacts/") || path == "/api/v1/definitions";
        if operation.is_null() || is_file {
            continue;
        }
        let path = with_segments(path, rows);
        let parameters: Vec<(String, bool)> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| {
                (parameter["name"].as_str().unwrap_or_default().to_owned(), parameter["required"] == true)
            })
            .collect();
        let first =
            |name: &str| values(name, now, rows).into_iter().next().map(|value| format!("{name}={value}"));
        let needed: Vec<String> =
            parameters.iter().filter(|(_, required)| *required).filter_map(|(name, _)| first(name)).collect();
        let with = |more: &[String]| {
            let query = [needed.as_slice(), more].concat().join("&");
            if query.is_empty() { path.clone() } else { format!("{path}?{query}") }
        };
        requests.push(with(&[]));
        let optional: Vec<&String> =
            parameters.iter().filter(|(_, required)| !required).map(|(name, _)| name).collect();
        for (place, name) in optional.iter().enumerate() {
            for value in values(name, now, rows) {
                let own = format!("{name}={value}");
                requests.push(with(std::slice::from_ref(&own)));
                // The last value is the rarest: what none has beside what few have.
                for other in &optional[place + 1..] {
                    if let Some(value) = values(other, now, rows).pop().filter(|_| *other != "limit") {
                        requests.push(with(&[own.clone(), format!("{other}={value}")]));
                    }
                }
            }
        }
    }
    requests
}

/// The path with something that is there for each of its segments.
fn with_segments(path: &str, rows: i64) -> String {
    let middle = rows / 2;
    let id = match path {
        path if path.starts_with("/api/v1/notifications") => format!("00000000-0000-4000-8000-{middle:012}"),
        path if path.starts_with("/api/v1/operations/people") => "p-5".to_owned(),
        path if path.starts_with("/api/v1/operations/rules") => "r-5".to_owned(),
        path if path.starts_with("/api/v1/operations") => "s-5".to_owned(),
        path if path.starts_with("/api/v1/surveys") => "1".to_owned(),
        path if path.starts_with("/api/v1/messages") => "m-1".to_owned(),
        _ => middle.to_string(),
    };
    let known = [
        ("{id}", id.as_str()),
        ("{type}", "document"),
        ("{site}", "plant-7"),
        ("{publicId}", "p-5"),
        ("{person}", "person-5"),
        ("{name}", "ops"),
        ("{guid}", "00000000-0000-4000-8000-000000000001"),
        ("{channelType}", "email"),
        ("{address}", "user-5@example.org"),
        ("{key}", "memory:default"),
    ];
    known.iter().fold(path.to_owned(), |path, (segment, value)| path.replace(segment, value))
}
