//! What the server bears, over raw sockets: slow, greedy and ambiguous clients, and budgets that do not starve each other.

use std::{net::SocketAddr, time::Duration};

use punctual_api::{Budget, Limits, serve_within};
use punctual_testkit::{TestBed, on_both, signal};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};
use tokio_util::sync::CancellationToken;

use crate::{
    client::{ADMIN, Client},
    server::{SLOW, with_slow_sink},
};

on_both! {
    t15_a_head_beyond_the_limit_is_refused;
    t15_a_request_that_ends_in_two_places_is_refused;
    t15_slow_heads_make_room_for_others;
    t15_a_slow_head_is_given_up;
    t15_an_answer_that_nobody_reads_is_given_up;
    t15_more_than_can_be_worked_on_are_asked_to_come_back;
    t15_an_address_does_not_take_it_all;
    t15_only_a_listed_proxy_speaks_for_a_client;
}

const SOON: Duration = Duration::from_millis(50);

struct Server {
    address: SocketAddr,
    stop: CancellationToken,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Server {
    async fn start(client: &Client, change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits::default();
        change(&mut limits);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve_within(limits, listener, client.router.clone(), stop.clone()));
        Self { address, stop }
    }

    async fn connect(&self) -> TcpStream {
        self.connect_from("127.0.0.1").await
    }

    /// Any address of the loopback network can be a client.
    async fn connect_from(&self, client: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(client.parse().unwrap(), 0)).unwrap();
        signal("a connection", socket.connect(self.address)).await.unwrap()
    }

    async fn ask(&self, text: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        first_line(&mut stream).await
    }
}

/// The first line of an answer, or nothing where the connection ends.
async fn first_line(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 1024];
    signal("an answer", async {
        while !text.contains(&b'\n') {
            match stream.read(&mut buffer).await {
                Ok(count) if count > 0 => text.extend_from_slice(&buffer[..count]),
                _ => break,
            }
        }
    })
    .await;
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_owned()
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
const WORK: &str = "GET /api/v1/work HTTP/1.1\r\nHost: x\r\n\r\n";

fn slow_event() -> String {
    format!(
        "POST /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{SLOW}",
        SLOW.len()
    )
}

async fn t15_a_head_beyond_the_limit_is_refused(bed: TestBed) {
    let server = Server::start(&Client::new(&bed).await, |_| {}).await;
    let with =
        |bytes: usize| format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "a".repeat(bytes));
    assert_eq!(server.ask(&with(31 << 10)).await, "HTTP/1.1 200 OK");
    let refused = "HTTP/1.1 431 Request Header Fields Too Large";
    assert_eq!(server.ask(&with(33 << 10)).await, refused);
}

/// What says in more than one way, or in none that is certain, where a request ends.
const AMBIGUOUS: &[&str] = &[
    "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    "Content-Length: 4\r\nContent-Length: 5\r\n",
    "Content-Length: 5\r\nContent-Length: 5\r\n",
    "Content-Length: 5\r\ncontent-length: 5\r\n",
    "Content-Length: 5, 5\r\n",
    "Content-Length: 5,\r\n",
    "Content-Length: +5\r\n",
    "Content-Length:\r\n",
    "Content-Length: 5\r\n , 5\r\n",
    "X-Fold: a\r\n Content-Length: 5\r\n",
    "X-Fold: a\r\n\tTransfer-Encoding: chunked\r\n",
    "Content-Length : 5\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
];

/// A path of each part: API, console, public pages, probes.
const PARTS: [&str; 4] = ["/api/v1/events", "/outbox", "/s/abc", "/healthz"];

async fn t15_a_request_that_ends_in_two_places_is_refused(bed: TestBed) {
    let server = Server::start(&Client::new(&bed).await, |_| {}).await;
    let post =
        |path: &str, headers: &str| format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n0\r\n\r\n");
    for (path, headers) in PARTS.iter().flat_map(|path| AMBIGUOUS.iter().map(move |headers| (path, headers)))
    {
        assert_eq!(server.ask(&post(path, headers)).await, "HTTP/1.1 400 Bad Request", "{path} {headers}");
        // Also after a good one on the same connection, and nothing behind it is taken for a request.
        let mut stream = server.connect().await;
        stream.write_all(HEALTH.as_bytes()).await.unwrap();
        assert_eq!(first_line(&mut stream).await, "HTTP/1.1 200 OK");
        stream.write_all(format!("{}{HEALTH}", post(path, headers)).as_bytes()).await.unwrap();
        let mut rest = String::new();
        let read = signal("the end of the connection", stream.read_to_string(&mut rest)).await;
        assert!(rest.contains("HTTP/1.1 400") && !rest.contains("HTTP/1.1 200"), "{read:?} {headers} {rest}");
    }
    // Without a key both plain ways come as far as the key.
    for headers in ["Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n"] {
        assert_eq!(
            server.ask(&post("/api/v1/events", headers)).await,
            "HTTP/1.1 401 Unauthorized",
            "{headers}"
        );
    }
}

