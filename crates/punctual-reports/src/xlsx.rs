//! A spreadsheet file (Office Open XML) with typed cells and no formula.
//!
//! Texts are texts whatever they begin with, also when somebody edits the cell; totals are numbers, not sums to be
//! worked out. Dates and numbers carry their format, so that each reader's program shows them in its own language.
//! Written by hand: one sheet needs six small parts, and the libraries for it cost more to build than the rest.

mod sheet;
mod styles;

use jiff::tz::TimeZone;
use punctual_model::table::{Cell, Kind, Table};

use crate::{
    csv::is_formula,
    view::View,
    zip::{Archive, Part},
};
use sheet::Sheet;
use styles::Styles;

/// The media type of such a file.
pub const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// The most rows that a sheet can have, with its header and totals.
const ROWS_MAX: usize = 1_048_576;
/// Rows that say how wide a column must be.
const MEASURED: usize = 200;

/// A table under its column names, for what is no report.
pub fn table(sheet_name: &str, table: &Table, zone: &TimeZone) -> Vec<u8> {
    let mut styles = Styles::default();
    let columns: Vec<Layout<'_>> = table
        .columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            let decimals = table.rows.iter().map(|row| row[place].decimals()).max();
            let title = column.name.as_str();
            let lengths: Vec<usize> =
                table.rows.iter().take(MEASURED).map(|row| length(&row[place])).collect();
            let width = width(title.chars().count(), &lengths);
            Layout { title, kind: column.kind, decimals: decimals.unwrap_or(0), width }
        })
        .collect();
    let body = table.rows.iter().map(|row| row.iter().collect::<Vec<_>>());
    let sheet = write(&columns, body, None, zone, false, &mut styles);
    archive(sheet_name, sheet, &styles)
}

/// About how many characters a cell is wide.
fn length(cell: &Cell) -> usize {
    match cell {
        Cell::Text(text) => text.chars().count(),
        Cell::Instant(_) => 16,
        _ => 10,
    }
}

pub(crate) fn report(view: &View<'_>) -> Vec<u8> {
    let mut styles = Styles::default();
    let columns: Vec<Layout<'_>> = view
        .columns
        .iter()
        .map(|column| {
            let lengths: Vec<usize> = view
                .rows
                .iter()
                .take(MEASURED)
                .map(|row| view.text(column, &row[column.place]).chars().count())
                .collect();
            let width = width(column.title.chars().count(), &lengths);
            Layout { title: &column.title, kind: column.kind, decimals: column.decimals, width }
        })
        .collect();
    let body =
        view.rows.iter().map(|row| view.columns.iter().map(|column| &row[column.place]).collect::<Vec<_>>());
    let totals = view.totals.as_ref().map(|totals| {
        let mut cells: Vec<Cell> =
            totals.iter().map(|total| total.clone().map_or(Cell::Null, Cell::Decimal)).collect();
        if let Some(first @ Cell::Null) = cells.first_mut() {
            *first = Cell::text(view.locale.words.total);
        }
        cells
    });
    let sheet =
        write(&columns, body, totals.as_deref(), view.zone, view.locale.is_right_to_left(), &mut styles);
    archive(view.locale.words.sheet, sheet, &styles)
}

/// One column of the sheet.
struct Layout<'a> {
    title: &'a str,
    kind: Kind,
    decimals: u32,
    width: usize,
}

fn width(title: usize, cells: &[usize]) -> usize {
    cells.iter().copied().chain([title + 2]).max().unwrap_or(0).clamp(8, 60) + 2
}

fn write<'c>(
    columns: &[Layout<'_>],
    rows: impl Iterator<Item = Vec<&'c Cell>>,
    totals: Option<&[Cell]>,
    zone: &TimeZone,
    right_to_left: bool,
    styles: &mut Styles,
) -> Part {
    let mut sheet = Sheet::begin(right_to_left, columns.iter().map(|column| column.width));
    let header = styles.header();
    sheet.row(|row| columns.iter().for_each(|column| row.text(column.title, header)));
    let mut count = 0;
    for cells in rows.take(ROWS_MAX - 2) {
        sheet.row(|row| {
            for (column, cell) in columns.iter().zip(cells) {
                put(row, column, cell, zone, false, styles);
            }
        });
        count += 1;
    }
    if let Some(totals) = totals {
        sheet.row(|row| {
            for (column, cell) in columns.iter().zip(totals) {
                put(row, column, cell, zone, true, styles);
            }
        });
    }
    sheet.end(columns.len(), count + 1)
}

fn put(
    row: &mut sheet::Row<'_>,
    column: &Layout<'_>,
    cell: &Cell,
    zone: &TimeZone,
    bold: bool,
    styles: &mut Styles,
) {
    match cell {
        Cell::Null if !bold => row.skip(),
        Cell::Null => row.text("", styles.text(true, false)),
        Cell::Bool(truth) => row.truth(*truth, styles.text(bold, false)),
        // A number among texts is a name, and beyond 15 digits a spreadsheet would change it.
        Cell::Integer(value)
            if column.kind == Kind::Text || value.unsigned_abs() >= 1_000_000_000_000_000 =>
        {
            row.text(&value.to_string(), styles.text(bold, *value < 0));
        }
        Cell::Integer(value) => {
            row.number(&value.to_string(), styles.number(column.kind, column.decimals, bold))
        }
        Cell::Decimal(value) if column.kind == Kind::Text => {
            let text = value.to_string();
            row.text(&text, styles.text(bold, is_formula(&text)));
        }
        Cell::Decimal(value) => {
            row.number(&value.to_string(), styles.number(column.kind, column.decimals, bold))
        }
        Cell::Date(date) => match sheet::serial(date.to_datetime(jiff::civil::Time::midnight())) {
            Some(serial) => row.number(&serial, styles.date(false, bold)),
            None => row.text(&date.to_string(), styles.text(bold, false)),
        },
        Cell::Instant(at) => match sheet::serial(at.to_zoned(zone.clone()).datetime()) {
            Some(serial) => row.number(&serial, styles.date(true, bold)),
            None => row.text(&at.to_string(), styles.text(bold, false)),
        },
        Cell::Text(text) => row.text(text, styles.text(bold, is_formula(text))),
    }
}

fn archive(sheet_name: &str, sheet: Part, styles: &Styles) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.add_text("[Content_Types].xml", CONTENT_TYPES);
    archive.add_text("_rels/.rels", RELATIONS);
    let name: String = sheet_name.chars().filter(|c| !"[]:*?/\\'".contains(*c)).take(31).collect();
    let name = if name.is_empty() { "Sheet".to_owned() } else { sheet::escaped(&name) };
    archive.add_text("xl/workbook.xml", &WORKBOOK.replace("{name}", &name));
    archive.add_text("xl/_rels/workbook.xml.rels", WORKBOOK_RELATIONS);
    archive.add_text("xl/styles.xml", &styles.xml());
    archive.add(sheet);
    archive.finish()
}

const CONTENT_TYPES: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>"#;
const RELATIONS: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const WORKBOOK: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="{name}" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
const WORKBOOK_RELATIONS: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#;
