//! Validates answers against a schema: the visible questions and the valid answers of each.
//!
//! Questions are evaluated in order, and a condition sees only answers to earlier visible questions. An answer to a hidden
//! question can therefore not make another question visible.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Map, Value};

use super::{Question, QuestionKind, Schema};
use crate::{
    fault::{Fault, pointer_step, shown},
    local_time::{DATE_YEARS, parse_date},
};

/// Answers that one submission may have.
pub const ANSWERS_MAX: usize = 200;
/// Bytes that one answer may have, written out.
pub const ANSWER_BYTES_MAX: usize = 8 << 10;

/// Which questions are shown, in their order.
pub type Visible<'s> = Vec<&'s Question>;

/// The questions that these answers show.
pub fn visible<'s>(schema: &'s Schema, answers: &Map<String, Value>) -> Visible<'s> {
    let mut known: HashMap<&str, &Value> = HashMap::new();
    let mut questions = Vec::with_capacity(schema.questions.len());
    for question in &schema.questions {
        if is_shown(question, &known) {
            if let Some(answer) = answers.get(&question.id).filter(|answer| !is_blank(answer)) {
                known.insert(&question.id, answer);
            }
            questions.push(question);
        }
    }
    questions
}

fn is_shown(question: &Question, known: &HashMap<&str, &Value>) -> bool {
    let lookup = |path: &str| known.get(path).map(|value| Cow::Borrowed(*value));
    let shows = question.show_if.as_ref().is_none_or(|filter| filter.matches(&lookup));
    shows && !question.skip_if.as_ref().is_some_and(|filter| filter.matches(&lookup))
}

/// Whether somebody left it empty.
fn is_blank(answer: &Value) -> bool {
    match answer {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The answers that count, in the order of the questions, or everything that is wrong with them. A pointer is from the
/// object of the answers.
pub fn check_answers(
    schema: &Schema,
    answers: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<Fault>> {
    let mut faults = Vec::new();
    if answers.len() > ANSWERS_MAX {
        let detail = format!("A submission has at most {ANSWERS_MAX} answers.");
        return Err(vec![Fault::new("", "out_of_range", detail)]);
    }
    let questions = visible(schema, answers);
    for id in answers.keys() {
        let pointer = || format!("/{}", pointer_step(id));
        if schema.question(id).is_none() {
            let detail = format!("The survey has no question `{}`.", shown(id));
            faults.push(Fault::new(pointer(), "unknown_field", detail));
        } else if questions.iter().all(|question| question.id != *id) && !answers.get(id).is_none_or(is_blank)
        {
            let detail = format!("The question `{}` is not asked after the answers before it.", shown(id));
            faults.push(Fault::new(pointer(), "field_conflict", detail));
        }
    }
    let mut counted = Map::new();
    for question in questions {
        let pointer = format!("/{}", pointer_step(&question.id));
        match answers.get(&question.id).filter(|answer| !is_blank(answer)) {
            None if question.required => {
                faults.push(Fault::new(pointer, "missing_field", "This question needs an answer."));
            }
            None => {}
            Some(answer) if answer.to_string().len() > ANSWER_BYTES_MAX => {
                let detail = format!("An answer has at most {ANSWER_BYTES_MAX} bytes.");
                faults.push(Fault::new(pointer, "out_of_range", detail));
            }
            Some(answer) => match check(&question.kind, answer) {
                Ok(answer) => drop(counted.insert(question.id.clone(), answer)),
                Err((code, detail)) => faults.push(Fault::new(pointer, code, detail)),
            },
        }
    }
    if faults.is_empty() { Ok(counted) } else { Err(faults) }
}

type Refused = (&'static str, String);

fn check(kind: &QuestionKind, answer: &Value) -> Result<Value, Refused> {
    let range = |detail: String| ("out_of_range", detail);
    match kind {
        QuestionKind::SingleChoice { options } => {
            let text = text_of(answer)?;
            if options.iter().any(|option| option.value == text) {
                return Ok(Value::from(text));
            }
            Err(range(format!("`{}` is not one of the choices.", shown(text))))
        }
        QuestionKind::MultiChoice { options, min, max } => {
            let Value::Array(items) = answer else {
                return Err(("wrong_type", "The answer is a list of choices.".into()));
            };
            let mut chosen: Vec<&str> = Vec::with_capacity(items.len().min(options.len()));
            for item in items {
                let text = text_of(item)?;
                if options.iter().all(|option| option.value != text) {
                    return Err(range(format!("`{}` is not one of the choices.", shown(text))));
                }
                if !chosen.contains(&text) {
                    chosen.push(text);
                }
            }
            if !(*min..=*max).contains(&chosen.len()) {
                return Err(range(format!("Choose {min} to {max}.")));
            }
            Ok(Value::from(chosen))
        }
        QuestionKind::Rating { .. } | QuestionKind::Nps => {
            let (min, max) = kind.scale().unwrap_or_default();
            let number = whole(answer).ok_or(("wrong_type", "The answer is a whole number.".to_owned()))?;
            if (min..=max).contains(&number) {
                return Ok(Value::from(number));
            }
            Err(range(format!("The answer is {min} to {max}.")))
        }
        QuestionKind::Text { max_length, .. } => {
            let text = text_of(answer)?;
            if text.chars().count() > *max_length {
                return Err(range(format!("The answer has at most {max_length} characters.")));
            }
            if text.contains('\0') {
                return Err(range("The answer has a character that cannot be kept.".into()));
            }
            Ok(Value::from(text))
        }
        QuestionKind::Number { min, max, whole: whole_only } => {
            let number = answer.as_f64().filter(|number| number.is_finite());
            let number = number.ok_or(("wrong_type", "The answer is a number.".to_owned()))?;
            if *whole_only && number.fract() != 0.0 {
                return Err(range("The answer is a whole number.".into()));
            }
            if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
                return Err(range(bounds("The answer", *min, *max)));
            }
            Ok(answer.clone())
        }
        QuestionKind::Date { min, max } => {
            let text = text_of(answer)?;
            let date = parse_date(text)
                .map_err(|_| ("date_invalid", "The answer is a date such as `2026-05-14`.".to_owned()))?;
            if !DATE_YEARS.contains(&date.year()) {
                let (first, last) = (DATE_YEARS.start(), DATE_YEARS.end());
                return Err((
                    "date_out_of_range",
                    format!("The year of the date is from {first} to {last}."),
                ));
            }
            if min.is_some_and(|min| date < min) || max.is_some_and(|max| date > max) {
                return Err(range(bounds("The date", *min, *max)));
            }
            Ok(Value::from(date.to_string()))
        }
        QuestionKind::YesNo => match answer {
            Value::Bool(_) => Ok(answer.clone()),
            _ => Err(("wrong_type", "The answer is `true` or `false`.".into())),
        },
    }
}

fn text_of(answer: &Value) -> Result<&str, Refused> {
    answer.as_str().ok_or(("wrong_type", "The answer is a text.".into()))
}

fn whole(answer: &Value) -> Option<i64> {
    answer.as_i64().or_else(|| {
        answer
            .as_f64()
            .filter(|number| number.fract() == 0.0 && number.abs() < 1e9)
            .map(|number| number as i64)
    })
}

fn bounds<T: std::fmt::Display>(what: &str, min: Option<T>, max: Option<T>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{what} is from {min} to {max}."),
        (Some(min), None) => format!("{what} is at least {min}."),
        (None, Some(max)) => format!("{what} is at most {max}."),
        (None, None) => format!("{what} is out of range."),
    }
}
