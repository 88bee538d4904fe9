//! Lists inside a form: entries that people add, move and remove. Each of these is a button that sends the form, so that it
//! works without script and nothing that was typed is lost.

use askama::Template;
use serde_json::{Map, Value};

use super::{Part, field::id_of};
use crate::{editor::Kind, form::Fields};

/// Entries that a form takes in one list; a request has its own, lower bounds.
const MOST: usize = 1_000;

/// A list of entries with fields of their own.
#[derive(Default)]
pub struct Rows {
    /// The place of the list in the request.
    pub pointer: String,
    /// What the list is called, and one entry of it.
    pub title: String,
    pub one: &'static str,
    pub about: String,
    pub rows: Vec<Row>,
    /// Whether their order means something.
    pub ordered: bool,
    /// The field, and its values, for which there is such a list.
    pub only: String,
    pub off: bool,
}

/// One entry.
pub struct Row {
    pub title: String,
    pub part: Part,
    /// It was moved: the reader goes on here.
    pub focus: bool,
}

impl Rows {
    pub fn new(pointer: impl Into<String>, title: impl Into<String>, one: &'static str) -> Self {
        Self { pointer: pointer.into(), title: title.into(), one, ordered: true, ..Self::default() }
    }

    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        Self { about: about.into(), ..self }
    }

    #[must_use]
    pub fn only(self, only: impl Into<String>) -> Self {
        Self { only: only.into(), ..self }
    }

    #[must_use]
    pub fn unordered(self) -> Self {
        Self { ordered: false, ..self }
    }

    /// The entries, one for each that the draft has: number, place and what is in it.
    #[must_use]
    pub fn each(mut self, draft: &Value, mut row: impl FnMut(usize, &str, &Value) -> (String, Part)) -> Self {
        let items = draft.pointer(&self.pointer).and_then(Value::as_array);
        self.rows = items
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, item)| {
                let (title, mut part) = row(index, &format!("{}/{index}", self.pointer), item);
                part.each_field(&mut |field| {
                    field.within = match field.within.as_str() {
                        "" => title.clone(),
                        inner => format!("{title}, {inner}"),
                    };
                });
                Row { title, part, focus: false }
            })
            .collect();
        self
    }

    pub fn id(&self) -> String {
        id_of(&self.pointer)
    }
}

/// A part of a form as HTML. Parts hold lists, and their entries hold parts.
#[derive(Template)]
#[template(path = "editor_part.html")]
struct PartView<'p> {
    part: &'p Part,
}

impl Part {
    /// Its fields and lists as HTML.
    pub fn html(&self) -> String {
        PartView { part: self }.render().unwrap_or_default()
    }
}

/// What was typed, just as it was, in the shape of the request: texts at their places, and lists where the form has them.
pub fn typed_tree(fields: &Fields) -> Value {
    let mut lists: Vec<(&str, usize)> = fields
        .pairs()
        .filter_map(|(name, value)| Some((name.strip_suffix("?rows")?, value.parse().ok()?)))
        .collect();
    lists.sort_unstable();
    let mut tree = Value::Object(Map::new());
    for (pointer, count) in &lists {
        let items = vec![Value::Object(Map::new()); (*count).min(MOST)];
        put(&mut tree, pointer, Value::Array(items));
    }
    for (name, value) in fields.pairs().filter(|(name, _)| name.starts_with('/') && !name.contains('?')) {
        let value = value.trim().replace("\r\n", "\n");
        match tree.pointer_mut(name) {
            // A box of several that are ticked.
            Some(Value::Array(items)) => items.push(value.into()),
            Some(first @ Value::String(_)) => *first = Value::Array(vec![first.take(), value.into()]),
            _ => put(&mut tree, name, value.into()),
        }
    }
    tree
}

/// Puts a value to its place; objects on the way are made. A place below something that is neither object nor list stays as it
/// is, and so does one that is taken.
pub fn put(draft: &mut Value, pointer: &str, value: Value) {
    let mut place = draft;
    for name in pointer.split('/').skip(1) {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        place = match place {
            Value::Object(fields) => {
                let name = name.replace("~1", "/").replace("~0", "~");
                fields.entry(name).or_insert(Value::Null)
            }
            Value::Array(items) => match name.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                Some(item) => item,
                None => return,
            },
            _ => return,
        };
    }
    let is_free = place.is_null() || place.as_object().is_some_and(Map::is_empty);
    if is_free {
        *place = value;
    }
}

/// A change of the form itself, as one of its buttons says it: `add /questions`, `up /questions/2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    pub word: String,
    pub pointer: String,
}

impl Act {
    pub fn read(fields: &Fields) -> Option<Self> {
        let text = fields.text("do");
        let (word, pointer) = text.split_once(' ').unwrap_or((text, ""));
        (!word.is_empty()).then(|| Self { word: word.to_owned(), pointer: pointer.to_owned() })
    }

    /// Changes the list that it names; returns the place that the reader goes on at.
    pub fn apply(&self, tree: &mut Value) -> Option<String> {
        if self.word == "add" {
            if tree.pointer(&self.pointer).is_none_or(Value::is_null) {
                put(tree, &self.pointer, Value::Array(Vec::new()));
            }
            let items = tree.pointer_mut(&self.pointer)?.as_array_mut()?;
            if items.len() < MOST {
                items.push(Value::Object(Map::new()));
            }
            return Some(format!("{}/{}", self.pointer, items.len() - 1));
        }
        let (list, index) = self.pointer.rsplit_once('/')?;
        let index: usize = index.parse().ok()?;
        let items = tree.pointer_mut(list)?.as_array_mut()?;
        if index >= items.len() {
            return None;
        }
        let now = match self.word.as_str() {
            "remove" => {
                items.remove(index);
                index.min(items.len().saturating_sub(1))
            }
            "up" if index > 0 => {
                items.swap(index, index - 1);
                index - 1
            }
            "down" if index + 1 < items.len() => {
                items.swap(index, index + 1);
                index + 1
            }
            _ => index,
        };
        Some(format!("{list}/{now}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_typed_is_a_tree_and_buttons_change_its_lists() {
        let fields = Fields::read(
            b"%2Fq%3Frows=2&%2Fq%2F0%2Fid=a&%2Fq%2F1%2Fid=b&%2Fq%2F1%2Fo%3Frows=1&%2Fq%2F1%2Fo%2F0=x&%2Fname=n&do=up+%2Fq%2F1",
        );
        let mut tree = typed_tree(&fields);
        assert_eq!(tree, json!({"name": "n", "q": [{"id": "a"}, {"id": "b", "o": ["x"]}]}));
        let act = Act::read(&fields).unwrap();
        assert_eq!(act.apply(&mut tree).as_deref(), Some("/q/0"));
        assert_eq!(tree["q"], json!([{"id": "b", "o": ["x"]}, {"id": "a"}]));
        let act = |word: &str, pointer: &str| Act { word: word.into(), pointer: pointer.into() };
        assert_eq!(act("add", "/q/1/o").apply(&mut tree).as_deref(), Some("/q/1/o/0"));
        assert_eq!(act("remove", "/q/0").apply(&mut tree).as_deref(), Some("/q/0"));
        assert_eq!(tree["q"], json!([{"id": "a", "o": [{}]}]));
        for (word, pointer) in
            [("up", "/q/0"), ("down", "/q/0"), ("remove", "/q/7"), ("up", "/name/0"), ("x", "")]
        {
            act(word, pointer).apply(&mut tree);
        }
        assert_eq!(tree["q"], json!([{"id": "a", "o": [{}]}]));
    }
}
