//! Removes a person from JSON; pure.

use serde_json::Value;

use super::Names;

/// Removes every text that is one of the addresses: from arrays with its place, elsewhere by an empty text. Returns whether
/// anything was removed.
pub(super) fn scrub(value: &mut Value, names: &Names) -> bool {
    let is_theirs = |value: &Value| value.as_str().is_some_and(|text| names.has(text));
    match value {
        Value::Array(items) => {
            let before = items.len();
            items.retain(|item| !is_theirs(item));
            let mut changed = items.len() < before;
            for item in items {
                changed |= scrub(item, names);
            }
            changed
        }
        Value::Object(fields) => {
            let mut changed = false;
            for field in fields.values_mut() {
                if is_theirs(field) {
                    *field = Value::String(String::new());
                    changed = true;
                } else {
                    changed |= scrub(field, names);
                }
            }
            changed
        }
        _ => false,
    }
}

/// A JSON text without the person; nothing where they are not in it.
pub(super) fn scrubbed(text: &str, names: &Names) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    scrub(&mut value, names).then(|| value.to_string())
}

/// The targets of a JSON array that are not the person's; nothing where all of them stay.
pub(super) fn others(targets: &str, names: &Names) -> Option<Vec<String>> {
    let targets: Vec<String> = serde_json::from_str(targets).ok()?;
    let others: Vec<String> = targets.iter().filter(|target| !names.has(target)).cloned().collect();
    (others.len() < targets.len()).then_some(others)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ann() -> Names {
        Names { addresses: ["ann@x.example".to_owned()].into(), ..Names::default() }
    }

    #[test]
    fn an_address_is_removed_wherever_it_is_and_nothing_else() {
        let mut value = json!({
            "to": ["Ann@x.example", "bob@x.example"],
            "owner": { "email": "ANN@X.example ", "name": "Ann" },
            "text": "write to ann@x.example",
        });
        assert!(scrub(&mut value, &ann()));
        assert_eq!(
            value,
            json!({
                "to": ["bob@x.example"],
                "owner": { "email": "", "name": "Ann" },
                "text": "write to ann@x.example",
            })
        );
        assert!(!scrub(&mut value, &ann()));
        assert_eq!(scrubbed("[1]", &ann()), None);
    }

    #[test]
    fn others_of_a_message_stay() {
        assert_eq!(others(r#"["ann@x.example"]"#, &ann()), Some(Vec::new()));
        assert_eq!(
            others(r#"["ann@x.example","b@x.example"]"#, &ann()),
            Some(vec!["b@x.example".to_owned()])
        );
        assert_eq!(others(r#"["b@x.example"]"#, &ann()), None);
    }
}
