//! Single sign-on with OpenID Connect: the code flow with PKCE, over the guarded HTTP client.
//!
//! The checks that the standard asks of a client are few and pure (`oidc/token.rs`, `oidc/key_set.rs`). A library for them
//! brings its own HTTP types, a second big-number and curve implementation beside `ring`, and a hundred crates of build.

mod discovery;
mod key_set;
mod token;

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::future::{BoxFuture, FutureExt};
use jiff::Timestamp;
use punctual_model::{
    Identity, IdentityProvider, Secret, SendOutcome, SettingsFault, SignOnAnswer, SignOnFault, SignOnRequest,
};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use self::{
    discovery::{Discovered, SecretGoes},
    key_set::KeySet,
    token::Expected,
};
use crate::{
    Guard,
    http::{Answer, Call, HttpClient, encoded},
    trust::Trust,
};

/// Somebody waits for the page.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Documents of providers have a few KiB; key sets of large ones some dozens.
const MOST_ANSWER: usize = 256 * 1024;
/// An email address, and whatever else tokens may have.
const LONGEST_CLAIM: usize = 320;
/// Groups of one person; directories give hundreds.
const MOST_GROUPS: usize = 2_000;

/// How this server is known to a provider.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// What the button says: `Sign in with …`.
    pub name: String,
    /// Exactly as the provider writes it.
    pub issuer: String,
    pub client_id: String,
    /// A public client has none; PKCE protects it.
    pub client_secret: Option<Secret>,
    /// What is asked for; `openid` is always among it.
    pub scopes: Vec<String>,
    /// The claim with the groups of a person: a name, or a JSON pointer such as `/realm_access/roles`.
    pub groups_claim: String,
}

/// An OpenID Connect provider.
pub struct OidcProvider {
    settings: OidcSettings,
    guard: Guard,
    http: HttpClient,
    /// What the provider says about itself, and its keys: read at the first use, and again when something does not fit.
    known: Mutex<Option<Known>>,
}

#[derive(Clone)]
struct Known {
    discovered: Arc<Discovered>,
    keys: Arc<KeySet>,
}

impl OidcProvider {
    pub fn open(settings: OidcSettings, guard: &Guard, trust: &Trust) -> Result<Self, SettingsFault> {
        let hidden = settings.client_secret.iter().map(|secret| secret.expose().to_owned()).collect();
        let http = HttpClient::open(guard, trust, TIMEOUT, hidden)?.reading(MOST_ANSWER);
        guard.check_url(&settings.issuer).map_err(|fault| SettingsFault {
            pointer: "/issuer".to_owned(),
            code: fault.code,
            detail: fault.detail,
        })?;
        Ok(Self { settings, guard: guard.clone(), http, known: Mutex::default() })
    }

