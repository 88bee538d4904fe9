//! Secrets that settings refer to, looked up where the operator keeps them: files in one directory, and variables with
//! one prefix. The server's own keys and its database are never among them.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use punctual_engine::references::{NO_SECRETS_DIR, SecretSource};
use punctual_model::{Secret, SecretReference};

use crate::config::{self, Config};

/// The largest file that is read as a secret: credentials with a chain of certificates have a few KiB.
const LARGEST: u64 = 64 << 10;
/// What the server's own variables begin with.
const OWN_VARIABLES: &str = "PUNCTUAL_";

/// The secrets of this machine.
pub struct SecretFiles {
    folder: Option<PathBuf>,
    data_dir: PathBuf,
    /// Keys, database and configuration of the server itself, wherever they are.
    own_files: Vec<PathBuf>,
}

impl SecretFiles {
    pub fn open(config: &Config) -> Result<Self> {
        let data_dir = fs::canonicalize(&config.data_dir)
            .with_context(|| format!("the data folder {}", config.data_dir.display()))?;
        let folder = config.secrets_dir.as_deref().map(|folder| {
            let shown = folder.display();
            let folder = fs::canonicalize(folder).with_context(|| format!("secrets_dir = \"{shown}\""))?;
            ensure!(folder.is_dir(), "secrets_dir = \"{shown}\" is no directory");
            ensure!(
                folder != data_dir,
                "secrets_dir = \"{shown}\" is the data folder, which has the server's own keys; give another directory"
            );
            Ok(folder)
        });
        let mut own_files = vec![config.data_dir.join("admin.key"), config.data_dir.join("master.key")];
        own_files.extend(config.master_key_file.clone());
        own_files.extend(config.file.clone());
        if let Some(file) = config.database_url.expose().strip_prefix("sqlite:") {
            let file = file.trim_start_matches("//");
            let file = file.split('?').next().unwrap_or(file);
            own_files.extend(["", "-wal", "-shm"].map(|end| format!("{file}{end}").into()));
        }
        Ok(Self { folder: folder.transpose()?, data_dir, own_files })
    }

    /// The text of a file that is a secret: a regular one, not too large, and none of the server's own.
    fn read(&self, path: &Path) -> Option<Secret> {
        // The look before opening refuses links and devices where no flag can.
        if !fs::symlink_metadata(path).ok()?.is_file() {
            return None;
        }
        let file = open_without_following(path).ok()?;
        let found = file.metadata().ok()?;
        if !found.is_file() || found.len() > LARGEST || self.is_own(path, &found) {
            return None;
        }
        let mut text = String::new();
        // It may grow while it is read.
        let length = file.take(LARGEST + 1).read_to_string(&mut text).ok()?;
        let text = text.trim_end_matches(['\r', '\n']);
        (!text.is_empty() && length as u64 <= LARGEST).then(|| Secret::new(text))
    }

    /// Whether this is a file of the server itself, under whatever name.
    fn is_own(&self, path: &Path, found: &Metadata) -> bool {
        self.own_files.iter().any(|own| match (fs::metadata(own), fs::canonicalize(own)) {
            (Ok(metadata), Ok(own)) => is_same(&metadata, found) || own == path,
            _ => false,
        })
    }
}

impl SecretSource for SecretFiles {
    fn refusal(&self, reference: &SecretReference) -> Option<String> {
        reference.file_name().filter(|_| self.folder.is_none()).map(|_| NO_SECRETS_DIR.to_owned())
    }

    fn look_up(&self, reference: &SecretReference) -> Option<Secret> {
        if let Some(variable) = reference.variable() {
            return variable_of(&variable);
        }
        self.read(&self.folder.as_deref()?.join(reference.file_name()?))
    }

    /// Any variable but the server's own, and any file outside its data folder.
    fn look_up_old(&self, text: &str) -> Option<Secret> {
        if let Some(name) = text.strip_prefix("env:") {
            return variable_of(name).filter(|_| !name.starts_with(OWN_VARIABLES));
        }
        let path = fs::canonicalize(text.strip_prefix("file:")?).ok()?;
        if path.starts_with(&self.data_dir) {
            return None;
        }
        self.read(&path)
    }
}

fn variable_of(name: &str) -> Option<Secret> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    let text = is_name.then(|| std::env::var(name).ok()).flatten()?;
    (!text.is_empty()).then(|| Secret::new(text))
}

/// A node's name that is the same after a restart: the host and its data folder.
pub fn node_name(config: &Config) -> String {
    let folder = fs::canonicalize(&config.data_dir).unwrap_or_else(|_| config.data_dir.clone());
    format!("{}:{}", config::host_name(), folder.display())
}

