//! What the team runs: checks, tests with everything they need, long trials, and servers to throw away.

mod brokers;
mod chromium;
mod ci;
mod dist;
mod docs;
mod environment;
mod fixture;
mod keeper;
mod names;
mod node;
mod postgres;
mod previous;
mod promtool;
mod python;
mod reach;
mod reliability;
mod run;
mod sbom;
mod source;
mod statuses;
mod suite;
mod supply;
mod tidy;
mod tools;
mod words;

use std::path::PathBuf;
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
    /// Check what a submission must pass: format, tidy, dependencies, clippy, docs, tests.
    Ci,
    /// Check the sources for what no compiler lint sees.
    Tidy,
    /// Run a long trial at full scale; `list` shows them, `report` makes the page from the committed records.
    Rig {
        /// The trial, or `list`, or `all`, or `report`.
        name: String,
        #[command(flatten)]
        limits: suite::Limits,
        /// Arguments for the test runner, such as `--release`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Make what people install: an archive, a Debian package, a folder to build an image from, the bill of materials, checksums.
    Dist(dist::DistArgs),
    /// Keep a database of the present schema as text, for a release: later programs are tested with it.
    Fixture {
        /// A binary that is already built, instead of a build.
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
    },
    /// Start a PostgreSQL to throw away, print its URL and keep it until ctrl-c.
    Postgres {
        /// Settings of a benchmark server: more memory, fewer checkpoints, full durability.
        #[arg(long)]
        durable_bench: bool,
    },
    /// Write the bill of materials of the binary, as CycloneDX JSON.
    Sbom {
        /// The file to write; the output without one.
        file: Option<PathBuf>,
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
        Task::Dist(args) => dist::run(&args),
        Task::Fixture { binary } => fixture::run(binary.as_deref()),
        Task::Rig { name, .. } if name == "report" => reliability::report(),
        Task::Rig { name, limits, args } => suite::rig(&name, &limits, &args),
        Task::Postgres { durable_bench } => postgres::serve(durable_bench),
        Task::Sbom { file } => sbom::write(file.as_deref()),
        Task::Brokers => brokers::serve(),
    }
}
