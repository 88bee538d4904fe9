//! A subscription as fields: from its definition and back. What the fields cannot say stays with the definition as text;
//! a form that would lose something is not offered.

mod cadence;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Deref, DerefMut},
};

use punctual_wire::{Code, FieldError};
use serde_json::{Value, json};

use crate::{
    form::Fields,
    meanwhile::Labelled,
    pages::entries::{self, Entries, holding, joined, listed, number, put, written},
};

/// Columns that the form has room for, and empty lines that it offers below those that are filled.
const COLUMNS: usize = 40;
const EMPTY_LINES: usize = 2;
const FORMATS: [&str; 3] = ["html", "csv", "xlsx"];
pub const WEEKDAYS: [(&str, &str); 7] = [
    ("MON", "Monday"),
    ("TUE", "Tuesday"),
    ("WED", "Wednesday"),
    ("THU", "Thursday"),
    ("FRI", "Friday"),
    ("SAT", "Saturday"),
    ("SUN", "Sunday"),
];

/// Fields whose text is the value under a pointer of the definition.
const TEXTS: [(&str, &str); 13] = [
    ("name", "/name"),
    ("businessUnit", "/businessUnit"),
    ("owner", "/owner"),
    ("timeZone", "/cadence/timeZone"),
    ("period", "/period"),
    ("weekStart", "/weekStart"),
    ("channel", "/channel"),
    ("template", "/template"),
    ("subject", "/subject"),
    ("locale", "/locale"),
    ("catchUp", "/catchUp"),
    ("whenEmpty", "/whenEmpty"),
    ("timeout", "/report/timeout"),
];

/// The labels of the fields, in the order of the page; columns are named by their number.
const LABELS: [(&str, &str); 38] = [
    ("name", "Name"),
    ("owner", "Owner"),
    ("businessUnit", "Business unit"),
    ("cadence", "Frequency"),
    ("sendTime", "Time of day"),
    ("timeZone", "Time zone"),
    ("weekday", "Weekday"),
    ("monthDay", "Day"),
    ("cron", "Cron pattern"),
    ("rrule", "Recurrence rule"),
    ("startsOn", "First date"),
    ("period", "Period"),
    ("weekStart", "First day of the week"),
    ("catchUp", "Missed runs"),
    ("source", "Source"),
    ("connection", "Connection"),
    ("query", "Query"),
    ("url", "Address"),
    ("rows", "Path of the rows"),
    ("survey", "Survey number"),
    ("html", "Table in the mail"),
    ("csv", "CSV attached"),
    ("xlsx", "XLSX attached"),
    ("totals", "Totals"),
    ("chart", "Chart"),
    ("chartX", "Horizontal axis"),
    ("chartY", "Values"),
    ("rowCap", "Row limit"),
    ("timeout", "Time limit"),
    ("recipients", "Recipients"),
    ("list", "List"),
    ("addresses", "Addresses"),
    ("channel", "Channel"),
    ("locale", "Language"),
    ("subject", "Subject"),
    ("template", "Template"),
    ("whenEmpty", "Report without rows"),
    ("paused", "Paused"),
];

/// A definition as the page shows it: its fields with their labels, or its parts where the fields cannot say all of it.
pub fn labelled(definition: &Value) -> Labelled {
    let Some(form) = Form::of(definition) else {
        let parts = definition.as_object().into_iter().flatten();
        return parts.map(|(name, value)| (name.clone(), written(value))).collect();
    };
    let fields = LABELS.into_iter().map(|(name, label)| (label.to_owned(), form.get(name).to_owned()));
    let columns = form.filled().into_iter().map(|n| {
        let parts = ["Name", "Title", "Kind", "Decimals"].map(|part| form.get(&format!("column{n}{part}")));
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        (format!("Column {}", n + 1), parts.join(", "))
    });
    fields.chain(columns).filter(|(_, value)| !value.is_empty()).collect()
}

/// What is in the fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form(Entries);

