//! The `punctual` program: its commands, its configuration, and how the parts are put together.

mod audit;
mod backup;
mod bench;
mod clock;
mod completions;
mod config;
mod definitions;
mod demo;
mod doctor;
mod keys;
mod master_key;
mod migrate;
mod node;
mod notify;
mod output;
mod presence;
mod random;
mod ready;
mod reconcile;
#[cfg(test)]
mod reference;
mod remote;
mod restore;
mod secret_source;
mod secrets;
mod serve;
mod sign_on;
mod site;
mod sources;
mod surveys;
#[cfg_attr(not(feature = "otlp"), path = "telemetry_absent.rs")]
mod telemetry;
mod tick;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Batches are made of many small texts; glibc's allocator took a tenth of the time of a delivery.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Turns business events into messages that are sent on time, once, and can be explained.
#[derive(Parser)]
#[command(name = "punctual", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server: API and workers.
    Serve(config::ServeArgs),
    /// Run the server with sample data, a clock you can move, and channels that capture instead of send.
    Demo(config::ServeArgs),
    /// Run the agent of a site: it stores what local scripts hand in and forwards it to the central server.
    Site(site::SiteArgs),
    /// Send a notification to a list, through the site agent on this machine; prints the id.
    Notify(notify::NotifyArgs),
    /// Show the status of a notification, by the id that `notify` printed.
    Status(notify::StatusArgs),
    /// Bring the database's schema up to date and stop.
    Migrate(migrate::MigrateArgs),
    /// Make, list and revoke API keys, directly in the database.
    Key(keys::KeyArgs),
    /// Manage the master key that secrets in the database are sealed with.
    Secrets(secrets::SecretsArgs),
    /// Check whether a running server is ready; the exit code says so too.
    Ready(ready::ReadyArgs),
    /// Check that the audit is as it was written, or erase what it says about somebody, directly in the database.
    Audit(audit::AuditArgs),
    /// Copy database and files into a new folder, also while a server is running.
    Backup(backup::BackupArgs),
    /// Restore a backup into a new data folder or an empty database; what was due since then waits for a person.
    Restore(restore::RestoreArgs),
    /// Check an installation: configuration, database, clock, disk, keys, channels; each finding with its repair.
    Doctor(doctor::DoctorArgs),
    /// Check a database as a whole: the file, what rows point at, the audit, counters, missing files.
    Verify(verify::VerifyArgs),
    /// Make a running server process everything that is ready, once.
    Tick(tick::TickArgs),
    /// Write all definitions of a running server into files, one each, for version control.
    Export(definitions::ExportArgs),
    /// Make a running server's definitions match files, all or nothing; `--plan` only shows what would change.
    Import(definitions::ImportArgs),
    /// Show how files and a running server's definitions differ: exit code 0 if they do not, 1 if they do, 2 on an error.
    Diff(definitions::DiffArgs),
    /// Print the JSON Schemas that editors check files of definitions with.
    Schema(definitions::SchemaArgs),
    /// Hand events from a file to a running server, for the surveys that ask about them.
    Surveys(surveys::SurveysArgs),
    /// Bring sources from a file into a running server.
    Sources(sources::SourcesArgs),
    /// Find and repair reminders on a running server that a missed event left wrong.
    Reconcile(reconcile::ReconcileArgs),
    /// Measure how fast and how punctual this machine is.
    Bench(bench::BenchArgs),
    /// Print what a shell needs to complete these commands: `punctual completions bash`.
    Completions(completions::CompletionsArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // One cryptography for every client of this process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("punctual: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(args).await.map(succeeded),
            Command::Demo(args) => demo::run(args).await.map(succeeded),
            Command::Site(args) => site::run(args).await.map(succeeded),
            Command::Notify(args) => notify::notify(args).await,
            Command::Status(args) => notify::status(args).await,
            Command::Migrate(args) => migrate::run(args).await.map(succeeded),
            Command::Key(args) => keys::run(args).await.map(succeeded),
            Command::Secrets(args) => secrets::run(args).await.map(succeeded),
            Command::Ready(args) => ready::run(args).await,
            Command::Audit(args) => audit::run(args).await,
            Command::Backup(args) => backup::run(args).await.map(succeeded),
            Command::Restore(args) => restore::run(args).await.map(succeeded),
            Command::Doctor(args) => doctor::run(args).await,
            Command::Verify(args) => verify::run(args).await,
            Command::Tick(args) => tick::run(args).await.map(succeeded),
            Command::Export(args) => definitions::export(args).await.map(succeeded),
            Command::Import(args) => definitions::import(args).await.map(succeeded),
            Command::Diff(args) => definitions::diff(args).await,
            Command::Schema(args) => definitions::schema(args).map(succeeded),
            Command::Surveys(args) => surveys::run(args).await,
            Command::Sources(args) => sources::run(args).await.map(succeeded),
            Command::Reconcile(args) => reconcile::run(args).await.map(succeeded),
            Command::Bench(args) => bench::run(args).await.map(succeeded),
            Command::Completions(args) => completions::run(&args, &mut Cli::command()).map(succeeded),
        }
    });
    // What still hangs in the outside world must not keep the process from ending.
    runtime.shutdown_background();
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("punctual: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn succeeded((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
