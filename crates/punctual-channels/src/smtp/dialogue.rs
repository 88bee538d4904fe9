//! The dialogue with the relay: connecting to a checked address, and sending one mail.

use std::{
    error::Error as StdError,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use lettre::{
    Message,
    transport::smtp::{
        self,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, TlsParameters},
        commands::{Data, Mail, Rcpt, Rset},
        extension::{ClientId, Extension, MailBodyParameter, MailParameter},
        response::Severity,
    },
};
use punctual_model::{ReasonCode, SendOutcome};

use super::{Security, classify};
use crate::{
    guard::{Guard, ResolveFault},
    text::tidy,
    trust::certificate_fault,
};

/// How many connections wait for the next mail.
const MOST_IDLE: usize = 10;
/// Relays close a connection that says nothing for some minutes.
const LONGEST_IDLE: SignedDuration = SignedDuration::from_secs(60);
/// Relays limit the mails of one connection, often to a hundred.
const MOST_MAILS: u32 = 100;
/// How long one address of the relay may take to answer, so that the next one gets its turn.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a waiting connection may take to say that it is still there.
const ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a mail did not go out.
#[derive(Debug)]
pub(super) enum Failure {
    /// The relay said no.
    Reply { code: u16, text: String },
    /// The connection failed or said nothing; what that means depends on how far it got.
    Lost(String),
    /// It cannot work, whatever the relay says.
    Never { reason: &'static str, error: String },
}

impl Failure {
    pub(super) fn into_outcome(self, dot_sent: bool) -> SendOutcome {
        match self {
            Failure::Reply { code, text } => classify(code, &text),
            Failure::Lost(error) if dot_sent => SendOutcome::Uncertain { error: tidy(&error) },
            Failure::Lost(error) => SendOutcome::Transient { error: tidy(&error), retry_after: None },
            Failure::Never { reason, error } => {
                SendOutcome::Permanent { reason: ReasonCode::new(reason), error: tidy(&error) }
            }
        }
    }

    fn never(reason: &'static str, error: &str) -> Self {
        Self::Never { reason, error: error.to_owned() }
    }
}

impl From<smtp::Error> for Failure {
    fn from(fault: smtp::Error) -> Self {
        if let Some(code) = fault.status() {
            let text = fault.source().map(ToString::to_string).unwrap_or_default();
            return Self::Reply { code: code.into(), text };
        }
        match certificate_fault(&fault) {
            Some(error) => Self::Never { reason: "certificate-invalid", error },
            None => Self::Lost(fault.to_string()),
        }
    }
}

/// An open connection that can take a mail.
struct Session {
    connection: AsyncSmtpConnection,
    mails: u32,
    used_at: Timestamp,
}

/// One relay, with the connections that wait for the next mail.
pub(super) struct Relay {
    guard: Guard,
    host: String,
    port: u16,
    security: Security,
    tls: Option<TlsParameters>,
    credentials: Option<Credentials>,
    hello: ClientId,
    idle: Mutex<Vec<Session>>,
}

impl Relay {
    pub(super) fn new(
        guard: Guard,
        host: String,
        port: u16,
        security: Security,
        tls: Option<TlsParameters>,
        credentials: Option<Credentials>,
    ) -> Self {
        let hello = ClientId::default();
        Self { guard, host, port, security, tls, credentials, hello, idle: Mutex::default() }
    }

    /// Sends one mail. `dot_sent` turns true when the relay may have all of it, whatever happens next.
    pub(super) async fn send(
        &self,
        mail: &Message,
        at: Timestamp,
        dot_sent: &AtomicBool,
    ) -> Result<String, Failure> {
        let mut session = match self.waiting(at).await {
            Some(session) => session,
            None => Session { connection: self.connect().await?, mails: 0, used_at: at },
        };
        let sent = transfer(&mut session.connection, mail, dot_sent).await;
        let reusable = match &sent {
            Ok(_) => true,
            // A refused recipient leaves the connection in order; 421 announces that it is closed.
            Err(Failure::Reply { code, .. }) if *code != 421 => {
                session.connection.command(Rset).await.is_ok()
            }
            Err(_) => false,
        };
        session.mails += 1;
        session.used_at = at;
        if reusable && session.mails < MOST_MAILS {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MOST_IDLE {
                idle.push(session);
            }
        }
        sent
    }

