//! The bill of materials of a release: every package that the binary is built from, as CycloneDX JSON.
//!
//! It is made of `cargo metadata` and the checksums of `Cargo.lock` alone. It has no date and no serial number, so that the
//! same lock file gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::run;

/// The package whose binary is released.
const BINARY: &str = "punctual";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    /// Nowhere for a package of the workspace.
    source: Option<String>,
    license: Option<String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// None for one that is linked.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Writes it to the file, or to the output.
pub fn write(file: Option<&Path>) -> Result<u8> {
    let text = bill()?;
    match file {
        Some(file) => {
            std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        None => println!("{}", text.trim_end()),
    }
    Ok(0)
}

fn bill() -> Result<String> {
    let mut command = run::cargo(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    let output = command.output().context("cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("what cargo metadata says")?;
    let lock = run::root().join("Cargo.lock");
    let lock = std::fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    made_of(&metadata, &toml::from_str(&lock).context("Cargo.lock")?)
}

fn made_of(metadata: &Metadata, lock: &Lock) -> Result<String> {
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let is_binary = |package: &&Package| package.name == BINARY && package.source.is_none();
    let binary = metadata.packages.iter().find(is_binary).context("the workspace has no binary")?;
    let linked = reached(&nodes, &binary.id, &[None]);
    let all = reached(&nodes, &binary.id, &[None, Some("build")]);
    let checksums: BTreeMap<(&str, &str), &str> = lock
        .package
        .iter()
        .filter_map(|one| Some(((one.name.as_str(), one.version.as_str()), one.checksum.as_deref()?)))
        .collect();
    let mut components = BTreeMap::new();
    let mut dependencies = BTreeMap::new();
    for id in &all {
        let package = packages.get(id).with_context(|| format!("{id} is no package"))?;
        let reference = purl(package);
        let own = nodes.get(id).into_iter().flat_map(|node| &node.deps);
        let own: BTreeSet<String> = own
            .filter(|one| all.contains(one.pkg.as_str()) && is_of(one, &[None, Some("build")]))
            .filter_map(|one| packages.get(one.pkg.as_str()).map(|package| purl(package)))
            .collect();
        dependencies.insert(reference.clone(), json!({ "ref": reference.clone(), "dependsOn": own }));
        if package.id != binary.id {
            let checksum = checksums.get(&(package.name.as_str(), package.version.as_str()));
            components.insert(reference, component(package, checksum.copied(), linked.contains(id)));
        }
    }
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "bom-ref": purl(binary), "name": binary.name, "version": binary.version,
            "purl": purl(binary), "licenses": licences(binary),
        } },
        "components": components.into_values().collect::<Vec<Value>>(),
        "dependencies": dependencies.into_values().collect::<Vec<Value>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

/// What a package is built from, itself included, over dependencies of these kinds.
fn reached<'m>(
    nodes: &BTreeMap<&'m str, &'m Node>,
    from: &'m str,
    kinds: &[Option<&str>],
) -> BTreeSet<&'m str> {
    let mut found = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        for one in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
            if is_of(one, kinds) && found.insert(&one.pkg) {
                open.push(&one.pkg);
            }
        }
    }
    found
}

fn is_of(dependency: &Dependency, kinds: &[Option<&str>]) -> bool {
    dependency.dep_kinds.iter().any(|one| kinds.contains(&one.kind.as_deref()))
}

fn purl(package: &Package) -> String {
    // A build's metadata begins with a plus, which has its own meaning in a URL.
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn licences(package: &Package) -> Value {
    // Older packages write a slash for a choice.
    let expression = package.license.as_ref().map(|text| text.replace(" / ", "/").replace('/', " OR "));
    match expression {
        Some(expression) => json!([{ "expression": expression }]),
        None => json!([{ "license": { "name": "in a file of the package" } }]),
    }
}

fn component(package: &Package, checksum: Option<&str>, is_linked: bool) -> Value {
    let reference = purl(package);
    let mut component = json!({
        "type": "library", "bom-ref": reference.clone(), "name": package.name, "version": package.version,
        "purl": reference, "licenses": licences(package),
        // What only builds is not in the binary.
        "scope": if is_linked { "required" } else { "excluded" },
    });
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t16_the_bill_is_what_the_lock_file_says_and_the_same_each_time() {
        let text = bill().unwrap();
        assert_eq!(text, bill().unwrap());
        let bill: Value = serde_json::from_str(&text).unwrap();
        let lock: Lock =
            toml::from_str(&std::fs::read_to_string(run::root().join("Cargo.lock")).unwrap()).unwrap();
        let field = |component: &Value, name: &str| component[name].as_str().unwrap_or_default().to_owned();
        let mut scopes = BTreeMap::new();
        for component in bill["components"].as_array().unwrap() {
            let (name, version) = (field(component, "name"), field(component, "version"));
            let locked = lock.package.iter().find(|one| one.name == name && one.version == version);
            let locked = locked.unwrap_or_else(|| panic!("{name} {version} is not in Cargo.lock"));
            let hash = component["hashes"][0]["content"].as_str();
            assert_eq!(hash, locked.checksum.as_deref(), "{name} {version}");
            assert!(component["licenses"][0]["expression"].is_string(), "{name} {version} has no licence");
            scopes.insert(name, field(component, "scope"));
        }
        // What is linked, what only builds, and what only tests.
        assert_eq!(scopes.get("tokio").map(String::as_str), Some("required"));
        assert_eq!(scopes.get("cc").map(String::as_str), Some("excluded"));
        for absent in ["insta", "xtask", "punctual-testkit"] {
            assert!(!scopes.contains_key(absent), "{absent} is in no binary");
        }
        let references: BTreeSet<String> =
            bill["dependencies"].as_array().unwrap().iter().map(|one| field(one, "ref")).collect();
        assert_eq!(references.len(), scopes_and_binary(&bill));
        for one in bill["dependencies"].as_array().unwrap() {
            for on in one["dependsOn"].as_array().unwrap() {
                assert!(references.contains(on.as_str().unwrap()), "{on} is not described");
            }
        }
    }

    fn scopes_and_binary(bill: &Value) -> usize {
        bill["components"].as_array().unwrap().len() + 1
    }
}
