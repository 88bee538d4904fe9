//! From a table to what a person gets: the mail, and the files with it.

use jiff::{Timestamp, tz::TimeZone};
use punctual_model::table::Table;

use crate::{
    Definition, Format, chart, csv, html, plain,
    view::View,
    xlsx::{self, XLSX},
};

/// How the chart is named inside the mail.
pub(crate) const CHART_ID: &str = "chart@report.punctual";

/// What is around the numbers, and for whom they are written.
#[derive(Clone, Debug)]
pub struct Look {
    pub title: String,
    pub period_start: Timestamp,
    /// The first instant that is no part of the period.
    pub period_end: Timestamp,
    /// Where the days of the period begin and end; the same for everybody who gets the report.
    pub period_zone: TimeZone,
    /// Where the reader is: times of day are theirs.
    pub zone: TimeZone,
    pub locale: String,
}

/// A report that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presented {
    pub html: String,
    pub text: String,
    pub files: Vec<ReportFile>,
    /// How many rows the report has.
    pub rows: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Made here, never from what a user wrote.
    pub name: String,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
    /// What the mail calls it, where it is shown inside: `cid:…`.
    pub content_id: Option<String>,
    pub place: Place,
}

/// Where a file goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Beside the mail.
    Attached,
    /// Inside the mail.
    Inline,
    /// Kept with the run, not sent.
    Kept,
}

/// Makes the mail and its files. It takes time for large tables: a second for a hundred thousand rows.
pub fn present(definition: &Definition, table: &Table, look: &Look) -> Presented {
    let view = View::new(definition, table, look);
    let mut files = Vec::new();
    let drawn = definition.chart.as_ref().and_then(|chart| chart::draw(chart, &view));
    let has_file = definition.has(Format::Csv) || definition.has(Format::Xlsx);
    let stem = file_stem(look);
    if let Some(drawn) = &drawn {
        let file = |name: &str, media_type, bytes, place, content_id| ReportFile {
            name: name.to_owned(),
            media_type,
            bytes,
            content_id,
            place,
        };
        let id = Some(CHART_ID.to_owned());
        files.push(file("chart.png", "image/png", drawn.png(), Place::Inline, id));
        files.push(file("chart.svg", "image/svg+xml", drawn.svg().into_bytes(), Place::Kept, None));
    }
    let mut attach = |ending: &str, media_type, bytes| {
        files.push(ReportFile {
            name: format!("{stem}.{ending}"),
            media_type,
            bytes,
            content_id: None,
            place: Place::Attached,
        });
    };
    if definition.has(Format::Csv) {
        attach("csv", "text/csv", csv::report(&view).into_bytes());
    }
    if definition.has(Format::Xlsx) {
        attach("xlsx", XLSX, xlsx::report(&view));
    }
    Presented {
        html: html::page(&view, drawn.as_ref(), definition.has(Format::Html), has_file),
        text: plain::text(&view, definition.has(Format::Html), has_file),
        files,
        rows: table.rows.len(),
    }
}

/// `report-2026-11-02`: the first day of the period.
fn file_stem(look: &Look) -> String {
    format!("report-{}", look.period_start.to_zoned(look.period_zone.clone()).date())
}
