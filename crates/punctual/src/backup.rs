//! `punctual backup`: database and files in a new folder, of one moment, while a server may be running.
//!
//! Files are copied before the database and again after it: a file that a row of the copy needs was there before the one
//! or after the other. The folder has its name once everything in it is written, on disk and checked.

pub mod manifest;
pub mod pace;
pub mod postgres;

use std::{
    collections::HashSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use futures_util::StreamExt;
use jiff::Timestamp;
use punctual_engine::secrets::key_in_use;
use punctual_model::Clock;
use punctual_store::{SqliteCopy, Store, StoreOptions, blobs::Blobs, private_folder, schema, verify};

use self::{
    manifest::{BLOBS, DUMP, Entry, FORMAT, MANIFEST, Manifest, SQLITE},
    pace::{Pace, Rests},
};
use crate::{
    clock::SystemClock,
    config::{Config, ServeArgs},
    master_key,
    serve::signal,
};

#[derive(Args)]
pub struct BackupArgs {
    /// The folder to create; it must not exist.
    target: PathBuf,
    /// Include the master key: everyone with the backup can then read its secrets.
    #[arg(long)]
    with_master_key: bool,
    /// Skip the files, for an object store with its own versioning.
    #[arg(long)]
    without_files: bool,
    /// Skip the database (PostgreSQL), for files that belong to a backup made with other tools.
    #[arg(long)]
    without_database: bool,
    /// The speed of the copy of the database: with pauses, so that requests are hardly affected, or as fast as possible.
    #[arg(long, value_enum, default_value_t = Pace::Gentle)]
    pace: Pace,
    /// Print the manifest as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    serve: Box<ServeArgs>,
}

pub async fn run(args: BackupArgs) -> Result<()> {
    let config = Config::read((*args.serve).clone(), "./punctual-data")?;
    ensure!(!args.target.exists(), "{} is there already", args.target.display());
    let part = beside(&args.target, "part");
    private_folder(&part).with_context(|| format!("cannot make {}", part.display()))?;
    let written = tokio::select! {
        written = write(&args, &config, &part) => written,
        stopped = signal() => stopped.and_then(|()| bail!("stopped by a signal: there is no backup")),
    };
    let renamed = written.and_then(|manifest| {
        rename(&part, &args.target)?;
        Ok(manifest)
    });
    if renamed.is_err() {
        let _ = fs::remove_dir_all(&part);
    }
    print_outcome(&renamed?, &args)
}

/// Copies the database alone into a new folder, as a backup does: for measuring it.
pub async fn copy_database(clock: &dyn Clock, url: &str, folder: &Path) -> Result<()> {
    private_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let rests = Rests::new(clock, Pace::Gentle);
    match url.strip_prefix("sqlite:") {
        Some(file) => copy_file(rests, file, folder).await,
        None => postgres::dump(rests, url, &folder.join(DUMP)).await,
    }
}

/// Copies the file of SQLite, and reads the copy from end to end.
async fn copy_file(mut rests: Rests<'_>, file: &str, folder: &Path) -> Result<()> {
    let mut copy = SqliteCopy::start(Path::new(file.trim_start_matches("//")), &folder.join(SQLITE));
    while let Some(step) = copy.step().await {
        rests.rest_beside_log(step.log_grew).await;
    }
    let faults = copy.end().await?;
    ensure!(faults.is_empty(), "the copy is damaged, and so may be the database: {}", faults.join("; "));
    Ok(())
}

/// A name beside a folder for what is not finished.
pub fn beside(folder: &Path, word: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{word}-{}", std::process::id()));
    folder.with_file_name(name)
}

/// Gives a folder or file its last name, on disk when this returns.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    let above = to.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::rename(from, to)
        .and_then(|()| fs::File::open(above)?.sync_all())
        .with_context(|| format!("cannot rename {} to {}", from.display(), to.display()))
}

