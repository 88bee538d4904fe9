//! `punctual restore`: a backup in a new data folder, or in an empty PostgreSQL database.
//!
//! Whether what was due since the backup was sent before the restore cannot be known. The database is marked, and the first
//! start holds all of that for a person.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use jiff::Timestamp;
use punctual_engine::restored::mark_restored;
use punctual_model::Clock;
use punctual_store::{Store, StoreOptions, private_folder};

use crate::{
    backup::{
        beside, blobs_of,
        manifest::{BLOBS, DUMP, Manifest, SQLITE},
        pace::{Pace, Rests},
        postgres, write_private,
    },
    clock::SystemClock,
    config::{Config, ServeArgs},
    master_key,
};

#[derive(Args)]
pub struct RestoreArgs {
    /// The folder created by `punctual backup`; not used with `--mark-only`.
    #[arg(required_unless_present = "mark_only")]
    source: Option<PathBuf>,
    /// Only mark a database that was restored with other tools: everything due since the backup waits for an operator.
    #[arg(long, conflicts_with = "source")]
    mark_only: bool,
    #[command(flatten)]
    serve: Box<ServeArgs>,
}

pub async fn run(args: RestoreArgs) -> Result<()> {
    let config = Config::read((*args.serve).clone(), "./punctual-data")?;
    let clock = SystemClock::start()?;
    let Some(source) = &args.source else { return mark(&config, &clock).await };
    let manifest = Manifest::read(source)?;
    manifest.check(&mut Rests::new(clock.as_ref(), Pace::Full), source).await?;
    let is_sqlite = config.database_url.expose().starts_with("sqlite:");
    let wanted = if is_sqlite { "sqlite" } else { "postgres" };
    ensure!(
        manifest.database == wanted,
        "the backup is of {}, and the database to restore to is {wanted}",
        manifest.database
    );
    ensure!(
        is_empty(&config.data_dir)?,
        "{} is not empty; a backup is restored to a new data folder",
        config.data_dir.display()
    );
    if is_sqlite {
        to_sqlite(&config, &clock, source, &manifest).await?;
    } else {
        to_postgres(&config, &clock, source, &manifest).await?;
    }
    print_outcome(&config, &manifest);
    Ok(())
}

/// Whether nothing is in a folder; one that is not there is empty.
fn is_empty(folder: &Path) -> Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", folder.display())),
    }
}

/// Everything is put together beside the data folder, which gets its name at the end.
async fn to_sqlite(config: &Config, clock: &SystemClock, source: &Path, manifest: &Manifest) -> Result<()> {
    let own = format!("sqlite:{}", config.data_dir.join(SQLITE).display());
    ensure!(
        config.database_url.expose() == own,
        "a backup is restored to {own}; move the file afterwards if it is to be elsewhere"
    );
    let part = beside(&config.data_dir, "restoring");
    private_folder(&part).with_context(|| format!("cannot make {}", part.display()))?;
    let done = async {
        let is_own = |path: &str| path == SQLITE || path == master_key::FILE;
        copy_files(source, &part, manifest, |path| is_own(path) || files_stay(config, path))?;
        let url = format!("sqlite:{}", part.join(SQLITE).display());
        let store = Store::open(StoreOptions::new(url), clock.now()).await?;
        mark_restored(&store, clock.now(), Some(manifest.taken_at)).await?;
        store.shrink_log().await?;
        store.close().await;
        if config.data_dir.exists() {
            fs::remove_dir(&config.data_dir)?;
        }
        fs::rename(&part, &config.data_dir)
            .with_context(|| format!("cannot rename {} to {}", part.display(), config.data_dir.display()))
    };
    let done = done.await;
    if done.is_err() {
        let _ = fs::remove_dir_all(&part);
    }
    done?;
    upload_files(config, source, manifest).await
}

