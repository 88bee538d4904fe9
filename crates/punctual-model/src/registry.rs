//! Things looked up by a stable key (workflows by kind, adapters by name, listeners by topic).

use std::collections::BTreeMap;

/// Two things under one key: refused, because the second would silently replace the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two {what} are registered under the key `{key}`")]
pub struct DuplicateKey {
    pub what: &'static str,
    pub key: String,
}

#[derive(Clone)]
pub struct Registry<T> {
    what: &'static str,
    entries: BTreeMap<String, T>,
}

impl<T> Registry<T> {
    /// `what` names the entries in the plural, for messages.
    pub fn new(what: &'static str) -> Self {
        Self { what, entries: BTreeMap::new() }
    }

    pub fn add(&mut self, key: impl Into<String>, entry: T) -> Result<(), DuplicateKey> {
        let key = key.into();
        if self.entries.contains_key(&key) {
            return Err(DuplicateKey { what: self.what, key });
        }
        self.entries.insert(key, entry);
        Ok(())
    }

    pub fn get(&self, key: &str) -> Option<&T> {
        self.entries.get(key)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.entries.iter().map(|(key, entry)| (key.as_str(), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_entry_of_the_same_key_is_refused_and_the_first_stays() {
        let mut registry = Registry::new("workflows");
        registry.add("message", 1).unwrap();
        let refused = registry.add("message", 2).unwrap_err();
        assert_eq!(refused.to_string(), "two workflows are registered under the key `message`");
        assert_eq!(registry.get("message"), Some(&1));
    }
}
