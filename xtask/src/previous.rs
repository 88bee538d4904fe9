//! The binary of an earlier commit, for the trial that upgrades from it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run;

/// Builds the binary of a commit in its own worktree under `target/previous`; one that was built is used again.
pub fn build(commit: &str) -> Result<PathBuf> {
    let git = |args: &[&str]| run::quiet(Command::new("git").current_dir(run::root()).args(args));
    let commit = git(&["rev-parse", "--short=12", "--verify", &format!("{commit}^{{commit}}")])
        .with_context(|| format!("there is no commit {commit:?}"))?;
    let folder = run::root().join("target").join("previous");
    let (source, target) = (folder.join(&commit), folder.join("target"));
    let binary = folder.join(format!("punctual-{commit}"));
    if binary.exists() {
        return Ok(binary);
    }
    if !source.exists() {
        std::fs::create_dir_all(&folder)?;
        git(&["worktree", "prune"])?;
        git(&["worktree", "add", "--detach", &source.to_string_lossy(), &commit])?;
    }
    let mut build = run::cargo(["build", "--release", "-p", "punctual", "--bin", "punctual"]);
    build.current_dir(&source).env("CARGO_TARGET_DIR", &target);
    if !build.status()?.success() {
        bail!("the release before could not be built in {}", source.display());
    }
    std::fs::copy(target.join("release").join("punctual"), &binary)?;
    git(&["worktree", "remove", "--force", &source.to_string_lossy()])?;
    Ok(binary)
}
