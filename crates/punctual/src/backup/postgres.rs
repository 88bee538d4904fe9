//! PostgreSQL's own tools: `pg_dump` for a backup, `pg_restore` and `psql` to bring it back.

use std::{path::Path, process::Stdio};

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use punctual_engine::restored::mark_text;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
};

use super::pace::{self, Rests};

/// An address without its password, which goes into the environment: others can read a command line.
fn command(program: &str, url: &str) -> Command {
    let (address, password) = without_password(&for_libpq(url));
    let mut command = Command::new(program);
    command.arg("--dbname").arg(address).stdin(Stdio::null()).kill_on_drop(true);
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    command
}

/// The address as PostgreSQL's own programs understand it: some parameters have another name for our driver, and one is
/// the driver's alone.
fn for_libpq(url: &str) -> String {
    let Some((address, query)) = url.split_once('?') else { return url.to_owned() };
    let renamed = query.split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = match name {
            "statement-cache-capacity" => return None,
            "ssl-mode" => "sslmode",
            "ssl-ca" | "ssl-root-cert" => "sslrootcert",
            "ssl-cert" => "sslcert",
            "ssl-key" => "sslkey",
            name => name,
        };
        Some(format!("{name}={value}"))
    });
    let query: Vec<String> = renamed.collect();
    if query.is_empty() { address.to_owned() } else { format!("{address}?{}", query.join("&")) }
}

/// The address, and the password that was in it.
fn without_password(url: &str) -> (String, Option<String>) {
    let whole = || (url.to_owned(), None);
    let Some((scheme, rest)) = url.split_once("://") else { return whole() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@') else { return whole() };
    let Some((user, password)) = rest[..at].split_once(':') else { return whole() };
    (format!("{scheme}://{user}@{}", &rest[at + 1..]), Some(decoded(password)))
}

/// Percent signs of an address resolved.
fn decoded(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while at < bytes.len() {
        let pair = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes the database into a new file, of one moment.
pub async fn dump(rests: Rests<'_>, url: &str, file: &Path) -> Result<()> {
    super::write_private(file, b"")?;
    let mut to = tokio::fs::OpenOptions::new().append(true).open(file).await?;
    let mut command = command("pg_dump", url);
    // Packing harder would take most of the time: of text a quarter less is left, for several times as much work.
    command.args(["--format=custom", "--compress=1", "--no-owner", "--no-privileges"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().with_context(|| missing("pg_dump"))?;
    let (Some(mut from), Some(mut complaints)) = (child.stdout.take(), child.stderr.take()) else {
        bail!("pg_dump has no output")
    };
    let mut said = String::new();
    // Whoever copies owns the pipe: where the disk is full it is closed, and `pg_dump` ends instead of waiting for a reader.
    let copying = async move {
        pace::copy(rests, &mut from, &mut to).await?;
        to.sync_all().await
    };
    let (copied, received) = tokio::join!(copying, complaints.read_to_string(&mut said));
    let status = child.wait().await?;
    received?;
    copied.with_context(|| format!("cannot write {}", file.display()))?;
    ensure!(status.success(), "pg_dump failed: {}", said.trim());
    Ok(())
}

fn missing(program: &str) -> String {
    format!(
        "{program} cannot be started: install PostgreSQL's client programs, or leave the database to its own tools with \
         --without-database"
    )
}

/// Brings a dump into an empty database, together with the mark that it was restored: all of it or nothing.
pub async fn restore(url: &str, file: &Path, now: Timestamp, backup_at: Timestamp) -> Result<()> {
    let mut script = Command::new("pg_restore")
        .args(["--no-owner", "--no-privileges", "--file=-"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| missing("pg_restore"))?;
    let mut psql = command("psql", url)
        .args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--output=/dev/null"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| missing("psql"))?;
    let (Some(mut from), Some(mut to)) = (script.stdout.take(), psql.stdin.take()) else {
        bail!("no pipes between pg_restore and psql")
    };
    let script_end = async {
        let mut said = String::new();
        if let Some(mut errors) = script.stderr.take() {
            errors.read_to_string(&mut said).await?;
        }
        Ok::<_, std::io::Error>((script.wait().await?, said))
    };
    // The end of its input ends psql, however that comes about. Without the last word nothing is committed.
    let copied = async {
        to.write_all(b"BEGIN;\n").await?;
        tokio::io::copy(&mut from, &mut to).await?;
        Ok::<_, std::io::Error>(to)
    };
    let psql_end = async {
        let (copied, script) = tokio::join!(copied, script_end);
        let (status, said) = script?;
        ensure!(status.success(), "pg_restore failed: {}", said.trim());
        if let Ok(mut to) = copied {
            to.write_all(mark(now, backup_at).as_bytes()).await?;
            // What the script sets for its session would stay on the session of a pooler.
            to.write_all(b"RESET ALL;\nCOMMIT;\n").await?;
            to.shutdown().await?;
        }
        Ok(psql.wait_with_output().await?)
    };
    let ended = psql_end.await?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "psql failed, and nothing was restored: {}", said.trim());
    Ok(())
}

/// The statement that marks the database.
fn mark(now: Timestamp, backup_at: Timestamp) -> String {
    let (name, text) = mark_text(now, Some(backup_at));
    let quoted = text.replace('\'', "''");
    format!(
        // tidy-allow: a script for psql, beside what pg_restore writes
        "\nINSERT INTO public.facts (name, value, updated_at) VALUES ('{name}', '{quoted}', {})
         ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at;\n",
        now.as_microsecond()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_driver_are_not_passed_on() {
        for (url, address) in [
            ("postgres://h/db?statement-cache-capacity=9", "postgres://h/db"),
            (
                "postgres://h/db?ssl-mode=require&statement-cache-capacity=9",
                "postgres://h/db?sslmode=require",
            ),
            ("postgres://h/db?host=/run/x&ssl-ca=a.pem", "postgres://h/db?host=/run/x&sslrootcert=a.pem"),
            ("postgres://h/db", "postgres://h/db"),
        ] {
            assert_eq!(for_libpq(url), address);
        }
    }

    #[test]
    fn a_password_is_taken_out_of_an_address() {
        for (url, address, password) in [
            ("postgres://u:p%40ss@h/db", "postgres://u@h/db", Some("p@ss")),
            (
                "postgres://u:a@b@h1,h2:5433/db?sslmode=require",
                "postgres://u@h1,h2:5433/db?sslmode=require",
                Some("a@b"),
            ),
            ("postgres://u@h/db?x=a:b@c", "postgres://u@h/db?x=a:b@c", None),
            ("postgres://h/db", "postgres://h/db", None),
            ("postgres://u:%zz%4@h", "postgres://u@h", Some("%zz%4")),
        ] {
            assert_eq!(without_password(url), (address.to_owned(), password.map(str::to_owned)), "{url}");
        }
    }
}
