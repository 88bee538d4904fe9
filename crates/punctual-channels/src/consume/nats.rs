//! NATS JetStream: a durable pull consumer, so that the server knows how far the events were taken.
//!
//! The consumer asks for a batch and gets what is there; nodes that ask share the messages. One that is refused is published to
//! the subject for dead letters, which a stream must keep, and then terminated.

mod position;
mod setup;

use std::time::Duration;

use async_nats::{Client, HeaderMap, Message, Request, Subscriber, connection::State};
use futures_util::{StreamExt, future::BoxFuture};
use punctual_model::{AboutAdapter, DeadLetter, Feed, FeedFault, Received, Settled};
use serde_json::json;

use super::{LINGER, STRUCTURED, Source, SourceAdapter, answered, attributes, fault, reason};
use crate::{
    broker::{Broker, Failure, Place},
    brokers::{self, consumers::DURABLE},
    guard::{CheckedUrl, Scheme},
    nats::{Login, Nats, ack, connect, login, subject_fault},
    settings::Reader,
    trust::Trust,
};
use position::Position;

/// The adapter `nats`.
pub type NatsConsumer = SourceAdapter<NatsStream>;

/// How much longer than the server we wait for its word that a request has ended.
const GRACE: Duration = Duration::from_secs(2);

/// What to read at a server, and as whom.
pub struct NatsStream {
    stream: String,
    durable: String,
    /// Which messages of the stream are meant; all, where there is none.
    subject: Option<String>,
    dead_letter_subject: String,
    batch: usize,
    login: Login,
}

/// What is wrong with a name of a stream or of a durable consumer.
fn name_fault(name: &str) -> Option<&'static str> {
    let wrong = |c: char| c.is_control() || c.is_whitespace() || ".*>/\\".contains(c);
    (name.is_empty() || name.len() > 255 || name.contains(wrong))
        .then_some("a name has 1 to 255 bytes, no blanks and none of `.`, `*`, `>`, `/` and `\\`")
}

impl Source for NatsStream {
    const NAME: &'static str = "nats";
    const ABOUT: &'static AboutAdapter = &brokers::consumers::NATS;
    const SCHEMES: &'static [Scheme] = Nats::SCHEMES;

    fn read(reader: &mut Reader<'_>, _url: Option<&CheckedUrl>, batch: usize) -> Option<Self> {
        let stream = reader.text("stream");
        let durable = reader.text("durable").unwrap_or(DURABLE);
        for (name, text) in [("stream", stream), ("durable", Some(durable))] {
            if let Some(detail) = text.and_then(name_fault) {
                reader.fault(name, "out_of_range", detail);
            }
        }
        let subject = reader.text("subject");
        let is_wrong = |word: &str| word.is_empty() || word.contains(char::is_whitespace);
        if subject.is_some_and(|text| text.len() > 255 || text.split('.').any(is_wrong)) {
            let detail = "a subject has words between its dots; `*` and a last `>` stand for others";
            reader.fault("subject", "out_of_range", detail);
        }
        let dead_letter_subject = reader.text("deadLetterSubject");
        if let Some(detail) = dead_letter_subject.and_then(subject_fault) {
            reader.fault("deadLetterSubject", "out_of_range", detail);
        }
        let login = login(reader);
        Some(Self {
            stream: stream?.to_owned(),
            durable: durable.to_owned(),
            subject: subject.map(str::to_owned),
            dead_letter_subject: dead_letter_subject?.to_owned(),
            batch,
            login,
        })
    }

