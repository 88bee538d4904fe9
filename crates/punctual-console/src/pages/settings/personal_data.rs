//! Personal data: what is stored about a person, counted before anything is erased; the certificate; a copy for whoever asks.
//!
//! Addresses are sent in forms and not in links, so that they stay out of histories and logs.

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{Uri, header},
    response::IntoResponse,
    routing::{get, post},
};
use punctual_engine::personal::{Certificate, EraseOptions, Erasure, KindCount, Person};
use punctual_model::{ErasureStatus, Scope};
use punctual_wire::{Code, FieldError, Problem};
use serde_json::json;

use crate::{
    Shared,
    answer::{self, Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    times::When,
    words::grouped,
};

/// Erasures that are listed.
const LISTED: i64 = 50;
/// The longest address or id that is searched for.
const LONGEST: usize = 2_048;

pub fn pages() -> Router<Shared> {
    Router::new()
        .route("/settings/personal-data", get(show))
        .route("/settings/personal-data/plan", post(plan))
        .route("/settings/personal-data/erase", post(erase))
        .route("/settings/personal-data/export", post(export))
        .route("/settings/personal-data/erasure", get(certificate))
        .route("/settings/personal-data/certificate", get(download))
}

#[derive(Template)]
#[template(path = "personal_data.html")]
struct PersonalDataPage {
    frame: Frame,
    sentence: String,
    by: &'static str,
    who: String,
    fault: Option<&'static str>,
    /// What was found, once somebody has searched.
    plan: Option<Vec<(String, String)>>,
    past: Vec<Past>,
}

/// An erasure that was carried out.
struct Past {
    link: String,
    at: When,
    status: &'static str,
    by: String,
    rows: String,
}

#[derive(Template)]
#[template(path = "personal_data_certificate.html")]
struct CertificatePage {
    frame: Frame,
    sentence: &'static str,
    at: When,
    certificate: Certificate,
    erased: Vec<(String, String)>,
    remaining: Vec<(String, String)>,
    download: String,
}

fn must_erase(visit: &Visit) -> Result<(), Refusal> {
    if visit.viewer.has(Scope::Admin) {
        return Ok(());
    }
    Err(Problem::scope_missing(Scope::Admin.as_str()).into())
}

fn titled(kind: &str) -> &str {
    match kind {
        "notifications" => "Messages",
        "attempts" => "Attempts",
        "messages" => "Scheduled messages",
        "work" => "Work",
        "survey-instances" => "Survey links",
        "answers" => "Survey answers",
        "events" => "Published events",
        "sources" => "Sources",
        "people" => "People",
        "lists" => "Lists",
        "reminders" => "Reminders",
        "reports" => "Reports",
        "preferences" => "Preferences",
        "suppressions" => "Suppressions",
        "inbox" => "Inbox messages",
        "digests" => "Held for a digest",
        "users" => "Console accounts",
        "audit-entries" => "Audit entries",
        other => other,
    }
}

fn rows(counts: &[KindCount]) -> Vec<(String, String)> {
    counts.iter().map(|count| (titled(&count.kind).to_owned(), grouped(count.rows))).collect()
}

/// What a form names somebody by.
fn by_of(fields: &Fields) -> &'static str {
    if fields.text("by") == "person" { "person" } else { "address" }
}

const WHO: &str = "Enter an address or the id of a person.";

/// Who is meant by a form; nobody where it names nobody.
fn named(fields: &Fields) -> Option<Person> {
    let who = fields.text("who").to_owned();
    if who.is_empty() || who.len() > LONGEST {
        return None;
    }
    Some(if by_of(fields) == "person" { Person::Id(who) } else { Person::Address(who) })
}

/// The same for a form without a field for it.
fn person_of(fields: &Fields) -> Result<Person, Refusal> {
    let fault = || Problem::from(vec![FieldError::new("/who", Code::MissingField, WHO)]);
    named(fields).ok_or_else(|| fault().into())
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    must_erase(&visit)?;
    let fields = Fields::of_query(&uri);
    let who = fields.text("address").chars().take(LONGEST).collect();
    let sentence = "Find the data about a person, export it, or erase it.".to_owned();
    let past = past(&app, &visit).await?;
    let frame = visit.frame(&app, "Personal data", "/settings").await?;
    page(&PersonalDataPage { frame, sentence, by: by_of(&fields), who, fault: None, plan: None, past })
}

