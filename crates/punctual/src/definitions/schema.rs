//! JSON Schemas for editors: what a file of each kind may have, as the OpenAPI document of this version says.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::Args;
use punctual_wire::definitions::DefinitionKind;
use serde_json::{Map, Value, json};

const COMPONENTS: &str = "#/components/schemas/";

#[derive(Args)]
pub struct SchemaArgs {
    /// One kind, such as `lists`; without it, all of them by kind.
    kind: Option<String>,
}

pub fn print(args: SchemaArgs) -> Result<()> {
    let document = punctual_api::document();
    let schema = match &args.kind {
        None => DefinitionKind::ALL
            .iter()
            .map(|kind| (kind.name().to_owned(), schema_of(&document, *kind)))
            .collect::<Map<_, _>>()
            .into(),
        Some(name) => match DefinitionKind::parse(name) {
            Some(kind) => schema_of(&document, kind),
            None => bail!("there is no kind `{name}`; there are {}", super::kinds()),
        },
    };
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(())
}

/// The schema of one kind, with all that it refers to inside.
pub fn schema_of(document: &Value, kind: DefinitionKind) -> Value {
    let schemas = &document["components"]["schemas"];
    let of_kind = &schemas["Definitions"]["properties"][kind.name()];
    let name = of_kind["additionalProperties"]["$ref"].as_str().unwrap_or_default();
    let name = name.strip_prefix(COMPONENTS).unwrap_or(kind.shape()).to_owned();
    let mut definitions = BTreeMap::new();
    let mut schema = schemas[&name].clone();
    collect(&mut schema, schemas, &mut definitions);
    let by_adapter = by_adapter(&schema, &definitions);
    if let Some(fields) = schema.as_object_mut() {
        fields.extend(by_adapter);
        fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.insert("title".to_owned(), json!(kind.name()));
        if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("$schema".to_owned(), json!({ "type": "string" }));
        }
        if !definitions.is_empty() {
            fields.insert("$defs".to_owned(), json!(definitions));
        }
    }
    schema
}

/// `if`, `then` and `else` for a kind whose settings are those of an adapter: where it is one of ours they are exactly its own, so
/// that an editor finds what is misspelt. Those of an adapter that somebody added stay open.
fn by_adapter(schema: &Value, definitions: &BTreeMap<String, Value>) -> Map<String, Value> {
    let choices = schema.pointer("/properties/settings/anyOf").and_then(Value::as_array);
    choices.into_iter().flatten().rev().fold(Map::new(), |others, choice| {
        let named = choice["$ref"].as_str().and_then(|at| definitions.get(at.strip_prefix("#/$defs/")?));
        let Some(settings) = named else { return others };
        let takes_none = settings.get("required").is_none();
        let own = if takes_none { json!({"anyOf": [choice, {"type": "null"}]}) } else { choice.clone() };
        let mut chain = Map::from_iter([
            (
                "if".to_owned(),
                json!({"properties": {"adapter": {"const": settings["x-adapter"]}}, "required": ["adapter"]}),
            ),
            ("then".to_owned(), json!({"properties": {"settings": own}})),
        ]);
        if !others.is_empty() {
            chain.insert("else".to_owned(), others.into());
        }
        chain
    })
}

/// Turns references into those within the schema, and gathers what they lead to.
fn collect(value: &mut Value, schemas: &Value, definitions: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix(COMPONENTS));
            if let Some(name) = name.map(str::to_owned) {
                fields.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
                if !definitions.contains_key(&name) {
                    definitions.insert(name.clone(), Value::Null);
                    let mut found = schemas[&name].clone();
                    collect(&mut found, schemas, definitions);
                    definitions.insert(name, found);
                }
            }
            fields.values_mut().for_each(|value| collect(value, schemas, definitions));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| collect(value, schemas, definitions)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_closed_schema_that_stands_alone() {
        let document = punctual_api::document();
        for kind in DefinitionKind::ALL {
            let schema = schema_of(&document, *kind);
            let text = schema.to_string();
            assert!(!text.contains("#/components"), "{text}");
            let is_closed =
                text.contains("\"additionalProperties\":false") || text.contains("unevaluatedProperties");
            assert!(is_closed && text.contains("\"$schema\""), "{}: {text}", kind.name());
            for reference in text.split("#/$defs/").skip(1) {
                let name = reference.split('"').next().unwrap();
                assert!(schema["$defs"][name].is_object(), "{}: {name}", kind.name());
            }
        }
        let list = schema_of(&document, DefinitionKind::List);
        assert_eq!(list["properties"]["targets"]["type"], "array");
    }
}
