//! The health of a channel: its circuit, and how much of its limits is used. Read on request.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::ReasonCode;
use punctual_model::delivery_policy::{ChannelPolicy, Limiter, Rate, Urgency};
use punctual_store::{
    Conn, StoreError,
    delivery_policy::{limiters, standing},
    notifications::NotificationRow,
};

use super::Circuit;
use crate::{Engine, EngineError};

/// The state of a channel at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelState {
    pub circuit: Option<Circuit>,
    /// The hosts that targets name themselves and whose circuits are open or half open, in order.
    pub hosts: Vec<(String, Circuit)>,
    pub rates: Vec<RateState>,
}

/// How much of one limit is used.
#[derive(Clone, Debug, PartialEq)]
pub struct RateState {
    /// `channel:KEY` or `provider:NAME`.
    pub limiter: String,
    pub rate: Rate,
    pub used: i64,
    /// When an ordinary message may go, where it may not now.
    pub next_at: Option<Timestamp>,
}

impl Engine {
    #[boxed]
    pub async fn channel_state(
        &self,
        conn: &mut Conn<'_>,
        channel: &str,
        policy: &ChannelPolicy,
        now: Timestamp,
    ) -> Result<ChannelState, StoreError> {
        let rows = standing(conn).await?;
        let (mut circuit, mut hosts) = (None, Vec::new());
        for row in rows.into_iter().filter(|row| row.what == "circuit" && row.key == channel) {
            match row.circuit_key().host {
                None => circuit = Some(Circuit::of(row)),
                Some(host) => hosts.push((host, Circuit::of(row))),
            }
        }
        hosts.sort_by(|a, b| a.0.cmp(&b.0));
        let limits = policy.limiters(channel);
        let mut rates = Vec::new();
        if !limits.is_empty() {
            let keys = limits.iter().map(|(key, _)| key.clone()).collect();
            let stored = limiters::read(conn, keys).await?;
            for (key, of) in limits {
                let state = stored.iter().find(|row| row.key == key).map_or("[]", |row| row.state.as_str());
                let limiter = Limiter::read(state).at(&of, now);
                for rate in of {
                    let only = [rate];
                    let is_full = limiter.free(&only, Urgency::Ordinary, now) == 0;
                    rates.push(RateState {
                        limiter: key.clone(),
                        rate,
                        used: limiter.used(&rate, now),
                        next_at: is_full.then(|| limiter.next(&only, Urgency::Ordinary, now).0),
                    });
                }
            }
        }
        Ok(ChannelState { circuit, hosts, rates })
    }

    /// Why a message that is ready has not gone yet, and until when that holds at least. Rows that wait for their channel
    /// are not touched while they wait, so this is not in their row.
    #[boxed]
    pub async fn waits_for(
        &self,
        row: &NotificationRow,
    ) -> Result<Option<(ReasonCode, Timestamp)>, EngineError> {
        let is_waiting =
            row.status.is_live() && row.lease_expires_at.is_none() && row.ready_at <= self.clock.now();
        if !is_waiting {
            return Ok(None);
        }
        Ok(self.blocked_channels().await?.why(&row.channel, row.priority))
    }
}
