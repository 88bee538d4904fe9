//! The next channel, where one does not get a message across.

use jiff::Timestamp;
use punctual_model::{ReasonCode, delivery_policy::preference::next_in};
use punctual_store::notifications::{ClaimedNotification, Delivery};

use crate::delivery::ToSend;

/// The order of channels that a message brings along.
pub(in crate::delivery) fn order_of(row: &ClaimedNotification) -> Vec<String> {
    row.failover.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// What is parked, or not wanted over this channel, goes on over the next one where there is one. It is the same message:
/// its timeline goes on, and whoever has it already does not get it again.
pub(in crate::delivery) fn go_on(
    row: &ClaimedNotification,
    order: &[String],
    delivery: Delivery,
    now: Timestamp,
) -> Delivery {
    let reason = delivery.reason.as_deref();
    let unwanted_here = delivery.status == "withdrawn" && reason == Some(ReasonCode::Preference.as_str());
    // What may have arrived is for a person to decide.
    let failed = delivery.status == "parked" && reason != Some(ReasonCode::Uncertain.as_str());
    if !failed && !unwanted_here {
        return delivery;
    }
    let Some(next) = next_in(order, &row.channel) else { return with_order(order, delivery) };
    Delivery {
        status: "pending",
        retry_count: 0,
        reason: Some(ReasonCode::FailedOver.into()),
        retry_at: Some(now),
        channel: Some(next.to_owned()),
        ..delivery
    }
}

/// What reached the others, where somebody was left out whom the next channel may reach: not done yet.
pub(in crate::delivery) fn for_left_out(item: &ToSend, delivery: Delivery) -> Delivery {
    match &item.left_out {
        Some(why) if delivery.status == "delivered" && has_next(item) => Delivery {
            status: "parked",
            reason: Some(ReasonCode::Suppressed.into()),
            last_error: Some(why.clone()),
            ..delivery
        },
        _ => delivery,
    }
}

/// Whether another channel is left for a message.
pub(in crate::delivery) fn has_next(item: &ToSend) -> bool {
    next_in(&item.failover, &item.row.channel).is_some()
}

/// No channel is left: the error names the order that was used.
fn with_order(order: &[String], delivery: Delivery) -> Delivery {
    if order.is_empty() || delivery.status != "parked" {
        return delivery;
    }
    let error = delivery.last_error.as_deref().unwrap_or("it was not sent");
    let last_error = Some(format!("{error}; no channel is left of {}", order.join(" → ")));
    Delivery { last_error, ..delivery }
}
