//! The page of one notification: what it says, to whom it went, and its whole timeline.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderName, Uri, header},
    response::IntoResponse,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_engine::{Basis, SentContent, intake::UNROUTED, timeline::Moment};
use punctual_model::{AttemptOutcome, NotificationStatus, ReceiptState, SuppressionReason};
use punctual_store::{
    attempts::{self, AttemptRow},
    notifications::{self, NotificationRow},
    receipts::{self, ReceiptRow},
    skipped_targets::{self, SkippedTarget},
    work,
};
use punctual_templates::Rendered;
use punctual_wire::Problem;
use serde_json::Value;

use super::{
    attention::causes,
    outbox::{channel_name, done},
    timeline::{Happened, Step, audited, in_order, pretty, pretty_text},
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Act, Fields},
    frame::{Frame, Visit},
    session::Viewer,
    times::{When, Zone, rough},
    words::{self, Pill, counted},
};

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/notifications/{id}", get(show))
        .route("/notifications/{id}/html", get(html))
        .route("/notifications/{id}/acknowledge", post(acknowledge))
}

#[derive(Template)]
#[template(path = "notification.html")]
struct NotificationPage {
    frame: Frame,
    done: Option<String>,
    row: NotificationRow,
    pill: Pill,
    sentence: String,
    reason: String,
    created: When,
    details: Vec<Detail>,
    targets: Vec<Target>,
    timeline: Vec<Step>,
    context: Option<String>,
    content: Content,
    is_parked: bool,
    can_act: bool,
    /// Where what is at fault is repaired, with what that is called.
    repair: Option<(String, String)>,
    /// What the provider took and did not deliver, until somebody has seen it.
    not_delivered: Vec<String>,
    can_acknowledge: bool,
}

/// What was sent, made again from what is stored.
struct Content {
    subject: String,
    body: String,
    html: Option<String>,
    /// How it was made, where that is not plain.
    basis: Option<String>,
    note: Option<String>,
}

impl From<SentContent> for Content {
    fn from(content: SentContent) -> Self {
        let basis = match (content.basis, content.version) {
            (Basis::Template, Some(version)) => Some(format!(
                "Rendered again from version {version} of the template, which was in force then."
            )),
            (Basis::Now, Some(version)) => {
                Some(format!("Rendered from version {version} of the template, which is in force now."))
            }
            _ => None,
        };
        let text = content.text.unwrap_or_else(|| Rendered {
            subject: String::new(),
            body: String::new(),
            html: None,
        });
        Self { subject: text.subject, body: text.body, html: text.html, basis, note: content.note }
    }
}

struct Detail {
    name: &'static str,
    value: String,
    link: Option<String>,
}

struct Target {
    address: String,
    pill: Pill,
    attempts: String,
    answer: String,
    message_id: Option<String>,
    when: When,
    /// What the provider reported later: that is not the same as accepted.
    receipt: Option<(Pill, Option<When>)>,
}

