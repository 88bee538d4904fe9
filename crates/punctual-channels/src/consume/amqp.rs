//! AMQP 0.9.1, the protocol of RabbitMQ: a consumer of a queue that the broker gives at most a batch before it is acknowledged.
//!
//! The queue remembers what was not acknowledged, and gives it to another node or to this one after a restart. What is refused is
//! published to the queue for dead letters, with a confirm, and only then acknowledged.

use std::time::Duration;

use futures_util::{StreamExt, future::BoxFuture};
use jiff::Timestamp;
use lapin::{
    BasicProperties, Channel, Connection, Consumer,
    message::Delivery,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
        QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable},
    uri::AMQPUri,
};
use punctual_model::{AboutAdapter, DeadLetter, Feed, FeedFault, ReasonCode, Received, Settled};
use tokio_util::sync::DropGuard;

use super::{LINGER, STRUCTURED, Source, SourceAdapter, answered, attributes, fault, reason, two_places};
use crate::{
    amqp::{
        PERSISTENT,
        classify::{confirmed, refused},
        connect, uri,
    },
    broker::{AMQP_SCHEMES, Failure, Place},
    brokers,
    guard::{CheckedUrl, Scheme},
    settings::Reader,
    trust::Trust,
};

/// The adapter `amqp`.
pub type AmqpConsumer = SourceAdapter<AmqpQueue>;

/// While messages come without a pause, the broker is asked this seldom how many are left.
const LAG_EVERY: u32 = 20;

/// What to read at a broker, and as whom.
pub struct AmqpQueue {
    uri: AMQPUri,
    queue: String,
    dead_letter_queue: String,
    batch: u16,
}

impl Source for AmqpQueue {
    const NAME: &'static str = "amqp";
    const ABOUT: &'static AboutAdapter = &brokers::consumers::AMQP;
    const SCHEMES: &'static [Scheme] = AMQP_SCHEMES;

    fn read(reader: &mut Reader<'_>, url: Option<&CheckedUrl>, batch: usize) -> Option<Self> {
        let uri = uri(reader, url);
        let (queue, dead_letter_queue) = two_places(reader, ["queue", "deadLetterQueue"]);
        let batch = u16::try_from(batch).unwrap_or(u16::MAX);
        Some(Self { uri: uri?, queue: queue?, dead_letter_queue: dead_letter_queue?, batch })
    }

    async fn connect(&self, place: &Place, trust: &Trust, _name: &str) -> Result<Box<dyn Feed>, Failure> {
        let (connection, cut) = connect(&self.uri, place, trust).await?;
        let lost = |error: lapin::Error| Failure::Lost(format!("no channel to the broker: {error}"));
        let channel = connection.create_channel().await.map_err(lost)?;
        let dead_letters = connection.create_channel().await.map_err(lost)?;
        dead_letters.confirm_select(ConfirmSelectOptions::default()).await.map_err(lost)?;
        look_up(&dead_letters, &self.dead_letter_queue).await?;
        let waiting = look_up(&channel, &self.queue).await?;
        channel.basic_qos(self.batch, BasicQosOptions::default()).await.map_err(lost)?;
        let (queue, tag) = (self.queue.as_str().into(), "".into());
        let consumer =
            channel.basic_consume(queue, tag, BasicConsumeOptions::default(), FieldTable::default()).await;
        let consumer = consumer.map_err(|error| refused(&error))?;
        Ok(Box::new(AmqpFeed {
            queue: self.queue.clone(),
            dead_letter_queue: self.dead_letter_queue.clone(),
            batch: usize::from(self.batch),
            consumer,
            channel,
            dead_letters,
            lag: u64::from(waiting),
            since_lag: 0,
            held: Vec::new(),
            _connection: connection,
            _cut: cut,
        }))
    }
}

/// How many messages a queue has; why not where there is no such queue.
async fn look_up(channel: &Channel, queue: &str) -> Result<u32, Failure> {
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    match channel.queue_declare(queue.into(), passive, FieldTable::default()).await {
        Ok(found) => Ok(found.message_count()),
        Err(error) => Err(match refused(&error) {
            Failure::Never { reason: ReasonCode::ExchangeUnknown, .. } => {
                Failure::never(ReasonCode::SettingsInvalid, format!("there is no queue `{queue}`"))
            }
            other => other,
        }),
    }
}

/// A connection that is given messages.
struct AmqpFeed {
    queue: String,
    dead_letter_queue: String,
    batch: usize,
    consumer: Consumer,
    channel: Channel,
    dead_letters: Channel,
    lag: u64,
    /// Batches since the broker was asked how many messages wait.
    since_lag: u32,
    /// What was handed out and is not settled; the tag is the place.
    held: Vec<Delivery>,
    _connection: Connection,
    /// Ends the stream, and with it the task that reads it.
    _cut: DropGuard,
}

impl AmqpFeed {
    async fn collect(&mut self, wait: Duration) -> Result<Vec<Received>, FeedFault> {
        self.held.clear();
        while self.held.len() < self.batch {
            let patience = if self.held.is_empty() { wait } else { LINGER };
            match tokio::time::timeout(patience, self.consumer.next()).await {
                Ok(Some(Ok(delivery))) => self.held.push(delivery),
                Ok(Some(Err(error))) => return Err(fault(refused(&error))),
                Ok(None) => return Err(FeedFault("the broker has ended the consumer".to_owned())),
                Err(_) => break,
            }
        }
        self.since_lag += 1;
        if self.held.is_empty() || self.since_lag >= LAG_EVERY {
            self.since_lag = 0;
            let asked = async { look_up(&self.channel, &self.queue).await.map_err(fault) };
            self.lag = u64::from(answered(asked).await?);
        }
        Ok(self.held.iter().enumerate().map(|(tag, delivery)| received(tag, delivery)).collect())
    }

