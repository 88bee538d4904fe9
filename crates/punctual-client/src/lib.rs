//! The Rust client of Punctual.
//!
//! [`Client`] calls the API of a server: a method for every operation of the OpenAPI document, with its name.
//!
//! ```no_run
//! # async fn example() -> Result<(), punctual_client::ApiError> {
//! use punctual_client::{Client, query::ListNotificationsQuery, wire};
//! use wire::{content::Content, notifications::NotificationRequest};
//!
//! let client = Client::new("http://127.0.0.1:8080", "KEY");
//! let content = Content { list: Some("ops".into()), subject: "Disk full".into(), body: "On db-3.".into(), ..Content::default() };
//! let sent = client.create_notification(&NotificationRequest { content, ..Default::default() }).await?;
//! println!("{}", client.get_notification(&sent.id).await?.status);
//!
//! let parked = ListNotificationsQuery { status: Some("parked".into()), ..Default::default() };
//! let mut parked = client.iter_notifications(&parked);
//! while let Some(one) = parked.next().await? {
//!     println!("{} {:?}", one.id, one.reason_code);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Notify`] and [`SiteAgent`] hand messages to the agent at a site: one line sends, and the message is on disk when it returns.
//! The agent is the one at `PUNCTUAL_SITE_URL`, or at the address where it listens by default.
//!
//! ```no_run
//! # async fn example() -> Result<(), punctual_client::ClientError> {
//! use punctual_client::{Notify, SiteAgent};
//!
//! let id = Notify::to("ops").send("Pump 7: pressure low", "1.8 bar").await?;
//! println!("{}", SiteAgent::local().status(&id).await?.status);
//! # Ok(())
//! # }
//! ```

mod client;
mod operations;
mod pages;
mod site;
mod table;
mod webhook;

pub use client::{ApiError, Client};
pub use pages::Pages;
/// The types of requests and answers.
pub use punctual_wire as wire;
pub use site::{ClientError, DEFAULT_URL, Notify, SiteAgent, URL_VARIABLE};
pub use webhook::{InvalidWebhook, TOLERANCE_SECONDS, verify_webhook};

/// What lists and searches may be asked for; the names of the fields are those of the document.
pub mod query {
    pub use crate::operations::queries::*;
}

/// What the README shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
