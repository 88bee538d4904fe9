//! An endpoint that returns JSON, called through the guard that every outgoing call passes.
//!
//! It is asked with `?periodStart=…&periodEnd=…&businessUnit=…` and returns rows: an array of objects, or
//! `{"columns": ["site", …], "rows": [["plant-7", …], …]}`. Where the rows lie deeper, the definition points to them.

use std::time::Duration;

use punctual_channels::{
    Guard, Trust,
    guard::{CheckedUrl, UrlFault},
    http::{Call, HttpClient},
};
use punctual_model::{
    Decimal, ReasonCode, Secret, SendOutcome, SettingsFault,
    table::{Cell, Column, Kind, Table},
};
use serde_json::Value;

use super::{Asked, FetchFault, PARAMETERS};

/// The most of an answer that is read; more is refused, for half of a JSON text is none.
const MOST_ANSWER: usize = 16 * 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(60);
const COLUMNS_MAX: usize = 200;

pub(super) struct Http {
    guard: Guard,
    client: HttpClient,
}

impl Http {
    pub(super) fn open(guard: &Guard, trust: &Trust) -> Result<Self, SettingsFault> {
        let client = HttpClient::open(guard, trust, TIMEOUT, Vec::new())?.reading(MOST_ANSWER);
        Ok(Self { guard: guard.clone(), client })
    }

    pub(super) fn check(&self, url: &str) -> Result<CheckedUrl, UrlFault> {
        self.guard.check_url(url)
    }

    pub(super) async fn fetch(
        &self,
        url: &str,
        rows: &str,
        bearer: Option<&Secret>,
        asked: &Asked,
    ) -> Result<Table, FetchFault> {
        let mut target = self.check(url).map_err(|fault| FetchFault::lasting(fault.code, fault.detail))?;
        let values = [
            asked.period_start.to_string(),
            asked.period_end.to_string(),
            asked.business_unit.clone().unwrap_or_default(),
        ];
        target
            .url
            .query_pairs_mut()
            .extend_pairs(PARAMETERS.iter().zip(&values).filter(|(_, value)| !value.is_empty()));
        let mut call = Call::get(target).with("accept", "application/json").map_err(failed)?;
        if let Some(bearer) = bearer {
            call =
                call.with_secret("authorization", &format!("Bearer {}", bearer.expose())).map_err(failed)?;
        }
        let answer = self.client.send(call, asked.period_end).await.map_err(failed)?;
        match answer.status {
            200..=299 if answer.is_cut => {
                let detail =
                    format!("the answer of the endpoint has more than {} MiB", MOST_ANSWER / 1024 / 1024);
                Err(FetchFault::lasting("answer_too_large", detail))
            }
            200..=299 => {
                let value = serde_json::from_str(&answer.text).map_err(|fault| {
                    FetchFault::lasting(
                        "answer_invalid",
                        format!("the endpoint answered with no JSON: {fault}"),
                    )
                })?;
                table(&value, rows)
            }
            408 | 425 | 429 | 500..=599 => Err(FetchFault::passing(
                "endpoint_failed",
                format!("the endpoint answered with {}", answer.status),
            )),
            status => {
                Err(FetchFault::lasting("endpoint_refused", format!("the endpoint answered with {status}")))
            }
        }
    }
}

fn failed(outcome: SendOutcome) -> FetchFault {
    match outcome {
        SendOutcome::Permanent { error, reason: ReasonCode::UrlForbidden } => {
            FetchFault::lasting("url_forbidden", error)
        }
        SendOutcome::Permanent { error, .. } => FetchFault::lasting("endpoint_refused", error),
        // Nothing was changed there, so an answer in doubt is one that did not come.
        SendOutcome::Transient { error, .. } | SendOutcome::Uncertain { error } => {
            FetchFault::passing("endpoint_unreachable", error)
        }
        SendOutcome::Delivered { .. } => FetchFault::passing("endpoint_unreachable", "there was no answer"),
    }
}

