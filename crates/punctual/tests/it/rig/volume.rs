//! File systems of a trial's own: one that can be filled, and one that can lose power.

use std::{path::PathBuf, process::Command};

use tempfile::TempDir;

use super::{cluster::succeed, scene::pause};

/// A mounted file system. It is gone with this value.
pub struct Volume {
    folder: TempDir,
    /// How often the image was copied; each copy is mounted on its own folder.
    cuts: usize,
}

impl Volume {
    /// In memory, with room for so many megabytes.
    pub fn limited(megabytes: u32) -> Self {
        let volume = Self { folder: tempfile::tempdir().unwrap(), cuts: 0 };
        std::fs::create_dir(volume.path()).unwrap();
        let size = format!("size={megabytes}m");
        succeed(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(volume.path()));
        volume.open_to_all();
        volume
    }

    /// An ext4 image of so many megabytes on a loop device. What is written and not synced is in the memory of the mounted
    /// file system, and not in the image: so a copy of the image is what a disk has after the power went.
    pub fn image(megabytes: u32) -> Self {
        let volume = Self { folder: tempfile::tempdir().unwrap(), cuts: 0 };
        let image = std::fs::File::create(volume.image_file()).unwrap();
        image.set_len(u64::from(megabytes) << 20).unwrap();
        succeed(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(volume.image_file()));
        volume.mount();
        volume
    }

    /// Takes the power away: whoever had files open must have been killed. Afterwards the files are those that were synced.
    pub fn cut(&mut self) {
        let (old, mounted) = (self.image_file(), self.path());
        self.cuts += 1;
        succeed(Command::new("cp").arg("--sparse=always").arg(&old).arg(self.image_file()));
        succeed(Command::new("umount").arg("--lazy").arg(mounted));
        std::fs::remove_file(old).unwrap();
        self.mount();
    }

    fn mount(&self) {
        std::fs::create_dir(self.path()).unwrap();
        succeed(Command::new("mount").args(["-o", "loop"]).arg(self.image_file()).arg(self.path()));
        self.open_to_all();
    }

    /// The user of the database has its files here too.
    fn open_to_all(&self) {
        for folder in [self.folder.path(), &self.path()] {
            succeed(Command::new("chmod").arg("755").arg(folder));
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join(format!("mounted-{}", self.cuts))
    }

    fn image_file(&self) -> PathBuf {
        self.folder.path().join(format!("image-{}", self.cuts))
    }

    /// Fills it to the last byte, below a folder of its own.
    pub fn fill(&self) {
        let ballast = self.ballast();
        let mut dd = Command::new("dd");
        dd.arg("if=/dev/zero").arg(format!("of={}", ballast.display())).args(["bs=64k", "status=none"]);
        // It ends with an error: there is no room.
        assert!(!dd.stderr(std::process::Stdio::null()).status().unwrap().success());
    }

    pub fn empty(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    /// Full for so many milliseconds.
    pub async fn is_full_for(&self, millis: u64) {
        self.fill();
        pause(millis).await;
        self.empty();
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}
