//! Events that surveys ask about, posted 1,000 a request over two connections: first all of them new, then all of them
//! known. 50 surveys with two triggers each are published.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result, ensure};
use punctual_api::{ApiState, router, serve};
use punctual_engine::{Actor, keys::ensure_admin_key};
use punctual_engine::{Engine, Listeners};
use punctual_model::Clock;
use punctual_store::surveys::SurveyDraft;
use punctual_workflows::surveys::author;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

use super::{Bench, Measured};

const SURVEYS: usize = 50;
const BATCH: usize = 1_000;
const CONNECTIONS: usize = 2;
const KEY: &str = "bench-key-of-this-run-only";

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    let rig = bench.rig("surveys", Listeners::default()).await?;
    ensure_admin_key(&rig.engine.store, bench.clock.now(), KEY).await?;
    publish(&rig.engine, SURVEYS).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let api = router(ApiState::new(rig.engine.clone(), bench.clock.clone()));
    let server = tokio::spawn(serve(listener, api, stop.clone()));
    // Made before the clock starts: a caller brings its own.
    let requests: Vec<Vec<u8>> = (0..jobs.div_ceil(BATCH))
        .map(|batch| request(batch * BATCH..jobs.min((batch + 1) * BATCH)))
        .collect();
    let requests = Arc::new(requests);
    let mut measured = Vec::new();
    for (test, expected) in [("surveys", "\"created\":"), ("surveys2", "\"skipped\":")] {
        let next = Arc::new(AtomicUsize::new(0));
        let started = bench.clock.now();
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let (next, requests) = (next.clone(), requests.clone());
                tokio::spawn(async move {
                    let mut connection = TcpStream::connect(address).await?;
                    connection.set_nodelay(true)?;
                    let mut answer = Vec::with_capacity(1 << 20);
                    let mut counted = 0;
                    while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                        connection.write_all(request).await?;
                        counted += read_answer(&mut connection, &mut answer, expected).await?;
                    }
                    anyhow::Ok(counted)
                })
            })
            .collect();
        let mut counted = 0;
        for client in clients {
            counted += client.await??;
        }
        let took = bench.clock.now().duration_since(started);
        ensure!(counted == jobs, "{test}: {counted} of {jobs} came back as expected");
        measured.push(Measured::rate(test, jobs, took.unsigned_abs()));
    }
    stop.cancel();
    server.await?;
    rig.remove().await?;
    Ok(measured)
}

/// Publishes so many surveys with two triggers each.
pub(super) async fn publish(engine: &Engine, surveys: usize) -> Result<()> {
    for number in 0..surveys {
        let trigger = |word: &str| {
            json!({
                "id": word, "eventKind": format!("{word}-{number}"),
                "filter": { "questionId": "candidate.jobType", "op": "==", "value": "GR" },
                "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
                "schedule": { "initialDelay": "1d", "reminders": ["1d"] }, "channel": "memory:default"
            })
        };
        let schema = json!({
            "title": { "en": "How was your visit?", "ar": "كيف كانت زيارتك؟" },
            "questions": [{ "id": "rate", "type": "nps", "text": { "en": "Rate", "ar": "تقييم" }, "required": true }],
            "triggers": [trigger("visit"), trigger("sale")]
        });
        let draft = SurveyDraft {
            name: format!("bench {number}"),
            integration_id: None,
            business_unit: None,
            draft: schema.to_string(),
        };
        let row = author::create(engine, &Actor::named("bench"), &draft).await?;
        author::publish(engine, &Actor::named("bench"), row.id).await?;
    }
    Ok(())
}

fn request(numbers: std::ops::Range<usize>) -> Vec<u8> {
    let items: Vec<Value> = numbers
        .map(|number| {
            json!({
                "payload": { "wip": number.to_string(), "dealerId": (number % 7).to_string(), "jobType": "GR",
                    "VIN": format!("JTMABBBJ2N{number:07}"), "CustomerName": "Kadhem Owaid" },
                "recipient": { "address": format!("+964 770 {number:07}"), "locale": "ar", "customerRef": format!("cust-{number}") }
            })
        })
        .collect();
    let body = json!({ "eventKind": "visit-7", "items": items }).to_string();
    format!(
        "POST /api/v1/surveys/triggers/ingest HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Reads one answer; gives the figure behind `name`.
async fn read_answer(connection: &mut TcpStream, buffer: &mut Vec<u8>, name: &str) -> Result<usize> {
    buffer.clear();
    let (mut start, mut length) = (0, None);
    loop {
        let read = connection.read_buf(buffer).await?;
        ensure!(read > 0, "the server closed the connection");
        if length.is_none()
            && let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n")
        {
            let head = std::str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
            ensure!(
                head.starts_with("http/1.1 200"),
                "the server answered {}",
                String::from_utf8_lossy(buffer)
            );
            let own = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            length = Some(own.context("no content-length")?.trim().parse::<usize>()?);
            start = end + 4;
        }
        if length.is_some_and(|length| buffer.len() >= start + length) {
            break;
        }
    }
    let body = std::str::from_utf8(&buffer[start..])?;
    let figure = body.split(name).nth(1).context("the figure is missing")?;
    let digits: String = figure.chars().take_while(char::is_ascii_digit).collect();
    Ok(digits.parse()?)
}
