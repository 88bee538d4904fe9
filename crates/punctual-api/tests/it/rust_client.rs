//! The Rust client and answers that are lost on their way: what is repeated takes effect once.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{Request, Response},
    middleware::{Next, from_fn},
};
use punctual_client::{
    ApiError, Client as Central,
    wire::{content::Content, notifications::NotificationRequest, schedules::ScheduleChange},
};
use punctual_testkit::{TestBed, on_both};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::client::{ADMIN, Client};

on_both! {
    an_answer_that_is_lost_is_asked_for_again_and_nothing_is_sent_twice;
    what_does_not_pass_is_asked_once;
}

/// Serves these routes on an address of their own.
async fn served(router: Router) -> (Central, CancellationToken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    tokio::spawn(punctual_api::serve(listener, router, stop.clone()));
    (Central::new(url, ADMIN).first_pause(Duration::from_millis(1)), stop)
}

fn to_ann(subject: &str) -> NotificationRequest {
    let content = Content {
        targets: vec!["ann".into()],
        channel: Some("memory:default".into()),
        subject: subject.into(),
        body: "B".into(),
        ..Content::default()
    };
    NotificationRequest { content, ..NotificationRequest::default() }
}

async fn an_answer_that_is_lost_is_asked_for_again_and_nothing_is_sent_twice(bed: TestBed) {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let seen = keys.clone();
    let losing = from_fn(move |request: Request<Body>, next: Next| {
        let seen = seen.clone();
        async move {
            let key = request.headers().get("Idempotency-Key").cloned();
            // The request takes effect, and its answer does not arrive.
            let answer = next.run(request).await;
            let count = {
                let mut seen = seen.lock().unwrap();
                seen.push(key);
                seen.len()
            };
            match count {
                1 | 2 => Response::builder().status(503).body(Body::empty()).unwrap(),
                _ => answer,
            }
        }
    });
    let (central, stop) = served(Client::new(&bed).await.router.layer(losing)).await;
    let sent = central.create_notification(&to_ann("Once")).await.unwrap();
    bed.tick().await;
    assert_eq!(bed.notifications().await.iter().map(|row| row.id.to_string()).collect::<Vec<_>>(), [sent.id]);
    let keys = keys.lock().unwrap().clone();
    assert!(keys.len() == 3 && keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    stop.cancel();
}

async fn what_does_not_pass_is_asked_once(bed: TestBed) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let counting = from_fn(move |request: Request<Body>, next: Next| {
        counted.fetch_add(1, Ordering::SeqCst);
        next.run(request)
    });
    let (central, stop) = served(Client::new(&bed).await.router.layer(counting)).await;
    let refused = central.create_notification(&NotificationRequest::default()).await.unwrap_err();
    assert!(matches!(refused, ApiError::Refused(problem) if problem.status == 422));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    stop.cancel();
    // A PATCH that nobody answered may have arrived: it is not repeated, and so there is no pause.
    let nobody = Central::new("http://127.0.0.1:9", "k").first_pause(Duration::from_secs(3600));
    let change = ScheduleChange { run_at: "2031-01-01T00:00:00Z".parse().unwrap() };
    let lost = nobody.update_schedule("1", &change).await.unwrap_err();
    assert!(matches!(lost, ApiError::Unreachable { .. }));
}
