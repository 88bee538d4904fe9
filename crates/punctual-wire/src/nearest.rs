//! "Did you mean": the known name that is nearest to what was written.

/// Longer words are not compared: no known name is that long, and the comparison costs the product of both.
const LONGEST: usize = 64;

/// The `limit` names nearest to `word`, best first, leaving out those that share too little with it.
pub(crate) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>, limit: usize) -> Vec<&'n str> {
    if word.len() > LONGEST {
        return Vec::new();
    }
    let word = plain(word);
    let mut near: Vec<(usize, &str)> = names
        .map(|name| (distance(&word, &plain(name)), name))
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .collect();
    near.sort_unstable();
    near.into_iter().take(limit).map(|(_, name)| name).collect()
}

/// Without case and separators: `run_at`, `run-at` and `RunAt` all mean `runAt`.
fn plain(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions and replacements that turn one into the other, by one row of the usual table.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        #[track_caller]
        fn check(word: &str, expected: &[&str]) {
            let names = ["runAt", "topic", "payload", "key", "intervalSeconds"];
            assert_eq!(nearest(word, names.into_iter(), 1), expected, "{word}");
        }
        check("run_at", &["runAt"]);
        check("runat", &["runAt"]);
        check("topik", &["topic"]);
        check("interval", &[]);
        check("intervalSecs", &["intervalSeconds"]);
        check("keys", &["key"]);
        check("colour", &[]);
        check("", &[]);
        check(&"k".repeat(1_000_000), &[]);
    }
}
