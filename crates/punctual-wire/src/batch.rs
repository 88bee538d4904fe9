//! Batches: one request with many items, one outcome for each.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::problem::{FieldError, Problem};

/// The outcomes of a batch, in the order of its items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Batch<T> {
    pub items: Vec<T>,
}

/// The outcome of one item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchItem {
    /// The item's place in the request, from 0.
    pub index: usize,
    /// `created`, `updated`, `unchanged` or `rejected`.
    #[schema(example = "created")]
    pub outcome: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its present status, when it was not rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Cow<'static, str>>,
    /// Why it was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Problem>>,
    /// Warnings about accepted values that do not work yet, such as a channel that does not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<FieldError>,
}

impl BatchItem {
    pub fn accepted(
        index: usize,
        outcome: impl Into<Cow<'static, str>>,
        id: impl Into<String>,
        status: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (outcome, id, status) = (outcome.into(), Some(id.into()), Some(status.into()));
        Self { index, outcome, id, status, error: None, warnings: Vec::new() }
    }

    pub fn warned(self, warnings: Vec<FieldError>) -> Self {
        Self { warnings, ..self }
    }

    pub fn rejected(index: usize, id: Option<String>, error: impl Into<Problem>) -> Self {
        let error = Some(Box::new(error.into()));
        let outcome = Cow::Borrowed("rejected");
        Self { index, outcome, id, status: None, error, warnings: Vec::new() }
    }
}

/// An item that could be read, or what is wrong with it.
pub type Item<T> = Result<T, Vec<FieldError>>;

/// Reads each item on its own, so that a bad one does not spoil the others. Too many are refused as a whole.
pub fn read_items<T>(
    items: &[Value],
    pointer: &str,
    limit: usize,
    read: impl Fn(&Value, &str) -> Item<T>,
) -> Result<Vec<Item<T>>, Problem> {
    if items.len() > limit {
        return Err(Problem::batch_too_large(items.len(), limit));
    }
    Ok(items.iter().enumerate().map(|(index, item)| read(item, &format!("{pointer}/{index}"))).collect())
}

/// Reads a body of the form `{"items": […]}`.
pub fn read_items_field<T>(
    value: &Value,
    limit: usize,
    read: impl Fn(&Value, &str) -> Item<T>,
) -> Result<Vec<Item<T>>, Problem> {
    let mut fields = crate::Fields::new(value, "");
    fields.require("items", || format!("an array of at most {limit} items"));
    // Whatever their number: too many is a problem of its own, not a field out of range.
    let items = fields.array("items", 0..=usize::MAX).unwrap_or_default();
    fields.finish()?;
    read_items(items, "/items", limit, read)
}

/// A body that is one item or an array of them.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<Item<T>>),
}

impl<T> OneOrMany<T> {
    pub fn read(
        value: &Value,
        limit: usize,
        read: impl Fn(&Value, &str) -> Item<T>,
    ) -> Result<Self, Problem> {
        match value {
            Value::Array(items) => read_items(items, "", limit, read).map(Self::Many),
            one => Ok(Self::One(read(one, "")?)),
        }
    }

    /// Those that could be read.
    pub fn readable(&self) -> impl Iterator<Item = &T> {
        let (one, many) = match self {
            Self::One(one) => (Some(one), [].as_slice()),
            Self::Many(many) => (None, many.as_slice()),
        };
        one.into_iter().chain(many.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Fields;

    fn name(value: &Value, pointer: &str) -> Item<String> {
        let mut fields = Fields::new(value, pointer);
        let name = fields.required_text("name", 1..=9);
        fields.finish().map(|()| name)
    }

    #[test]
    fn good_items_are_read_and_bad_ones_named() {
        let body = json!({"items": [{"name": "a"}, {"name": 1}, 7]});
        let items = read_items_field(&body, 3, name).unwrap();
        assert_eq!(items[0], Ok("a".to_owned()));
        assert_eq!(items[1].as_ref().unwrap_err()[0].pointer, "/items/1/name");
        assert_eq!(items[2].as_ref().unwrap_err()[0].pointer, "/items/2");
    }

    #[test]
    fn a_body_is_one_item_or_many() {
        assert_eq!(OneOrMany::read(&json!({"name": "a"}), 2, name), Ok(OneOrMany::One("a".to_owned())));
        let Ok(OneOrMany::Many(items)) = OneOrMany::read(&json!([{"name": "a"}, {}]), 2, name) else {
            panic!()
        };
        assert_eq!(items[1].as_ref().unwrap_err()[0].pointer, "/1/name");
        assert_eq!(OneOrMany::read(&json!({}), 2, name).unwrap_err().code.as_str(), "missing_field");
    }

    #[test]
    fn too_many_items_are_refused_whole() {
        #[track_caller]
        fn check<T: std::fmt::Debug>(result: Result<T, Problem>, code: &str) {
            assert_eq!(result.unwrap_err().code.as_str(), code);
        }
        check(OneOrMany::read(&json!([1, 2, 3]), 2, name), "batch_too_large");
        check(read_items_field(&json!({"items": [1, 2, 3]}), 2, name), "batch_too_large");
        check(read_items_field(&json!({}), 2, name), "missing_field");
        check(read_items_field(&json!([]), 2, name), "wrong_type");
    }

    #[test]
    fn outcomes_leave_out_what_they_do_not_have() {
        let created = BatchItem::accepted(0, "created", "x", "pending");
        let expected = json!({"index": 0, "outcome": "created", "id": "x", "status": "pending"});
        assert_eq!(serde_json::to_value(created).unwrap(), expected);
        let rejected = serde_json::to_value(BatchItem::rejected(1, None, Problem::id_reused("y"))).unwrap();
        assert_eq!(rejected["outcome"], "rejected");
        assert_eq!(rejected["error"]["code"], "id_reused");
    }
}
