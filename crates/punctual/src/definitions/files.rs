//! A folder of definitions: one file each, under `KIND/ID.yaml` or `KIND/ID.json`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use punctual_wire::{
    definitions::{DefinitionKind, GivenDefinitions},
    strict,
};
use serde_json::Value;

use super::{schema::schema_of, yaml};

/// The folder of the schemas, beside those of the kinds.
const SCHEMAS: &str = ".schema";
/// The field of a JSON file that names its schema.
const SCHEMA_FIELD: &str = "$schema";
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Yaml,
    Json,
}

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Json => "json",
        }
    }
}

/// What a folder says, and in which files.
pub struct Folder {
    pub definitions: GivenDefinitions,
    files: BTreeMap<(DefinitionKind, String), PathBuf>,
}

impl Folder {
    /// Reads every file; one that cannot be read stops it while nothing is done.
    pub fn read(folder: &Path, only: &[DefinitionKind]) -> Result<Self> {
        let mut read = Self { definitions: GivenDefinitions::new(), files: BTreeMap::new() };
        for kind in DefinitionKind::ALL {
            let place = folder.join(kind.name());
            if !place.is_dir() || !(only.is_empty() || only.contains(kind)) {
                continue;
            }
            read.definitions.insert(*kind, BTreeMap::new());
            for file in files_in(&place)? {
                read.add(*kind, file)?;
            }
        }
        if read.definitions.is_empty() {
            bail!("no definitions in {}: there should be files under {}", folder.display(), super::kinds());
        }
        Ok(read)
    }

    fn add(&mut self, kind: DefinitionKind, file: PathBuf) -> Result<()> {
        let id = file.file_stem().and_then(|name| name.to_str()).and_then(decoded);
        let id = id.with_context(|| format!("{} has no name that is an id", file.display()))?;
        let mut definition = read_file(&file)?;
        if let Some(fields) = definition.as_object_mut() {
            fields.remove(SCHEMA_FIELD);
        }
        if let Some(other) = self.files.insert((kind, id.clone()), file.clone()) {
            bail!("{} and {} are the same definition", other.display(), file.display());
        }
        self.definitions.entry(kind).or_default().insert(id, definition);
        Ok(())
    }

    /// The file of a definition.
    pub fn file(&self, kind: DefinitionKind, id: &str) -> Option<&Path> {
        self.files.get(&(kind, id.to_owned())).map(PathBuf::as_path)
    }
}

fn read_file(file: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let is_json = file.extension().is_some_and(|ending| ending == "json");
    let read = match is_json {
        true => strict::read(text.as_bytes()).map_err(|problem| problem.detail),
        false => yaml::read(&text),
    };
    let value = read.map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))?;
    if !value.is_object() {
        bail!("{} is no object with the fields of a definition", file.display());
    }
    Ok(value)
}

/// The files of definitions in a folder, by name.
fn files_in(place: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(place).with_context(|| format!("cannot read {}", place.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.with_context(|| format!("cannot read {}", place.display()))?.path();
        let is_known = file
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| ENDINGS.contains(&ending));
        let is_hidden =
            file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with('.'));
        if is_known && !is_hidden {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Writes definitions, and the schemas that editors check them with. With `prune`, files of definitions that are gone are
/// removed. Returns how many files there are of each kind.
pub fn write(
    folder: &Path,
    format: Format,
    prune: bool,
    definitions: &GivenDefinitions,
) -> Result<BTreeMap<&'static str, usize>> {
    let mut written = BTreeMap::new();
    let document = punctual_api::document();
    for (kind, of_kind) in definitions {
        let place = folder.join(kind.name());
        if of_kind.is_empty() && !place.is_dir() {
            continue;
        }
        let schema = serde_json::to_string_pretty(&schema_of(&document, *kind))?;
        write_file(&folder.join(SCHEMAS).join(format!("{}.json", kind.name())), &(schema + "\n"))?;
        let mut kept = Vec::new();
        for (id, definition) in of_kind {
            let file = place.join(format!("{}.{}", encoded(id), format.ending()));
            write_file(&file, &text_of(*kind, format, definition)?)?;
            // The same definition in the other format would be there twice.
            for ending in ENDINGS.iter().filter(|ending| **ending != format.ending()) {
                let _ = std::fs::remove_file(file.with_extension(ending));
            }
            kept.push(file);
        }
        if prune && place.is_dir() {
            for file in files_in(&place)?.into_iter().filter(|file| !kept.contains(file)) {
                std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
            }
        }
        written.insert(kind.name(), of_kind.len());
    }
    Ok(written)
}

fn text_of(kind: DefinitionKind, format: Format, definition: &Value) -> Result<String> {
    let schema = format!("../{SCHEMAS}/{}.json", kind.name());
    Ok(match format {
        Format::Yaml => format!("# yaml-language-server: $schema={schema}\n{}", yaml::write(definition)),
        Format::Json => {
            let mut definition = definition.clone();
            if let Some(fields) = definition.as_object_mut() {
                fields.insert(SCHEMA_FIELD.to_owned(), schema.into());
            }
            serde_json::to_string_pretty(&definition)? + "\n"
        }
    })
}

fn write_file(file: &Path, text: &str) -> Result<()> {
    if let Some(place) = file.parent() {
        std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// An id as a file name: what is not a letter, a digit or one of `-_.` is percent-encoded.
fn encoded(id: &str) -> String {
    let mut text = String::new();
    for (at, byte) in id.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) || (byte == b'.' && at > 0) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

fn decoded(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_survives_as_a_file_name() {
        for id in ["ops", "email:default", "..", "a/b", "名前", "100% done", "a.b", "a.json"] {
            let name = encoded(id);
            assert!(!name.contains(['/', ':', ' ']) && !name.starts_with('.'), "{name}");
            assert_eq!(decoded(&name).as_deref(), Some(id));
        }
        assert_eq!(decoded("%4"), None);
        assert_eq!(decoded("%FF"), None, "no text");
    }

    #[test]
    fn both_formats_say_the_same_and_a_definition_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let definition = json!({ "type": "email", "targets": ["a@example.org"], "note": "a\nb\n" });
        let of_kind = |ids: &[&str]| ids.iter().map(|id| ((*id).to_owned(), definition.clone())).collect();
        let both = GivenDefinitions::from([(DefinitionKind::List, of_kind(&["ops.a", "x/y"]))]);
        for format in [Format::Json, Format::Yaml, Format::Json] {
            write(folder.path(), format, false, &both).unwrap();
            let read = Folder::read(folder.path(), &[]).unwrap();
            assert_eq!(read.definitions, both);
        }
        let one = GivenDefinitions::from([(DefinitionKind::List, of_kind(&["x/y"]))]);
        write(folder.path(), Format::Json, false, &one).unwrap();
        assert_eq!(Folder::read(folder.path(), &[]).unwrap().definitions, both, "what is gone is left alone");
        write(folder.path(), Format::Json, true, &one).unwrap();
        assert_eq!(Folder::read(folder.path(), &[]).unwrap().definitions, one);
        std::fs::write(folder.path().join("lists/x%2Fy.yml"), "type: email\n").unwrap();
        let twice = Folder::read(folder.path(), &[]).err().unwrap().to_string();
        assert!(twice.contains("are the same definition"), "{twice}");
        let other = Folder::read(folder.path(), &[DefinitionKind::Channel]).err().unwrap().to_string();
        assert!(other.contains("no definitions in"), "{other}");
    }
}
