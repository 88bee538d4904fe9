//! Looking up a name once, and handing out only addresses that were checked.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use punctual_model::SettingsFault;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{
    AllowList, CheckedUrl, Refused, Scheme, UrlFault, allowing, check_broker_url, check_ip,
    check_provider_url, check_url, ranges, url::FORBIDDEN,
};

/// Where addresses of names come from.
pub trait Lookup: Send + Sync {
    fn lookup(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// The machine's own resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// Why a name gave no address to connect to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveFault {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the name `{host}` cannot be looked up")]
    NoAnswer { host: String },
}

/// The guard that every outgoing call passes.
#[derive(Clone)]
pub struct Guard {
    allow: Arc<AllowList>,
    lookup: Arc<dyn Lookup>,
}

impl Guard {
    pub fn new(allow: AllowList) -> Self {
        Self::with_lookup(allow, Arc::new(SystemLookup))
    }

    /// A guard that asks elsewhere than the machine's resolver.
    pub fn with_lookup(allow: AllowList, lookup: Arc<dyn Lookup>) -> Self {
        Self { allow: Arc::new(allow), lookup }
    }

    pub fn check_url(&self, text: &str) -> Result<CheckedUrl, UrlFault> {
        check_url(text, &self.allow)
    }

    /// The same for a URL of a provider, whose hosts are known.
    pub fn check_provider_url(&self, text: &str, hosts: &[&str]) -> Result<CheckedUrl, UrlFault> {
        check_provider_url(text, hosts, &self.allow)
    }

    /// The same for the URL of a broker.
    pub fn check_broker_url(&self, text: &str, schemes: &[Scheme]) -> Result<CheckedUrl, UrlFault> {
        check_broker_url(text, schemes, &self.allow)
    }

    /// What is wrong with a setting whose host would never be called, and what would allow it. One address that may be connected to
    /// is enough; a name that cannot be looked up now may be there later.
    pub async fn destination_fault(
        &self,
        setting: &str,
        host: &str,
        port: u16,
        listed_only: bool,
    ) -> Option<SettingsFault> {
        let answers = match host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) => self.lookup.lookup(host.to_owned(), port).await.unwrap_or_default(),
        };
        let first = answers.first()?.ip();
        if answers.iter().any(|answer| self.may_connect(answer.ip(), port, listed_only)) {
            return None;
        }
        let why = if ranges::is_public(first) {
            "a network that is called without encryption or at this port only if it is allowed"
        } else {
            "a network that is not called unless it is allowed"
        };
        // What a name of an internal network resolves to is for those who read the server's log, not for callers.
        let detail = if host.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost") {
            format!("`{host}` is {first}, {why}: start with `{}`", allowing(first, port))
        } else {
            tracing::warn!(host, address = %first, port, "the destination of a channel is not allowed");
            format!(
                "`{host}` is in {why}: start with `--outgoing-allow` and its address, which is in the log of this server"
            )
        };
        Some(SettingsFault { pointer: format!("/{setting}"), code: FORBIDDEN, detail })
    }

    fn may_connect(&self, ip: IpAddr, port: u16, listed_only: bool) -> bool {
        check_ip(ip, port, &self.allow).is_ok() && (!listed_only || self.allow.allows(ip, port))
    }

    /// The addresses of a host that may be connected to; never empty.
    ///
    /// With `listed_only` the public internet is refused too: only what the allow-list names is left.
    pub async fn resolve(
        &self,
        host: &str,
        port: u16,
        listed_only: bool,
    ) -> Result<Vec<SocketAddr>, ResolveFault> {
        let answers = match host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) => self
                .lookup
                .lookup(host.to_owned(), port)
                .await
                .ok()
                .filter(|answers| !answers.is_empty())
                .ok_or_else(|| ResolveFault::NoAnswer { host: host.to_owned() })?,
        };
        let allowed: Vec<SocketAddr> = answers
            .into_iter()
            .map(|answer| SocketAddr::new(answer.ip(), port))
            .filter(|address| self.may_connect(address.ip(), port, listed_only))
            .collect();
        if allowed.is_empty() { Err(Refused.into()) } else { Ok(allowed) }
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Guard").field(&self.allow).finish()
    }
}

/// The guard as the HTTP client's resolver, for one port: the client passes a resolver the name alone.
#[derive(Clone, Debug)]
pub struct GuardedResolver {
    pub guard: Guard,
    pub port: u16,
    pub listed_only: bool,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let addresses = this.guard.resolve(name.as_str(), this.port, this.listed_only).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
