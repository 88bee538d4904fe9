//! A filter as rows of field, comparison and value, and back. What rows cannot say is written as JSON in its place.

use serde_json::{Value, json};

use super::{Field, Kind, Part, Rows};

/// The comparisons of a filter, in words.
const COMPARISONS: [(&str, &str); 13] = [
    ("==", "is"),
    ("!=", "is not"),
    ("<", "is less than"),
    ("<=", "is at most"),
    (">", "is more than"),
    (">=", "is at least"),
    ("in", "is one of"),
    ("notIn", "is none of"),
    ("contains", "contains"),
    ("startsWith", "begins with"),
    ("endsWith", "ends with"),
    ("exists", "is given"),
    ("notExists", "is not given"),
];

/// What a filter asks about.
pub enum Asks {
    /// One of these: value and label.
    Choice(Vec<(String, String)>),
    /// One of these, or another that is written.
    Offer(Vec<(String, String)>),
}

/// A filter at this place as rows of field, comparison and value. `values` offers what a field may be compared with.
pub fn filter_part(
    draft: &Value,
    pointer: &str,
    title: &str,
    what: &'static str,
    asks: &Asks,
    values: impl Fn(&str) -> Vec<(String, String)>,
) -> Part {
    let filter = draft.pointer(pointer);
    let is_other = filter.is_some_and(|filter| filter.get("other").is_some());
    if is_other {
        let whole = Field::new(format!("{pointer}/other"), title, Kind::Json)
            .hint("Nested groups are written as JSON; empty for none.");
        return Part::new(title, vec![whole]);
    }
    let tests = format!("{pointer}/tests");
    let count = draft.pointer(&tests).and_then(Value::as_array).map_or(0, Vec::len);
    let mut fields = Vec::new();
    if count > 1 {
        let both = [("all", "all of these are true"), ("any", "one of these is true")];
        fields.push(Field::new(format!("{pointer}/match"), "If", Kind::choice(&both)));
    }
    let rows = Rows::new(tests, "", "condition").unordered().each(draft, |index, at, item| {
        let named = item["questionId"].as_str().unwrap_or_default();
        let field = match asks {
            Asks::Choice(choices) => {
                let mut choices = choices.clone();
                if !named.is_empty() && choices.iter().all(|(value, _)| value != named) {
                    choices.push((named.to_owned(), format!("{named} (not known)")));
                }
                choices.insert(0, (String::new(), "choose…".to_owned()));
                Field::new(format!("{at}/questionId"), what, Kind::Choice(choices)).again()
            }
            Asks::Offer(offered) => Field::text(format!("{at}/questionId"), what).offering(offered.clone()),
        };
        let value_at = format!("{at}/value");
        let needs = "==|!=|<|<=|>|>=|in|notIn|contains|startsWith|endsWith|";
        let value = match values(named) {
            offered if offered.is_empty() => Field::text(value_at, "Value"),
            offered => Field::text(value_at, "Value").offering(offered),
        };
        let part = Part::new(
            "",
            vec![
                field,
                Field::new(format!("{at}/op"), "Comparison", Kind::choice(&COMPARISONS)),
                value.only(format!("{at}/op={needs}")),
            ],
        );
        (format!("Condition {}", index + 1), Part { columns: 3, ..part })
    });
    Part::new(title, fields).with_rows(rows)
}

/// A filter of the API as the form has it.
pub fn filter_to_form(filter: &Value) -> Value {
    let group = |name: &str| filter.get(name).and_then(Value::as_array);
    let (how, tests) = match (group("all"), group("any")) {
        (Some(tests), None) => ("all", tests.clone()),
        (None, Some(tests)) => ("any", tests.clone()),
        _ => ("all", vec![filter.clone()]),
    };
    let plain = |test: &Value| {
        let fields = test.as_object();
        fields.is_some_and(|fields| {
            fields.contains_key("questionId")
                && fields.iter().all(|(name, value)| match name.as_str() {
                    "questionId" | "op" => value.is_string(),
                    "value" => typed_back(test),
                    _ => false,
                })
        })
    };
    if !tests.is_empty() && tests.iter().all(plain) {
        let shown = tests.into_iter().map(|mut test| {
            if let Some(value) = test.get("value") {
                test["value"] = written(value).into();
            }
            test
        });
        return json!({ "match": how, "tests": shown.collect::<Vec<_>>() });
    }
    json!({ "other": filter })
}

