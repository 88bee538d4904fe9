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
    /// A connection to the server with the key that was given.
    pub fn connect(&self) -> Result<Remote> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        let server = self.server.trim_end_matches('/').to_owned();
        Ok(Remote { client, server, key: self.read_key()? })
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

/// A server that returns JSON.
pub struct Remote {
    client: reqwest::Client,
    server: String,
    key: String,
}

impl Remote {
    pub async fn get(&self, path: &str) -> Result<Value> {
        let found = self.find(path).await?;
        found.with_context(|| format!("not_found: {path} is not there"))
    }

    /// The same, where it may be absent.
    pub async fn find(&self, path: &str) -> Result<Option<Value>> {
        let request = self.client.get(format!("{}{path}", self.server));
        let (status, answer) = self.send(path, request).await?;
        if status == reqwest::StatusCode::NOT_FOUND {
            return Ok(None);
        }
        accepted(status, answer).map(Some)
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.client.post(format!("{}{path}", self.server)).json(body);
        let (status, answer) = self.send(path, request).await?;
        accepted(status, answer)
    }

    /// The same; what the server says where it refuses is the inner error.
    pub async fn try_post(&self, path: &str, body: &Value) -> Result<Result<Value, Value>> {
        let request = self.client.post(format!("{}{path}", self.server)).json(body);
        let (status, answer) = self.send(path, request).await?;
        Ok(if status.is_success() { Ok(answer) } else { Err(answer) })
    }

    async fn send(
        &self,
        path: &str,
        request: reqwest::RequestBuilder,
    ) -> Result<(reqwest::StatusCode, Value)> {
        let response = request.bearer_auth(&self.key).send().await;
        let response = response.with_context(|| format!("cannot reach {}", self.server))?;
        let status = response.status();
        let answer = response.json().await;
        Ok((
            status,
            answer.with_context(|| format!("{}{path} answered something else than JSON", self.server))?,
        ))
    }
}

/// A problem becomes an error with its code, its text and the fields at fault.
fn accepted(status: reqwest::StatusCode, answer: Value) -> Result<Value> {
    if status.is_success() {
        return Ok(answer);
    }
    let mut faults = String::new();
    for fault in answer.get("errors").and_then(Value::as_array).into_iter().flatten() {
        faults.push_str(&format!("\n  {}: {}", text(fault, "pointer"), text(fault, "detail")));
    }
    bail!("{}: {}{faults}", text(&answer, "code"), text(&answer, "detail"))
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or("the server refused")
}
