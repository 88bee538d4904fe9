//! A person's own page: which topics they want, and when not to write. Whoever has the link may use it; no session, no
//! cookie, nothing from elsewhere.
//!
//! A GET shows and changes nothing, because mail scanners follow links. A POST as mail programs send it (RFC 8058) says
//! no to the topic of the mail at once.

mod words;

use std::{collections::HashSet, time::Duration};

use askama::Template;
use axum::{
    Router,
    body::Bytes,
    extract::{FromRequest, Path, Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use punctual_engine::{Actor, delivery_policy::links::Holder};
use punctual_model::{
    delivery_policy::{Preference, Span, Topic, hours::written},
    local_time,
};

use words::Words;

use crate::{
    App, Shared,
    answer::Refusal,
    assets,
    form::Fields,
    survey_page::{accepted, direction, end, limited, own_colour, rendered},
};

/// How long a form may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);
/// What a mail program posts.
const ONE_CLICK: &str = "One-Click";

pub fn routes(app: Shared) -> Router<Shared> {
    Router::new()
        .route("/p/{token}", get(show).post(change))
        .route("/p/{token}/colours.css", get(colours))
        .layer(axum::middleware::from_fn_with_state(app, limited))
}

#[derive(Template)]
#[template(path = "preference.html")]
struct PreferencePage<'p> {
    version: &'static str,
    words: &'static Words,
    direction: &'static str,
    token: &'p str,
    address: &'p str,
    /// Who writes to them, and whether their page has a colour of its own.
    organisation: Option<String>,
    has_colour: bool,
    /// The title of the topic whose mail brought them here.
    topic: Option<String>,
    topics: Vec<TopicView>,
    quiet_from: String,
    quiet_to: String,
    time_zone: String,
    /// Names to choose a zone from.
    zones: Vec<String>,
    notice: Option<&'static str>,
    /// The field at fault, and what is wrong with it.
    fault: Option<(&'static str, &'static str)>,
}

impl PreferencePage<'_> {
    fn is_at_fault(&self, field: &str) -> bool {
        self.fault.is_some_and(|(at, _)| at == field)
    }
}

struct TopicView {
    name: String,
    title: String,
    wanted: bool,
}

/// A word of the page, in whatever language it is shown.
type Word = fn(&'static Words) -> &'static str;

/// A form that cannot be kept: which field, why, and what was typed.
struct Refused<'f> {
    field: &'static str,
    why: Word,
    typed: &'f Fields,
}

fn gone(headers: &HeaderMap) -> Response {
    let words = words::of(accepted(headers));
    rendered(StatusCode::NOT_FOUND, &end(words.locale, words.gone, words.gone_more).bad())
}

async fn show(
    State(app): State<Shared>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let Some(holder) = app.engine.preference_holder(&token) else { return Ok(gone(&headers)) };
    page(&app, &headers, &token, &holder, None, None).await
}

/// The organisation's colour, as a style sheet of its own: pages have no style inside them.
async fn colours(
    State(app): State<Shared>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    if app.engine.preference_holder(&token).is_none() {
        return Ok(gone(&headers));
    }
    app.engine.look_again().await?;
    Ok(own_colour(app.engine.policy.settings().colour.as_deref()))
}

