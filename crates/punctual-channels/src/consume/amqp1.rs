//! AMQP 1.0, the protocol of Azure Service Bus, ActiveMQ and RabbitMQ: a link that receives from an address.
//!
//! The broker sends as many messages as there is credit for, which is a batch, and each stays its own until its disposition is
//! *accepted*. What is refused is sent to the address for dead letters and only then accepted.

use std::time::Duration;

use fe2o3_amqp::{
    Connection, Delivery, Receiver, Sender, Session,
    connection::ConnectionHandle,
    link::receiver::CreditMode,
    sasl_profile::SaslProfile,
    session::SessionHandle,
    types::{
        messaging::{ApplicationProperties, Body, Data, Header, Message, Properties},
        primitives::{Binary, SimpleValue, Value},
    },
};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_model::{AboutAdapter, DeadLetter, Feed, FeedFault, Received, Secret, Settled};
use tokio_util::sync::DropGuard;

use super::{LINGER, STRUCTURED, Source, SourceAdapter, answered, attributes, fault, reason, two_places};
use crate::{
    amqp1::{
        IDLE,
        classify::{disposition, not_attached, not_let_in, not_received, refused},
    },
    broker::{AMQP_SCHEMES, Failure, Place, stream},
    brokers,
    guard::{CheckedUrl, Scheme},
    settings::Reader,
    trust::Trust,
};

/// The adapter `amqp1`.
pub type Amqp1Consumer = SourceAdapter<Amqp1Address>;

/// What to read at a broker, and as whom.
pub struct Amqp1Address {
    credentials: Option<(String, Secret)>,
    address: String,
    dead_letter_address: String,
    hostname: String,
    batch: u32,
}

impl Source for Amqp1Address {
    const NAME: &'static str = "amqp1";
    const ABOUT: &'static AboutAdapter = &brokers::consumers::AMQP1;
    const SCHEMES: &'static [Scheme] = AMQP_SCHEMES;

    fn read(reader: &mut Reader<'_>, url: Option<&CheckedUrl>, batch: usize) -> Option<Self> {
        if url.is_some_and(|url| !matches!(url.url.path(), "" | "/")) {
            reader.fault(
                "url",
                "url_invalid",
                "the URL must end with the host; `address` has the queue or topic",
            );
        }
        let credentials = reader.credentials();
        let (address, dead_letter_address) = two_places(reader, ["address", "deadLetterAddress"]);
        // As RabbitMQ reads it; others have no virtual hosts.
        let virtual_host = reader.broker_name("virtualHost").map(|name| format!("vhost:{name}"));
        let hostname = virtual_host.or_else(|| url.map(|url| url.host.clone()));
        Some(Self {
            credentials,
            address: address?,
            dead_letter_address: dead_letter_address?,
            hostname: hostname?,
            batch: u32::try_from(batch).unwrap_or(1),
        })
    }

    async fn connect(&self, place: &Place, trust: &Trust, name: &str) -> Result<Box<dyn Feed>, Failure> {
        let (stream, cut) = stream::connect(place, trust).await?;
        let profile = match &self.credentials {
            Some((username, password)) => {
                SaslProfile::Plain { username: username.clone(), password: password.expose().to_owned() }
            }
            None => SaslProfile::Anonymous,
        };
        let mut connection = Connection::builder()
            .container_id(name)
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
        let dead_letters =
            Sender::attach(&mut session, "punctual-dead-letters", self.dead_letter_address.as_str())
                .await
                .map_err(|fault| not_attached(&fault))?;
        let receiver = Receiver::builder()
            .name("punctual-events")
            .source(self.address.as_str())
            .credit_mode(CreditMode::Auto(self.batch))
            .attach(&mut session)
            .await
            .map_err(|fault| not_received(&fault))?;
        Ok(Box::new(Amqp1Feed {
            address: self.address.clone(),
            batch: self.batch as usize,
            receiver,
            dead_letters,
            held: Vec::new(),
            _session: session,
            _connection: connection,
            _cut: cut,
        }))
    }
}

/// A connection that is given messages. The fields are dropped in this order.
struct Amqp1Feed {
    address: String,
    batch: usize,
    receiver: Receiver,
    dead_letters: Sender,
    /// What was handed out and is not settled; the tag is the place.
    held: Vec<Delivery<Body<Value>>>,
    _session: SessionHandle<()>,
    _connection: ConnectionHandle<()>,
    /// Ends the stream, and with it the tasks of the library.
    _cut: DropGuard,
}

impl Amqp1Feed {
    async fn collect(&mut self, wait: Duration) -> Result<Vec<Received>, FeedFault> {
        self.held.clear();
        while self.held.len() < self.batch {
            let patience = if self.held.is_empty() { wait } else { LINGER };
            match tokio::time::timeout(patience, self.receiver.recv::<Body<Value>>()).await {
                Ok(Ok(delivery)) => self.held.push(delivery),
                Ok(Err(error)) => return Err(FeedFault(format!("the link to the broker is lost: {error}"))),
                Err(_) => break,
            }
        }
        Ok(self.held.iter().enumerate().map(|(tag, delivery)| received(tag, delivery.message())).collect())
    }

