//! A disk that fails with EIO when it is written to. The calls of a process are answered so by a library that is loaded
//! before the C library; it needs no kernel that can fail a block device.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::cluster::succeed;

pub struct FailingDisk {
    /// The library, and the file whose presence makes the disk fail.
    folder: TempDir,
}

impl FailingDisk {
    /// Uses the compiler that SQLite is built with.
    pub fn new() -> Self {
        let disk = Self { folder: tempfile::tempdir().unwrap() };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rig/failing_disk.c");
        let mut compiler = Command::new("cc");
        succeed(compiler.args(["-shared", "-fPIC", "-o"]).arg(disk.library()).arg(source).arg("-ldl"));
        succeed(Command::new("chmod").arg("755").arg(disk.folder.path()));
        disk
    }

    /// What a process finds in its environment whose disk this is, below a folder.
    pub fn environment(&self, below: &Path) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        vec![
            ("LD_PRELOAD".into(), text(self.library())),
            ("DISK_FAILS_BELOW".into(), text(below.canonicalize().unwrap())),
            ("DISK_FAILS_WHILE".into(), text(self.switch())),
        ]
    }

    pub fn fail(&self) {
        std::fs::write(self.switch(), "").unwrap();
    }

    pub fn mend(&self) {
        std::fs::remove_file(self.switch()).unwrap();
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("failing_disk.so")
    }

    fn switch(&self) -> PathBuf {
        self.folder.path().join("fails")
    }
}