impl Deref for Form {
    type Target = Entries;

    fn deref(&self) -> &Entries {
        &self.0
    }
}

impl DerefMut for Form {
    fn deref_mut(&mut self) -> &mut Entries {
        &mut self.0
    }
}

impl Form {
    pub fn read(fields: &Fields) -> Self {
        Self(Entries::read(fields))
    }

    /// The fields of a definition; none where they cannot say all of it.
    pub fn of(definition: &Value) -> Option<Self> {
        let mut form = Self::default();
        for (name, pointer) in TEXTS {
            if let Some(text) = definition.pointer(pointer).and_then(Value::as_str) {
                form.set(name, text);
            }
        }
        if definition["paused"] == true {
            form.set("paused", "yes");
        }
        let plain = with_defaults(definition);
        for (name, pointer) in [("catchUp", "/catchUp"), ("whenEmpty", "/whenEmpty")] {
            form.set(name, plain.pointer(pointer).map(written).unwrap_or_default());
        }
        form.take_cadence(&definition["cadence"]);
        form.take_report(&plain["report"]);
        match definition["recipients"]["addresses"].as_array() {
            Some(addresses) => {
                form.set("recipients", "addresses");
                form.set("addresses", joined(addresses, "\n"));
            }
            None => {
                form.set("recipients", "list");
                form.set("list", definition["recipients"]["list"].as_str().unwrap_or_default());
            }
        }
        // Nothing may be lost on the way.
        (form.definition() == plain).then_some(form)
    }

    fn take_report(&mut self, report: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let source = &report["source"];
        if let Some(sql) = source.get("sql") {
            self.set("source", "sql");
            self.set("connection", text(&sql["connection"]));
            self.set("query", text(&sql["query"]));
        } else if let Some(http) = source.get("http") {
            self.set("source", "http");
            self.set("url", text(&http["url"]));
            self.set("rows", text(&http["rows"]));
        } else {
            self.set("source", text(&source["builtin"]));
            self.set("survey", source.get("survey").map(written).unwrap_or_default());
        }
        for format in FORMATS {
            if report["format"].as_array().is_some_and(|all| all.iter().any(|one| one == format)) {
                self.set(format, "yes");
            }
        }
        for (n, column) in report["columns"].as_array().into_iter().flatten().take(COLUMNS).enumerate() {
            for (part, name) in [("Name", "name"), ("Title", "title"), ("Kind", "kind")] {
                self.set(&format!("column{n}{part}"), text(&column[name]));
            }
            let decimals = column.get("decimals").map(written).unwrap_or_default();
            self.set(&format!("column{n}Decimals"), decimals);
        }
        if let Some(totals) = report["totals"].as_array() {
            self.set("totals", joined(totals, ", "));
        }
        if let Some(chart) = report.get("chart") {
            self.set("chart", text(&chart["kind"]));
            self.set("chartX", text(&chart["x"]));
            self.set("chartY", chart["y"].as_array().map(|all| joined(all, ", ")).unwrap_or_default());
        }
        if let Some(cap) = report.get("rowCap") {
            self.set("rowCap", written(cap));
        }
    }

    /// The definition that the fields mean.
    pub fn definition(&self) -> Value {
        let mut definition = json!({ "paused": self.is_on("paused"), "cadence": self.cadence(),
            "report": self.report(), "recipients": self.recipients() });
        for (name, pointer) in TEXTS {
            if !self.get(name).is_empty() {
                put(&mut definition, pointer, self.get(name).into());
            }
        }
        definition
    }

    fn recipients(&self) -> Value {
        match self.get("recipients") {
            "list" => json!({ "list": self.get("list") }),
            _ => json!({ "addresses": listed(self.get("addresses")) }),
        }
    }

