//! The `report` of a subscription: a source, and how its rows are shown.
//!
//! ```json
//! {"source": {"sql": {"connection": "warehouse", "query": "SELECT site, sum(total) AS total FROM … WHERE at >= :periodStart AND at < :periodEnd GROUP BY site"}},
//!  "format": ["html", "csv", "xlsx"], "columns": [{"name": "total", "title": {"en": "Revenue", "de": "Umsatz"}, "decimals": 2}],
//!  "totals": ["total"], "chart": {"kind": "bar", "x": "site", "y": ["total"]}, "rowCap": 5000, "timeout": "30s"}
//! ```

use std::time::Duration;

use punctual_model::{Fault, fault::shown, nearest, object::Object, survey::Localised, table::Kind};
use serde_json::Value;

/// The parameters of every query and endpoint.
pub const PARAMETERS: [&str; 3] = ["periodStart", "periodEnd", "businessUnit"];

const FIELDS: [&str; 7] = ["source", "format", "columns", "totals", "chart", "rowCap", "timeout"];
const SOURCES: [&str; 3] = ["builtin", "sql", "http"];
const QUERY_MAX: usize = 20_000;
const COLUMNS_MAX: usize = 100;
/// Lines or bars of one chart: more cannot be distinguished.
const SERIES_MAX: usize = 6;
/// Rows that a report has unless it says otherwise, and the most it can say.
pub const ROW_CAP: usize = 10_000;
const ROW_CAP_MAX: i64 = 100_000;
const TIMEOUT: Duration = Duration::from_secs(30);
const TIMEOUT_MAX: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    pub source: SourceKind,
    pub formats: Vec<Format>,
    /// What is said about columns; others are shown as they come.
    pub columns: Vec<ColumnLook>,
    /// The columns that are added up.
    pub totals: Vec<String>,
    pub chart: Option<Chart>,
    pub row_cap: usize,
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SourceKind {
    /// Punctual's own data, by the key of who makes the table, with what else is in the source.
    Builtin { key: String, settings: Value },
    /// A query on a configured database.
    Sql { connection: String, query: String },
    /// An endpoint that returns JSON; `rows` points to the rows in it.
    Http { url: String, rows: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Html,
    Csv,
    Xlsx,
}

impl Format {
    const NAMES: [(&'static str, Self); 3] = [("html", Self::Html), ("csv", Self::Csv), ("xlsx", Self::Xlsx)];
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnLook {
    pub name: String,
    pub title: Option<Localised>,
    pub kind: Option<Kind>,
    pub decimals: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    pub kind: ChartKind,
    /// The column along the axis.
    pub x: String,
    /// The columns that are drawn.
    pub y: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    Bar,
    Line,
}

impl Definition {
    /// Reads a definition and finds every fault in it, each with its pointer from the `report` object.
    pub fn read(value: &Value) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        match read(value, &mut faults) {
            Some(definition) if faults.is_empty() => Ok(definition),
            _ => Err(faults),
        }
    }

    pub fn has(&self, format: Format) -> bool {
        self.formats.contains(&format)
    }
}

fn read(value: &Value, faults: &mut Vec<Fault>) -> Option<Definition> {
    let mut object = Object::new(value, String::new(), faults)?;
    object.only(&FIELDS);
    let formats = formats(&mut object);
    let totals = names(&mut object, "totals", 0..=COLUMNS_MAX, false);
    let row_cap = object.whole("rowCap", 1..=ROW_CAP_MAX).and_then(|cap| usize::try_from(cap).ok());
    let timeout = object.duration("timeout").unwrap_or(TIMEOUT);
    if timeout.is_zero() || timeout > TIMEOUT_MAX {
        object.refuse("timeout", "out_of_range", "`timeout` takes a duration of at most `10m`.");
    }
    let chart = object.inner("chart").and_then(|mut chart| read_chart(&mut chart));
    let columns = object.array("columns", 0..=COLUMNS_MAX, false);
    object.require("source", "an object with `builtin`, `sql` or `http`");
    let source = object.inner("source").and_then(|mut source| read_source(&mut source));
    let columns = columns.iter().filter_map(|(pointer, item)| read_column(item, pointer, faults)).collect();
    Some(Definition {
        source: source?,
        formats,
        columns,
        totals,
        chart,
        row_cap: row_cap.unwrap_or(ROW_CAP),
        timeout,
    })
}

fn formats(object: &mut Object<'_, '_>) -> Vec<Format> {
    let mut formats = Vec::new();
    let items = object.array("format", 1..=Format::NAMES.len(), false);
    for (pointer, item) in &items {
        let name = item.as_str().unwrap_or_default();
        match Format::NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, format)) if formats.contains(format) => {}
            Some((_, format)) => formats.push(*format),
            None => object.faults().push(Fault::new(
                pointer.as_str(),
                "out_of_range",
                format!("A format is one of {}.", nearest::listed(&Format::NAMES.map(|(name, _)| name))),
            )),
        }
    }
    if formats.is_empty() { vec![Format::Html] } else { formats }
}

