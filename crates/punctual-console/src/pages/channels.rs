//! The channels as they are: what they are made of, whether they can send, how they did in the last hour, and a message
//! to test one. They are made and changed in `settings::channels`.

use std::collections::HashMap;

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_engine::{
    delivery_policy::{Circuit, channel_state::ChannelState},
    trial::{Trial, TrialMessage},
};
use punctual_model::{
    AttemptOutcome, ChannelKey, SendOutcome,
    delivery_policy::{ChannelPolicy, hours::written},
    durations,
};
use punctual_store::{
    attempts::{self, HealthRow},
    channels,
};
use punctual_wire::{Problem, address, keys::Scope};

use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    editor::{self, Notice},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    pages::settings::channels::Channels,
    times::When,
    words::{self, Pill},
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/channels", get(show))
}

/// What is done with a channel.
pub fn forms() -> Router<Shared> {
    Router::new().route("/channels/test", post(try_out))
}

#[derive(Template)]
#[template(path = "channels.html")]
struct ChannelsPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Row>,
    may_try: bool,
    removed: bool,
    tried: Option<Tried>,
    /// What the form has: what was entered stays.
    chosen: String,
    entered: String,
}

struct Row {
    key: String,
    adapter: String,
    pill: &'static str,
    word: &'static str,
    /// Where it is changed, if it is.
    link: Option<String>,
    /// Why it cannot send.
    fault: Option<String>,
    at_most_once: bool,
    health: Option<Health>,
    /// What it keeps to, and how much of it is used.
    keeps: Vec<String>,
    changed: Option<When>,
}

/// How a channel did in the last hour.
struct Health {
    pill: Pill,
    share: String,
    took: String,
    last_error: Option<(String, When)>,
}

/// The message that was just sent, and what came of it; or what was wrong with the form.
struct Tried {
    channel: String,
    address: String,
    pill: Pill,
    text: String,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    shown(&app, &visit, None, Fields::of_query(&uri).text("done") == "removed").await
}

async fn shown(app: &App, visit: &Visit, tried: Option<Tried>, removed: bool) -> Page {
    let now = Visit::now(app);
    let mut reader = app.engine.store.read_for_people().await?;
    let defined = channels::all(&mut reader.conn()).await?;
    // Figures and errors over all business units are for those who see all of them.
    let health =
        if visit.viewer.sees_all() { attempts::health(&mut reader.conn(), now).await? } else { Vec::new() };
    app.engine.channels.refresh(&mut reader.conn(), now).await?;
    let mut states = HashMap::new();
    for channel in &defined {
        let policy = ChannelPolicy::read(&channel.policy);
        let state = app.engine.channel_state(&mut reader.conn(), &channel.key, &policy, now).await?;
        states.insert(channel.key.as_str(), (policy, state));
    }
    drop(reader);
    let circuit = |key: &str| states.get(key).and_then(|(_, state)| state.circuit.as_ref());
    let state = |key: &str| match (app.engine.channels.broken(key), circuit(key)) {
        (Some(broken), _) => ("bad", "cannot send", Some(broken.why)),
        (None, Some(circuit)) => {
            let fault = visit.viewer.sees_all().then(|| circuit_fault(circuit, visit, now));
            ("warn", "circuit open", fault)
        }
        (None, None) if app.engine.channels.get(key).is_some() => ("good", "ready", None),
        (None, None) => ("muted", "not opened", None),
    };
    let row = |key: &str, adapter: &str, at_most_once: bool, changed: Option<Timestamp>| {
        let (pill, word, fault) = state(key);
        let health = health.iter().find(|health| health.channel == key).map(|row| healthy(row, visit, now));
        let changed = changed.map(|at| visit.zone.when(at, now));
        let link = changed.is_some() && visit.viewer.may_define();
        Row {
            link: link.then(|| format!("/channels/edit?key={}", links::encoded(key))),
            key: key.to_owned(),
            adapter: adapter.to_owned(),
            pill,
            word,
            fault,
            at_most_once,
            health,
            keeps: states.get(key).map(|(policy, state)| keeps(policy, state)).unwrap_or_default(),
            changed,
        }
    };
    let mut rows: Vec<Row> = defined
        .iter()
        .map(|channel| {
            let changed = Some(channel.updated_at);
            row(&channel.key, &channel.adapter, channel.at_most_once, changed)
        })
        .collect();
    for key in app.engine.channels.built_in() {
        if defined.iter().all(|channel| channel.key != *key) {
            rows.push(row(key, "built in", false, None));
        }
    }
    let broken = rows.iter().filter(|row| row.fault.is_some()).count();
    let count = words::counted(i64::try_from(rows.len()).unwrap_or(i64::MAX), "channel", "channels");
    let sentence = match broken {
        0 => format!("{count}, all of them ready."),
        n => format!("{count}, {n} of them cannot send."),
    };
    let frame = visit.frame(app, "Channels", "/channels").await?;
    let (chosen, entered) =
        tried.as_ref().map(|tried| (tried.channel.clone(), tried.address.clone())).unwrap_or_default();
    let may_try = visit.viewer.may_define();
    page(&ChannelsPage { frame, sentence, rows, may_try, removed, tried, chosen, entered })
}

