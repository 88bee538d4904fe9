//! The zone that times are shown in: found by a part of its name, remembered in a cookie, and forgotten on demand.

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, Uri, header},
    routing::get,
};
use punctual_model::local_time;

use crate::{
    Shared,
    answer::{Page, page, see_other},
    cookies,
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    times::Zone,
    words::counted,
};

/// Zones that one page lists.
const SHOWN: usize = 60;

pub fn routes() -> Router<Shared> {
    Router::new().route("/zone", get(show).post(choose))
}

#[derive(Template)]
#[template(path = "zone.html")]
struct ZonePage {
    frame: Frame,
    sentence: String,
    q: String,
    back: String,
    rows: Vec<Row>,
    /// The browser's own zone, where it was set aside for another.
    own: Option<Row>,
}

struct Row {
    name: String,
    city: String,
    clock: String,
    offset: String,
}

async fn show(State(app): State<Shared>, visit: Visit, headers: HeaderMap, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let q: String = fields.text("q").chars().take(100).collect();
    let now = Visit::now(&app);
    let shaped = |name: String| {
        let zone = Zone::named(Some(&name));
        Row { city: zone.name.clone(), clock: zone.clock(now), offset: zone.offset(now), name }
    };
    let mut found = matching(&q);
    let count = counted(i64::try_from(found.len()).unwrap_or(i64::MAX), "zone", "zones");
    let sentence = match (q.is_empty(), found.len()) {
        (true, _) => format!("Times are shown in {}. Search for a city or a region.", visit.zone.whole),
        (false, 0) => format!("No zone has {q} in its name. Zones are named after large cities."),
        (false, SHOWN..) => format!("{count}, the first {SHOWN} of them below."),
        (false, _) => format!("{count}."),
    };
    found.truncate(SHOWN);
    let chosen = cookies::zone(&headers, cookies::ZONE_CHOSEN);
    let own =
        cookies::zone(&headers, cookies::ZONE).filter(|own| chosen.is_some_and(|chosen| chosen != *own));
    page(&ZonePage {
        frame: visit.frame(&app, "Time zone", "/zone").await?,
        sentence,
        back: back(&fields),
        rows: found.into_iter().map(shaped).collect(),
        own: own.map(shaped),
        q,
    })
}

/// Zones with this text in their names, those whose city begins with it first; a few usual ones without a text.
fn matching(q: &str) -> Vec<String> {
    let asked = q.to_lowercase().replace(' ', "_");
    if asked.is_empty() {
        return vec!["UTC".to_owned()];
    }
    let mut found: Vec<String> =
        local_time::names().into_iter().filter(|name| name.to_lowercase().contains(&asked)).collect();
    let begins = |name: &str| {
        let city = name.rsplit('/').next().unwrap_or(name).to_lowercase();
        if city == asked {
            0
        } else if city.starts_with(&asked) {
            1
        } else {
            2
        }
    };
    found.sort_by(|one, other| begins(one).cmp(&begins(other)).then_with(|| one.cmp(other)));
    found
}

fn back(fields: &Fields) -> String {
    Some(fields.text("back")).filter(|path| links::is_own_path(path)).unwrap_or("/").to_owned()
}

/// Remembers a zone; where several fit what was typed, they are shown to choose from.
async fn choose(headers: HeaderMap, form: Signed) -> Page {
    let Signed { fields, .. } = form;
    let (typed, back) = (fields.text("zone"), back(&fields));
    let own = !fields.text("own").is_empty();
    let mut found = matching(typed);
    let chosen = match found.iter().position(|name| name.eq_ignore_ascii_case(typed)) {
        Some(at) => Some(found.swap_remove(at)),
        None if found.len() == 1 && !typed.is_empty() => found.pop(),
        None => None,
    };
    if chosen.is_none() && !own {
        return see_other(&format!("/zone{}", links::query([("q", typed), ("back", back.as_str())])));
    }
    let mut answer = see_other(&back)?;
    if let Some(cookie) = cookies::set_zone(&headers, chosen.as_deref().filter(|_| !own)) {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_found_by_a_part_of_their_name() {
        assert_eq!(matching("auckland")[0], "Pacific/Auckland");
        assert_eq!(matching("new york")[0], "America/New_York");
        assert!(matching("europe").len() > 30 && matching("nowhere").is_empty());
        assert_eq!(matching(""), ["UTC"]);
    }
}
