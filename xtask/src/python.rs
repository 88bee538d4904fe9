//! The Python that tests use as a peer, with its packages in a venv under `target`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run;

const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// The variable that tests read; who sets it before brings their own Python.
pub const VARIABLE: &str = "PUNCTUAL_TEST_PYTHON";

pub fn is_chosen() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Returns a Python that has all packages, making the venv at the first run.
pub fn ensure() -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os(VARIABLE) {
        run::quiet(Command::new(&chosen).args([
            "-c",
            "import aiosmtpd, openapi_spec_validator, openpyxl, schemathesis, standardwebhooks",
        ]))
        .with_context(|| {
            format!("{VARIABLE} names a Python without the packages of xtask/requirements.txt")
        })?;
        return Ok(chosen.into());
    }
    let kept = run::kept();
    fs::create_dir_all(&kept)?;
    // Two runs at once must not build the same venv.
    let lock = File::create(kept.join("venv.lock"))?;
    lock.lock()?;

    let venv = kept.join("venv");
    let python = venv.join("bin/python");
    // Written last, so that it vouches for a venv that was finished with these very packages.
    let finished = venv.join("requirements.txt");
    if python.exists() && fs::read_to_string(&finished).is_ok_and(|text| text == REQUIREMENTS) {
        return Ok(python);
    }
    eprintln!("making a Python venv in {}", venv.display());
    run::quiet(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let wanted = run::root().join("xtask/requirements.txt");
    run::quiet(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(&wanted)).with_context(
        || {
            format!(
                "pip could not install the packages of xtask/requirements.txt; install them in a Python of your \
                 own and set {VARIABLE} to its path"
            )
        },
    )?;
    fs::write(&finished, REQUIREMENTS)?;
    Ok(python)
}
