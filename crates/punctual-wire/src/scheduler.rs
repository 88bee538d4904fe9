//! `/api/v1/scheduler`: one bounded pass over all that is due, for tests and for use by hand.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields, limits::TICK_BATCH_MAX};

/// The limits of one tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TickRequest {
    /// Rows per stage, 1 to 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10000)]
    pub batch_size: Option<i64>,
}

impl TickRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self { batch_size: fields.optional_int("batchSize", 1..=TICK_BATCH_MAX) };
        fields.finish().map(|()| request)
    }
}

/// The counts of one tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tick {
    pub now: Timestamp,
    /// Work rows that were claimed and settled.
    pub processed: u64,
    /// Surveys whose time was over.
    pub expired: u64,
    /// Outbox events that every subscriber of this pass took.
    pub dispatched: u64,
    /// Work that failed, and outbox events that a subscriber did not take.
    pub failed: u64,
    pub work: TickWork,
    pub deliveries: TickDeliveries,
}

/// What became of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TickWork {
    pub completed: u64,
    pub deactivated: u64,
    pub held: u64,
}

/// What became of the notifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TickDeliveries {
    pub delivered: u64,
    pub retrying: u64,
    pub parked: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tick_is_asked_for_and_answered_as_documented() {
        assert_eq!(TickRequest::read(&json!({}), "").unwrap().batch_size, None);
        assert_eq!(TickRequest::read(&json!({"batchSize": 100}), "").unwrap().batch_size, Some(100));
        for size in [json!(0), json!(10_001), json!("100")] {
            assert_eq!(
                TickRequest::read(&json!({"batchSize": size}), "").unwrap_err()[0].pointer,
                "/batchSize"
            );
        }
        let json = json!({"now": "2026-05-14T05:12:34Z", "processed": 1, "expired": 0, "dispatched": 0, "failed": 0,
                          "work": {"completed": 1, "deactivated": 0, "held": 0},
                          "deliveries": {"delivered": 1, "retrying": 0, "parked": 0}});
        let tick: Tick = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(tick).unwrap(), json);
    }
}
