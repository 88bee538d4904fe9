//! The nodes: which serve and work, since when, and what each has claimed.

use askama::Template;
use axum::{Router, extract::State, routing::get};
use jiff::Timestamp;
use punctual_engine::NodeState;
use punctual_store::nodes::{self, NodeRow};

use super::sites::offset;
use crate::{
    Shared,
    answer::{Page, page},
    frame::{Frame, Visit},
    times::When,
    words::{self, Pill},
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/nodes", get(show))
}

#[derive(Template)]
#[template(path = "nodes.html")]
struct NodesPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Node>,
}

struct Node {
    name: String,
    pill: Pill,
    role: &'static str,
    version: String,
    clock: String,
    work: String,
    notifications: String,
    started: When,
    seen: When,
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let found = nodes::all(&mut reader.conn()).await?;
    drop(reader);
    let well = found.iter().filter(|row| app.engine.node_state(row) == NodeState::Well).count();
    let all = words::counted(i64::try_from(found.len()).unwrap_or(i64::MAX), "node", "nodes");
    let sentence = match found.len() - well {
        _ if found.is_empty() => String::new(),
        0 => format!("{all}, nothing wrong."),
        wrong => format!("{all}, {wrong} in need of attention."),
    };
    let rows = found.into_iter().map(|row| node(&app, &visit, row)).collect();
    page(&NodesPage { frame: visit.frame(&app, "Nodes", "/nodes").await?, sentence, rows })
}

fn node(app: &Shared, visit: &Visit, row: NodeRow) -> Node {
    let pill = match app.engine.node_state(&row) {
        NodeState::Well => Pill { word: "well", class: "good" },
        NodeState::CutOff => Pill { word: "cut off", class: "bad" },
        NodeState::TooOld => Pill { word: "too old", class: "bad" },
        NodeState::WrongClock => Pill { word: "wrong clock", class: "bad" },
    };
    let when = |at: Timestamp| visit.zone.when(at, Visit::now(app));
    Node {
        pill,
        role: match row.role.as_str() {
            "api" => "requests",
            "worker" => "work",
            _ => "requests and work",
        },
        clock: offset(row.clock_offset_ms.saturating_neg()),
        work: words::grouped(row.held_work),
        notifications: words::grouped(row.held_notifications),
        started: when(row.started_at),
        seen: when(row.last_seen_at),
        name: row.node,
        version: row.version,
    }
}
