//! Calendars out and in: secret links to feeds, and the import of a calendar file.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};
use jiff::{SignedDuration, Timestamp};
use punctual_store::{
    Lane,
    operations::{
        feeds::{self, FeedRow},
        organisations, people,
        subjects::{self, Between, SubjectRow},
    },
};
use punctual_wire::{
    Code, Problem,
    operations::feeds::{Feed, FeedRequest, Imported, SkippedComponent},
};
use punctual_workflows::operations::{
    calendar::{self, Component},
    commands::{self, Changed, NewSubject},
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Principal},
    body::{Calendar, Json, Text},
    idempotency::IdempotencyKey,
    keys::{hex, secret_hash},
    parameters::{Parameters, Segments},
    trail::audited,
};

/// How far back and ahead a feed shows.
const FEED_BACK: SignedDuration = SignedDuration::from_hours(24 * 90);
const FEED_AHEAD: SignedDuration = SignedDuration::from_hours(24 * 366);
/// Events and tasks in one feed.
const FEED_MAX: i64 = 2_000;

/// Make the secret link to the calendar of an organisation or a person
///
/// It is shown once. Whoever has it sees the calendar, without a key; making it again ends the old one.
#[utoipa::path(post, path = "/api/v1/operations/feeds", tag = "Operations", security(("key" = ["author"])),
    request_body(content = FeedRequest, example = json!({"organisation": "choir"})), responses((status = 201, body = Feed)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = FeedRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let (owner_type, owner_id) = match (request.organisation, request.person) {
            (Some(id), _) => ("organisation", id),
            (None, id) => ("person", id.unwrap_or_default()),
        };
        let now = app.engine.clock.now();
        let mut tx = app.engine.store.begin(Lane::Intake).await?;
        let unit = match owner_type {
            "organisation" => {
                let found = organisations::by_ids(&mut tx.conn(), vec![owner_id.clone()]).await?.pop();
                found.map(|row| row.business_unit)
            }
            _ => people::by_ids(&mut tx.conn(), vec![owner_id.clone()])
                .await?
                .pop()
                .map(|row| row.business_unit),
        };
        let unit = unit.filter(|unit| caller.may_touch(unit.as_deref()));
        let business_unit = unit.ok_or_else(|| Problem::not_found(owner_type, &owner_id))?;
        let mut bytes = [0; 32];
        app.engine.random.bytes(&mut bytes);
        let secret = hex(&bytes);
        let row = FeedRow {
            owner_type: owner_type.to_owned(),
            owner_id: owner_id.clone(),
            secret_hash: secret_hash(&secret),
            business_unit,
            created_at: now.as_microsecond(),
        };
        feeds::put(&mut tx.conn(), now, &row).await?;
        audited(&mut tx, now, caller, "put", "feed", &owner_id).await?;
        tx.commit().await?;
        let path = format!("/calendars/{secret}.ics");
        let feed = Feed { owner_type: owner_type.to_owned(), owner_id, path, created_at: now };
        // The secret is not kept, not even for a repeat of the request.
        let kept = serde_json::to_vec(&Feed { path: String::new(), ..feed.clone() }).ok();
        Ok(JsonResponse { kept, ..JsonResponse::created(&feed)? })
    })
    .await
}

