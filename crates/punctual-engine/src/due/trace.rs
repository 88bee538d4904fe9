//! Decision traces for support, stored in a blob. The pipeline does not read them, and a trace that cannot be written is
//! ignored.

use jiff::Timestamp;
use punctual_store::{Lane, work};
use serde_json::{Value, json};

use crate::{Claimed, Engine, EngineError, due::chain};

/// The trace of one row, to be written once its decision is on disk.
pub(super) struct Trace {
    id: i64,
    blob: String,
    content: Value,
}

impl Trace {
    /// What was known when the row was decided, with what its workflow adds.
    pub(super) fn new(
        row: &Claimed,
        outcome: Value,
        given: Option<Value>,
        node: &str,
        now: Timestamp,
    ) -> Self {
        let input: Value = serde_json::from_str(&row.input).unwrap_or_else(|_| row.input.clone().into());
        let content = json!({
            "at": now, "node": node, "key": row.key, "kind": row.kind, "input": input, "inputHash": row.input_hash,
            "dueAt": Some(row.due_at), "failuresBefore": row.retry_count,
            "outcome": outcome, "path": given,
        });
        Self { id: row.id, blob: format!("traces/work/{}/{}.json", row.id, row.version + 1), content }
    }
}

impl Engine {
    pub(super) async fn keep_traces(&self, traces: Vec<Trace>) {
        if traces.is_empty() {
            return;
        }
        if let Err(error) = self.write_traces(traces).await {
            tracing::warn!(error = %chain(&error), "decision traces could not be stored");
        }
    }

    async fn write_traces(&self, traces: Vec<Trace>) -> Result<(), EngineError> {
        let mut kept = Vec::with_capacity(traces.len());
        for trace in traces {
            let text = serde_json::to_vec_pretty(&trace.content).unwrap_or_default();
            self.blobs.put(&trace.blob, text).await?;
            kept.push((trace.id, trace.blob));
        }
        let mut tx = self.store.begin(Lane::Claim).await?;
        for (id, blob) in kept {
            work::set_trace(&mut tx.conn(), id, &blob).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}
