//! Stand-in for the crate of report content.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::{Timestamp, tz::TimeZone};
use punctual_model::Fault;
use punctual_store::Store;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Integer(i64),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Decimal,
    Percent,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

impl Column {
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: name.into(), kind }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    pub truncated: bool,
}

#[derive(Clone, Debug)]
pub struct Definition {
    builtin: String,
    settings: Value,
}

impl Definition {
    pub fn read(value: &Value) -> Result<Self, Vec<Fault>> {
        let source = value.get("source").cloned().unwrap_or(Value::Null);
        match source.get("builtin").and_then(Value::as_str) {
            Some(builtin) => Ok(Self { builtin: builtin.to_owned(), settings: source }),
            None => Err(vec![Fault::new("/source", "missing_field", "`source` is missing.")]),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    pub business_unit: Option<String>,
    pub zone: TimeZone,
    pub locale: String,
}

#[derive(Clone, Debug)]
pub struct FetchFault {
    pub may_pass: bool,
    pub code: &'static str,
    pub detail: String,
}

pub trait Builtin: Send + Sync {
    fn key(&self) -> &'static str;
    fn fetch<'a>(
        &'a self,
        own: &'a Store,
        asked: &'a Asked,
        settings: &'a Value,
    ) -> BoxFuture<'a, Result<Table, FetchFault>>;
}

#[derive(Clone, Default)]
pub struct Sources(Vec<Arc<dyn Builtin>>);

impl Sources {
    #[must_use]
    pub fn with_builtin(mut self, builtin: Arc<dyn Builtin>) -> Self {
        self.0.push(builtin);
        self
    }

    pub fn check(&self, definition: &Definition, _business_unit: Option<&str>) -> Vec<Fault> {
        match self.0.iter().any(|known| known.key() == definition.builtin) {
            true => Vec::new(),
            false => vec![Fault::new("/source/builtin", "out_of_range", "There is no such source.")],
        }
    }

    pub async fn fetch(
        &self,
        own: &Store,
        definition: &Definition,
        asked: &Asked,
    ) -> Result<Table, FetchFault> {
        match self.0.iter().find(|known| known.key() == definition.builtin) {
            Some(known) => known.fetch(own, asked, &definition.settings).await,
            None => {
                Err(FetchFault { may_pass: false, code: "source-unknown", detail: "no such source".into() })
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct Look {
    pub title: String,
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    pub zone: TimeZone,
    pub locale: String,
}

#[derive(Clone, Debug)]
pub struct Presented {
    pub html: String,
    pub text: String,
    pub files: Vec<ReportFile>,
    pub rows: usize,
}

#[derive(Clone, Debug)]
pub struct ReportFile {
    pub name: String,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
    pub content_id: Option<String>,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Attached,
    Inline,
    Kept,
}

pub fn present(_definition: &Definition, table: &Table, look: &Look) -> Presented {
    let text = format!("{}: {} rows", look.title, table.rows.len());
    let mut csv = String::new();
    for row in &table.rows {
        csv.push_str(&format!("{row:?}\n"));
    }
    Presented {
        html: format!("<p>{text}</p>"),
        text,
        files: vec![ReportFile {
            name: "report.csv".into(),
            media_type: "text/csv",
            bytes: csv.into_bytes(),
            content_id: None,
            place: Place::Attached,
        }],
        rows: table.rows.len(),
    }
}
