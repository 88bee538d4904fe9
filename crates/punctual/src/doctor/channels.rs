//! The destinations of channels: looked up, connected to and encrypted, all at once, and nothing is sent.

use anyhow::Result;
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use punctual_channels::{Guard, Trust, reach::Destination};
use punctual_store::{Store, channels};
use serde_json::Value;

use super::Finding;
use crate::config::Config;

/// A certificate that ends sooner is worth a warning.
const SOON: SignedDuration = SignedDuration::from_hours(24 * 21);

pub(super) async fn look(config: &Config, store: &Store, now: Timestamp) -> Result<Vec<Finding>> {
    let rows = {
        let mut reader = store.read().await?;
        channels::all(&mut reader.conn()).await?
    };
    let guard = Guard::new(config.outgoing_allow.clone());
    let platform = Trust::platform();
    let looks = rows.iter().flat_map(|row| {
        let settings: Value = serde_json::from_str(&row.settings).unwrap_or_default();
        let own = settings["ca"].as_str().and_then(|pem| platform.with_pem(pem.as_bytes()).ok());
        let trust = own.unwrap_or_else(|| platform.clone());
        let destinations = Destination::of(&row.adapter, &settings);
        let guard = &guard;
        destinations.into_iter().map(move |destination| {
            let trust = trust.clone();
            async move { one(&row.key, &destination, guard, &trust, now).await }
        })
    });
    Ok(join_all(looks).await)
}

async fn one(key: &str, destination: &Destination, guard: &Guard, trust: &Trust, now: Timestamp) -> Finding {
    let subject = format!("channel {key}");
    let place = format!("{}:{}", destination.host, destination.port);
    match destination.reach(guard, trust).await {
        Err(fault) => Finding::error(
            subject,
            format!("{place}: {fault}"),
            "Check the name, the firewall and `outgoing_allow`; messages of this channel wait or are parked.",
        ),
        Ok(reached) => match reached.certificate_ends {
            Some(end) if end.duration_since(now) < SOON => Finding::warning(
                subject,
                format!("{place} answers, and its certificate ends at {end}"),
                "Ask its operator to renew the certificate: after that date nothing is sent over this channel.",
            ),
            Some(end) => {
                Finding::well(subject, format!("{place} answers, its certificate is good until {end}"))
            }
            None => Finding::well(subject, format!("{place} answers")),
        },
    }
}
