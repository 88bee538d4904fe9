//! How requests leave: the key, the attempts, and what an answer means.

use std::{sync::OnceLock, time::Duration};

use punctual_wire::Problem;
use reqwest::{Method, StatusCode, header, redirect};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use uuid::Uuid;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No answer came, also not to the last attempt. Whether the request took effect is not known.
    #[error("no answer from {url}")]
    Unreachable { url: String, source: reqwest::Error },
    /// The server said no and why; nothing was stored.
    #[error(transparent)]
    Refused(Box<Problem>),
    /// No attempt could get past it, so that none was made: what is wrong with the address or an argument.
    #[error("{0}")]
    Unusable(String),
    /// Something else answered, such as a proxy.
    #[error("{url} answered {status} in a form that Punctual has not")]
    Strange { url: String, status: u16 },
}

/// How often a request is tried, and the first and the longest pause between.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server, a key, and how often something is tried. Cheap to clone.
///
/// A request that may have failed on its way is repeated, with growing pauses and, for POST, under one idempotency key, so that
/// it takes effect once.
#[derive(Clone)]
pub struct Client {
    url: String,
    key: String,
    attempts: u32,
    first_pause: Duration,
    idempotency_key: Option<String>,
}

impl std::fmt::Debug for Client {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.url)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// The server at this address, with a key.
    pub fn new(url: impl Into<String>, key: impl Into<String>) -> Self {
        let url = url.into().trim_end_matches('/').to_owned();
        Self { url, key: key.into(), attempts: ATTEMPTS, first_pause: FIRST_PAUSE, idempotency_key: None }
    }

    /// Attempts for each request, at least one.
    #[must_use]
    pub fn attempts(self, attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..self }
    }

    /// Waits about so long after the first attempt that fails, and twice as long each time.
    #[must_use]
    pub fn first_pause(self, first_pause: Duration) -> Self {
        Self { first_pause, ..self }
    }

    /// The same client, whose next POST has an idempotency key of the caller's: for a request that a later run may repeat. With
    /// another request the server refuses the key.
    #[must_use]
    pub fn idempotency_key(&self, key: impl Into<String>) -> Self {
        Self { idempotency_key: Some(key.into()), ..self.clone() }
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, ApiError> {
        let (status, body) = self.send(&call).await?;
        let body = if body.is_empty() { b"null".as_slice() } else { &body };
        serde_json::from_slice(body).map_err(|_| self.strange(status))
    }

    pub(crate) async fn bytes(&self, call: Call) -> Result<Vec<u8>, ApiError> {
        self.send(&call).await.map(|(_, body)| body)
    }

    /// Repeats the request until there is an answer that another attempt would not change.
    async fn send(&self, call: &Call) -> Result<(StatusCode, Vec<u8>), ApiError> {
        if let Some(fault) = self.fault().or_else(|| call.fault.clone()) {
            return Err(ApiError::Unusable(fault));
        }
        // The same for all attempts: whichever arrives first takes effect, the others get its answer.
        let key = (call.method == Method::POST).then(|| self.idempotency_key.clone().unwrap_or_else(new_key));
        let mut attempt = 1;
        loop {
            let (failed, asked, passes) = match self.attempt(call, key.as_deref()).await {
                Ok(answer) if answer.status.is_success() => return Ok((answer.status, answer.body)),
                Ok(answer) => (self.refusal(&answer), answer.retry_after, is_passing(answer.status)),
                // A PATCH that arrived and is sent again might undo what came between.
                Err(source) => {
                    let lost = ApiError::Unreachable { url: self.url.clone(), source };
                    (lost, None, call.method != Method::PATCH)
                }
            };
            if !passes || attempt >= self.attempts {
                return Err(failed);
            }
            pause(asked.unwrap_or_else(|| self.pause_after(attempt)).min(LONGEST_PAUSE)).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, call: &Call, idempotency_key: Option<&str>) -> Result<Answer, reqwest::Error> {
        let address = format!("{}{}{}", self.url, call.path, call.queried());
        let mut request = http().request(call.method.clone(), address).bearer_auth(&self.key);
        if let Some(key) = idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some((content_type, body)) = &call.body {
            request = request.header(header::CONTENT_TYPE, content_type).body(body.clone());
        }
        let answer = request.send().await?;
        let seconds =
            answer.headers().get(header::RETRY_AFTER).and_then(|text| text.to_str().ok()?.parse().ok());
        let (status, retry_after) = (answer.status(), seconds.map(Duration::from_secs));
        Ok(Answer { status, retry_after, body: answer.bytes().await?.to_vec() })
    }

    /// Why no request to this server can be made.
    fn fault(&self) -> Option<String> {
        let is_address = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        if !reqwest::Url::parse(&self.url).is_ok_and(|url| is_address(&url)) {
            return Some(format!(
                "the address of the server is such as `https://punctual.example.org`; it is `{}`",
                self.url
            ));
        }
        let is_word = !self.key.is_empty() && self.key.bytes().all(|byte| byte.is_ascii_graphic());
        (!is_word).then(|| "the key is one word of ASCII characters, as Punctual printed it".to_owned())
    }

    fn refusal(&self, answer: &Answer) -> ApiError {
        match serde_json::from_slice::<Problem>(&answer.body) {
            Ok(problem) => ApiError::Refused(Box::new(problem)),
            Err(_) => self.strange(answer.status),
        }
    }

    /// Twice as long each time, and at random below that, so that clients do not come back together.
    fn pause_after(&self, attempt: u32) -> Duration {
        let doubled = self.first_pause.saturating_mul(1 << (attempt - 1).min(16));
        doubled.min(LONGEST_PAUSE).mul_f64(0.5 + f64::from(random_byte()) / 512.0)
    }

    fn strange(&self, status: StatusCode) -> ApiError {
        ApiError::Strange { url: self.url.clone(), status: status.as_u16() }
    }
}

struct Answer {
    status: StatusCode,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// One request, as it is sent with every attempt.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    body: Option<(String, Vec<u8>)>,
    /// Why it cannot be sent.
    fault: Option<String>,
}

impl Call {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        Self { method, path: path.to_owned(), query: Vec::new(), body: None, fault: None }
    }

    /// Goes on with a name of the caller's, which cannot leave its place. An empty one and steps would be another address, also
    /// where they are escaped.
    pub(crate) fn part(mut self, argument: &str, name: &str) -> Self {
        if matches!(name, "" | "." | "..") {
            self.fault = Some(format!(
                "`{argument}` is {name:?}, which would be another address; it takes an id or name"
            ));
        }
        self.path.push_str(&segment(name));
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        self.path.push_str(text);
        self
    }

    /// Adds those fields that have a value.
    pub(crate) fn query<T: Serialize>(mut self, query: &T) -> Self {
        let fields = match serde_json::to_value(query) {
            Ok(Value::Object(fields)) => fields,
            _ => return self,
        };
        self.query.extend(fields.into_iter().filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some((name, text)),
            other => Some((name, other.to_string())),
        }));
        self
    }

    /// The same call for the page behind a cursor.
    pub(crate) fn at(&self, cursor: Option<&str>) -> Self {
        let mut call = self.clone();
        if let Some(cursor) = cursor {
            call.query.retain(|(name, _)| name != "cursor");
            call.query.push(("cursor".to_owned(), cursor.to_owned()));
        }
        call
    }

    pub(crate) fn json<T: Serialize + ?Sized>(self, body: &T) -> Self {
        // The types of the wire have texts as keys and no maps of other kinds, so that this cannot fail.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self { body: Some(("application/json".to_owned(), body)), ..self }
    }

    pub(crate) fn bytes<T: Into<Vec<u8>>>(self, content_type: &str, body: T) -> Self {
        Self { body: Some((content_type.to_owned(), body.into())), ..self }
    }

    fn queried(&self) -> String {
        let pairs: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{}={}", segment(name), segment(value))).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

/// Whether another attempt may get past it: too many requests, or a server that is not ready.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// A text as one part of an address.
fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// One for all, so that connections are kept. A key goes to the server that it is meant for and nowhere else: redirects are not followed.
fn http() -> &'static reqwest::Client {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    CLIENT.get_or_init(|| {
        // Refused where the program has chosen one itself, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .unwrap_or_default()
    })
}

