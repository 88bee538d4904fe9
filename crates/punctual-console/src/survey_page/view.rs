//! What the template shows of each question.

use punctual_model::{
    Fault,
    survey::{Question, QuestionKind, Schema, is_right_to_left},
};
use punctual_workflows::surveys::words::Words;
use serde_json::{Map, Value};

pub(super) struct QuestionView {
    pub id: String,
    pub kind: &'static str,
    pub text: String,
    pub help: Option<String>,
    pub required: bool,
    pub group: Option<String>,
    pub hidden: bool,
    pub error: Option<String>,
    pub options: Vec<OptionView>,
    /// What was answered, for questions that are written.
    pub value: String,
    pub multiline: bool,
    pub max_length: usize,
    pub min: String,
    pub max: String,
    /// The conditions as JSON, for the script.
    pub show_if: Option<String>,
    pub skip_if: Option<String>,
}

pub(super) struct OptionView {
    pub value: String,
    pub text: String,
    pub checked: bool,
}

pub(super) struct Language {
    pub locale: String,
    pub name: String,
    pub current: bool,
}

pub(crate) fn direction(locale: &str) -> &'static str {
    if is_right_to_left(locale) { "rtl" } else { "ltr" }
}

/// The languages of a survey by their own names; none where there is nothing to choose.
pub(super) fn languages(schema: &Schema, current: &str) -> Vec<Language> {
    let locales = schema.locales();
    if locales.len() < 2 {
        return Vec::new();
    }
    let one = |locale: &&str| Language {
        name: own_name(locale),
        current: *locale == current,
        locale: (*locale).to_owned(),
    };
    locales.iter().map(one).collect()
}

fn own_name(locale: &str) -> String {
    let name = match locale.split('-').next().unwrap_or_default() {
        "ar" => "العربية",
        "ckb" => "کوردی",
        "de" => "Deutsch",
        "en" => "English",
        "es" => "Español",
        "fa" => "فارسی",
        "fr" => "Français",
        "he" => "עברית",
        "it" => "Italiano",
        "ja" => "日本語",
        "nl" => "Nederlands",
        "pl" => "Polski",
        "pt" => "Português",
        "ru" => "Русский",
        "tr" => "Türkçe",
        "uk" => "Українська",
        "zh" => "中文",
        _ => return locale.to_owned(),
    };
    name.to_owned()
}

pub(super) fn questions(
    schema: &Schema,
    locale: &str,
    words: &Words,
    shown: &[&str],
    answers: &Map<String, Value>,
    faults: &[Fault],
) -> Vec<QuestionView> {
    schema
        .questions
        .iter()
        .map(|question| {
            let pointer = format!("/{}", punctual_model::fault::pointer_step(&question.id));
            let fault = faults.iter().find(|fault| fault.pointer == pointer);
            QuestionView {
                error: fault.map(|fault| complaint(fault, words)),
                hidden: !shown.contains(&question.id.as_str()),
                ..view(schema, question, locale, words, answers.get(&question.id))
            }
        })
        .collect()
}

/// What is wrong, in the reader's language; only English has the details.
fn complaint(fault: &Fault, words: &Words) -> String {
    match fault.code {
        "missing_field" => words.please_answer.to_owned(),
        _ if words.locale == "en" => fault.detail.clone(),
        _ => words.not_possible.to_owned(),
    }
}

fn view(
    schema: &Schema,
    question: &Question,
    locale: &str,
    words: &Words,
    answer: Option<&Value>,
) -> QuestionView {
    let text = |text| schema.text(text, Some(locale)).to_owned();
    let written = answer.map(|answer| answer.as_str().map_or_else(|| answer.to_string(), str::to_owned));
    let is_chosen = |value: &str| match answer {
        Some(Value::Array(items)) => items.iter().any(|item| item.as_str() == Some(value)),
        _ => written.as_deref() == Some(value),
    };
    let option = |value: String, text: String| OptionView { checked: is_chosen(&value), value, text };
    let (mut min, mut max) = (String::new(), String::new());
    let (mut multiline, mut max_length) = (false, 0);
    let options = match &question.kind {
        QuestionKind::SingleChoice { options } | QuestionKind::MultiChoice { options, .. } => {
            options.iter().map(|one| option(one.value.clone(), text(&one.text))).collect()
        }
        QuestionKind::Rating { .. } | QuestionKind::Nps => {
            let (first, last) = question.kind.scale().unwrap_or_default();
            (first..=last).map(|step| option(step.to_string(), step.to_string())).collect()
        }
        QuestionKind::YesNo => {
            vec![option("true".into(), words.yes.into()), option("false".into(), words.no.into())]
        }
        QuestionKind::Text { max_length: longest, multiline: lines } => {
            (multiline, max_length) = (*lines, *longest);
            Vec::new()
        }
        QuestionKind::Number { min: least, max: most, .. } => {
            let bound = |bound: &Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
            (min, max) = (bound(least), bound(most));
            Vec::new()
        }
        QuestionKind::Date { min: first, max: last } => {
            let bound =
                |bound: &Option<jiff::civil::Date>| bound.map(|date| date.to_string()).unwrap_or_default();
            (min, max) = (bound(first), bound(last));
            Vec::new()
        }
    };
    QuestionView {
        id: question.id.clone(),
        kind: match &question.kind {
            QuestionKind::Rating { .. } | QuestionKind::Nps => "scale",
            QuestionKind::YesNo | QuestionKind::SingleChoice { .. } => "one",
            QuestionKind::MultiChoice { .. } => "many",
            QuestionKind::Text { .. } => "text",
            QuestionKind::Number { .. } => "number",
            QuestionKind::Date { .. } => "date",
        },
        text: text(&question.text),
        help: question.help.as_ref().map(text),
        required: question.required,
        group: question.group.clone(),
        hidden: false,
        error: None,
        options,
        value: written.unwrap_or_default(),
        multiline,
        max_length,
        min,
        max,
        show_if: question.show_if_json.as_ref().map(Value::to_string),
        skip_if: question.skip_if_json.as_ref().map(Value::to_string),
    }
}
