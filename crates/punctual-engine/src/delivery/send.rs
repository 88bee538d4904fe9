//! Sending: every target of a batch, as many at once as the channel permits, settled as the answers come in.

use std::{
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use punctual_model::{Outgoing, ReasonCode, SendOutcome, ids::derive_uuid};
use punctual_store::{
    Lane, attempts,
    notifications::{self, ClaimedNotification, Delivery},
    receipts::{self, Expected},
    suppressions::SuppressionRow,
};

use super::{
    DeliveryReport, Promise, Sending, ToSend,
    conclude::conclude,
    event_id,
    files::{Files, Unread},
    manners::failover,
    parked,
    settle::Outcomes,
    suppressed,
};
use crate::{
    Engine, EngineError, Opened,
    config::later,
    due::chain,
    manners::{Heard, links::Holder},
};

/// Settled together at most: about 5 ms of SQLite's writer.
const SETTLED_AT_ONCE: usize = 500;

/// How often a result is written before it is given up. The messages are out: forgetting that would send them again.
const SETTLE_TRIES: usize = 3;

/// The answer for one target.
pub(super) struct Answer {
    pub(super) target: String,
    pub(super) outcome: SendOutcome,
    pub(super) at: Timestamp,
}

/// A notification that is being sent, with the answers so far.
struct Underway {
    item: ToSend,
    answers: Vec<Answer>,
}

/// What came of sends, ready to be written.
#[derive(Default)]
struct Sent {
    results: Vec<attempts::AttemptResult>,
    settled: Vec<(ClaimedNotification, Delivery)>,
    /// Those of which nobody knows whether they arrived.
    in_doubt: HashSet<i64>,
    /// Addresses that are of no use any more.
    suppressed: Vec<SuppressionRow>,
    /// What the provider will tell more about.
    expected: Vec<Expected>,
    /// What the channel's answers mean for itself.
    heard: Heard,
    promise: Promise,
    /// When each call ended.
    ended: Vec<Timestamp>,
}

/// Notifications whose lease was lost: nothing more is sent for them.
type Lost = Arc<Mutex<HashSet<i64>>>;

impl Engine {
    /// Sends a batch to the end and settles it; what settles early is written early.
    pub(crate) async fn send_all(
        &self,
        sending: Sending,
        now: Timestamp,
    ) -> Result<DeliveryReport, EngineError> {
        let Sending { channel, items, promise, _permits } = sending;
        let mut templates = self.templates_of(&items).await?;
        let mut report = DeliveryReport::default();
        let (mut underway, mut calls, mut done) = (HashMap::new(), Vec::new(), Vec::new());
        let lost = Lost::default();
        for item in items {
            let text = match templates.render(&item.row) {
                Ok(text) => text,
                Err(fault) => {
                    done.push(unsendable(item, fault.reason, fault.error, now));
                    continue;
                }
            };
            let files = match self.files_of(&item.row).await {
                Ok(files) => files,
                Err(Unread::Gone(error)) => {
                    done.push(unsendable(item, "attachment-missing", error, now));
                    continue;
                }
                Err(Unread::Unreachable(error)) => {
                    done.push(unread(item, &error, now));
                    continue;
                }
            };
            for target in &item.targets {
                let mut message = outgoing(&item.row, &channel, target, &text, now);
                message.unsubscribe = self.unsubscribe_link(&item.row, target);
                calls.push(self.call(channel.clone(), item.row.seq, message, files.clone(), lost.clone()));
            }
            underway.insert(item.row.seq, Underway { item, answers: Vec::new() });
        }
        let at_once = channel.channel.permits().clamp(1, calls.len().max(1));
        let mut answers = stream::iter(calls).buffer_unordered(at_once);
        let mut renew_at = self.clock.sleep_until(later(self.clock.now(), self.config.renew_every));
        loop {
            // What has an answer is settled while the others are still being sent, but never one by one when
            // many answers are there at once.
            let next = match answers.next().now_or_never() {
                Some(next) if done.len() < SETTLED_AT_ONCE => next,
                ready => {
                    if !done.is_empty() {
                        report.add(&self.settle_sent(&channel, &promise, std::mem::take(&mut done)).await?);
                    }
                    match ready {
                        Some(next) => next,
                        None => tokio::select! {
                            next = answers.next() => next,
                            () = &mut renew_at => {
                                self.renew_sending(&channel, &underway, &lost).await?;
                                renew_at = self.clock.sleep_until(later(self.clock.now(), self.config.renew_every));
                                continue;
                            }
                        },
                    }
                }
            };
            let Some((seq, answer)) = next else { break };
            let Some(one) = underway.get_mut(&seq) else { continue };
            one.answers.extend(answer);
            if one.answers.len() == one.item.targets.len()
                && let Some(Underway { item, answers }) = underway.remove(&seq)
            {
                done.push((item, answers, None));
            }
        }
        report.add(&self.settle_sent(&channel, &promise, done).await?);
        Ok(report)
    }

    /// Where a mail of a topic says no: nothing else has such a link.
    fn unsubscribe_link(&self, row: &ClaimedNotification, target: &str) -> Option<String> {
        let topic = row.topic.clone().filter(|_| target.contains('@'))?;
        Some(self.preference_link(&Holder { address: target.to_owned(), topic: Some(topic) }))
    }

    /// One call to the outside. A channel that panics or forgets its own time limit harms only this message.
    async fn call(
        &self,
        channel: Arc<Opened>,
        seq: i64,
        mut message: Outgoing,
        files: Files,
        lost: Lost,
    ) -> (i64, Option<Answer>) {
        if lost.lock().unwrap_or_else(PoisonError::into_inner).contains(&seq) {
            return (seq, None);
        }
        message.attachments = files.as_ref().clone();
        drop(files);
        let target = message.address.clone();
        let limit = channel.channel.timeout() * 2;
        let send = AssertUnwindSafe(channel.channel.send(message)).catch_unwind();
        let outcome = match tokio::time::timeout(limit, send).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                SendOutcome::Permanent { reason: ReasonCode::new("panic"), error: "the channel broke".into() }
            }
            Err(_) => SendOutcome::Uncertain { error: "the channel did not answer in time".into() },
        };
        let at = self.clock.now();
        self.metrics.sent(channel.key.as_str(), &outcome);
        (seq, Some(Answer { target, outcome, at }))
    }

    async fn renew_sending(
        &self,
        channel: &Opened,
        underway: &HashMap<i64, Underway>,
        lost: &Lost,
    ) -> Result<(), EngineError> {
        let held: Vec<(i64, i64)> =
            underway.values().map(|one| (one.item.row.seq, one.item.row.version)).collect();
        if held.is_empty() {
            return Ok(());
        }
        let until = later(self.clock.now(), self.lease_for(Some(channel)));
        let mut tx = self.store.begin(Lane::Settle).await?;
        let still: HashSet<i64> =
            notifications::renew(&mut tx.conn(), until, &held).await?.into_iter().collect();
        tx.commit().await?;
        let mut lost = lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.extend(held.iter().map(|(seq, _)| *seq).filter(|seq| !still.contains(seq)));
        Ok(())
    }

    /// Records answers in the ledger and settles the notifications, in one transaction.
    async fn settle_sent(
        &self,
        channel: &Opened,
        promise: &Promise,
        done: Vec<(ToSend, Vec<Answer>, Option<Delivery>)>,
    ) -> Result<DeliveryReport, EngineError> {
        if done.is_empty() {
            return Ok(DeliveryReport::default());
        }
        let now = self.clock.now();
        // A text that could not be made says nothing of the channel.
        let asked = done.iter().filter(|(_, _, given)| given.is_none());
        let outcomes = asked.flat_map(|(_, answers, _)| answers).map(|answer| &answer.outcome);
        let heard = self.hear(channel.key.as_str(), outcomes, now);
        let mut sent = Sent { promise: promise.clone(), heard, ..Sent::default() };
        for (item, answers, given) in done {
            let mut delivery = given.unwrap_or_else(|| {
                conclude(&item, &answers, channel.retry, channel.at_most_once, now, || self.random.unit())
            });
            if promise.probe {
                delivery = self.spared(&item.row, delivery, now);
            }
            let delivery = failover::for_left_out(&item, delivery);
            let delivery = failover::go_on(&item.row, &item.failover, delivery, now);
            sent.ended.extend(answers.iter().map(|answer| answer.at));
            if answers.iter().any(|answer| matches!(answer.outcome, SendOutcome::Uncertain { .. })) {
                sent.in_doubt.insert(item.row.seq);
            }
            for answer in answers {
                sent.suppressed.extend(suppressed::refused(&item.row, &answer));
                if channel.channel.takes_receipts() {
                    sent.expected.extend(expected(&item.row, &answer));
                }
                sent.results.push(recorded(&item.row, answer));
            }
            sent.settled.push((item.row, delivery));
        }
        let mut tries = 1;
        loop {
            match self.write_sent(channel, &sent, now, tries > 1).await {
                Err(error) if tries < SETTLE_TRIES => {
                    tracing::warn!(error = %chain(&error), "what was sent could not be recorded; it is tried again");
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    async fn write_sent(
        &self,
        channel: &Opened,
        sent: &Sent,
        now: Timestamp,
        again: bool,
    ) -> Result<DeliveryReport, EngineError> {
        let key = channel.key.as_str();
        let mut tx = self.store.begin(Lane::Settle).await?;
        let circuit = self.write_rest(&mut tx, key, &sent.heard, now).await?;
        // What may have been written before is not written twice: those places lapse by themselves.
        if !again {
            self.free_places(&mut tx, &sent.promise, &sent.ended, now).await?;
        }
        if !sent.expected.is_empty() {
            let told = receipts::expect(&mut tx.conn(), channel.adapter(), &sent.expected).await?;
            self.follow_receipts(&mut tx, now, &told).await?;
        }
        self.suppress_in(&mut tx, now, &sent.suppressed).await?;
        let outcomes =
            Outcomes { rows: &sent.settled, tries: &sent.results, in_doubt: &sent.in_doubt, again };
        let report = self.settle_deliveries_in(&mut tx, &outcomes, now).await?;
        tx.commit().await?;
        self.remember_rest(key, &sent.heard, circuit);
        self.manners.ask_again(key);
        self.metrics.uncertain(sent.in_doubt.len());
        Ok(report)
    }
}

fn outgoing(
    row: &ClaimedNotification,
    channel: &Opened,
    target: &str,
    text: &punctual_templates::Rendered,
    now: Timestamp,
) -> Outgoing {
    Outgoing {
        notification: row.id.parse().unwrap_or(punctual_model::NotificationId(Default::default())),
        channel: channel.key.clone(),
        address: target.to_owned(),
        attempt: row.tries,
        // From the notification and the target alone: the same in every attempt. An event brings its own.
        message_id: event_id(row).unwrap_or_else(|| derive_uuid(&["target", &row.id, target]).to_string()),
        kind: row.kind.clone(),
        subject: text.subject.clone(),
        body: text.body.clone(),
        html: text.html.clone(),
        type_data: row.type_data.as_deref().and_then(|json| serde_json::from_str(json).ok()),
        // Read once for all targets, and put in when it is this one's turn.
        attachments: Vec::new(),
        unsubscribe: None,
        at: now,
    }
}

/// A message whose text cannot be made is parked without a try; its intents are closed.
fn unsendable(
    item: ToSend,
    reason: &'static str,
    error: String,
    now: Timestamp,
) -> (ToSend, Vec<Answer>, Option<Delivery>) {
    let delivery = parked(&item.row, reason, error.clone());
    let answers = item
        .targets
        .iter()
        .map(|target| Answer {
            target: target.clone(),
            outcome: SendOutcome::Permanent { reason: ReasonCode::new(reason), error: error.clone() },
            at: now,
        })
        .collect();
    (item, answers, Some(delivery))
}

/// A message whose files cannot be read now is tried again as one that a channel did not take.
fn unread(item: ToSend, error: &str, now: Timestamp) -> (ToSend, Vec<Answer>, Option<Delivery>) {
    let answers = item
        .targets
        .iter()
        .map(|target| Answer {
            target: target.clone(),
            outcome: SendOutcome::Transient { error: error.to_owned(), retry_after: None },
            at: now,
        })
        .collect();
    (item, answers, None)
}

/// What a receipt will find this message by.
fn expected(row: &ClaimedNotification, answer: &Answer) -> Option<Expected> {
    match &answer.outcome {
        SendOutcome::Delivered { provider_id } if !provider_id.is_empty() => Some(Expected {
            provider_id: provider_id.clone(),
            channel: row.channel.clone(),
            seq: row.seq,
            target: answer.target.clone(),
            attempt: row.tries,
        }),
        _ => None,
    }
}

fn recorded(row: &ClaimedNotification, answer: Answer) -> attempts::AttemptResult {
    let (outcome, provider_id, text) = match answer.outcome {
        SendOutcome::Delivered { provider_id } => ("delivered", Some(provider_id), None),
        SendOutcome::Transient { error, .. } => ("transient", None, Some(error)),
        SendOutcome::Permanent { error, .. } => ("permanent", None, Some(error)),
        SendOutcome::Uncertain { error } => ("uncertain", None, Some(error)),
    };
    attempts::AttemptResult {
        seq: row.seq,
        target: answer.target,
        n: row.tries,
        finished_at: answer.at,
        outcome,
        provider_id,
        answer: text,
    }
}
