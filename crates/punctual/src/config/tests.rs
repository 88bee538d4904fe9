//! Flags, file and defaults together.

use super::*;

fn read(toml: &str) -> Result<Config> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("punctual.toml");
    std::fs::write(&path, toml).unwrap();
    Config::read(ServeArgs { config: Some(path), ..Default::default() }, "./punctual-data")
}

#[test]
fn the_defaults_are_those_of_the_handbook() {
    let config = read("").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.database_url.expose(), "sqlite:./punctual-data/punctual.sqlite");
    assert_eq!(config.blobs, "./punctual-data/blobs");
    assert_eq!(config.lease, Duration::from_secs(60));
    assert!(!config.sandbox && config.admin_key.is_none());
}

#[test]
fn a_flag_wins_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml");
    std::fs::write(&path, "lease = \"30s\"\nnode = \"a\"\nsecrets_dir = \"s\"").unwrap();
    let args = ServeArgs { config: Some(path), node: Some("b".into()), ..Default::default() };
    let config = Config::read(args, "d").unwrap();
    assert_eq!((config.node.as_str(), config.lease), ("b", Duration::from_secs(30)));
    assert_eq!(config.secrets_dir.as_deref(), Some(Path::new("s")));
}

#[test]
fn what_the_file_or_a_flag_says_about_retention_is_fixed() {
    assert!(read("").unwrap().fixed_windows.is_empty());
    let config = read("keep_for = \"90d\"\nkeep_ids_for = \"400d\"").unwrap();
    assert_eq!(config.fixed_windows, [Window::Messages, Window::Ids]);
    let args = ServeArgs { keep_audit_for: Some("30d".into()), ..Default::default() };
    assert_eq!(Config::read(args, "d").unwrap().fixed_windows, [Window::Audit]);
}

#[test]
fn a_bad_file_says_where_and_what_would_be_right() {
    let fault = |toml: &str| format!("{:#}", read(toml).unwrap_err());
    assert!(fault("leases = \"60s\"").contains("line 1: `leases` is not known; did you mean `lease`?"));
    assert!(fault("lease = \"1 month\"").contains("lease = \"1 month\""));
    assert!(fault("lease = \"2s\"").contains("lease (2s) must be longer than sweep_every (5s)"));
    assert!(fault("reconcile_every = \"1s\"").contains("reconcile_every (1s) must be at least 1m"));
    assert!(fault("listen = \"nowhere\"").contains("punctual.toml"));
    assert!(fault("outgoing_allow = \"300.0.0.0/8\"").contains("outgoing_allow"));
    assert!(fault("public_url = \"punctual.example.org\"").contains("must be an address"));
    assert!(fault("trusted_proxies = \"localhost\"").contains("trusted_proxies"));
    assert!(fault("survey_url = \"https://ask.example.org/s/\"").contains("with {publicId} in it"));
}

#[test]
fn secrets_are_not_printed() {
    let config =
        read("admin_key = \"correct-horse-battery\"\ndatabase_url = \"postgres://u:pw@h/d\"").unwrap();
    let shown = format!("{config:?}");
    assert!(!shown.contains("correct-horse") && !shown.contains("pw@"), "{shown}");
}