    async fn settle_all(&self, settled: &[Settled]) -> Result<(), FeedFault> {
        let found = |one: &Settled| usize::try_from(one.tag).ok().and_then(|place| self.held.get(place));
        let (done, refused): (Vec<&Settled>, Vec<&Settled>) =
            settled.iter().partition(|one| one.refused.is_empty());
        for one in done.into_iter().chain(refused) {
            let Some(delivery) = found(one) else { continue };
            for letter in &one.refused {
                answered(self.bury(delivery, letter)).await?;
            }
            let said = delivery.acker.ack(BasicAckOptions::default());
            let said = async {
                said.await.map_err(|error| FeedFault(format!("a message could not be acknowledged: {error}")))
            };
            answered(said).await?;
        }
        Ok(())
    }

    async fn bury(&self, delivery: &Delivery, letter: &DeadLetter) -> Result<(), FeedFault> {
        let (properties, body) = dead_letter(delivery, &self.queue, letter);
        let mandatory = BasicPublishOptions { mandatory: true, immediate: false };
        let (exchange, key) = ("".into(), self.dead_letter_queue.as_str().into());
        let failed = |error: lapin::Error| fault(refused(&error));
        let sent = self.dead_letters.basic_publish(exchange, key, mandatory, body, properties).await;
        confirmed(&sent.map_err(failed)?.await.map_err(failed)?).map_err(fault)
    }
}

/// The dead letter of a message, or of one event of its batch.
fn dead_letter<'d>(
    delivery: &'d Delivery,
    queue: &str,
    letter: &'d DeadLetter,
) -> (BasicProperties, &'d [u8]) {
    let old = &delivery.properties;
    let mut properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
    if let Some(id) = old.message_id() {
        properties = properties.with_message_id(id.clone());
    }
    if let Some(at) = old.timestamp() {
        properties = properties.with_timestamp(*at);
    }
    let mut headers = FieldTable::default();
    let body = match &letter.event {
        Some(event) => {
            properties = properties.with_content_type(STRUCTURED.into());
            event.as_bytes()
        }
        None => {
            if let Some(kind) = old.content_type() {
                properties = properties.with_content_type(kind.clone());
            }
            for (name, value) in old.headers().iter().flat_map(FieldTable::inner) {
                headers.insert(name.clone(), value.clone());
            }
            &delivery.data
        }
    };
    let place = [("punctual-queue", queue.to_owned())];
    for (name, text) in reason(letter).into_iter().chain(place) {
        headers.insert(name.into(), AMQPValue::LongString(text.into()));
    }
    (properties.with_headers(headers), body)
}

fn received(tag: usize, delivery: &Delivery) -> Received {
    let headers = delivery.properties.headers().iter().flat_map(FieldTable::inner);
    let attributes = headers
        .filter_map(|(name, value)| Some((attributes::attribute(name.as_str())?, name, value)))
        .map(|(attribute, header, value)| {
            let refused = || format!("The header `{header}` is no text, number or instant.");
            Ok((attribute, text(value).ok_or_else(refused)?))
        })
        .collect();
    let properties = &delivery.properties;
    Received {
        tag: tag as u64,
        attributes,
        content_type: properties.content_type().as_ref().map(|kind| kind.as_str().to_owned()),
        body: delivery.data.clone(),
        sent_at: properties.timestamp().and_then(instant),
    }
}

fn instant(seconds: u64) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}

/// The text of an attribute, whose type is one of the protocol's.
fn text(value: &AMQPValue) -> Option<String> {
    let text = match value {
        AMQPValue::LongString(text) => std::str::from_utf8(text.as_bytes()).ok()?.to_owned(),
        AMQPValue::ShortString(text) => text.as_str().to_owned(),
        AMQPValue::Boolean(is) => is.to_string(),
        AMQPValue::ShortShortInt(number) => number.to_string(),
        AMQPValue::ShortShortUInt(number) => number.to_string(),
        AMQPValue::ShortInt(number) => number.to_string(),
        AMQPValue::ShortUInt(number) => number.to_string(),
        AMQPValue::LongInt(number) => number.to_string(),
        AMQPValue::LongUInt(number) => number.to_string(),
        AMQPValue::LongLongInt(number) => number.to_string(),
        AMQPValue::Timestamp(seconds) => instant(*seconds)?.to_string(),
        AMQPValue::ByteArray(bytes) => std::str::from_utf8(bytes.as_slice()).ok()?.to_owned(),
        AMQPValue::Float(_)
        | AMQPValue::Double(_)
        | AMQPValue::DecimalValue(_)
        | AMQPValue::FieldArray(_)
        | AMQPValue::FieldTable(_)
        | AMQPValue::Void => return None,
    };
    Some(text).filter(|text| !text.contains('\0'))
}

impl Feed for AmqpFeed {
    fn receive(&mut self, wait: Duration) -> BoxFuture<'_, Result<Vec<Received>, FeedFault>> {
        Box::pin(self.collect(wait))
    }

    fn settle<'a>(&'a mut self, settled: &'a [Settled]) -> BoxFuture<'a, Result<(), FeedFault>> {
        Box::pin(self.settle_all(settled))
    }

    fn lag(&self) -> Option<u64> {
        Some(self.lag)
    }
}
