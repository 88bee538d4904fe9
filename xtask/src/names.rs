//! The names that the code defines, and its files: pages about the code name nothing else.

use std::collections::BTreeSet;

use crate::source::Source;

/// The names of a workspace.
#[derive(Default)]
pub struct Names {
    /// Every word of the code, and of its texts, where SQL is: what is called nothing any more is in neither.
    words: BTreeSet<String>,
    /// Paths of files from the root.
    files: Vec<String>,
}

impl Names {
    /// The names in these files.
    pub fn of(files: &[(String, Source)]) -> Self {
        let mut names = Self::default();
        for (path, source) in files {
            names.files.push(path.clone());
            let texts = source.literals.iter().map(|literal| literal.text.as_str());
            for text in texts.chain([source.code.as_str()]) {
                let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                names.words.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
            }
        }
        names
    }

    /// Whether what stands in code marks is there, as far as it looks like a name or a file of the code. Commands, routes, SQL and
    /// values are not asked for.
    pub fn has(&self, span: &str) -> bool {
        if let Some(path) = source_file(span) {
            return self.files.iter().any(|file| ends_with_path(file, path));
        }
        let (call, is_call) = span.split_once('(').map_or((span, false), |(call, _)| (call, true));
        let name = call.trim_start_matches("#[").trim_end_matches(']').trim_end_matches('!');
        let name = if is_call { name.rsplit('.').next().unwrap_or(name) } else { name };
        if let Some((before, last)) = name.rsplit_once("::") {
            return !is_name(last)
                || self.words.contains(last) && before.split("::").all(|part| self.is_known(part));
        }
        let is_asked = looks_defined(name) || is_call && is_name(name);
        !is_asked || self.words.contains(name)
    }

    /// Whether a part before `::` is a type, a module or a crate.
    fn is_known(&self, part: &str) -> bool {
        let in_files =
            |file: &String| file.contains(&format!("/{part}.rs")) || file.contains(&format!("/{part}/"));
        !is_name(part) || self.words.contains(part) || self.files.iter().any(in_files)
    }
}

/// The path, where it is that of a Rust file.
fn source_file(span: &str) -> Option<&str> {
    let is_path = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    (is_path && span.ends_with(".rs")).then_some(span)
}

/// `engine/src/due.rs` is `crates/punctual-engine/src/due.rs`, and so are `due.rs` and `engine/due.rs`.
fn ends_with_path(file: &str, path: &str) -> bool {
    let short = file.replacen("/src/", "/", 1);
    [file, short.as_str()].iter().any(|file| {
        file.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with(['/', '-']))
    })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether it is written as only code is: `with_noted`, `NotificationRow`, `LISTED`. A plain word may be a value.
fn looks_defined(name: &str) -> bool {
    let has_inner_capital =
        name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    let is_type = has_inner_capital && name.starts_with(char::is_uppercase);
    let is_function =
        name.contains('_') && name.chars().all(|c| c.is_lowercase() || c.is_ascii_digit() || c == '_');
    is_name(name) && (is_type || is_function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_are_found_and_other_things_are_not_asked_for() {
        let source = Source::parse(
            "pub struct Row;\nimpl Row { fn made_by(self) {} }\nenum Kind { Small }\nmacro_rules! args {}",
        );
        let names = Names::of(&[("crates/punctual-engine/src/due/load.rs".to_owned(), source)]);
        for there in [
            "made_by",
            "Row::made_by",
            "Kind::Small",
            "row.made_by(event)",
            "args!",
            "#[args]",
            "load.rs",
            "due/load.rs",
            "engine/due/load.rs",
            "engine/src/due/load.rs",
            "crates/punctual-engine/src/due/load.rs",
            "punctual serve",
            "GET /api/v1/work",
            "uncertain",
            "POST",
        ] {
            assert!(names.has(there), "{there}");
        }
        for gone in [
            "made_of",
            "Row::made_of",
            "Rows::made_by",
            "row.made_of(event)",
            "row.lost(event)",
            "NewRow",
            "oad.rs",
            "due.rs",
            "store/due/load.rs",
        ] {
            assert!(!names.has(gone), "{gone}");
        }
    }
}