/// Files first: rows that are there find theirs.
async fn to_postgres(config: &Config, clock: &SystemClock, source: &Path, manifest: &Manifest) -> Result<()> {
    ensure!(
        manifest.has_database,
        "the database is not in this backup: bring it back with PostgreSQL's tools, then run `punctual restore --mark-only`"
    );
    let url = config.database_url.expose();
    let tables = punctual_store::maintenance::tables(url).await?;
    ensure!(tables == 0, "the database has {tables} tables; a backup is restored to an empty database");
    private_folder(&config.data_dir)?;
    copy_files(source, &config.data_dir, manifest, |path| {
        path == master_key::FILE || files_stay(config, path)
    })?;
    upload_files(config, source, manifest).await?;
    postgres::restore(config.own_database_url(), &source.join(DUMP), clock.now(), manifest.taken_at).await?;
    // The schema of this program, as a start would bring it.
    Store::open(StoreOptions { accept_weak_durability: true, ..StoreOptions::new(url) }, clock.now())
        .await?
        .close()
        .await;
    Ok(())
}

/// Whether a file of the backup belongs into the data folder.
fn files_stay(config: &Config, path: &str) -> bool {
    let own = config.data_dir.join(BLOBS);
    path.starts_with(BLOBS) && config.blobs == own.display().to_string()
}

fn copy_files(from: &Path, to: &Path, manifest: &Manifest, wanted: impl Fn(&str) -> bool) -> Result<()> {
    for entry in manifest.files.iter().filter(|entry| wanted(&entry.path)) {
        let target = to.join(&entry.path);
        if let Some(folder) = target.parent() {
            private_folder(folder)?;
        }
        if entry.path == SQLITE {
            write_private(&target, b"")?;
            fs::copy(from.join(&entry.path), &target)?;
            fs::File::open(&target)?.sync_all()?;
        } else {
            write_private(&target, &fs::read(from.join(&entry.path))?)?;
        }
    }
    Ok(())
}

/// Files that are kept elsewhere than in the data folder.
async fn upload_files(config: &Config, source: &Path, manifest: &Manifest) -> Result<()> {
    let prefix = format!("{BLOBS}/");
    let mut files = manifest.files.iter().filter(|entry| entry.path.starts_with(&prefix)).peekable();
    if files.peek().is_none() || files_stay(config, BLOBS) {
        return Ok(());
    }
    let blobs = blobs_of(config).await?;
    for entry in files {
        blobs.put(&entry.path[prefix.len()..], fs::read(source.join(&entry.path))?).await?;
    }
    Ok(())
}

async fn mark(config: &Config, clock: &SystemClock) -> Result<()> {
    let url = config.database_url.expose();
    let options = StoreOptions { accept_weak_durability: true, ..StoreOptions::new(url) };
    let store = Store::open(options, clock.now()).await?;
    let live = punctual_store::nodes::all(&mut store.read().await?.conn()).await?;
    let seen: Option<Timestamp> = live.iter().map(|node| node.last_seen_at).max();
    if let Some(seen) =
        seen.filter(|seen| clock.now().duration_since(*seen) < jiff::SignedDuration::from_mins(2))
    {
        bail!("a node was seen on this database at {seen}; stop all of them first, or wait two minutes");
    }
    mark_restored(&store, clock.now(), None).await?;
    store.close().await;
    println!("The database is marked as restored: at the next start, what was due waits for a person.");
    Ok(())
}

fn print_outcome(config: &Config, manifest: &Manifest) {
    println!("Restored the backup of {} to {}.", manifest.taken_at, config.data_dir.display());
    println!(
        "What was accepted after that is not in it: producers must hand it in again. What was due between then and the next \
         start may have been sent: it waits for a person, see Attention or GET /api/v1/restore."
    );
    if let (Some(key), false) = (&manifest.master_key, manifest.has_master_key) {
        println!(
            "The master key `{key}` is not in the backup: put it into {} before the start.",
            config.data_dir.join(master_key::FILE).display()
        );
    }
}