async fn page(
    app: &App,
    headers: &HeaderMap,
    token: &str,
    holder: &Holder,
    notice: Option<Word>,
    refused: Option<Refused<'_>>,
) -> Result<Response, Refusal> {
    let row = app.engine.preference_of(&holder.address).await?;
    let wants = row.map(|row| Preference::read(&row.definition)).unwrap_or_default();
    // Their own language first, then what their browser says.
    let words = words::of(wants.locale.as_deref().into_iter().chain(accepted(headers)));
    app.engine.look_again().await?;
    let settings = app.engine.policy.settings();
    let mut names: Vec<&str> = settings.topics.iter().map(|topic| topic.name.as_str()).collect();
    names.extend(wants.topics.keys().map(String::as_str));
    names.extend(holder.topic.as_deref());
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    let wanted = |name: &str| wants.topics.get(name).is_none_or(|topic| topic.subscribed);
    let topics = names
        .into_iter()
        .map(|name| TopicView {
            name: name.to_owned(),
            title: settings.title_of(name).to_owned(),
            // What was typed stays, also where it cannot be kept.
            wanted: refused.as_ref().map_or_else(
                || wanted(name),
                |refused| refused.typed.all("wanted").any(|wanted| wanted == name),
            ),
        })
        .collect();
    let time =
        |time: fn(&Span) -> jiff::civil::Time| wants.quiet_hours.as_ref().map(|span| written(time(span)));
    let shown = |field: &str, stored: Option<String>| match &refused {
        Some(refused) => refused.typed.text(field).to_owned(),
        None => stored.unwrap_or_default(),
    };
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(rendered(
        status,
        &PreferencePage {
            version: assets::version(),
            words,
            direction: direction(words.locale),
            token,
            address: &holder.address,
            organisation: settings.organisation.clone(),
            has_colour: settings.colour.is_some(),
            topic: holder
                .topic
                .as_deref()
                .filter(|name| wanted(name))
                .map(|name| settings.title_of(name).to_owned()),
            topics,
            quiet_from: shown("quietFrom", time(|span| span.from)),
            quiet_to: shown("quietTo", time(|span| span.to)),
            time_zone: shown("timeZone", wants.time_zone.clone()),
            zones: local_time::names(),
            notice: notice.map(|word| word(words)),
            fault: refused.as_ref().map(|refused| (refused.field, (refused.why)(words))),
        },
    ))
}

/// What was posted, as a form or in parts: mail programs send either.
struct Posted(Fields);

impl FromRequest<Shared> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Response> {
        match tokio::time::timeout(BODY_TIME, Bytes::from_request(request, app)).await {
            Ok(Ok(bytes)) => Ok(Self(fields(&bytes))),
            Ok(Err(fault)) => Err(fault.into_response()),
            Err(_) => Err(Refusal::from(punctual_wire::Problem::request_timeout()).into_response()),
        }
    }
}

fn fields(bytes: &[u8]) -> Fields {
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    if bytes.starts_with(b"--") && has(b"name=\"List-Unsubscribe\"") && has(ONE_CLICK.as_bytes()) {
        return Fields::read(b"List-Unsubscribe=One-Click");
    }
    Fields::read(bytes)
}

async fn change(
    State(app): State<Shared>,
    Path(token): Path<String>,
    headers: HeaderMap,
    Posted(fields): Posted,
) -> Result<Response, Refusal> {
    let Some(holder) = app.engine.preference_holder(&token) else { return Ok(gone(&headers)) };
    if fields.text("List-Unsubscribe") == ONE_CLICK || fields.text("action") == "unsubscribe" {
        app.engine.unsubscribe(&holder.address, holder.topic.as_deref()).await?;
        return page(&app, &headers, &token, &holder, Some(|words| words.stopped), None).await;
    }
    let wishes = match Wishes::read(&fields) {
        Ok(wishes) => wishes,
        Err((field, why)) => {
            let refused = Refused { field, why, typed: &fields };
            return page(&app, &headers, &token, &holder, None, Some(refused)).await;
        }
    };
    app.engine.look_again().await?;
    let settings = app.engine.policy.settings();
    let mut known: HashSet<String> = settings.topics.iter().map(|topic| topic.name.clone()).collect();
    known.extend(holder.topic.clone());
    if fields.text("action") == "stop-all" {
        let stop = move |wants: &mut Preference| {
            known.extend(wants.topics.keys().cloned());
            for topic in known {
                wants.topics.entry(topic).or_insert(Topic { subscribed: false, channels: None }).subscribed =
                    false;
            }
        };
        app.engine.change_preference(&Actor::recipient(), &holder.address, stop).await?;
        return page(&app, &headers, &token, &holder, Some(|words| words.stopped), None).await;
    }
    app.engine
        .change_preference(&Actor::recipient(), &holder.address, move |wants| wishes.put(&known, wants))
        .await?;
    page(&app, &headers, &token, &holder, Some(|words| words.saved), None).await
}

