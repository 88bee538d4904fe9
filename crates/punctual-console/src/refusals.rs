//! Refusals as pages: inside the frame for those who are signed in, alone for everybody else. They have the text and the
//! code that the API gives, say where to go, and serve for addresses too at which there is nothing.

use askama::Template;
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{Html, IntoResponse, Response},
};
use punctual_wire::{Code, Problem};

use crate::{
    Shared, assets,
    frame::{Frame, NAV, Visit},
    guard, links,
    session::{self, LIVE_HEADER},
};

/// What an answer refuses. Who made it does not know who looks; [`in_frame`] does.
#[derive(Clone)]
pub struct Refused(pub Box<Problem>);

#[derive(Template)]
#[template(path = "refusal.html")]
struct Alone<'p> {
    version: &'static str,
    problem: &'p Problem,
}

#[derive(Template)]
#[template(path = "refusal_framed.html")]
struct Framed<'p> {
    frame: Frame,
    problem: &'p Problem,
    sentence: String,
    /// What was typed may still be in the browser.
    hint: Option<&'static str>,
    ways: Vec<Way>,
}

/// Somewhere to go from here.
struct Way {
    link: String,
    title: String,
    note: &'static str,
}

/// The page of a refusal that knows nothing of its reader.
pub fn alone(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let page = Alone { version: assets::version(), problem };
    let mut response = (status, Html(page.render().unwrap_or_default())).into_response();
    if let Some(seconds) = problem.retry_after_seconds() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// What is not the console's: programs ask there, and get problem+json.
const OF_PROGRAMS: [&str; 12] = [
    "/api",
    "/docs",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/report-subscriptions",
    "/calendars",
    "/notify",
    "/SurveyInstances",
    "/assets",
    "/live",
];

/// What was asked, as far as a refusal needs it.
struct Asked {
    headers: HeaderMap,
    method: Method,
    path: String,
}

impl Asked {
    fn of(request: &Request) -> Self {
        Self {
            headers: request.headers().clone(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
        }
    }

    /// Whether a person asked with a browser for something of the console.
    fn wants_page(&self) -> bool {
        let accept = self.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let is_of_programs = OF_PROGRAMS.iter().any(|prefix| {
            let rest = self.path.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        accept.is_some_and(|accept| accept.contains("text/html")) && !is_of_programs
    }

    /// What an answer without a page refuses, where a person is to read it.
    fn unread(&self, response: &Response) -> Option<Problem> {
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !self.wants_page() || kind.is_some_and(|kind| kind.starts_with("text/html")) {
            return None;
        }
        match response.status() {
            StatusCode::NOT_FOUND => {
                let detail = "The address was mistyped, or what it showed is no longer there.";
                Some(Problem {
                    title: "There is no such page".into(),
                    ..Problem::new(Code::NotFound, detail)
                })
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                let detail = "It cannot be opened by its address. Go back to the page with the form.";
                let problem = Problem::new(Code::MethodNotAllowed, detail);
                Some(Problem { title: "This page is the answer to a form".into(), ..problem })
            }
            StatusCode::PAYLOAD_TOO_LARGE => Some(Problem::new(
                Code::BodyTooLarge,
                "The form is larger than it may be; nothing was stored.",
            )),
            _ => None,
        }
    }

    /// The page of the navigation that this address is below.
    fn section(&self) -> Option<(&'static str, &'static str)> {
        let path = match self.path.split('/').nth(1) {
            Some("notifications") => "/outbox",
            Some("suppressions") => "/channels",
            _ => self.path.as_str(),
        };
        let is_below =
            |home: &str| path.strip_prefix(home).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let own = NAV.iter().filter(|entry| entry.path != "/" && is_below(entry.path));
        own.max_by_key(|entry| entry.path.len()).map(|entry| (entry.path, entry.name))
    }
}

/// Shows refusals in the frame of whoever looks. Requests that nobody made keep the bare answer.
pub async fn in_frame(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    let mut response = next.run(request).await;
    if asked.headers.contains_key(LIVE_HEADER) {
        return response;
    }
    let problem = match response.extensions_mut().remove::<Refused>() {
        Some(Refused(problem)) => problem,
        None => match asked.unread(&response) {
            Some(problem) => {
                response = alone(&problem);
                Box::new(problem)
            }
            None => return response,
        },
    };
    if let Some(page) = framed(&app, &asked, &problem).await {
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        *response.body_mut() = Body::from(page);
    }
    guard::hardened(response)
}

/// The page in the frame; none where nobody is signed in, or where not even the frame can be had.
async fn framed(app: &Shared, asked: &Asked, problem: &Problem) -> Option<String> {
    let viewer = session::find(app, &asked.headers, false).await.ok()??;
    let who = viewer.shown.clone();
    let visit = Visit::of(viewer, &asked.headers, "/");
    let section = asked.section();
    let frame = visit.frame(app, &problem.title, section.map_or("", |(path, _)| path)).await.ok()?;
    let sentence = match problem.status {
        404 => format!("Nothing is at {}.", asked.path),
        403 => format!("{who} may not do this. Nothing was changed."),
        409 => "Nothing was changed.".to_owned(),
        500.. => "The cause is in the server's log.".to_owned(),
        _ => String::new(),
    };
    let is_form = asked.method == Method::POST && problem.status != 404;
    let page = Framed {
        frame,
        problem,
        sentence,
        hint: is_form.then_some("Go back with your browser to the form: what you typed is still there."),
        ways: ways(asked, problem, section),
    };
    page.render().ok()
}

fn ways(asked: &Asked, problem: &Problem, section: Option<(&str, &str)>) -> Vec<Way> {
    let way = |link: &str, title: &str, note| Way { link: link.to_owned(), title: title.to_owned(), note };
    let mut ways = Vec::new();
    if let Some((path, name)) = section {
        ways.push(way(path, name, "the page that it would be under"));
    }
    let last = asked.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    if problem.status == 404 && !last.is_empty() && last.len() <= 200 {
        let link = format!("/search{}", links::query([("q", last)]));
        ways.push(Way { link, title: format!("Search for {last}"), note: "ids, addresses and names" });
    }
    if problem.status == 403 {
        ways.push(way("/account", "Your account", "who you are here and what you may do"));
    }
    ways.push(way("/", "Overview", "what needs attention, and how deliveries go"));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, accept: &'static str) -> Asked {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        Asked { headers, method: Method::GET, path: path.to_owned() }
    }

    #[test]
    fn people_get_pages_and_programs_do_not() {
        const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";
        assert!(asked("/outbx", BROWSER).wants_page() && asked("/", BROWSER).wants_page());
        assert!(asked("/apiary", BROWSER).wants_page());
        assert!(!asked("/outbx", "*/*").wants_page());
        for path in ["/api", "/api/v1/none", "/docs/none", "/assets/none.css", "/metrics"] {
            assert!(!asked(path, BROWSER).wants_page(), "{path}");
        }
    }

    #[test]
    fn an_address_belongs_to_the_page_that_it_is_below() {
        let section = |path: &str| asked(path, "").section().map(|(path, _)| path);
        assert_eq!(section("/notifications/none"), Some("/outbox"));
        assert_eq!(section("/reports/none/runs/x"), Some("/reports"));
        assert_eq!(section("/settings/lists/none"), Some("/settings"));
        assert_eq!(section("/reportsx"), None);
        assert_eq!(section("/"), None);
    }
}
