//! Recipient addresses: normalisation for comparison, and sets without duplicates.

use std::collections::HashSet;

use crate::Phone;

/// The form in which two addresses are compared: phone numbers without separators, URLs with scheme and host in lower
/// case, everything else trimmed and in lower case.
///
/// The part of a mail address before the `@` may in theory differ by case; no provider treats it so. The path of a URL
/// does differ by case.
pub fn comparable(address: &str) -> String {
    let address = address.trim();
    if let Ok(phone) = Phone::parse(address) {
        return phone.as_str().to_owned();
    }
    if let Some((scheme, rest)) = address.split_once("://") {
        let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        return format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase());
    }
    address.to_lowercase()
}

/// The addresses that one message goes to, each once, in the order in which they were given.
///
/// The record of attempts has one row for each address of a message. This type is the only way to name the addresses of
/// an attempt, so that no mapping (a list, a person's addresses, the next channel) can name one twice.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    addresses: Vec<String>,
    /// The addresses in comparable form; empty while there is one address.
    seen: HashSet<String>,
}

impl Targets {
    /// Adds an address; returns false where it is there already, in whatever spelling.
    pub fn add(&mut self, address: String) -> bool {
        // Most messages go to one address, which needs no comparison.
        if self.seen.len() < self.addresses.len() {
            self.seen = self.addresses.iter().map(|one| comparable(one)).collect();
        }
        let is_new = self.addresses.is_empty() || self.seen.insert(comparable(&address));
        if is_new {
            self.addresses.push(address);
        }
        is_new
    }

    /// Removes an address, in whatever spelling.
    pub fn remove(&mut self, address: &str) {
        let gone = comparable(address);
        self.seen.remove(&gone);
        self.addresses.retain(|one| comparable(one) != gone);
    }

    /// Keeps the first `count` addresses.
    pub fn truncate(&mut self, count: usize) {
        for address in self.addresses.drain(count.min(self.addresses.len())..) {
            self.seen.remove(&comparable(&address));
        }
    }
}

impl FromIterator<String> for Targets {
    fn from_iter<I: IntoIterator<Item = String>>(addresses: I) -> Self {
        let mut targets = Self::default();
        for address in addresses {
            targets.add(address);
        }
        targets
    }
}

impl IntoIterator for Targets {
    type Item = String;
    type IntoIter = std::vec::IntoIter<String>;
    fn into_iter(self) -> Self::IntoIter {
        self.addresses.into_iter()
    }
}

impl std::ops::Deref for Targets {
    type Target = [String];
    fn deref(&self) -> &[String] {
        &self.addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address_compare_equal_and_different_addresses_do_not() {
        for (one, other, same) in [
            ("Ann@Example.org", " ann@example.org ", true),
            ("+49 (30) 123-4567", "+49301234567", true),
            ("+49301234567", "+49301234568", false),
            ("HTTPS://Hook.Example/A", "https://hook.example/A", true),
            ("https://hook.example/A", "https://hook.example/a", false),
            ("https://hook.example?A", "https://HOOK.example?a", false),
            ("+", "+", true),
            ("person-1", "Person-1", true),
        ] {
            assert_eq!(comparable(one) == comparable(other), same, "{one} and {other}");
        }
    }

    #[test]
    fn a_set_of_targets_holds_each_address_once_whatever_happens_to_it() {
        let given = ["+49 30 1234567", "a@x.example", "+49301234567", "A@X.example", "b@x.example"];
        let mut targets: Targets = given.map(str::to_owned).into_iter().collect();
        assert_eq!(*targets, ["+49 30 1234567", "a@x.example", "b@x.example"]);
        assert!(!targets.add("B@x.example".into()));
        targets.remove("A@x.Example");
        assert!(targets.add("a@x.example".into()), "what was removed can be added again");
        targets.truncate(1);
        assert_eq!(*targets, ["+49 30 1234567"]);
        assert!(targets.add("b@x.example".into()), "what was cut off can be added again");
        targets.truncate(10);
        assert_eq!(targets.len(), 2);
    }
}
