//! The difference between two states of a definition, field by field.

use punctual_engine::settings::stored_secret;
use punctual_model::fault::pointer_step;
use punctual_wire::definitions::FieldChange;
use serde_json::{Map, Value};

use super::document::Document;

/// The fields that differ, in order. A secret shows only that it is another one.
pub(super) fn differences(before: Option<&Document>, after: Option<&Document>) -> Vec<FieldChange> {
    let empty = Value::Object(Map::new());
    let value = |document: Option<&Document>| document.map_or(empty.clone(), |one| one.value().clone());
    let mut fields = Vec::new();
    compare("", &value(before), &value(after), &mut fields);
    if let (Some(before), Some(after)) = (before, after) {
        for (name, secret) in after.secrets() {
            let pointer = format!("/settings/{}", pointer_step(name));
            if before.secrets().get(name).is_some_and(|known| known != secret) {
                fields.push(FieldChange { pointer, from: stored_secret(), to: stored_secret() });
            }
        }
    }
    fields
}

fn compare(pointer: &str, from: &Value, to: &Value, fields: &mut Vec<FieldChange>) {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let mut names: Vec<&String> = from.keys().chain(to.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let field = |object: &Map<String, Value>, name: &str| object.get(name).cloned();
            for name in names {
                let pointer = format!("{pointer}/{}", pointer_step(name));
                match (field(from, name), field(to, name)) {
                    (Some(from), Some(to)) => compare(&pointer, &from, &to, fields),
                    (from, to) => fields.push(FieldChange {
                        pointer,
                        from: from.unwrap_or_default(),
                        to: to.unwrap_or_default(),
                    }),
                }
            }
        }
        // One that is longer or shorter is another array as a whole: places do not say which item went.
        (Value::Array(from), Value::Array(to)) if from.len() == to.len() => {
            for (index, (from, to)) in from.iter().zip(to).enumerate() {
                compare(&format!("{pointer}/{index}"), from, to, fields);
            }
        }
        _ if from == to => {}
        _ => fields.push(FieldChange { pointer: pointer.to_owned(), from: from.clone(), to: to.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use punctual_model::Secret;
    use serde_json::json;

    use super::*;

    fn reported(before: Value, after: Value) -> Vec<(String, Value, Value)> {
        let (before, after) = (Document::new(before), Document::new(after));
        let fields = differences(Some(&before), Some(&after));
        fields.into_iter().map(|one| (one.pointer, one.from, one.to)).collect()
    }

    #[test]
    fn a_difference_has_its_place_and_both_values() {
        let before = json!({"a": 1, "b": {"c/d": [1, 2], "e": null}, "g": [1]});
        let after = json!({"b": {"c/d": [1, 3], "e": null}, "f": true, "g": [1, 2]});
        let expected = [
            ("/a", json!(1), Value::Null),
            ("/b/c~1d/1", json!(2), json!(3)),
            ("/f", Value::Null, json!(true)),
            ("/g", json!([1]), json!([1, 2])),
        ];
        let expected: Vec<_> = expected.into_iter().map(|(at, from, to)| (at.to_owned(), from, to)).collect();
        assert_eq!(reported(before.clone(), after), expected);
        assert_eq!(reported(before.clone(), before), []);
    }

    #[test]
    fn another_secret_is_a_difference_that_does_not_show_it() {
        let with = |secret: &str| {
            let secrets = BTreeMap::from([("password".to_owned(), Secret::new(secret))]);
            Document::with_secrets(json!({"settings": {"password": stored_secret()}}), secrets)
        };
        assert_eq!(differences(Some(&with("a")), Some(&with("a"))), []);
        let fields = differences(Some(&with("a")), Some(&with("canary")));
        assert_eq!(fields.len(), 1);
        assert!(!format!("{fields:?}{:?}", with("canary")).contains("canary"));
    }
}
