//! Where the master key comes from: a variable, a file, or a file in the data folder that is made at the first start.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use punctual_engine::{
    Vault, secrets,
    vault::{FixedKeys, KeySource, MasterKey, VaultError},
};
use punctual_store::Store;

use crate::{config::Config, random::SystemRandom};

/// The file in the data folder.
pub const FILE: &str = "master.key";

/// Opens the vault with the key that was given; makes one where a database has none yet.
pub async fn open(config: &Config, store: &Store) -> Result<Vault> {
    let source: Arc<dyn KeySource> = match (&config.master_key, &config.master_key_file) {
        (Some(given), _) => {
            let keys = given.expose().split(',').map(MasterKey::parse).collect::<Result<Vec<_>, _>>();
            Arc::new(FixedKeys { keys: keys.context("PUNCTUAL_MASTER_KEY")?, place: "PUNCTUAL_MASTER_KEY" })
        }
        (None, Some(file)) => Arc::new(KeyFile(file.clone())),
        (None, None) => {
            let file = config.data_dir.join(FILE);
            if !file.exists() {
                let mut reader = store.read().await?;
                if let Some(needed) = secrets::key_in_use(&mut reader.conn()).await? {
                    bail!(
                        "{} is missing, and this database uses the master key `{needed}`: put the file back, copy it from \
                         a node that has it, or give the key with --master-key-file or PUNCTUAL_MASTER_KEY; if it is lost \
                         for good, `punctual secrets forget` removes what it sealed",
                        file.display()
                    );
                }
                make(&file)?;
            }
            Arc::new(KeyFile(file))
        }
    };
    Vault::open(source, Arc::new(SystemRandom)).context("no master key")
}

/// Opens the vault with the key that is there; makes none.
pub fn open_present(config: &Config) -> Result<Vault> {
    let source: Arc<dyn KeySource> = match &config.master_key {
        Some(given) => {
            let keys = given.expose().split(',').map(MasterKey::parse).collect::<Result<Vec<_>, _>>();
            Arc::new(FixedKeys { keys: keys.context("PUNCTUAL_MASTER_KEY")?, place: "PUNCTUAL_MASTER_KEY" })
        }
        None => {
            let file = config.master_key_file.clone().unwrap_or_else(|| config.data_dir.join(FILE));
            Arc::new(KeyFile(file))
        }
    };
    Vault::open(source, Arc::new(SystemRandom)).context("no master key")
}

/// A key that is gone with the process: for benchmarks.
pub fn for_this_run() -> Result<Vault> {
    let keys = vec![MasterKey::new(&SystemRandom)];
    Ok(Vault::open(Arc::new(FixedKeys { keys, place: "this run" }), Arc::new(SystemRandom))?)
}

/// Makes the file with a new key. Of two processes that do so at once one comes first, and both use its key.
fn make(file: &Path) -> Result<()> {
    let part = file.with_extension(format!("key.{}", std::process::id()));
    let made = write(&part, &[MasterKey::new(&SystemRandom)]).and_then(|()| fs::hard_link(&part, file));
    let _ = fs::remove_file(&part);
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot write the master key to {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// One key a line, for the owner alone, on the disk before it is used.
fn write(file: &Path, keys: &[MasterKey]) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(file)?;
    for key in keys {
        writeln!(open, "{}", key.text().expose())?;
    }
    open.sync_all()
}

/// A file with one key a line; empty lines and those that begin with `#` are left out.
struct KeyFile(PathBuf);

impl KeySource for KeyFile {
    fn read(&self) -> Result<Vec<MasterKey>, VaultError> {
        let text = fs::read_to_string(&self.0)
            .map_err(|error| VaultError::Source(format!("{} cannot be read: {error}", self.0.display())))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(MasterKey::parse).collect()
    }

    fn add(&self, key: &MasterKey) -> Result<(), VaultError> {
        let mut keys = vec![key.clone()];
        keys.extend(self.read()?);
        let part = self.0.with_extension("key.part");
        write(&part, &keys)
            .and_then(|()| fs::rename(&part, &self.0))
            .map_err(|error| VaultError::Source(format!("{} cannot be written: {error}", self.0.display())))
    }

    fn place(&self) -> String {
        self.0.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        make(&file).unwrap();
        let source = KeyFile(file.clone());
        let first = source.read().unwrap();
        make(&file).unwrap();
        assert_eq!(source.read().unwrap()[0].id(), first[0].id(), "the second did not overwrite the first");
        source.add(&MasterKey::new(&SystemRandom)).unwrap();
        let keys = source.read().unwrap();
        assert_eq!((keys.len(), keys[1].id()), (2, first[0].id()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&file, "# none\n\nnonsense\n").unwrap();
        assert!(source.read().is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
