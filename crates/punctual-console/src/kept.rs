//! A form that was sent after its session had ended: the sign-in page carries what was typed, and after it one button sends
//! it again. Nothing of it is stored here.

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use punctual_wire::Problem;

use crate::{
    App, Shared,
    answer::{Page, page},
    assets, cookies,
    form::{self, Fields, Sent},
    frame, guard, links, session, sign_in,
};

/// What the sign-in page carries at most: with its names it must fit a form.
const LONGEST: usize = 48 << 10;
/// The name of the field with the place that the form goes to, and what the names of its fields begin with.
const PLACE: &str = "kept";
const FIELD: &str = "kept:";

/// A sign-in form that carries another one, in which every byte may be written as three.
pub const FORM: usize = 3 * LONGEST + form::BODY_LIMIT;

pub fn routes() -> Router<Shared> {
    Router::new().route("/sign-in/again", post(again))
}

/// What was typed, as the sign-in page carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Where the form goes.
    pub place: String,
    pub fields: Vec<(String, String)>,
}

impl Kept {
    /// What a sign-in form carries; none where it carries nothing.
    pub fn read(fields: &Fields) -> Option<Self> {
        let place = Some(fields.text(PLACE)).filter(|place| links::is_own_path(place))?;
        let own = fields.pairs().filter_map(|(name, value)| Some((name.strip_prefix(FIELD)?, value)));
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Some(Self { place: place.to_owned(), fields: own })
    }

    /// The form that was sent without a session. Its token is of no use any more.
    fn of(place: String, fields: &Fields) -> Option<Self> {
        let own = fields.pairs().filter(|(name, _)| *name != "token");
        let own: Vec<_> = own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let length: usize = own.iter().map(|(name, value)| name.len() + value.len()).sum();
        (place != "/sign-out" && length <= LONGEST).then_some(Self { place, fields: own })
    }

    /// The hidden fields of the sign-in page.
    pub fn hidden(&self) -> Vec<(String, &str)> {
        let place = (PLACE.to_owned(), self.place.as_str());
        let own = self.fields.iter().map(|(name, value)| (format!("{FIELD}{name}"), value.as_str()));
        std::iter::once(place).chain(own).collect()
    }
}

/// The sign-in page in answer to a form, with what was typed. A form that is too long to carry stays in the browser.
pub async fn sign_in_again(app: &App, headers: &HeaderMap, place: String, fields: &Fields) -> Response {
    let is_sign_out = place == "/sign-out";
    let kept = Kept::of(place, fields);
    let detail = match (&kept, is_sign_out) {
        (_, true) => "You are signed out.",
        (Some(_), _) => "Your session has ended. Sign in, then send your form: nothing of it is lost.",
        (None, _) => {
            "Your session has ended, and the form is too long to be carried along. Sign in in another tab, go back \
             with your browser in this one, and send it again."
        }
    };
    match sign_in::asked_again(app, headers, kept, detail).await {
        Ok(page) => (StatusCode::UNAUTHORIZED, page).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

#[derive(Template)]
#[template(path = "kept.html")]
struct KeptPage<'p> {
    version: &'static str,
    theme: &'static str,
    token: String,
    kept: &'p Kept,
}

/// The form once more, ready to be sent by whoever has just signed in.
pub fn shown(headers: &HeaderMap, token: String, kept: &Kept) -> Page {
    page(&KeptPage { version: assets::version(), theme: frame::theme_of(headers), token, kept })
}

/// Goes on after a sign-in in another tab.
async fn again(State(app): State<Shared>, headers: HeaderMap, Sent(fields): Sent) -> Page {
    if !guard::is_own_form(&headers) {
        return Err(Problem::csrf().into());
    }
    let kept = Kept::read(&fields);
    match (cookies::session(&headers), session::find(&app, &headers, true).await?, kept) {
        (Some(_), Some(viewer), Some(kept)) => {
            shown(&headers, viewer.form_token(app.engine.random.as_ref()), &kept)
        }
        (_, _, kept) => {
            let detail = "You are not signed in yet.";
            let page = sign_in::asked_again(&app, &headers, kept, detail).await?;
            Ok((StatusCode::UNAUTHORIZED, page).into_response())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_comes_back_as_it_was_and_leads_nowhere_else() {
        let typed = Fields::read(b"token=x&name=ops&to=a%0D%0Ab&to=&kept=odd");
        let kept = Kept::of("/settings/lists/save".into(), &typed).unwrap();
        let pairs: Vec<String> = kept
            .hidden()
            .iter()
            .map(|(name, value)| format!("{}={}", links::encoded(name), links::encoded(value)))
            .collect();
        assert_eq!(Kept::read(&Fields::read(pairs.join("&").as_bytes())), Some(kept.clone()));
        assert!(kept.fields.iter().all(|(name, _)| name != "token"));
        assert_eq!(Kept::read(&Fields::read(b"kept=%2F%2Fevil.example&kept:a=1")), None);
        let long = format!("a={}", "x".repeat(LONGEST));
        assert_eq!(Kept::of("/x".into(), &Fields::read(long.as_bytes())), None);
    }
}
