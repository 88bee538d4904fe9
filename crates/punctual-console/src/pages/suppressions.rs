//! The suppression list: who gets nothing and why, with a search, a form to add and a page before anything is removed.

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_model::SuppressionReason;
use punctual_store::suppressions::{self, SuppressionFilter, SuppressionRow};
use punctual_wire::{Problem, suppressions::read_key};

use super::confirm::{Confirm, Item};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, page, see_other},
    form::{Act, Fields},
    frame::{Frame, Visit},
    links,
    times::When,
    views::SavedViews,
    words::{self, Pill, counted, grouped},
};

const ROWS: i64 = 50;
/// Counting stops here.
const COUNTED: i64 = 100_000;
/// The types that people are reached over; others can be added through the API.
pub const TYPES: [&str; 5] = ["email", "sms", "whatsapp", "inbox", "webhook"];

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/suppressions", get(show).post(add))
        .route("/suppressions/confirm", post(confirm))
        .route("/suppressions/remove", post(remove))
}

#[derive(Template)]
#[template(path = "suppressions.html")]
struct SuppressionsPage {
    frame: Frame,
    views: SavedViews,
    sentence: String,
    done: Option<String>,
    rows: Vec<Row>,
    is_empty: bool,
    q: String,
    kind: String,
    reason: String,
    kinds: Vec<String>,
    reasons: Vec<(&'static str, &'static str)>,
    next: Option<String>,
    may_act: bool,
    /// What was wrong with the form; what was entered stays.
    fault: Option<String>,
    entered: String,
    chosen: String,
    detail: String,
}

struct Row {
    kind: String,
    address: String,
    pill: Pill,
    detail: String,
    source: String,
    link: Option<String>,
    since: When,
    until: Option<When>,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    shown(&app, &visit, &Fields::of_query(&uri), None).await
}

async fn shown(app: &App, visit: &Visit, fields: &Fields, fault: Option<String>) -> Page {
    let now = Visit::now(app);
    let given = |name: &str| Some(fields.text(name)).filter(|text| !text.is_empty()).map(str::to_owned);
    let after = fields.text("after").split_once(':').unwrap_or_default();
    let filter = SuppressionFilter {
        channel_type: given("type"),
        reason: given("reason").filter(|reason| SuppressionReason::parse(reason).is_some()),
        q: given("q"),
        after: (after.0.to_owned(), after.1.to_owned()),
        limit: ROWS,
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = suppressions::stretch(&mut reader.conn(), &filter).await?;
    let count = suppressions::count(&mut reader.conn(), COUNTED).await?;
    drop(reader);
    let rows = found.rows;
    let next = found.next.map(|(kind, address)| {
        let place = format!("{kind}:{address}");
        let pairs = ["q", "type", "reason"].map(|name| (name, fields.text(name)));
        format!("/suppressions{}", links::query(pairs.into_iter().chain([("after", place.as_str())])))
    });
    let sentence = match count {
        0 => "No address is suppressed.".to_owned(),
        COUNTED.. => format!("{}+ addresses get no messages.", grouped(COUNTED)),
        n => format!("{} no messages.", counted(n, "address gets", "addresses get")),
    };
    let mut kinds: Vec<String> = TYPES.map(str::to_owned).to_vec();
    kinds.extend(rows.iter().map(|row| row.channel_type.clone()));
    kinds.sort_unstable();
    kinds.dedup();
    let is_refused = fault.is_some();
    answer::form(
        &SuppressionsPage {
            frame: visit.frame(app, "Suppression list", "/channels").await?,
            views: SavedViews::of(app, visit).await?,
            sentence,
            done: done(fields),
            is_empty: count == 0,
            rows: rows.into_iter().map(|row| shaped(row, visit, now)).collect(),
            q: fields.text("q").to_owned(),
            kind: fields.text("type").to_owned(),
            reason: fields.text("reason").to_owned(),
            reasons: SuppressionReason::ALL.map(|reason| (reason.as_str(), word(reason))).to_vec(),
            kinds,
            next,
            may_act: visit.viewer.may_act(),
            entered: if fault.is_some() { fields.text("address").to_owned() } else { String::new() },
            chosen: if fault.is_some() { fields.text("channelType").to_owned() } else { "email".to_owned() },
            detail: if fault.is_some() { fields.text("detail").to_owned() } else { String::new() },
            fault,
        },
        is_refused,
    )
}

fn word(reason: SuppressionReason) -> &'static str {
    match reason {
        SuppressionReason::HardBounce => "bounced",
        SuppressionReason::Complaint => "complained",
        SuppressionReason::Manual => "by hand",
        SuppressionReason::Unsubscribed => "unsubscribed",
    }
}

