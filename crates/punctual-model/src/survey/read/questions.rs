//! Parses the questions of a schema.

use jiff::civil::Date;
use serde_json::Value;

use super::is_handle;
use crate::{
    Fault, Filter,
    fault::shown,
    nearest::suggestion,
    object::Object,
    survey::{ANSWER_BYTES_MAX, Choice, Question, QuestionKind},
};

const KINDS: [&str; 8] = ["singleChoice", "multiChoice", "rating", "nps", "text", "number", "date", "yesNo"];
const COMMON: [&str; 8] = ["id", "type", "text", "help", "required", "group", "showIf", "skipIf"];
const OPTIONS_MAX: usize = 100;
/// Steps of a scale: more do not fit on a phone.
const STEPS_MAX: i64 = 20;

pub(super) fn read(items: &[(String, &Value)], default: &str, faults: &mut Vec<Fault>) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::with_capacity(items.len());
    let mut ids: Vec<&str> = Vec::with_capacity(items.len());
    for (pointer, value) in items {
        let Some(mut object) = Object::new(value, pointer.clone(), faults) else { continue };
        let id = object.required_text("id", 64);
        if let Some(id) = id {
            if !is_handle(id) {
                object.refuse("id", "key_invalid", "An id has 1 to 64 letters, digits, `-`, `_` or `.`.");
            } else if ids.contains(&id) {
                object.refuse("id", "field_conflict", format!("Another question has the id `{id}`."));
            }
        }
        let text = object.required_localised("text", default);
        let help = object.localised("help", default);
        let required = object.bool("required", false);
        let group = object.text("group", 64).map(str::to_owned);
        let kind = kind(&mut object, default);
        let show_if = condition(&mut object, "showIf", &ids);
        let skip_if = condition(&mut object, "skipIf", &ids);
        let (show_if_json, skip_if_json) = (object.get("showIf").cloned(), object.get("skipIf").cloned());
        ids.extend(id);
        if let (Some(id), Some(text), Some(kind)) = (id, text, kind) {
            questions.push(Question {
                id: id.to_owned(),
                text,
                help,
                required,
                group,
                kind,
                show_if,
                skip_if,
                show_if_json,
                skip_if_json,
            });
        }
    }
    questions
}

/// A condition, which may ask only for questions that come before.
fn condition(object: &mut Object<'_, '_>, name: &str, earlier: &[&str]) -> Option<Filter> {
    let filter = object.filter(name)?;
    for path in filter.paths() {
        if !earlier.contains(&path) {
            let detail = format!("`{}` is no question before this one.", shown(path));
            object.refuse(name, "out_of_range", detail);
        }
    }
    Some(filter)
}

fn kind(object: &mut Object<'_, '_>, default: &str) -> Option<QuestionKind> {
    let word = object.required_text("type", 32)?;
    let known = |own: &[&'static str]| COMMON.iter().chain(own).copied().collect::<Vec<&str>>();
    Some(match word {
        "singleChoice" => {
            object.only(&known(&["options"]));
            QuestionKind::SingleChoice { options: options(object, default) }
        }
        "multiChoice" => {
            object.only(&known(&["options", "minChoices", "maxChoices"]));
            let options = options(object, default);
            let most = i64::try_from(options.len()).unwrap_or(i64::MAX).max(1);
            let count = |number: Option<i64>| number.and_then(|number| usize::try_from(number).ok());
            let min = count(object.whole("minChoices", 0..=most)).unwrap_or(0);
            let max = count(object.whole("maxChoices", 1..=most)).unwrap_or(options.len());
            if min > max {
                object.refuse("minChoices", "out_of_range", "`minChoices` is at most `maxChoices`.");
            }
            QuestionKind::MultiChoice { options, min, max }
        }
        "rating" => {
            object.only(&known(&["min", "max"]));
            let min = object.whole("min", 0..=STEPS_MAX).unwrap_or(1);
            let max = object.whole("max", 1..=STEPS_MAX).unwrap_or(5);
            if min >= max {
                object.refuse("max", "out_of_range", "`max` is larger than `min`.");
            }
            QuestionKind::Rating { min, max }
        }
        "nps" => {
            object.only(&known(&["min", "max"]));
            let ends = (object.whole("min", 0..=0), object.whole("max", 10..=10));
            debug_assert!(matches!(ends, (None | Some(0), None | Some(10))), "an NPS scale is 0 to 10");
            QuestionKind::Nps
        }
        "text" => {
            object.only(&known(&["maxLength", "multiline"]));
            let longest = i64::try_from(ANSWER_BYTES_MAX).unwrap_or(i64::MAX);
            let length = object.whole("maxLength", 1..=longest).unwrap_or(2_000);
            let max_length = usize::try_from(length).unwrap_or(ANSWER_BYTES_MAX);
            QuestionKind::Text { max_length, multiline: object.bool("multiline", max_length > 200) }
        }
        "number" => {
            object.only(&known(&["min", "max", "whole"]));
            let (min, max) = (object.number("min"), object.number("max"));
            if min.zip(max).is_some_and(|(min, max)| min > max) {
                object.refuse("max", "out_of_range", "`max` is at least `min`.");
            }
            QuestionKind::Number { min, max, whole: object.bool("whole", false) }
        }
        "date" => {
            object.only(&known(&["min", "max"]));
            let (min, max) = (date(object, "min"), date(object, "max"));
            if min.zip(max).is_some_and(|(min, max)| min > max) {
                object.refuse("max", "out_of_range", "`max` is not before `min`.");
            }
            QuestionKind::Date { min, max }
        }
        "yesNo" => {
            object.only(&known(&[]));
            QuestionKind::YesNo
        }
        other => {
            let detail = format!("`{}` is no type of question: {}", shown(other), suggestion(other, &KINDS));
            object.refuse("type", "out_of_range", detail);
            return None;
        }
    })
}

fn date(object: &mut Object<'_, '_>, name: &str) -> Option<Date> {
    let text = object.text(name, 10)?;
    let date = text.parse().ok();
    if date.is_none() {
        object.refuse(name, "date_invalid", format!("`{name}` takes a date such as `2026-05-14`."));
    }
    date
}

fn options(object: &mut Object<'_, '_>, default: &str) -> Vec<Choice> {
    let items = object.array("options", 1..=OPTIONS_MAX, true);
    let mut options: Vec<Choice> = Vec::with_capacity(items.len());
    for (pointer, value) in items {
        // A text alone is its own value.
        if let Value::String(text) = value {
            options.push(Choice {
                value: text.clone(),
                text: crate::survey::Localised::one(default, text.clone()),
            });
            continue;
        }
        let Some(mut option) = Object::new(value, pointer, object.faults()) else { continue };
        option.only(&["value", "text"]);
        let value = option.required_text("value", 200).map(str::to_owned);
        if value.as_ref().is_some_and(|value| options.iter().any(|known| known.value == *value)) {
            option.refuse("value", "field_conflict", "Another option has this value.");
        }
        let text = option.localised("text", default);
        if let Some(value) = value {
            let text = text.unwrap_or_else(|| crate::survey::Localised::one(default, value.clone()));
            options.push(Choice { value, text });
        }
    }
    options
}
