//! `promtool`, as Prometheus ships it.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

/// Where it is: `PUNCTUAL_TEST_PROMTOOL`, the PATH, or where `cargo xtask test` unpacks it.
fn program() -> PathBuf {
    if let Some(chosen) = std::env::var_os("PUNCTUAL_TEST_PROMTOOL") {
        return chosen.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let unpacked = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/xtask/promtool/usr/bin");
    let mut folders = std::env::split_paths(&path).chain([PathBuf::from(unpacked)]);
    let found = folders.find_map(|folder| Some(folder.join("promtool")).filter(|file| file.is_file()));
    found.expect("this test wants a promtool: `cargo xtask test` brings one, or set PUNCTUAL_TEST_PROMTOOL to its path")
}

/// Runs `promtool check …` with this input; panics with its words unless it is content.
pub fn check(args: &[&str], input: &str) {
    let mut command = Command::new(program());
    command.arg("check").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool starts");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool check {}: {}\n{said}\n{input}", args.join(" "), output.status);
}
