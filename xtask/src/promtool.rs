//! `promtool`, which checks what Prometheus is to read.
//!
//! Debian has it in the package of the server, which would start one on this machine. The package is only unpacked, under
//! `target`; that needs no rights either.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{run, tools};

/// The variable that tests read; who sets it before brings their own.
pub const VARIABLE: &str = "PUNCTUAL_TEST_PROMTOOL";

const PACKAGE: &str = "prometheus";

/// The one that was chosen, the one on the PATH, or the one that was unpacked.
fn find() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os(VARIABLE) {
        return Some(chosen.into());
    }
    let unpacked = folder().join("usr/bin/promtool");
    tools::found("promtool").or_else(|| unpacked.is_file().then_some(unpacked))
}

fn folder() -> PathBuf {
    run::kept().join("promtool")
}

/// Returns the program, bringing it at the first run.
pub fn ensure() -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let folder = folder();
    let being_made = folder.with_extension("part");
    fs::create_dir_all(run::kept())?;
    // Two runs at once must not unpack into the same folder.
    let lock = File::create(run::kept().join("promtool.lock"))?;
    lock.lock()?;
    if let Some(found) = find() {
        return Ok(found);
    }
    let _ = fs::remove_dir_all(&being_made);
    fs::create_dir_all(&being_made)?;
    eprintln!("unpacking promtool in {}", folder.display());
    fetch(&being_made).with_context(|| {
        format!(
            "promtool could not be had; install Prometheus and set {VARIABLE} to the path of its promtool"
        )
    })?;
    fs::rename(&being_made, &folder)?;
    find().context("the package has no promtool")
}

fn fetch(folder: &std::path::Path) -> Result<()> {
    let download =
        || run::quiet(Command::new("apt-get").args(["download", "-q", PACKAGE]).current_dir(folder));
    // The list of packages may be old.
    if download().is_err() {
        tools::update_packages();
        download()?;
    }
    let mut files = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let package = files.find(|file| file.extension().is_some_and(|end| end == "deb"));
    let package = package.context("apt-get downloaded nothing")?;
    run::quiet(Command::new("dpkg-deb").arg("-x").arg(&package).arg(folder))?;
    fs::remove_file(package)?;
    // The server itself is of no use here.
    let _ = fs::remove_file(folder.join("usr/bin/prometheus"));
    Ok(())
}