/// What the form says.
struct Wishes {
    topics: Vec<(String, bool)>,
    quiet_hours: Option<Span>,
    time_zone: Option<String>,
}

impl Wishes {
    /// The field at fault where there is one, and why.
    fn read(fields: &Fields) -> Result<Self, (&'static str, Word)> {
        let (bad_hours, bad_zone): (Word, Word) = (|words| words.bad_hours, |words| words.bad_zone);
        let wanted: Vec<&str> = fields.all("wanted").collect();
        let topics = fields.all("topic").take(200).filter(|topic| !topic.is_empty() && topic.len() <= 128);
        let topics = topics.map(|topic| (topic.to_owned(), wanted.contains(&topic))).collect();
        let quiet_hours = match (fields.text("quietFrom"), fields.text("quietTo")) {
            ("", "") => None,
            (from, to) if from != to => {
                let time = |text: &str, field| local_time::parse_time(text).map_err(|_| (field, bad_hours));
                Some(Span { from: time(from, "quietFrom")?, to: time(to, "quietTo")? })
            }
            _ => return Err(("quietTo", bad_hours)),
        };
        let time_zone = match fields.text("timeZone") {
            "" => None,
            name => {
                let zone = local_time::zone(name).map_err(|_| ("timeZone", bad_zone))?;
                zone.iana_name().map(str::to_owned)
            }
        };
        Ok(Self { topics, quiet_hours, time_zone })
    }

    /// Only topics that there are, and those that they have said something about, are kept: whoever has the link may post
    /// whatever they like.
    fn put(self, known: &HashSet<String>, wants: &mut Preference) {
        for (topic, subscribed) in self.topics {
            if !known.contains(&topic) && !wants.topics.contains_key(&topic) {
                continue;
            }
            let channels = wants.topics.remove(&topic).and_then(|before| before.channels);
            wants.topics.insert(topic, Topic { subscribed, channels });
        }
        wants.quiet_hours = self.quiet_hours;
        wants.time_zone = self.time_zone.or(wants.time_zone.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_click_is_understood_in_both_forms() {
        let parts =
            b"--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n";
        for body in [&b"List-Unsubscribe=One-Click"[..], parts] {
            assert_eq!(fields(body).text("List-Unsubscribe"), ONE_CLICK);
        }
        assert_eq!(fields(b"List-Unsubscribe=maybe").text("List-Unsubscribe"), "maybe");
        assert_eq!(fields(&[0xff, 0xfe]).text("List-Unsubscribe"), "");
    }

    #[test]
    fn only_topics_that_there_are_are_kept() {
        let wishes =
            Wishes::read(&Fields::read(b"topic=offers&topic=news&topic=junk&wanted=news")).ok().unwrap();
        let mut wants = Preference::default();
        wants.topics.insert("news".to_owned(), Topic { subscribed: false, channels: None });
        wishes.put(&HashSet::from(["offers".to_owned()]), &mut wants);
        let kept: Vec<(&str, bool)> =
            wants.topics.iter().map(|(name, topic)| (name.as_str(), topic.subscribed)).collect();
        assert_eq!(kept, [("news", true), ("offers", false)]);
    }

    #[test]
    fn invalid_values_are_reported() {
        let read = |body: &str| Wishes::read(&Fields::read(body.as_bytes()));
        assert!(read("quietFrom=22:00&quietTo=").is_err() && read("quietFrom=late&quietTo=07:00").is_err());
        assert!(read("quietFrom=22:00&quietTo=22:00").is_err() && read("timeZone=Berlin").is_err());
        let wishes =
            read("topic=a&topic=b&wanted=b&quietFrom=22%3A00&quietTo=07%3A00&timeZone=europe%2Fberlin")
                .ok()
                .unwrap();
        assert_eq!(wishes.topics, [("a".to_owned(), false), ("b".to_owned(), true)]);
        assert_eq!(wishes.time_zone.as_deref(), Some("Europe/Berlin"));
    }
}
