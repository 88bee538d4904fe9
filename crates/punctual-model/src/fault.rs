//! One error in a JSON document, in the format of problem bodies.

/// What is wrong at one place, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Fault {
    /// A JSON pointer from the value that was checked, such as `/all/0/op`; empty for the value itself.
    pub pointer: String,
    /// A stable code such as `missing_field`.
    pub code: &'static str,
    pub detail: String,
}

impl Fault {
    pub fn new(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }
}

/// A text from outside as it may appear in a message: on one line, and cut when it is long.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 48;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

/// A field's name as one step of a JSON pointer.
pub fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_text_is_short_and_on_one_line() {
        assert_eq!(shown("a\nb"), "a\\nb");
        assert_eq!(shown(&"x".repeat(48)), "x".repeat(48));
        assert_eq!(shown(&"é".repeat(1000)), format!("{}…", "é".repeat(48)));
    }

    #[test]
    fn a_pointer_step_keeps_its_name_apart_from_the_path() {
        assert_eq!(pointer_step("a/b~c"), "a~1b~0c");
    }
}