async fn write(args: &BackupArgs, config: &Config, part: &Path) -> Result<Manifest> {
    let clock = SystemClock::start()?;
    let url = config.database_url.expose();
    let store = Store::open(StoreOptions::beside(url), clock.now()).await?;
    ensure!(
        args.without_database || config.listen_url.is_some() || store.listens_to_others(),
        "the database's address leads to a connection pooler, where what pg_dump sets for its session would stay for nodes: \
         give the address of PostgreSQL itself with --listen-url, or leave the database to its own tools with --without-database"
    );
    let key_id = key_in_use(&mut store.read().await?.conn()).await?;
    let rests = || Rests::new(clock.as_ref(), args.pace);
    let mut files = Files { folder: part, rests: rests(), entries: Vec::new(), known: HashSet::new() };
    let blobs = if args.without_files { None } else { Some(blobs_of(config).await?) };
    if let Some(blobs) = &blobs {
        files.copy_blobs(blobs).await?;
    }
    let taken_at = clock.now();
    let mut counts = None;
    let is_sqlite = store.is_single_process();
    match url.strip_prefix("sqlite:") {
        Some(_) if args.without_database => bail!("--without-database is for PostgreSQL"),
        Some(file) => {
            copy_file(rests(), file, part).await?;
            counts = Some(count_rows(&part.join(SQLITE), clock.now()).await?);
            files.add(SQLITE).await?;
        }
        None if args.without_database => {}
        None => {
            postgres::dump(rests(), config.own_database_url(), &part.join(DUMP)).await?;
            files.add(DUMP).await?;
        }
    }
    if let Some(blobs) = &blobs {
        files.copy_blobs(blobs).await?;
    }
    if args.with_master_key {
        let file = config.master_key_file.clone().unwrap_or_else(|| config.data_dir.join(master_key::FILE));
        ensure!(
            config.master_key.is_none(),
            "the master key is in a variable, not in a file; keep it yourself"
        );
        let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        files.put(master_key::FILE, &text).await?;
    }
    store.close().await;
    let manifest = Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schema: schema::known(),
        database: if is_sqlite { "sqlite" } else { "postgres" }.to_owned(),
        taken_at,
        master_key: key_id,
        has_master_key: args.with_master_key,
        has_database: !args.without_database,
        has_files: !args.without_files,
        counts,
        files: files.entries,
    };
    let text = serde_json::to_vec_pretty(&manifest)?;
    write_private(&part.join(MANIFEST), &text)?;
    fs::File::open(part)?.sync_all()?;
    Ok(manifest)
}

/// The configured place of files.
pub async fn blobs_of(config: &Config) -> Result<Blobs> {
    let settings = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Blobs::open(&config.blobs, settings).await?)
}

/// Opens the copy as a database of this program, and counts its rows.
async fn count_rows(file: &Path, now: Timestamp) -> Result<verify::Counts> {
    let url = format!("sqlite:{}", file.display());
    let copy = Store::open(StoreOptions::beside(url), now).await.context("the copy cannot be opened")?;
    let counts = verify::counts(&mut copy.read().await?.conn()).await?;
    copy.close().await;
    Ok(counts)
}

/// The files of a backup, as they are written.
struct Files<'f> {
    folder: &'f Path,
    rests: Rests<'f>,
    entries: Vec<Entry>,
    known: HashSet<String>,
}

impl Files<'_> {
    /// Copies the blobs that are not there yet. One that is removed meanwhile is no longer needed.
    async fn copy_blobs(&mut self, blobs: &Blobs) -> Result<()> {
        let mut names = blobs.names();
        while let Some(name) = names.next().await {
            let name = name?;
            let path = format!("{BLOBS}/{name}");
            if self.known.contains(&path) {
                continue;
            }
            if let Some(content) = blobs.get(&name).await? {
                self.put(&path, &content).await?;
            }
        }
        Ok(())
    }

    /// Writes a file, and reads back what was written.
    async fn put(&mut self, path: &str, content: &[u8]) -> Result<()> {
        let file = self.folder.join(path);
        if let Some(folder) = file.parent() {
            private_folder(folder)?;
        }
        write_private(&file, content)?;
        let entry = Entry::of_content(path, content);
        entry.check(&mut self.rests, self.folder).await?;
        self.take(entry);
        Ok(())
    }

    /// Takes a file that is written into the manifest.
    async fn add(&mut self, path: &str) -> Result<()> {
        let entry = Entry::of(&mut self.rests, self.folder, path).await?;
        self.take(entry);
        Ok(())
    }

    fn take(&mut self, entry: Entry) {
        self.known.insert(entry.path.clone());
        self.entries.push(entry);
    }
}

/// Writes a new file for its owner alone, and waits until the disk has it.
pub fn write_private(file: &Path, content: &[u8]) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(file).and_then(|mut open| {
        open.write_all(content)?;
        open.sync_all()
    });
    written.with_context(|| format!("cannot write {}", file.display()))
}

fn print_outcome(manifest: &Manifest, args: &BackupArgs) -> Result<()> {
    if args.json {
        println!("{}", serde_json::to_string(manifest)?);
        return Ok(());
    }
    println!(
        "The backup is in {}: {} files, checked, of {}.",
        args.target.display(),
        manifest.files.len(),
        manifest.taken_at
    );
    if !manifest.has_database {
        println!(
            "The database is not in it: the files belong to a backup of PostgreSQL that was taken just now."
        );
    }
    if let (Some(key), false) = (&manifest.master_key, manifest.has_master_key) {
        println!("The master key `{key}` is not in it; without it the secrets of channels cannot be read.");
    }
    Ok(())
}
