//! Parses the triggers of a schema: filter, duplicate rules, schedule and delivery.

use std::{ops::RangeInclusive, time::Duration};

use serde_json::Value;

use super::{SUBSCRIBERS_MAX, is_handle};
use crate::{
    ChannelKey, Fault, Filter,
    delivery_policy::Handling,
    durations,
    fault::shown,
    object::Object,
    survey::{
        DEFAULT_GRACE, DEFAULT_MAX_LATENESS, Question, Recipe, Route, Schedule, SurveyTrigger,
        recipe::is_candidate_path,
    },
};

const FIELDS: [&str; 14] = [
    "id",
    "enabled",
    "eventKind",
    "filter",
    "dedupRecipe",
    "schedule",
    "channel",
    "template",
    "topic",
    "priority",
    "failover",
    "expiryGracePeriod",
    "maxLateness",
    "subscribers",
];
const RECIPE: RangeInclusive<usize> = 1..=32;
const REMINDERS: RangeInclusive<usize> = 0..=20;

pub(super) fn read(
    items: &[(String, &Value)],
    questions: &[Question],
    faults: &mut Vec<Fault>,
) -> Vec<SurveyTrigger> {
    let mut triggers: Vec<SurveyTrigger> = Vec::with_capacity(items.len());
    for (pointer, value) in items {
        let Some(mut object) = Object::new(value, pointer.clone(), faults) else { continue };
        if let Some(trigger) = trigger(&mut object, &triggers, questions) {
            triggers.push(trigger);
        }
    }
    triggers
}

fn trigger(
    object: &mut Object<'_, '_>,
    earlier: &[SurveyTrigger],
    questions: &[Question],
) -> Option<SurveyTrigger> {
    object.only(&FIELDS);
    let id = object.required_text("id", 64);
    if id.is_some_and(|id| !is_handle(id)) {
        object.refuse("id", "key_invalid", "An id has 1 to 64 letters, digits, `-`, `_` or `.`.");
    }
    if id.is_some_and(|id| earlier.iter().any(|known| known.id == id)) {
        object.refuse("id", "field_conflict", "Another trigger has this id.");
    }
    let enabled = object.bool("enabled", true);
    let event_kind = object.required_text("eventKind", 128);
    let filter = candidate_filter(object);
    let recipe = recipe(object);
    let schedule = schedule(object);
    let channel = object.required_text("channel", 130).and_then(|text| {
        let key = text.parse::<ChannelKey>();
        if let Err(fault) = &key {
            object.refuse("channel", "key_invalid", format!("{fault}."));
        }
        key.ok()
    });
    let template = object.text("template", 128).map(str::to_owned);
    let handling = Handling::read_from(object);
    let grace = object.duration("expiryGracePeriod").unwrap_or(DEFAULT_GRACE);
    let max_lateness = object.duration("maxLateness").unwrap_or(DEFAULT_MAX_LATENESS);
    let own = object.get("subscribers").is_some();
    let items = object.array("subscribers", 0..=SUBSCRIBERS_MAX, false);
    let subscribers = routes(&items, questions, object.faults());
    Some(SurveyTrigger {
        id: id?.to_owned(),
        enabled,
        event_kind: event_kind?.to_owned(),
        filter,
        recipe: recipe?,
        schedule: schedule?,
        channel: channel?,
        template,
        handling,
        grace,
        max_lateness,
        subscribers: own.then_some(subscribers),
    })
}

fn candidate_filter(object: &mut Object<'_, '_>) -> Option<Filter> {
    let filter = object.filter("filter")?;
    for path in filter.paths() {
        if !is_candidate_path(path) {
            object.refuse("filter", "out_of_range", unknown_path(path));
        }
    }
    Some(filter)
}

fn unknown_path(path: &str) -> String {
    format!(
        "`{}` is no path; there are `templateId`, `recipient.address`, `recipient.locale`, `recipient.customerRef` and `candidate.…`.",
        shown(path)
    )
}

fn recipe(object: &mut Object<'_, '_>) -> Option<Recipe> {
    let items = object.array("dedupRecipe", RECIPE, true);
    let mut paths: Vec<String> = Vec::with_capacity(items.len());
    for (pointer, value) in items {
        let fault = match value.as_str() {
            Some(path) if !is_candidate_path(path) || path.len() > 512 => {
                Some(("out_of_range", unknown_path(path)))
            }
            Some(path) if paths.iter().any(|known| known == path) => {
                Some(("field_conflict", "The path is in the recipe twice.".to_owned()))
            }
            Some(path) => {
                paths.push(path.to_owned());
                None
            }
            None => Some(("wrong_type", "A path is a text such as `candidate.wip`.".to_owned())),
        };
        object.faults().extend(fault.map(|(code, detail)| Fault::new(pointer, code, detail)));
    }
    (!paths.is_empty()).then_some(Recipe(paths))
}

fn schedule(object: &mut Object<'_, '_>) -> Option<Schedule> {
    if !object.require("schedule", r#"an object such as {"initialDelay": "0d", "reminders": ["1d"]}"#) {
        return None;
    }
    let mut inner = object.inner("schedule")?;
    inner.only(&["initialDelay", "reminders"]);
    inner.require("initialDelay", "a duration such as `0d`, `15m`, `4h` or `2d`");
    let initial_delay = inner.duration("initialDelay");
    let mut reminders = Vec::new();
    for (pointer, value) in inner.array("reminders", REMINDERS, false) {
        match value.as_str().map(durations::parse) {
            Some(Ok(delay)) if delay > Duration::ZERO => reminders.push(delay),
            Some(Ok(_)) => {
                let detail = "A reminder comes after the message before it, not with it.";
                inner.faults().push(Fault::new(pointer, "out_of_range", detail));
            }
            Some(Err(error)) => {
                let text = value.as_str().map(shown).unwrap_or_default();
                inner.faults().push(Fault::new(
                    pointer,
                    error.code(),
                    format!("`{text}` is no duration: {error}."),
                ));
            }
            None => {
                let detail = "A reminder is a duration as text, such as `1d`.";
                inner.faults().push(Fault::new(pointer, "wrong_type", detail));
            }
        }
    }
    Some(Schedule { initial_delay: initial_delay?, reminders })
}

/// Who gets answers. A filter there sees the answers by their question's id.
pub(super) fn routes(
    items: &[(String, &Value)],
    questions: &[Question],
    faults: &mut Vec<Fault>,
) -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::with_capacity(items.len());
    for (pointer, value) in items {
        let Some(mut object) = Object::new(value, pointer.clone(), faults) else { continue };
        object.only(&["key", "filter"]);
        let key = object.required_text("key", 130);
        if let Some(key) = key {
            if key.parse::<ChannelKey>().is_err() {
                object.refuse(
                    "key",
                    "key_invalid",
                    "A subscriber is `type:name`, such as `webhook:bi-ingest`.",
                );
            }
            if routes.iter().any(|known| known.key == key) {
                object.refuse("key", "field_conflict", "The subscriber is in the list twice.");
            }
        }
        let filter = object.filter("filter");
        for path in filter.iter().flat_map(Filter::paths) {
            let id = path.strip_prefix("answers.").unwrap_or(path);
            if !questions.iter().any(|question| question.id == id) && !is_candidate_path(path) {
                let detail = format!("`{}` is no question of the survey.", shown(path));
                object.refuse("filter", "out_of_range", detail);
            }
        }
        if let Some(key) = key {
            routes.push(Route { key: key.to_owned(), filter });
        }
    }
    routes
}
