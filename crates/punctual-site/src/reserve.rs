//! Disk space held back. On a full disk not even an acknowledgement can be written, and so the buffer could never empty
//! itself; giving up this file makes room for that. While it is gone nothing new is accepted.

use std::{
    fs::File,
    io::Write,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

pub struct Reserve {
    file: PathBuf,
    bytes: u64,
    held: AtomicBool,
    /// It was logged that there is no room.
    said: AtomicBool,
}

impl Reserve {
    pub fn new(file: PathBuf, bytes: u64) -> Self {
        Self { file, bytes, held: AtomicBool::new(false), said: AtomicBool::new(false) }
    }

    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// Takes the space, if the disk has it; true if it is held now. After a full disk the buffer's file may have grown
    /// into it, and has room for itself then: a part of the space is enough.
    pub fn restore(&self) -> bool {
        if self.is_held() {
            return true;
        }
        let has = std::fs::metadata(&self.file).map_or(0, |meta| meta.len());
        let taken = has == self.bytes || [1, 2, 4, 8].into_iter().any(|part| self.take(self.bytes / part));
        if !taken && !self.said.load(Ordering::Relaxed) {
            tracing::warn!(file = %self.file.display(), "no disk space can be reserved; nothing is accepted");
        }
        self.said.store(!taken, Ordering::Relaxed);
        self.held.store(taken, Ordering::Release);
        taken
    }

    fn take(&self, bytes: u64) -> bool {
        let written = self.write(bytes);
        if written.is_err() {
            // Half of it would only take the space that is needed.
            let _ = std::fs::remove_file(&self.file);
        }
        written.is_ok()
    }

    /// Gives the space up.
    pub fn release(&self) {
        self.held.store(false, Ordering::Release);
        let _ = std::fs::remove_file(&self.file);
    }

    fn write(&self, bytes: u64) -> std::io::Result<()> {
        let block = vec![0; 64 << 10];
        let mut file = File::create(&self.file)?;
        let mut rest = bytes;
        while rest > 0 {
            let part = usize::try_from(rest).unwrap_or(block.len()).min(block.len());
            file.write_all(&block[..part])?;
            rest -= part as u64;
        }
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_held_given_up_and_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("reserve");
        let reserve = Reserve::new(file.clone(), 100_000);
        assert!(!reserve.is_held() && reserve.restore());
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 100_000);
        reserve.release();
        assert!(!reserve.is_held() && !file.exists());
        assert!(reserve.restore());
        let nowhere = Reserve::new(folder.path().join("no/such/folder"), 10);
        assert!(!nowhere.restore());
    }
}
