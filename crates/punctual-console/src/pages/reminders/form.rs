//! A reminder setting as fields: from its definition and back. What the fields cannot say stays with the definition as
//! text; a form that would lose something is not offered.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
};

use punctual_wire::FieldError;
use serde_json::{Value, json};

use crate::{
    form::Fields,
    pages::entries::{self, Entries, holding, joined, listed, number, put},
};

/// Tests of a filter that the form has room for.
pub const TESTS: usize = 3;

/// What is in the fields, by their names.
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

/// Fields whose text is the value under a pointer of the definition.
const TEXTS: [(&str, &str); 24] = [
    ("name", "/name"),
    ("businessUnit", "/businessUnit"),
    ("sourceType", "/sourceType"),
    ("triggerKey", "/triggerKey"),
    ("kind", "/kind"),
    ("dateField", "/date/field"),
    ("dateTime", "/date/sendTime"),
    ("recurringField", "/recurring/field"),
    ("every", "/recurring/every"),
    ("recurringTime", "/recurring/sendTime"),
    ("op", "/threshold/op"),
    ("policy", "/threshold/firingPolicy"),
    ("scope", "/threshold/scope"),
    ("channel", "/delivery/channel"),
    ("template", "/delivery/template"),
    ("subject", "/delivery/subject"),
    ("body", "/delivery/body"),
    ("html", "/delivery/html"),
    ("locale", "/delivery/locale"),
    ("localeField", "/delivery/localeField"),
    ("quietFrom", "/delivery/quietHours/from"),
    ("quietTo", "/delivery/quietHours/to"),
    ("maxLateness", "/maxLateness"),
    ("list", "/recipients/list"),
];

impl Form {
    pub fn read(fields: &Fields) -> Self {
        Self(Entries::read(fields))
    }

    /// The fields of a new setting of this kind.
    pub fn new(kind: &str) -> Self {
        let mut form = Self::default();
        let common = [
            ("kind", kind),
            ("sourceType", "document"),
            ("recipients", "field"),
            ("recipientField", "/email"),
            ("channel", "email:default"),
            ("active", "yes"),
            ("tests", "all"),
        ];
        let own: &[(&str, &str)] = match kind {
            "recurring" => &[("recurringField", "/hiredOn"), ("every", "year"), ("recurringTime", "09:00")],
            "threshold" => &[
                ("metric", "share"),
                ("metricField", "/booked"),
                ("metricOther", "/capacity"),
                ("op", ">="),
                ("value", "0.9"),
                ("policy", "FalseToTrue"),
            ],
            _ => &[("dateField", "/expiresOn"), ("offsets", "30, 7, 1"), ("dateTime", "09:00")],
        };
        for (name, value) in common.iter().chain(own) {
            form.set(name, *value);
        }
        form
    }

    /// The fields of a definition; none where they cannot say all of it.
    pub fn of(definition: &Value) -> Option<Self> {
        let mut form = Self::default();
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        for (name, pointer) in TEXTS {
            if let Some(text) = text(pointer) {
                form.set(name, text);
            }
        }
        for (name, pointer) in [("active", "/active"), ("immediate", "/immediate")] {
            if definition.pointer(pointer) == Some(&Value::Bool(true)) {
                form.set(name, "yes");
            }
        }
        for (name, pointer) in [("offsetDays", "/recurring/offsetDays"), ("value", "/threshold/value")] {
            if let Some(number) = definition.pointer(pointer) {
                form.set(name, number.to_string());
            }
        }
        if let Some(offsets) = definition.pointer("/date/offsetsDays").and_then(Value::as_array) {
            form.set("offsets", joined(offsets, ", "));
        }
        form.take_recipients(definition.get("recipients")?);
        if let Some(metric) = definition.pointer("/threshold/metric") {
            form.take_metric(metric);
        }
        form.take_filter(definition.get("filter"));
        // Nothing may be lost on the way.
        (form.definition() == *definition).then_some(form)
    }

    fn take_recipients(&mut self, recipients: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(addresses) = recipients["addresses"].as_array() {
            self.set("recipients", "addresses");
            self.set("addresses", joined(addresses, "\n"));
        } else if recipients.get("list").is_some() {
            self.set("recipients", "list");
        } else if let Some(field) = recipients.get("field") {
            self.set("recipients", "field");
            self.set("recipientField", text(field));
        } else {
            self.set("recipients", "lookup");
            let lookup = &recipients["lookup"];
            let parts = [("lookupType", "sourceType"), ("lookupId", "idField"), ("lookupField", "field")];
            parts.iter().for_each(|(name, part)| self.set(name, text(&lookup[*part])));
        }
    }

    fn take_metric(&mut self, metric: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(terms) = metric["share"].as_array() {
            self.set("metric", "share");
            self.set("metricField", terms.first().map(text).unwrap_or_default());
            self.set("metricOther", terms.get(1).map(text).unwrap_or_default());
            return;
        }
        for kind in ["count", "sum"] {
            if let Some(part) = metric.get(kind) {
                self.set("metric", kind);
                self.set("childType", text(&part["sourceType"]));
                self.set("parentField", text(&part["parentField"]));
                self.set("metricField", text(&part["field"]));
                self.take_test(0, &part["where"], "child");
                return;
            }
        }
        self.set("metric", "field");
        self.set("metricField", text(&metric["field"]));
    }

