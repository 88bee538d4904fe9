//! AMQP 0.9.1, the protocol of RabbitMQ: one publish for each message, confirmed by the broker.
//!
//! Every message is `mandatory`: one that no queue takes comes back and is no silent yes. A return and a confirm are distinguished
//! apart from those of other messages only by their order, and brokers put confirms together; so a channel of the
//! protocol carries one message at a time, and there are some of them on one connection.

pub(crate) mod classify;
mod runtime;

use std::sync::{Mutex, PoisonError};

use classify::{confirmed, refused};
use lapin::{
    AsyncTcpStream, BasicProperties, Confirmation, Connection, ConnectionProperties,
    options::{BasicPublishOptions, ConfirmSelectOptions},
    uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo},
};
use punctual_model::{AboutAdapter, Outgoing, ReasonCode};
use tokio_util::{compat::TokioAsyncReadCompatExt, sync::DropGuard};

use crate::{
    broker::{AMQP_SCHEMES, Broker, BrokerAdapter, Failure, HandedOver, Place, body, stream},
    brokers::AMQP,
    guard::{CheckedUrl, Scheme},
    settings::Reader,
    trust::Trust,
};

/// Channels that wait for the next message: as many as messages may be on their way at once.
const MOST_WAITING: usize = 16;
/// How often both sides say that they are still there, in seconds.
const HEARTBEAT: u16 = 20;
/// `delivery_mode` of a message that survives a restart of the broker.
pub(crate) const PERSISTENT: u8 = 2;

/// The adapter `amqp`.
pub type AmqpAdapter = BrokerAdapter<Amqp>;

/// Where to publish at a broker, and as whom.
pub struct Amqp {
    uri: AMQPUri,
    exchange: String,
    routing_key: String,
    persistent: bool,
}

/// The virtual host that a URL names; `/` where it names none.
fn virtual_host(path: &str) -> Option<String> {
    let name = path.strip_prefix('/').unwrap_or(path);
    if name.is_empty() {
        return Some("/".to_owned());
    }
    if name.contains('/') {
        return None;
    }
    // The path has come through the parser: what is not plain is encoded.
    let mut decoded = Vec::new();
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok().filter(|name| name.len() <= 255 && !name.chars().any(char::is_control))
}

/// Exchange and routing key; a queue alone is reached over the exchange that every broker has.
fn target(reader: &mut Reader<'_>) -> Option<(String, String)> {
    let names = ["exchange", "routingKey", "queue"].map(|name| reader.broker_name(name));
    match names {
        [None, None, Some(queue)] if !queue.is_empty() => Some((String::new(), queue)),
        [Some(exchange), key, None] if !exchange.is_empty() => Some((exchange, key.unwrap_or_default())),
        [None, None, None] => {
            let detail = "where messages go: `exchange` and `routingKey`, or `queue`";
            reader.fault("exchange", "missing_field", detail);
            None
        }
        _ => {
            reader.fault("queue", "out_of_range", "either `exchange` and `routingKey`, or `queue`");
            None
        }
    }
}

/// Where the broker is and who signs in; every fault is left with the reader.
pub(crate) fn uri(reader: &mut Reader<'_>, url: Option<&CheckedUrl>) -> Option<AMQPUri> {
    let vhost = url.and_then(|url| virtual_host(url.url.path()));
    if url.is_some() && vhost.is_none() {
        let detail = "after the host comes the virtual host, such as /orders or /%2F";
        reader.fault("url", "url_invalid", detail);
    }
    let (username, password) = match reader.credentials() {
        Some((username, password)) => (username, password.expose().to_owned()),
        None => Default::default(),
    };
    let (url, vhost) = url.zip(vhost)?;
    Some(AMQPUri {
        // The stream is encrypted already where it has to be.
        scheme: AMQPScheme::AMQP,
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo { username, password },
            host: url.host.clone(),
            port: url.port,
        },
        vhost,
        query: AMQPQueryString { heartbeat: Some(HEARTBEAT), ..Default::default() },
    })
}

