//! What the team runs: checks, tests with everything they need, long trials, and servers to throw away.

mod brokers;
mod chromium;
mod ci;
mod environment;
mod keeper;
mod postgres;
mod python;
mod run;
mod source;
mod suite;
mod tidy;
mod tools;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The tasks of the Punctual workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test on SQLite and on PostgreSQL, with all that the tests need.
    Test {
        /// Arguments for the test runner, such as a filter or `-p punctual-store`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Check what a submission must pass: format, tidy, clippy, docs, tests.
    Ci,
    /// Check the sources for what no compiler lint sees.
    Tidy,
    /// Run a long trial at full scale; `list` shows them.
    Rig {
        /// The trial, or `list`, or `all`.
        name: String,
        /// Arguments for the test runner, such as `--release`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Start a PostgreSQL to throw away, print its URL and keep it until ctrl-c.
    Postgres {
        /// Settings of a benchmark server: more memory, fewer checkpoints, full durability.
        #[arg(long)]
        durable_bench: bool,
    },
    /// Start message brokers to throw away, print where they are and keep them until ctrl-c.
    Brokers,
}

fn main() -> ExitCode {
    match perform(Cli::parse().task) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the exit code to end with.
fn perform(task: Task) -> Result<u8> {
    match task {
        Task::Test { args } => suite::test(&args),
        Task::Ci => ci::run(),
        Task::Tidy => tidy::run(),
        Task::Rig { name, args } => suite::rig(&name, &args),
        Task::Postgres { durable_bench } => postgres::serve(durable_bench),
        Task::Brokers => brokers::serve(),
    }
}