    fn report(&self) -> Value {
        let source = match self.get("source") {
            "sql" => json!({ "sql": { "connection": self.get("connection"), "query": self.get("query") } }),
            "http" => {
                let mut http = json!({ "url": self.get("url") });
                if !self.get("rows").is_empty() {
                    http["rows"] = self.get("rows").into();
                }
                json!({ "http": http })
            }
            builtin => {
                let mut source = json!({ "builtin": builtin });
                if builtin == "survey-results" && !self.get("survey").is_empty() {
                    source["survey"] = number(self.get("survey"));
                }
                source
            }
        };
        let formats: Vec<&str> = FORMATS.into_iter().filter(|format| self.is_on(format)).collect();
        let mut report = json!({ "source": source, "format": formats });
        let columns: Vec<Value> = self.filled().into_iter().map(|n| self.column(n)).collect();
        if !columns.is_empty() {
            report["columns"] = columns.into();
        }
        let totals = listed(self.get("totals"));
        if !totals.is_empty() {
            report["totals"] = json!(totals);
        }
        if !self.get("chart").is_empty() {
            report["chart"] = json!({ "kind": self.get("chart"), "x": self.get("chartX"),
                "y": listed(self.get("chartY")) });
        }
        if !self.get("rowCap").is_empty() {
            report["rowCap"] = number(self.get("rowCap"));
        }
        report
    }

    /// The lines of columns in which something is.
    fn filled(&self) -> Vec<usize> {
        let of = |name: &str| -> Option<usize> {
            let rest = name.strip_prefix("column")?;
            rest.get(..rest.find(|c: char| !c.is_ascii_digit())?)?.parse().ok()
        };
        let names = self.names().filter(|name| !self.get(name).is_empty());
        let lines: BTreeSet<usize> = names.filter_map(of).filter(|n| *n < COLUMNS).collect();
        lines.into_iter().collect()
    }

    fn column(&self, n: usize) -> Value {
        let part = |part: &str| self.get(&format!("column{n}{part}"));
        let mut column = json!({ "name": part("Name") });
        for (name, field) in [("title", "Title"), ("kind", "Kind")] {
            if !part(field).is_empty() {
                column[name] = part(field).into();
            }
        }
        if !part("Decimals").is_empty() {
            column["decimals"] = number(part("Decimals"));
        }
        column
    }

    /// How many lines of columns are shown.
    pub fn lines(&self) -> usize {
        (self.filled().last().map_or(0, |last| last + 1) + EMPTY_LINES).min(COLUMNS)
    }

    /// What the fields themselves cannot say.
    pub fn faults(&self) -> Vec<FieldError> {
        if self.cron().is_some() {
            return Vec::new();
        }
        let detail = "The time of day is given as hours and minutes, such as 08:00.";
        vec![FieldError::new("/cadence/sendTime", Code::OutOfRange, detail)]
    }

    /// What is wrong, by the field it is beside.
    pub fn by_field(&self, faults: &[FieldError]) -> BTreeMap<String, String> {
        entries::by_field(faults, |pointer| self.field_of(pointer))
    }

    /// The field that a pointer of the definition means.
    pub fn field_of(&self, pointer: &str) -> String {
        if let Some(name) = holding(&TEXTS, pointer) {
            return name.to_owned();
        }
        let parts: Vec<&str> = pointer.split('/').skip(1).collect();
        let name = match parts.as_slice() {
            ["cadence", "cron", ..] => match self.get("cadence") {
                "weekly" => "weekday",
                "monthly" => "monthDay",
                "daily" | "weekdays" => "sendTime",
                _ => "cron",
            },
            ["cadence", "rrule", ..] if self.get("cadence") == "monthly" => "monthDay",
            ["cadence", name @ ("rrule" | "sendTime" | "startsOn"), ..] => name,
            ["cadence", ..] => "cadence",
            ["report", "source", "sql", "connection"] => "connection",
            ["report", "source", "sql", ..] => "query",
            ["report", "source", "http", "rows"] => "rows",
            ["report", "source", "http", ..] => "url",
            ["report", "source", "survey", ..] => "survey",
            ["report", "format", ..] => "format",
            ["report", "columns", n, ..] => {
                let line = n.parse().ok().and_then(|n: usize| self.filled().get(n).copied());
                return line.map(|line| format!("column{line}Name")).unwrap_or_default();
            }
            ["report", "totals", ..] => "totals",
            ["report", "chart", "x", ..] => "chartX",
            ["report", "chart", "y", ..] => "chartY",
            ["report", "chart", ..] => "chart",
            ["report", "rowCap"] => "rowCap",
            ["report", ..] => "source",
            ["recipients", "addresses", ..] => "addresses",
            ["recipients", "list", ..] => "list",
            ["recipients", ..] => "recipients",
            _ => "",
        };
        name.to_owned()
    }
}

