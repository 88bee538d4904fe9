//! `punctual export`, `import`, `diff` and `schema`: definitions as files, one each, so that they can live in version control.
//!
//! A file has the body that the API's own route takes. The server checks and compares; this sends it a folder whole and says
//! in which file a fault is.

mod files;
mod schema;
mod yaml;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::Args;
use punctual_wire::definitions::{
    DefinitionAction, DefinitionChange, DefinitionKind, DefinitionsDocument, DefinitionsPlan,
    GivenDefinitions,
};
use serde_json::{Value, json};

use crate::remote::{Remote, RemoteArgs};
use files::{Folder, Format};
pub use schema::{SchemaArgs, print as schema};

const ROUTE: &str = "/api/v1/definitions";
/// The code of `diff` where it could not find out.
const UNKNOWN: u8 = 2;

#[derive(Args)]
pub struct ExportArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// The folder to write to; it is made if it is missing.
    folder: PathBuf,
    #[arg(long, value_enum, default_value = "yaml")]
    format: Format,
    /// Only these kinds, such as `lists,templates`.
    #[arg(long, value_delimiter = ',', value_parser = kind)]
    only: Vec<DefinitionKind>,
    /// Remove files of definitions that are gone; otherwise they are left alone.
    #[arg(long)]
    prune: bool,
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
    /// Remove definitions that have no file, of the kinds that have a folder.
    #[arg(long)]
    prune: bool,
    /// Only these kinds, such as `lists,templates`.
    #[arg(long, value_delimiter = ',', value_parser = kind)]
    only: Vec<DefinitionKind>,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct DiffArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// The folder to read.
    folder: PathBuf,
    /// Only these kinds, such as `lists,templates`.
    #[arg(long, value_delimiter = ',', value_parser = kind)]
    only: Vec<DefinitionKind>,
    /// Print the differences as JSON.
    #[arg(long)]
    json: bool,
}

fn kind(name: &str) -> Result<DefinitionKind, String> {
    DefinitionKind::parse(name).ok_or_else(|| format!("there are {}", kinds()))
}

