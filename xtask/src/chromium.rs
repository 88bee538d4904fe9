//! The browser in which the console's pages are tested.

use std::path::PathBuf;

/// The variable that tests read; who sets it before brings their own browser.
pub const VARIABLE: &str = "PUNCTUAL_TEST_CHROMIUM";

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The browser that was chosen, or the first of the usual names on the PATH.
pub fn find() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os(VARIABLE) {
        return Some(chosen.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut files = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.find(|file| file.is_file())
}
