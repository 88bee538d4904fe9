//! What integrators use, against the shipped binary: the OpenAPI document with the tools of others, clients that others generate
//! from it, and our own clients.

mod packages;
mod rows;
mod rust;
mod schemathesis;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use crate::server::{KEY, Place, Server};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The Python with the packages of `xtask/requirements.txt`.
fn python() -> Command {
    let python = std::env::var("PUNCTUAL_TEST_PYTHON").expect("`cargo xtask test` sets PUNCTUAL_TEST_PYTHON");
    let mut command = Command::new(python);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// The folder with the packages of `xtask/node`.
fn node_modules() -> PathBuf {
    let chosen = std::env::var_os("PUNCTUAL_TEST_NODE_MODULES").map(PathBuf::from);
    chosen.unwrap_or_else(|| root().join("target/xtask/node/node_modules"))
}

/// A program that a package of npm brings, by the file that starts it.
fn node(script: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("node");
    command.arg(script);
    command
}

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}\n{text}", output.status);
    text
}

/// The first program of a client's README in this language, for this server and key instead of its placeholders.
fn readme(client: &Path, language: &str, server: &Server) -> String {
    let text = std::fs::read_to_string(client.join("README.md")).unwrap();
    let (_, program) = text.split_once(&format!("```{language}\n")).unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let (address, key) = ("http://127.0.0.1:8080", "\"…\"");
    assert!(program.contains(address) && program.contains(key), "{program}");
    program.replace(address, &server.address).replace(key, &format!("\"{KEY}\""))
}

/// A sandbox in which the API moves the clock.
fn sandbox(place: &Place) -> Server {
    place.start(&["--sandbox"])
}

#[test]
fn the_official_validator_accepts_the_document() {
    succeeds(python().args(["-m", "openapi_spec_validator"]).arg(root().join("docs/openapi.json")));
}

#[test]
fn a_linter_finds_nothing_in_the_document() {
    let mut redocly = node(node_modules().join("@redocly/cli/bin/cli.js"));
    redocly.args(["lint", "--config"]).arg(root().join("xtask/node/redocly.yaml"));
    redocly.arg(root().join("docs/openapi.json"));
    // It would look for a newer version of itself, and report that it was used.
    redocly.envs([("REDOCLY_TELEMETRY", "off"), ("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true"), ("CI", "true")]);
    succeeds(&mut redocly);
}

#[test]
fn the_generated_parts_of_the_clients_are_up_to_date() {
    succeeds(python().arg(root().join("clients/generate")).arg("--check"));
}

#[test]
fn our_python_client_works_through_its_story() {
    let place = Place::sqlite();
    let server = sandbox(&place);
    let client = root().join("clients/python");
    succeeds(python().arg(client.join("tests/story.py")).args([&server.address, KEY]));
    let program = place.folder().join("readme.py");
    std::fs::write(&program, readme(&client, "python", &server)).unwrap();
    let said = succeeds(python().arg(program).env("PYTHONPATH", &client));
    assert_eq!(said, "pending\nmissing_field /body\n");
    let cache = place.folder().join("mypy");
    succeeds(
        python().args(["-m", "mypy", "-p", "punctual_client", "--cache-dir"]).arg(cache).current_dir(client),
    );
}

#[test]
fn our_typescript_client_works_through_its_story() {
    let place = Place::sqlite();
    let server = sandbox(&place);
    let client = root().join("clients/typescript");
    // As npm installs it.
    let package = place.folder().join("node_modules/punctual-client");
    let tsc = || node(node_modules().join("typescript/bin/tsc"));
    succeeds(tsc().arg("-p").arg(&client).arg("--outDir").arg(package.join("dist")));
    std::fs::copy(client.join("package.json"), package.join("package.json")).unwrap();
    let built = package.join("dist/index.js");
    succeeds(node(client.join("test/story.mjs")).arg(built).args([&server.address, KEY]));

    std::fs::write(place.folder().join("readme.mts"), readme(&client, "ts", &server)).unwrap();
    let strict = ["--strict", "--target", "ES2022", "--module", "NodeNext", "--lib", "ES2022,DOM"];
    succeeds(tsc().args(strict).arg("readme.mts").current_dir(place.folder()));
    let said = succeeds(node("readme.mjs").current_dir(place.folder()));
    assert_eq!(said, "missing_field /body\n");
}

#[test]
fn a_python_client_that_others_generate_works() {
    let place = Place::sqlite();
    let server = sandbox(&place);
    let made = place.folder().join("generated");
    let mut generate = python();
    generate.args([
        "-m",
        "openapi_python_client",
        "generate",
        "--meta",
        "none",
        "--fail-on-warning",
        "--output-path",
    ]);
    generate.arg(made.join("generated")).arg("--path").arg(root().join("docs/openapi.json"));
    generate.arg("--config").arg(root().join("clients/others/openapi_python_client.yaml"));
    std::fs::create_dir_all(&made).unwrap();
    succeeds(&mut generate);
    succeeds(
        python()
            .arg(root().join("clients/others/story.py"))
            .args([&server.address, KEY])
            .env("PYTHONPATH", made),
    );
}

#[test]
fn a_typescript_client_that_others_generate_works() {
    let place = Place::sqlite();
    let server = sandbox(&place);
    let folder = place.folder().join("generated");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(node_modules(), folder.join("node_modules")).unwrap();
    succeeds(
        node(node_modules().join("openapi-typescript/bin/cli.js"))
            .arg(root().join("docs/openapi.json"))
            // Else a field with a default counts as one that must be sent.
            .arg("--default-non-nullable=false")
            .arg("--output")
            .arg(folder.join("schema.d.ts")),
    );
    std::fs::copy(root().join("clients/others/story.mts"), folder.join("story.mts")).unwrap();
    let mut compile = node(node_modules().join("typescript/bin/tsc"));
    compile.args([
        "--strict",
        "--target",
        "ES2022",
        "--module",
        "NodeNext",
        "--lib",
        "ES2022,DOM,DOM.Iterable",
        "--skipLibCheck",
    ]);
    succeeds(compile.arg("story.mts").current_dir(&folder));
    succeeds(node("story.mjs").args([&server.address, KEY]).current_dir(&folder));
}