#[cfg(unix)]
fn open_without_following(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // A pipe that took the file's place must not hold the node up.
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

#[cfg(not(unix))]
fn open_without_following(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServeArgs;

    struct Folders {
        root: tempfile::TempDir,
    }

    impl Folders {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            for folder in ["data", "secrets", "secrets/sub", "old"] {
                fs::create_dir(root.path().join(folder)).unwrap();
            }
            for (file, text) in [
                ("data/admin.key", "the admin key\n"),
                ("data/master.key", "the master key\n"),
                ("secrets/smtp", "hunter2\r\n"),
                ("secrets/empty", "\n"),
                ("secrets/keys", "another master key\n"),
                ("old/smtp", "hunter3\n"),
            ] {
                fs::write(root.path().join(file), text).unwrap();
            }
            fs::write(root.path().join("secrets/large"), vec![b'a'; (LARGEST + 1) as usize]).unwrap();
            Self { root }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        fn config(&self, secrets_dir: Option<&str>) -> Config {
            let none = self.path("none.toml");
            fs::write(&none, "").unwrap();
            let args = ServeArgs {
                data_dir: Some(self.path("data")),
                secrets_dir: secrets_dir.map(|folder| self.path(folder)),
                master_key_file: Some(self.path("secrets/keys")),
                config: Some(none),
                ..ServeArgs::default()
            };
            Config::read(args, "unused").unwrap()
        }

        fn open(&self) -> SecretFiles {
            SecretFiles::open(&self.config(Some("secrets"))).unwrap()
        }
    }

    fn found(secrets: &SecretFiles, text: &str) -> Option<String> {
        let reference = SecretReference::parse(text).unwrap().unwrap();
        secrets.look_up(&reference).map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn t12_a_file_reference_reads_a_regular_file_of_the_directory() {
        let folders = Folders::new();
        let secrets = folders.open();
        assert_eq!(found(&secrets, "file:smtp").as_deref(), Some("hunter2"));
        for nothing in ["file:none", "file:empty", "file:large", "file:sub"] {
            assert_eq!(found(&secrets, nothing), None, "{nothing}");
        }
        assert_eq!(found(&secrets, "file:keys"), None, "the master key is beside the secrets");
        let none = SecretFiles::open(&folders.config(None)).unwrap();
        assert_eq!(found(&none, "file:smtp"), None);
        let refusal =
            |secrets: &SecretFiles, text| secrets.refusal(&SecretReference::parse(text).unwrap().unwrap());
        assert!(refusal(&none, "file:smtp").unwrap().contains("--secrets-dir"));
        assert_eq!((refusal(&none, "env:X"), refusal(&secrets, "file:smtp")), (None, None));
    }

    #[cfg(unix)]
    #[test]
    fn t12_no_link_leads_out_of_the_directory() {
        let folders = Folders::new();
        let secrets = folders.open();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(folders.path(to), folders.path(&format!("secrets/{name}"))).unwrap();
        };
        link("data/admin.key", "admin");
        link("secrets/smtp", "inside");
        fs::hard_link(folders.path("data/master.key"), folders.path("secrets/hard")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(folders.path("secrets/pipe")).status().unwrap();
        assert!(pipe.success());
        for name in ["file:admin", "file:inside", "file:hard", "file:pipe"] {
            assert_eq!(found(&secrets, name), None, "{name}");
        }
    }

    #[test]
    fn t12_the_data_folder_is_no_directory_for_secrets() {
        let folders = Folders::new();
        let refused =
            |folder| format!("{:#}", SecretFiles::open(&folders.config(Some(folder))).err().unwrap());
        assert!(refused("data").contains("is the data folder"), "{}", refused("data"));
        assert!(refused("secrets/../data").contains("is the data folder"));
        assert!(refused("nowhere").contains("secrets_dir"));
        assert!(refused("old/smtp").contains("is no directory"));
    }

    #[test]
    fn t12_an_old_reference_never_reads_what_is_the_servers_own() {
        let folders = Folders::new();
        let secrets = folders.open();
        let old = |path: &str| {
            let text = format!("file:{}", folders.path(path).display());
            secrets.look_up_old(&text).map(|secret| secret.expose().to_owned())
        };
        assert_eq!(old("old/smtp").as_deref(), Some("hunter3"));
        for own in ["data/admin.key", "old/../data/master.key", "secrets/keys", "none.toml"] {
            assert_eq!(old(own), None, "{own}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folders.path("data/admin.key"), folders.path("old/link")).unwrap();
            std::os::unix::fs::symlink(folders.path("old/smtp"), folders.path("old/good")).unwrap();
            assert_eq!(old("old/link"), None);
            assert_eq!(old("old/good").as_deref(), Some("hunter3"), "as an earlier version did");
        }
        assert!(secrets.look_up_old("env:PATH").is_some());
        for nothing in ["env:", "env:A=B", "env:PUNCTUAL_MASTER_KEY", "file:", "hunter2"] {
            assert!(secrets.look_up_old(nothing).is_none(), "{nothing}");
        }
    }
}
