//! The audit: who did what, newest first, with filters, a time range and a file of what was found.

use std::collections::{BTreeSet, HashMap};

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{HeaderValue, Uri, header},
    response::IntoResponse,
    routing::get,
};
use jiff::{Timestamp, tz::TimeZone};
use punctual_engine::titles::{Titled, line};
use punctual_model::{
    AuditAction, reason,
    table::{Cell, Column, Kind, Table},
};
use punctual_store::{
    Stretch, api_keys,
    audit::{self, AuditFilter, AuditSubject, ListedEntry},
    notifications,
    operations::subjects,
    reminders, report_subscriptions, users, work,
};
use punctual_wire::audit::{SubjectName, place, read_place};

use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    views::SavedViews,
    words,
};

/// What subjects are called, by their ids.
type Names = HashMap<String, String>;

const ROWS: i64 = 50;
/// Entries of a file at most, and those that are read for it at once.
const EXPORTED: usize = 50_000;
const READ_AT_ONCE: i64 = 1_000;
/// The names of the filters, in addresses and forms.
const FILTERS: [&str; 5] = ["from", "to", "actor", "action", "subject"];

pub fn routes() -> Router<Shared> {
    Router::new().route("/audit", get(show)).route("/audit.csv", get(csv))
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: Frame,
    views: SavedViews,
    rows: Vec<Row>,
    asked: Asked,
    actions: Vec<(&'static str, &'static str)>,
    export: String,
    next: Option<String>,
}

/// What was entered, and what of it cannot be read.
struct Asked {
    from: String,
    to: String,
    actor: String,
    action: String,
    subject: String,
    /// What would be right.
    fault: Option<&'static str>,
    is_any: bool,
}

struct Row {
    seq: i64,
    when: When,
    who: String,
    action: String,
    sentence: String,
    subject: String,
    /// Its id, where nobody can read that.
    key: Option<String>,
    link: Option<String>,
    reason: String,
    unit: String,
    /// The beginning of the digest, and all of it.
    digest: Option<(String, String)>,
    raw: String,
}

/// What is asked for; an entry that cannot be read asks for nothing and is named.
fn read(visit: &Visit, fields: &Fields) -> (Asked, AuditFilter) {
    let given = |name: &str| Some(fields.text(name)).filter(|text| !text.is_empty()).map(str::to_owned);
    let instant = |name: &str| given(name).map(|text| visit.zone.read(&text));
    let (from, to) = (instant("from"), instant("to"));
    let subject = given("subject").map(|text| SubjectName::read(&text));
    let action = given("action").map(|text| text.parse::<AuditAction>());
    let fault = if from == Some(None) || to == Some(None) {
        Some("A time is written like 2026-05-14T09:00.")
    } else if subject == Some(None) {
        Some("A subject is a kind and an id, such as work/4711.")
    } else if matches!(action, Some(Err(_))) {
        Some("There is no such action.")
    } else {
        None
    };
    let asked = Asked {
        from: fields.text("from").to_owned(),
        to: fields.text("to").to_owned(),
        actor: fields.text("actor").to_owned(),
        action: fields.text("action").to_owned(),
        subject: fields.text("subject").to_owned(),
        fault,
        is_any: FILTERS.iter().any(|name| !fields.text(name).is_empty()),
    };
    let subject = subject.flatten().map(|subject| AuditSubject { kind: subject.kind, id: subject.id });
    let filter = AuditFilter {
        from: from.flatten(),
        to: to.flatten(),
        actor: given("actor"),
        action: action.and_then(Result::ok).map(|action| action.as_str().to_owned()),
        subject,
        after: read_place(fields.text("after")),
        limit: ROWS,
    };
    (asked, filter)
}

