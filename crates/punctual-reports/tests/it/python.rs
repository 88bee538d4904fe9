//! The Python that opens what was written: its own `csv`, and openpyxl.

use std::process::Command;

/// Runs a script on a file and gives back what it printed, which is JSON.
pub fn read(script: &str, bytes: &[u8]) -> serde_json::Value {
    let file = tempfile::Builder::new().suffix(".xlsx").tempfile().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let python = std::env::var("PUNCTUAL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).arg("-c").arg(script).arg(file.path()).output().unwrap();
    assert!(
        output.status.success(),
        "`{python}` failed; it needs the packages of xtask/requirements.txt: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

pub const CSV: &str = r#"
import csv, json, sys
print(json.dumps(list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8'), strict=True))))
"#;

/// Every cell with its type, whether it is a formula, its number format and its weight; then what the sheet is like.
pub const XLSX: &str = r#"
import json, openpyxl, sys
book = openpyxl.load_workbook(sys.argv[1])
sheet = book.active
cells = [[{"value": c.value.isoformat() if hasattr(c.value, "isoformat") else c.value, "type": c.data_type,
           "format": c.number_format, "bold": bool(c.font.b), "quoted": bool(c.quotePrefix)} for c in row] for row in sheet.iter_rows()]
print(json.dumps({"sheets": book.sheetnames, "cells": cells, "frozen": sheet.freeze_panes, "filter": sheet.auto_filter.ref,
                  "rightToLeft": bool(sheet.sheet_view.rightToLeft), "widths": [sheet.column_dimensions[k].width for k in sorted(sheet.column_dimensions)]}))
"#;
