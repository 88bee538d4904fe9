//! `punctual export` and `punctual import`: definitions as JSON files, one each, so that they can live in version control.
//!
//! A file has the body that the API's `PUT` takes, under `KIND/ID.json`. Secrets are never exported; a definition that
//! is imported without them keeps those that the server has.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::remote::{Remote, RemoteArgs};

/// One kind of definition: its folder, which is also its route, and the field that names one.
struct Kind {
    folder: &'static str,
    id: &'static str,
    /// What the server adds to its answers and does not take back.
    answered: &'static [&'static str],
}

/// In the order of import: what others name comes first.
const KINDS: &[Kind] = &[
    Kind { folder: "business-units", id: "id", answered: &["updatedAt"] },
    Kind { folder: "templates", id: "name", answered: &["version", "updatedAt"] },
    Kind { folder: "channels", id: "key", answered: &["secretsSet", "version", "updatedAt", "health"] },
    Kind { folder: "lists", id: "name", answered: &["updatedAt", "warnings"] },
    Kind {
        folder: "reminder-settings",
        id: "id",
        answered: &["version", "createdAt", "updatedAt", "warnings"],
    },
    Kind {
        folder: "report-subscriptions",
        id: "guid",
        answered: &["version", "createdAt", "updatedAt", "warnings", "nextRunAt", "timeZone"],
    },
];

#[derive(Args)]
pub struct ExportArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// The folder to write to; it is made if it is missing. Files of definitions that are gone are left alone.
    folder: PathBuf,
    /// Print what was written as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct ImportArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// The folder to read.
    folder: PathBuf,
    /// Show what would change, and change nothing.
    #[arg(long)]
    plan: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

pub async fn export(args: ExportArgs) -> Result<()> {
    let remote = args.remote.connect()?;
    let mut written: BTreeMap<&str, u64> = BTreeMap::new();
    for kind in KINDS {
        let folder = args.folder.join(kind.folder);
        for mut definition in all(&remote, kind).await? {
            let id = kind.take_id(&mut definition)?;
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let file = folder.join(file_name(&id));
            let mut text = serde_json::to_string_pretty(&definition)?;
            text.push('\n');
            std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            *written.entry(kind.folder).or_default() += 1;
        }
    }
    if args.json {
        println!("{}", json!(written));
    } else {
        let parts: Vec<String> = written.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        println!(
            "wrote {} to {}",
            if parts.is_empty() { "nothing".into() } else { parts.join(", ") },
            args.folder.display()
        );
    }
    Ok(())
}

pub async fn import(args: ImportArgs) -> Result<()> {
    let remote = args.remote.connect()?;
    // Everything is read before anything is changed: a file that is no JSON stops the import while nothing is half done.
    let wanted = read_folder(&args.folder)?;
    if wanted.is_empty() {
        let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.folder).collect();
        bail!(
            "no definitions in {}: there should be JSON files under {}",
            args.folder.display(),
            kinds.join(", ")
        );
    }
    let bar = indicatif::ProgressBar::new(wanted.len() as u64);
    let mut done = Vec::new();
    for (kind, id, definition) in wanted {
        let path = format!("/api/v1/{}/{}", kind.folder, encoded(&id));
        let present = remote.find(&path).await?;
        let outcome = match present {
            None => "create",
            Some(mut present) => {
                kind.take_id(&mut present)?;
                if covers(&present, &definition) { "unchanged" } else { "update" }
            }
        };
        if outcome != "unchanged" && !args.plan {
            remote
                .put(&path, &definition)
                .await
                .with_context(|| format!("{}/{id} was refused", kind.folder))?;
        }
        bar.inc(1);
        done.push(json!({ "kind": kind.folder, "id": id, "outcome": outcome }));
    }
    bar.finish_and_clear();
    if args.json {
        println!("{}", json!({ "planned": args.plan, "items": done }));
        return Ok(());
    }
    for item in done.iter().filter(|item| item["outcome"] != "unchanged") {
        println!("{:9} {}/{}", word(item, "outcome"), word(item, "kind"), word(item, "id"));
    }
    let unchanged = done.iter().filter(|item| item["outcome"] == "unchanged").count();
    let tense = if args.plan { "would change" } else { "changed" };
    println!("{} {tense}, {unchanged} unchanged", done.len() - unchanged);
    Ok(())
}

impl Kind {
    /// Takes the name out of an answer, and all that only answers have.
    fn take_id(&self, definition: &mut Value) -> Result<String> {
        let fields =
            definition.as_object_mut().context("the server answered something else than an object")?;
        self.answered.iter().for_each(|name| drop(fields.remove(*name)));
        fields.retain(|_, value| !value.is_null());
        match fields.remove(self.id) {
            Some(Value::String(id)) => Ok(id),
            _ => bail!("the server left out `{}`", self.id),
        }
    }
}

async fn all(remote: &Remote, kind: &Kind) -> Result<Vec<Value>> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = remote.get(&format!("/api/v1/{}?{cursor}", kind.folder)).await?;
        items.extend(page["items"].as_array().cloned().unwrap_or_default());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("cursor={next}"),
            None => return Ok(items),
        }
    }
}

type Wanted = (&'static Kind, String, Value);

fn read_folder(folder: &Path) -> Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for kind in KINDS {
        let folder = folder.join(kind.folder);
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut files: Vec<PathBuf> = entries.map_while(Result::ok).map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "json"));
        files.sort();
        for file in files {
            let id = file.file_stem().and_then(|name| name.to_str()).and_then(decoded);
            let id = id.with_context(|| format!("{} has no name that is an id", file.display()))?;
            let text =
                std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let definition: Map<String, Value> = serde_json::from_str(&text)
                .with_context(|| format!("{} is no JSON object", file.display()))?;
            wanted.push((kind, id, Value::Object(definition)));
        }
    }
    Ok(wanted)
}

/// Whether what is there already says all that is wanted; the server may add defaults of its own.
fn covers(present: &Value, wanted: &Value) -> bool {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            present.get(name).map_or(wanted.is_null(), |present| covers(present, wanted))
        }),
        _ => present == wanted,
    }
}

fn file_name(id: &str) -> String {
    format!("{}.json", encoded(id))
}

/// An id as a path segment and a file name: what is not a letter, a digit or one of `-_.` is percent-encoded.
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

fn word<'v>(item: &'v Value, name: &str) -> &'v str {
    item[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_as_a_file_name() {
        for id in ["ops", "email:default", "..", "a/b", "名前", "100% done", "a.b"] {
            let name = file_name(id);
            assert!(!name.contains(['/', ':', ' ']) && !name.starts_with('.'), "{name}");
            assert_eq!(decoded(name.strip_suffix(".json").unwrap()).as_deref(), Some(id));
        }
        assert_eq!(decoded("%4"), None);
        assert_eq!(decoded("%FF"), None, "no text");
    }

    #[test]
    fn defaults_of_the_server_are_no_difference() {
        let present =
            json!({ "adapter": "smtp", "settings": { "host": "h", "port": 25 }, "atMostOnce": false });
        assert!(covers(&present, &json!({ "adapter": "smtp", "settings": { "host": "h" } })));
        assert!(covers(&present, &json!({ "settings": { "port": 25 }, "retry": null })));
        assert!(!covers(&present, &json!({ "settings": { "host": "other" } })));
        assert!(
            !covers(&present, &json!({ "settings": { "password": "env:X" } })),
            "a new secret is a change"
        );
    }
}