async fn t15_slow_heads_make_room_for_others(bed: TestBed) {
    let server = Server::start(&Client::new(&bed).await, |limits| limits.connections = 8).await;
    let mut slow = Vec::new();
    for _ in 0..40 {
        let mut stream = server.connect().await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nX-Slow: ").await.unwrap();
        slow.push(stream);
        assert_eq!(server.ask(HEALTH).await, "HTTP/1.1 200 OK");
        assert_eq!(server.ask(WORK).await, "HTTP/1.1 401 Unauthorized");
    }
    // Those that waited longest had to go.
    assert_eq!(first_line(&mut slow[0]).await, "");
}

async fn t15_a_slow_head_is_given_up(bed: TestBed) {
    let server = Server::start(&Client::new(&bed).await, |limits| limits.head_time = SOON).await;
    let ended = server.ask("GET /healthz HTTP/1.1\r\nX-Slow: ").await;
    assert!(ended.is_empty() || ended.contains("408"), "{ended}");
}

async fn t15_an_answer_that_nobody_reads_is_given_up(bed: TestBed) {
    let client = Client::new(&bed).await;
    let server = Server::start(&client, |limits| {
        limits.write_time = SOON;
        limits.api.connections = 1;
    })
    .await;
    let mut greedy = server.connect().await;
    // Asks for more than fits between the two, and reads nothing.
    let many = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(200);
    let _ = signal("the end", greedy.write_all(many.as_bytes())).await;
    // Its place is free again.
    signal("its place", async { while server.ask(WORK).await != "HTTP/1.1 401 Unauthorized" {} }).await;
}

async fn t15_more_than_can_be_worked_on_are_asked_to_come_back(bed: TestBed) {
    let (client, started, may_end) = with_slow_sink(&bed).await;
    let small = Budget { connections: 8, in_flight: 1 };
    let server = Server::start(&client, |limits| limits.api = small).await;
    let mut slow = server.connect().await;
    slow.write_all(slow_event().as_bytes()).await.unwrap();
    drop(signal("the request", started.acquire()).await);
    let mut other = server.connect().await;
    other.write_all(WORK.as_bytes()).await.unwrap();
    let mut text = String::new();
    let mut buffer = [0; 2048];
    let count = signal("a refusal", other.read(&mut buffer)).await.unwrap();
    text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    assert!(text.starts_with("HTTP/1.1 429") && text.contains("retry-after: 1"), "{text}");
    // Other parts have their own.
    assert_eq!(server.ask(HEALTH).await, "HTTP/1.1 200 OK");
    assert_eq!(server.ask("GET /no-such-page HTTP/1.1\r\nHost: x\r\n\r\n").await, "HTTP/1.1 404 Not Found");
    may_end.add_permits(1);
    assert_eq!(first_line(&mut slow).await, "HTTP/1.1 200 OK");
    assert_eq!(server.ask(WORK).await, "HTTP/1.1 401 Unauthorized");
}

async fn t15_an_address_does_not_take_it_all(bed: TestBed) {
    let (client, started, may_end) = with_slow_sink(&bed).await;
    let server = Server::start(&client, |limits| {
        limits.connections_per_address = 2;
        limits.requests_per_address = 1;
    })
    .await;
    let mut slow = server.connect_from("127.0.0.2").await;
    slow.write_all(slow_event().as_bytes()).await.unwrap();
    drop(signal("the request", started.acquire()).await);
    for (from, text, expected) in [
        ("127.0.0.2", WORK, "HTTP/1.1 429 Too Many Requests"),
        ("127.0.0.2", HEALTH, "HTTP/1.1 200 OK"),
        ("127.0.0.3", WORK, "HTTP/1.1 401 Unauthorized"),
    ] {
        let mut stream = server.connect_from(from).await;
        stream.write_all(text.as_bytes()).await.unwrap();
        assert_eq!(first_line(&mut stream).await, expected, "{from} {text}");
    }
    may_end.add_permits(1);
    assert_eq!(first_line(&mut slow).await, "HTTP/1.1 200 OK");
}

async fn t15_only_a_listed_proxy_speaks_for_a_client(bed: TestBed) {
    let (client, started, may_end) = with_slow_sink(&bed).await;
    let server = Server::start(&client, |limits| {
        limits.requests_per_address = 1;
        limits.proxies = "127.0.0.9".parse().unwrap();
    })
    .await;
    let said = |text: &str, client: &str| {
        text.replacen("Host: x", &format!("Host: x\r\nX-Forwarded-For: {client}"), 1)
    };
    let mut slow = server.connect_from("127.0.0.9").await;
    slow.write_all(said(&slow_event(), "198.51.100.1").as_bytes()).await.unwrap();
    drop(signal("the request", started.acquire()).await);
    for (from, client, expected) in [
        ("127.0.0.9", "198.51.100.1", "HTTP/1.1 429 Too Many Requests"),
        ("127.0.0.9", "198.51.100.2", "HTTP/1.1 401 Unauthorized"),
        // Anybody else is who they are.
        ("127.0.0.3", "198.51.100.1", "HTTP/1.1 401 Unauthorized"),
    ] {
        let mut stream = server.connect_from(from).await;
        stream.write_all(said(WORK, client).as_bytes()).await.unwrap();
        assert_eq!(first_line(&mut stream).await, expected, "{from} for {client}");
    }
    may_end.add_permits(1);
    assert_eq!(first_line(&mut slow).await, "HTTP/1.1 200 OK");
}
