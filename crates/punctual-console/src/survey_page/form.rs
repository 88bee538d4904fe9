//! A form's fields as answers.

use punctual_model::survey::{QuestionKind, Schema};
use serde_json::{Map, Value};

use crate::form::Fields;

/// The answers that a form has, by question. What cannot be right is kept as it is, so that it can be shown again.
pub(super) fn answers(schema: &Schema, fields: &Fields) -> Map<String, Value> {
    let mut answers = Map::new();
    for question in &schema.questions {
        let name = format!("q.{}", question.id);
        let text = fields.text(&name);
        let answer = match &question.kind {
            QuestionKind::MultiChoice { .. } => {
                let chosen: Vec<&str> = fields.all(&name).collect();
                if chosen.is_empty() { Value::Null } else { Value::from(chosen) }
            }
            _ if text.is_empty() => Value::Null,
            QuestionKind::Rating { .. } | QuestionKind::Nps | QuestionKind::Number { .. } => number(text),
            QuestionKind::YesNo => match text {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                other => Value::from(other),
            },
            QuestionKind::SingleChoice { .. } | QuestionKind::Text { .. } | QuestionKind::Date { .. } => {
                Value::from(text.replace("\r\n", "\n"))
            }
        };
        if !answer.is_null() {
            answers.insert(question.id.clone(), answer);
        }
    }
    answers
}

fn number(text: &str) -> Value {
    // People in many places write a comma.
    let text = text.replace(',', ".");
    let whole = text.parse::<i64>().map(Value::from).ok();
    whole
        .or_else(|| text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from))
        .unwrap_or(Value::from(text))
}
