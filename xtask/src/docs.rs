//! Checks of the documentation: files that it names are there, links lead somewhere, and the map stays short.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// ARCHITECTURE.md is read in one go, or not at all.
const MOST_WORDS_OF_THE_MAP: usize = 1_500;

/// What is wrong, one line each.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in pages(root)? {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        for (line, path) in named_files(&text) {
            if !root.join(path).exists() {
                found.push(format!("{name}:{line}: there is no {path}"));
            }
        }
        let folder = file.parent().unwrap_or(root);
        for (line, target) in links(&text) {
            if !folder.join(target).exists() {
                found.push(format!("{name}:{line}: the link to {target} leads nowhere"));
            }
        }
        let words = text.split_whitespace().count();
        if name == "ARCHITECTURE.md" && words > MOST_WORDS_OF_THE_MAP {
            found.push(format!(
                "{name}: {words} words, at most {MOST_WORDS_OF_THE_MAP}; details belong in docs/internals.md"
            ));
        }
    }
    Ok(found)
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

/// Paths from the root in code marks, with their lines.
fn named_files(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let spans = text
        .lines()
        .enumerate()
        .flat_map(|(at, line)| line.split('`').skip(1).step_by(2).map(move |span| (at + 1, span)));
    spans.filter(|(_, span)| {
        let is_path = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        is_path && (span.starts_with("crates/") || span.starts_with("xtask/"))
    })
}

/// Relative links outside code blocks, without their anchors, with their lines.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    });
    let targets = lines.flat_map(|(at, line)| {
        line.split("](").skip(1).filter_map(move |rest| Some((at + 1, rest.split(')').next()?)))
    });
    targets
        .filter(|(_, target)| {
            !target.contains("://") && !target.starts_with('#') && !target.starts_with("mailto:")
        })
        .map(|(line, target)| (line, target.split('#').next().unwrap_or(target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_and_a_link_are_looked_for() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        let page = "See [this](docs/a.md#top), [that](docs/b.md), [there](https://example.org).\n\
                    `crates/x/src/lib.rs` and `docs`\n```\n[not](a-link)\n```\n";
        std::fs::write(root.path().join("README.md"), page).unwrap();
        std::fs::write(root.path().join("docs/a.md"), "# A").unwrap();
        let found = check(root.path()).unwrap();
        let expected = [
            "README.md:2: there is no crates/x/src/lib.rs",
            "README.md:1: the link to docs/b.md leads nowhere",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_map_stays_short() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        std::fs::write(root.path().join("ARCHITECTURE.md"), "word ".repeat(1_501)).unwrap();
        assert_eq!(check(root.path()).unwrap().len(), 1);
    }
}
