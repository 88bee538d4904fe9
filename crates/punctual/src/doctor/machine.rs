//! The configuration, the data folder, its disk and the file of the master key.

use std::path::Path;

use super::Finding;
use crate::{config::Config, master_key};

/// Less free space than this is too little: in bytes, and as a share of the disk.
const TOO_LITTLE: (u64, u64) = (200 << 20, 50);
/// Less than this is worth a warning.
const LITTLE: (u64, u64) = (1 << 30, 10);

pub(super) fn look(config: &Config) -> Vec<Finding> {
    let read = match &config.file {
        Some(file) => format!("{} was read", file.display()),
        None => "no file; flags, variables and defaults".to_owned(),
    };
    let mut findings = vec![Finding::well("configuration", read)];
    if config.sandbox {
        findings.push(Finding::warning(
            "configuration",
            "the sandbox is on: the clock is moved by hand and nothing is sent",
            "Take `sandbox` away where messages are to be sent.",
        ));
    }
    if config.public_url.is_none() && config.listen.ip().is_loopback() {
        findings.push(Finding::warning(
            "configuration",
            "links in messages would only work on this machine",
            "Set `public_url` to the address under which people reach this server.",
        ));
    }
    findings.extend(folder(&config.data_dir));
    findings.extend(disks(config));
    findings.extend(key_file(config));
    findings
}

fn folder(folder: &Path) -> Option<Finding> {
    let name = folder.display();
    let Ok(metadata) = std::fs::metadata(folder) else {
        return Some(Finding::warning(
            "data folder",
            format!("{name} is not there or cannot be read"),
            "Run this as the user of the server, with its `data_dir`; the first start makes the folder.",
        ));
    };
    open_to_others(&metadata, 0o077).then(|| {
        Finding::warning("data folder", format!("{name} is open to others"), format!("chmod 700 {name}"))
    })
}

fn key_file(config: &Config) -> Option<Finding> {
    if config.master_key.is_some() {
        return None;
    }
    let file = config.master_key_file.clone().unwrap_or_else(|| config.data_dir.join(master_key::FILE));
    let metadata = std::fs::metadata(&file).ok()?;
    open_to_others(&metadata, 0o077).then(|| {
        let name = file.display();
        Finding::error("master key", format!("{name} can be read by others"), format!("chmod 600 {name}"))
    })
}

#[cfg(unix)]
fn open_to_others(metadata: &std::fs::Metadata, bits: u32) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & bits != 0
}

#[cfg(not(unix))]
fn open_to_others(_metadata: &std::fs::Metadata, _bits: u32) -> bool {
    false
}

/// The disks of the data folder, of a SQLite file and of a folder for files, each once.
#[cfg(target_os = "linux")]
fn disks(config: &Config) -> Vec<Finding> {
    let database = config.database_url.expose().strip_prefix("sqlite:");
    let database = database.and_then(|file| Path::new(file.trim_start_matches("//")).parent());
    let files = (!config.blobs.contains("://")).then(|| Path::new(&config.blobs));
    let places =
        [("disk", Some(&*config.data_dir)), ("disk of the database", database), ("disk of files", files)];
    let (mut known, mut findings) = (Vec::new(), Vec::new());
    for (subject, folder) in places {
        // What is not there yet will be on the disk of the folder above it.
        let Some(folder) = folder.into_iter().flat_map(Path::ancestors).find(|folder| folder.is_dir()) else {
            continue;
        };
        let (Ok(about), Ok(disk)) = (std::fs::metadata(folder), rustix::fs::statvfs(folder)) else {
            continue;
        };
        let device = std::os::unix::fs::MetadataExt::dev(&about);
        if !known.contains(&device) {
            known.push(device);
            let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
            findings.push(space(subject, bytes(disk.f_bavail), bytes(disk.f_blocks)));
        }
    }
    findings
}

#[cfg(not(target_os = "linux"))]
fn disks(_config: &Config) -> Vec<Finding> {
    Vec::new()
}

fn space(subject: &str, free: u64, all: u64) -> Finding {
    let what = format!("{} MiB free of {} MiB", free >> 20, all >> 20);
    let repair =
        "Make room, or lower `keep_for` and `keep_files_for`; a full disk stops everything that writes.";
    let less_than = |(bytes, share): (u64, u64)| free < bytes || free < all / share;
    if less_than(TOO_LITTLE) {
        Finding::error(subject, what, repair)
    } else if less_than(LITTLE) {
        Finding::warning(subject, what, repair)
    } else {
        Finding::well(subject, what)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Severity, *};

    #[test]
    fn little_space_is_a_warning_and_too_little_an_error() {
        const GIB: u64 = 1 << 30;
        for (free, all, severity) in [
            (50 * GIB, 100 * GIB, Severity::Well),
            (9 * GIB, 100 * GIB, Severity::Warning),
            (GIB, 100 * GIB, Severity::Error),
            (100 << 20, GIB, Severity::Error),
            (600 << 20, 2 * GIB, Severity::Warning),
        ] {
            assert_eq!(space("disk", free, all).severity, severity, "{free} of {all}");
        }
    }
}
