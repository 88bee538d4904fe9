//! One call to the outside: one message to one target.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use jiff::Timestamp;
use punctual_model::{Outgoing, ReasonCode, SendOutcome, Span, TraceParent, ids::derive_uuid};
use punctual_store::notifications::NotificationRow;
use punctual_templates::Rendered;

use super::{Answer, trust::Trust, underway::Content};
use crate::{
    Engine, Opened,
    confine::panic_message,
    delivery::{Permit, ToSend, event_id},
    delivery_policy::links::Holder,
    traced::call_ended,
};

/// A call that is to be made.
pub(super) struct Call {
    pub(super) channel: Arc<Opened>,
    pub(super) item: Arc<ToSend>,
    pub(super) content: Arc<Content>,
    pub(super) target: String,
    pub(super) permit: Permit,
    /// The end of what its intent is good for.
    pub(super) not_after: Timestamp,
    pub(super) trace: Option<TraceParent>,
}

/// What became of it.
pub(super) enum Called {
    Answered(Answer),
    /// The lease or its intent had run out in the meantime: nothing left this process.
    NotStarted {
        target: String,
    },
}

impl Engine {
    /// Where a mail of a topic says no: nothing else has such a link.
    fn unsubscribe_link(&self, row: &NotificationRow, target: &str) -> Option<String> {
        let topic = row.topic.clone().filter(|_| target.contains('@'))?;
        Some(self.preference_link(&Holder { address: target.to_owned(), topic: Some(topic) }))
    }

    /// One call to the outside. A channel that panics or forgets its own time limit harms only this target.
    pub(super) async fn call(self, call: Call, trust: Arc<Trust>) -> (i64, Called) {
        let Call { channel, item, content, target, permit, not_after, trace } = call;
        let now = self.clock.now();
        if now >= not_after || !trust.holds(now) {
            return (item.row.seq, Called::NotStarted { target });
        }
        let limit = channel.channel.timeout() * 2;
        let mut span = Span::none();
        let send = AssertUnwindSafe(async {
            let mut message = outgoing(&item.row, &channel, &target, &content.text, now);
            message.unsubscribe = self.unsubscribe_link(&item.row, &target);
            message.attachments = content.files.as_ref().clone();
            span = self.trace_call(trace, &channel, &item.row, &mut message.envelope);
            channel.channel.send(message).await
        });
        let outcome = match tokio::time::timeout(limit, send.catch_unwind()).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => {
                let error = format!("the channel panicked: {}", panic_message(&*panic));
                SendOutcome::Permanent { reason: ReasonCode::Panic, error }
            }
            Err(_) => SendOutcome::Uncertain { error: "the channel did not answer in time".into() },
        };
        call_ended(span, &outcome);
        let at = self.clock.now();
        self.metrics.sent(channel.key.as_str(), &outcome);
        drop(permit);
        (item.row.seq, Called::Answered(Answer { target, outcome, at }))
    }
}

fn outgoing(
    row: &NotificationRow,
    channel: &Opened,
    target: &str,
    text: &Rendered,
    now: Timestamp,
) -> Outgoing {
    Outgoing {
        notification: row.id,
        channel: channel.key.clone(),
        address: target.to_owned(),
        attempt: row.attempts,
        // From the notification and the target alone: the same in every attempt. An event brings its own.
        message_id: event_id(row)
            .unwrap_or_else(|| derive_uuid(&["target", &row.id.to_string(), target]).to_string()),
        kind: row.kind.clone(),
        subject: text.subject.clone(),
        body: text.body.clone(),
        html: text.html.clone(),
        type_data: row.type_data.as_ref().and_then(|data| data.read().ok()),
        locale: row.locale.clone(),
        context: row.context.as_ref().and_then(|context| context.read().ok()),
        attachments: Vec::new(),
        envelope: row.envelope.as_ref().and_then(|envelope| envelope.read().ok()).unwrap_or_default(),
        unsubscribe: None,
        at: now,
    }
}
