//! Talking to a running server from the command line.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

/// Which server, and with which key.
#[derive(Args)]
pub struct RemoteArgs {
    /// The server's address.
    #[arg(long, env = "PUNCTUAL_SERVER", default_value = "http://127.0.0.1:8080")]
    server: String,
    /// An API key; by default the one that the first start kept in the data folder.
    #[arg(long, env = "PUNCTUAL_KEY", hide_env_values = true)]
    key: Option<String>,
    #[arg(long, env = "PUNCTUAL_DATA_DIR", default_value = "./punctual-data", hide = true)]
    data_dir: PathBuf,
}

impl RemoteArgs {
    /// Posts JSON and answers JSON; a problem becomes an error with its code and text.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("{}{path}", self.server.trim_end_matches('/'));
        let request = client.post(&url).bearer_auth(self.read_key()?).json(body);
        let response = request.send().await.with_context(|| format!("cannot reach {}", self.server))?;
        let ok = response.status().is_success();
        let answer: Value =
            response.json().await.with_context(|| format!("{url} answered something else than JSON"))?;
        if ok {
            return Ok(answer);
        }
        bail!("{}: {}", text(&answer, "code"), text(&answer, "detail"))
    }

    fn read_key(&self) -> Result<String> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let file = self.data_dir.join("admin.key");
        let key = std::fs::read_to_string(&file).with_context(|| {
            format!("no key: give --key or PUNCTUAL_KEY ({} is not there)", file.display())
        })?;
        Ok(key.trim().to_owned())
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or("the server refused")
}