    fn take_filter(&mut self, filter: Option<&Value>) {
        self.set("tests", "all");
        let Some(filter) = filter else { return };
        for group in ["all", "any"] {
            if let Some(tests) = filter.get(group).and_then(Value::as_array) {
                self.set("tests", group);
                tests.iter().take(TESTS).enumerate().for_each(|(n, test)| self.take_test(n, test, "test"));
                return;
            }
        }
        self.take_test(0, filter, "test");
    }

    fn take_test(&mut self, n: usize, test: &Value, prefix: &str) {
        self.set(&format!("{prefix}{n}Field"), test["questionId"].as_str().unwrap_or_default());
        self.set(&format!("{prefix}{n}Op"), test["op"].as_str().unwrap_or_default());
        let value = match &test["value"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Array(all) => joined(all, ", "),
            other => other.to_string(),
        };
        self.set(&format!("{prefix}{n}Value"), value);
    }

    /// The definition that the fields mean.
    pub fn definition(&self) -> Value {
        let mut definition = json!({ "active": self.get("active") == "yes", "delivery": {} });
        if self.get("immediate") == "yes" {
            definition["immediate"] = true.into();
        }
        let part = match self.get("kind") {
            "dateBased" => "/date/",
            "recurring" => "/recurring/",
            _ => "/threshold/",
        };
        let others = ["/date/", "/recurring/", "/threshold/", "/recipients/"];
        let others = others.iter().filter(|other| **other != part);
        for (name, pointer) in TEXTS {
            let is_other = others.clone().any(|other| pointer.starts_with(other));
            if !is_other && !self.get(name).is_empty() {
                put(&mut definition, pointer, self.get(name).into());
            }
        }
        match part {
            "/date/" => {
                let offsets = self.get("offsets").split([',', ' ']).filter(|text| !text.is_empty());
                put(&mut definition, "/date/offsetsDays", offsets.map(number).collect());
            }
            "/recurring/" => {
                if !self.get("offsetDays").is_empty() {
                    put(&mut definition, "/recurring/offsetDays", number(self.get("offsetDays")));
                }
                put(&mut definition, "/recurring/field", self.get("recurringField").into());
            }
            _ => {
                put(&mut definition, "/threshold/value", number(self.get("value")));
                put(&mut definition, "/threshold/metric", self.metric());
            }
        }
        definition["recipients"] = self.recipients();
        if let Some(filter) = self.filter() {
            definition["filter"] = filter;
        }
        definition
    }

    fn recipients(&self) -> Value {
        match self.get("recipients") {
            "addresses" => json!({ "addresses": listed(self.get("addresses")) }),
            "list" => json!({ "list": self.get("list") }),
            "lookup" => json!({ "lookup": { "sourceType": self.get("lookupType"),
                "idField": self.get("lookupId"), "field": self.get("lookupField") } }),
            _ => json!({ "field": self.get("recipientField") }),
        }
    }

    fn metric(&self) -> Value {
        let field = self.get("metricField");
        match self.get("metric") {
            "share" => json!({ "share": [field, self.get("metricOther")] }),
            kind @ ("count" | "sum") => {
                let mut part =
                    json!({ "sourceType": self.get("childType"), "parentField": self.get("parentField") });
                if kind == "sum" {
                    part["field"] = field.into();
                }
                if let Some(test) = self.test(0, "child") {
                    part["where"] = test;
                }
                json!({ kind: part })
            }
            _ => json!({ "field": field }),
        }
    }

    fn filter(&self) -> Option<Value> {
        let mut tests: Vec<Value> = (0..TESTS).filter_map(|n| self.test(n, "test")).collect();
        match tests.len() {
            0 => None,
            1 => tests.pop(),
            _ if self.get("tests") == "any" => Some(json!({ "any": tests })),
            _ => Some(json!({ "all": tests })),
        }
    }

    fn test(&self, n: usize, prefix: &str) -> Option<Value> {
        let part = |part: &str| self.get(&format!("{prefix}{n}{part}"));
        let (field, op, value) = (part("Field"), part("Op"), part("Value"));
        if field.is_empty() {
            return None;
        }
        let op = if op.is_empty() { "==" } else { op };
        Some(match op {
            "exists" | "notExists" => json!({ "questionId": field, "op": op }),
            "in" | "notIn" => {
                let values: Vec<Value> = value.split(',').map(str::trim).map(meant).collect();
                json!({ "questionId": field, "op": op, "value": values })
            }
            _ => json!({ "questionId": field, "op": op, "value": meant(value) }),
        })
    }
}

/// A text in a field as the value it looks like.
fn meant(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => text.into(),
    }
}

