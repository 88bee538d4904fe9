//! `ilike(pattern, text)`: the comparison that PostgreSQL has as ILIKE, and `folded(text)`: the text in lower case. SQLite's own LIKE
//! and LOWER know upper and lower case of ASCII alone, so that a search for `ärger` would not find `Ärger`.

use rusqlite::{Connection, Result, functions::FunctionFlags};

pub(super) fn register(conn: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    conn.create_scalar_function(c"folded", 1, flags, |context| {
        let text: Option<String> = context.get(0)?;
        Ok(text.map(|text| text.to_lowercase()))
    })?;
    conn.create_scalar_function(c"ilike", 2, flags, |context| {
        let pattern: String = context.get(0)?;
        let text: Option<String> = context.get(1)?;
        Ok(text.map(|text| matches(&pattern, &text)))
    })
}

/// What a place of a pattern stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Any,
    One,
    Letter(char),
}

/// Whether the text is as the pattern says: `%` is anything, `_` is one character, and a backslash takes the meaning of what
/// follows it away.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => parts.push(Part::Any),
            '_' => parts.push(Part::One),
            '\\' => parts.extend(letters.next().into_iter().flat_map(char::to_lowercase).map(Part::Letter)),
            letter => parts.extend(letter.to_lowercase().map(Part::Letter)),
        }
    }
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    // Two places: where the match is, and where the last `%` may take up more.
    let (mut part, mut at) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while at < text.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                again = Some((part, at));
                part += 1;
            }
            Some(Part::One) => (part, at) = (part + 1, at + 1),
            Some(Part::Letter(letter)) if *letter == text[at] => (part, at) = (part + 1, at + 1),
            _ => {
                let Some((any, from)) = again else { return false };
                again = Some((any, from + 1));
                (part, at) = (any + 1, from + 1);
            }
        }
    }
    parts[part..].iter().all(|part| *part == Part::Any)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn case_is_of_no_account_in_any_language() {
        #[track_caller]
        fn check(pattern: &str, text: &str, expected: bool) {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        check("%ÄRGER%", "viel ärger heute", true);
        check("%ärger%", "Viel ÄRGER", true);
        check("%пРивет%", "Привет, мир", true);
        check("%pump%", "Pump 7", true);
        check("%pump%", "Pomp 7", false);
        check("%100\\%%", "100% sure", true);
        check("%100\\%%", "1000 sure", false);
        check("a_c", "ABC", true);
        check("a_c", "AC", false);
        check("%", "", true);
        check("", "x", false);
        check("%aab%", "aaab", true);
    }
}
