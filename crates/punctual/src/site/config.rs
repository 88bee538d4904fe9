//! The agent's configuration: flags, then `PUNCTUAL_*` variables, then `punctual-site.toml`, then the defaults.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use punctual_model::Secret;
use punctual_site::SiteConfig;
use punctual_store::Faults;
use serde::Deserialize;

use crate::config::{LogFormat, duration};

/// Where the agent keeps its buffer by default.
pub const DEFAULT_DATA_DIR: &str = "./punctual-site";

/// The flags of `punctual site`.
#[derive(Args, Clone, Default)]
pub struct AgentArgs {
    /// The central server, such as `https://punctual.example.org`.
    #[arg(long, env = "PUNCTUAL_CENTRAL", value_name = "URL")]
    pub central: Option<String>,
    /// The site token from `POST /api/v1/sites`. Other users of this machine can see flags: prefer a file.
    #[arg(long, env = "PUNCTUAL_SITE_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// A file with the token.
    #[arg(long, env = "PUNCTUAL_SITE_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The name of this agent, if a site has several agents. Its buffer is in a folder with that name.
    #[arg(long, env = "PUNCTUAL_SITE_AGENT", value_name = "NAME")]
    pub agent: Option<String>,
    /// The address for scripts, on this machine only; port 0 selects a free port.
    #[arg(long, env = "PUNCTUAL_SITE_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// The folder for the buffer.
    #[arg(long, env = "PUNCTUAL_SITE_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Write the listening address to this file.
    #[arg(long, value_name = "FILE")]
    pub address_file: Option<PathBuf>,
    /// The delay before the next forwarding attempt after a failure; 10s by default.
    #[arg(long, env = "PUNCTUAL_SITE_RETRY_EVERY", value_name = "DURATION")]
    pub retry_every: Option<String>,
    /// How often the site reports its state to the central server when it forwards nothing; 30s by default.
    #[arg(long, env = "PUNCTUAL_SITE_REPORT_EVERY", value_name = "DURATION")]
    pub report_every: Option<String>,
    /// How long the central server may take to respond to a batch; 60s by default.
    #[arg(long, env = "PUNCTUAL_SITE_REQUEST_TIME", value_name = "DURATION")]
    pub request_time: Option<String>,
    /// Rows that wait longer are written to the event log; 10m by default.
    #[arg(long, env = "PUNCTUAL_SITE_LONG_BUFFERED_AFTER", value_name = "DURATION")]
    pub long_buffered_after: Option<String>,
    /// The maximum number of waiting rows; 1,000,000 by default. Further ones are refused with an error.
    #[arg(long, env = "PUNCTUAL_SITE_MAX_ROWS", value_name = "ROWS")]
    pub max_rows: Option<i64>,
    /// The maximum size of waiting rows in bytes; 1 GiB by default.
    #[arg(long, env = "PUNCTUAL_SITE_MAX_BYTES", value_name = "BYTES")]
    pub max_bytes: Option<i64>,
    /// Disk space reserved for acknowledgements; 8 MiB by default.
    #[arg(long, env = "PUNCTUAL_SITE_RESERVE_BYTES", value_name = "BYTES")]
    pub reserve_bytes: Option<u64>,
    /// Rows per request to the central server, at most 10,000; 5,000 by default.
    #[arg(long, env = "PUNCTUAL_SITE_BATCH", value_name = "ROWS")]
    pub batch: Option<usize>,
    /// The configuration file; `punctual-site.toml` in the working folder is read if it is there.
    #[arg(long, env = "PUNCTUAL_SITE_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Logs as text for people or as JSON lines.
    #[arg(long, env = "PUNCTUAL_LOG_FORMAT", value_enum)]
    pub log_format: Option<LogFormat>,
    /// End the process at a named point, for trials.
    #[arg(long, env = "PUNCTUAL_CRASH_AT", hide = true)]
    pub crash_at: Option<String>,
}

/// What `punctual-site.toml` may say: the flags, in snake case.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct File {
    central: Option<String>,
    token: Option<String>,
    token_file: Option<PathBuf>,
    agent: Option<String>,
    listen: Option<SocketAddr>,
    data_dir: Option<PathBuf>,
    retry_every: Option<String>,
    report_every: Option<String>,
    request_time: Option<String>,
    long_buffered_after: Option<String>,
    max_rows: Option<i64>,
    max_bytes: Option<i64>,
    reserve_bytes: Option<u64>,
    batch: Option<usize>,
    log_format: Option<LogFormat>,
}