async fn past(app: &Shared, visit: &Visit) -> Result<Vec<Past>, Refusal> {
    let now = Visit::now(app);
    let erasures = app.engine.erasures(&visit.viewer.by, LISTED).await?;
    let done =
        erasures.into_iter().filter_map(|one| one.certificate.map(|proof| (one.id, one.status, proof)));
    Ok(done
        .map(|(id, status, proof)| Past {
            link: format!("/settings/personal-data/erasure?id={id}"),
            at: visit.zone.when(proof.erased_at, now),
            status: if status == ErasureStatus::Done { "Done" } else { "Incomplete" },
            by: proof.erased_by,
            rows: grouped(proof.erased.iter().map(|count| count.rows).sum()),
        })
        .collect())
}

async fn plan(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    must_erase(&visit)?;
    let (by, who) = (by_of(&fields), fields.text("who").to_owned());
    let Some(person) = named(&fields) else {
        let (past, fault) = (past(&app, &visit).await?, Some(WHO));
        let frame = visit.frame(&app, "Personal data", "/settings").await?;
        let sentence = "Enter a person first.".to_owned();
        return answer::form(&PersonalDataPage { frame, sentence, by, who, fault, plan: None, past }, true);
    };
    let planned = app.engine.plan_erasure(&visit.viewer.by, &person).await?;
    let found = rows(&planned.found);
    let sentence = match found.is_empty() {
        true => format!("Nothing is stored about {who}."),
        false => format!("This is stored about {who}. Nothing was changed."),
    };
    let past = past(&app, &visit).await?;
    let frame = visit.frame(&app, "Personal data", "/settings").await?;
    page(&PersonalDataPage { frame, sentence, by, who, fault: None, plan: Some(found), past })
}

async fn erase(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    must_erase(&visit)?;
    let person = person_of(&fields)?;
    let options = EraseOptions { keep_suppressions: fields.text("keep") == "yes" };
    let done = app.engine.erase_person(&visit.viewer.by, &person, options).await?;
    see_other(&format!("/settings/personal-data/erasure?id={}", done.id))
}

async fn found(app: &Shared, visit: &Visit, uri: &Uri) -> Result<(Erasure, Certificate), Refusal> {
    must_erase(visit)?;
    let id = Fields::of_query(uri).text("id").to_owned();
    let erasure = app.engine.erasure(&visit.viewer.by, &id).await?;
    let proof = erasure.certificate.clone();
    let proof = proof.ok_or_else(|| Refusal::from(Problem::not_found("erasure", &id)))?;
    Ok((erasure, proof))
}

async fn certificate(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let (erasure, certificate) = found(&app, &visit, &uri).await?;
    let sentence = match erasure.status {
        ErasureStatus::Done => "A second search found nothing.",
        ErasureStatus::Planned | ErasureStatus::Incomplete => {
            "Some rows were in use. Erase again in a minute."
        }
    };
    page(&CertificatePage {
        frame: visit.frame(&app, "Certificate of erasure", "/settings").await?,
        sentence,
        at: visit.zone.when(certificate.erased_at, Visit::now(&app)),
        erased: rows(&certificate.erased),
        remaining: rows(&certificate.remaining),
        download: format!("/settings/personal-data/certificate?id={}", erasure.id),
        certificate,
    })
}

fn attached(name: &str, document: &serde_json::Value) -> Page {
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    let name = format!("attachment; filename=\"{name}\"");
    let kind = "application/json".to_owned();
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], text).into_response())
}

async fn download(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let (_, one) = found(&app, &visit, &uri).await?;
    let document = json!({
        "id": one.id, "erasedAt": one.erased_at.to_string(), "erasedBy": one.erased_by,
        "businessUnits": one.business_units, "subjectHash": one.subject_hash, "salt": one.salt,
        "erased": one.erased, "remaining": one.remaining, "kept": one.kept, "signature": one.signature,
    });
    attached(&format!("erasure-{}.json", one.id), &document)
}

async fn export(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    must_erase(&visit)?;
    let person = person_of(&fields)?;
    let document = app.engine.export_person(&visit.viewer.by, &person).await?;
    let at = Visit::now(&app).to_string();
    attached("personal-data.json", &json!({ "at": at, "data": document.data, "cut": document.cut }))
}
