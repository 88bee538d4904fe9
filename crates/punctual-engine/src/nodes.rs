//! The nodes: their reports and their faults.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{
    Lane, batches,
    nodes::{self, NodeRow},
    schema,
};

use crate::{
    Engine, EngineError,
    attention::{Kind, Waiting},
    config::earlier,
};

/// A node that was not seen for so long is gone: it was stopped permanently, or runs under another name.
const GONE_AFTER: std::time::Duration = std::time::Duration::from_secs(60 * 60);
/// A machine's clock that is off by more is wrong.
const CLOCK_OFF_MS: u64 = 1_000;

/// What a node is, beside its name.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Of the program.
    pub version: &'static str,
    /// `all`, `api` or `worker`.
    pub role: &'static str,
    pub started_at: Timestamp,
}

/// What may be wrong with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Well,
    /// It has not reported for longer than a lease.
    CutOff,
    /// It knows less of the schema than nodes must.
    TooOld,
    /// Its machine's clock is not at the time that the node goes by.
    WrongClock,
}

impl Engine {
    /// Reports this node; an error where the database asks for a newer program than this one.
    #[boxed]
    pub async fn report_node(&self, identity: &Identity) -> Result<(), EngineError> {
        let now = self.clock.now();
        let (work, notifications) = self.held.counts();
        let mut tx = self.store.begin(Lane::Intake).await?;
        schema::check(&mut tx.conn()).await?;
        let row = NodeRow {
            node: self.config.node.clone(),
            version: identity.version.to_owned(),
            role: identity.role.to_owned(),
            schema_version: schema::known(),
            clock_offset_ms: i64::try_from(self.clock.own_offset().as_millis()).unwrap_or(i64::MAX),
            held_work: work,
            held_notifications: notifications,
            started_at: identity.started_at,
            last_seen_at: now,
        };
        nodes::report(&mut tx.conn(), &row).await?;
        // Where one process owns the database, there is no other node.
        let gone = if self.store.is_single_process() { now } else { earlier(now, GONE_AFTER) };
        nodes::forget(&mut tx.conn(), gone).await?;
        Ok(tx.commit().await?)
    }

    /// Says that this node stops in order.
    #[boxed]
    pub async fn leave_nodes(&self) -> Result<(), EngineError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        nodes::leave(&mut tx.conn(), &self.config.node).await?;
        tx.commit().await?;
        Ok(batches::leave(&self.store, &self.config.node).await?)
    }

    /// What is wrong with a node, the gravest first.
    pub fn node_state(&self, row: &NodeRow) -> NodeState {
        if row.last_seen_at < earlier(self.clock.now(), self.config.lease) {
            NodeState::CutOff
        } else if row.schema_version < schema::oldest_node() {
            NodeState::TooOld
        } else if row.clock_offset_ms.unsigned_abs() > CLOCK_OFF_MS {
            NodeState::WrongClock
        } else {
            NodeState::Well
        }
    }

    /// Claims that ran out before this and were taken over by nobody should not exist: a sweep is much sooner.
    pub(crate) fn locked_since(&self) -> Timestamp {
        earlier(self.clock.now(), self.config.lease)
    }

    /// The nodes that need attention.
    pub(crate) fn nodes_waiting(&self, rows: &[NodeRow]) -> Vec<Waiting> {
        let has_no_other_clock = self.store.is_single_process();
        let waiting = |row: &NodeRow| {
            let (kind, reason) = match self.node_state(row) {
                NodeState::Well => return None,
                NodeState::CutOff => (
                    Kind::Node,
                    "It does not report any more; it has stopped or is cut off from the database".to_owned(),
                ),
                NodeState::TooOld => {
                    (Kind::Node, "It runs a version that is too old to work beside this one".to_owned())
                }
                NodeState::WrongClock => {
                    (Kind::Clock, clock_sentence(row.clock_offset_ms, has_no_other_clock))
                }
            };
            let since = row.last_seen_at;
            let (id, title) = (row.node.clone(), row.node.clone());
            Some(Waiting { kind, id, title, reason, since, link: "/nodes".to_owned(), cause: None })
        };
        rows.iter().filter_map(waiting).collect()
    }
}

fn clock_sentence(offset_ms: i64, has_no_other_clock: bool) -> String {
    let seconds = offset_ms.unsigned_abs() / 1_000;
    match (has_no_other_clock, offset_ms > 0) {
        (false, true) => {
            format!("Its machine's clock is {seconds} s ahead; the node goes by the right time all the same")
        }
        (false, false) => {
            format!("Its machine's clock is {seconds} s behind; the node goes by the right time all the same")
        }
        (true, true) => format!("Its machine's clock is {seconds} s ahead of the node's time"),
        (true, false) => format!(
            "Its machine's clock is {seconds} s behind the latest time in the database: it is behind now, or it was ahead before; the node's time runs at half speed until both agree"
        ),
    }
}
