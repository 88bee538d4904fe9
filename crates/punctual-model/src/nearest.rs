//! "Did you mean": the known names that are nearest to an unknown one.

/// The longest text that is compared; what is longer is no misspelt name, and comparing costs its square.
const LONGEST: usize = 64;

/// Up to `limit` of the names that differ from `text` by few letters, the nearest first.
///
/// Upper and lower case count as equal. A third of the letters may differ, and one in a short name.
pub fn nearest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let asked = letters(text);
    if asked.is_empty() || asked.len() > LONGEST {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let known = letters(name);
            let allowed = (asked.len().max(known.len()) / 3).max(1);
            if known.len() > LONGEST || asked.len().abs_diff(known.len()) > allowed {
                return None;
            }
            Some(distance(&asked, &known))
                .filter(|changes| *changes <= allowed)
                .map(|changes| (changes, name))
        })
        .collect();
    near.sort_unstable();
    near.truncate(limit);
    near.into_iter().map(|(_, name)| name).collect()
}

/// A sentence that names the nearest, or all of them when none is near.
pub fn suggestion(text: &str, names: &[&str]) -> String {
    match nearest(text, names.iter().copied(), 1).first() {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known are {}", listed(names)),
    }
}

/// Names in a row, each in backticks.
pub fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn letters(text: &str) -> Vec<char> {
    // One more than the longest is enough to see that a text is too long.
    text.chars().take(LONGEST + 1).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// How many letters must be added, left out, replaced or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, to) in b.iter().enumerate() {
            let mut changes = (last[j] + usize::from(from != to)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                changes = changes.min(before_last[j - 1] + 1);
            }
            row.push(changes);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_slips_are_found_and_other_words_are_not() {
        let names = ["startsWith", "endsWith", "contains", "in", "notIn"];
        for (asked, found) in [
            ("startWith", vec!["startsWith"]),
            ("contians", vec!["contains"]),
            ("CONTAINS", vec!["contains"]),
            ("nin", vec!["in"]),
            ("matches", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(nearest(asked, names, 1), found, "{asked}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), names, 3), Vec::<&str>::new());
    }

    #[test]
    fn letters_are_counted_by_what_must_change() {
        let between = |a: &str, b: &str| distance(&letters(a), &letters(b));
        assert_eq!(between("", "abc"), 3);
        assert_eq!(between("abc", "abc"), 0);
        assert_eq!(between("abc", "acb"), 1);
        assert_eq!(between("kitten", "sitting"), 3);
    }

    #[test]
    fn a_suggestion_names_one_or_all() {
        assert_eq!(suggestion("fixd", &["fixed", "exponential"]), "did you mean `fixed`?");
        assert_eq!(suggestion("zzz", &["fixed", "exponential"]), "known are `fixed`, `exponential`");
    }
}