    async fn settle_all(&mut self, settled: &[Settled]) -> Result<(), FeedFault> {
        let Self { held, receiver, dead_letters, address, .. } = self;
        let found = |one: &Settled| usize::try_from(one.tag).ok().and_then(|place| held.get(place));
        let failed = |error: &dyn std::fmt::Display| {
            FeedFault(format!("a message could not be acknowledged: {error}"))
        };
        let done: Vec<&Delivery<Body<Value>>> =
            settled.iter().filter(|one| one.refused.is_empty()).filter_map(found).collect();
        if !done.is_empty() {
            let said = async { receiver.accept_all(done).await.map_err(|error| failed(&error)) };
            answered(said).await?;
        }
        for one in settled.iter().filter(|one| !one.refused.is_empty()) {
            let Some(delivery) = found(one) else { continue };
            for letter in &one.refused {
                let sent = async {
                    let sent = dead_letters.send(dead_letter(delivery.message(), address, letter)).await;
                    disposition(sent.map_err(|error| fault(refused(&error)))?).map_err(fault)
                };
                answered(sent).await?;
            }
            let said = async { receiver.accept(delivery).await.map_err(|error| failed(&error)) };
            answered(said).await?;
        }
        Ok(())
    }
}

/// The dead letter of a message, or of one event of its batch.
fn dead_letter(message: &Message<Body<Value>>, address: &str, letter: &DeadLetter) -> Message<Data> {
    let mut properties = ApplicationProperties::builder().insert("punctual-address", address.to_owned());
    for (name, text) in reason(letter) {
        properties = properties.insert(name, text);
    }
    let mut properties = properties.build();
    let (content_type, body) = match &letter.event {
        Some(event) => (Some(STRUCTURED.to_owned()), event.clone().into_bytes()),
        None => {
            for (name, value) in message.application_properties.iter().flat_map(|own| own.0.iter()) {
                if !properties.0.contains_key(name) {
                    properties.0.insert(name.clone(), value.clone());
                }
            }
            (content_type(message), body(message))
        }
    };
    let id = message.properties.as_ref().and_then(|own| own.message_id.clone());
    let own =
        Properties { message_id: id, content_type: content_type.map(Into::into), ..Properties::default() };
    Message::builder()
        .header(Header::builder().durable(true).build())
        .properties(own)
        .application_properties(properties)
        .data(Binary::from(body))
        .build()
}

fn content_type(message: &Message<Body<Value>>) -> Option<String> {
    message.properties.as_ref()?.content_type.as_ref().map(|kind| kind.as_str().to_owned())
}

/// The bytes of a message, whether they were sent as data, as a text or as bytes in a value. Other values are none that an event
/// could be read from.
fn body(message: &Message<Body<Value>>) -> Vec<u8> {
    match &message.body {
        Body::Data(parts) => parts.iter().flat_map(|part| part.0.iter().copied()).collect(),
        Body::Value(value) => match &value.0 {
            Value::String(text) => text.clone().into_bytes(),
            Value::Binary(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        },
        Body::Sequence(_) | Body::Empty => Vec::new(),
    }
}

fn received(tag: usize, message: &Message<Body<Value>>) -> Received {
    let own = message.application_properties.iter().flat_map(|own| own.0.iter());
    let attributes = own
        .filter_map(|(name, value)| Some((attributes::attribute(name)?, name, value)))
        .map(|(attribute, property, value)| {
            let refused = || format!("The property `{property}` is no text, number or instant.");
            Ok((attribute, text(value).ok_or_else(refused)?))
        })
        .collect();
    let sent_at = message.properties.as_ref().and_then(|own| own.creation_time.as_ref());
    Received {
        tag: tag as u64,
        attributes,
        content_type: content_type(message),
        body: body(message),
        sent_at: sent_at.and_then(|at| Timestamp::from_millisecond(at.milliseconds()).ok()),
    }
}

/// The text of an attribute, whose type is one of the protocol's.
fn text(value: &SimpleValue) -> Option<String> {
    let text = match value {
        SimpleValue::String(text) => text.clone(),
        SimpleValue::Symbol(text) => text.as_str().to_owned(),
        SimpleValue::Bool(is) => is.to_string(),
        SimpleValue::Ubyte(number) => number.to_string(),
        SimpleValue::Ushort(number) => number.to_string(),
        SimpleValue::Uint(number) => number.to_string(),
        SimpleValue::Ulong(number) => number.to_string(),
        SimpleValue::Byte(number) => number.to_string(),
        SimpleValue::Short(number) => number.to_string(),
        SimpleValue::Int(number) => number.to_string(),
        SimpleValue::Long(number) => number.to_string(),
        SimpleValue::Timestamp(at) => Timestamp::from_millisecond(at.milliseconds()).ok()?.to_string(),
        SimpleValue::Binary(bytes) => std::str::from_utf8(bytes).ok()?.to_owned(),
        _ => return None,
    };
    Some(text).filter(|text| !text.contains('\0'))
}

impl Feed for Amqp1Feed {
    fn receive(&mut self, wait: Duration) -> BoxFuture<'_, Result<Vec<Received>, FeedFault>> {
        Box::pin(self.collect(wait))
    }

    fn settle<'a>(&'a mut self, settled: &'a [Settled]) -> BoxFuture<'a, Result<(), FeedFault>> {
        Box::pin(self.settle_all(settled))
    }
}