/// Until when the circuit is open, and why.
fn circuit_fault(circuit: &Circuit, visit: &Visit, now: Timestamp) -> String {
    format!("until {}: {}", visit.zone.when(circuit.open_until, now).text, circuit.last_error)
}

/// Limits with what is used of them, and hours.
fn keeps(policy: &ChannelPolicy, state: &ChannelState) -> Vec<String> {
    let mut lines: Vec<String> = state
        .rates
        .iter()
        .map(|rate| {
            let whose = rate
                .limiter
                .strip_prefix("provider:")
                .map(|name| format!(" over {name}"))
                .unwrap_or_default();
            format!("{} of {} in {}{whose}", rate.used, rate.rate.max, durations::format(rate.rate.per))
        })
        .collect();
    lines.extend(policy.quiet_hours.map(|span| format!("quiet {}–{}", written(span.from), written(span.to))));
    lines.extend(
        policy
            .send_window
            .as_ref()
            .map(|window| format!("sends {}–{}", written(window.from), written(window.to))),
    );
    lines
}

fn healthy(row: &HealthRow, visit: &Visit, now: Timestamp) -> Health {
    let attempts = row.attempts.max(1);
    let percent = row.delivered * 100 / attempts;
    let pill = match percent {
        95.. => Pill { word: "well", class: "good" },
        50..95 => Pill { word: "troubled", class: "warn" },
        _ => Pill { word: "failing", class: "bad" },
    };
    let failed_at = row.failed_at;
    let error = row.last_error.clone().unwrap_or_else(|| "no answer".to_owned());
    Health {
        pill,
        share: format!("{percent} % of {}", words::counted(row.attempts, "attempt", "attempts")),
        took: in_words(row.took_us / attempts),
        last_error: failed_at.map(|at| (error, visit.zone.when(at, now))),
    }
}

/// A duration of a call, given in microseconds.
fn in_words(us: i64) -> String {
    match us {
        ..1_000 => "under 1 ms".to_owned(),
        1_000..1_000_000 => format!("{} ms", us / 1_000),
        _ => format!("{}.{} s", us / 1_000_000, us / 100_000 % 10),
    }
}

/// Sends one message over a channel, as `POST /api/v1/channels/{key}/test` does.
async fn try_out(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    if !visit.viewer.may_define() {
        return Err(Refusal::from(Problem::scope_missing(Scope::Admin.as_str())));
    }
    let (channel, to) = (fields.text("channel").to_owned(), fields.text("address").to_owned());
    let tried =
        |pill: Pill, text: String| Tried { channel: channel.clone(), address: to.clone(), pill, text };
    let refused = Pill { word: "not sent", class: "bad" };
    let kind = channel.split(':').next().unwrap_or_default();
    let result = match (channel.parse::<ChannelKey>(), address::fault(Some(kind), &to, String::new)) {
        (Err(_), _) => tried(refused, "There is no such channel.".to_owned()),
        (Ok(_), Some(fault)) => tried(refused, words::said("", &fault.detail)),
        (Ok(key), None) => {
            let id = app.engine.random.uuid();
            let to = address::normal(Some(kind), &to);
            let message = TrialMessage { id, address: to, subject: None, body: None };
            match app.engine.try_channel(app.wall.as_ref(), &visit.viewer.by, &key, message).await? {
                Trial::NoChannel => tried(refused, "There is no such channel.".to_owned()),
                Trial::Address(why) => {
                    tried(refused, format!("The channel does not accept this address: {why}."))
                }
                Trial::Broken(why) => tried(refused, format!("The channel cannot be opened: {why}.")),
                Trial::Sent { outcome, took } => {
                    let took = in_words(i64::try_from(took.as_micros()).unwrap_or(i64::MAX));
                    let ended = AttemptOutcome::from(&outcome);
                    let text = match outcome {
                        SendOutcome::Delivered { provider_id } => {
                            format!("Accepted in {took} as {provider_id}.")
                        }
                        SendOutcome::Transient { error, .. } => {
                            format!("It may work later ({took}): {error}")
                        }
                        SendOutcome::Permanent { error, .. } => format!("Refused ({took}): {error}"),
                        SendOutcome::Uncertain { error } => {
                            format!("It may or may not have arrived ({took}): {error}")
                        }
                    };
                    tried(words::outcome(Some(ended)), text)
                }
            }
        }
    };
    if fields.text("page") == "edit" {
        let text = format!("Test message to {}: {}. {}", result.address, result.pill.word, result.text);
        let notice = Notice { text, warn: result.pill.class != "good" };
        return editor::shown::<Channels>(&app, &visit, &result.channel, Some(notice)).await;
    }
    shown(&app, &visit, Some(result), false).await
}
