//! Checks of the documentation: every page is reached from the index, links and anchors lead somewhere, the files and functions that
//! it names are there, and the map stays short.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use crate::names::Names;

/// ARCHITECTURE.md must be short enough to read in one sitting.
const MOST_WORDS_OF_THE_MAP: usize = 1_500;
/// Where a reader starts: it names every page by who reads it.
const INDEX: &str = "docs/README.md";
/// Pages about the code: what they name exists, functions and types too.
const ABOUT_CODE: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals.md", "docs/recipes.md"];

/// What is wrong, one line each. `names` are those of the code.
pub fn check(root: &Path, names: &Names) -> Result<Vec<String>> {
    let mut texts = BTreeMap::new();
    for file in pages(root)? {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        texts.insert(file.strip_prefix(root).unwrap_or(&file).to_owned(), text);
    }
    let mut found = Vec::new();
    let mut leads: BTreeMap<&Path, Vec<PathBuf>> = BTreeMap::new();
    for (page, text) in &texts {
        let name = page.display();
        for (line, path) in named_files(text) {
            if !root.join(path).exists() {
                found.push(format!("{name}:{line}: there is no {path}"));
            }
        }
        if ABOUT_CODE.iter().any(|about| page == Path::new(about)) {
            for (line, span) in spans(text).filter(|(_, span)| !names.has(span)) {
                found.push(format!("{name}:{line}: nothing in the code is called {span}"));
            }
        }
        for (line, target) in links(text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if file.is_empty() { page.clone() } else { joined(page, file) };
            if !root.join(&to).exists() {
                found.push(format!("{name}:{line}: the link to {target} leads nowhere"));
            } else if !anchor.is_empty() && texts.get(&to).is_some_and(|text| !anchors(text).contains(anchor))
            {
                found.push(format!("{name}:{line}: {} has no heading #{anchor}", to.display()));
            }
            leads.entry(page).or_default().push(to);
        }
        let words = text.split_whitespace().count();
        if page == Path::new("ARCHITECTURE.md") && words > MOST_WORDS_OF_THE_MAP {
            found.push(format!(
                "{name}: {words} words, at most {MOST_WORDS_OF_THE_MAP}; details belong in docs/internals.md"
            ));
        }
    }
    let direct: BTreeSet<&PathBuf> = leads.get(Path::new(INDEX)).into_iter().flatten().collect();
    let listed = |page: &&PathBuf| page.starts_with("docs") && page.as_path() != Path::new(INDEX);
    for page in texts.keys().filter(listed).filter(|page| !direct.contains(page)) {
        found.push(format!("{INDEX}: {} is not listed", page.display()));
    }
    Ok(found)
}

/// A relative link, from the folder of its page.
fn joined(page: &Path, target: &str) -> PathBuf {
    let mut to = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                to.pop();
            }
            part => to.push(part),
        }
    }
    to
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = outside_blocks(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    let anchor = |title: &str| {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
    };
    headings.map(anchor).collect()
}

/// The pages in the root and under `docs`.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for folder in [root.to_owned(), root.join("docs")] {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        let files = entries.flatten().map(|entry| entry.path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|end| end == "md")));
    }
    pages.sort();
    Ok(pages)
}

/// Lines that are not in a code block, with their numbers.
fn outside_blocks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    });
    lines.map(|(at, line)| (at + 1, line))
}

/// What is in code marks, with its line.
fn spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    outside_blocks(text)
        .flat_map(|(line, text)| text.split('`').skip(1).step_by(2).map(move |span| (line, span)))
}

/// Paths from the root in code marks, with their lines.
fn named_files(text: &str) -> impl Iterator<Item = (usize, &str)> {
    spans(text).filter(|(_, span)| {
        let is_path = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        is_path && (span.starts_with("crates/") || span.starts_with("xtask/"))
    })
}

/// Relative links outside code blocks, with their lines.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let targets = outside_blocks(text).flat_map(|(at, line)| {
        line.split("](").skip(1).filter_map(move |rest| Some((at, rest.split(')').next()?)))
    });
    targets.filter(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    /// What is found in pages, each a path and a text.
    fn found(pages: &[(&str, &str)], names: &Names) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        for (path, text) in pages {
            std::fs::write(root.path().join(path), text).unwrap();
        }
        check(root.path(), names).unwrap()
    }

    #[test]
    fn a_file_that_is_named_and_a_link_are_looked_for() {
        let page = "See [this](docs/a.md#top-of-it), [that](docs/b.md), [there](https://example.org), [here](#c), [a](docs/a.md#b).\n\
                    `crates/x/src/lib.rs` and `docs`\n```\n[not](a-link)\n```\n";
        let pages = [("README.md", page), ("docs/a.md", "# Top of it"), ("docs/README.md", "[a](a.md)")];
        let expected = [
            "README.md:2: there is no crates/x/src/lib.rs",
            "README.md:1: the link to docs/b.md leads nowhere",
            "README.md:1: README.md has no heading #c",
            "README.md:1: docs/a.md has no heading #b",
        ];
        assert_eq!(found(&pages, &Names::default()), expected);
    }

    #[test]
    fn a_page_that_the_index_does_not_name_is_found() {
        let pages = [
            ("docs/README.md", "[a](a.md), [top](../README.md)"),
            ("docs/a.md", "[b](b.md)"),
            ("docs/b.md", ""),
            ("README.md", ""),
        ];
        assert_eq!(found(&pages, &Names::default()), ["docs/README.md: docs/b.md is not listed"]);
    }

    #[test]
    fn a_function_that_is_named_is_looked_for() {
        let source = Source::parse("impl Engine { pub fn accept(&self) {} }");
        let names = Names::of(&[("crates/punctual-engine/src/intake.rs".to_owned(), source)]);
        let text = "`accept_all` in `intake.rs`, `Engine::accept`, not in `outtake.rs`";
        let expected = [
            "ARCHITECTURE.md:1: nothing in the code is called accept_all",
            "ARCHITECTURE.md:1: nothing in the code is called outtake.rs",
        ];
        assert_eq!(found(&[("ARCHITECTURE.md", text)], &names), expected);
        assert_eq!(found(&[("docs/README.md", text)], &names), [""; 0], "pages for users name other things");
    }

    #[test]
    fn the_map_stays_short() {
        assert_eq!(found(&[("ARCHITECTURE.md", &"word ".repeat(1_501))], &Names::default()).len(), 1);
    }
}
