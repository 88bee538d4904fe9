//! Thousands of slow clients: heads and bodies that do not end, connections that say nothing. Probes get through, and
//! what is due is done as fast as without them. On SQLite, in one process, so that the clients' cost counts as well.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use punctual_api::{Limits, serve_within};
use punctual_testkit::{Database, TestBed, TestBedBuilder, new_schedule, scale};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};
use tokio_util::sync::CancellationToken;

use crate::client::{ADMIN, Client};

/// Addresses that the clients come from.
const ADDRESSES: usize = 4;
/// The longest that a probe may take at full scale, and the least share of the rate that stays.
const LONGEST: Duration = Duration::from_millis(100);
const SHARE: f64 = 0.9;
/// The longest that a probe may take beside other tests: one that waits for a slow client waits for ever.
const LONGEST_BESIDE_OTHERS: Duration = Duration::from_secs(5);

#[test]
fn rig_flood_slow_clients_delay_no_probe_and_no_due_row() {
    let (clients, rows) = (scale(120, 3_000), scale(500, 20_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let bed = TestBedBuilder::new(Database::Sqlite).open().await;
        let client = Client::new(&bed).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve_within(Limits::default(), listener, client.router.clone(), stop.clone()));

        // Once to warm up; then in turns, so that what else the machine does falls on both.
        rate(&bed, "warm", rows).await;
        let before = rate(&bed, "before", rows).await;
        let flood = flood(address, clients).await;
        let alone = slowest_probe(address).await;
        let probing = tokio::spawn(slowest_probe(address));
        let during = rate(&bed, "during", rows).await;
        let beside = probing.await.unwrap();
        flood.abort();
        let _ = flood.await;
        let after = rate(&bed, "after", rows).await;
        stop.cancel();

        let normal = f64::midpoint(before, after);
        println!(
            "{clients} slow clients: /healthz at most {alone:?}, {beside:?} beside due rows; \
             {during:.0} due rows/s, {normal:.0} without, {:.0} %",
            100.0 * during / normal
        );
        let is_full = scale(0, 1) == 1;
        let longest = if is_full { LONGEST } else { LONGEST_BESIDE_OTHERS };
        assert!(alone < longest && beside < longest, "{alone:?}, {beside:?}");
        if is_full {
            assert!(during > SHARE * normal, "{during} of {normal}");
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Rows due at once, done in passes; how many a second.
async fn rate(bed: &TestBed, name: &str, rows: usize) -> f64 {
    let due = bed.now();
    let new: Vec<_> = (0..rows).map(|row| new_schedule(&format!("{name}-{row}"), "t", due)).collect();
    for batch in new.chunks(500) {
        bed.ensure(batch).await;
    }
    let begun = now();
    let mut done = 0;
    while done < rows {
        done += bed.tick().await.due.completed;
    }
    rows as f64 / begun.elapsed().as_secs_f64()
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
