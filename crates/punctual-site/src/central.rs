//! Talking to central: whose token this is, forwarding, and the status of a notification.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use punctual_model::Secret;
use punctual_wire::{
    Batch, Code, Problem, problem,
    sites::{SiteAck, SiteIdentity, SiteNotificationStatus},
};
use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde::de::DeserializeOwned;

use crate::{SiteConfig, chain};

/// How long a connection may take to be made.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// The longest answer that is read: ten thousand acknowledgements with a sentence each.
const LONGEST_ANSWER: usize = 16 << 20;

/// Why central did not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CentralError {
    /// No connection, no answer in time, or an answer cut off: it may have done it or not.
    #[error("{0}")]
    Unreachable(String),
    /// It answered with a problem of ours.
    #[error("{}: {}", .0.code, .0.detail)]
    Refused(Box<Problem>),
    /// Something answered, but hardly a central server.
    #[error("answered {status} without a problem that is understood")]
    Strange { status: u16 },
}

pub struct Central {
    client: Result<reqwest::Client, String>,
    base: String,
    token: Secret,
    request_time: Duration,
    status_time: Duration,
}

impl Central {
    pub fn new(config: &SiteConfig) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect would carry the token elsewhere.
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .user_agent(concat!("punctual-site/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| chain(&error));
        Self {
            client,
            base: config.central.trim_end_matches('/').to_owned(),
            token: config.token.clone(),
            request_time: config.request_time,
            status_time: config.status_time,
        }
    }

    /// Whose token this is.
    pub async fn identity(&self) -> Result<String, CentralError> {
        let request = self.request(Method::GET, "/api/v1/site", self.request_time)?;
        let identity: SiteIdentity = ask(request).await?;
        Ok(identity.id)
    }

    /// Hands over a batch that is already compressed.
    pub async fn hand_over(&self, site: &str, body: Vec<u8>) -> Result<Vec<SiteAck>, CentralError> {
        let path = format!("/api/v1/sites/{site}/notifications");
        let request = self
            .request(Method::POST, &path, self.request_time)?
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::CONTENT_ENCODING, "gzip")
            .body(body);
        let batch: Batch<SiteAck> = ask(request).await?;
        Ok(batch.items)
    }

    /// The status of a notification of this site; `None` if central does not know it.
    pub async fn status(&self, site: &str, id: &str) -> Result<Option<SiteNotificationStatus>, CentralError> {
        let path = format!("/api/v1/sites/{site}/notifications/{id}");
        match ask(self.request(Method::GET, &path, self.status_time)?).await {
            Ok(status) => Ok(Some(status)),
            Err(CentralError::Refused(problem)) if problem.code == Code::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn request(&self, method: Method, path: &str, time: Duration) -> Result<RequestBuilder, CentralError> {
        let client = self.client.as_ref().map_err(|why| CentralError::Unreachable(why.clone()))?;
        let request = client.request(method, format!("{}{path}", self.base)).timeout(time);
        Ok(request.bearer_auth(self.token.expose()))
    }
}

async fn ask<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, CentralError> {
    // The address is in the error's text, and the token is not.
    let lost = |error: reqwest::Error| CentralError::Unreachable(chain(&error));
    let answer = request.send().await.map_err(lost)?;
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_problem = kind.is_some_and(|kind| kind.starts_with(problem::CONTENT_TYPE));
    let body = Limited::new(reqwest::Body::from(answer), LONGEST_ANSWER).collect();
    let body: Bytes = match body.await {
        Ok(whole) => whole.to_bytes(),
        Err(error) => return Err(CentralError::Unreachable(chain(error.as_ref()))),
    };
    let strange = CentralError::Strange { status: status.as_u16() };
    if status == StatusCode::OK {
        return serde_json::from_slice(&body).map_err(|_| strange);
    }
    if !is_problem {
        return Err(strange);
    }
    let problem: Problem = serde_json::from_slice(&body).map_err(|_| strange)?;
    Err(CentralError::Refused(Box::new(problem)))
}
