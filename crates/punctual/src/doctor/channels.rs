//! The destinations of channels and subscribers: looked up, connected to and encrypted, all at once, and nothing is sent.

use anyhow::Result;
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use punctual_channels::{
    Guard, Trust,
    reach::{Destination, Unreachable, WrongCertificate},
};
use punctual_store::{Store, channels, subscribers};
use serde_json::Value;

use super::Finding;
use crate::config::Config;

/// A certificate that ends sooner is worth a warning.
const SOON: SignedDuration = SignedDuration::from_hours(24 * 21);

/// One channel or subscriber.
struct Caller {
    subject: String,
    adapter: String,
    settings: String,
}

pub(super) async fn look(config: &Config, store: &Store, now: Timestamp) -> Result<Vec<Finding>> {
    let guard = Guard::new(config.outgoing_allow.clone());
    let platform = Trust::platform();
    let callers = callers(store).await?;
    let looks = callers.iter().flat_map(|caller| {
        let settings: Value = serde_json::from_str(&caller.settings).unwrap_or_default();
        let own = settings["ca"].as_str().and_then(|pem| platform.with_pem(pem.as_bytes()).ok());
        let trust = own.unwrap_or_else(|| platform.clone());
        let destinations = Destination::of(&caller.adapter, &settings);
        let guard = &guard;
        destinations.into_iter().map(move |destination| {
            let trust = trust.clone();
            async move { one(&caller.subject, &destination, guard, &trust, now).await }
        })
    });
    Ok(join_all(looks).await)
}

/// A subscriber that is switched off calls nobody.
async fn callers(store: &Store) -> Result<Vec<Caller>> {
    let mut reader = store.read().await?;
    let conn = &mut reader.conn();
    let channels = channels::all(conn).await?.into_iter().map(|row| Caller {
        subject: format!("channel {}", row.key),
        adapter: row.adapter,
        settings: row.settings,
    });
    let subscribers = subscribers::all(conn).await?.into_iter().filter(|row| row.active);
    let subscribers = subscribers.map(|row| Caller {
        subject: format!("subscriber {}", row.key),
        adapter: row.adapter,
        settings: row.settings,
    });
    Ok(channels.chain(subscribers).collect())
}

async fn one(
    subject: &str,
    destination: &Destination,
    guard: &Guard,
    trust: &Trust,
    now: Timestamp,
) -> Finding {
    let place = format!("{}:{}", destination.host, destination.port);
    match destination.reach(guard, trust).await {
        Err(fault) => Finding::error(subject, format!("{place}: {fault}"), repair(&fault)),
        Ok(reached) => match reached.certificate_ends {
            Some(end) if end.duration_since(now) < SOON => Finding::warning(
                subject,
                format!("{place} answers, and its certificate ends at {end}"),
                "Ask its operator to renew the certificate: after that date nothing is sent there.",
            ),
            Some(end) => {
                Finding::well(subject, format!("{place} answers, its certificate is good until {end}"))
            }
            None => Finding::well(subject, format!("{place} answers")),
        },
    }
}

fn repair(fault: &Unreachable) -> &'static str {
    match fault {
        Unreachable::Address(_) => {
            "Check the name in the settings, this machine's DNS, and `outgoing_allow` for an internal address; until then messages wait or are parked."
        }
        Unreachable::Connection(..) => {
            "Check host and port, that the other side runs, and the firewall between; until then messages wait or are parked."
        }
        Unreachable::Certificate(WrongCertificate::Ended(_)) => {
            "Ask whoever runs it to renew the certificate; until then nothing is sent there."
        }
        Unreachable::Certificate(WrongCertificate::UnknownIssuer) => {
            "Add the issuer's certificate to those that this machine trusts, and restart; or name it in SSL_CERT_FILE."
        }
        Unreachable::Certificate(WrongCertificate::OtherName(_)) => {
            "Use a name that is in the certificate, or ask whoever runs it for one with this name."
        }
        Unreachable::Certificate(WrongCertificate::Other(_)) => {
            "Ask whoever runs it to replace the certificate, and check this machine's clock; until then nothing is sent there."
        }
        Unreachable::Answer(_) => {
            "Check the port and whether it is encrypted (`https`, `tls`), and ask whoever runs it; until then messages wait or are parked."
        }
    }
}
