//! What the adapters of message brokers share.
//!
//! A broker is reached at an address that the guard has checked, over TLS where its URL says so. The connection is kept for the
//! next message and made again when it is gone. The broker's own acknowledgement is what *delivered* means; an attempt that
//! ends before the message was sent can safely be repeated, one that ends after it is uncertain, and the receiver drops the
//! repeat by the message's id.

mod adapter;

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use punctual_model::{Outgoing, ReasonCode, SendOutcome, SettingsFault};

pub use adapter::{Broker, BrokerAdapter};

#[cfg(any(feature = "amqp", feature = "amqp1"))]
use crate::guard::Scheme;
use crate::{
    guard::{CheckedUrl, Guard, ResolveFault},
    text::tidy,
    webhook,
};

/// Both versions of AMQP are written alike.
#[cfg(any(feature = "amqp", feature = "amqp1"))]
pub(crate) const AMQP_SCHEMES: &[Scheme] =
    &[Scheme { name: "amqps", port: 5671, secure: true }, Scheme { name: "amqp", port: 5672, secure: false }];

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It may work later. After the hand-over nobody knows whether it did work already.
    Lost(String),
    /// The broker said that it did not take the message; it may later.
    Later(String),
    /// It will not work later either.
    Never { reason: ReasonCode, error: String },
    /// It was sent, and the result is neither success nor failure.
    Unsure(String),
}

impl Failure {
    pub fn never(reason: ReasonCode, error: impl Into<String>) -> Self {
        Self::Never { reason, error: error.into() }
    }

    fn into_outcome(self, handed_over: bool) -> SendOutcome {
        match self {
            Self::Lost(error) if !handed_over => {
                SendOutcome::Transient { error: tidy(&error), retry_after: None }
            }
            Self::Lost(error) | Self::Unsure(error) => SendOutcome::Uncertain { error: tidy(&error) },
            Self::Later(error) => SendOutcome::Transient { error: tidy(&error), retry_after: None },
            Self::Never { reason, error } => SendOutcome::Permanent { reason, error: tidy(&error) },
        }
    }
}

impl From<ResolveFault> for Failure {
    fn from(fault: ResolveFault) -> Self {
        match fault {
            ResolveFault::Refused(refused) => Self::never(ReasonCode::UrlForbidden, refused.to_string()),
            ResolveFault::NoAnswer { .. } => Self::Later(fault.to_string()),
        }
    }
}

/// Whether a message has left for the broker.
#[derive(Debug, Default)]
pub struct HandedOver(AtomicBool);

impl HandedOver {
    pub fn mark(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs one attempt within its time; a broker that hangs blocks nobody. The answer of the work is the id of the
/// acknowledgement.
async fn within(
    timeout: Duration,
    handed_over: &HandedOver,
    work: impl Future<Output = Result<String, Failure>>,
) -> SendOutcome {
    let failure = match tokio::time::timeout(timeout, work).await {
        Ok(Ok(provider_id)) => return SendOutcome::Delivered { provider_id },
        Ok(Err(failure)) => failure,
        Err(_) => Failure::Lost(format!("no answer within {} s", timeout.as_secs())),
    };
    failure.into_outcome(handed_over.0.load(Ordering::Relaxed))
}

/// Where a broker is.
#[derive(Clone)]
pub struct Place {
    guard: Guard,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) secure: bool,
    listed_only: bool,
}

impl Place {
    pub(crate) fn new(guard: &Guard, url: &CheckedUrl) -> Self {
        Self {
            guard: guard.clone(),
            host: url.host.clone(),
            port: url.port,
            secure: url.url.scheme() == "https",
            listed_only: url.listed_only,
        }
    }

    /// What is wrong with the URL of settings that lead here, where nothing would ever connect.
    pub(crate) async fn faults(&self) -> Vec<SettingsFault> {
        let found = self.guard.destination_fault("url", &self.host, self.port, self.listed_only).await;
        found.into_iter().collect()
    }

    /// The checked addresses, looked up for this connection.
    pub(crate) async fn addresses(&self) -> Result<Vec<SocketAddr>, Failure> {
        Ok(self.guard.resolve(&self.host, self.port, self.listed_only).await?)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A connection that is made when it is needed, kept, and made again when it is gone.
struct Kept<C>(tokio::sync::Mutex<Option<Arc<C>>>);

impl<C> Default for Kept<C> {
    fn default() -> Self {
        Self(tokio::sync::Mutex::new(None))
    }
}

impl<C> Kept<C> {
    /// The connection there is, if it still works, and else a new one. One is made at a time; whoever waits for it waits
    /// within the time of their own message.
    async fn get<F>(&self, works: impl Fn(&C) -> bool, make: impl FnOnce() -> F) -> Result<Arc<C>, Failure>
    where
        F: Future<Output = Result<C, Failure>>,
    {
        let mut kept = self.0.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| works(connection)) {
            return Ok(Arc::clone(connection));
        }
        *kept = None;
        let made = Arc::new(make().await?);
        *kept = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Lets go of a connection that has failed, unless it was replaced or is being replaced.
    fn forget(&self, failed: &Arc<C>) {
        let Ok(mut kept) = self.0.try_lock() else { return };
        if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, failed)) {
            *kept = None;
        }
    }
}

/// What a message to a broker says: the same JSON as that of a webhook, and an event just as it was given.
pub(crate) fn body(message: &Outgoing) -> Vec<u8> {
    webhook::body_of(message)
}

/// The stream to a broker whose library leaves connecting to us.
#[cfg(any(feature = "amqp", feature = "amqp1"))]
pub(crate) mod stream;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_uncertain_only_after_the_hand_over() {
        let lost = || Failure::Lost("gone".into());
        assert!(matches!(lost().into_outcome(false), SendOutcome::Transient { .. }));
        assert!(matches!(lost().into_outcome(true), SendOutcome::Uncertain { .. }));
        // A no is a no, whenever it came.
        let no = || Failure::Later("full".into());
        assert!(matches!(no().into_outcome(true), SendOutcome::Transient { .. }));
        let never = || Failure::never(ReasonCode::MessageTooLarge, "1 MB");
        assert!(matches!(never().into_outcome(true), SendOutcome::Permanent { .. }));
    }

    #[tokio::test]
    async fn a_connection_is_kept_until_it_fails() {
        let kept: Kept<u8> = Kept::default();
        let first = kept.get(|_| true, || async { Ok(1) }).await.unwrap();
        assert_eq!(*kept.get(|_| true, || async { Ok(2) }).await.unwrap(), 1);
        assert_eq!(*kept.get(|_| false, || async { Ok(3) }).await.unwrap(), 3, "it no longer worked");
        kept.forget(&first);
        assert_eq!(*kept.get(|_| true, || async { Ok(4) }).await.unwrap(), 3, "only the one that failed");
        let failed = kept.get(|_| false, || async { Err(Failure::Later("away".into())) }).await;
        assert_eq!(failed.unwrap_err(), Failure::Later("away".into()));
    }
}