/// The definition with what is meant where nothing is said, so that the fields can show it.
fn with_defaults(definition: &Value) -> Value {
    let mut plain = definition.clone();
    for (name, value) in [("paused", json!(false)), ("catchUp", json!("last")), ("whenEmpty", json!("send"))]
    {
        if plain.get(name).is_none_or(Value::is_null) {
            put(&mut plain, &format!("/{name}"), value);
        }
    }
    let given = plain.pointer("/report/format").and_then(Value::as_array);
    let is_known = |one: &Value| one.as_str().is_some_and(|name| FORMATS.contains(&name));
    if given.is_none_or(|given| given.iter().all(is_known)) {
        let chosen: Vec<&str> = match given {
            Some(given) => FORMATS.into_iter().filter(|name| given.iter().any(|one| one == name)).collect(),
            None => vec!["html"],
        };
        put(&mut plain, "/report/format", json!(chosen));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weekly() -> Value {
        json!({ "name": "W", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" }, "paused": false,
            "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv"] },
            "recipients": { "addresses": ["a@b.example", "c@d.example"] }, "catchUp": "last", "whenEmpty": "send" })
    }

    /// The definition in fields, and back again without a change.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Value)) -> Form {
        let mut definition = weekly();
        change(&mut definition);
        let form = Form::of(&definition).unwrap_or_else(|| panic!("no form for {definition}"));
        assert_eq!(form.definition(), definition);
        form
    }

    #[test]
    fn a_definition_becomes_fields_and_fields_a_definition() {
        check(|_| {});
        check(|one| {
            one["report"]["source"] = json!({ "sql": { "connection": "w", "query": "…" } });
            one["report"]["columns"] =
                json!([{ "name": "a" }, { "name": "b", "title": "B", "kind": "percent", "decimals": 1 }]);
            one["report"]["totals"] = json!(["a", "b"]);
            one["report"]["chart"] = json!({ "kind": "line", "x": "a", "y": ["b", "c"] });
            (one["report"]["rowCap"], one["report"]["timeout"]) = (json!(50), json!("2m"));
        });
        check(|one| {
            one["report"]["source"] = json!({ "http": { "url": "https://a.example", "rows": "/x" } })
        });
        check(|one| one["report"]["source"] = json!({ "builtin": "survey-results", "survey": 12 }));
        check(|one| {
            one["recipients"] = json!({ "list": "ops" });
            for name in ["businessUnit", "owner", "template", "subject", "locale", "weekStart", "period"] {
                one[name] = json!("x");
            }
            one["paused"] = json!(true);
        });
        check(|one| {
            one["cadence"] = json!({ "rrule": "FREQ=DAILY", "sendTime": "02:30", "startsOn": "2026-01-01" });
        });
    }

    #[test]
    fn a_pattern_is_a_preset_only_where_the_preset_writes_it_so() {
        #[track_caller]
        fn cadence(cron: &str, preset: &str, part: (&str, &str)) {
            let form = check(|one| one["cadence"] = json!({ "cron": cron }));
            assert_eq!((form.get("cadence"), form.get(part.0)), (preset, part.1), "{cron}");
        }
        cadence("5 8 * * *", "daily", ("sendTime", "08:05"));
        cadence("0 7 * * MON-FRI", "weekdays", ("sendTime", "07:00"));
        cadence("30 17 * * FRI", "weekly", ("weekday", "FRI"));
        cadence("0 8 1 * *", "monthly", ("monthDay", "1"));
        cadence("0 8 L * *", "monthly", ("monthDay", "L"));
        // The standard's meaning is kept where somebody wrote the pattern: months without a 31st are left out.
        cadence("0 8 31 * *", "cron", ("cron", "0 8 31 * *"));
        cadence("0 8 30 * *", "cron", ("cron", "0 8 30 * *"));
        cadence("00 8 * * *", "cron", ("cron", "00 8 * * *"));
        cadence("*/5 8 * * *", "cron", ("cron", "*/5 8 * * *"));
        cadence("0 8 * JAN MON", "cron", ("cron", "0 8 * JAN MON"));
        cadence("0 8", "cron", ("cron", "0 8"));
    }

    #[test]
    fn every_month_on_a_day_that_some_do_not_have_means_their_last_day() {
        let mut form = Form::of(&weekly()).unwrap();
        let mut cadence = |day: &str| {
            form.set("cadence", "monthly");
            form.set("monthDay", day);
            form.set("sendTime", "08:00");
            let cadence = form.definition()["cadence"].clone();
            let mut stored = weekly();
            stored["cadence"] = cadence.clone();
            let again = Form::of(&stored).unwrap();
            (cadence, again.get("cadence").to_owned(), again.get("monthDay").to_owned())
        };
        let zone = "Europe/Berlin";
        let rule = |days: &str| {
            let rrule = format!("FREQ=MONTHLY;BYMONTHDAY={days};BYSETPOS=-1");
            json!({ "rrule": rrule, "sendTime": "08:00", "timeZone": zone })
        };
        assert_eq!(
            cadence("28"),
            (json!({ "cron": "0 8 28 * *", "timeZone": zone }), "monthly".into(), "28".into())
        );
        assert_eq!(cadence("29"), (rule("28,29"), "monthly".into(), "29".into()));
        assert_eq!(cadence("30"), (rule("28,29,30"), "monthly".into(), "30".into()));
        assert_eq!(
            cadence("31"),
            (json!({ "cron": "0 8 L * *", "timeZone": zone }), "monthly".into(), "L".into())
        );
    }

    #[test]
    fn what_is_left_out_is_shown_as_what_it_means_and_what_does_not_fit_is_no_form() {
        let mut least = weekly();
        for name in ["catchUp", "whenEmpty", "paused"] {
            least.as_object_mut().unwrap().remove(name);
        }
        least["report"].as_object_mut().unwrap().remove("format");
        let form = Form::of(&least).unwrap();
        assert!(form.is_on("html") && !form.is_on("csv") && form.get("catchUp") == "last");
        let mut titles = weekly();
        titles["report"]["columns"] = json!([{ "name": "a", "title": { "en": "A", "de": "Ä" } }]);
        assert_eq!(Form::of(&titles), None);
        let mut other = weekly();
        other["report"]["source"]["site"] = json!("plant-7");
        assert_eq!(Form::of(&other), None);
    }

    #[test]
    fn a_fault_stands_beside_its_field() {
        let mut form = Form::of(&weekly()).unwrap();
        form.set("column2Name", "a");
        form.set("column4Title", "only a title");
        let field = |pointer: &str| form.field_of(pointer);
        assert_eq!(field("/cadence/cron"), "weekday");
        assert_eq!(field("/cadence/timeZone"), "timeZone");
        assert_eq!(
            (field("/report/columns/0/kind"), field("/report/columns/1/name")),
            ("column2Name".into(), "column4Name".into())
        );
        assert_eq!(field("/recipients/addresses/0"), "addresses");
        assert_eq!(field("/somewhere/else"), "");
        form.set("sendTime", "8 o'clock");
        assert_eq!(form.faults()[0].pointer, "/cadence/sendTime");
    }
}