fn names(
    object: &mut Object<'_, '_>,
    field: &str,
    count: std::ops::RangeInclusive<usize>,
    required: bool,
) -> Vec<String> {
    let items = object.array(field, count, required);
    let mut names: Vec<String> = Vec::with_capacity(items.len());
    for (pointer, item) in &items {
        match item.as_str().filter(|name| (1..=128).contains(&name.len())) {
            Some(name) if names.iter().any(|known| known == name) => {}
            Some(name) => names.push(name.to_owned()),
            None => object.faults().push(Fault::new(
                pointer.as_str(),
                "wrong_type",
                "The name of a column is a text of 1 to 128 bytes.",
            )),
        }
    }
    names
}

fn read_source(source: &mut Object<'_, '_>) -> Option<SourceKind> {
    let given: Vec<&str> = SOURCES.iter().copied().filter(|name| source.get(name).is_some()).collect();
    match given[..] {
        ["builtin"] => {
            let key = source.required_text("builtin", 64)?.to_owned();
            let settings = source.rest(&["builtin"]);
            Some(SourceKind::Builtin { key, settings: Value::Object(settings) })
        }
        ["sql"] => {
            source.only(&["sql"]);
            let mut sql = source.inner("sql")?;
            sql.only(&["connection", "query"]);
            let connection = sql.required_text("connection", 64).map(str::to_owned);
            let query = sql.required_text("query", QUERY_MAX).map(str::to_owned);
            Some(SourceKind::Sql { connection: connection?, query: query? })
        }
        ["http"] => {
            source.only(&["http"]);
            let mut http = source.inner("http")?;
            http.only(&["url", "rows"]);
            let url = http.required_text("url", 2_048).map(str::to_owned);
            let rows = http.text("rows", 256).unwrap_or_default().to_owned();
            if !rows.is_empty() && !rows.starts_with('/') {
                http.refuse("rows", "out_of_range", "`rows` points into the answer, such as `/data/items`.");
            }
            Some(SourceKind::Http { url: url?, rows })
        }
        [] => {
            let detail = "A source has one of `builtin`, `sql` and `http`.";
            source.only(&SOURCES);
            source.refuse("builtin", "missing_field", detail);
            None
        }
        [_, second, ..] => {
            source.refuse(second, "field_conflict", "A source has only one of `builtin`, `sql` and `http`.");
            None
        }
        [_] => None,
    }
}

fn read_chart(chart: &mut Object<'_, '_>) -> Option<Chart> {
    chart.only(&["kind", "x", "y"]);
    let kind = match chart.required_text("kind", 16) {
        Some("bar") => Some(ChartKind::Bar),
        Some("line") => Some(ChartKind::Line),
        Some(other) => {
            let detail = format!("`{}` is no kind of chart; known are `bar` and `line`.", shown(other));
            chart.refuse("kind", "out_of_range", detail);
            None
        }
        None => None,
    };
    let x = chart.required_text("x", 128).map(str::to_owned);
    let y = names(chart, "y", 1..=SERIES_MAX, true);
    Some(Chart { kind: kind?, x: x?, y })
}

