//! One connection to a relay: made, encrypted, signed in, and given one mail after the other.

use std::{
    error::Error as StdError,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use lettre::{
    Message,
    transport::smtp::{
        self,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters},
        commands::{Data, Ehlo, Mail, Rcpt, Rset},
        extension::{ClientId, Extension, MailBodyParameter, MailParameter},
        response::Severity,
    },
};
use punctual_model::{ReasonCode, SendOutcome};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use super::{
    classify::{self, Step},
    cork::{Cork, Corked},
    replies::{Encrypting, Replies},
};
use crate::{connect, text::tidy, trust::certificate_fault};

/// How long one address of the relay may take to answer, so that the next one gets its turn.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a connection is encrypted with.
pub(super) enum Protection {
    None,
    StartTls(TlsParameters),
    Implicit(ServerName<'static>, Arc<ClientConfig>),
}

/// Why a mail was not sent.
#[derive(Debug)]
pub(super) enum Failure {
    /// The relay said no, at this step.
    Reply { code: u16, text: String, step: Step },
    /// The connection failed or said nothing; what that means depends on how far it got.
    Lost(String),
    /// It cannot work, whatever the relay says.
    Never { reason: ReasonCode, error: String },
}

impl Failure {
    pub(super) fn into_outcome(self, dot_sent: bool) -> SendOutcome {
        match self {
            Failure::Reply { code, text, step } => classify::at_step(code, &text, step),
            Failure::Lost(error) if dot_sent => SendOutcome::Uncertain { error: tidy(&error) },
            Failure::Lost(error) => SendOutcome::Transient { error: tidy(&error), retry_after: None },
            Failure::Never { reason, error } => SendOutcome::Permanent { reason, error: tidy(&error) },
        }
    }

    /// The connection is gone: lost, or announced as closed.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Reply { code: 421, .. })
    }

    /// The same, where the relay has not heard yet who the mail is for.
    fn before_recipient(self) -> Self {
        match self {
            Self::Reply { code, text, .. } => Self::Reply { code, text, step: Step::BeforeRecipient },
            other => other,
        }
    }

    pub(super) fn never(reason: ReasonCode, error: &str) -> Self {
        Self::Never { reason, error: error.to_owned() }
    }
}

impl From<smtp::Error> for Failure {
    fn from(fault: smtp::Error) -> Self {
        if let Some(code) = fault.status() {
            let text = fault.source().map(ToString::to_string).unwrap_or_default();
            return Self::Reply { code: code.into(), text, step: Step::OfMail };
        }
        match certificate_fault(&fault) {
            Some(error) => Self::Never { reason: ReasonCode::CertificateInvalid, error },
            None => Self::Lost(fault.to_string()),
        }
    }
}

/// An open connection that can take a mail.
pub(super) struct Session {
    connection: AsyncSmtpConnection,
    /// Whether the relay takes several commands at once.
    pipelines: bool,
    /// The relay waits for content: whatever is written now is part of a mail.
    in_content: bool,
    cork: Cork,
}

/// A connection that was greeted.
pub(super) struct Greeted {
    connection: AsyncSmtpConnection,
    cork: Cork,
    encrypting: Encrypting,
}

impl Session {
    /// Connects to a checked address of the relay, over TLS if it starts with it, and says hello.
    pub(super) async fn greet(
        address: SocketAddr,
        protection: &Protection,
        hello: &ClientId,
    ) -> Result<Greeted, Failure> {
        let unreachable = |fault: io::Error| match certificate_fault(&fault) {
            Some(error) => Failure::Never { reason: ReasonCode::CertificateInvalid, error },
            None => Failure::Lost(format!("the relay cannot be reached: {fault}")),
        };
        let stream = connect::tcp(address, CONNECT_TIMEOUT).await.map_err(unreachable)?;
        let (cork, encrypting) = (Cork::default(), Encrypting::default());
        let stream: Box<dyn AsyncTokioStream> = match protection {
            Protection::None | Protection::StartTls(_) => {
                Box::new(Replies::new(Corked::new(stream, cork.clone()), encrypting.clone()))
            }
            Protection::Implicit(name, config) => {
                let made = connect::tls(stream, name.clone(), Arc::clone(config));
                let stream = Encrypted(made.await.map_err(unreachable)?);
                Box::new(Replies::new(Corked::new(stream, cork.clone()), encrypting.clone()))
            }
        };
        let connection = AsyncSmtpConnection::connect_with_transport(stream, hello).await;
        let connection = connection.map_err(|fault| Failure::from(fault).before_recipient())?;
        Ok(Greeted { connection, cork, encrypting })
    }

    /// Encrypts and signs in, as the settings say.
    pub(super) async fn prepare(
        greeted: Greeted,
        protection: &Protection,
        hello: &ClientId,
        credentials: Option<&Credentials>,
    ) -> Result<Self, Failure> {
        Self::prepared(greeted, protection, hello, credentials).await.map_err(Failure::before_recipient)
    }

    async fn prepared(
        greeted: Greeted,
        protection: &Protection,
        hello: &ClientId,
        credentials: Option<&Credentials>,
    ) -> Result<Self, Failure> {
        let Greeted { mut connection, cork, encrypting } = greeted;
        if let Protection::StartTls(tls) = protection {
            if !connection.can_starttls() {
                let error = "the relay does not offer STARTTLS, and mail is sent over TLS only";
                return Err(Failure::never(ReasonCode::TlsNotOffered, error));
            }
            encrypting.begin();
            connection.starttls(tls.clone(), hello).await?;
        }
        let pipelines = offers_pipelining(&mut connection, hello).await?;
        if let Some(credentials) = credentials {
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            connection.auth(&mechanisms, credentials).await.map_err(|fault| {
                if fault.is_client() {
                    Failure::never(ReasonCode::SmtpAuthFailed, "the relay takes no user name and password")
                } else {
                    fault.into()
                }
            })?;
        }
        Ok(Self { connection, pipelines, in_content: false, cork })
    }

