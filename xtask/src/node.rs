//! The packages of npm that tests use, in a folder under `target`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run;

const PACKAGE: &str = include_str!("../node/package.json");
const LOCK: &str = include_str!("../node/package-lock.json");

/// The variable that tests read; who sets it before brings their own packages.
pub const VARIABLE: &str = "PUNCTUAL_TEST_NODE_MODULES";

pub fn is_chosen() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Returns the folder with the packages that the lock file names, installing them at the first run.
pub fn ensure() -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os(VARIABLE) {
        return Ok(chosen.into());
    }
    let folder = run::kept().join("node");
    fs::create_dir_all(&folder)?;
    // Two runs at once must not fill the same folder.
    let lock = File::create(run::kept().join("node.lock"))?;
    lock.lock()?;
    let modules = folder.join("node_modules");
    // Written last, so that it vouches for what was installed whole.
    let finished = folder.join("installed.json");
    if modules.is_dir() && fs::read_to_string(&finished).is_ok_and(|text| text == LOCK) {
        return Ok(modules);
    }
    eprintln!("installing packages of npm in {}", folder.display());
    fs::write(folder.join("package.json"), PACKAGE)?;
    fs::write(folder.join("package-lock.json"), LOCK)?;
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    run::quiet(Command::new("npm").args(quiet).current_dir(&folder)).with_context(|| {
        format!(
            "npm could not install the packages of xtask/node; install them elsewhere and set {VARIABLE} to their folder"
        )
    })?;
    fs::write(&finished, LOCK)?;
    Ok(modules)
}