/// Whether the value of a test stays what it is when it is written into a field.
fn typed_back(test: &Value) -> bool {
    let value = &test["value"];
    meant(test["op"].as_str().unwrap_or("=="), &written(value)) == *value
}

fn written(value: &Value) -> String {
    match value {
        Value::Array(all) => all.iter().map(written).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text in a field as the value that it looks like.
pub fn meant(op: &str, text: &str) -> Value {
    if matches!(op, "in" | "notIn") {
        return text
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty())
            .map(|one| meant("==", one))
            .collect();
    }
    let read: Option<Value> = serde_json::from_str(text).ok();
    let plain = read.filter(|value| matches!(value, Value::Number(_) | Value::Bool(_)));
    plain
        .map(|value| (value.to_string(), value))
        .filter(|(written, _)| written == text)
        .map_or_else(|| text.into(), |(_, value)| value)
}

/// The filter that the rows mean; nothing where there are none.
pub fn filter_of_form(form: &Value) -> Option<Value> {
    if let Some(other) = form.get("other") {
        return Some(other.clone()).filter(|other| !other.is_null() && other != "");
    }
    let mut tests: Vec<Value> = form
        .get("tests")?
        .as_array()?
        .iter()
        .filter(|test| {
            ["questionId", "value"]
                .iter()
                .any(|name| test[*name].as_str().is_some_and(|text| !text.is_empty()))
        })
        .map(|test| {
            let op = test["op"].as_str().filter(|op| !op.is_empty()).unwrap_or("==");
            let mut asked =
                json!({ "questionId": test["questionId"].as_str().unwrap_or_default(), "op": op });
            if !matches!(op, "exists" | "notExists") {
                asked["value"] = meant(op, test["value"].as_str().unwrap_or_default());
            }
            asked
        })
        .collect();
    match tests.len() {
        0 => None,
        1 => tests.pop(),
        _ => Some(json!({ form["match"].as_str().unwrap_or("all"): tests })),
    }
}

/// Where the form has a fault of a filter that is at `filter` in the request.
pub fn filter_place(filter: &str, pointer: &str) -> Option<String> {
    let rest = pointer.strip_prefix(filter).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    let inner = rest.strip_prefix("/all/").or_else(|| rest.strip_prefix("/any/"));
    Some(match inner {
        Some(inner) => format!("{filter}/tests/{inner}"),
        None => format!("{filter}/tests/0{rest}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_the_same_after_the_rows() {
        let test = |op: &str, value: Value| json!({ "questionId": "rate", "op": op, "value": value });
        for filter in [
            test("<", json!(9)),
            test("==", json!(true)),
            test("in", json!(["a", 7])),
            json!({ "questionId": "x", "op": "exists" }),
            json!({ "any": [test("==", json!("GR")), test(">", json!(2.5))] }),
            json!({ "not": test("==", json!(1)) }),
            test("==", json!("7")),
            json!({ "all": [{ "any": [test("==", json!(1))] }] }),
        ] {
            assert_eq!(filter_of_form(&filter_to_form(&filter)), Some(filter));
        }
        assert!(
            filter_to_form(&test("==", json!("7"))).get("other").is_some(),
            "the text 7 would become the number"
        );
        assert_eq!(filter_of_form(&json!({ "match": "all", "tests": [{}, { "op": "==" }] })), None);
    }

    #[test]
    fn a_fault_of_a_filter_finds_its_row() {
        for (pointer, place) in [
            ("/a/filter", "/a/filter/tests/0"),
            ("/a/filter/value", "/a/filter/tests/0/value"),
            ("/a/filter/any/1/op", "/a/filter/tests/1/op"),
        ] {
            assert_eq!(filter_place("/a/filter", pointer).as_deref(), Some(place));
        }
        assert_eq!(filter_place("/a/filter", "/a/filters"), None);
    }
}
