//! The calls that the guides print, made as they are printed: none is one that the server does not understand.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use crate::server::{KEY, Place};

/// What an answer says to a call that is wrong in itself: its path, its query, its type or its body.
const NOT_UNDERSTOOD: [&str; 6] = ["400", "401", "405", "406", "415", "422"];
const NO_SUCH_PATH: &str = "There is nothing at this path";

fn guides() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut all: Vec<PathBuf> = pages.chain([root.join("README.md")]).collect();
    all.sort();
    all
}

/// The calls of curl in the blocks of a page for a shell, each with the lines that belong to it.
fn calls(page: &str) -> Vec<String> {
    let blocks = ["```console\n", "```sh\n"].into_iter().flat_map(|begins| page.split(begins).skip(1));
    let mut found = Vec::new();
    for block in blocks.filter_map(|rest| rest.split("```").next()) {
        let mut call = String::new();
        for line in block.lines() {
            let line = if call.is_empty() { line.strip_prefix("$ ").unwrap_or(line) } else { line };
            if call.is_empty() && !line.starts_with("curl ") {
                continue;
            }
            call.push_str(line);
            call.push('\n');
            let is_open = call.matches('\'').count() % 2 == 1 || line.ends_with('\\');
            if !is_open {
                found.push(std::mem::take(&mut call));
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_that_a_guide_prints_is_understood() {
    let mut place = Place::sqlite();
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    place.environment.push(("PUNCTUAL_SECRET_BOOKS_SECRET".to_owned(), secret.to_owned()));
    let server = place.start(&["--sandbox"]);
    // What the guides take for granted: a business unit, and files that the reader has.
    server.put("/api/v1/business-units/nz", &json!({ "name": "NZ", "timeZone": "Pacific/Auckland" })).await;
    let folder = place.folder();
    std::fs::write(folder.join("twilio.json"), json!({ "adapter": "memory", "settings": {} }).to_string())
        .unwrap();
    std::fs::write(folder.join("invoice.pdf"), "%PDF-1.4").unwrap();
    std::fs::write(folder.join("choir.ics"), "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n").unwrap();
    let (mut made, mut wrong) = (0, Vec::new());
    for page in guides() {
        for call in calls(&std::fs::read_to_string(&page).unwrap()) {
            let address = &server.address;
            let call = call.replace("http://127.0.0.1:8080", address).replace("http://HOST", address);
            let call = call.replace("Bearer KEY", "Bearer $KEY");
            let mut shell = Command::new("bash");
            shell
                .arg("-c")
                .arg(call.replacen("curl ", "curl -s -w '\\n%{http_code}' ", 1))
                .current_dir(folder);
            shell.env("URL", address).env("KEY", KEY).env("P", format!("{address}/api/v1/operations"));
            shell.env("H", format!("Authorization: Bearer {KEY}")).env("J", "Content-Type: application/json");
            let output = shell.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let status = said.rsplit('\n').next().unwrap_or_default();
            assert!(status.len() == 3, "{call}: {said}{}", String::from_utf8_lossy(&output.stderr));
            made += 1;
            // What a placeholder names is not there; that is understood.
            if NOT_UNDERSTOOD.contains(&status) || status.starts_with('5') || said.contains(NO_SUCH_PATH) {
                wrong.push(format!("{}: {call}{said}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {made}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(made >= 30, "only {made} calls were found");
}
