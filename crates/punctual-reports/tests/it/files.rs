//! CSV and spreadsheets, opened by somebody else's reader.

use proptest::prelude::*;
use punctual_model::table::{Cell, Column, Kind, Table};
use punctual_reports::{Place, present, xlsx};
use serde_json::{Value, json};

use crate::{
    python,
    sample::{definition, file, look, presented},
};

#[test]
fn a_spreadsheet_has_typed_cells_totals_and_a_header_that_stays() {
    let made = presented("de", "Europe/Berlin");
    let file = file(&made, ".xlsx");
    assert_eq!((file.name.as_str(), file.place), ("report-2026-10-26.xlsx", Place::Attached));
    let read = python::read(python::XLSX, &file.bytes);
    assert_eq!(read["sheets"], json!(["Bericht"]));
    assert_eq!((&read["frozen"], &read["filter"]), (&json!("A2"), &json!("A1:H5")));
    let cells = read["cells"].as_array().unwrap();
    let values = |row: usize| -> Vec<&Value> {
        cells[row].as_array().unwrap().iter().map(|cell| &cell["value"]).collect()
    };
    assert_eq!(
        values(0),
        [
            &json!("Standort"),
            &json!("Umsatz"),
            &json!("delivered"),
            &json!("parked"),
            &json!("share"),
            &json!("since"),
            &json!("last"),
            &json!("open")
        ]
    );
    assert!(cells[0][0]["bold"] == true && cells[1][0]["bold"] == false);
    // Half past eleven in the evening in UTC is the next day in Berlin.
    assert_eq!(
        values(1),
        [
            &json!("Plant 7"),
            &json!(1234567.5),
            &json!(12480),
            &json!(31),
            &json!(0.256),
            &json!("2026-10-25T00:00:00"),
            &json!("2026-11-02T00:30:00"),
            &json!(true)
        ]
    );
    let types: Vec<&Value> = cells[1].as_array().unwrap().iter().map(|cell| &cell["type"]).collect();
    assert_eq!(types, ["s", "n", "n", "n", "n", "d", "d", "b"]);
    assert_eq!((&cells[1][1]["format"], &cells[1][4]["format"]), (&json!("#,##0.00"), &json!("0.0%")));
    // A formula is a text here, and stays one when it is edited.
    assert_eq!(cells[3][0]["value"], "=HYPERLINK(\"http://x\",\"y\")");
    assert_eq!((&cells[3][0]["type"], &cells[3][0]["quoted"]), (&json!("s"), &json!(true)));
    assert_eq!(cells[4][7]["value"], Value::Null);
    assert_eq!(values(5)[..3], [&json!("Summe"), &json!(1234467.81), &json!(31955)]);
    assert!(
        cells[5].as_array().unwrap().iter().all(|cell| cell["type"] != "f"),
        "totals are numbers, not sums to be worked out"
    );
}

#[test]
fn an_arabic_spreadsheet_reads_from_right_to_left() {
    let made = presented("ar-IQ", "Asia/Baghdad");
    let read = python::read(python::XLSX, &file(&made, ".xlsx").bytes);
    assert_eq!((&read["rightToLeft"], &read["sheets"]), (&json!(true), &json!(["تقرير"])));
    assert_eq!(read["cells"][0][0]["value"], "الموقع");
    assert_eq!(read["cells"][5][0]["value"], "المجموع");
}

#[test]
fn t14_no_text_is_a_formula_in_a_spreadsheet_and_every_text_comes_back() {
    let texts = [
        "=1+1",
        "+49 30",
        "-3",
        "@SUM(A1)",
        "\tx",
        "\rx",
        "a\r\nb",
        " =x",
        "<&>\"'",
        "line\nbreak",
        "\u{1}\u{8}bell",
        "日本 🎌 é",
        "",
        "4711",
        "TRUE",
        "2026-11-03",
        "{=1}",
        "'quoted",
    ];
    let mut table = Table::new(vec![Column::new("text", Kind::Text)]);
    table.rows = texts.iter().map(|text| vec![Cell::text(*text)]).collect();
    let bytes = xlsx::table("Texts/[1]", &table, &jiff::tz::TimeZone::UTC);
    let read = python::read(python::XLSX, &bytes);
    assert_eq!(read["sheets"], json!(["Texts1"]));
    for (row, text) in texts.iter().enumerate() {
        let cell = &read["cells"][row + 1][0];
        let kept = text.replace(['\u{1}', '\u{8}'], "\u{fffd}");
        assert_eq!(cell["value"].as_str().unwrap_or_default(), kept, "{text:?}");
        assert!(matches!(cell["type"].as_str(), Some("s" | "inlineStr" | "n")), "{cell}");
        assert!(cell["value"].is_null() || cell["value"].is_string(), "{text:?} is still a text: {cell}");
    }
}

#[test]
fn a_long_number_keeps_its_digits() {
    let mut table = Table::new(vec![Column::new("id", Kind::Integer)]);
    table.rows = vec![vec![Cell::Integer(9_007_199_254_740_993)], vec![Cell::Integer(-5)]];
    let made =
        present(&definition(json!({"columns": [], "totals": [], "chart": null})), &table, &look("en", "UTC"));
    let read = python::read(python::XLSX, &file(&made, ".xlsx").bytes);
    assert_eq!(read["cells"][1][0]["value"], "9007199254740993");
    assert_eq!(read["cells"][2][0]["value"], -5);
    let lines = python::read(python::CSV, &file(&made, ".csv").bytes);
    assert_eq!(lines, json!([["id"], ["9007199254740993"], ["-5"]]));
}

