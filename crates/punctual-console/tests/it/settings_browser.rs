//! The settings in a real browser: made by clicking as a person would, and checked with axe-core.
//!
//! On SQLite alone: the browser sees no database, and the pages are tested on both through the router.

use std::{path::PathBuf, process::Stdio};

use punctual_store::{api_keys, channels, lists, sites};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::{
    browser::{Stage, on_sqlite},
    settings::with_adapters,
};

/// Python's aiosmtpd, as the tests of the channels have it.
pub struct Relay {
    pub port: String,
    folder: TempDir,
    /// It ends when its input does.
    _child: Child,
}

impl Relay {
    pub async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let python = std::env::var_os("PUNCTUAL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let mut child = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../punctual-channels/tests/it/smtp_server.py"))
            .arg(folder.path())
            .arg("plain")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        Self { port: line.trim().to_owned(), folder, _child: child }
    }

    /// Where each mail is a file.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn first_mail(&self) -> Value {
        let text = std::fs::read(self.folder.path().join("1.json")).expect("a mail has arrived");
        serde_json::from_slice(&text).unwrap()
    }
}

/// Writes into a field, in place of what is there.
pub async fn fill(stage: &mut Stage, name: &str, text: &str) {
    let selector = format!("[name={name:?}]");
    stage.browser.click(&selector).await;
    stage.browser.eval(&format!("document.querySelector({selector:?}).select()")).await;
    stage.browser.write(text).await;
}

/// Follows the link or button with this text.
pub async fn follow(stage: &mut Stage, text: &str) {
    let find = format!(
        "[...document.querySelectorAll('main a, main button, nav a')].find((one) => one.offsetParent && \
         (one.querySelector('.item-title, span') ?? one).textContent.trim() === {text:?})"
    );
    stage.browser.follow_on(&find).await;
}

pub async fn notice(stage: &mut Stage) -> String {
    stage.texts(".notice").await.join(" ")
}

#[test]
fn settings_are_made_by_clicking() {
    on_sqlite(async |bed| {
        let bed = with_adapters(&bed);
        let relay = Relay::start().await;
        let mut stage = Stage::on(&bed).await;
        stage.sign_in().await;

        // A channel, refused once, and a test message over it to a real server.
        follow(&mut stage, "Channels").await;
        follow(&mut stage, "Add a channel").await;
        follow(&mut stage, "Mail over SMTP").await;
        fill(&mut stage, "/key", "email:relay").await;
        fill(&mut stage, "/settings/host", "127.0.0.1").await;
        fill(&mut stage, "/settings/port", "many").await;
        follow(&mut stage, "Create channel").await;
        stage.browser.is_in("/settings/port").await;
        assert_eq!(
            stage.browser.eval("document.querySelector('[name=\"/settings/host\"]').value").await,
            "127.0.0.1"
        );
        fill(&mut stage, "/settings/port", &relay.port).await;
        fill(&mut stage, "/settings/from", "ops@a.example").await;
        stage.browser.eval("document.querySelector('[name=\"/settings/tls\"]').value = 'none'").await;
        follow(&mut stage, "Create channel").await;
        assert_eq!(notice(&mut stage).await, "Saved.");
        fill(&mut stage, "address", "ann@b.example").await;
        follow(&mut stage, "Send it now").await;
        let said = notice(&mut stage).await;
        assert!(said.starts_with("Test message to ann@b.example: accepted. Accepted in "), "{said}");
        let mail = relay.first_mail();
        assert!(mail.to_string().contains("this channel works"), "{mail}");
        assert!(channels::get(&mut bed.read().await.conn(), "email:relay").await.unwrap().is_some());

        // A list, from the link that a missing list has.
        stage.open("/settings/lists/new?name=cold-chain").await;
        fill(&mut stage, "/targets", "ann@b.example\nben@b.example").await;
        follow(&mut stage, "Create list").await;
        assert_eq!(notice(&mut stage).await, "Saved.");
        let reach = punctual_model::Reach::Everything;
        assert!(lists::get(&mut bed.read().await.conn(), &reach, "cold-chain").await.unwrap().is_some());

        // A key, seen once and revoked.
        follow(&mut stage, "Settings").await;
        follow(&mut stage, "Keys").await;
        follow(&mut stage, "Add a key").await;
        fill(&mut stage, "/name", "billing").await;
        stage.browser.click("[name='/scopes'][value='send']").await;
        follow(&mut stage, "Create key").await;
        let secret = stage.browser.eval("document.querySelector('#secret').value").await;
        assert!(punctual_engine::keys::is_well_formed(secret.as_str().unwrap()), "{secret}");
        follow(&mut stage, "Done").await;
        let keys = api_keys::all(&mut bed.read().await.conn()).await.unwrap();
        let id = keys.into_iter().find(|row| row.name == "billing").unwrap().id;
        stage.browser.click(&format!("tr[data-row='{id}'] summary")).await;
        stage.browser.follow(&format!("tr[data-row='{id}'] .danger")).await;
        assert_eq!(notice(&mut stage).await, "Revoked.");

        // A site with its token.
        follow(&mut stage, "Settings").await;
        stage.open("/settings/sites").await;
        follow(&mut stage, "Add a site").await;
        fill(&mut stage, "/id", "plant-7").await;
        follow(&mut stage, "Create site").await;
        assert!(
            !stage.browser.eval("document.querySelector('#secret').value").await.as_str().unwrap().is_empty()
        );
        assert!(sites::get(&mut bed.read().await.conn(), "plant-7").await.unwrap().is_some());

        // A template, previewed before it is saved.
        stage.open("/settings/templates/new").await;
        fill(&mut stage, "/name", "due").await;
        fill(&mut stage, "/variants/en/subject", "{{ document }} expires").await;
        fill(&mut stage, "/variants/en/body", "On {{ date }}.").await;
        fill(&mut stage, "context", "{\"document\": \"Licence\", \"date\": \"14 May\"}").await;
        follow(&mut stage, "Preview").await;
        assert_eq!(stage.texts(".shown h3, #preview-text").await, ["Licence expires", "On 14 May."]);
        follow(&mut stage, "Create template").await;
        assert_eq!(notice(&mut stage).await, "Saved.");

        // Only the fields that apply.
        stage.open("/channels/edit?key=email:relay").await;
        stage
            .browser
            .eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            .await;
        let shown = "document.querySelector('[name=\"/retry/afterSeconds\"]').closest('.entry-field').hidden";
        assert_eq!(stage.browser.eval(shown).await, json!(true));
        stage
            .browser
            .eval("(() => { const policy = document.querySelector('[name=\"/retry/policy\"]'); policy.value = 'steps'; policy.dispatchEvent(new Event('input', { bubbles: true })); })()")
            .await;
        assert_eq!(stage.browser.eval(shown).await, json!(false));
        // The form that was refused is an answer of 422, which a browser notes.
        stage.browser.events.retain(|message| {
            let text = message["params"]["entry"]["text"].as_str().unwrap_or_default();
            !text.contains("status of 422")
        });
        stage.finish();
    });
}

/// axe-core as it is installed for the tests.
pub fn axe() -> String {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/xtask/node/node_modules"));
    let modules = std::env::var_os("PUNCTUAL_TEST_NODE_MODULES").map_or(beside, PathBuf::from);
    let file = modules.join("axe-core/axe.min.js");
    std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask test` installs it", file.display()))
}

pub const FINDINGS: &str = "axe.run(document).then((found) => found.violations.flatMap((one) => \
    one.nodes.map((node) => `${one.id}: ${node.target.join(' ')} ${node.failureSummary ?? ''}`)))";
