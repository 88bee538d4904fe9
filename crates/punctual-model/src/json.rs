//! JSON text with a known type.

use std::{fmt, marker::PhantomData};

use serde::{Serialize, de::DeserializeOwned};

/// The JSON text of a `T`, as it is stored. It is read where it is wanted: a text that cannot be read is then the fault of
/// one row, at a place that knows the row.
pub struct Json<T> {
    text: String,
    shape: PhantomData<fn() -> T>,
}

/// A stored JSON text has another shape than it should.
#[derive(Debug, thiserror::Error)]
#[error("the stored JSON cannot be read")]
pub struct UnreadableJson(#[from] serde_json::Error);

impl<T> Json<T> {
    /// A text that was written before.
    pub fn stored(text: impl Into<String>) -> Self {
        Self { text: text.into(), shape: PhantomData }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

impl<T: Serialize> Json<T> {
    pub fn of(value: &T) -> Self {
        // Fails only for maps whose keys are no texts; no stored shape has one.
        Self::stored(serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
    }
}

impl<T: DeserializeOwned> Json<T> {
    pub fn read(&self) -> Result<T, UnreadableJson> {
        Ok(serde_json::from_str(&self.text)?)
    }
}

impl<T> Clone for Json<T> {
    fn clone(&self) -> Self {
        Self::stored(self.text.clone())
    }
}

impl<T> PartialEq for Json<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T> fmt::Debug for Json<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back_or_refused_where_it_is_wanted() {
        let names = Json::of(&vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(names.as_str(), r#"["a","b"]"#);
        assert_eq!(names.read().unwrap(), ["a", "b"]);
        let torn: Json<Vec<String>> = Json::stored(r#"["a""#);
        assert!(torn.clone().read().is_err());
        assert_eq!(torn.into_text(), r#"["a""#);
    }
}