/// The field of the form that a pointer of the definition means.
pub fn field_of(pointer: &str) -> String {
    if let Some(name) = holding(&TEXTS, pointer) {
        return name.to_owned();
    }
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    match parts.as_slice() {
        ["date", "offsetsDays", ..] => "offsets".into(),
        ["recurring", "offsetDays", ..] => "offsetDays".into(),
        ["threshold", "value", ..] => "value".into(),
        ["threshold", "metric", "share", "1", ..] => "metricOther".into(),
        ["threshold", "metric", "count" | "sum", "sourceType"] => "childType".into(),
        ["threshold", "metric", "count" | "sum", "parentField"] => "parentField".into(),
        ["threshold", "metric", "count" | "sum", "where", ..] => "child0Field".into(),
        ["threshold", ..] => "metricField".into(),
        ["recipients", "addresses", ..] => "addresses".into(),
        ["recipients", "field", ..] => "recipientField".into(),
        ["recipients", "lookup", "idField"] => "lookupId".into(),
        ["recipients", "lookup", "field"] => "lookupField".into(),
        ["recipients", "lookup", ..] => "lookupType".into(),
        ["filter", "all" | "any", n, ..] => format!("test{n}Field"),
        ["filter", ..] => "test0Field".into(),
        _ => String::new(),
    }
}

/// What is wrong, by the field it is beside.
pub fn by_field(faults: &[FieldError]) -> BTreeMap<String, String> {
    entries::by_field(faults, field_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(definition: Value) {
        let form = Form::of(&definition).unwrap_or_else(|| panic!("no form for {definition}"));
        assert_eq!(form.definition(), definition);
    }

    fn definition(kind: &str, part: &str, rule: Value) -> Value {
        json!({ "name": "n", "sourceType": "document", "triggerKey": "t", "kind": kind, part: rule,
            "recipients": { "field": "/email" }, "delivery": { "channel": "email:default" }, "active": true })
    }

    fn dated() -> Value {
        definition(
            "dateBased",
            "date",
            json!({ "field": "/on", "offsetsDays": [30, -3], "sendTime": "09:00" }),
        )
    }

    #[test]
    fn a_definition_becomes_fields_and_fields_a_definition() {
        check(dated());
        check(definition(
            "recurring",
            "recurring",
            json!({ "field": "/on", "every": "month", "offsetDays": -2 }),
        ));
        let threshold = |metric: Value| {
            definition(
                "threshold",
                "threshold",
                json!({ "metric": metric, "op": ">=", "value": 0.9, "firingPolicy": "OncePerDay", "scope": "x" }),
            )
        };
        check(threshold(json!({ "field": "/level" })));
        check(threshold(json!({ "share": ["/a", "/b"] })));
        let paid = json!({ "questionId": "state.paid", "op": "==", "value": true });
        check(threshold(json!({ "count": { "sourceType": "b", "parentField": "/p", "where": paid } })));
        check(threshold(json!({ "sum": { "sourceType": "b", "parentField": "/p", "field": "/amount" } })));
        for recipients in [
            json!({ "addresses": ["a@b.example", "c@d.example"] }),
            json!({ "list": "ops" }),
            json!({ "lookup": { "sourceType": "person", "idField": "/owner", "field": "/email" } }),
        ] {
            let mut one = dated();
            one["recipients"] = recipients;
            check(one);
        }
        let test = |op: &str, value: Value| json!({ "questionId": "state.kind", "op": op, "value": value });
        for filter in [
            test("==", json!("first-aid")),
            json!({ "all": [test(">", json!(3)), { "questionId": "state.x", "op": "exists" }] }),
            json!({ "any": [test("in", json!(["a", 7])), test("!=", json!(false)), test("contains", json!("é"))] }),
        ] {
            let mut one = dated();
            one["filter"] = filter;
            check(one);
        }
        let mut all = dated();
        all["delivery"] =
            json!({ "template": "t", "locale": "de", "quietHours": { "from": "22:00", "to": "07:00" } });
        (all["immediate"], all["maxLateness"], all["businessUnit"]) = (json!(true), json!("2d"), json!("nz"));
        check(all);
    }

    #[test]
    fn what_the_fields_cannot_say_has_no_form() {
        let mut deep = dated();
        deep["filter"] = json!({ "not": { "questionId": "a", "op": "exists" } });
        assert_eq!(Form::of(&deep), None);
        let mut text = dated();
        text["filter"] = json!({ "questionId": "state.n", "op": "==", "value": "7" });
        assert_eq!(Form::of(&text), None, "the text 7 would become the number");
        assert_eq!(Form::of(&definition("own", "custom", json!({}))), None);
    }

    #[test]
    fn a_fault_finds_its_field() {
        for (pointer, field) in [
            ("/date/sendTime", "dateTime"),
            ("/date/offsetsDays/1", "offsets"),
            ("/recipients/addresses/0", "addresses"),
            ("/delivery/quietHours/from", "quietFrom"),
            ("/filter/all/1/op", "test1Field"),
            ("/threshold/metric/field", "metricField"),
            ("/custom", ""),
        ] {
            assert_eq!(field_of(pointer), field, "{pointer}");
        }
    }
}