fn pill(reason: &str) -> Pill {
    match SuppressionReason::parse(reason) {
        Some(reason @ (SuppressionReason::HardBounce | SuppressionReason::Complaint)) => {
            Pill { word: word(reason), class: "bad" }
        }
        Some(reason) => Pill { word: word(reason), class: "muted" },
        None => Pill { word: "unknown", class: "muted" },
    }
}

fn shaped(row: SuppressionRow, visit: &Visit, now: Timestamp) -> Row {
    let at = |at: Timestamp| visit.zone.when(at, now);
    let link = row.source.strip_prefix("notification:").map(|id| format!("/notifications/{id}"));
    let source = match row.source.split_once(':') {
        Some(("key", name)) => name.to_owned(),
        Some(("notification", _)) => "the message that was refused".to_owned(),
        Some(("receipt", id)) => format!("the provider, about {id}"),
        _ => row.source.clone(),
    };
    Row {
        pill: pill(&row.reason),
        since: at(row.since),
        until: row.expires_at.map(at),
        kind: row.channel_type,
        address: row.address,
        detail: row.detail.unwrap_or_default(),
        source,
        link,
    }
}

fn done(fields: &Fields) -> Option<String> {
    match fields.text("done") {
        "added" => Some("The address gets no messages from now on.".to_owned()),
        "removed" => Some(
            "The address gets messages again. What was parked stays parked until it is retried.".to_owned(),
        ),
        _ => None,
    }
}

/// Puts an address on the list.
async fn add(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let (channel_type, address) = match read_key(fields.text("channelType"), fields.text("address")) {
        Ok(key) => key,
        Err(fault) => return shown(&app, &visit, &fields, Some(words::said("", &fault.detail))).await,
    };
    let row = SuppressionRow {
        channel_type,
        address,
        reason: SuppressionReason::Manual.as_str().to_owned(),
        source: visit.viewer.by.name().to_owned(),
        detail: Some(fields.text("detail").chars().take(500).collect())
            .filter(|text: &String| !text.is_empty()),
        since: Visit::now(&app),
        expires_at: None,
    };
    app.engine.suppress(&visit.viewer.by, &row).await?;
    see_other("/suppressions?done=added")
}

/// Says what removing means. It changes nothing.
async fn confirm(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let (kind, address) = (fields.text("channelType").to_owned(), fields.text("address").to_owned());
    let mut reader = app.engine.store.read_for_people().await?;
    let row = suppressions::get(&mut reader.conn(), &kind, &address).await?;
    drop(reader);
    let row = row.ok_or_else(|| Refusal::from(Problem::not_found("suppression", &address)))?;
    let reason = SuppressionReason::parse(&row.reason);
    let why = reason.map_or("of an unknown reason", SuppressionReason::in_words);
    page(&Confirm {
        frame: visit.frame(&app, &format!("Remove {address} from the list?"), "/channels").await?,
        sentence: format!("It is there because {why}. After removal it gets {kind} messages again."),
        left_alone: (reason == Some(SuppressionReason::Unsubscribed))
            .then(|| "Its owner asked for this. Remove it only if they asked for messages again.".to_owned()),
        items: vec![Item {
            link: format!("/suppressions{}", links::query([("q", address.as_str())])),
            title: address.clone(),
            note: row.detail.clone().unwrap_or_default(),
            pill: pill(&row.reason),
        }],
        action: "/suppressions/remove",
        hidden: vec![("channelType", kind), ("address", address)],
        button: Some("Remove it from the list".to_owned()),
        is_destructive: true,
        back: "/suppressions".to_owned(),
    })
}

async fn remove(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let (kind, address) = (fields.text("channelType"), fields.text("address"));
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    if !app.engine.unsuppress(&by, kind, address).await? {
        return Err(Problem::not_found("suppression", address).into());
    }
    see_other("/suppressions?done=removed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_word() {
        for reason in SuppressionReason::ALL {
            assert_ne!(pill(reason.as_str()).word, "unknown");
        }
    }
}
