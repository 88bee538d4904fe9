//! `cargo xtask fixture`: a database of the present schema as text, which every later program is tested with. A release makes one
//! for each of the two databases; what it holds are the samples of the demo, and rows in the states that these do not have.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::postgres::{Purpose, Server};
use crate::{run, tools};

const FOLDER: &str = "crates/punctual-store/tests/fixtures";

/// How long the demo works on its samples.
const DEMO: &str = "15s";

/// States that the samples do not have, at the cost of rows of which there are several.
// tidy-allow: states that no command leads to at will
const OTHER_STATES: &str = "
    UPDATE notifications SET status = 'retrying', attempts = 1, finished_at = NULL, delivered_at = NULL
     WHERE seq = (SELECT MIN(seq) FROM notifications WHERE status = 'delivered');
    UPDATE notifications SET status = 'discarded', delivered_at = NULL
     WHERE seq = (SELECT MIN(seq) FROM notifications WHERE status = 'delivered');
    UPDATE work SET status = 'failed', reason_code = 'permanent' WHERE id = (SELECT MIN(id) FROM work WHERE status = 'deactivated');
    UPDATE work SET status = 'cancelled' WHERE id = (SELECT MIN(id) FROM work WHERE status = 'deactivated');
    UPDATE work SET status = 'processing', lease_expires_at = 1 WHERE id = (SELECT MAX(id) FROM work WHERE status = 'pending');
    UPDATE work SET on_hold = (1 = 1) WHERE id = (SELECT MAX(id) FROM work WHERE status = 'pending');";

/// Runs statements on a SQLite file, or prints all of it as text.
const PYTHON: &str = "
import sqlite3, sys
file, statements = sys.argv[1:]
with sqlite3.connect(file) as connection:
    connection.executescript(statements)
    print(connection.execute('SELECT MAX(version) FROM schema_steps').fetchone()[0])
    print('\\n'.join(connection.iterdump()))";

/// Writes the text of both databases, and prints where.
pub fn run(binary: Option<&Path>) -> Result<u8> {
    let binary = match binary {
        Some(file) => file.to_owned(),
        None => build()?,
    };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("punctual.sqlite");
    demo(&binary, folder.path(), &format!("sqlite:{}", file.display()))?;
    let text = run::quiet(Command::new("python3").args(["-c", PYTHON]).arg(&file).arg(OTHER_STATES))?;
    let (version, text) = text.split_once('\n').context("the dump is empty")?;
    keep("sqlite", version, text)?;

    let bin = tools::postgres()?;
    let server = Server::start(&bin, Purpose::Tests)?;
    let folder = tempfile::tempdir()?;
    demo(&binary, folder.path(), server.url())?;
    let psql = |statements: &str| {
        run::quiet(Command::new(bin.join("psql")).args([server.url(), "-qAt", "-c", statements]))
    };
    psql(OTHER_STATES)?;
    // tidy-allow: the number of the schema, for the name of the file
    let version = psql("SELECT MAX(version) FROM schema_steps")?;
    let mut dump = Command::new(bin.join("pg_dump"));
    dump.args(["--inserts", "--rows-per-insert=50", "--no-owner", "--no-privileges", "--no-comments"]);
    keep("postgres", &version, &run::quiet(dump.arg(server.url()))?)?;
    Ok(0)
}

fn build() -> Result<PathBuf> {
    let built = run::status(&mut run::cargo(["build", "-p", "punctual", "--all-features"]))?;
    ensure!(built.success(), "the build failed");
    Ok(run::root().join("target/debug/punctual"))
}

fn demo(binary: &Path, folder: &Path, url: &str) -> Result<()> {
    let mut demo = Command::new("timeout");
    demo.args(["--signal=TERM", "--preserve-status", DEMO]).arg(binary);
    demo.args(["demo", "--listen", "127.0.0.1:0", "--database-url", url, "--data-dir"]).arg(folder);
    run::quiet(&mut demo).map(drop)
}

/// Without comments and without what only `psql` reads.
fn keep(database: &str, version: &str, text: &str) -> Result<()> {
    let version: u32 = version.trim().parse().context("the schema has no number")?;
    let file = run::root().join(FOLDER).join(format!("schema_{version:04}.{database}.sql"));
    let is_read = |line: &&str| !line.is_empty() && !line.starts_with("--") && !line.starts_with('\\');
    let lines: Vec<&str> = text.lines().filter(is_read).collect();
    fs::write(&file, lines.join("\n") + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}", file.display());
    Ok(())
}
