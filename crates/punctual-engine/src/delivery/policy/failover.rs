//! The next channel, where one fails to deliver a message.

use jiff::Timestamp;
use punctual_model::{
    ChannelKey, NotificationEvent, NotificationStatus, ReasonCode,
    delivery_policy::{Priority, preference::next_in},
};
use punctual_store::notifications::{Delivery, NotificationRow};

use crate::delivery::ToSend;

/// The order of channels that a message brings along.
pub(in crate::delivery) fn order_of(row: &NotificationRow) -> Vec<ChannelKey> {
    // An order that cannot be read is none: the message is sent over its own channel.
    row.failover.as_ref().and_then(|order| order.read().ok()).unwrap_or_default()
}

/// What is parked, or not wanted over this channel, goes on over the next one where there is one. It is the same message:
/// its timeline goes on, and whoever has it already does not get it again.
pub(in crate::delivery) fn go_on(
    row: &NotificationRow,
    order: &[ChannelKey],
    delivery: Delivery,
    now: Timestamp,
) -> Delivery {
    let unwanted_here =
        delivery.status == NotificationStatus::Withdrawn && delivery.reason == Some(ReasonCode::Preference);
    // What may have arrived is for a person to decide.
    let failed =
        delivery.status == NotificationStatus::Parked && delivery.reason != Some(ReasonCode::Uncertain);
    if !failed && !unwanted_here {
        return delivery;
    }
    let Some(next) = next_in(order, &row.channel) else { return with_order(order, delivery) };
    let moved = Delivery {
        retry_count: 0,
        reason: Some(ReasonCode::FailedOver),
        retry_at: Some(now),
        last_error: delivery.last_error,
        leaves_list: true,
        ..row.after(NotificationEvent::FailOver)
    };
    row.moved_to(next, moved)
}

/// A message that has reached the others goes on where the next channel may reach somebody who was left out.
pub(in crate::delivery) fn for_left_out(item: &ToSend, delivery: Delivery) -> Delivery {
    match &item.left_out {
        Some(why) if delivery.status == NotificationStatus::Delivered && has_next(item) => Delivery {
            reason: Some(ReasonCode::Suppressed),
            last_error: Some(why.clone()),
            retry_count: delivery.retry_count,
            ..item.row.after(NotificationEvent::Park)
        },
        _ => delivery,
    }
}

/// After how many failed attempts a message goes on to its next channel; nothing where there is none.
pub(in crate::delivery) fn attempts_before_next_channel(item: &ToSend) -> Option<i64> {
    has_next(item).then(|| match Priority::of(item.row.priority) {
        Priority::Alarm => 1,
        Priority::High | Priority::Normal | Priority::Campaign => 3,
    })
}

/// Whether another channel is left for a message.
pub(in crate::delivery) fn has_next(item: &ToSend) -> bool {
    next_in(&item.failover, &item.row.channel).is_some()
}

/// No channel is left: the error names the order that was used.
fn with_order(order: &[ChannelKey], delivery: Delivery) -> Delivery {
    if order.is_empty() || delivery.status != NotificationStatus::Parked {
        return delivery;
    }
    let error = delivery.last_error.as_deref().unwrap_or("it was not sent");
    let last_error = Some(format!("{error}; no channel is left of {}", joined(order)));
    Delivery { last_error, ..delivery }
}

fn joined(order: &[ChannelKey]) -> String {
    order.iter().map(ChannelKey::as_str).collect::<Vec<_>>().join(" → ")
}
