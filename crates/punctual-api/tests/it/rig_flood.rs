//! Thousands of slow clients: heads and bodies that do not end, connections that say nothing. Probes get through, and
//! what is due is delivered as fast as without them. In one process, so that the clients' cost counts as well.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use punctual_api::{Limits, serve_within};
use punctual_testkit::{Database, TestBed, on_both, rig, scale};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};
use tokio_util::sync::CancellationToken;

use crate::client::{ADMIN, Client};

on_both! {
    rig_flood_slow_clients_delay_no_probe_and_no_due_row;
}

/// Addresses that the clients come from.
const ADDRESSES: usize = 4;
/// The longest that a probe may take at full scale, and the least share of the rate that stays.
const LONGEST: Duration = Duration::from_millis(100);
const SHARE: f64 = 0.9;
/// The longest that a probe may take beside other tests: one that waits for a slow client waits for ever.
const LONGEST_BESIDE_OTHERS: Duration = Duration::from_secs(5);

/// Turns without and with slow clients, so that what else the machine does falls on both.
const TURNS: usize = 3;

async fn rig_flood_slow_clients_delay_no_probe_and_no_due_row(bed: TestBed) {
    let (clients, rows) = (scale(120, 3_000), scale(500, 10_000));
    let client = Client::new(&bed).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(serve_within(Limits::default(), listener, client.router.clone(), stop.clone()));

    deliver(&bed, &client, "warm", rows).await;
    let (mut without, mut with) = (Duration::ZERO, Duration::ZERO);
    let (mut alone, mut beside) = (Duration::ZERO, Duration::ZERO);
    for turn in 0..TURNS {
        without += deliver(&bed, &client, &format!("without-{turn}"), rows).await;
        let flood = flood(address, clients).await;
        alone = alone.max(slowest_probe(address).await);
        let probing = tokio::spawn(slowest_probe(address));
        with += deliver(&bed, &client, &format!("with-{turn}"), rows).await;
        beside = beside.max(probing.await.unwrap());
        flood.abort();
        let _ = flood.await;
    }
    stop.cancel();

    let rate = |time: Duration| (TURNS * rows) as f64 / time.as_secs_f64();
    let (normal, during) = (rate(without), rate(with));
    let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
    let measured = json!({
        "slowClients": clients,
        "rows": TURNS * rows,
        "rowsPerSecondWithout": normal.round(),
        "rowsPerSecondWith": during.round(),
        "percent": (100.0 * during / normal).round(),
        "healthzMs": millis(alone).round(),
        "healthzBesideRowsMs": millis(beside).round(),
    });
    let database = match bed.database() {
        Database::Sqlite => "sqlite",
        Database::Postgres => "postgres",
    };
    rig::measured("slow-clients", database, &measured);
    let is_full = scale(0, 1) == 1;
    let longest = if is_full { LONGEST } else { LONGEST_BESIDE_OTHERS };
    assert!(alone < longest && beside < longest, "{alone:?}, {beside:?}");
    if is_full {
        assert!(during >= SHARE * normal, "{during} of {normal}");
    }
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Messages that are due at once; how long it takes until the last of them is delivered.
async fn deliver(bed: &TestBed, client: &Client, name: &str, rows: usize) -> Duration {
    let at = bed.after(1).to_string();
    let new: Vec<Value> = (0..rows)
        .map(|row| {
            json!({ "id": format!("{name}-{row}"), "sendAt": at, "targets": ["x"], "channel": "memory:default",
                    "subject": "S", "body": "B" })
        })
        .collect();
    for batch in new.chunks(500) {
        client.post("/api/v1/messages", Value::from(batch)).await.expect(200);
    }
    bed.wait(1);
    let begun = now();
    let (mut done, mut delivered) = (0, 0);
    while delivered < rows {
        let pass = bed.tick().await;
        done += pass.due.completed;
        delivered += pass.deliveries.delivered;
    }
    let time = begun.elapsed();
    assert_eq!((done, delivered), (rows, rows), "each row once");
    time
}

/// The slowest of some probes, each over a new connection.
async fn slowest_probe(address: SocketAddr) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let begun = now();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        slowest = slowest.max(begun.elapsed());
    }
    slowest
}

/// Connects them all and keeps them at it, a byte at a time; those that are cut off come again.
async fn flood(address: SocketAddr, clients: usize) -> tokio::task::JoinHandle<()> {
    let mut open = Vec::with_capacity(clients);
    for client in 0..clients {
        open.push(slow(address, client).await);
    }
    tokio::spawn(async move {
        loop {
            for (client, stream) in open.iter_mut().enumerate() {
                // A third says nothing at all.
                if client % 3 != 0 && stream.try_write(b"a").is_err() {
                    *stream = slow(address, client).await;
                }
            }
            let _ = tokio::time::timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
        }
    })
}

async fn slow(address: SocketAddr, client: usize) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    let own = format!("127.0.0.{}:0", 2 + client % ADDRESSES);
    socket.bind(own.parse().unwrap()).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let begun = match client % 3 {
        0 => String::new(),
        1 => "GET /api/v1/work HTTP/1.1\r\nHost: x\r\nX-Slow: ".to_owned(),
        _ => format!(
            "POST /api/v1/notifications HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\
             Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
        ),
    };
    let _ = stream.write_all(begun.as_bytes()).await;
    stream
}
