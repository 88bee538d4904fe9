//! The mail and its chart as people see them. Pictures are kept in `target/tmp`, to be viewed.

use punctual_model::{
    Decimal,
    table::{Cell, Column, Kind, Table},
};
use punctual_reports::{Place, Presented, present};
use serde_json::json;

use crate::sample::{definition, file, look, presented, table};

fn keep(name: &str, bytes: &[u8]) {
    let folder =
        std::env::var("PUNCTUAL_TEST_PICTURES").unwrap_or_else(|_| env!("CARGO_TARGET_TMPDIR").to_owned());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(std::path::Path::new(&folder).join(name), bytes).unwrap();
}

/// The mail as a browser can open it, with the picture inside.
fn keep_mail(name: &str, made: &Presented) {
    let mut html = made.html.clone();
    if let Some(chart) = made.files.iter().find(|file| file.name == "chart.svg") {
        let svg = String::from_utf8(chart.bytes.clone()).unwrap();
        let start = html.find("<img ").unwrap();
        let end = start + html[start..].find('>').unwrap() + 1;
        html.replace_range(start..end, &svg);
    }
    keep(name, html.as_bytes());
}

#[test]
fn the_mail_has_the_numbers_in_the_readers_own_way() {
    for (locale, zone, wanted) in [
        (
            "en",
            "Europe/London",
            vec![
                "Deliveries by site",
                "26 Oct 2026 – 1 Nov 2026",
                "Revenue",
                "1,234,567.50",
                "25.6%",
                "25 Oct 2026",
                "1 Nov 2026 23:30",
                "yes",
                "Total",
                "31,955",
                "Times are in Europe/London.",
            ],
        ),
        (
            "de",
            "Europe/Berlin",
            vec![
                "26.10.2026 – 01.11.2026",
                "Umsatz",
                "1.234.567,50",
                "25,6\u{a0}%",
                "25.10.2026",
                "02.11.2026 00:30",
                "nein",
                "Summe",
                "-99,99",
            ],
        ),
        (
            "ar-IQ",
            "Asia/Baghdad",
            vec!["dir=\"rtl\"", "الإيرادات", "١٬٢٣٤٬٥٦٧٫٥٠", "٢٥٫٦٪", "٢٥ أكتوبر ٢٠٢٦", "نعم", "المجموع"],
        ),
    ] {
        let made = presented(locale, zone);
        for text in wanted {
            assert!(made.html.contains(text), "{locale}: {text}\n{}", made.html);
        }
        assert!(made.html.contains("cid:chart@report.punctual"));
        // What a user wrote stays text.
        assert!(made.html.contains("&lt;b&gt;Łódź&lt;/b&gt;") && !made.html.contains("<b>"));
        assert!(!made.html.contains("<script") && !made.html.contains("href"));
        keep_mail(&format!("report-{locale}.html"), &made);
    }
}

#[test]
fn the_text_lines_up_for_programs_without_html() {
    let made = presented("en", "UTC");
    let lines: Vec<&str> = made.text.lines().collect();
    assert_eq!(lines[0], "Deliveries by site");
    assert_eq!(lines[1], "26 Oct 2026 – 1 Nov 2026");
    assert!(lines[3].starts_with("Site") && lines[3].contains("     Revenue  delivered"), "{}", made.text);
    assert!(lines[5].starts_with("Plant 7") && lines[5].contains("1,234,567.50     12,480"), "{}", made.text);
    assert!(
        lines.iter().any(|line| line.starts_with("Total") && line.contains("1,234,467.81     31,955")),
        "{}",
        made.text
    );
}

#[test]
fn a_report_without_rows_says_so_and_still_has_its_files() {
    let empty = Table { rows: Vec::new(), ..table() };
    let made = present(&definition(json!({})), &empty, &look("de", "Europe/Berlin"));
    assert!(made.html.contains("Für diesen Zeitraum gibt es nichts zu berichten."));
    assert!(made.text.contains("nichts zu berichten"));
    let names: Vec<&str> = made.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["report-2026-10-26.csv", "report-2026-10-26.xlsx"], "no chart of nothing");
}

#[test]
fn only_what_is_asked_for_is_made() {
    let made = present(&definition(json!({"format": ["xlsx"], "chart": null})), &table(), &look("en", "UTC"));
    assert_eq!(made.files.len(), 1);
    assert!(!made.html.contains("Plant 7") && made.html.contains("Deliveries by site"));
    let plain = present(&definition(json!({"format": ["html"]})), &table(), &look("en", "UTC"));
    let places: Vec<Place> = plain.files.iter().map(|file| file.place).collect();
    assert_eq!(places, [Place::Inline, Place::Kept]);
    let other = present(
        &definition(json!({"chart": {"kind": "bar", "x": "nowhere", "y": ["delivered"]}})),
        &table(),
        &look("en", "UTC"),
    );
    assert!(!other.html.contains("cid:"), "a column that is not there makes no chart");
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    assert_eq!(presented("ar", "Asia/Baghdad"), presented("ar", "Asia/Baghdad"));
}

