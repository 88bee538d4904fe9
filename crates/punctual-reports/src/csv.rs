//! Comma-separated values (RFC 4180) in which no cell is a formula.
//!
//! The file is for programs: column names as the source has them, numbers with a point, dates as 2026-11-03, instants
//! with their offset in the reader's zone. A text that a spreadsheet would run begins with an apostrophe. A number is
//! only digits, sign and point, so that it stays one.

use jiff::tz::TimeZone;
use punctual_model::table::{Cell, Table};

use crate::view::View;

/// A whole table with its header.
pub fn table(table: &Table, zone: &TimeZone) -> String {
    let mut text = row(table.columns.iter().map(|column| column.name.as_str()));
    table.rows.iter().for_each(|cells| push_row(&mut text, cells.iter(), zone));
    text
}

/// A line of texts.
fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        push_text(&mut line, cell);
    }
    line.push_str("\r\n");
    line
}

/// Whether a spreadsheet would take the text for something to run. Some look behind white space and at wide signs.
pub fn is_formula(text: &str) -> bool {
    text.starts_with(['\t', '\r', '\n'])
        || text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

fn push_text(line: &mut String, text: &str) {
    let is_formula = is_formula(text);
    let needs_quotes = is_formula || text.contains([',', '"', '\n', '\r', ';']);
    if needs_quotes {
        line.push('"');
    }
    if is_formula {
        line.push('\'');
    }
    line.push_str(&text.replace('"', "\"\""));
    if needs_quotes {
        line.push('"');
    }
}

pub(crate) fn report(view: &View<'_>) -> String {
    let mut text = row(view.columns.iter().map(|column| column.name.as_str()));
    for cells in view.rows {
        push_row(&mut text, view.columns.iter().map(|column| &cells[column.place]), view.zone);
    }
    text
}

fn push_row<'c>(text: &mut String, cells: impl Iterator<Item = &'c Cell>, zone: &TimeZone) {
    for (place, cell) in cells.enumerate() {
        if place > 0 {
            text.push(',');
        }
        match cell {
            Cell::Null => {}
            Cell::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
            Cell::Integer(value) => text.push_str(&value.to_string()),
            Cell::Decimal(value) => text.push_str(&value.to_string()),
            Cell::Date(date) => text.push_str(&date.to_string()),
            Cell::Instant(at) if *zone == TimeZone::UTC => text.push_str(&at.to_string()),
            Cell::Instant(at) => {
                text.push_str(&at.display_with_offset(zone.to_offset(*at)).to_string());
            }
            Cell::Text(written) => push_text(text, written),
        }
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        let cells =
            ["a", "=1+1", "+49", "-3", "@x", "\tq", " =x", "＝x", "x,y", "say \"so\"", "two\nlines", ""];
        assert_eq!(
            row(cells),
            "a,\"'=1+1\",\"'+49\",\"'-3\",\"'@x\",\"'\tq\",\"' =x\",\"'＝x\",\"x,y\",\"say \"\"so\"\"\",\"two\nlines\",\r\n"
        );
    }

    proptest! {
        /// Read back by the rules of RFC 4180, every cell is what it was, and none begins as a formula.
        #[test]
        fn t14_no_text_becomes_a_formula_or_another_cell(cells in prop::collection::vec("[-=+@\t\r\n\", ;'a1é＝]{0,8}", 1..5)) {
            let line = row(cells.iter().map(String::as_str));
            let read = read_back(line.strip_suffix("\r\n").unwrap());
            prop_assert_eq!(read.len(), cells.len());
            for (read, given) in read.iter().zip(&cells) {
                prop_assert!(!is_formula(read), "{:?}", read);
                prop_assert!(read == given || read.strip_prefix('\'') == Some(given));
            }
        }
    }

    fn read_back(line: &str) -> Vec<String> {
        let (mut cells, mut rest) = (Vec::new(), line);
        loop {
            let mut cell = String::new();
            if let Some(quoted) = rest.strip_prefix('"') {
                rest = quoted;
                loop {
                    let end = rest.find('"').expect("a quote is closed");
                    cell.push_str(&rest[..end]);
                    rest = &rest[end + 1..];
                    let Some(more) = rest.strip_prefix('"') else { break };
                    cell.push('"');
                    rest = more;
                }
            } else {
                let end = rest.find(',').unwrap_or(rest.len());
                assert!(!rest[..end].contains(['"', '\r', '\n']));
                cell.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            cells.push(cell);
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => return cells,
            }
        }
    }
}