async fn visible(app: &App, viewer: &Viewer, id: &str) -> Result<NotificationRow, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = notifications::by_id(&mut reader.conn(), &viewer.by.reach(), id).await?;
    row.ok_or_else(|| Problem::not_found("notification", id).into())
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: Uri) -> Page {
    let mut row = visible(&app, &visit.viewer, &id).await?;
    if let Some((reason, until)) = app.engine.waits_for(&row).await? {
        row.reason_code = Some(reason.into());
        row.ready_at = row.ready_at.max(until);
    }
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let attempts = attempts::of(&mut reader.conn(), vec![row.seq]).await?;
    let skipped = skipped_targets::of(&mut reader.conn(), vec![row.seq]).await?;
    let reported = receipts::of(&mut reader.conn(), vec![row.seq]).await?;
    let work = match row.work_id {
        Some(id) => work::by_id(&mut reader.conn(), &visit.viewer.by.reach(), id.0).await?,
        None => None,
    };
    let work = match work {
        Some(of) => {
            let reach = visit.viewer.by.reach();
            Some((of.id, app.engine.title(&mut reader.conn(), &reach, &of.kind, &of.key).await?))
        }
        None => None,
    };
    drop(reader);
    let repair = match row.status {
        NotificationStatus::Parked => {
            let (reason, about) = (row.reason_code.as_deref().unwrap_or_default(), about(&row));
            causes::repair_of(&app, &visit, reason, &about).await?
        }
        _ => None,
    };
    let moments = app.engine.timeline(&visit.viewer.by.reach(), &row.id.to_string()).await?;
    let content = Content::from(app.engine.content_of(&row).await?);
    let shown = [&content.subject, &row.subject].into_iter().find(|text| !text.is_empty());
    let title = shown.cloned().unwrap_or_else(|| words::called("", row.template.as_deref()));
    let frame = visit.frame(&app, &title, "/outbox").await?;
    page(&NotificationPage {
        done: done(&Fields::of_query(&uri)),
        pill: words::notification(row.status),
        sentence: in_one_sentence(&row, &visit, now),
        reason: words::reason(row.reason_code.as_deref()),
        created: visit.zone.exact(row.created_at),
        details: details(&row, work),
        targets: targets(&attempts, &skipped, &reported, &visit, now),
        not_delivered: reported.iter().filter(|row| row.needs_person).map(not_delivered).collect(),
        can_acknowledge: visit.viewer.may_act() && visit.viewer.by.may_touch(row.business_unit.as_deref()),
        timeline: in_order(happened(moments, &visit.zone), &visit.zone),
        context: row.context.as_ref().map(|context| pretty_text(context.as_str())),
        content,
        is_parked: row.status == NotificationStatus::Parked,
        repair,
        can_act: row.status == NotificationStatus::Parked
            && visit.viewer.may_act()
            && visit.viewer.by.may_touch(row.business_unit.as_deref()),
        frame,
        row,
    })
}

/// What the reason of a parked message is about, as causes have it.
fn about(row: &NotificationRow) -> String {
    match row.reason_code.as_deref().unwrap_or_default() {
        "list-unknown" => row.list_name.clone().unwrap_or_default(),
        reason if reason.starts_with("template-") => row.template.clone().unwrap_or_default(),
        _ => row.channel.to_string(),
    }
}

fn in_one_sentence(row: &NotificationRow, visit: &Visit, now: Timestamp) -> String {
    use NotificationStatus::{Delivered, Discarded, Parked, Pending, Retrying, Withdrawn};
    let when = |at: Option<Timestamp>| at.map_or(String::new(), |at| visit.zone.when(at, now).text);
    let between = |from: Timestamp, to: Timestamp| rough(to.as_microsecond() - from.as_microsecond());
    let attempts = counted(row.retry_count, "attempt", "attempts");
    match row.status {
        Delivered => format!(
            "Delivered {}, {} after it was queued.",
            when(row.delivered_at),
            between(row.created_at, row.delivered_at.unwrap_or(row.created_at))
        ),
        Parked => format!("Parked {} after {attempts}. Needs attention.", when(row.finished_at)),
        Pending | Retrying if row.ready_at > now && row.reason_code.is_some() => {
            format!("{}, {}.", words::reason(row.reason_code.as_deref()), when(Some(row.ready_at)))
        }
        Retrying => format!("{attempts} failed for now; the next is {}.", when(Some(row.ready_at))),
        Pending if row.ready_at > now => {
            format!("To be sent {}.", when(Some(row.ready_at)))
        }
        Pending => format!("Waiting for {}.", between(row.created_at, now)),
        Withdrawn if row.reason_code.is_some() => {
            format!("Withdrawn {}. {}.", when(row.finished_at), words::reason(row.reason_code.as_deref()))
        }
        Withdrawn => {
            format!("Withdrawn {}: it was no longer needed.", when(row.finished_at))
        }
        Discarded => format!("Discarded {}.", when(row.finished_at)),
    }
}