#[test]
fn charts_are_drawn_in_both_forms() {
    for (locale, zone) in [("en", "UTC"), ("de", "Europe/Berlin"), ("ar-IQ", "Asia/Baghdad")] {
        let made = presented(locale, zone);
        let (png, svg) = (file(&made, "chart.png"), file(&made, "chart.svg"));
        assert_eq!(png.content_id.as_deref(), Some("chart@report.punctual"));
        assert_eq!(size(&png.bytes), (1280, 600));
        assert!(png.bytes.len() < 60_000, "{} bytes", png.bytes.len());
        let svg_text = String::from_utf8(svg.bytes.clone()).unwrap();
        assert!(svg_text.contains("&lt;b&gt;Łódź&lt;/b&gt;") && !svg_text.contains("<b>"));
        keep(&format!("chart-bar-{locale}.png"), &png.bytes);
        keep(&format!("chart-bar-{locale}.svg"), &svg.bytes);
    }
}

#[test]
fn a_line_over_days_has_gaps_where_nothing_is_known() {
    let mut days = Table::new(vec![
        Column::new("day", Kind::Date),
        Column::new("rate", Kind::Percent),
        Column::new("goal", Kind::Percent),
    ]);
    let first: jiff::civil::Date = "2026-10-01".parse().unwrap();
    for n in 0..31i64 {
        let rate = 0.7 + 0.2 * (n as f64 / 4.0).sin() + n as f64 / 300.0;
        let day = first.checked_add(jiff::Span::new().days(n)).unwrap();
        let known = if (12..15).contains(&n) {
            Cell::Null
        } else {
            Cell::Decimal(Decimal::from_f64((rate * 1000.0).round() / 1000.0).unwrap())
        };
        days.rows.push(vec![Cell::Date(day), known, Cell::Decimal(Decimal::of_cell("0.8").unwrap())]);
    }
    let more = json!({"columns": [{"name": "rate", "title": {"en": "On time", "ar": "في الموعد"}}], "totals": [], "chart": {"kind": "line", "x": "day", "y": ["rate", "goal"]}});
    for locale in ["en", "de", "ar"] {
        let made = present(&definition(more.clone()), &days, &look(locale, "Europe/Berlin"));
        let svg = String::from_utf8(file(&made, "chart.svg").bytes.clone()).unwrap();
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 3, "two parts of the one line, and the other");
        keep(&format!("chart-line-{locale}.png"), &file(&made, "chart.png").bytes);
    }
}

#[test]
fn labels_without_letters_in_the_font_are_numbered_and_explained() {
    let mut cities = Table::new(vec![Column::new("city", Kind::Text), Column::new("n", Kind::Integer)]);
    for (city, n) in [("بغداد", 5_400), ("البصرة", 3_100), ("أربيل", -800)] {
        cities.rows.push(vec![Cell::text(city), Cell::Integer(n)]);
    }
    let more = json!({"columns": [], "totals": [], "chart": {"kind": "bar", "x": "city", "y": ["n"]}});
    let made = present(&definition(more), &cities, &look("ar-IQ", "Asia/Baghdad"));
    assert!(made.html.contains("١ <bdi>بغداد</bdi> · ٢ <bdi>البصرة</bdi>"), "{}", made.html);
    assert!(String::from_utf8(file(&made, "chart.svg").bytes.clone()).unwrap().contains("بغداد"));
    keep("chart-numbered-ar.png", &file(&made, "chart.png").bytes);
}

fn size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let word = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (word(16), word(20))
}

#[test]
fn a_reader_elsewhere_sees_their_own_times_and_the_period_of_the_report() {
    let mut look = look("en", "Europe/Berlin");
    look.zone = jiff::tz::TimeZone::get("America/New_York").unwrap();
    let made = present(&definition(json!({})), &table(), &look);
    for text in ["26 Oct 2026 – 1 Nov 2026", "1 Nov 2026 18:30", "Times are in America/New_York."] {
        assert!(made.html.contains(text), "{text}: {}", made.html);
    }
    assert!(made.files.iter().any(|file| file.name == "report-2026-10-26.csv"));
}

#[test]
fn a_wide_table_is_scrolled_and_does_not_widen_the_mail() {
    let columns = (0..30).map(|n| Column::new(format!("a column with a long name {n}"), Kind::Text));
    let row = (0..30).map(|n| Cell::text(format!("value-without-a-break-{n}"))).collect();
    let wide = Table { columns: columns.collect(), rows: vec![row], truncated: false };
    let definition = punctual_reports::Definition::read(&json!({ "source": { "builtin": "x" } })).unwrap();
    let made = present(&definition, &wide, &look("en", "UTC"));
    keep_mail("mail-wide.html", &made);
    let (before, table) = made.html.split_once(r#"<div style="overflow-x:auto"><table"#).unwrap();
    assert!(before.contains("table-layout:fixed") && table.contains("</table></div>"), "{}", made.html);
}
