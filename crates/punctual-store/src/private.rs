//! Folders and files with access for their owner only.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    path::Path,
};

/// Makes the folder and whatever is missing above it; one that is there is closed to others where it is ours.
pub fn private_folder(path: &Path) -> io::Result<()> {
    missing_folders(path)?;
    close(path, 0o700);
    Ok(())
}

/// Makes what is missing of this folder, each closed to others.
pub(crate) fn missing_folders(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file to write, made where it is missing, with what it holds.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    close(path, 0o600);
    Ok(file)
}

/// Closes a file to others. One that is not ours stays as its owner wants it.
pub(crate) fn close_file(path: &Path) {
    close(path, 0o600);
}

#[cfg(unix)]
fn close(path: &Path, mode: u32) {
    let _ = fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode));
}

#[cfg(not(unix))]
fn close(_path: &Path, _mode: u32) {}