#[expect(clippy::disallowed_methods, reason = "a program of others has no Random of ours; keys must differ")]
fn new_key() -> String {
    Uuid::new_v4().to_string()
}

#[expect(clippy::disallowed_methods, reason = "spreads the pauses of many clients, nothing more")]
fn random_byte() -> u8 {
    Uuid::new_v4().as_bytes()[0]
}

#[expect(clippy::disallowed_methods, reason = "a program of others has no Clock of ours")]
async fn pause(length: Duration) {
    tokio::time::sleep(length).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ListNotificationsQuery;

    #[test]
    fn names_and_values_cannot_leave_their_place() {
        let call = Call::new(Method::GET, "/lists/").part("name", "a/b?c é").text("/x");
        assert_eq!(call.path, "/lists/a%2Fb%3Fc%20%C3%A9/x");
        assert_eq!(call.fault, None);
        let away = Call::new(Method::GET, "/lists/").part("name", "..").text("/x");
        assert!(away.fault.unwrap().starts_with("`name` is \"..\""));
        assert_eq!(call.queried(), "");
        let query =
            ListNotificationsQuery { status: Some("a&b=c".into()), limit: Some(3), ..Default::default() };
        let call = call.query(&query).at(None).at(Some("x")).at(Some("y"));
        assert_eq!(call.queried(), "?limit=3&status=a%26b%3Dc&cursor=y");
    }

    #[test]
    fn pauses_grow_and_have_an_end() {
        let client = Client::new("http://x/", "secret").first_pause(Duration::from_secs(1));
        for (attempt, longest) in [(1, 1), (2, 2), (3, 4), (30, 20)] {
            let (pause, longest) = (client.pause_after(attempt), Duration::from_secs(longest));
            assert!(pause <= longest && pause >= longest / 2, "{attempt}: {pause:?}");
        }
        assert_eq!(client.url, "http://x");
        assert!(!format!("{client:?}").contains("secret"), "{client:?}");
    }
}
