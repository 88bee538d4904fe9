//! The routes of the console, as its sources declare them: what walks every page has a new one in it by itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The console's source files, by path.
pub fn console_sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../punctual-console/src")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                found.push((path, text));
            }
        }
    }
    found
}

/// Every route that the sources declare, with its methods.
pub fn console_routes() -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut found: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for (path, text) in console_sources() {
        for (route, method) in of_resource(&text) {
            found.entry(route).or_default().insert(method);
        }
        // The routes of a resource, which are found above by its home.
        let text = text.replace(".route(&at(", ".routes(&at(");
        for declared in text.split(".route(").skip(1) {
            let declared = declared.trim_start();
            let rest = declared.strip_prefix('"');
            let rest =
                rest.unwrap_or_else(|| panic!("{}: write the path of a route as text", path.display()));
            let (route, rest) = rest.split_once('"').unwrap();
            let methods = found.entry(route.to_owned()).or_default();
            // What follows belongs to the next route of the file, if there is one.
            let rest = rest.split("\n}").next().unwrap();
            methods.extend(["get", "post"].into_iter().filter(|name| rest.contains(&format!("{name}("))));
            assert!(!methods.is_empty(), "{route} has no method");
        }
    }
    assert!(found.len() > 60, "{found:?}");
    found
}

/// The pages of a kind of settings: what the editor declares below its home.
fn of_resource(source: &str) -> Vec<(String, &'static str)> {
    let home = source.split("impl Resource for").nth(1).and_then(|rest| rest.split("const HOME: ").nth(1));
    let Some(home) = home.and_then(|rest| rest.split('"').nth(1)) else { return Vec::new() };
    let own = source
        .split("impl Resource for")
        .nth(1)
        .and_then(|rest| rest.split("\n}").next())
        .unwrap_or_default();
    let is_edited = !own.contains("const EDITED: bool = false");
    let is_removed = own.contains("const REMOVING:");
    let pages = [
        ("new", "get", true),
        ("edit", "get", is_edited),
        ("save", "post", true),
        ("delete", "post", is_removed),
    ];
    let pages = pages.into_iter().filter(|(.., is_there)| *is_there);
    pages.map(|(end, method, _)| (format!("{home}/{end}"), method)).collect()
}
