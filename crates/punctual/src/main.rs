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
mod open;
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
    /// Run the server as a sandbox with sample data: the clock can be moved, and channels record messages instead of sending
    /// them.
    Demo(config::ServeArgs),
    /// Run a site agent: it stores notifications of local scripts and forwards them to the central server.
    Site(site::SiteArgs),
    /// Send a notification to a list, through the site agent on this machine; prints the id.
    Notify(notify::NotifyArgs),
    /// Show the status of a notification, by the id that `notify` printed.
    Status(notify::StatusArgs),
    /// Migrate the database schema and exit.
    Migrate(migrate::MigrateArgs),
    /// Create, list and revoke API keys, directly in the database.
    Key(keys::KeyArgs),
    /// Manage the master key that seals the secrets in the database.
    Secrets(secrets::SecretsArgs),
    /// Check whether a running server is ready; exits with 0 if it is, otherwise with 1.
    Ready(ready::ReadyArgs),
    /// Verify that the audit log is unchanged, or erase details about a person, directly in the database.
    Audit(audit::AuditArgs),
    /// Copy database and files into a new folder, also while a server is running.
    Backup(backup::BackupArgs),
    /// Restore a backup into a new data folder or an empty database; everything due since then waits for an operator.
    Restore(restore::RestoreArgs),
    /// Check an installation (configuration, database, clock, disk, keys, channels) and print each finding with its repair.
    Doctor(doctor::DoctorArgs),
    /// Check a whole database: the file, references, the audit chain, counters, missing files.
    Verify(verify::VerifyArgs),
    /// Make a running server run one pass over all due work.
    Tick(tick::TickArgs),
    /// Write all definitions of a running server into files for version control, one file each.
    Export(definitions::ExportArgs),
    /// Make a running server's definitions match files, all or nothing; `--plan` only shows what would change.
    Import(definitions::ImportArgs),
    /// Compare files with the definitions of a running server; exits with 0 if they are equal, 1 if they differ, 2 on an error.
    Diff(definitions::DiffArgs),
    /// Print the JSON Schemas of definition files, for editors.
    Schema(definitions::SchemaArgs),
    /// Import events from a file into a running server, for the surveys triggered by them.
    Surveys(surveys::SurveysArgs),
    /// Import sources from a file into a running server.
    Sources(sources::SourcesArgs),
    /// Reconcile the reminders of a running server with their sources.
    Reconcile(reconcile::ReconcileArgs),
    /// Measure the throughput and the delays of this machine.
    Bench(bench::BenchArgs),
    /// Print shell completions: `punctual completions bash`.
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
