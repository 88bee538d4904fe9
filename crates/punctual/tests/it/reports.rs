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
    server::{Place, Server},
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

/// Asks for runs at a server that does not work; answers what it acknowledged.
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

async fn run_now(server: &Server, guid: &str) -> Value {
    let path = format!("/api/v1/report-subscriptions/{guid}/automation-runs");
    let (status, asked) = server.post(&path, &json!({})).await.unwrap();
    assert_eq!(status, 202, "{asked}");
    let path = format!("{path}/{}", asked["manualRunGuid"].as_str().unwrap());
    server
        .until("a report", async |server| {
            let (_, run) = server.get(&path).await;
            (run["notifications"][0]["status"] == "delivered").then_some(run)
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_arrives_as_a_mail_with_its_table_its_chart_and_its_files() {
    let (place, mail) = (Place::sqlite(), MailServer::start().await);
    let server = place.start(&[]);
    let settings = json!({ "host": "127.0.0.1", "port": mail.port, "tls": "none", "from": "Reports <reports@a.example>" });
    server.put("/api/v1/channels/email:default", &json!({ "adapter": "smtp", "settings": settings })).await;
    let subscription = json!({
        "name": "Täglich ✓", "cadence": { "cron": "0 8 * * *", "timeZone": "Europe/Berlin" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv", "xlsx"] },
        "recipients": { "addresses": ["to@b.example"] }, "channel": "email:default",
    });
    let (status, made) = server.post("/api/v1/report-subscriptions", &subscription).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let run = run_now(&server, made["guid"].as_str().unwrap()).await;
    let got = mail.first();
    assert_eq!((&got["to"], &got["defects"]), (&json!(["to@b.example"]), &json!([])));
    let parts = got["parts"].as_array().unwrap();
    let of = |kind: &str| parts.iter().filter(|part| part["type"] == kind).collect::<Vec<_>>();
    assert_eq!((of("text/plain").len(), of("text/html").len()), (1, 1), "{parts:?}");
    assert!(of("text/html")[0]["text"].as_str().unwrap().contains("Täglich ✓"));
    let csv = of("text/csv");
    assert_eq!((csv.len(), &csv[0]["disposition"]), (1, &json!("attachment")));
    // What arrived is what was kept.
    let file = run["artefacts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["mediaType"].as_str().unwrap().starts_with("text/csv"))
        .unwrap();
    let reply = server.client.get(format!("{}{}", server.address, file["href"].as_str().unwrap()));
    let kept = reply.bearer_auth(crate::server::KEY).send().await.unwrap().bytes().await.unwrap();
    let hex: String = kept.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(csv[0]["hex"], json!(hex));
}
