//! Sources from CSV: the first record names the columns.

use std::{fmt, io::BufRead};

use serde_json::{Map, Value, json};

use crate::csv::{Record, Records};

/// Columns of one file.
const COLUMNS_MAX: usize = 500;
/// The longest line: a state of 64 KiB, escaped, with room to spare.
pub const LINE_MAX: usize = 1 << 20;

/// Why a file is no table of sources, or one of its lines none.
#[derive(Debug, PartialEq, Eq)]
pub struct TableFault(String);

impl fmt::Display for TableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TableFault {}

/// A source as an item of a bulk request, with its line and how far the file has been read.
pub type TableRow = (u64, u64, Map<String, Value>);

/// The sources of a file whose first record names its columns: `id` and, where they are there, `type`, `businessUnit`, `active`,
/// `sequence` and `occurredAt`; every other column is a field of the state.
pub fn sources(file: impl BufRead) -> Result<impl Iterator<Item = Result<TableRow, TableFault>>, TableFault> {
    let mut records = Records::new(file, LINE_MAX).strict();
    let (_, header) = next(&mut records).ok_or_else(|| TableFault("the file is empty".to_owned()))??;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    if !header.iter().any(|name| name == "id") {
        return Err(TableFault("the header has no column `id`".to_owned()));
    }
    if header.len() > COLUMNS_MAX {
        return Err(TableFault(format!("the header has more than {COLUMNS_MAX} columns")));
    }
    Ok(std::iter::from_fn(move || {
        let read = next(&mut records)?.and_then(|(line, cells)| {
            let (found, named) = (cells.len(), header.len());
            if found != named {
                return Err(TableFault(format!("line {line} has {found} columns, the header {named}")));
            }
            Ok((line, records.bytes(), source(&header, cells)))
        });
        Some(read)
    }))
}

/// The next record that has anything in it.
fn next(records: &mut Records<impl BufRead>) -> Option<Result<(u64, Vec<String>), TableFault>> {
    loop {
        let Record { line, cells } = match records.next()? {
            Ok(record) => record,
            Err(error) => return Some(Err(TableFault(format!("a line cannot be read: {error}")))),
        };
        let is_blank = |cells: &[String]| cells.len() == 1 && cells[0].trim().is_empty();
        match cells {
            Ok(cells) if is_blank(&cells) => {}
            cells => {
                let cells = cells.map(|cells| (line as u64, cells));
                return Some(cells.map_err(|why| TableFault(format!("line {line}: {why}"))));
            }
        }
    }
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
                Ok(fault) => fault.unwrap().to_string(),
                Err(fault) => fault.to_string(),
            }
        };
        assert_eq!(fault(""), "the file is empty");
        assert_eq!(fault("name\n1\n"), "the header has no column `id`");
        assert!(fault("id,a\n1\n").starts_with("line 2 has 1 columns"));
        assert!(fault("id,a\n1,\"b\n").contains("a quote is not closed"));
        assert!(fault("id,a\n1,b\"c\"\n").contains("a quote is inside"));
    }
}
