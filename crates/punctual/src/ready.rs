//! `punctual ready`: whether a server is ready, for health checks of containers and scripts. It needs no key.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

/// A node says within five seconds that it is not ready.
const PATIENCE: Duration = Duration::from_secs(6);

#[derive(Args)]
pub struct ReadyArgs {
    /// The server's address; by default the server of this machine.
    #[arg(long, env = "PUNCTUAL_SERVER")]
    server: Option<String>,
    /// Where the server of this machine listens, in the variable that the server itself reads.
    #[arg(long, env = "PUNCTUAL_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Also check that the database accepts writes.
    #[arg(long)]
    write: bool,
}

/// Ends with 0 when the server is ready and with 1 when it is not; prints the reason.
pub async fn run(args: ReadyArgs) -> Result<ExitCode> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let query = if args.write { "?write" } else { "" };
    let server = args.server.unwrap_or_else(|| of_this_machine(args.listen));
    let url = format!("{}/readyz{query}", server.trim_end_matches('/'));
    let response = client.get(&url).send().await.with_context(|| format!("cannot reach {server}"))?;
    let status = response.status();
    if status.is_success() {
        println!("ready");
        return Ok(ExitCode::SUCCESS);
    }
    let answer: Value = response.json().await.unwrap_or_default();
    println!("not ready: {}", answer["detail"].as_str().unwrap_or(status.as_str()));
    Ok(ExitCode::FAILURE)
}

/// The address of a server that listens here. One that listens on all addresses is reached over the loopback.
fn of_this_machine(listen: SocketAddr) -> String {
    let host = match listen.ip() {
        IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        address => address,
    };
    format!("http://{}", SocketAddr::new(host, listen.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_asked_over_the_loopback() {
        for (listen, server) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("0.0.0.0:9000", "http://127.0.0.1:9000"),
            ("[::]:9000", "http://[::1]:9000"),
            ("192.0.2.7:80", "http://192.0.2.7:80"),
        ] {
            assert_eq!(of_this_machine(listen.parse().unwrap()), server);
        }
    }
}
