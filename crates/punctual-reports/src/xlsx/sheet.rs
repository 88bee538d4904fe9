//! One sheet, written row by row.

use std::fmt::Write;

use jiff::civil::{DateTime, date};

use crate::zip::Part;

/// The most characters of a cell.
const LONGEST_TEXT: usize = 32_767;

pub(super) struct Sheet {
    part: Part,
    line: String,
    rows: usize,
}

/// The row that is being written.
pub(super) struct Row<'s> {
    line: &'s mut String,
    number: usize,
    column: usize,
}

impl Sheet {
    /// The header stays in sight.
    pub fn begin(right_to_left: bool, widths: impl Iterator<Item = usize>) -> Self {
        let mut part = Part::new("xl/worksheets/sheet1.xml");
        part.write(r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#);
        part.write("\n<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetViews><sheetView");
        if right_to_left {
            part.write(r#" rightToLeft="1""#);
        }
        part.write(r#" workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>"#);
        let mut cols = String::new();
        for (place, width) in widths.enumerate() {
            let number = place + 1;
            _ = write!(cols, r#"<col min="{number}" max="{number}" width="{width}" customWidth="1"/>"#);
        }
        if !cols.is_empty() {
            part.write(&format!("<cols>{cols}</cols>"));
        }
        part.write("<sheetData>");
        Self { part, line: String::new(), rows: 0 }
    }

    pub fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) {
        self.rows += 1;
        self.line.clear();
        _ = write!(self.line, r#"<row r="{}">"#, self.rows);
        fill(&mut Row { line: &mut self.line, number: self.rows, column: 0 });
        self.line.push_str("</row>");
        self.part.write(&self.line);
    }

    /// Ends the sheet; the rows up to `filtered`, with the header, can be sorted and filtered.
    pub fn end(mut self, columns: usize, filtered: usize) -> Part {
        self.part.write("</sheetData>");
        if columns > 0 {
            self.part.write(&format!(r#"<autoFilter ref="A1:{}{filtered}"/>"#, letters(columns - 1)));
        }
        self.part.write("</worksheet>");
        self.part
    }
}

impl Row<'_> {
    fn open(&mut self, style: usize, kind: &str) {
        let (letters, number) = (letters(self.column), self.number);
        self.column += 1;
        _ = write!(self.line, r#"<c r="{letters}{number}" s="{style}"{kind}>"#);
    }

    pub fn skip(&mut self) {
        self.column += 1;
    }

    pub fn text(&mut self, text: &str, style: usize) {
        self.open(style, r#" t="inlineStr""#);
        self.line.push_str(r#"<is><t xml:space="preserve">"#);
        match text.char_indices().nth(LONGEST_TEXT) {
            Some((end, _)) => self.line.push_str(&escaped(&text[..end])),
            None => self.line.push_str(&escaped(text)),
        }
        self.line.push_str("</t></is></c>");
    }

    /// The text must be a number.
    pub fn number(&mut self, text: &str, style: usize) {
        self.open(style, "");
        _ = write!(self.line, "<v>{text}</v></c>");
    }

    pub fn truth(&mut self, truth: bool, style: usize) {
        self.open(style, r#" t="b""#);
        _ = write!(self.line, "<v>{}</v></c>", u8::from(truth));
    }
}

/// A, B, … Z, AA, …
fn letters(mut place: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + (place % 26) as u8));
        match (place / 26).checked_sub(1) {
            Some(next) => place = next,
            None => return letters.into_iter().rev().collect(),
        }
    }
}

/// Text as XML takes it. Characters that XML has no way to write become the replacement character, and what
/// spreadsheets would read as a coded character is coded itself.
pub(super) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        match c {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            // A bare CR would be read as LF.
            '\r' => written.push_str("&#13;"),
            '\t' | '\n' => written.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => written.push('\u{fffd}'),
            '_' if is_coded(&text.as_bytes()[at..]) => written.push_str("_x005F_"),
            _ => written.push(c),
        }
    }
    written
}

/// Whether this begins as `_x0041_`.
fn is_coded(text: &[u8]) -> bool {
    text.len() >= 7 && text[1] == b'x' && text[6] == b'_' && text[2..6].iter().all(u8::is_ascii_hexdigit)
}

/// Days since the end of 1899, as spreadsheets count them; none before March 1900, which they count wrongly.
pub(super) fn serial(at: DateTime) -> Option<String> {
    if at.date() < date(1900, 3, 1) {
        return None;
    }
    let days = date(1899, 12, 30).until(at.date()).ok()?.get_days();
    let time = at.time();
    let seconds = i32::from(time.hour()) * 3600 + i32::from(time.minute()) * 60 + i32::from(time.second());
    Some(if seconds == 0 {
        days.to_string()
    } else {
        format!("{:.8}", f64::from(days) + f64::from(seconds) / 86_400.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_letters() {
        for (place, name) in
            [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")]
        {
            assert_eq!(letters(place), name);
        }
    }

    #[test]
    fn days_are_counted_as_spreadsheets_do() {
        let at = |text: &str| serial(text.parse().unwrap());
        assert_eq!(at("2026-11-03T00:00").as_deref(), Some("46329"));
        assert_eq!(at("2026-11-03T12:00").as_deref(), Some("46329.50000000"));
        assert_eq!(at("1900-03-01T00:00").as_deref(), Some("61"));
        assert_eq!(at("1900-02-28T00:00"), None);
        assert!(at("9999-12-31T23:59:59").is_some());
    }

    #[test]
    fn text_is_written_so_that_it_comes_back() {
        assert_eq!(escaped("a<b>&\"c\"\u{1}\r\n"), "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}&#13;\n");
        assert_eq!(escaped("_x0041_ _x004_"), "_x005F_x0041_ _x004_");
    }
}
