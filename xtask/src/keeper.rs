//! The child that cleans up after us, however we end; see `keeper.sh`.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

use crate::run;

/// Watches over one folder and the servers whose process ids are in it.
pub struct Keeper {
    child: Child,
    /// Closing it is the signal to clean up.
    orders: Option<ChildStdin>,
}

impl Keeper {
    pub fn watch(folder: &Path) -> Result<Self> {
        let mut child = Command::new("sh")
            .args(["-c", include_str!("keeper.sh"), "keeper"])
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its own group, so that ctrl-c in the terminal does not reach it.
            .process_group(0)
            .spawn()
            .context("could not start `sh`")?;
        let orders = child.stdin.take();
        Ok(Self { child, orders })
    }

    /// Runs a command to its end; should we be killed meanwhile, the keeper ends it before what it keeps.
    pub fn status(&mut self, command: &mut Command) -> Result<ExitStatus> {
        status_with([self], command)
    }

    /// A keeper that no longer reads has gone, and then there is nothing left to send it.
    fn note(&mut self, line: &str) {
        if let Some(orders) = &mut self.orders {
            writeln!(orders, "{line}").ok();
        }
    }
}

/// The same for a command that needs what several of them keep.
pub fn status_with<const N: usize>(keepers: [&mut Keeper; N], command: &mut Command) -> Result<ExitStatus> {
    let mut child = command.spawn().with_context(|| format!("could not start `{}`", run::shown(command)))?;
    let mut keepers = keepers;
    keepers.iter_mut().for_each(|keeper| keeper.note(&child.id().to_string()));
    let status = child.wait();
    keepers.iter_mut().for_each(|keeper| keeper.note(""));
    Ok(status?)
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.orders = None;
        self.child.wait().ok();
    }
}