/// What may be shown; nothing while a filter cannot be read, so that nobody takes everything for what they asked for.
async fn found(
    app: &App,
    visit: &Visit,
    filter: &AuditFilter,
) -> Result<Stretch<ListedEntry, (i64, i64)>, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    Ok(audit::stretch(&mut reader.conn(), &visit.viewer.by.reach(), filter).await?)
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let (asked, filter) = read(&visit, &fields);
    let Stretch { rows, next } = if asked.fault.is_some() {
        Stretch { rows: Vec::new(), next: None }
    } else {
        found(&app, &visit, &filter).await?
    };
    let pairs = FILTERS.map(|name| (name, fields.text(name)));
    let next = next.map(|(at, id)| {
        let after = place(at, id);
        format!("/audit{}", links::query(pairs.into_iter().chain([("after", after.as_str())])))
    });
    let now = Visit::now(&app);
    let names = names(&app, &visit, &rows).await?;
    page(&AuditPage {
        frame: visit.frame(&app, "Audit", "/audit").await?,
        views: SavedViews::of(&app, &visit).await?,
        rows: rows.into_iter().map(|row| shaped(row, &names, &visit, now)).collect(),
        export: format!("/audit.csv{}", links::query(pairs)),
        actions: AuditAction::all().iter().map(|action| (action.as_str(), action.sentence())).collect(),
        asked,
        next,
    })
}

/// The part of an id that nobody can read: of `subscription/UUID` the end.
fn opaque(id: &str) -> Option<&str> {
    id.rsplit(['/', ':']).next().filter(|last| words::is_opaque(last))
}

/// The part of a subject's id that a name stands for, where people call it by one.
fn readable<'i>(kind: &str, id: &'i str) -> Option<&'i str> {
    match kind {
        "work" | "key" => Some(id).filter(|id| !id.is_empty()),
        _ => opaque(id),
    }
}