fn details(row: &NotificationRow, work: Option<(i64, String)>) -> Vec<Detail> {
    let of = |name: &str, value: &str| Some(format!("/outbox{}", crate::links::query([(name, value)])));
    let channel = row.channel.to_string();
    let mut details =
        vec![Detail { name: "Channel", value: channel_name(&channel), link: Some("/channels".to_owned()) }];
    // What a list that does not exist would be of is not known.
    if channel != UNROUTED {
        details.push(Detail { name: "Type", value: row.kind.clone(), link: of("type", &row.kind) });
    }
    let optional = [
        ("List", &row.list_name, row.list_name.as_deref().and_then(|list| of("list", list))),
        ("Site", &row.source_site, row.source_site.as_deref().and_then(|site| of("site", site))),
        ("Instance", &row.source_instance, None),
        ("Script", &row.source_script, None),
        ("Business unit", &row.business_unit, None),
        ("Template", &row.template, None),
        ("Locale", &row.locale, None),
    ];
    for (name, value, link) in optional {
        details.extend(value.clone().map(|value| Detail { name, value, link }));
    }
    let work =
        work.map(|(id, title)| Detail { name: "Work", value: title, link: Some(format!("/work/{id}")) });
    details.extend(work);
    details.push(Detail { name: "Id", value: row.id.to_string(), link: None });
    details
}

fn not_delivered(row: &ReceiptRow) -> String {
    let said = row.detail.as_deref().or(row.code.as_deref()).unwrap_or("the provider gave no reason");
    format!("{}: {said}", row.target.as_deref().unwrap_or_default())
}

/// What a provider reported about an attempt, with when it arrived or failed.
fn receipt_of(
    receipts: &[ReceiptRow],
    one: &AttemptRow,
    visit: &Visit,
    now: Timestamp,
) -> Option<(Pill, Option<When>)> {
    let row =
        receipts.iter().find(|row| row.target.as_ref() == Some(&one.target) && row.attempt == Some(one.n))?;
    let state = ReceiptState::of_rank(row.rank)?;
    let at = row.failed_at.or(row.confirmed_at).or(row.received_at);
    Some((words::receipt(state), at.map(|at| visit.zone.when(at, now))))
}

/// One line a target, with the latest attempt; and those that were left out.
fn targets(
    attempts: &[AttemptRow],
    skipped: &[SkippedTarget],
    receipts: &[ReceiptRow],
    visit: &Visit,
    now: Timestamp,
) -> Vec<Target> {
    let mut found: Vec<(&AttemptRow, i64)> = Vec::new();
    for one in attempts {
        match found.iter_mut().find(|(known, _)| known.target == one.target) {
            Some((latest, count)) => {
                *latest = one;
                *count += 1;
            }
            None => found.push((one, 1)),
        }
    }
    let shaped = found.into_iter().map(|(one, count)| Target {
        address: one.target.clone(),
        pill: words::outcome(one.outcome),
        attempts: counted(count, "attempt", "attempts"),
        answer: one.answer.clone().unwrap_or_default(),
        message_id: one.provider_id.clone(),
        when: visit.zone.when(one.finished_at.unwrap_or(one.started_at), now),
        receipt: receipt_of(receipts, one, visit, now),
    });
    let left_out = skipped
        .iter()
        .filter(|one| !attempts.iter().any(|tried| tried.target == one.target && tried.started_at > one.at))
        .map(|one| {
            let why = one.detail.as_deref().and_then(SuppressionReason::parse);
            Target {
                address: one.target.clone(),
                pill: words::left_out(&one.reason),
                attempts: "left out".to_owned(),
                answer: why.map_or_else(String::new, |why| why.in_words().to_owned()),
                message_id: None,
                when: visit.zone.when(one.at, now),
                receipt: None,
            }
        });
    shaped.chain(left_out).collect()
}

