//! `/api/v1/nodes`: the processes that serve and work.

use axum::extract::State;
use punctual_store::{
    StoreError,
    nodes::{self, NodeRow},
};
use punctual_wire::nodes::{Holds, Node, Nodes};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Read},
};

/// All nodes, by name
///
/// Each node reports every five seconds. A node is removed when it stops normally, or when it was not seen for an hour.
#[utoipa::path(get, path = "/api/v1/nodes", tag = "Health", security(("key" = ["read"])),
    responses((status = 200, body = Nodes)))]
pub async fn list(State(app): State<Shared>, _: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = nodes::all(&mut reader.conn()).await?;
    JsonResponse::ok(&Nodes { items: rows.into_iter().map(shape).collect::<Result<_, _>>()? })
}

fn shape(row: NodeRow) -> Result<Node, StoreError> {
    Ok(Node {
        node: row.node,
        version: row.version,
        role: row.role,
        clock_offset_ms: row.clock_offset_ms,
        started_at: row.started_at,
        last_seen_at: row.last_seen_at,
        holds: Holds { work: row.held_work, notifications: row.held_notifications },
    })
}