/// End the link to a calendar
#[utoipa::path(delete, path = "/api/v1/operations/feeds/{ownerType}/{ownerId}", tag = "Operations", security(("key" = ["author"])),
    params(("ownerType" = String, Path), ("ownerId" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments((owner_type, owner_id)): Segments<(String, String)>,
) -> Answer {
    let now = app.engine.clock.now();
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    let row = feeds::of(&mut tx.conn(), &owner_type, &owner_id).await?;
    if !row.is_some_and(|row| caller.may_touch(row.business_unit.as_deref())) {
        return Err(Problem::not_found("feed", owner_id).into());
    }
    feeds::delete(&mut tx.conn(), &owner_type, &owner_id).await?;
    audited(&mut tx, now, &caller, "delete", "feed", &owner_id).await?;
    tx.commit().await?;
    JsonResponse::no_content()
}

/// The feeds themselves need no key: the link is the secret.
pub fn public() -> Router<Shared> {
    Router::new().route("/calendars/{file}", get(feed))
}

async fn feed(State(app): State<Shared>, Segments(file): Segments<String>) -> Result<Response, Failure> {
    // Unknown, ended and misspelt links look the same.
    let unknown = || Failure::from(Problem::route_not_found());
    let secret = file.strip_suffix(".ics").filter(|secret| secret.len() == 64).ok_or_else(unknown)?;
    let mut reader = app.engine.store.read().await?;
    let row = feeds::by_hash(&mut reader.conn(), &secret_hash(secret)).await?.ok_or_else(unknown)?;
    let now = app.engine.clock.now();
    let from = now.checked_sub(FEED_BACK).unwrap_or(Timestamp::MIN);
    let to = now.checked_add(FEED_AHEAD).unwrap_or(Timestamp::MAX);
    let is_organisation = row.owner_type == "organisation";
    let owner = |wanted: bool| wanted.then(|| row.owner_id.clone());
    let wanted = Between {
        from,
        to,
        organisation: owner(is_organisation),
        person: owner(!is_organisation),
        limit: FEED_MAX,
        ..Between::default()
    };
    let mut rows = subjects::between(&mut reader.conn(), &wanted).await?;
    let name = if is_organisation {
        organisations::by_ids(&mut reader.conn(), vec![row.owner_id.clone()]).await?.pop().map(|row| row.name)
    } else {
        people::by_ids(&mut reader.conn(), vec![row.owner_id.clone()]).await?.pop().map(|row| row.name)
    };
    // Another unit may have used the same id for an organisation of its own; the link shows only what it was made for.
    rows.retain(|subject| {
        row.business_unit.is_none()
            || subject.business_unit.is_none()
            || subject.business_unit == row.business_unit
    });
    let text = calendar::write(&name.unwrap_or(row.owner_id), &rows);
    let mut response = text.into_response();
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/calendar; charset=utf-8"));
    response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// Import a calendar file
///
/// Events and to-dos are taken with their rules; one that was imported before is changed where the file differs. Those who
/// attend are matched with people by their e-mail address; `creator` stands for an organiser who is not known. What repeats
/// becomes an event for each of its dates within a year. What is not taken is named with its line.
#[utoipa::path(post, path = "/api/v1/operations/import", tag = "Operations", security(("key" = ["author"])),
    params(("creator" = String, Query), ("organisation" = Option<String>, Query), ("businessUnit" = Option<String>, Query)),
    request_body(content = String, content_type = "text/calendar"), responses((status = 200, body = Imported)))]
pub async fn import(
    State(app): State<Shared>,
    caller: Caller<Author>,
    parameters: Parameters,
    body: Text<Calendar>,
) -> Answer {
    let (creator, organisation, unit) = parameters.read(|fields| {
        let creator = fields.required_name("creator");
        (creator, fields.optional_name("organisation"), fields.optional_name("businessUnit"))
    })?;
    let business_unit = caller.unit_for(unit, "")?;
    let mut reader = app.engine.store.read().await?;
    let named = organisation.iter().cloned().collect();
    let zone = organisations::by_ids(&mut reader.conn(), named).await?.pop().and_then(|row| row.time_zone);
    drop(reader);
    let text = body.text()?;
    if !text.contains("BEGIN:VCALENDAR") {
        return Err(Problem::new(
            Code::ImportInvalid,
            "The body is no calendar; it begins with `BEGIN:VCALENDAR`.",
        )
        .into());
    }
    let (components, skipped) =
        calendar::read(&text, zone.as_deref().unwrap_or("UTC"), app.engine.clock.now());
    let import = Import { app: &app, caller: &caller, creator, organisation, business_unit };
    let mut imported = import.take(components).await?;
    imported
        .skipped
        .extend(skipped.into_iter().map(|one| SkippedComponent { line: one.line, reason: one.reason }));
    JsonResponse::ok(&imported)
}

