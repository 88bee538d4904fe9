//! Compares the expected runs with the runs of the old scheduler, key by key.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the comparison says about one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Expected, and made.
    Match,
    /// Expected, and the old scheduler has not made it.
    Missing,
    /// The old scheduler made it, and it was not expected.
    Extra,
}

/// One key, seen from both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub key: String,
    pub verdict: Verdict,
    pub expected_at: Option<Timestamp>,
    pub found_at: Option<Timestamp>,
}

impl Compared {
    /// By how many seconds the old scheduler was later than expected; negative where it was earlier.
    pub fn difference_seconds(&self) -> Option<i64> {
        let (expected, found) = (self.expected_at?, self.found_at?);
        Some(found.duration_since(expected).as_secs())
    }
}

/// Compares by key, in order of time: `(key, when)` of each side.
pub fn compare(expected: &[(String, Timestamp)], found: &[(String, Timestamp)]) -> Vec<Compared> {
    let mut keys: BTreeMap<&str, (Option<Timestamp>, Option<Timestamp>)> = BTreeMap::new();
    for (key, at) in expected {
        keys.entry(key).or_default().0 = Some(*at);
    }
    for (key, at) in found {
        keys.entry(key).or_default().1 = Some(*at);
    }
    let mut compared: Vec<Compared> = keys
        .into_iter()
        .map(|(key, (expected_at, found_at))| {
            let verdict = match (expected_at, found_at) {
                (Some(_), Some(_)) => Verdict::Match,
                (Some(_), None) => Verdict::Missing,
                (None, _) => Verdict::Extra,
            };
            Compared { key: key.to_owned(), verdict, expected_at, found_at }
        })
        .collect();
    compared.sort_by_key(|one| (one.expected_at.or(one.found_at), one.key.clone()));
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_a_match_missing_or_extra() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let side = |keys: &[(&str, i64)]| -> Vec<(String, Timestamp)> {
            keys.iter().map(|(key, second)| ((*key).to_owned(), at(*second))).collect()
        };
        let compared = compare(&side(&[("a", 10), ("b", 20)]), &side(&[("a", 13), ("c", 15)]));
        let reported: Vec<_> =
            compared.iter().map(|one| (one.key.as_str(), one.verdict, one.difference_seconds())).collect();
        assert_eq!(
            reported,
            [("a", Verdict::Match, Some(3)), ("c", Verdict::Extra, None), ("b", Verdict::Missing, None)]
        );
        assert!(compare(&[], &[]).is_empty());
    }
}
