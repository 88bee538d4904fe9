//! CSV as RFC 4180 has it: quoted fields may hold separators, quotes and line breaks.

use std::io::BufRead;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::{LINE_MAX, Read};

/// Columns of one file.
const COLUMNS_MAX: usize = 500;

/// The sources of a file whose first record names its columns.
pub fn sources(mut reader: impl BufRead) -> Result<impl Iterator<Item = Result<Read>>> {
    let mut place = Place { line: 1, bytes: 0 };
    let header = record(&mut reader, &mut place)?.context("the file is empty")?;
    let header: Vec<String> =
        header.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
    if !header.iter().any(|name| name == "id") {
        bail!("the header has no column `id`");
    }
    if header.len() > COLUMNS_MAX {
        bail!("the header has more than {COLUMNS_MAX} columns");
    }
    Ok(std::iter::from_fn(move || {
        let line = place.line;
        let cells = match record(&mut reader, &mut place) {
            Ok(cells) => cells?,
            Err(error) => return Some(Err(error)),
        };
        if cells.len() != header.len() {
            let (found, named) = (cells.len(), header.len());
            return Some(Err(anyhow::anyhow!("line {line} has {found} columns, the header {named}")));
        }
        Some(Ok((line, place.bytes, source(&header, cells))))
    }))
}

fn source(header: &[String], cells: Vec<String>) -> Map<String, Value> {
    let (mut item, mut state) = (Map::new(), Map::new());
    for (name, cell) in header.iter().zip(cells) {
        match name.as_str() {
            "active" => drop(item.insert(name.clone(), json!(!matches!(cell.trim(), "false" | "0" | "no")))),
            // An empty cell says nothing.
            _ if cell.is_empty() => {}
            "id" | "type" | "businessUnit" | "occurredAt" => drop(item.insert(name.clone(), cell.into())),
            "sequence" => drop(item.insert(name.clone(), cell.into())),
            _ => drop(state.insert(name.clone(), cell.into())),
        }
    }
    item.insert("state".into(), Value::Object(state));
    item
}

struct Place {
    line: u64,
    bytes: u64,
}

/// The next record; lines without anything are left out.
fn record(reader: &mut impl BufRead, place: &mut Place) -> Result<Option<Vec<String>>> {
    let mut text = String::new();
    loop {
        let before = text.len();
        let read = reader.read_line(&mut text).with_context(|| format!("line {}", place.line))?;
        place.bytes += read as u64;
        if read == 0 {
            if text.trim().is_empty() {
                return Ok(None);
            }
            if before == text.len() && is_open(&text) {
                bail!("line {}: a quote is not closed before the end of the file", place.line);
            }
        } else {
            place.line += 1;
        }
        if text.len() > LINE_MAX {
            bail!("line {} is longer than {LINE_MAX} bytes", place.line);
        }
        if text.trim().is_empty() {
            text.clear();
            continue;
        }
        // An odd number of quotes: the record goes on in the next line.
        if !is_open(&text) {
            return cells(text.trim_end_matches(['\r', '\n']))
                .map(Some)
                .with_context(|| format!("line {}", place.line));
        }
    }
}

fn is_open(text: &str) -> bool {
    text.matches('"').count() % 2 == 1
}

fn cells(text: &str) -> Result<Vec<String>> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            '"' => bail!("a quote is inside a cell that does not begin with one"),
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Map<String, Value>> {
        sources(text.as_bytes()).unwrap().map(|read| read.unwrap().2).collect()
    }

    #[test]
    fn columns_become_fields_and_empty_cells_say_nothing() {
        let text = "\u{feff}id,type,businessUnit,active,expiresOn,note\r\n42,document,nz,true,2026-05-14,\"a, \"\"b\"\"\nc\"\r\n\r\n43,document,,no,,\r\n";
        let found = read(text);
        let first = json!({ "id": "42", "type": "document", "businessUnit": "nz", "active": true,
            "state": { "expiresOn": "2026-05-14", "note": "a, \"b\"\nc" } });
        assert_eq!(Value::Object(found[0].clone()), first);
        let second = json!({ "id": "43", "type": "document", "active": false, "state": {} });
        assert_eq!(Value::Object(found[1].clone()), second);
    }

    #[test]
    fn what_is_no_table_is_named_by_its_line() {
        let fault = |text: &str| {
            let found = sources(text.as_bytes()).map(|mut items| items.find_map(Result::err));
            match found {
                Ok(fault) => format!("{:#}", fault.unwrap()),
                Err(fault) => format!("{fault:#}"),
            }
        };
        assert_eq!(fault(""), "the file is empty");
        assert_eq!(fault("name\n1\n"), "the header has no column `id`");
        assert!(fault("id,a\n1\n").starts_with("line 2 has 1 columns"));
        assert!(fault("id,a\n1,\"b\n").contains("a quote is not closed"));
        assert!(fault("id,a\n1,b\"c\"\n").contains("a quote is inside"));
    }
}
