//! What people install: the packages of the clients, built as they are published, hold the licences under which they may be used.

use std::{collections::BTreeSet, path::Path, process::Command};

use serde_json::Value;

use super::{node, node_modules, python, root, succeeds};

const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// The folders of the clients.
const CLIENTS: [&str; 3] = ["clients/python", "clients/typescript", "crates/punctual-client"];

/// Builds the source archive and the wheel with the backend that `pyproject.toml` names, and lists what is in them.
const BUILD: &str = r#"
import setuptools.build_meta as backend, tarfile, zipfile
source = tarfile.open("dist/" + backend.build_sdist("dist")).getnames()
wheel = zipfile.ZipFile("dist/" + backend.build_wheel("dist")).namelist()
for name in source: print("source", name)
for name in wheel: print("wheel", name)
"#;

/// A copy of a client's folder, for builds that write beside their sources.
fn copied(client: &str, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    succeeds(Command::new("cp").arg("-R").arg(root().join(client).join(".")).arg(to));
}

#[test]
fn the_clients_have_the_licences_of_the_project() {
    for (client, licence) in CLIENTS.iter().flat_map(|client| LICENCES.map(|licence| (client, licence))) {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let (own, ours) = (read(&root().join(client).join(licence)), read(&root().join(licence)));
        assert!(!ours.is_empty() && own == ours, "{client}/{licence} is not that of the project");
    }
}

#[test]
fn the_packages_of_the_python_client_hold_its_licences() {
    let folder = tempfile::tempdir().unwrap();
    copied("clients/python", folder.path());
    let listed = succeeds(python().args(["-c", BUILD]).current_dir(folder.path()));
    for licence in LICENCES {
        let in_source = |line: &str| line.starts_with("source ") && line.ends_with(&format!("/{licence}"));
        assert!(listed.lines().any(in_source), "{listed}");
        let in_wheel =
            |line: &str| line.starts_with("wheel ") && line.ends_with(&format!("/licenses/{licence}"));
        assert!(listed.lines().any(in_wheel), "{listed}");
    }
    for file in ["punctual_client/__init__.py", "punctual_client/py.typed"] {
        assert!(listed.lines().any(|line| line == format!("wheel {file}")), "{listed}");
    }
}

#[test]
fn the_package_of_the_typescript_client_holds_its_licences() {
    let folder = tempfile::tempdir().unwrap();
    copied("clients/typescript", folder.path());
    succeeds(node(node_modules().join("typescript/bin/tsc")).arg("-p").arg(folder.path()));
    let mut pack = Command::new("npm");
    pack.args(["pack", "--json", "--dry-run", "--ignore-scripts"]).current_dir(folder.path());
    let packed = pack.output().unwrap();
    let packed: Value = serde_json::from_slice(&packed.stdout).unwrap();
    let files = packed[0]["files"].as_array().unwrap();
    let files: BTreeSet<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    for file in
        ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist/index.d.ts", "dist/index.js", "package.json"]
    {
        assert!(files.contains(file), "{file} is not in {files:?}");
    }
}

#[test]
fn the_package_of_the_rust_client_holds_its_licences() {
    let mut list = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    list.args(["package", "--list", "--allow-dirty", "--offline", "-p", "punctual-client"]);
    let listed = succeeds(list.current_dir(root()));
    for licence in LICENCES {
        assert!(listed.lines().any(|line| line == licence), "{listed}");
    }
}