/// The names of subjects whose ids say nothing, by kind and id.
async fn names(app: &App, visit: &Visit, rows: &[ListedEntry]) -> Result<Names, Refusal> {
    let reach = visit.viewer.by.reach();
    let of = |kind: &str| -> Vec<String> {
        let own = rows.iter().filter(|row| row.subject_kind == kind);
        own.filter_map(|row| opaque(&row.subject_id)).map(str::to_owned).collect()
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let conn = &mut reader.conn();
    let reminders = reminders::settings::by_ids(conn, &reach, of("reminder-setting")).await?;
    let reports =
        report_subscriptions::by_guids(conn, &reach, [of("report-subscription"), of("rollout")].concat())
            .await?;
    let messages = notifications::by_ids(conn, &reach, of("notification")).await?;
    let events = subjects::by_ids(conn, &reach, [of("event"), of("task")].concat()).await?;
    let mut people = Vec::new();
    for id in of("user").into_iter().collect::<BTreeSet<_>>() {
        people.extend(users::get(conn, &id).await?);
    }
    let mut works = Vec::new();
    let numbers: BTreeSet<i64> = rows
        .iter()
        .filter(|row| row.subject_kind == "work")
        .filter_map(|row| row.subject_id.parse().ok())
        .collect();
    for id in numbers {
        works.extend(work::by_id(conn, &reach, id).await?);
    }
    let titled: Vec<Titled<'_>> = works.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let titles = app.engine.titles(conn, &reach, &titled).await?;
    let keys: BTreeSet<&str> =
        rows.iter().filter(|row| row.subject_kind == "key").map(|row| row.subject_id.as_str()).collect();
    let keys: Vec<_> = if keys.is_empty() || !visit.viewer.sees_all() {
        Vec::new()
    } else {
        api_keys::all(conn).await?.into_iter().filter(|key| keys.contains(key.id.as_str())).collect()
    };
    let named = |id: String, name: &str| (id, line(name));
    let all = reminders.into_iter().map(|row| named(row.id, &row.name));
    let all = all.chain(reports.into_iter().map(|row| named(row.guid, &row.name)));
    let all = all.chain(messages.into_iter().map(|row| named(row.id.to_string(), &row.subject)));
    let all = all.chain(people.into_iter().map(|row| named(row.id, &row.name)));
    let all = all.chain(works.iter().zip(&titles).map(|(row, title)| named(row.id.to_string(), title)));
    let all = all.chain(keys.into_iter().map(|row| named(row.id, &row.name)));
    let all = all.chain(events.into_iter().map(|row| named(row.id, &row.title)));
    Ok(all.filter(|(_, name)| !name.is_empty()).collect())
}

fn shaped(row: ListedEntry, names: &Names, visit: &Visit, now: Timestamp) -> Row {
    let sentence = row.action.parse::<AuditAction>().map_or("", AuditAction::sentence);
    let link = match row.subject_kind.as_str() {
        "work" => Some(format!("/work/{}", links::encoded(&row.subject_id))),
        "notification" => Some(format!("/notifications/{}", links::encoded(&row.subject_id))),
        "source" => row.subject_id.split_once('/').map(|(kind, id)| super::sources::link(kind, id)),
        "user"
            if visit.viewer.may_define()
                && opaque(&row.subject_id).is_some_and(|id| names.contains_key(id)) =>
        {
            Some(format!("/settings/users/{}", links::encoded(&row.subject_id)))
        }
        _ => None,
    };
    let data: Option<serde_json::Value> =
        row.data.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let raw = serde_json::json!({ "from": row.from_status, "to": row.to_status, "version": row.version,
        "reason": row.reason, "data": data, "digest": row.digest });
    Row {
        seq: row.id,
        when: visit.zone.when(row.at, now),
        who: row.actor,
        sentence: sentence.to_owned(),
        action: row.action,
        link: link.filter(|_| !row.subject_id.is_empty()),
        key: readable(&row.subject_kind, &row.subject_id).map(|_| row.subject_id.clone()),
        subject: match readable(&row.subject_kind, &row.subject_id).map(|id| names.get(id)) {
            // What is gone has its number.
            Some(None) if row.subject_kind == "work" || row.subject_kind == "key" => {
                named(&row.subject_kind, &row.subject_id)
            }
            Some(Some(name)) => format!("{}: {name}", row.subject_kind.replace('-', " ")),
            Some(None) => row.subject_kind.replace('-', " "),
            None => named(&row.subject_kind, &row.subject_id),
        },
        reason: row.reason.as_deref().map(|code| reason::sentence_of(code).to_owned()).unwrap_or_default(),
        unit: row.business_unit.unwrap_or_default(),
        digest: row.digest.map(|digest| (digest.chars().take(12).collect(), digest)),
        raw: serde_json::to_string_pretty(&raw).unwrap_or_default(),
    }
}

fn named(kind: &str, id: &str) -> String {
    if id.is_empty() { format!("{kind} (erased)") } else { format!("{kind}/{id}") }
}

/// Everything that fits the filters, newest first, up to a bound.
async fn csv(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let (asked, mut filter) = read(&visit, &Fields::of_query(&uri));
    let columns = [
        ("seq", Kind::Integer),
        ("at", Kind::Instant),
        ("actor", Kind::Text),
        ("action", Kind::Text),
        ("subject", Kind::Text),
        ("from", Kind::Text),
        ("to", Kind::Text),
        ("version", Kind::Integer),
        ("reason", Kind::Text),
        ("data", Kind::Text),
        ("businessUnit", Kind::Text),
        ("digest", Kind::Text),
    ];
    let mut table = Table::new(columns.map(|(name, kind)| Column::new(name, kind)).into());
    filter.limit = READ_AT_ONCE;
    while asked.fault.is_none() && table.rows.len() < EXPORTED {
        let found = found(&app, &visit, &filter).await?;
        table.rows.extend(found.rows.into_iter().map(cells));
        filter.after = found.next;
        if filter.after.is_none() {
            break;
        }
    }
    let text = punctual_reports::csv::table(&table, &TimeZone::UTC);
    let kind = HeaderValue::from_static("text/csv; charset=utf-8");
    let name = HeaderValue::from_static("attachment; filename=\"audit.csv\"");
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], text).into_response())
}

fn cells(row: ListedEntry) -> Vec<Cell> {
    let text = |text: Option<String>| text.map_or(Cell::Null, Cell::Text);
    vec![
        Cell::Integer(row.id),
        Cell::Instant(row.at),
        Cell::Text(row.actor),
        Cell::Text(row.action),
        Cell::Text(named(&row.subject_kind, &row.subject_id)),
        text(row.from_status),
        text(row.to_status),
        row.version.map_or(Cell::Null, Cell::Integer),
        text(row.reason),
        text(row.data),
        text(row.business_unit),
        text(row.digest),
    ]
}
