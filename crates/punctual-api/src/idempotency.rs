//! `Idempotency-Key`: a repeated request returns the first response and has no further effect.
//!
//! The response is stored after the effect. A crash between the two is harmless: the ids that the server creates for such a
//! request are derived from the caller, the key and the position of the item, so a repeat finds the existing rows.

use std::future::Future;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use punctual_engine::keys::hex;
use punctual_model::ids::derive_uuid;
use punctual_store::idempotency::{self, Answered};
use punctual_wire::{Code, FieldError, Problem};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::Principal,
};

const HEADER: &str = "idempotency-key";
const LONGEST: usize = 255;

/// The key of a request, where it has one, and what distinguishes requests.
pub struct IdempotencyKey {
    key: Option<String>,
    route: String,
}

impl FromRequestParts<Shared> for IdempotencyKey {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _app: &Shared) -> Result<Self, Failure> {
        let Some(value) = parts.headers.get(HEADER) else {
            return Ok(Self { key: None, route: String::new() });
        };
        let is_visible = value.as_bytes().iter().all(u8::is_ascii_graphic);
        if !(1..=LONGEST).contains(&value.len()) || !is_visible {
            let detail = format!("An Idempotency-Key has 1 to {LONGEST} visible ASCII characters.");
            return Err(FieldError::new("/Idempotency-Key", Code::KeyInvalid, detail).into());
        }
        let key = value.to_str().ok().map(str::to_owned);
        Ok(Self { key, route: format!("{} {}", parts.method, parts.uri) })
    }
}

/// Where the ids of new things come from.
pub enum Ids<'a> {
    Made(&'a App),
    Derived { owner: &'a str, key: &'a str },
}

impl Ids<'_> {
    /// The id of the item at this place of the request.
    pub fn at(&self, index: usize) -> Uuid {
        match self {
            Self::Made(app) => app.engine.random.ordered_uuid(app.engine.clock.now()),
            Self::Derived { owner, key } => derive_uuid(&["request", owner, key, &index.to_string()]),
        }
    }
}

impl IdempotencyKey {
    /// Returns the remembered response to this request, else that of `act`.
    pub async fn run<'a, F>(
        &'a self,
        app: &'a App,
        caller: &'a Principal,
        body: &[u8],
        act: impl FnOnce(Ids<'a>) -> F,
    ) -> Answer
    where
        F: Future<Output = Answer> + Send,
    {
        let Some(key) = &self.key else { return act(Ids::Made(app)).await };
        let digest = self.digest(body);
        let mut reader = app.engine.store.read_for_people().await?;
        let before = idempotency::find(&mut reader.conn(), &caller.id, key).await?;
        drop(reader);
        if let Some(before) = before {
            return repeat(before, &digest);
        }
        let answer = act(Ids::Derived { owner: &caller.id, key }).await?;
        let kept = answer.kept.as_ref().unwrap_or(&answer.body);
        let kept = Answered {
            digest,
            status: answer.status.as_u16().into(),
            body: String::from_utf8_lossy(kept).into_owned(),
        };
        if let Err(error) = app.engine.remember_answer(&caller.id, key, &kept).await {
            tracing::warn!(%error, "a response could not be stored for its idempotency key; a repeat of the request is processed again, with the same ids");
        }
        Ok(answer)
    }

    fn digest(&self, body: &[u8]) -> String {
        let mut digest = Sha256::new();
        digest.update((self.route.len() as u64).to_be_bytes());
        digest.update(self.route.as_bytes());
        digest.update(body);
        hex(&digest.finalize())
    }
}

fn repeat(before: Answered, digest: &str) -> Answer {
    if before.digest != digest {
        return Err(Problem::idempotency_mismatch().into());
    }
    let status = u16::try_from(before.status).ok().and_then(|code| StatusCode::from_u16(code).ok());
    Ok(JsonResponse { status: status.unwrap_or(StatusCode::OK), body: before.body.into_bytes(), kept: None })
}