    /// A connection that waited, if one still answers.
    async fn waiting(&self, at: Timestamp) -> Option<Session> {
        loop {
            let mut session = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if at.duration_since(session.used_at).abs() > LONGEST_IDLE {
                continue;
            }
            let alive = tokio::time::timeout(ALIVE_TIMEOUT, session.connection.test_connected()).await;
            if alive == Ok(true) {
                return Some(session);
            }
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Failure> {
        let addresses =
            self.guard.resolve(&self.host, self.port, false).await.map_err(|fault| match fault {
                ResolveFault::Refused(refused) => Failure::never("host-forbidden", &refused.to_string()),
                ResolveFault::NoAnswer { .. } => Failure::Lost(fault.to_string()),
            })?;
        let mut last = Failure::Lost("the relay has no address".to_owned());
        for address in addresses {
            let wrapper = self.tls.clone().filter(|_| self.security == Security::Implicit);
            let connecting = AsyncSmtpConnection::connect_tokio1(
                address,
                Some(CONNECT_TIMEOUT),
                &self.hello,
                wrapper,
                None,
            );
            match connecting.await {
                Ok(connection) => return self.prepare(connection).await,
                Err(fault) => last = fault.into(),
            }
        }
        Err(last)
    }

    /// Encrypts and signs in, as the settings say.
    async fn prepare(&self, mut connection: AsyncSmtpConnection) -> Result<AsyncSmtpConnection, Failure> {
        if let (Security::StartTls, Some(tls)) = (self.security, &self.tls) {
            if !connection.can_starttls() {
                let error = "the relay does not offer STARTTLS, and mail is sent over TLS only";
                return Err(Failure::never("tls-not-offered", error));
            }
            connection.starttls(tls.clone(), &self.hello).await?;
        }
        if let Some(credentials) = &self.credentials {
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            connection.auth(&mechanisms, credentials).await.map_err(|fault| {
                if fault.is_client() {
                    Failure::never("smtp-auth-failed", "the relay takes no user name and password")
                } else {
                    fault.into()
                }
            })?;
        }
        Ok(connection)
    }
}

/// Envelope, content and the final dot.
async fn transfer(
    connection: &mut AsyncSmtpConnection,
    mail: &Message,
    dot_sent: &AtomicBool,
) -> Result<String, Failure> {
    let content = mail.formatted();
    let envelope = mail.envelope();
    let mut options = Vec::new();
    let is_ascii = |address: &lettre::Address| AsRef::<str>::as_ref(address).is_ascii();
    if !envelope.to().iter().chain(envelope.from()).all(is_ascii) {
        if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
            return Err(Failure::never("address_invalid", "the relay takes addresses of plain ASCII only"));
        }
        options.push(MailParameter::SmtpUtfEight);
    }
    if !content.is_ascii() {
        if !connection.server_info().supports_feature(Extension::EightBitMime) {
            return Err(Failure::never("rejected-by-relay", "the relay takes messages of plain ASCII only"));
        }
        options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    connection.command(Mail::new(envelope.from().cloned(), options)).await?;
    for recipient in envelope.to() {
        connection.command(Rcpt::new(recipient.clone(), Vec::new())).await?;
    }
    connection.command(Data).await?;

    // The connection asks for the next part when all that came before is written, and writes the dot when there
    // is none: from that question on the relay may have the whole mail.
    let mut parts = [content.as_slice()].into_iter();
    let parts = std::iter::from_fn(|| {
        let part = parts.next();
        if part.is_none() {
            dot_sent.store(true, Ordering::Relaxed);
        }
        part
    });
    let reply = connection.message_iter(parts).await?;
    if reply.code().severity != Severity::PositiveCompletion {
        return Err(Failure::Lost(format!("the relay answered {} to the end of the mail", reply.code())));
    }
    Ok(tidy(&reply.message().collect::<Vec<_>>().join(" ")))
}
