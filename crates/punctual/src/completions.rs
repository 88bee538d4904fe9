//! `punctual completions`: scripts with which shells complete the commands and flags.

use std::io::{ErrorKind, Write};

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell they are for.
    shell: Shell,
}

/// Prints the script to standard output.
pub fn run(args: &CompletionsArgs, program: &mut Command) -> Result<()> {
    // The library panics where it cannot write, such as into a pipe that was closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, program, "punctual", &mut script);
    match std::io::stdout().write_all(&script) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