    async fn connect(&self, place: &Place, trust: &Trust, _name: &str) -> Result<Box<dyn Feed>, Failure> {
        let client = connect(&self.login, place, trust).await?.into_client();
        self.check_dead_letters(&client).await?;
        self.ensure_durable(&client).await?;
        let inbox = client.new_inbox();
        let lost = |error: &dyn std::fmt::Display| Failure::Lost(format!("no inbox at the server: {error}"));
        let messages = client.subscribe(inbox.clone()).await.map_err(|error| lost(&error))?;
        Ok(Box::new(NatsFeed {
            next: format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", self.stream, self.durable),
            dead_letter_subject: self.dead_letter_subject.clone(),
            batch: self.batch,
            client,
            inbox,
            messages,
            asked_for: 0,
            lag: None,
            held: Vec::new(),
        }))
    }
}

/// A connection that asks for messages.
struct NatsFeed {
    client: Client,
    /// Where requests for messages go.
    next: String,
    dead_letter_subject: String,
    batch: usize,
    inbox: String,
    messages: Subscriber,
    /// Messages of the last request that have not come yet: another one is made when this is 0.
    asked_for: usize,
    lag: Option<u64>,
    /// What was handed out and is not settled; the tag is the place.
    held: Vec<(Message, Position)>,
}

impl NatsFeed {
    async fn ask(&mut self, wait: Duration) -> Result<(), FeedFault> {
        let wanted = json!({ "batch": self.batch, "expires": wait.as_nanos() as u64 });
        let (next, inbox) = (self.next.clone(), self.inbox.clone());
        let asked = self.client.publish_with_reply(next, inbox, wanted.to_string().into()).await;
        asked.map_err(|error| FeedFault(format!("the server cannot be asked for messages: {error}")))?;
        self.asked_for = self.batch;
        Ok(())
    }

    /// Takes what came; whether it is a message, and not the end of a request.
    fn came(&mut self, message: Message) -> Result<bool, FeedFault> {
        if let Some(status) = message.status {
            return match status.as_u16() {
                // A sign of life.
                100 => Ok(false),
                // The request has ended: nothing was there, its time is over, or it was one too many.
                404 | 408 => {
                    self.lag = Some(0);
                    self.asked_for = 0;
                    Ok(false)
                }
                409 if message.description.as_deref().is_some_and(|text| text.starts_with("Exceeded")) => {
                    self.asked_for = 0;
                    Ok(false)
                }
                code => {
                    let said = message.description.unwrap_or_default();
                    Err(FeedFault(format!("the server answered {code} {said}")))
                }
            };
        }
        let Some(position) = message.reply.as_deref().and_then(Position::read) else {
            return Err(FeedFault("the server sent a message that is not from JetStream".to_owned()));
        };
        self.lag = Some(position.pending);
        self.asked_for = self.asked_for.saturating_sub(1);
        self.held.push((message, position));
        Ok(true)
    }

    async fn collect(&mut self, wait: Duration) -> Result<Vec<Received>, FeedFault> {
        self.held.clear();
        if self.asked_for == 0 {
            self.ask(wait).await?;
        }
        while self.held.len() < self.batch {
            let patience = if self.held.is_empty() { wait + GRACE } else { LINGER };
            match tokio::time::timeout(patience, self.messages.next()).await {
                Ok(Some(message)) => {
                    if !self.came(message)? && self.asked_for == 0 {
                        break;
                    }
                }
                Ok(None) => return Err(gone()),
                Err(_) => {
                    // Nothing at all, not even the end of the request: the connection may have been another one since.
                    if self.held.is_empty() {
                        self.asked_for = 0;
                    }
                    break;
                }
            }
        }
        if self.client.connection_state() != State::Connected {
            return Err(gone());
        }
        Ok(self
            .held
            .iter()
            .enumerate()
            .map(|(tag, (message, position))| received(tag, message, position))
            .collect())
    }

    async fn say(&self, message: &Message, what: &'static str) -> Result<(), FeedFault> {
        let Some(reply) = message.reply.clone() else { return Ok(()) };
        let said = self.client.publish(reply, what.into()).await;
        said.map_err(|error| FeedFault(format!("a message could not be acknowledged: {error}")))
    }

