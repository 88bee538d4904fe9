//! The agent at a site: what it is given is on disk when it answers, whether or not central can be reached.

use std::{sync::OnceLock, time::Duration};

use punctual_wire::{
    Page, Problem,
    site_agent::{AgentHealth, Notified, NotifyRequest, NotifyStatus},
    sites::SiteEvent,
};
use serde::de::DeserializeOwned;

/// Where an agent listens by default.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8081";
/// The variable that names another agent.
pub const URL_VARIABLE: &str = "PUNCTUAL_SITE_URL";
/// The agent is on this machine and responds after one commit.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing answered; with an id of your own the call can be repeated safely.
    #[error("no answer from the site agent at {url}; is `punctual site` running?")]
    Unreachable { url: String, source: reqwest::Error },
    /// The agent said no and why; nothing was stored.
    #[error(transparent)]
    Refused(Box<Problem>),
    #[error("{url} answered {status}, which no site agent does")]
    Strange { url: String, status: u16 },
}

/// A notification that is about to be sent.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Notify {
    agent: SiteAgent,
    request: NotifyRequest,
}

impl Notify {
    /// To this list, which central knows, through the agent on this machine.
    pub fn to(list: impl Into<String>) -> Self {
        let request = NotifyRequest { list: list.into(), ..NotifyRequest::default() };
        Self { agent: SiteAgent::local(), request }
    }

    /// Through another agent.
    pub fn via(mut self, agent: SiteAgent) -> Self {
        self.agent = agent;
        self
    }

    /// The object it is about, such as a machine.
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.request.instance = Some(instance.into());
        self
    }

    /// The script or program that sends it.
    pub fn script(mut self, script: impl Into<String>) -> Self {
        self.request.script = Some(script.into());
        self
    }

    /// Your own GUID as the idempotency key: the same id with the same content is sent once.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.request.id = Some(id.into());
        self
    }

    /// Hands it in; the id comes back after it is on disk.
    pub async fn send(
        self,
        subject: impl Into<String>,
        body: impl Into<String>,
    ) -> Result<String, ClientError> {
        let request = NotifyRequest { subject: subject.into(), body: body.into(), ..self.request };
        self.agent.notify(&request).await
    }
}

/// A site agent.
#[derive(Clone, Debug)]
pub struct SiteAgent {
    url: String,
}

impl SiteAgent {
    /// The agent on this machine.
    pub fn local() -> Self {
        Self::at(std::env::var(URL_VARIABLE).unwrap_or_else(|_| DEFAULT_URL.to_owned()))
    }

    /// The agent at this address.
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: url.into().trim_end_matches('/').to_owned() }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub async fn notify(&self, request: &NotifyRequest) -> Result<String, ClientError> {
        let notified: Notified =
            self.ask(client().post(format!("{}/notify", self.url)).json(request)).await?;
        Ok(notified.id)
    }

    /// The status of a notification, from the site or from central.
    pub async fn status(&self, id: &str) -> Result<NotifyStatus, ClientError> {
        // An id is a GUID; whatever else is asked for must not reach another path.
        let plain: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        if plain != id || id.is_empty() {
            return Ok(NotifyStatus::unknown(id));
        }
        self.ask(client().get(format!("{}/notify/{id}", self.url))).await
    }

    /// The latest entries of the agent's event log, newest first.
    pub async fn log(&self, limit: u32) -> Result<Vec<SiteEvent>, ClientError> {
        let page: Page<SiteEvent> = self.ask(client().get(format!("{}/log?limit={limit}", self.url))).await?;
        Ok(page.items)
    }

    pub async fn health(&self) -> Result<AgentHealth, ClientError> {
        self.ask(client().get(format!("{}/healthz", self.url))).await
    }

    async fn ask<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Result<T, ClientError> {
        let lost = |source| ClientError::Unreachable { url: self.url.clone(), source };
        let answer = request.send().await.map_err(lost)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(lost)?;
        let strange = || ClientError::Strange { url: self.url.clone(), status: status.as_u16() };
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|_| strange());
        }
        let problem: Problem = serde_json::from_slice(&body).map_err(|_| strange())?;
        Err(ClientError::Refused(Box::new(problem)))
    }
}

/// One for all: making one reads the machine's certificates.
fn client() -> &'static reqwest::Client {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    CLIENT.get_or_init(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let built = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build();
        built.unwrap_or_default()
    })
}
