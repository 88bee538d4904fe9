//! A table with something of everything.

use jiff::tz::TimeZone;
use punctual_model::{
    Decimal,
    table::{Cell, Column, Kind, Table},
};
use punctual_reports::{Definition, Look, Presented, ReportFile, present};
use serde_json::{Value, json};

pub fn definition(more: Value) -> Definition {
    let mut value = json!({
        "source": {"builtin": "sample"}, "format": ["html", "csv", "xlsx"],
        "columns": [
            {"name": "site", "title": {"en": "Site", "de": "Standort", "ar": "الموقع"}},
            {"name": "revenue", "title": {"en": "Revenue", "de": "Umsatz", "ar": "الإيرادات"}, "decimals": 2},
        ],
        "totals": ["delivered", "revenue"],
        "chart": {"kind": "bar", "x": "site", "y": ["delivered", "parked"]},
    });
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Definition::read(&value).unwrap()
}

pub fn table() -> Table {
    let mut table = Table::new(vec![
        Column::new("site", Kind::Text),
        Column::new("delivered", Kind::Integer),
        Column::new("parked", Kind::Integer),
        Column::new("revenue", Kind::Decimal),
        Column::new("share", Kind::Percent),
        Column::new("since", Kind::Date),
        Column::new("last", Kind::Instant),
        Column::new("open", Kind::Boolean),
    ]);
    let rows = [
        ("Plant 7", 12_480, 31, "1234567.5", "0.256"),
        ("Zürich-Süd", 9_310, 4, "-99.99", "0.5"),
        ("=HYPERLINK(\"http://x\",\"y\")", 7_205, 118, "0.1", "0.0213"),
        ("<b>Łódź</b>", 2_960, 0, "0.2", "1"),
    ];
    for (place, (site, delivered, parked, revenue, share)) in rows.into_iter().enumerate() {
        let decimal = |text: &str| Cell::Decimal(Decimal::of_cell(text).unwrap());
        table.rows.push(vec![
            Cell::text(site),
            Cell::Integer(delivered),
            Cell::Integer(parked),
            decimal(revenue),
            decimal(share),
            Cell::Date("2026-10-25".parse().unwrap()),
            Cell::Instant("2026-11-01T23:30:00Z".parse().unwrap()),
            if place == 3 { Cell::Null } else { Cell::Bool(place == 0) },
        ]);
    }
    table
}

pub fn look(locale: &str, zone: &str) -> Look {
    let zone = TimeZone::get(zone).unwrap();
    let at =
        |date: &str| date.parse::<jiff::civil::Date>().unwrap().to_zoned(zone.clone()).unwrap().timestamp();
    Look {
        title: "Deliveries by site".to_owned(),
        period_start: at("2026-10-26"),
        period_end: at("2026-11-02"),
        locale: locale.to_owned(),
        period_zone: zone.clone(),
        zone,
    }
}

pub fn presented(locale: &str, zone: &str) -> Presented {
    present(&definition(json!({})), &table(), &look(locale, zone))
}

pub fn file<'p>(presented: &'p Presented, ending: &str) -> &'p ReportFile {
    presented.files.iter().find(|file| file.name.ends_with(ending)).unwrap()
}
