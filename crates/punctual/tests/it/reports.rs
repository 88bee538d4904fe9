//! Reports from a real process: the mail as a mail server gets it, and kills between the ownership of a run and its
//! delivery.

use std::{path::PathBuf, process::Stdio};

use punctual_testkit::scale;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::{
    receiver::Receiver,
    server::{KEY, Place, Server},
};

/// Where a run dies: after it was taken, when its files are written, and around what is written with its decision.
const POINTS: [&str; 6] = [
    "after:run_ownership.take",
    "before:run_ownership.lock",
    "before:work.settle",
    "after:notifications.insert_absent",
    "after:run_ownership.delivered",
    "after:run_records.put",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r13_no_run_is_lost_or_doubled_between_ownership_and_delivery_on_sqlite() {
    storm(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r13_no_run_is_lost_or_doubled_between_ownership_and_delivery_on_postgres() {
    storm(Place::postgres().await).await;
}

async fn storm(place: Place) {
    let kills = scale(6, 50);
    // Two runs are under way at each kill, and one that was killed twice waits for minutes: there are enough fresh ones.
    let wanted = kills * 2 + 6;
    let receiver = Receiver::start().await;
    let asked = accepted_runs(&place, &receiver, wanted).await;
    for round in 0..kills {
        let point = POINTS[round % POINTS.len()];
        if let Some(server) = place.try_start(&["--crash-at", point]) {
            server.until_ended(point).await;
        }
    }
    let server = place.start(&[]);
    let (mut repeated, mut delivered) = (0, 0);
    for (subscription, run) in &asked {
        let path = format!("/api/v1/report-subscriptions/{subscription}/automation-runs/{run}");
        let done = server
            .until("the run", async |server| {
                let (_, run) = server.get(&path).await;
                let settled = run["notifications"].as_array()?.iter().all(|one| one["status"] == "delivered");
                (run["status"] == "completed" && settled).then_some(run)
            })
            .await;
        let messages = done["notifications"].as_array().unwrap();
        assert_eq!(messages.len(), 1, "{done}");
        assert_eq!(done["ownership"]["status"], "deliveryCreated", "{done}");
        let id = messages[0]["id"].as_str().unwrap();
        assert_eq!(done["coordinates"]["notifications"], json!([id]));
        let (_, row) = server.get(&format!("/api/v1/notifications/{id}")).await;
        let uncertain = row["uncertain"].as_u64().unwrap_or(0) as usize;
        let got = receiver.accepted().get(id).map_or(0, Vec::len);
        assert!(got >= 1 && got <= 1 + uncertain, "{id} arrived {got} times, {uncertain} uncertain");
        repeated += got - 1;
        delivered += 1;
    }
    assert_eq!(receiver.accepted().len(), delivered, "nothing arrived that nobody asked for");
    println!("{kills} kills: {delivered} runs, each delivered once, {repeated} repeats, all of them marked");
}

/// Asks for runs at a server that does not work; returns what it acknowledged.
async fn accepted_runs(place: &Place, receiver: &Receiver, count: usize) -> Vec<(String, String)> {
    let server = place.start(&["--role", "api"]);
    let settings = json!({ "url": receiver.url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let retry = json!({ "policy": "fixed", "max": 20, "intervalSeconds": 1 });
    let channel = json!({ "adapter": "webhook", "settings": settings, "retry": retry });
    server.put("/api/v1/channels/webhook:test", &channel).await;
    let subscription = json!({
        "name": "Figures", "cadence": { "cron": "0 8 1 1 *", "timeZone": "UTC" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv"] },
        "recipients": { "addresses": ["hook"] }, "channel": "webhook:test",
    });
    let (status, made) = server.post("/api/v1/report-subscriptions", &subscription).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let guid = made["guid"].as_str().unwrap().to_owned();
    let mut asked = Vec::with_capacity(count);
    for _ in 0..count {
        let path = format!("/api/v1/report-subscriptions/{guid}/automation-runs");
        let (status, answer) = server.post(&path, &json!({})).await.unwrap();
        assert_eq!(status, 202, "{answer}");
        asked.push((guid.clone(), answer["manualRunGuid"].as_str().unwrap().to_owned()));
    }
    server.kill();
    asked
}

/// A mail server in Python that keeps what it is sent, parsed.
struct MailServer {
    port: u16,
    folder: TempDir,
    /// It ends when its input does.
    _child: Child,
}

impl MailServer {
    async fn start() -> Self {
        let script: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "../punctual-channels/tests/it/smtp_server.py"].iter().collect();
        let python = std::env::var("PUNCTUAL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(python)
            .arg(script)
            .arg(folder.path())
            .arg("plain")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        Self { port: line.trim().parse().expect("the mail server says its port"), folder, _child: child }
    }

    fn first(&self) -> Value {
        let text = std::fs::read(self.folder.path().join("1.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

/// A server with a database that reports can read: an empty file is one.
fn with_warehouse(place: &Place) -> Server {
    std::fs::write(place.folder().join("warehouse.db"), "").unwrap();
    let file = place.folder().join("punctual.toml");
    std::fs::write(file, "[reports.connections.warehouse]\nurl = \"sqlite:warehouse.db\"\n").unwrap();
    place.start(&[])
}

async fn subscribe(server: &Server, report: Value) -> String {
    let subscription = json!({
        "name": "Täglich ✓", "cadence": { "cron": "0 8 * * *", "timeZone": "Europe/Berlin" }, "report": report,
        "recipients": { "addresses": ["to@b.example"] }, "channel": "email:default", "locale": "de",
    });
    let (status, made) = server.post("/api/v1/report-subscriptions", &subscription).await.unwrap();
    assert_eq!(status, 201, "{made}");
    made["guid"].as_str().unwrap().to_owned()
}

/// Asks for a run and waits until `ends` says that it has ended.
async fn run_now(server: &Server, guid: &str, ends: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/api/v1/report-subscriptions/{guid}/automation-runs");
    let (status, asked) = server.post(&path, &json!({})).await.unwrap();
    assert_eq!(status, 202, "{asked}");
    let path = format!("{path}/{}", asked["manualRunGuid"].as_str().unwrap());
    server
        .until("the end of a run", async |server| {
            let (_, run) = server.get(&path).await;
            ends(&run).then_some(run)
        })
        .await
}

fn is_delivered(run: &Value) -> bool {
    run["notifications"][0]["status"] == "delivered"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_arrives_as_a_mail_with_its_table_its_chart_and_its_files() {
    let (place, mail) = (Place::sqlite(), MailServer::start().await);
    let server = with_warehouse(&place);
    let settings = json!({ "host": "127.0.0.1", "port": mail.port, "tls": "none", "from": "Reports <reports@a.example>" });
    server.put("/api/v1/channels/email:default", &json!({ "adapter": "smtp", "settings": settings })).await;
    let query = "SELECT 'Nord' AS site, 1234 AS orders UNION ALL SELECT 'Süd & <Ost>', 7";
    let guid = subscribe(
        &server,
        json!({ "source": { "sql": { "connection": "warehouse", "query": query } }, "format": ["html", "csv", "xlsx"],
            "totals": ["orders"], "chart": { "kind": "bar", "x": "site", "y": ["orders"] } }),
    )
    .await;
    let run = run_now(&server, &guid, is_delivered).await;
    let got = mail.first();
    assert_eq!((&got["to"], &got["defects"]), (&json!(["to@b.example"]), &json!([])));
    let parts = got["parts"].as_array().unwrap();
    let of = |kind: &str| parts.iter().filter(|part| part["type"] == kind).collect::<Vec<_>>();
    assert_eq!((of("text/plain").len(), of("text/html").len()), (1, 1), "{parts:?}");
    let html = of("text/html")[0]["text"].as_str().unwrap();
    for expected in ["Täglich ✓", "1.234", "Süd &amp; &lt;Ost&gt;", "1.241"] {
        assert!(html.contains(expected), "{expected}: {html}");
    }
    let chart = of("image/png");
    assert_eq!((chart.len(), &chart[0]["disposition"]), (1, &json!("inline")), "{parts:?}");
    let cid = chart[0]["contentId"].as_str().unwrap().trim_matches(['<', '>']);
    assert!(html.contains(&format!("cid:{cid}")), "the mail shows its chart");
    let csv = of("text/csv");
    assert_eq!((csv.len(), &csv[0]["disposition"]), (1, &json!("attachment")));
    assert!(csv[0]["text"].as_str().unwrap().contains("Nord"));
    assert_eq!(of("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet").len(), 1);
    // What arrived is what was kept.
    let files = run["artefacts"].as_array().unwrap();
    let kept_csv = files.iter().find(|file| file["name"].as_str().unwrap().ends_with(".csv")).unwrap();
    let href = kept_csv["href"].as_str().unwrap();
    let reply = server.client.get(format!("{}{href}", server.address)).bearer_auth(KEY).send().await.unwrap();
    let hex: String = reply.bytes().await.unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(csv[0]["hex"], json!(hex));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_fails_is_slow_or_endless_has_a_clear_outcome_and_harms_nothing_else() {
    let place = Place::sqlite();
    let server = with_warehouse(&place);
    server.put("/api/v1/channels/email:default", &json!({ "adapter": "memory" })).await;
    let report = |query: &str, more: Value| {
        let mut report = json!({ "source": { "sql": { "connection": "warehouse", "query": query } }, "format": ["html", "csv"] });
        for (name, value) in more.as_object().unwrap() {
            report[name] = value.clone();
        }
        report
    };
    let failing = subscribe(&server, report("SELECT n FROM nothing", json!({}))).await;
    let run = run_now(&server, &failing, |run| !run["fault"].is_null()).await;
    assert_eq!((&run["fault"]["code"], &run["artefacts"]), (&json!("query_failed"), &json!([])), "{run}");

    let writing = subscribe(&server, report("SELECT 1 AS n", json!({}))).await;
    let body = json!({ "report": report("DELETE FROM nothing", json!({})) });
    let path = format!("{}/api/v1/report-subscriptions/{writing}", server.address);
    let changed = server.client.patch(path).bearer_auth(KEY).json(&body).send().await.unwrap();
    assert_eq!(changed.status(), 200, "what a query does is known only where it runs");
    let run = run_now(&server, &writing, |run| !run["fault"].is_null()).await;
    assert!(run["fault"]["code"].as_str().unwrap().starts_with("query_"), "{run}");

    let numbers = |until: &str| {
        // tidy-allow: it is the query of a report, and the test decides how long it goes on.
        format!("WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s{until}) SELECT n FROM s")
    };
    let endless = numbers("").replace("SELECT n FROM s", "SELECT max(n) AS n FROM s");
    let slow = subscribe(&server, report(&endless, json!({ "timeout": "1s" }))).await;
    // The server answers all the while. The fault is recorded first; then the run waits for its next attempt.
    let is_put_back = |run: &Value| !run["fault"].is_null() && run["status"] == "pending";
    let slow_run = run_now(&server, &slow, is_put_back).await;
    assert_eq!(slow_run["fault"]["code"], "query_timeout", "{slow_run}");

    let empty = subscribe(&server, report("SELECT 1 AS n WHERE 0", json!({}))).await;
    let run = run_now(&server, &empty, is_delivered).await;
    assert_eq!(run["rows"], 0);

    let million = subscribe(&server, report(&numbers(" WHERE n < 1000000"), json!({ "rowCap": 5000 }))).await;
    let run = run_now(&server, &million, is_delivered).await;
    assert_eq!((&run["rows"], &run["truncated"]), (&json!(5000), &json!(true)), "{run}");
    let (status, queue) = server.get("/api/v1/report-runs/failed").await;
    assert_eq!(status, 200);
    assert!(queue["items"].as_array().unwrap().len() >= 2, "{queue}");
}