fn kinds() -> String {
    let names: Vec<&str> = DefinitionKind::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

pub async fn export(args: ExportArgs) -> Result<()> {
    let remote = args.remote.connect()?;
    let answer: DefinitionsDocument = serde_json::from_value(remote.get(ROUTE).await?)?;
    let mut definitions = GivenDefinitions::new();
    for (name, of_kind) in answer.definitions {
        let Some(kind) = DefinitionKind::parse(&name) else {
            bail!("the server has `{name}`, which this version does not know; use the version of the server");
        };
        if args.only.is_empty() || args.only.contains(&kind) {
            definitions.insert(kind, of_kind);
        }
    }
    let mut written = files::write(&args.folder, args.format, args.prune, &definitions)?;
    written.retain(|_, count| *count > 0);
    if args.json {
        println!("{}", json!(written));
        return Ok(());
    }
    let parts: Vec<String> = written.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let parts = if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") };
    println!("wrote {parts} to {}", args.folder.display());
    Ok(())
}

pub async fn import(args: ImportArgs) -> Result<()> {
    let remote = args.remote.connect()?;
    let folder = Folder::read(&args.folder, &args.only)?;
    let plan = send(&remote, &folder, args.plan, args.prune).await?;
    if args.json {
        println!("{}", json!(plan));
        return Ok(());
    }
    for change in &plan.changes {
        println!("{:6} {}/{}", word(change.action), change.kind, change.id);
        if args.plan && change.action == DefinitionAction::Update {
            print_fields(change);
        }
    }
    for kept in &plan.kept {
        println!("keep   {}/{}: {}", kept.kind, kept.id, kept.reason);
    }
    let tense = if args.plan { "would change" } else { "changed" };
    println!("{} {tense}, {} unchanged", plan.changes.len(), plan.unchanged);
    Ok(())
}

/// The differences between a folder and the server: nothing if there is none, 1 if there are some, 2 if that is not known.
pub async fn diff(args: DiffArgs) -> Result<ExitCode> {
    match compared(&args).await {
        Ok(plan) => Ok(if plan.changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        Err(error) => {
            eprintln!("punctual: {error:#}");
            Ok(ExitCode::from(UNKNOWN))
        }
    }
}

async fn compared(args: &DiffArgs) -> Result<DefinitionsPlan> {
    let remote = args.remote.connect()?;
    let folder = Folder::read(&args.folder, &args.only)?;
    let plan = send(&remote, &folder, true, true).await?;
    if args.json {
        println!("{}", json!(plan));
        return Ok(plan);
    }
    for change in &plan.changes {
        let place = format!("{}/{}", change.kind, change.id);
        match change.action {
            DefinitionAction::Create => println!("{place}: only in {}", shown(&folder, change, &args.folder)),
            DefinitionAction::Delete => println!("{place}: only on the server"),
            DefinitionAction::Update => {
                println!("{place}: {}", shown(&folder, change, &args.folder));
                print_fields(change);
            }
        }
    }
    println!("{} differ, {} are the same", plan.changes.len(), plan.unchanged);
    Ok(plan)
}

fn shown(folder: &Folder, change: &DefinitionChange, whole: &Path) -> String {
    let file = DefinitionKind::parse(&change.kind).and_then(|kind| folder.file(kind, &change.id));
    file.unwrap_or(whole).display().to_string()
}

fn print_fields(change: &DefinitionChange) {
    let one = |value: &Value| if value.is_null() { "(none)".to_owned() } else { value.to_string() };
    for field in &change.fields {
        println!("    {}: {} -> {}", field.pointer, one(&field.from), one(&field.to));
    }
}

fn word(action: DefinitionAction) -> &'static str {
    match action {
        DefinitionAction::Create => "create",
        DefinitionAction::Update => "update",
        DefinitionAction::Delete => "delete",
    }
}

/// Sends a folder whole; a refusal names the file and the field of each fault.
async fn send(remote: &Remote, folder: &Folder, plan: bool, prune: bool) -> Result<DefinitionsPlan> {
    let definitions: serde_json::Map<String, Value> =
        folder.definitions.iter().map(|(kind, of_kind)| (kind.name().to_owned(), json!(of_kind))).collect();
    let body = json!({ "plan": plan, "prune": prune, "definitions": definitions });
    match remote.try_post(ROUTE, &body).await? {
        Ok(answer) => serde_json::from_value(answer).context("the server answered something else"),
        Err(problem) => bail!("{}", explained(folder, &problem)),
    }
}

fn explained(folder: &Folder, problem: &Value) -> String {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let mut lines = vec![format!("{}: nothing was changed", text(problem, "code"))];
    let errors = problem["errors"].as_array().cloned().unwrap_or_default();
    if errors.is_empty() {
        lines.push(format!("  {}", text(problem, "detail")));
    }
    for error in &errors {
        let (place, field) = placed(folder, &text(error, "pointer"));
        lines.push(format!("  {place}: {field}{}", text(error, "detail")));
    }
    lines.join("\n")
}

/// The file that a pointer leads to, and the field in it.
fn placed(folder: &Folder, pointer: &str) -> (String, String) {
    let whole = || (pointer.to_owned(), String::new());
    let Some(inside) = pointer.strip_prefix("/definitions/") else { return whole() };
    let mut steps = inside.splitn(3, '/');
    let (Some(kind), Some(id)) = (steps.next().and_then(DefinitionKind::parse), steps.next()) else {
        return whole();
    };
    let id = id.replace("~1", "/").replace("~0", "~");
    let file = folder.file(kind, &id).map(|file| file.display().to_string());
    let field = steps.next().map(|field| format!("/{field}: ")).unwrap_or_default();
    (file.unwrap_or_else(|| format!("{}/{id}", kind.name())), field)
}
