//! What a backup says about itself: where it comes from, and what each of its files must be.

use std::{
    fs,
    io::{ErrorKind, Read},
    path::{Component, Path},
};

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use punctual_engine::keys::hex;
use punctual_store::verify::Counts;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::pace::Rests;
use crate::master_key;

/// The layout of a backup; a program reads its own and earlier ones.
pub const FORMAT: u32 = 1;
pub const MANIFEST: &str = "manifest.json";
pub const SQLITE: &str = "punctual.sqlite";
pub const DUMP: &str = "punctual.dump";
pub const BLOBS: &str = "blobs";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub format: u32,
    /// The program that made it.
    pub version: String,
    /// The newest step of the schema.
    pub schema: i64,
    /// `sqlite` or `postgres`.
    pub database: String,
    /// Nothing that was written after this moment is certain to be in it.
    pub taken_at: Timestamp,
    /// The id of the master key that the secrets are sealed with; it reveals nothing about the key.
    pub master_key: Option<String>,
    pub has_master_key: bool,
    pub has_database: bool,
    pub has_files: bool,
    /// Rows of the largest tables, where the copy can be asked.
    pub counts: Option<Counts>,
    pub files: Vec<Entry>,
}

/// One file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Below the folder of the backup, with `/` between the parts.
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

impl Entry {
    /// What a file is to hold.
    pub fn of_content(path: &str, content: &[u8]) -> Self {
        Self { path: path.to_owned(), bytes: content.len() as u64, sha256: hex(&Sha256::digest(content)) }
    }

    /// What a file is now.
    pub async fn of(rests: &mut Rests<'_>, folder: &Path, path: &str) -> Result<Self> {
        let file = folder.join(path);
        let mut open = fs::File::open(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let (mut digest, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            let read = match open.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.with_context(|| format!("cannot read {}", file.display()))?,
            };
            if read == 0 {
                return Ok(Self { path: path.to_owned(), bytes, sha256: hex(&digest.finalize()) });
            }
            digest.update(&buffer[..read]);
            bytes += read as u64;
            rests.rest().await;
        }
    }

    /// Compares the file with what it was when it was written.
    pub async fn check(&self, rests: &mut Rests<'_>, folder: &Path) -> Result<()> {
        let found = Self::of(rests, folder, &self.path).await?;
        ensure!(
            (found.bytes, &found.sha256) == (self.bytes, &self.sha256),
            "{} is not what was backed up: its SHA-256 is {}, not {}",
            self.path,
            found.sha256,
            self.sha256
        );
        Ok(())
    }
}

impl Manifest {
    /// Reads the manifest of a backup.
    pub fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(MANIFEST);
        let text = fs::read(&file)
            .with_context(|| format!("{} is not there: this is no backup of Punctual", file.display()))?;
        let manifest: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{} cannot be understood", file.display()))?;
        if manifest.format > FORMAT {
            bail!(
                "the backup has format {}, this program knows {FORMAT}; use a newer program",
                manifest.format
            );
        }
        for entry in &manifest.files {
            let is_below =
                Path::new(&entry.path).components().all(|part| matches!(part, Component::Normal(_)));
            ensure!(is_below, "the manifest names `{}`, which is not in the backup", entry.path);
        }
        let database = if manifest.database == "sqlite" { SQLITE } else { DUMP };
        let needed = [(manifest.has_database, database), (manifest.has_master_key, master_key::FILE)];
        for (is_needed, name) in needed {
            let is_named = manifest.files.iter().any(|entry| entry.path == name);
            ensure!(
                is_named || !is_needed,
                "the manifest does not name `{name}`: the backup is not complete"
            );
        }
        Ok(manifest)
    }

    /// Compares every file with what it was when it was written.
    pub async fn check(&self, rests: &mut Rests<'_>, folder: &Path) -> Result<()> {
        for entry in &self.files {
            entry.check(rests, folder).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{backup::pace::Pace, clock::SystemClock};

    fn manifest(path: &str) -> String {
        format!(
            r#"{{"format":1,"version":"0","schema":1,"database":"sqlite","takenAt":"2026-01-01T00:00:00Z","masterKey":null,
            "hasMasterKey":false,"hasDatabase":false,"hasFiles":true,"counts":null,
            "files":[{{"path":"{path}","bytes":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}}]}}"#
        )
    }

    #[tokio::test]
    async fn a_changed_file_and_one_outside_are_refused() {
        let clock = SystemClock::start().unwrap();
        let mut rests = Rests::new(clock.as_ref(), Pace::Full);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), manifest("a")).unwrap();
        fs::write(folder.path().join("a"), "abc").unwrap();
        let read = Manifest::read(folder.path()).unwrap();
        read.check(&mut rests, folder.path()).await.unwrap();
        fs::write(folder.path().join("a"), "abd").unwrap();
        let refusal = read.check(&mut rests, folder.path()).await.unwrap_err().to_string();
        assert!(refusal.starts_with("a is not what was backed up"), "{refusal}");
        for outside in ["../a", "/etc/passwd", "b/../../a"] {
            fs::write(folder.path().join(MANIFEST), manifest(outside)).unwrap();
            assert!(Manifest::read(folder.path()).is_err(), "{outside}");
        }
        fs::write(folder.path().join(MANIFEST), manifest("a").replace("\"format\":1", "\"format\":2"))
            .unwrap();
        assert!(Manifest::read(folder.path()).unwrap_err().to_string().contains("newer program"));
    }

    #[test]
    fn a_manifest_that_lost_an_entry_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: String| {
            fs::write(folder.path().join(MANIFEST), text).unwrap();
            Manifest::read(folder.path()).map_err(|refusal| refusal.to_string())
        };
        let with_database = |path| manifest(path).replace("\"hasDatabase\":false", "\"hasDatabase\":true");
        assert!(read(with_database(SQLITE)).is_ok());
        let refusal = read(with_database("blobs/a")).unwrap_err();
        assert!(refusal.contains("does not name `punctual.sqlite`"), "{refusal}");
        let of_postgres = with_database(SQLITE).replace("\"sqlite\"", "\"postgres\"");
        assert!(read(of_postgres).unwrap_err().contains("does not name `punctual.dump`"));
        let with_key = manifest("blobs/a").replace("\"hasMasterKey\":false", "\"hasMasterKey\":true");
        assert!(read(with_key).unwrap_err().contains("does not name `master.key`"));
    }
}
