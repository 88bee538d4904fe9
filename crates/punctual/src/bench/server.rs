//! The API of a rig on loopback, and a client that writes plain HTTP/1.1 on a kept-open connection, so that it takes as little as
//! possible of the cores it shares with what is measured.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use jiff::SignedDuration;
use punctual_api::{ApiState, router, serve};
use punctual_engine::keys::ensure_admin_key;
use punctual_model::Clock;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{Bench, Rig};

pub(super) const KEY: &str = "bench-key-of-this-run-only";

pub(super) struct Server {
    pub address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    pub(super) async fn start(bench: &Bench, rig: &Rig) -> Result<Self> {
        ensure_admin_key(&rig.engine.store, bench.clock.now(), KEY).await?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let api = router(ApiState::new(rig.engine.clone(), bench.clock.clone()));
        let task = tokio::spawn(serve(listener, api, stop.clone()));
        Ok(Self { address, stop, task })
    }

    pub(super) async fn stop(self) -> Result<()> {
        self.stop.cancel();
        Ok(self.task.await?)
    }
}

pub(super) struct Client {
    connection: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self> {
        let connection = TcpStream::connect(address).await?;
        connection.set_nodelay(true)?;
        Ok(Self { connection, buffer: Vec::with_capacity(16 << 10) })
    }

    /// Sends one request; returns the status and the body of its answer.
    pub(super) async fn call(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.connection.write_all(request).await?;
        self.buffer.clear();
        let mut head: Option<Head> = None;
        while head.is_none_or(|head| self.buffer.len() < head.end + head.length) {
            ensure!(
                self.connection.read_buf(&mut self.buffer).await? > 0,
                "the server closed the connection"
            );
            if head.is_none() {
                head = Head::read(&self.buffer)?;
            }
        }
        let head = head.context("no head")?;
        Ok((head.status, &self.buffer[head.end..]))
    }

    /// The same where only success will do.
    pub(super) async fn expect(&mut self, request: &[u8]) -> Result<&[u8]> {
        let (status, body) = self.call(request).await?;
        ensure!(
            (200..300).contains(&status),
            "the server answered {status} {}",
            String::from_utf8_lossy(body)
        );
        Ok(body)
    }
}

/// What the client must know of an answer.
#[derive(Clone, Copy)]
struct Head {
    status: u16,
    /// Where the body begins, and how long it is.
    end: usize,
    length: usize,
}

impl Head {
    /// Nothing while the head is not there as a whole.
    fn read(bytes: &[u8]) -> Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut answer = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(end) = answer.parse(bytes)? else { return Ok(None) };
        let length = answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
        let length = std::str::from_utf8(length.context("no content-length")?.value)?.parse()?;
        Ok(Some(Self { status: answer.code.context("no status")?, end, length }))
    }
}

pub(super) fn get(path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n").into_bytes()
}

pub(super) fn with_body(method: &str, path: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// One notification as the API takes it.
pub(super) fn notification(number: usize) -> String {
    format!(
        "{{\"targets\":[\"user-{number}@example.org\"],\"channel\":\"memory:default\",\"subject\":\"Your order has an \
         update\",\"body\":\"Parcel {number} arrives today, open the app to see where it is and when it will be there.\"}}"
    )
}

/// Posts notifications one a request, so many a second over four connections, until it is stopped; returns how long each took,
/// in milliseconds. A request that is late does not delay the time of the next.
pub(super) async fn post_paced(
    bench: &Bench,
    address: SocketAddr,
    per_second: i64,
    stop: CancellationToken,
) -> Result<Vec<f64>> {
    const CONNECTIONS: i64 = 4;
    let started = bench.clock.now();
    let mut posting = Vec::new();
    for connection in 0..CONNECTIONS {
        let (clock, stop) = (bench.clock.clone(), stop.clone());
        posting.push(tokio::spawn(async move {
            let mut client = Client::connect(address).await?;
            let mut times = Vec::new();
            for turn in 0_i64.. {
                let number = turn * CONNECTIONS + connection;
                let at = started + SignedDuration::from_micros(number * 1_000_000 / per_second);
                clock.sleep_until(at).await;
                if stop.is_cancelled() {
                    break;
                }
                let body = notification(usize::try_from(number)?);
                client.expect(&with_body("POST", "/api/v1/notifications", &body)).await?;
                // From when it should have been sent: a stall is felt by all that come meanwhile.
                times.push(clock.now().duration_since(at).as_secs_f64() * 1_000.0);
            }
            anyhow::Ok(times)
        }));
    }
    let mut times = Vec::new();
    for task in posting {
        times.extend(task.await??);
    }
    Ok(times)
}

/// The value that such a share of all lies below, in hundredths.
pub(super) fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len().saturating_sub(1) as f64 * share) as usize;
    values.get(place).map_or(0.0, |value| (value * 100.0).round() / 100.0)
}
