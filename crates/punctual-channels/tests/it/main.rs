//! The adapters against real peers: an SMTP server in Python, HTTP servers on loopback, real message brokers, the guard
//! against its table.

#[cfg(all(feature = "nats", feature = "amqp", feature = "amqp1"))]
mod brokers;
mod callbacks;
mod captured;
mod classify;
mod descriptions;
mod guard;
mod guard_table;
mod mail_api;
mod mail_settings;
mod provider_settings;
mod python;
mod reach;
mod receiver;
mod rooms;
mod signatures;
mod sms;
mod smtp;
mod smtp_peer;
mod smtp_sink;
mod stand_in;
mod webhook;
mod whatsapp;

use jiff::Timestamp;
use punctual_channels::{AllowList, Guard, Trust};
use punctual_model::{NotificationId, Outgoing};
use uuid::Uuid;

/// The authority that signed the certificates of the test servers.
const CA: &[u8] = include_bytes!("tls/ca.pem");

/// A guard that lets tests reach this machine.
fn open_guard() -> Guard {
    Guard::new("127.0.0.0/8,::1".parse::<AllowList>().unwrap())
}

fn test_trust() -> Trust {
    Trust::platform().with_pem(CA).unwrap()
}

fn at() -> Timestamp {
    "2026-11-03T08:30:00Z".parse().unwrap()
}

/// A message to an address over a channel.
fn outgoing(channel: &str, address: &str) -> Outgoing {
    Outgoing {
        notification: NotificationId(Uuid::from_u128(7)),
        channel: channel.parse().unwrap(),
        address: address.to_owned(),
        attempt: 1,
        message_id: "msg-7".to_owned(),
        kind: "message".to_owned(),
        subject: "Subject".to_owned(),
        body: "Body".to_owned(),
        html: None,
        type_data: None,
        locale: None,
        context: None,
        attachments: Vec::new(),
        envelope: punctual_model::Envelope::default(),
        unsubscribe: None,
        at: at(),
    }
}
