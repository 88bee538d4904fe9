//! Answers as a table: one row per answer, one column per question.

use std::sync::Arc;

use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError};
use punctual_model::{
    Decimal, Reach,
    table::{Cell, Column, Kind, Table},
};
use serde_json::{Map, Value};

use super::{ResultsFilter, questions, walk};
use crate::surveys::Version;

const FIXED: [&str; 7] =
    ["publicId", "triggerId", "customerRef", "triggeredAt", "completedAt", "agentId", "candidate"];

/// Every answer that counts, oldest first.
#[boxed]
pub async fn table(
    engine: &Engine,
    reach: &Reach,
    survey_id: i64,
    versions: &[Arc<Version>],
    filter: &ResultsFilter,
) -> Result<Table, EngineError> {
    let questions: Vec<&str> =
        questions(versions).into_iter().map(|(_, question)| question.id.as_str()).collect();
    let names = FIXED.iter().chain(&questions);
    let mut table = Table::new(names.map(|name| Column::new(*name, Kind::Text)).collect());
    walk(engine, reach, survey_id, filter, i64::MIN, |row| {
        let (Some(answers), Some(at)) = (&row.answers, row.completed_at) else { return };
        let answers: Map<String, Value> = serde_json::from_str(answers).unwrap_or_default();
        let text = |text: &Option<String>| text.as_deref().map_or(Cell::Null, Cell::text);
        let mut cells = vec![
            Cell::text(&row.public_id),
            Cell::text(&row.trigger_id),
            text(&row.customer_ref),
            Cell::Instant(row.triggered_at),
            Cell::Instant(at),
            text(&row.agent_id),
            Cell::text(&row.metadata),
        ];
        cells.extend(questions.iter().map(|question| cell(answers.get(*question))));
        table.rows.push(cells);
    })
    .await?;
    // What people wrote is text, also where it looks like a date; answers that are numbers are numbers.
    for place in 0..table.columns.len() {
        table.columns[place].kind = kind(table.rows.iter().map(|row| &row[place]));
    }
    Ok(table)
}

fn cell(answer: Option<&Value>) -> Cell {
    match answer {
        None | Some(Value::Null) => Cell::Null,
        Some(Value::Bool(truth)) => Cell::Bool(*truth),
        Some(Value::String(text)) => Cell::text(text),
        Some(Value::Number(number)) => number
            .as_i64()
            .map(Cell::Integer)
            .or_else(|| Decimal::of_cell(&number.to_string()).map(Cell::Decimal))
            .unwrap_or_else(|| Cell::text(number.to_string())),
        Some(Value::Array(items)) => {
            let texts =
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
            Cell::Text(texts.collect::<Vec<_>>().join("; "))
        }
        Some(other) => Cell::text(other.to_string()),
    }
}

fn kind<'c>(cells: impl Iterator<Item = &'c Cell>) -> Kind {
    let mut found = None;
    for cell in cells {
        let kind = match cell {
            Cell::Null => continue,
            Cell::Integer(_) if found == Some(Kind::Decimal) => Kind::Decimal,
            Cell::Integer(_) => Kind::Integer,
            Cell::Decimal(_) => Kind::Decimal,
            Cell::Instant(_) => Kind::Instant,
            Cell::Bool(_) => Kind::Boolean,
            Cell::Date(_) | Cell::Text(_) => return Kind::Text,
        };
        found = Some(kind);
    }
    found.unwrap_or_default()
}
