//! AMQP 1.0, the protocol of Azure Service Bus, ActiveMQ and others: one transfer for each message.
//!
//! What the broker says about a transfer (its disposition) is the outcome: accepted, rejected, released or modified.

pub(crate) mod classify;

use std::sync::atomic::{AtomicBool, Ordering};

use classify::{disposition, not_attached, not_let_in, refused};
use fe2o3_amqp::{
    Connection, Sender, Session,
    connection::ConnectionHandle,
    sasl_profile::SaslProfile,
    session::SessionHandle,
    types::{
        messaging::{Data, Header, Message, MessageId, Properties},
        primitives::{Binary, Timestamp},
    },
};
use punctual_model::{AboutAdapter, Outgoing, Secret};
use tokio::sync::Mutex;
use tokio_util::sync::DropGuard;

use crate::{
    broker::{AMQP_SCHEMES, Broker, BrokerAdapter, Failure, HandedOver, Place, body, stream},
    brokers::AMQP1,
    guard::{CheckedUrl, Scheme},
    settings::Reader,
    trust::Trust,
};

/// After this many milliseconds of silence the connection counts as gone; both sides send empty frames to prevent it.
pub(crate) const IDLE: u32 = 60_000;

/// The adapter `amqp1`.
pub type Amqp1Adapter = BrokerAdapter<Amqp1>;

/// Where to send at a broker, and as whom.
pub struct Amqp1 {
    credentials: Option<(String, Secret)>,
    address: String,
    /// What the connection says it wants to reach: the host, or a virtual host of it.
    hostname: String,
}

/// An open connection with a link to the address. The fields are dropped in this order.
pub struct Live {
    sender: Mutex<Sender>,
    /// A link that has failed once takes nothing more.
    failed: AtomicBool,
    session: SessionHandle<()>,
    connection: ConnectionHandle<()>,
    /// Ends the stream, and with it the tasks of the library, whatever state they are in.
    _cut: DropGuard,
}

impl Broker for Amqp1 {
    const NAME: &'static str = "amqp1";
    const ABOUT: &'static AboutAdapter = &AMQP1;
    const SCHEMES: &'static [Scheme] = AMQP_SCHEMES;

    type Live = Live;

    fn read(reader: &mut Reader<'_>, url: Option<&CheckedUrl>) -> Option<Self> {
        if url.is_some_and(|url| !matches!(url.url.path(), "" | "/")) {
            reader.fault("url", "url_invalid", "the URL ends with the host; where messages go is `address`");
        }
        let credentials = reader.credentials();
        reader.text("address")?;
        let address = reader.broker_name("address");
        // As RabbitMQ reads it; others have no virtual hosts.
        let virtual_host = reader.broker_name("virtualHost").map(|name| format!("vhost:{name}"));
        let hostname = virtual_host.or_else(|| url.map(|url| url.host.clone()));
        Some(Self { credentials, address: address?, hostname: hostname? })
    }

    async fn connect(&self, place: &Place, trust: &Trust, message: &Outgoing) -> Result<Live, Failure> {
        let (stream, cut) = stream::connect(place, trust).await?;
        let profile = match &self.credentials {
            Some((username, password)) => {
                SaslProfile::Plain { username: username.clone(), password: password.expose().to_owned() }
            }
            None => SaslProfile::Anonymous,
        };
        // Two nodes must not have the same name, or a broker takes the link of the one for that of the other.
        let container = format!("punctual-{}-{}", message.notification, message.attempt);
        let mut connection = Connection::builder()
            .container_id(container)
            .hostname(self.hostname.as_str())
            // The stream is encrypted already where it has to be.
            .scheme("amqp")
            .idle_time_out(IDLE)
            .sasl_profile(profile)
            .open_with_stream(stream)
            .await
            .map_err(|fault| not_let_in(&fault))?;
        let mut session = Session::begin(&mut connection)
            .await
            .map_err(|fault| Failure::Later(format!("no session with the broker: {fault}")))?;
        let sender = Sender::attach(&mut session, "punctual", self.address.as_str())
            .await
            .map_err(|fault| not_attached(&fault))?;
        Ok(Live { sender: Mutex::new(sender), failed: AtomicBool::default(), session, connection, _cut: cut })
    }

    fn works(live: &Live) -> bool {
        !live.failed.load(Ordering::Relaxed) && !live.connection.is_closed() && !live.session.is_ended()
    }

    async fn send(
        &self,
        live: &Live,
        message: &Outgoing,
        handed_over: &HandedOver,
    ) -> Result<String, Failure> {
        // The link is only held until the transfer has left, so that others need not wait for this disposition. Before
        // that nothing is on its way: the broker says how much it can take.
        let sent = live.sender.lock().await.send_batchable(framed(message)).await;
        let settled = match sent {
            Ok(delivery) => {
                handed_over.mark();
                delivery.await
            }
            Err(fault) => Err(fault),
        };
        match settled {
            Ok(outcome) => disposition(outcome).map(|()| message.message_id.clone()),
            Err(fault) => {
                live.failed.store(true, Ordering::Relaxed);
                Err(refused(&fault))
            }
        }
    }
}

fn framed(message: &Outgoing) -> Message<Data> {
    Message::builder()
        .header(Header::builder().durable(true).build())
        .properties(
            Properties::builder()
                .message_id(MessageId::String(message.message_id.clone()))
                .subject(message.kind.clone())
                .content_type("application/json")
                .creation_time(Timestamp::from_milliseconds(message.at.as_millisecond()))
                .build(),
        )
        .data(Binary::from(body(message)))
        .build()
}