    async fn settle_all(&self, settled: &[Settled]) -> Result<(), FeedFault> {
        let found = |one: &Settled| usize::try_from(one.tag).ok().and_then(|place| self.held.get(place));
        for one in settled.iter().filter(|one| one.refused.is_empty()) {
            if let Some((message, _)) = found(one) {
                self.say(message, "+ACK").await?;
            }
        }
        for one in settled.iter().filter(|one| !one.refused.is_empty()) {
            let Some((message, position)) = found(one) else { continue };
            for (number, letter) in one.refused.iter().enumerate() {
                self.bury(message, position, number, letter).await?;
            }
            self.say(message, "+TERM").await?;
        }
        let flushed = async { self.client.flush().await.map_err(|error| FeedFault(error.to_string())) };
        answered(flushed).await
    }

    /// Publishes a dead letter. Its id is the same each time, so that its stream drops a repeat.
    async fn bury(
        &self,
        message: &Message,
        position: &Position,
        number: usize,
        letter: &DeadLetter,
    ) -> Result<(), FeedFault> {
        let mut headers = HeaderMap::new();
        let payload = match &letter.event {
            Some(event) => {
                headers.insert("Content-Type", STRUCTURED);
                event.clone().into()
            }
            None => {
                let of_the_message = message.headers.iter().flat_map(HeaderMap::iter);
                for (name, values) in of_the_message {
                    let name: &str = name.as_ref();
                    if !name.to_ascii_lowercase().starts_with("nats-") {
                        values.iter().for_each(|value| headers.append(name, value.clone()));
                    }
                }
                message.payload.clone()
            }
        };
        for (name, text) in reason(letter) {
            headers.insert(name, text.as_str());
        }
        headers.insert("punctual-stream", position.stream.as_str());
        headers.insert("punctual-subject", message.subject.as_str());
        headers.insert("punctual-sequence", position.sequence.to_string().as_str());
        let id = format!("punctual-{}-{}-{number}", position.stream, position.sequence);
        headers.insert("Nats-Msg-Id", id.as_str());
        let request = Request::new().headers(headers).payload(payload).timeout(None);
        let subject = self.dead_letter_subject.clone();
        let stored = async {
            let answer = self.client.send_request(subject, request).await;
            answer.map_err(|error| FeedFault(format!("a dead letter could not be published: {error}")))
        };
        ack::read(&answered(stored).await?.payload).map(drop).map_err(fault)
    }
}

fn gone() -> FeedFault {
    FeedFault("the connection to the server is lost".to_owned())
}

fn received(tag: usize, message: &Message, position: &Position) -> Received {
    let headers = || message.headers.iter().flat_map(HeaderMap::iter);
    let named = headers().filter_map(|(name, values)| {
        let header: &str = name.as_ref();
        Some((header, attributes::attribute(header)?, values))
    });
    let attributes = named
        .map(|(header, attribute, values)| match values.as_slice() {
            [value] => Ok((attribute, attributes::percent_decoded(header, value.as_str())?)),
            _ => Err(format!("The header `{header}` is there twice.")),
        })
        .collect();
    let content_type = headers().find(|(name, _)| {
        let name: &str = (*name).as_ref();
        name.eq_ignore_ascii_case("content-type")
    });
    Received {
        tag: tag as u64,
        attributes,
        content_type: content_type.and_then(|(_, values)| Some(values.first()?.as_str().to_owned())),
        body: message.payload.to_vec(),
        sent_at: position.stored_at,
    }
}

impl Feed for NatsFeed {
    fn receive(&mut self, wait: Duration) -> BoxFuture<'_, Result<Vec<Received>, FeedFault>> {
        Box::pin(self.collect(wait))
    }

    fn settle<'a>(&'a mut self, settled: &'a [Settled]) -> BoxFuture<'a, Result<(), FeedFault>> {
        Box::pin(self.settle_all(settled))
    }

    fn lag(&self) -> Option<u64> {
        self.lag
    }
}
