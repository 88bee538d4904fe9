//! Answers as a table: one row for each, one column for each question.

use punctual_engine::{Engine, EngineError};
use serde_json::{Map, Value};

use super::{ResultsFilter, walk};
use crate::surveys::Version;

/// A table with its header. Every cell is text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

const FIXED: [&str; 7] =
    ["publicId", "triggerId", "customerRef", "triggeredAt", "completedAt", "agentId", "candidate"];

/// Every answer that counts, oldest first.
pub async fn table(
    engine: &Engine,
    survey_id: i64,
    version: Option<&Version>,
    filter: &ResultsFilter,
) -> Result<Table, EngineError> {
    let questions: Vec<&str> = version
        .into_iter()
        .flat_map(|one| &one.schema.questions)
        .map(|question| question.id.as_str())
        .collect();
    let header = FIXED.iter().copied().chain(questions.iter().copied()).map(str::to_owned).collect();
    let mut table = Table { header, rows: Vec::new() };
    walk(engine, survey_id, filter, |row| {
        let (Some(answers), Some(at)) = (&row.answers, row.completed_at) else { return };
        let answers: Map<String, Value> = serde_json::from_str(answers).unwrap_or_default();
        let mut cells = vec![
            row.public_id.clone(),
            row.trigger_id.clone(),
            row.customer_ref.clone().unwrap_or_default(),
            instant(row.triggered_at),
            instant(at),
            row.agent_id.clone().unwrap_or_default(),
            row.metadata.clone(),
        ];
        cells.extend(questions.iter().map(|question| cell(answers.get(*question))));
        table.rows.push(cells);
    })
    .await?;
    Ok(table)
}

fn instant(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros).map(|at| at.to_string()).unwrap_or_default()
}

fn cell(answer: Option<&Value>) -> String {
    match answer {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("; "),
        Some(other) => other.to_string(),
    }
}

/// A line of CSV. A cell that a spreadsheet would take for a formula begins with an apostrophe.
pub fn csv_row(cells: &[String]) -> String {
    let mut line = String::new();
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let needs_quotes = is_formula || cell.contains([',', '"', '\n', '\r']);
        if needs_quotes {
            line.push('"');
        }
        if is_formula {
            line.push('\'');
        }
        line.push_str(&cell.replace('"', "\"\""));
        if needs_quotes {
            line.push('"');
        }
    }
    line.push_str("\r\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        let cells = ["a", "=1+1", "+49", "-3", "@x", "\tq", "x,y", "say \"so\"", "two\nlines", ""];
        let line = csv_row(&cells.map(str::to_owned));
        assert_eq!(
            line,
            "a,\"'=1+1\",\"'+49\",\"'-3\",\"'@x\",\"'\tq\",\"x,y\",\"say \"\"so\"\"\",\"two\nlines\",\r\n"
        );
    }
}
