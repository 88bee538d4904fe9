//! Reports from an HTTP endpoint: what is asked, what is understood, and where no call goes.

use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;
use punctual_channels::{AllowList, Guard, Trust};
use punctual_model::{Secret, table::Cell};
use punctual_reports::{Asked, Author, Connection, Connections, Definition, FetchFault, Sources};
use punctual_store::{Store, StoreOptions};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

struct StandIn {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl StandIn {
    /// Answers every request by its path: `/STATUS/…` with that status; `/rows`, `/large`, `/no-json` with what they say.
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    let head = String::from_utf8(head).unwrap();
                    let path = head.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
                    kept.lock().unwrap().push(head);
                    let (status, body) = answer(&path);
                    let length = body.len();
                    let reply = format!(
                        "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nlocation: /rows\r\nconnection: close\r\n\r\n{body}"
                    );
                    drop(stream.write_all(reply.as_bytes()).await);
                });
            }
        });
        Self { port, heads }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn heads(&self) -> Vec<String> {
        std::mem::take(&mut self.heads.lock().unwrap())
    }
}

fn answer(path: &str) -> (u16, String) {
    match path {
        "/rows" => {
            (200, json!({"data": [{"site": "plant-7", "n": 3}, {"site": "plant-8", "n": null}]}).to_string())
        }
        "/large" => (200, format!("[{}1]", "1,".repeat(9 * 1024 * 1024))),
        "/no-json" => (200, "<html>".to_owned()),
        _ => (path.trim_matches('/').parse().unwrap_or(404), "{}".to_owned()),
    }
}

fn open_sources(stand_in: &StandIn) -> Sources {
    let bearer = Connection {
        url: Secret::new(stand_in.url("/rows")),
        bearer: Some(Secret::new("t0ken-of-bi")),
        business_units: None,
    };
    let connections = Connections::default().with("bi", bearer).unwrap();
    let allow: AllowList = "127.0.0.0/8".parse().unwrap();
    Sources::new(&Guard::new(allow), &Trust::platform(), connections).unwrap()
}

async fn fetch(sources: &Sources, url: &str, rows: &str) -> Result<punctual_model::table::Table, FetchFault> {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        accept_weak_durability: true,
        ..StoreOptions::new(format!("sqlite:{}/own.db", folder.path().display()))
    };
    let now = "2026-11-03T00:00:00Z".parse().unwrap();
    let own = Store::open(options, now).await.unwrap();
    let mut http = json!({"url": url});
    if !rows.is_empty() {
        http["rows"] = rows.into();
    }
    let definition = Definition::read(&json!({"source": {"http": http}, "rowCap": 1})).unwrap();
    let asked = Asked {
        period_start: "2026-10-26T00:00:00Z".parse().unwrap(),
        period_end: "2026-11-02T00:00:00Z".parse().unwrap(),
        business_unit: Some("emea & co".to_owned()),
        zone: TimeZone::UTC,
        locale: "en".to_owned(),
    };
    sources.fetch(&own, &definition, &asked).await
}

#[tokio::test]
async fn an_endpoint_is_asked_for_the_period_and_its_rows_are_read() {
    let stand_in = StandIn::start().await;
    let sources = open_sources(&stand_in);
    let table = fetch(&sources, &stand_in.url("/rows?kind=all"), "/data").await.unwrap();
    assert_eq!(table.rows, [[Cell::Integer(3), Cell::text("plant-7")]]);
    assert!(table.truncated, "the row cap holds here too");
    let head = stand_in.heads().remove(0).to_lowercase();
    assert!(head.starts_with("get /rows?kind=all&periodstart=2026-10-26t00%3a00%3a00z&periodend=2026-11-02t00%3a00%3a00z&businessunit=emea+%26+co http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer t0ken-of-bi"), "{head}");
    assert!(fetch(&sources, &stand_in.url("/404"), "").await.is_err());
    assert!(!stand_in.heads()[0].contains("t0ken"), "the credential is for another address");
}

#[tokio::test]
async fn every_answer_has_its_outcome() {
    let stand_in = StandIn::start().await;
    let sources = open_sources(&stand_in);
    for (path, code, may_pass) in [
        ("/500", "endpoint_failed", true),
        ("/503", "endpoint_failed", true),
        ("/429", "endpoint_failed", true),
        ("/401", "endpoint_refused", false),
        ("/302", "endpoint_refused", false),
        ("/no-json", "answer_invalid", false),
        ("/rows", "answer_invalid", false),
        ("/large", "answer_too_large", false),
    ] {
        let fault = fetch(&sources, &stand_in.url(path), "").await.unwrap_err();
        assert_eq!((fault.code, fault.may_pass), (code, may_pass), "{path}: {fault}");
    }
    assert_eq!(stand_in.heads().len(), 8, "no redirect was followed");
    let gone = fetch(&sources, "http://127.0.0.1:1/rows", "").await.unwrap_err();
    assert_eq!((gone.code, gone.may_pass), ("endpoint_unreachable", true));
}

#[tokio::test]
async fn t07_an_internal_address_is_never_called() {
    let stand_in = StandIn::start().await;
    let sources =
        Sources::new(&Guard::new(AllowList::default()), &Trust::platform(), Connections::default()).unwrap();
    let port = stand_in.port;
    for url in [
        stand_in.url("/rows"),
        format!("https://127.0.0.1:{port}/rows"),
        format!("https://localhost:{port}/rows"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://[::1]/rows".to_owned(),
        "https://user:password@example.org/rows".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let fault = fetch(&sources, &url, "").await.unwrap_err();
        assert!(fault.code.starts_with("url_") && !fault.may_pass, "{url}: {fault:?}");
        let definition = Definition::read(&json!({"source": {"http": {"url": url}}})).unwrap();
        assert_eq!(
            sources.check(&definition, Author { business_unit: None, is_limited: false }).len(),
            1,
            "{url} is refused when it is saved too"
        );
    }
    assert!(stand_in.heads().is_empty());
}
