//! Forms that change something: sent by a page of ours, with the token of the session, by somebody who may act.

use std::time::Duration;

use axum::{
    extract::{FromRequest, FromRequestParts, RawForm, Request},
    response::{IntoResponse, Response},
};
use punctual_wire::{Problem, keys::Scope};

use crate::{Shared, answer::Refusal, frame::Visit, guard, kept, session::Ended};

/// A form: the ids of a full selection, with room to spare.
pub const BODY_LIMIT: usize = 64 << 10;

/// The fields of a form, in their order.
pub struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn read(bytes: &[u8]) -> Self {
        let pairs = std::str::from_utf8(bytes).unwrap_or_default().split('&');
        let pairs = pairs.filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(n, v)| (decoded(n), decoded(v)))
                .collect(),
        )
    }

    /// The parameters of an address.
    pub fn of_query(uri: &axum::http::Uri) -> Self {
        Self::read(uri.query().unwrap_or_default().as_bytes())
    }

    /// The field's value, trimmed; empty where it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.trim())
    }

    /// Every field with its value, in their order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// One part of a form: `+` is a blank, `%XX` a byte.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let byte = after
                    .get(..2)
                    .and_then(|digits| std::str::from_utf8(digits).ok())
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok());
                match byte {
                    Some(byte) => {
                        bytes.push(byte);
                        rest = &after[2..];
                    }
                    None => bytes.push(b'%'),
                }
            }
            other => bytes.push(*other),
        }
    }
    // No browser sends NUL, and PostgreSQL takes it in no text.
    String::from_utf8_lossy(&bytes).replace('\0', "\u{FFFD}")
}

/// How long a form may take to arrive: who sends it drop by drop must not hold a place for long.
const BODY_TIME: Duration = Duration::from_secs(10);

/// A form of anybody.
pub struct Sent(pub Fields);

impl FromRequest<Shared> for Sent {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Response> {
        match tokio::time::timeout(BODY_TIME, RawForm::from_request(request, app)).await {
            Ok(Ok(RawForm(bytes))) => Ok(Self(Fields::read(&bytes))),
            Ok(Err(fault)) => Err(fault.into_response()),
            Err(_) => Err(Refusal::from(Problem::request_timeout()).into_response()),
        }
    }
}

/// A form of somebody who is signed in: nothing is known yet about their rights. If the session has ended meanwhile, what
/// was typed is kept over the sign-in.
pub struct Signed {
    pub visit: Visit,
    pub fields: Fields,
}

impl FromRequest<Shared> for Signed {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Response> {
        let refused = || Refusal::from(Problem::csrf()).into_response();
        if !guard::is_own_form(request.headers()) {
            return Err(refused());
        }
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, app).await;
        let (headers, path) = (parts.headers.clone(), parts.uri.path().to_owned());
        let visit = match visit {
            Err(response) if response.extensions().get::<Ended>().is_none() => return Err(response),
            visit => visit,
        };
        let request = Request::from_parts(parts, body);
        let Sent(fields) = Sent::from_request(request, app).await?;
        let Ok(visit) = visit else { return Err(kept::sign_in_again(app, &headers, path, &fields).await) };
        if !visit.viewer.has_token(fields.text("token")) {
            return Err(refused());
        }
        Ok(Self { visit, fields })
    }
}

/// A form of somebody who may act.
pub struct Act {
    pub visit: Visit,
    pub fields: Fields,
}

impl FromRequest<Shared> for Act {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Response> {
        let Signed { visit, fields } = Signed::from_request(request, app).await?;
        if !visit.viewer.may_act() {
            return Err(Refusal::from(Problem::scope_missing(Scope::Operate.as_str())).into_response());
        }
        Ok(Self { visit, fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded_and_may_repeat() {
        let fields = Fields::read(b"id=a&id=b%20c+d&q=%C3%A9%zz%&empty=&alone");
        assert_eq!(fields.all("id").collect::<Vec<_>>(), ["a", "b c d"]);
        assert_eq!((fields.text("q"), fields.text("empty"), fields.text("none")), ("é%zz%", "", ""));
    }
}