/// Connects to a checked address and signs in. The connection ends with its guard.
pub(crate) async fn connect(
    uri: &AMQPUri,
    place: &Place,
    trust: &Trust,
) -> Result<(Connection, DropGuard), Failure> {
    let (connected, cut) = stream::connect(place, trust).await?;
    let connected = Mutex::new(Some(connected.compat()));
    // Asked for once: nothing is connected again behind our back.
    let connect = async move |_, _| {
        let taken = connected.lock().unwrap_or_else(PoisonError::into_inner).take();
        let gone = || lapin::Error::from(std::io::Error::from(std::io::ErrorKind::ConnectionAborted));
        taken.map(AsyncTcpStream::Plain).ok_or_else(gone)
    };
    let properties = ConnectionProperties::default().with_connection_name("punctual".into());
    let connection = Connection::connector(uri.clone(), runtime::current(), connect, properties)
        .await
        .map_err(|fault| classify::not_let_in(&fault))?;
    Ok((connection, cut))
}

/// An open connection, with the channels that wait for the next message.
pub struct Live {
    connection: Connection,
    waiting: Mutex<Vec<lapin::Channel>>,
    /// Ends the stream, and with it the thread that reads it, whatever state the handshake was in.
    _cut: DropGuard,
}

impl Broker for Amqp {
    const NAME: &'static str = "amqp";
    const ABOUT: &'static AboutAdapter = &AMQP;
    const SCHEMES: &'static [Scheme] = AMQP_SCHEMES;

    type Live = Live;

    fn read(reader: &mut Reader<'_>, url: Option<&CheckedUrl>) -> Option<Self> {
        let uri = uri(reader, url);
        let target = target(reader);
        let persistent = reader.boolean("persistent").unwrap_or(true);
        let (uri, (exchange, routing_key)) = uri.zip(target)?;
        Some(Self { uri, exchange, routing_key, persistent })
    }

    async fn connect(&self, place: &Place, trust: &Trust, _message: &Outgoing) -> Result<Live, Failure> {
        let (connection, cut) = connect(&self.uri, place, trust).await?;
        Ok(Live { connection, waiting: Mutex::default(), _cut: cut })
    }

    fn works(live: &Live) -> bool {
        live.connection.status().connected()
    }

    async fn send(
        &self,
        live: &Live,
        message: &Outgoing,
        handed_over: &HandedOver,
    ) -> Result<String, Failure> {
        // What the protocol can carry in a short text; a longer one would end the connection.
        if message.message_id.len() > 255 || message.kind.len() > 255 {
            return Err(Failure::never(
                ReasonCode::MessageIdInvalid,
                "the message id or kind is too long for AMQP",
            ));
        }
        let channel = live.channel().await?;
        let options = BasicPublishOptions { mandatory: true, immediate: false };
        let (exchange, routing_key) = (self.exchange.as_str().into(), self.routing_key.as_str().into());
        let (body, properties) = (body(message), self.properties(message));
        handed_over.mark();
        let confirmation = channel
            .basic_publish(exchange, routing_key, options, &body, properties)
            .await
            .map_err(|fault| refused(&fault))?
            .await
            .map_err(|fault| refused(&fault))?;
        // Only one that has answered can take the next message.
        if confirmation != Confirmation::NotRequested {
            live.give_back(channel);
        }
        confirmed(&confirmation).map(|()| message.message_id.clone())
    }
}

impl Amqp {
    fn properties(&self, message: &Outgoing) -> BasicProperties {
        let properties = BasicProperties::default()
            .with_message_id(message.message_id.as_str().into())
            .with_content_type("application/json".into())
            .with_app_id("punctual".into())
            .with_type(message.kind.as_str().into())
            .with_timestamp(u64::try_from(message.at.as_second()).unwrap_or(0));
        if self.persistent { properties.with_delivery_mode(PERSISTENT) } else { properties }
    }
}

impl Live {
    /// A channel that confirms, and on which nothing is under way.
    async fn channel(&self) -> Result<lapin::Channel, Failure> {
        let take = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(channel) = take() {
            if channel.status().connected() {
                return Ok(channel);
            }
        }
        let lost = |fault: lapin::Error| Failure::Lost(format!("no channel to the broker: {fault}"));
        let channel = self.connection.create_channel().await.map_err(lost)?;
        channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(lost)?;
        Ok(channel)
    }

    fn give_back(&self, channel: lapin::Channel) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST_WAITING {
            waiting.push(channel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_host_stands_behind_the_name() {
        for (path, expected) in [
            ("", Some("/")),
            ("/", Some("/")),
            ("/%2F", Some("/")),
            ("/orders", Some("orders")),
            ("/caf%C3%A9", Some("café")),
            ("/a/b", None),
            ("/%zz", None),
            ("/%ff", None),
            ("/%2", None),
            ("/%00", None),
        ] {
            assert_eq!(virtual_host(path).as_deref(), expected, "{path}");
        }
    }
}