/// The moments of the engine as people read them: an attempt that ended is shown once, with its end.
fn happened(moments: Vec<Moment>, zone: &Zone) -> Vec<Happened> {
    let key = |moment: &Moment| (moment.data["target"].clone(), moment.data["attempt"].clone());
    let ended: Vec<_> = moments.iter().filter(|moment| moment.what == "attemptEnded").map(key).collect();
    let shown =
        moments.into_iter().filter(|moment| moment.what != "attemptStarted" || !ended.contains(&key(moment)));
    shown.map(|moment| one_happened(moment, zone)).collect()
}

fn one_happened(moment: Moment, zone: &Zone) -> Happened {
    let text = |name: &str| moment.data[name].as_str().unwrap_or_default();
    let mut one = Happened {
        detail: moment.detail.clone(),
        raw: pretty(&moment.data),
        ..Happened::new(moment.at, moment.title.clone())
    };
    match moment.what {
        "workCreated" => {
            let due = text("dueAt").parse().map_or(String::new(), |due| zone.exact(due).text);
            one.detail = format!("{}, for {due}", text("title"));
            one.link = Some(format!("/work/{}", text("workId")));
        }
        "workDecided" => one.link = Some(format!("/work/{}", text("workId"))),
        "enqueuedAtSite" => one.detail = String::new(),
        "queued" => one.detail = format!("for {}", channel_name(text("channel"))),
        "attemptStarted" => one.detail = format!("by {}", text("node")),
        "attemptEnded" => {
            let pill = words::outcome(AttemptOutcome::parse(text("outcome")));
            one.class = pill.class.split(' ').next().unwrap_or_default();
            let took = moment.data["durationMs"]
                .as_i64()
                .map_or(String::new(), |ms| format!("within {}", rough(ms * 1_000)));
            let answer = if text("answer").is_empty() { text("messageId") } else { text("answer") };
            one.detail = if answer.is_empty() { took } else { format!("{answer} · {took}") };
        }
        "confirmed" => {
            one.detail = "as the provider says".to_owned();
            one.class = "good";
        }
        "notDelivered" => {
            let said = [text("detail"), text("code")].into_iter().find(|said| !said.is_empty());
            one.detail = said.unwrap_or("the provider gave no reason").to_owned();
            one.class = "bad";
        }
        "complained" => {
            one.detail = "as the provider says".to_owned();
            one.class = "bad";
        }
        "targetSkipped" => one.link = Some("/suppressions".to_owned()),
        "delivered" => {
            one.detail = String::new();
            one.class = "good";
        }
        "waiting" => one.detail = words::reason(Some(text("reason"))),
        "audit" => {
            let reason = moment.data["reason"].as_str();
            let raw = Value::Object(moment.data.as_object().cloned().unwrap_or_default());
            return audited(moment.at, text("action"), text("actor"), reason, &raw, zone);
        }
        _ => {}
    }
    one
}

/// A person has seen that it did not arrive.
async fn acknowledge(State(app): State<Shared>, Path(id): Path<String>, act: Act) -> Page {
    let Act { visit, fields: _ } = act;
    let row = visible(&app, &visit.viewer, &id).await?;
    app.engine.acknowledge(&visit.viewer.by, &row.id.to_string(), None).await?;
    see_other(&format!("/notifications/{}", row.id))
}

/// The HTML body alone, for the frame on the page: no script, no form, nothing from another host, no origin.
pub(in crate::pages) const BODY_POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

async fn html(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    let row = visible(&app, &visit.viewer, &id).await?;
    let content = app.engine.content_of(&row).await?.text;
    let body = content
        .and_then(|text| text.html)
        .ok_or_else(|| Problem::not_found("HTML body of notification", id))?;
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, BODY_POLICY)];
    Ok((headers, body).into_response())
}