    pub(super) async fn is_alive(&mut self) -> bool {
        self.connection.test_connected().await
    }

    /// Ends a mail that was refused; false if the connection cannot take another one.
    pub(super) async fn reset(&mut self) -> bool {
        !self.in_content && self.connection.command(Rset).await.is_ok()
    }

    /// Envelope, content and the final dot.
    pub(super) async fn transfer(
        &mut self,
        mail: &Message,
        dot_sent: &AtomicBool,
    ) -> Result<String, Failure> {
        let content = mail.formatted();
        let envelope = self.envelope(mail, &content)?;
        self.open_mail(&envelope).await?;

        // The connection asks for the next part when all that came before is written or kept back, and writes the dot when
        // there is none: from that question on the relay may have the whole mail.
        self.cork.keep_back(content.len());
        let cork = &self.cork;
        let mut parts = [content.as_slice()].into_iter();
        let parts = std::iter::from_fn(|| {
            let part = parts.next();
            if part.is_none() {
                cork.release();
                dot_sent.store(true, Ordering::Relaxed);
            }
            part
        });
        let reply = self.connection.message_iter(parts).await;
        // An answer ends the content, whatever it is; without one the connection is not used again.
        self.in_content = false;
        let reply = reply?;
        if reply.code().severity != Severity::PositiveCompletion {
            return Err(Failure::Lost(format!("the relay answered {} to the end of the mail", reply.code())));
        }
        Ok(tidy(&reply.message().collect::<Vec<_>>().join(" ")))
    }

    /// The commands before the content.
    fn envelope(&self, mail: &Message, content: &[u8]) -> Result<Vec<String>, Failure> {
        let (envelope, relay) = (mail.envelope(), self.connection.server_info());
        let mut options = Vec::new();
        let is_ascii = |address: &lettre::Address| AsRef::<str>::as_ref(address).is_ascii();
        if !envelope.to().iter().chain(envelope.from()).all(is_ascii) {
            if !relay.supports_feature(Extension::SmtpUtfEight) {
                return Err(Failure::never(
                    ReasonCode::AddressInvalid,
                    "the relay takes addresses of plain ASCII only",
                ));
            }
            options.push(MailParameter::SmtpUtfEight);
        }
        if !content.is_ascii() {
            if !relay.supports_feature(Extension::EightBitMime) {
                return Err(Failure::never(
                    ReasonCode::RejectedByRelay,
                    "the relay takes messages of plain ASCII only",
                ));
            }
            options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        let mut commands = vec![Mail::new(envelope.from().cloned(), options).to_string()];
        commands.extend(envelope.to().iter().map(|to| Rcpt::new(to.clone(), Vec::new()).to_string()));
        commands.push(Data.to_string());
        Ok(commands)
    }

    /// Gives the relay the envelope, in one write where it takes several commands at once: one round trip instead of three. The
    /// content never is sent along, so that it is known whether the relay has it.
    async fn open_mail(&mut self, commands: &[String]) -> Result<(), Failure> {
        if !self.pipelines {
            for (at, command) in commands.iter().enumerate() {
                self.connection.command(command).await.map_err(|fault| refused(at, fault))?;
            }
            self.in_content = true;
            return Ok(());
        }
        let mut replies = vec![self.connection.command(commands.concat()).await];
        let is_lost =
            |reply: &Result<_, smtp::Error>| reply.as_ref().is_err_and(|fault| fault.status().is_none());
        while replies.len() < commands.len() && !replies.iter().any(is_lost) {
            replies.push(self.connection.read_response().await);
        }
        // Some relays take DATA after they have refused the only recipient. Nothing more may be sent to such a relay.
        self.in_content = replies.len() == commands.len() && replies.last().is_some_and(Result::is_ok);
        // The first no says why; those after it follow from it.
        replies
            .into_iter()
            .enumerate()
            .try_for_each(|(at, reply)| reply.map(drop).map_err(|fault| refused(at, fault)))
    }
}

/// A command of the envelope that was refused; the first one names the sender.
fn refused(at: usize, fault: smtp::Error) -> Failure {
    let failure = Failure::from(fault);
    if at == 0 { failure.before_recipient() } else { failure }
}

/// Whether the relay takes several commands at once. The library reads what is offered and forgets this word of it, so
/// it is asked again: one more round trip for each connection, two less for each mail.
async fn offers_pipelining(connection: &mut AsyncSmtpConnection, hello: &ClientId) -> Result<bool, Failure> {
    match connection.command(Ehlo::new(hello.clone())).await {
        Ok(offered) => Ok(offered.message().any(|line| line.trim().eq_ignore_ascii_case("PIPELINING"))),
        // A relay that refuses a second EHLO gets one command at a time.
        Err(fault) if fault.status().is_some_and(|code| u16::from(code) != 421) => Ok(false),
        Err(fault) => Err(fault.into()),
    }
}

/// A connection that was encrypted before the first word.
#[derive(Debug)]
struct Encrypted(TlsStream<TcpStream>);

impl AsyncTokioStream for Encrypted {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.get_ref().0.peer_addr()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
