//! The dialogue with the relay, and the reuse of connections.

use punctual_model::ReasonCode;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use lettre::{Message, transport::smtp::authentication::Credentials, transport::smtp::extension::ClientId};

use super::session::{Failure, Protection, Session};
use crate::guard::{Guard, ResolveFault};

/// How many connections wait for the next mail: as many as a channel may use at once.
const MOST_IDLE: usize = 200;
/// Relays close a connection that says nothing for some minutes.
const LONGEST_IDLE: SignedDuration = SignedDuration::from_secs(60);
/// A connection that was used this recently is used without a test, which would be a round trip for each mail. If the
/// relay has closed it, the mail goes over a new one.
const JUST_USED: SignedDuration = SignedDuration::from_secs(1);
/// Relays limit the mails of one connection, often to a hundred.
const MOST_MAILS: u32 = 100;
/// How long a waiting connection may take to say that it is still there.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that waits for the next mail.
struct Kept {
    session: Session,
    mails: u32,
    used_at: Timestamp,
}

/// One relay, with the connections that wait for the next mail.
pub(super) struct Relay {
    guard: Guard,
    host: String,
    port: u16,
    protection: Protection,
    credentials: Option<Credentials>,
    hello: ClientId,
    idle: Mutex<Vec<Kept>>,
}

impl Relay {
    pub(super) fn new(
        guard: Guard,
        host: String,
        port: u16,
        protection: Protection,
        credentials: Option<Credentials>,
        hello: ClientId,
    ) -> Self {
        Self { guard, host, port, protection, credentials, hello, idle: Mutex::default() }
    }

    /// Sends one mail. `dot_sent` turns true when the relay may have all of it, whatever happens next.
    pub(super) async fn send(
        &self,
        mail: &Message,
        at: Timestamp,
        dot_sent: &AtomicBool,
    ) -> Result<String, Failure> {
        if let Some(kept) = self.waiting(at).await {
            let sent = self.send_over(kept, mail, at, dot_sent).await;
            // Lost without a dot, the relay has nothing of the mail; it probably closed the connection before.
            let is_closed = sent.as_ref().is_err_and(Failure::is_closed) && !dot_sent.load(Ordering::Relaxed);
            if !is_closed {
                return sent;
            }
        }
        let kept = Kept { session: self.connect().await?, mails: 0, used_at: at };
        self.send_over(kept, mail, at, dot_sent).await
    }

    /// Sends a mail over this connection, and keeps the connection if it can take another one.
    async fn send_over(
        &self,
        mut kept: Kept,
        mail: &Message,
        at: Timestamp,
        dot_sent: &AtomicBool,
    ) -> Result<String, Failure> {
        let sent = kept.session.transfer(mail, dot_sent).await;
        let reusable = match &sent {
            Ok(_) => true,
            // A refused recipient leaves the connection in order.
            Err(failure @ Failure::Reply { .. }) if !failure.is_closed() => kept.session.reset().await,
            Err(_) => false,
        };
        kept.mails += 1;
        kept.used_at = at;
        if reusable && kept.mails < MOST_MAILS {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            // The one used last is taken first, so those that are not needed any more wait at the front.
            let is_old = |kept: &Kept| at.duration_since(kept.used_at).abs() > LONGEST_IDLE;
            let old = idle.iter().take_while(|kept| is_old(kept)).count();
            idle.drain(..old);
            if idle.len() < MOST_IDLE {
                idle.push(kept);
            }
        }
        sent
    }

    /// A connection that waited: one that was just used, or one that still answers.
    async fn waiting(&self, at: Timestamp) -> Option<Kept> {
        loop {
            let mut kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            let idle_for = at.duration_since(kept.used_at).abs();
            if idle_for > LONGEST_IDLE {
                continue;
            }
            if idle_for <= JUST_USED {
                return Some(kept);
            }
            let alive = tokio::time::timeout(ALIVE_TIMEOUT, kept.session.is_alive()).await;
            if alive == Ok(true) {
                return Some(kept);
            }
        }
    }

    async fn connect(&self) -> Result<Session, Failure> {
        let addresses =
            self.guard.resolve(&self.host, self.port, false).await.map_err(|fault| match fault {
                ResolveFault::Refused(refused) => {
                    Failure::never(ReasonCode::HostForbidden, &refused.to_string())
                }
                ResolveFault::NoAnswer { .. } => Failure::Lost(fault.to_string()),
            })?;
        let mut last = Failure::Lost("the relay has no address".to_owned());
        for address in addresses {
            match Session::greet(address, &self.protection, &self.hello).await {
                Ok(connection) => {
                    return Session::prepare(
                        connection,
                        &self.protection,
                        &self.hello,
                        self.credentials.as_ref(),
                    )
                    .await;
                }
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }
}