    /// What is known about the provider; with `anew` it is fetched again.
    async fn known(&self, anew: bool) -> Result<Known, SignOnFault> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|_| !anew) {
            return Ok(known.clone());
        }
        let address =
            format!("{}/.well-known/openid-configuration", self.settings.issuer.trim_end_matches('/'));
        let document = self.get(&address, None).await?;
        let discovered = Discovered::read(&document, &self.settings.issuer)?;
        let keys = KeySet::read(&self.get(&discovered.jwks_uri, None).await?);
        Ok(known.insert(Known { discovered: Arc::new(discovered), keys: Arc::new(keys) }).clone())
    }

    async fn get(&self, address: &str, bearer: Option<&str>) -> Result<Value, SignOnFault> {
        let url = self.guard.check_url(address).map_err(|fault| SignOnFault::Unreachable(fault.detail))?;
        let mut call = Call::get(url);
        if let Some(token) = bearer {
            call = call
                .with_secret("authorization", &format!("Bearer {token}"))
                .map_err(|error| unreachable(&error))?;
        }
        self.answered(call).await
    }

    /// The JSON object that the provider answers with.
    async fn answered(&self, call: Call) -> Result<Value, SignOnFault> {
        // Nothing waits by a date here, so that the time of the call does not matter.
        let answer =
            self.http.send(call, Timestamp::UNIX_EPOCH).await.map_err(|outcome| unreachable(&outcome))?;
        let Answer { status, is_cut, .. } = answer;
        let json = answer.json();
        match status {
            200..=299 if json.is_object() && !is_cut => Ok(json),
            400..=499 => Err(SignOnFault::Refused(format!(
                "the provider answered {status} {}",
                json["error"].as_str().unwrap_or_default()
            ))),
            _ => Err(SignOnFault::Unreachable(format!("it answered {status}, or no JSON object"))),
        }
    }

    /// Redeems a code; the answer has the tokens.
    async fn redeem(&self, discovered: &Discovered, answer: &SignOnAnswer) -> Result<Value, SignOnFault> {
        let (id, secret) = (self.settings.client_id.as_str(), self.settings.client_secret.as_ref());
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", answer.code.expose()),
            ("redirect_uri", answer.redirect_uri.as_str()),
            ("code_verifier", answer.verifier.expose()),
        ];
        let url = self.guard.check_url(&discovered.token_endpoint);
        let url = url.map_err(|fault| SignOnFault::Unreachable(fault.detail))?;
        let call = match (secret, discovered.secret_goes) {
            (Some(secret), SecretGoes::Header) => {
                let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
                let value = format!("Basic {}", STANDARD.encode(pair));
                Call::form(url, fields)
                    .with_secret("authorization", &value)
                    .map_err(|error| unreachable(&error))?
            }
            (Some(secret), SecretGoes::Body) => {
                fields.extend([("client_id", id), ("client_secret", secret.expose())]);
                Call::form(url, fields)
            }
            (None, _) => {
                fields.push(("client_id", id));
                Call::form(url, fields)
            }
        };
        self.answered(call).await
    }

    async fn identify(&self, answer: SignOnAnswer) -> Result<Identity, SignOnFault> {
        let mut known = self.known(false).await?;
        let tokens = self.redeem(&known.discovered, &answer).await?;
        let text = tokens["id_token"]
            .as_str()
            .ok_or_else(|| SignOnFault::Refused("it has no id token".to_owned()))?;
        let signed = token::Signed::read(text)?;
        if !known.keys.has(signed.key_id.as_deref()) {
            // The provider may have changed its keys since.
            known = self.known(true).await?;
        }
        let expected = Expected {
            issuer: &self.settings.issuer,
            client_id: &self.settings.client_id,
            nonce: &answer.nonce,
            now: answer.now,
        };
        let mut claims = signed.verified(&known.keys)?.checked(&expected)?;
        let missing = claims.get("email").is_none() || self.groups(&claims).is_none();
        if let (true, Some(address)) = (missing, known.discovered.userinfo_endpoint.as_deref()) {
            self.add_user_info(address, &tokens, &mut claims).await?;
        }
        let text = |name: &str| {
            let value = claims.get(name).and_then(Value::as_str);
            value.filter(|text| !text.is_empty() && text.len() <= LONGEST_CLAIM).map(str::to_owned)
        };
        Ok(Identity {
            issuer: self.settings.issuer.clone(),
            subject: text("sub").ok_or_else(|| SignOnFault::Refused("it has no subject".to_owned()))?,
            email: text("email"),
            email_verified: claims
                .get("email_verified")
                .is_some_and(|value| *value == true || *value == "true"),
            name: text("name").or_else(|| text("preferred_username")),
            groups: self.groups(&claims).unwrap_or_default(),
        })
    }

    /// Takes over what the provider returns only when it is asked; it must be about the same person.
    async fn add_user_info(
        &self,
        address: &str,
        tokens: &Value,
        claims: &mut Map<String, Value>,
    ) -> Result<(), SignOnFault> {
        let Some(bearer) = tokens["access_token"].as_str() else { return Ok(()) };
        let Value::Object(more) = self.get(address, Some(bearer)).await? else { return Ok(()) };
        if more.get("sub") != claims.get("sub") {
            return Err(SignOnFault::Refused("the user info is about somebody else".to_owned()));
        }
        for (name, value) in more {
            claims.entry(name).or_insert(value);
        }
        Ok(())
    }

    fn groups(&self, claims: &Map<String, Value>) -> Option<Vec<String>> {
        let claim = &self.settings.groups_claim;
        let value = match claim.strip_prefix('/') {
            Some(path) => {
                let (first, rest) =
                    path.split_once('/').map_or((path, None), |(first, rest)| (first, Some(rest)));
                let value = claims.get(first)?;
                rest.map_or(Some(value), |rest| value.pointer(&format!("/{rest}")))?
            }
            None => claims.get(claim)?,
        };
        match value {
            Value::String(one) => Some(vec![one.clone()]),
            Value::Array(all) => {
                Some(all.iter().take(MOST_GROUPS).filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => None,
        }
    }
}

impl IdentityProvider for OidcProvider {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    fn start(&self, request: SignOnRequest) -> BoxFuture<'_, Result<String, SignOnFault>> {
        async move {
            let known = self.known(false).await?;
            let mut scopes = vec!["openid"];
            scopes.extend(self.settings.scopes.iter().map(String::as_str).filter(|scope| *scope != "openid"));
            let scope = scopes.join(" ");
            let pairs: [(&str, &str); 8] = [
                ("response_type", "code"),
                ("client_id", &self.settings.client_id),
                ("redirect_uri", &request.redirect_uri),
                ("scope", &scope),
                ("state", &request.state),
                ("nonce", &request.nonce),
                ("code_challenge", &request.challenge),
                ("code_challenge_method", "S256"),
            ];
            Ok(with_query(&known.discovered.authorization_endpoint, &pairs))
        }
        .boxed()
    }

    fn finish(&self, answer: SignOnAnswer) -> BoxFuture<'_, Result<Identity, SignOnFault>> {
        self.identify(answer).boxed()
    }

    fn sign_out(&self, back_to: &str) -> BoxFuture<'_, Result<Option<String>, SignOnFault>> {
        let back_to = back_to.to_owned();
        async move {
            let known = self.known(false).await?;
            let pairs: [(&str, &str); 2] =
                [("client_id", self.settings.client_id.as_str()), ("post_logout_redirect_uri", &back_to)];
            let page = known.discovered.end_session_endpoint.as_deref();
            Ok(page.map(|address| with_query(address, &pairs)))
        }
        .boxed()
    }
}

/// The address with these parameters, after those it has.
fn with_query(address: &str, pairs: &[(&str, &str)]) -> String {
    let mut text = address.to_owned();
    for (name, value) in pairs {
        text.push(if text.contains('?') { '&' } else { '?' });
        text.push_str(&format!("{}={}", encoded(name), encoded(value)));
    }
    text
}

fn unreachable(outcome: &SendOutcome) -> SignOnFault {
    SignOnFault::Unreachable(match outcome {
        SendOutcome::Delivered { .. } => String::new(),
        SendOutcome::Transient { error, .. }
        | SendOutcome::Permanent { error, .. }
        | SendOutcome::Uncertain { error } => error.clone(),
    })
}
