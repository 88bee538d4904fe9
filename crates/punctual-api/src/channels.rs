//! `/api/v1/channels`: channels and their settings. Secrets are never returned.

pub mod rotate;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{
    Actor,
    channels::retry_of,
    commands::NewChannel,
    delivery_policy::channel_state,
    trial::{Trial, TrialMessage},
};
use punctual_model::{
    ChannelKey, SendOutcome,
    delivery_policy::{ChannelPolicy as Keeps, CircuitState},
    durations,
};
use punctual_store::{
    StoreError,
    attempts::{self, HealthRow},
    channels::{self, ChannelRow},
};
use punctual_wire::{
    FieldError, Page, Problem,
    channels::{Channel, ChannelHealth, ChannelPolicy, ChannelRequest, ChannelTest, ChannelTestRequest},
    delivery_policy::{ChannelState, HostState, RateState},
    names::channel_fault,
};

use serde_json::{Map, Value};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Admin, Caller, Read},
    body::Json,
    idempotency::IdempotencyKey,
    parameters::Segments,
};

/// Define a channel
///
/// A secret that is left out keeps its present value; null removes it. When the channel sends to another place than
/// before (another host, port, URL or adapter), its secrets must be given again. A secret may be given as `env:NAME`,
/// which reads the variable `PUNCTUAL_SECRET_NAME`, or as `file:NAME`, a file in the directory of `--secrets-dir`.
#[utoipa::path(put, path = "/api/v1/channels/{key}", tag = "Channels", security(("key" = ["admin"])),
    params(("key" = String, Path, example = "email:default")), request_body(content = ChannelRequest, example = json!({"adapter": "smtp", "settings": {"host": "mail.example.org", "port": 587, "tls": "starttls", "username": "punctual", "password": "env:SMTP", "from": "reminders@example.org"}, "retry": {"policy": "fixed", "max": 3, "intervalSeconds": 60}})),
    responses((status = 200, body = Channel)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    if let Some(fault) = channel_fault(&key, &|| "/key".to_owned()) {
        return Err(fault.into());
    }
    let ChannelRequest { adapter, settings, retry, at_most_once, policy } =
        ChannelRequest::read(&body.value, "")?;
    let retry = retry.map(serde_json::to_value).transpose().map_err(|error| Failure::internal(&error))?;
    let new = NewChannel { key, adapter, settings, retry, at_most_once, policy: policy.stored() };
    JsonResponse::ok(&shape(&app, app.engine.save_channel(&caller.by, new).await?)?)
}

/// Look at a channel
///
/// A key that is limited to business units gets no `health`.
#[utoipa::path(get, path = "/api/v1/channels/{key}", tag = "Channels", security(("key" = ["read"])),
    params(("key" = String, Path)), responses((status = 200, body = Channel)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(key): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = channels::get(&mut reader.conn(), &key).await?.or_else(|| built_in(&app, &key));
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("channel", key)))?;
    if caller.by.units.is_some() {
        // How it does, and its last error, come from messages of all business units.
        return JsonResponse::ok(&shape(&app, row)?);
    }
    let (now, policy) = (app.engine.clock.now(), Keeps::read(&row.policy));
    let state = app.engine.channel_state(&mut reader.conn(), &row.key, &policy, now).await?;
    JsonResponse::ok(&Channel { health: Some(state_of(state, now)), ..shape(&app, row)? })
}

fn state_of(state: channel_state::ChannelState, now: Timestamp) -> ChannelState {
    let circuit = state.circuit.as_ref();
    ChannelState {
        circuit: circuit.map_or(CircuitState::Closed, |circuit| circuit.state(now)).as_str().to_owned(),
        open_until: circuit.map(|circuit| circuit.open_until),
        open_count: circuit.map_or(0, |circuit| circuit.open_count),
        last_error: circuit.map(|circuit| circuit.last_error.clone()),
        hosts: state
            .hosts
            .into_iter()
            .map(|(host, circuit)| HostState {
                host,
                circuit: circuit.state(now).as_str().to_owned(),
                open_until: circuit.open_until,
                open_count: circuit.open_count,
                last_error: circuit.last_error,
            })
            .collect(),
        rates: state
            .rates
            .into_iter()
            .map(|rate| RateState {
                limiter: rate.limiter,
                max: rate.rate.max,
                per: durations::format(rate.rate.per),
                used: rate.used,
                next_at: rate.next_at,
            })
            .collect(),
    }
}

/// All channels, by key
#[utoipa::path(get, path = "/api/v1/channels", tag = "Channels", security(("key" = ["read"])),
    responses((status = 200, body = Page<Channel>)))]
pub async fn list(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let mut rows = channels::all(&mut reader.conn()).await?;
    for key in app.engine.channels.built_in() {
        if rows.iter().all(|row| row.key != *key) {
            rows.extend(built_in(&app, key));
        }
    }
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    let items: Vec<Channel> = rows.into_iter().map(|row| shape(&app, row)).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page::whole(items))
}

