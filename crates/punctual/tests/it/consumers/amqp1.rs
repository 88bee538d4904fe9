//! Producers and readers of dead letters that speak AMQP 1.0.

use std::time::Duration;

use fe2o3_amqp::{
    Connection, Receiver, Sender, Session,
    connection::ConnectionHandle,
    session::SessionHandle,
    types::{
        messaging::{ApplicationProperties, Body, Message, Properties},
        primitives::{Binary, SimpleValue, Value},
    },
};

use super::bus::Letter;

pub struct Amqp1 {
    session: SessionHandle<()>,
    _connection: ConnectionHandle<()>,
}

impl Amqp1 {
    pub async fn open(url: &str) -> Self {
        let url = url.replace("amqp://", "amqp://punctual:rabbit-secret@");
        let mut connection = Connection::open("producer", url.as_str()).await.unwrap();
        let session = Session::begin(&mut connection).await.unwrap();
        Self { session, _connection: connection }
    }

    pub async fn send(
        &mut self,
        address: &str,
        content_type: Option<&str>,
        headers: &[(String, String)],
        body: String,
    ) {
        let mut sender = Sender::attach(&mut self.session, "producer", address).await.unwrap();
        let mut own = ApplicationProperties::builder().build();
        for (name, text) in headers {
            own.0.insert(name.clone(), SimpleValue::String(text.clone()));
        }
        let properties = Properties { content_type: content_type.map(Into::into), ..Properties::default() };
        let message = Message::builder()
            .properties(properties)
            .application_properties(own)
            .data(Binary::from(body.into_bytes()))
            .build();
        sender.send(message).await.unwrap().accepted_or("not accepted").unwrap();
        // The broker may have let go of the link before.
        let _ = sender.close().await;
    }

    pub async fn letters(&mut self, address: &str, count: usize) -> Vec<Letter> {
        let mut receiver = Receiver::attach(&mut self.session, "reader", address).await.unwrap();
        let mut letters = Vec::new();
        loop {
            let patience = Duration::from_secs(if letters.len() < count { 60 } else { 1 });
            let Ok(found) = tokio::time::timeout(patience, receiver.recv::<Body<Value>>()).await else {
                break;
            };
            let delivery = found.unwrap();
            receiver.accept(&delivery).await.unwrap();
            let message = delivery.into_message();
            let own = message.application_properties.unwrap();
            let text = |name: &str| match own.0.iter().find(|(key, _)| *key == name) {
                Some((_, SimpleValue::String(text))) => text.clone(),
                other => panic!("{name}: {other:?}"),
            };
            let Body::Data(parts) = message.body else { panic!("no data") };
            let body: Vec<u8> = parts.iter().flat_map(|part| part.0.iter().copied()).collect();
            let body = String::from_utf8(body).unwrap();
            letters.push(Letter { code: text("punctual-code"), detail: text("punctual-detail"), body });
        }
        letters
    }
}
