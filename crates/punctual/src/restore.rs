//! `punctual restore`: a backup in a new data folder, or in an empty PostgreSQL database.
//!
//! Whether what was due since the backup was sent before the restore cannot be known. The database is marked, and the first
//! start holds all of that for a person.

use std::{
    ffi::OsString,
    fs,
    io::ErrorKind,
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
        postgres, rename, write_private,
    },
    clock::SystemClock,
    config::{Config, ServeArgs},
    master_key,
    serve::signal,
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
        names_in(&config.data_dir)?.is_empty(),
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

/// What a new file system has in its first folder.
const OF_THE_FILE_SYSTEM: &str = "lost+found";

/// The names in a folder; one that is not there has none.
fn names_in(folder: &Path) -> Result<Vec<OsString>> {
    let read = || format!("cannot read {}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(read)?,
    };
    let names: std::io::Result<Vec<OsString>> = entries.map(|entry| Ok(entry?.file_name())).collect();
    Ok(names.with_context(read)?.into_iter().filter(|name| name != OF_THE_FILE_SYSTEM).collect())
}

/// Removes what a restore that failed has left in a folder that was empty.
fn empty(folder: &Path) {
    for name in names_in(folder).unwrap_or_default() {
        let path = folder.join(name);
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

/// Everything is put together beside the data folder, which gets its name at the end. A folder that is there already may be a mounted
/// volume, or one beside which this user cannot make another: there it is put together inside, and the database gets its name last.
async fn to_sqlite(config: &Config, clock: &SystemClock, source: &Path, manifest: &Manifest) -> Result<()> {
    let own = format!("sqlite:{}", config.data_dir.join(SQLITE).display());
    ensure!(
        config.database_url.expose() == own,
        "a backup is restored to {own}; move the file afterwards if it is to be elsewhere"
    );
    let is_there = config.data_dir.exists();
    let part = if is_there {
        private_folder(&config.data_dir)?;
        config.data_dir.join(format!(".restoring-{}", std::process::id()))
    } else {
        beside(&config.data_dir, "restoring")
    };
    private_folder(&part).with_context(|| format!("cannot make {}", part.display()))?;
    let done = async {
        let is_own = |path: &str| path == SQLITE || path == master_key::FILE;
        copy_files(source, &part, manifest, |path| is_own(path) || files_stay(config, path))?;
        let url = format!("sqlite:{}", part.join(SQLITE).display());
        let store = Store::open(StoreOptions::new(url), clock.now()).await?;
        mark_restored(&store, clock.now(), Some(manifest.taken_at)).await?;
        store.shrink_log().await?;
        store.close().await;
        // Before the folder has its name: an attempt that fails here can be repeated.
        upload_files(config, source, manifest).await?;
        if !is_there {
            return rename(&part, &config.data_dir);
        }
        let (database, others): (Vec<_>, Vec<_>) =
            names_in(&part)?.into_iter().partition(|name| name == SQLITE);
        for name in others.iter().chain(&database) {
            rename(&part.join(name), &config.data_dir.join(name))?;
        }
        Ok(fs::remove_dir(&part)?)
    };
    let done = until_signal(done).await;
    if done.is_err() {
        let _ = fs::remove_dir_all(&part);
        if is_there {
            empty(&config.data_dir);
        }
    }
    done
}

/// A restore that is stopped by a signal cleans up as one that fails.
async fn until_signal(done: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::select! {
        done = done => done,
        stopped = signal() => stopped.and_then(|()| bail!("stopped by a signal: nothing was restored")),
    }
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
    let done = until_signal(async {
        copy_files(source, &config.data_dir, manifest, |path| {
            path == master_key::FILE || files_stay(config, path)
        })?;
        upload_files(config, source, manifest).await?;
        postgres::restore(config.own_database_url(), &source.join(DUMP), clock.now(), manifest.taken_at).await
    });
    if let Err(error) = done.await {
        // Else the next attempt would find the folder in use.
        empty(&config.data_dir);
        return Err(error);
    }
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
            fs::copy(from.join(&entry.path), &target)
                .and_then(|_| fs::File::open(&target)?.sync_all())
                .with_context(|| format!("cannot write {}", target.display()))?;
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
