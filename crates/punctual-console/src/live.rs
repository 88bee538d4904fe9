//! The live connection: server-sent events that say *that* something changed. The page asks for itself again and
//! takes over what differs, so that what is shown live is made by the same code as what is shown at first.

use std::{
    convert::Infallible,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::stream;
use jiff::SignedDuration;
use punctual_store::attention::{self, Mark};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::{App, Shared, session};

/// How often the tables are checked while anybody is connected; one look for all.
const LOOK_EVERY: SignedDuration = SignedDuration::from_secs(1);
/// A connection that says nothing is taken for dead by what lies between.
const BEAT_EVERY: SignedDuration = SignedDuration::from_secs(15);
/// Connections end after this long, and the browser comes back with a session that is checked anew.
const LASTS: SignedDuration = SignedDuration::from_mins(5);
const CONNECTIONS: usize = 200;

/// Who watches, and the task that looks for them.
pub struct Watch {
    changes: watch::Sender<u64>,
    watchers: Arc<Semaphore>,
    /// Whether the task that looks is there.
    looks: AtomicBool,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            changes: watch::Sender::new(0),
            watchers: Arc::new(Semaphore::new(CONNECTIONS)),
            looks: AtomicBool::new(false),
        }
    }
}

pub fn routes() -> Router<Shared> {
    Router::new().route("/live", get(connect))
}

async fn connect(State(app): State<Shared>, headers: HeaderMap) -> Response {
    match session::find(&app, &headers, false).await {
        Ok(Some(_)) => {}
        Ok(None) => return StatusCode::UNAUTHORIZED.into_response(),
        Err(refusal) => return refusal.into_response(),
    }
    let Ok(permit) = app.live.watchers.clone().try_acquire_owned() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    if !app.live.looks.swap(true, Ordering::AcqRel) {
        tokio::spawn(look(Arc::downgrade(&app)));
    }
    let connection = Connection {
        changes: app.live.changes.subscribe(),
        until: app.wall.now() + LASTS,
        greeted: false,
        app,
        _permit: permit,
    };
    let events = stream::unfold(connection, |mut connection| async move {
        let event = connection.next().await?;
        Some((Ok::<_, Infallible>(event), connection))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(events)).into_response()
}

struct Connection {
    changes: watch::Receiver<u64>,
    until: jiff::Timestamp,
    greeted: bool,
    app: Shared,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn next(&mut self) -> Option<&'static str> {
        if !self.greeted {
            self.greeted = true;
            return Some("retry: 2000\nevent: hello\ndata: 1\n\n");
        }
        let now = self.app.wall.now();
        if now >= self.until {
            return None;
        }
        tokio::select! {
            () = self.app.stop.cancelled() => None,
            changed = self.changes.changed() => changed.ok().map(|()| "event: change\ndata: 1\n\n"),
            () = self.app.wall.sleep_until(now + BEAT_EVERY) => Some(": beat\n\n"),
        }
    }
}

/// Looks for changes until nobody watches any more.
async fn look(app: Weak<App>) {
    let mut before: Option<Mark> = None;
    loop {
        let Some(app) = app.upgrade() else { return };
        if app.stop.is_cancelled() {
            return;
        }
        let nobody = || app.live.watchers.available_permits() == CONNECTIONS;
        if nobody() {
            app.live.looks.store(false, Ordering::Release);
            // Somebody may have come just now and seen that the task was still there.
            if nobody() || app.live.looks.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        let mark = async {
            let mut reader = app.engine.store.read_for_people().await?;
            attention::mark(&mut reader.conn()).await
        };
        match mark.await {
            Ok(mark) => {
                if before.as_ref().is_some_and(|before| *before != mark) {
                    app.live.changes.send_modify(|count| *count += 1);
                }
                before = Some(mark);
            }
            Err(error) => tracing::debug!(%error, "the console could not look for changes"),
        }
        let rest = app.wall.sleep_until(app.wall.now() + LOOK_EVERY);
        drop(app);
        rest.await;
    }
}