/// What an agent runs with.
pub struct AgentConfig {
    pub site: SiteConfig,
    pub listen: SocketAddr,
    pub address_file: Option<PathBuf>,
    pub log_format: LogFormat,
    pub faults: Faults,
}

impl AgentConfig {
    pub fn read(args: AgentArgs) -> Result<Self> {
        let file = read_file(args.config.as_deref())?;
        let central = args.central.or(file.central).context(
            "no central server: give --central URL, PUNCTUAL_CENTRAL or `central` in punctual-site.toml",
        )?;
        let token_file = args.token_file.or(file.token_file);
        let token = args.token.or(file.token).map_or_else(|| read_token(token_file.as_deref()), Ok)?;
        let data_dir = args.data_dir.or(file.data_dir).unwrap_or_else(|| DEFAULT_DATA_DIR.into());
        let mut site = SiteConfig::new(central, Secret::new(token), data_dir);
        if let Some(agent) = args.agent.or(file.agent) {
            site = site.named(&agent);
        }
        site.retry_every = duration("retry_every", args.retry_every.or(file.retry_every), "10s")?;
        site.report_every = duration("report_every", args.report_every.or(file.report_every), "30s")?;
        site.request_time = duration("request_time", args.request_time.or(file.request_time), "60s")?;
        let long = args.long_buffered_after.or(file.long_buffered_after);
        site.long_buffered_after = duration("long_buffered_after", long, "10m")?;
        site.max_rows = args.max_rows.or(file.max_rows).unwrap_or(site.max_rows);
        site.max_bytes = args.max_bytes.or(file.max_bytes).unwrap_or(site.max_bytes);
        site.reserve_bytes = args.reserve_bytes.or(file.reserve_bytes).unwrap_or(site.reserve_bytes);
        site.batch = args.batch.or(file.batch).unwrap_or(site.batch);
        site.check()?;
        let listen = args.listen.or(file.listen).unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8081)));
        ensure!(
            listen.ip().is_loopback(),
            "listen: {listen} can be reached from elsewhere, and the local API asks for no key; use 127.0.0.1 or [::1]"
        );
        let crash_at = args.crash_at.map(|text| text.parse().map_err(anyhow::Error::msg)).transpose()?;
        Ok(Self {
            site,
            listen,
            address_file: args.address_file,
            log_format: args.log_format.or(file.log_format).unwrap_or_default(),
            faults: crash_at.map_or_else(Faults::default, Faults::crash_at),
        })
    }
}

fn read_token(file: Option<&Path>) -> Result<String> {
    let file = file.context("no token: give --token-file FILE, --token TOKEN or PUNCTUAL_SITE_TOKEN")?;
    let token = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(token.trim().to_owned())
}

fn read_file(given: Option<&Path>) -> Result<File> {
    let path = given.unwrap_or(Path::new("punctual-site.toml"));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && given.is_none() => {
            return Ok(File::default());
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    toml::from_str(&text).with_context(|| format!("in {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str, args: AgentArgs) -> Result<AgentConfig> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.toml");
        std::fs::write(&path, toml).unwrap();
        AgentConfig::read(AgentArgs { config: Some(path), ..args })
    }

    #[test]
    fn flags_win_over_the_file_and_defaults_are_those_of_the_handbook() {
        let toml = "central = \"https://a.example\"\ntoken = \"punctual_site_1\"\nretry_every = \"5s\"";
        let config =
            read(toml, AgentArgs { central: Some("https://b.example".into()), ..Default::default() });
        let config = config.unwrap();
        assert_eq!(config.site.central, "https://b.example");
        assert_eq!(config.site.retry_every.as_secs(), 5);
        assert_eq!(config.listen.to_string(), "127.0.0.1:8081");
        assert_eq!(config.site.long_buffered_after.as_secs(), 600);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let fault = |toml: &str| format!("{:#}", read(toml, AgentArgs::default()).err().unwrap());
        assert!(fault("").contains("--central"));
        assert!(fault("central = \"https://a.example\"").contains("--token-file"));
        let whole = "central = \"https://a.example\"\ntoken = \"t\"\n";
        assert!(fault(&format!("{whole}listen = \"0.0.0.0:80\"")).contains("reached from elsewhere"));
        assert!(fault(&format!("{whole}batch = 20000")).contains("batch"));
        assert!(fault(&format!("{whole}retry_evry = \"5s\"")).contains("retry_evry"));
        assert!(fault(&format!("{whole}token_file = 7")).contains("site.toml"));
    }
}