fn read_column(item: &Value, pointer: &str, faults: &mut Vec<Fault>) -> Option<ColumnLook> {
    let mut column = Object::new(item, pointer.to_owned(), faults)?;
    column.only(&["name", "title", "kind", "decimals"]);
    let name = column.required_text("name", 128).map(str::to_owned);
    let title = column.localised("title", "en");
    let kind = column.text("kind", 16).and_then(|name| {
        let kind = Kind::parse(name);
        if kind.is_none() {
            let names: Vec<&str> = Kind::NAMES.iter().map(|(name, _)| *name).collect();
            let detail =
                format!("`{}` is no kind of column; {}", shown(name), nearest::suggestion(name, &names));
            column.refuse("kind", "out_of_range", detail);
        }
        kind
    });
    let decimals = column.whole("decimals", 0..=10).and_then(|decimals| u32::try_from(decimals).ok());
    Some(ColumnLook { name: name?, title, kind, decimals })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(value: &Value) -> Vec<(String, &'static str)> {
        let faults = Definition::read(value).unwrap_err();
        faults.into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    }

    #[test]
    fn the_shape_of_the_handbook_is_read_whole() {
        let definition = Definition::read(&json!({
            "source": {"sql": {"connection": "warehouse", "query": "…"}}, "format": ["html", "csv", "xlsx", ],
            "columns": [{"name": "total", "title": {"en": "Revenue", "de": "Umsatz"}, "kind": "decimal", "decimals": 2}, {"name": "site", "title": "Site"}],
            "totals": ["total"], "chart": {"kind": "line", "x": "day", "y": ["total"]}, "rowCap": 50, "timeout": "2m",
        }))
        .unwrap();
        assert_eq!(definition.source, SourceKind::Sql { connection: "warehouse".into(), query: "…".into() });
        assert!(definition.has(Format::Xlsx) && definition.row_cap == 50);
        assert_eq!(definition.columns[0].title.as_ref().unwrap().pick(Some("de-AT"), "en").1, "Umsatz");
        assert_eq!(definition.chart.unwrap().kind, ChartKind::Line);
        assert_eq!(definition.timeout, Duration::from_secs(120));

        let least =
            Definition::read(&json!({"source": {"builtin": "survey-results", "survey": 12}})).unwrap();
        assert_eq!((least.formats.as_slice(), least.row_cap), (&[Format::Html][..], ROW_CAP));
        let settings = json!({"survey": 12});
        assert_eq!(least.source, SourceKind::Builtin { key: "survey-results".into(), settings });
    }

    #[test]
    fn every_fault_is_named_with_its_place() {
        let check = |value: Value, expected: &[(&str, &str)]| {
            let found = faults(&value);
            let found: Vec<(&str, &str)> = found.iter().map(|(p, c)| (p.as_str(), *c)).collect();
            assert_eq!(found, expected, "{value}");
        };
        let source = || json!({"builtin": "delivery-kpis"});
        check(json!([]), &[("", "wrong_type")]);
        check(json!({}), &[("/source", "missing_field")]);
        check(json!({"source": {}}), &[("/source/builtin", "missing_field")]);
        check(
            json!({"source": {"sqll": 1}}),
            &[("/source/sqll", "unknown_field"), ("/source/builtin", "missing_field")],
        );
        check(json!({"source": {"builtin": "a", "http": {}}}), &[("/source/http", "field_conflict")]);
        check(
            json!({"source": {"sql": {"query": 1}}}),
            &[("/source/sql/connection", "missing_field"), ("/source/sql/query", "wrong_type")],
        );
        check(
            json!({"source": {"http": {"url": "https://a.example", "rows": "items"}}}),
            &[("/source/http/rows", "out_of_range")],
        );
        check(json!({"source": source(), "format": ["pdf"]}), &[("/format/0", "out_of_range")]);
        check(
            json!({"source": source(), "rowCap": 1_000_000, "timeout": "1h"}),
            &[("/rowCap", "out_of_range"), ("/timeout", "out_of_range")],
        );
        check(
            json!({"source": source(), "chart": {"kind": "pie", "y": [1]}}),
            &[("/chart/kind", "out_of_range"), ("/chart/x", "missing_field"), ("/chart/y/0", "wrong_type")],
        );
        check(
            json!({"source": source(), "columns": [{"kind": "money"}]}),
            &[("/columns/0/name", "missing_field"), ("/columns/0/kind", "out_of_range")],
        );
        check(json!({"source": source(), "total": ["a"]}), &[("/total", "unknown_field")]);
    }
}