#[test]
fn a_csv_file_is_for_programs_and_has_no_formula() {
    let made = presented("de", "Europe/Berlin");
    let file = file(&made, ".csv");
    assert!(file.bytes.ends_with(b"\r\n"));
    let lines = python::read(python::CSV, &file.bytes);
    assert_eq!(lines[0], json!(["site", "revenue", "delivered", "parked", "share", "since", "last", "open"]));
    assert_eq!(
        lines[1],
        json!([
            "Plant 7",
            "1234567.5",
            "12480",
            "31",
            "0.256",
            "2026-10-25",
            "2026-11-02T00:30:00+01:00",
            "true"
        ])
    );
    assert_eq!(lines[2][1], "-99.99", "a negative number is a number");
    assert_eq!(lines[3][0], "'=HYPERLINK(\"http://x\",\"y\")");
    assert_eq!(lines[4][7], "");
    assert_eq!(lines.as_array().unwrap().len(), 5, "no totals among the rows");
}

#[test]
fn many_rows_are_one_file_each() {
    let mut table = Table::new(vec![Column::new("n", Kind::Integer), Column::new("text", Kind::Text)]);
    table.rows = (0..20_000).map(|n| vec![Cell::Integer(n), Cell::text(format!("row {n}"))]).collect();
    table.truncated = true;
    let made = present(
        &definition(json!({"columns": [], "totals": ["n"], "chart": null})),
        &table,
        &look("en", "UTC"),
    );
    assert!(made.html.len() < 60_000, "the mail has the first rows alone: {} bytes", made.html.len());
    assert!(
        made.html.contains("The first 100 rows are shown.")
            && made.html.contains("All 20,000 rows are in the attached file.")
    );
    assert!(made.html.contains("more rows than its limit of 20,000"));
    assert!(made.text.contains("The first 50 rows are shown."));
    assert!(file(&made, ".xlsx").bytes.len() < 4_000_000);
    let count = r#"
import openpyxl, sys
sheet = openpyxl.load_workbook(sys.argv[1], read_only=True).active
rows = sheet.iter_rows(values_only=True, min_row=19_999)
print(__import__("json").dumps([list(row) for row in rows]))
"#;
    let last = python::read(count, &file(&made, ".xlsx").bytes);
    assert_eq!(last.as_array().unwrap().last().unwrap(), &json!([199_990_000_u64, ""]));
}

proptest! {
    // Few tables with many cells each, because every one of them is opened by a process of its own.
    #![proptest_config(ProptestConfig { max_shrink_iters: 20, ..ProptestConfig::with_cases(3) })]
    #[test]
    fn t14_no_text_becomes_a_formula_in_a_spreadsheet(
        texts in prop::collection::vec("[-=+@\t\r\n\", ;'a1é＝＋{}&<]{0,8}|\\PC{0,12}|[=+@-].{0,8}", 500..1_000),
        titles in prop::collection::vec("[=+@-]?[a-z(]{1,6}", 2), others in prop::collection::vec(cell(), 1_000),
    ) {
        let columns = titles.iter().zip([Kind::Text, Kind::Decimal]);
        let mut table = Table::new(columns.map(|(title, kind)| Column::new(title.clone(), kind)).collect());
        table.rows = texts.iter().zip(&others).map(|(text, other)| vec![Cell::text(text.clone()), other.clone()]).collect();
        let read = python::read(python::XLSX, &xlsx::table("Texts", &table, &jiff::tz::TimeZone::UTC));
        for (row, text) in texts.iter().enumerate() {
            let (cell, other) = (&read["cells"][row + 1][0], &read["cells"][row + 1][1]);
            prop_assert!(cell["type"] != "f" && other["type"] != "f", "{:?}: {} {}", text, cell, other);
            prop_assert_eq!(cell["value"].as_str().unwrap_or_default(), printable(text));
            prop_assert!(cell["quoted"] == punctual_reports::csv::is_formula(text), "{:?} stays a text when it is edited", text);
        }
        for (place, title) in titles.iter().enumerate() {
            let header = &read["cells"][0][place];
            prop_assert!(header["type"] != "f" && header["value"] == title.as_str(), "{}", header);
        }
    }
}

/// What XML can write of a text.
fn printable(text: &str) -> String {
    let unwritable = |c: char| (c < ' ' && !"\t\r\n".contains(c)) || c == '\u{fffe}' || c == '\u{ffff}';
    text.replace(unwritable, "\u{fffd}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_table_makes_a_presentation_fail(
        cells in prop::collection::vec(cell(), 0..40), width in 1usize..5, locale in "[a-zA-Z-]{0,8}|ar|de|en-US",
    ) {
        let columns: Vec<Column> = (0..width).map(|n| Column::new(format!("c{n}"), Kind::Decimal)).collect();
        let mut table = Table::new(columns);
        table.rows = cells.chunks_exact(width).map(<[Cell]>::to_vec).collect();
        let more = json!({"columns": [], "totals": ["c0"], "chart": {"kind": "line", "x": "c0", "y": ["c0"]}});
        let made = present(&definition(more), &table, &look(&locale, "Europe/Berlin"));
        prop_assert!(!made.html.contains("<script"));
        prop_assert!(!made.html.to_lowercase().contains("javascript:") || made.html.contains("&lt;"));
    }
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        Just(Cell::Null),
        any::<bool>().prop_map(Cell::Bool),
        any::<i64>().prop_map(Cell::Integer),
        any::<f64>().prop_map(Cell::float),
        "\\PC{0,12}|<script>.{0,5}|[=+@-].{0,8}".prop_map(Cell::Text),
        (-377_705_116_800i64..=253_402_207_200)
            .prop_map(|at| Cell::Instant(jiff::Timestamp::from_second(at).unwrap())),
    ]
}
