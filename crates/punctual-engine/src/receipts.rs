//! Delivery receipts: matched to the attempt by the provider's message id; bounces, complaints and opt-outs update the
//! suppression list.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{
    AuditAction, Callback, CallbackFault, CallbackTaken, Receipt, ReceiptState, SuppressionReason,
};
use punctual_store::{
    Lane, StoreError, Tx,
    receipts::{self, News, ReceiptRow},
};

use crate::{Actor, CommandError, Engine, EngineError, operate::own_notification, suppressions::found_out};

/// Receipts that one call may have: more than any provider puts into one.
const MOST_RECEIPTS: usize = 10_000;
/// What is kept of a provider's words.
const MOST_DETAIL: usize = 500;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// The provider expects this.
    Answer(String),
    /// How many receipts it had, how many of them were new, and how many were for unknown messages.
    Receipts { count: usize, new: usize, unknown: usize },
}

impl Engine {
    /// Takes a call of a provider's for a channel. What it says is stored when this returns.
    #[boxed]
    pub async fn take_callback(
        &self,
        channel: &str,
        call: &Callback<'_>,
    ) -> Result<Result<Called, CallbackFault>, EngineError> {
        let now = self.clock.now();
        self.refresh_channels(now).await?;
        let Some(opened) = self.channels.get(channel) else { return Ok(Err(CallbackFault::NotTaken)) };
        let taken = opened.channel.callback(call);
        let found = match taken {
            Ok(CallbackTaken::Answer(text)) => return Ok(Ok(Called::Answer(text))),
            Ok(CallbackTaken::Receipts(found)) if found.len() > MOST_RECEIPTS => {
                Err(CallbackFault::Unreadable(format!("it has more than {MOST_RECEIPTS} receipts")))
            }
            Ok(CallbackTaken::Receipts(found)) => Ok(found),
            Err(fault) => Err(fault),
        };
        match found {
            Ok(found) => self.take_receipts(channel, opened.adapter(), found, now).await.map(Ok),
            Err(fault) => {
                self.metrics.callback_refused(channel);
                Ok(Err(fault))
            }
        }
    }

    async fn take_receipts(
        &self,
        channel: &str,
        provider: &str,
        found: Vec<Receipt>,
        now: Timestamp,
    ) -> Result<Called, EngineError> {
        let count = found.len();
        for receipt in &found {
            self.metrics.receipt(channel, receipt.state.as_str());
        }
        let news = folded(found, now);
        if news.is_empty() {
            return Ok(Called::Receipts { count, new: 0, unknown: 0 });
        }
        let mut tx = self.store.begin(Lane::Settle).await?;
        let changed = receipts::report(&mut tx.conn(), now, provider, &news).await?;
        self.follow_receipts(&mut tx, now, &changed).await?;
        tx.commit().await?;
        let unknown = changed.iter().filter(|row| row.notification_seq.is_none()).count();
        self.metrics.receipts_unknown(unknown);
        Ok(Called::Receipts { count, new: changed.len() - unknown, unknown })
    }

    /// What a receipt means beyond itself, once it is known whose message it is about.
    pub(crate) async fn follow_receipts(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        rows: &[ReceiptRow],
    ) -> Result<(), StoreError> {
        let mut addresses = Vec::new();
        for row in rows {
            let (Some(channel), Some(target)) = (&row.channel, &row.target) else { continue };
            let Some(why) = row.suppress.as_deref().and_then(SuppressionReason::parse) else { continue };
            let source = format!("receipt:{}", row.provider_id);
            addresses.push(found_out(channel, target, why, source, row.detail.clone(), now));
        }
        self.suppress_in(tx, now, &addresses).await
    }

    /// Acknowledges that a notification did not arrive; returns whether there was something to acknowledge.
    #[boxed]
    pub async fn acknowledge(&self, by: &Actor, id: &str, seen: Option<i64>) -> Result<bool, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = own_notification(&mut tx, by, id, seen).await?;
        if receipts::seen(&mut tx.conn(), row.seq).await? == 0 {
            return Ok(false);
        }
        by.audit(
            &mut tx,
            now,
            AuditAction::Acknowledge,
            "notification",
            &row.id.to_string(),
            row.business_unit.as_deref(),
        )
        .await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// One line for each message: what was said of it in this call, taken together. In the order of the ids, so that two
/// calls with the same ones cannot deadlock.
fn folded(found: Vec<Receipt>, now: Timestamp) -> Vec<News> {
    let mut news: BTreeMap<String, News> = BTreeMap::new();
    for receipt in found {
        if receipt.message_id.is_empty() || receipt.message_id.len() > 1_000 {
            continue;
        }
        // A provider's clock may be ahead; nothing happened later than now.
        let at = receipt.at.map_or(now, |at| at.min(now));
        let state = receipt.state;
        let one = News {
            provider_id: receipt.message_id.clone(),
            rank: state.rank(),
            confirmed_at: state.confirms().then_some(at),
            failed_at: (state == ReceiptState::Failed).then_some(at),
            code: receipt.code.map(|text| cut(&text)),
            detail: receipt.detail.map(|text| cut(&text)),
            suppress: receipt.suppress.map(SuppressionReason::as_str),
        };
        match news.entry(receipt.message_id) {
            std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(one)),
            std::collections::btree_map::Entry::Occupied(mut place) => join(place.get_mut(), one),
        }
    }
    news.into_values().collect()
}

/// Both together; the statement that stores it joins in the same way.
fn join(known: &mut News, other: News) {
    let earlier = |a: Option<Timestamp>, b: Option<Timestamp>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    known.confirmed_at = earlier(known.confirmed_at, other.confirmed_at);
    known.failed_at = earlier(known.failed_at, other.failed_at);
    known.suppress = known.suppress.or(other.suppress);
    if other.rank > known.rank {
        (known.rank, known.code, known.detail) = (other.rank, other.code, other.detail);
    }
}

/// A provider's text on one line, not longer than people read.
fn cut(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.trim().chars().take(MOST_DETAIL).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn receipt(id: u8, state: usize, second: i64) -> Receipt {
        let state = ReceiptState::ALL[state];
        Receipt {
            at: Timestamp::from_second(second).ok(),
            code: (state == ReceiptState::Failed).then(|| "550".to_owned()),
            ..Receipt::new(format!("m-{id}"), state)
        }
    }

    proptest! {
        #[test]
        fn what_is_said_in_one_call_comes_to_the_same_in_any_order_and_said_twice(
            said in proptest::collection::vec((0..3_u8, 0..6_usize, 0..100_i64), 1..12),
            turn in 0..12_usize,
        ) {
            let now = Timestamp::from_second(50).unwrap();
            let all: Vec<Receipt> = said.iter().map(|(id, state, second)| receipt(*id, *state, *second)).collect();
            let once = folded(all.clone(), now);
            let mut other = all.clone();
            other.rotate_left(turn % all.len());
            other.extend(all.into_iter().rev());
            prop_assert_eq!(&folded(other, now), &once);
            for news in once {
                prop_assert!(news.confirmed_at.is_none_or(|at| at <= now), "nothing happened later than now");
                prop_assert_eq!(news.failed_at.is_some(), said.iter().any(|(id, state, _)| {
                    news.provider_id == format!("m-{id}") && ReceiptState::ALL[*state] == ReceiptState::Failed
                }));
            }
        }
    }

    #[test]
    fn a_provider_s_words_are_cut_to_what_people_read() {
        assert_eq!(cut(" a\r\nb\u{0}c "), "a  b c");
        assert_eq!(cut(&"ä".repeat(1_000)).chars().count(), MOST_DETAIL);
    }
}
