//! A vertical timeline: what happened when, how long it took, in plain words, with the raw data folded below.

use jiff::Timestamp;
use punctual_engine::titles::{self, Step as Named};
use serde_json::Value;

use crate::{
    times::{When, Zone, rough},
    words,
};

/// One thing that happened.
pub struct Step {
    pub at: When,
    /// How long after the step before.
    pub after: Option<String>,
    pub title: String,
    pub detail: String,
    pub link: Option<String>,
    /// The colour of its mark.
    pub class: &'static str,
    /// What the other side or the store said, as it is.
    pub raw: Option<String>,
}

/// What a step is made of, before it has its place.
pub struct Happened {
    pub at: Timestamp,
    pub title: String,
    pub detail: String,
    pub link: Option<String>,
    pub class: &'static str,
    pub raw: Option<String>,
}

impl Happened {
    pub fn new(at: Timestamp, title: impl Into<String>) -> Self {
        Self { at, title: title.into(), detail: String::new(), link: None, class: "", raw: None }
    }
}

/// Puts steps in order and says how far apart they are.
pub fn in_order(mut happened: Vec<Happened>, zone: &Zone) -> Vec<Step> {
    happened.sort_by_key(|one| one.at);
    let mut before: Option<Timestamp> = None;
    let steps = happened.into_iter().map(|one| {
        let gap = before.map(|before| one.at.as_microsecond() - before.as_microsecond());
        let at = zone.step(one.at, before);
        before = Some(one.at);
        Step {
            at,
            after: gap.filter(|gap| *gap >= 1_000).map(|gap| format!("{} later", rough(gap))),
            title: one.title,
            detail: one.detail,
            link: one.link,
            class: one.class,
            raw: one.raw,
        }
    });
    steps.collect()
}

/// An entry of the audit in plain words.
pub fn audited(
    at: Timestamp,
    action: &str,
    actor: &str,
    reason: Option<&str>,
    raw: &Value,
    zone: &Zone,
) -> Happened {
    let who = titles::actor(actor);
    let class = match action {
        "hold" | "park" | "conflict" => "bad",
        "release" | "retry" => "good",
        _ => "",
    };
    let until = raw["data"]["until"].as_str().filter(|_| action == "defer");
    let until = until.and_then(|until| until.parse().ok()).map(|until| zone.exact(until).text);
    let reason = reason.filter(|reason| !reason.is_empty());
    let detail = match (action, reason) {
        ("note", Some(text)) => format!("“{text}” — {who}"),
        (_, Some(code)) => format!("{} — {who}", words::reason(Some(code))),
        (_, None) => format!("by {who}"),
    };
    let detail = until.map_or(detail.clone(), |until| format!("until {until}: {detail}"));
    let title = Named::Audited { action, data: &raw["data"] }.title();
    Happened { class, detail, raw: pretty(raw), ..Happened::new(at, title) }
}

/// JSON as people read it; nothing where there is nothing.
pub fn pretty(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Object(object) if object.values().all(Value::is_null) => None,
        value => serde_json::to_string_pretty(value).ok(),
    }
}

/// A stored JSON text as people read it, or as it is.
pub fn pretty_text(text: &str) -> String {
    serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|value| pretty(&value))
        .unwrap_or_else(|| text.to_owned())
}