struct Import<'a> {
    app: &'a Arc<App>,
    caller: &'a Principal,
    creator: String,
    organisation: Option<String>,
    business_unit: Option<String>,
}

impl Import<'_> {
    async fn take(&self, components: Vec<Component>) -> Result<Imported, Failure> {
        let engine = &self.app.engine;
        let mut addresses: Vec<String> = Vec::new();
        for one in &components {
            addresses.extend(one.organiser.iter().chain(&one.attendees).cloned());
        }
        let mut reader = engine.store.read().await?;
        let known = people::by_emails(&mut reader.conn(), addresses).await?;
        let uids = components.iter().map(|one| one.uid.clone()).collect();
        let there = subjects::by_uids(&mut reader.conn(), uids).await?;
        drop(reader);
        let known: HashMap<String, String> = known
            .into_iter()
            .filter(|person| self.caller.may_see(person.business_unit.as_deref()))
            .filter_map(|person| Some((person.email?.to_lowercase(), person.id)))
            .collect();
        let there: HashMap<String, SubjectRow> =
            there.into_iter().filter_map(|row| Some((row.ical_uid.clone()?, row))).collect();
        let mut imported = Imported::default();
        let mut new = Vec::new();
        for one in components {
            let wanted = self.subject(&one, &known);
            match there.get(&one.uid) {
                None => new.push(wanted),
                Some(row) if !self.caller.may_touch(row.business_unit.as_deref()) => {
                    let reason = format!("`{}` belongs to somebody else", one.uid);
                    imported.skipped.push(SkippedComponent { line: 0, reason });
                }
                Some(row) if is_same(row, &wanted) => imported.unchanged += 1,
                Some(row) => {
                    let change = |before: &SubjectRow| Ok::<_, Failure>(with(before, &wanted));
                    let changed = commands::update(engine, &row.id, &self.caller.actor(), change).await?;
                    imported.updated += usize::from(matches!(changed, Changed::Done(_)));
                }
            }
        }
        imported.created = commands::create(engine, &new, &self.caller.actor()).await?;
        // A file may hold one identity twice: the first counts.
        imported.unchanged += new.len() - imported.created;
        Ok(imported)
    }

    fn subject(&self, one: &Component, known: &HashMap<String, String>) -> NewSubject {
        let engine = &self.app.engine;
        let creator = one.organiser.as_ref().and_then(|address| known.get(address));
        let creator = creator.unwrap_or(&self.creator).clone();
        let people = one.attendees.iter().filter_map(|address| known.get(address).cloned());
        NewSubject {
            id: engine.random.ordered_uuid(engine.clock.now()).to_string(),
            subject_type: one.subject_type,
            title: one.title.clone(),
            start_at: one.start_at,
            end_at: one.end_at,
            is_all_day: one.is_all_day,
            people: people.filter(|id| *id != creator).collect(),
            creator,
            organisation: self.organisation.clone(),
            time_zone: None,
            business_unit: self.business_unit.clone(),
            ical_uid: Some(one.uid.clone()),
        }
    }
}

fn with(before: &SubjectRow, wanted: &NewSubject) -> SubjectRow {
    SubjectRow {
        title: wanted.title.clone(),
        start_at: wanted.start_at.map(Timestamp::as_microsecond),
        end_at: wanted.end_at.map(Timestamp::as_microsecond),
        is_all_day: wanted.is_all_day,
        creator: wanted.creator.clone(),
        people: serde_json::Value::from(wanted.people.clone()).to_string(),
        organisation: wanted.organisation.clone(),
        ..before.clone()
    }
}

fn is_same(row: &SubjectRow, wanted: &NewSubject) -> bool {
    with(row, wanted) == *row
}