/// Remove a channel
#[utoipa::path(delete, path = "/api/v1/channels/{key}", tag = "Channels", security(("key" = ["admin"])),
    params(("key" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(key): Segments<String>,
) -> Answer {
    app.engine.delete_channel(&caller.by, &key).await?;
    JsonResponse::no_content()
}

/// Send a test message over a channel
#[utoipa::path(post, path = "/api/v1/channels/{key}/test", tag = "Channels", security(("key" = ["admin"])),
    params(("key" = String, Path)), request_body = ChannelTestRequest, responses((status = 200, body = ChannelTest)))]
pub async fn test(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let kind = key.split(':').next().unwrap_or_default();
    let request = ChannelTestRequest::read(&body.value, "", kind)?;
    let key = key.parse::<ChannelKey>().map_err(|_| Failure::from(Problem::not_found("channel", &key)))?;
    once.run(app, caller, &body.bytes, |ids| async move {
        try_out(app, &caller.by, key, request, ids.at(0)).await
    })
    .await
}

async fn try_out(
    app: &App,
    by: &Actor,
    key: ChannelKey,
    request: ChannelTestRequest,
    id: uuid::Uuid,
) -> Answer {
    let ChannelTestRequest { address, subject, body } = request;
    let message = TrialMessage { id, address: address.clone(), subject, body };
    let (outcome, took) = match app.engine.try_channel(app.wall.as_ref(), by, &key, message).await? {
        Trial::NoChannel => return Err(Problem::not_found("channel", key).into()),
        Trial::Address(why) => return Err(FieldError::address_invalid("/address", &address, why).into()),
        Trial::Broken(why) => {
            return JsonResponse::ok(&tried("permanent", None, Some(why), SignedDuration::ZERO));
        }
        Trial::Sent { outcome, took } => (outcome, took),
    };
    JsonResponse::ok(&match outcome {
        SendOutcome::Delivered { provider_id } => tried("delivered", Some(provider_id), None, took),
        SendOutcome::Transient { error, .. } => tried("transient", None, Some(error), took),
        SendOutcome::Permanent { error, .. } => tried("permanent", None, Some(error), took),
        SendOutcome::Uncertain { error } => tried("uncertain", None, Some(error), took),
    })
}

fn tried(
    outcome: &str,
    message_id: Option<String>,
    detail: Option<String>,
    took: SignedDuration,
) -> ChannelTest {
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(0);
    ChannelTest { outcome: outcome.to_owned(), message_id, detail, duration_ms }
}

/// How channels did in the last hour
///
/// Counted over the newest 5,000 attempts of the installation; a channel that none of them used is not listed.
#[utoipa::path(get, path = "/api/v1/channels/health", tag = "Channels", security(("key" = ["read"])),
    responses((status = 200, body = Page<ChannelHealth>)))]
pub async fn health(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = attempts::health(&mut reader.conn(), app.engine.clock.now()).await?;
    let items: Vec<ChannelHealth> = rows.into_iter().map(healthy).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page::whole(items))
}

fn healthy(row: HealthRow) -> Result<ChannelHealth, StoreError> {
    Ok(ChannelHealth {
        channel: row.channel,
        attempt_count: row.attempts,
        delivered: row.delivered,
        success_share: if row.attempts > 0 { row.delivered as f64 / row.attempts as f64 } else { 0.0 },
        average_ms: row.took_us / row.attempts.max(1) / 1_000,
        last_error: row.last_error,
        last_error_at: row.failed_at,
    })
}

/// A channel that exists without a definition.
fn built_in(app: &App, key: &str) -> Option<ChannelRow> {
    app.engine.channels.built_in().contains(&key).then(|| ChannelRow {
        key: key.to_owned(),
        adapter: "memory".to_owned(),
        settings: "{}".to_owned(),
        retry: "{}".to_owned(),
        at_most_once: false,
        policy: "{}".to_owned(),
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    })
}

fn read_object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn shape(app: &App, row: ChannelRow) -> Result<Channel, StoreError> {
    let mut settings = read_object(&row.settings);
    // Without its adapter nobody knows which settings are secret, so that none is shown.
    let secrets: Vec<String> = match app.engine.channels.adapter(&row.adapter) {
        Some(adapter) => adapter.secret_fields().iter().map(|field| (*field).to_owned()).collect(),
        None => settings.keys().cloned().collect(),
    };
    let secrets_set: Vec<String> =
        secrets.into_iter().filter(|field| settings.remove(field).is_some()).collect();
    // As it was written; what is usual for its kind where nothing was.
    let written = serde_json::from_str(&row.retry).ok().filter(|_| row.retry != "{}");
    let retry = written.map_or_else(|| serde_json::from_value(retry_of(&row).to_json()), Ok);
    let retry = retry.map_err(|_| StoreError::Stored("channels.retry"))?;
    Ok(Channel {
        settings: Value::Object(settings),
        secrets_set,
        retry,
        updated_at: row.updated_at,
        key: row.key,
        adapter: row.adapter,
        at_most_once: row.at_most_once,
        policy: ChannelPolicy::of_stored(&row.policy),
        version: row.version,
        health: None,
    })
}