/// The rows in an answer. Columns of objects are in the order of their names; the definition may give another.
fn table(answer: &Value, rows: &str) -> Result<Table, FetchFault> {
    let invalid = |detail: &str| FetchFault::lasting("answer_invalid", detail);
    let found = answer.pointer(rows).ok_or_else(|| invalid("the answer has nothing where `rows` points"))?;
    let mut made = match found {
        Value::Array(items) => of_objects(items),
        Value::Object(parts) => match (parts.get("columns"), parts.get("rows").or_else(|| parts.get("items"))) {
            (Some(Value::Array(columns)), Some(Value::Array(rows))) => of_arrays(columns, rows),
            (None, Some(Value::Array(items))) => of_objects(items),
            _ => None,
        },
        _ => None,
    }
    .ok_or_else(|| {
        invalid(r#"the rows are an array of objects, or {"columns": […], "rows": [[…], …]} with a cell for each column"#)
    })?;
    made.infer_kinds();
    Ok(made)
}

fn of_objects(items: &[Value]) -> Option<Table> {
    let mut table = Table::default();
    for item in items {
        let mut cells = vec![Cell::Null; table.columns.len()];
        for (name, value) in item.as_object()? {
            let place = table.place(name).unwrap_or_else(|| {
                table.columns.push(Column::new(name.as_str(), Kind::Text));
                table.columns.len() - 1
            });
            if table.columns.len() > COLUMNS_MAX {
                return None;
            }
            cells.resize(table.columns.len(), Cell::Null);
            cells[place] = cell(value);
        }
        table.rows.push(cells);
    }
    let width = table.columns.len();
    table.rows.iter_mut().for_each(|row| row.resize(width, Cell::Null));
    Some(table)
}

fn of_arrays(columns: &[Value], rows: &[Value]) -> Option<Table> {
    if columns.len() > COLUMNS_MAX {
        return None;
    }
    let names = columns.iter().map(|name| Some(Column::new(name.as_str()?, Kind::Text)));
    let mut table = Table::new(names.collect::<Option<_>>()?);
    for row in rows {
        let cells = row.as_array().filter(|cells| cells.len() == columns.len())?;
        table.rows.push(cells.iter().map(cell).collect());
    }
    Some(table)
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(truth) => Cell::Bool(*truth),
        Value::Number(number) => number.as_i64().map_or_else(
            || {
                Decimal::of_cell(&number.to_string())
                    .map_or_else(|| Cell::text(number.to_string()), Cell::Decimal)
            },
            Cell::Integer,
        ),
        Value::String(text) => Cell::text(text),
        Value::Array(_) | Value::Object(_) => Cell::text(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_read_in_either_shape() {
        let objects = table(&json!([{"a": 1, "b": "x"}, {"b": "y", "c": 0.5}]), "").unwrap();
        let names: Vec<&str> = objects.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(objects.columns[2].kind, Kind::Decimal);
        assert_eq!(objects.rows[1][0], Cell::Null);
        let arrays = table(&json!({"columns": ["day", "n"], "rows": [["2026-11-03", 7]]}), "").unwrap();
        assert_eq!(arrays.columns[0].kind, Kind::Date);
        assert_eq!(arrays.rows, [[Cell::Date("2026-11-03".parse().unwrap()), Cell::Integer(7)]]);
        assert_eq!(table(&json!({"data": {"items": []}}), "/data/items").unwrap().rows.len(), 0);
        assert_eq!(table(&json!({"items": [{"a": [1, 2]}]}), "").unwrap().rows, [[Cell::text("[1,2]")]]);
    }

    #[test]
    fn what_are_no_rows_is_said() {
        for (answer, rows) in [
            (json!({"data": 1}), ""),
            (json!([1, 2]), ""),
            (json!({"columns": ["a", "b"], "rows": [[1]]}), ""),
            (json!({"columns": [1], "rows": [[1]]}), ""),
            (json!({"data": []}), "/items"),
            (json!("text"), ""),
        ] {
            assert_eq!(table(&answer, rows).unwrap_err().code, "answer_invalid", "{answer}");
        }
    }
}
