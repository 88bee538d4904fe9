//! The JSON shapes of `/api/v1`, shared by the server, the agent at a site and the client.
//!
//! Bytes become a checked tree in [`strict`], a tree becomes a request through [`fields`], and what is
//! wrong with either becomes a [`Problem`]. Each resource has a file with its requests and its answers.
//! Nothing here knows the rules of the pipeline or the tables behind it: words such as a status are
//! texts, and whether a channel or a list exists is for others to say.

pub mod address;
pub mod attachments;
pub mod attention;
pub mod audit;
pub mod batch;
pub mod business_units;
pub mod channels;
pub mod consumers;
pub mod content;
pub mod csv;
pub mod definitions;
pub mod delivery_policy;
pub mod erasures;
pub mod events;
pub mod fields;
pub mod figures;
pub mod handling;
pub mod inbox;
pub mod instant;
pub mod keys;
pub mod limits;
pub mod lists;
pub mod messages;
pub mod names;
mod nearest;
pub mod nodes;
pub mod notifications;
pub mod operations;
pub mod page;
pub mod problem;
pub mod reach;
pub mod reminders;
pub mod reports;
pub mod restore;
pub mod retention;
pub mod rollouts;
pub mod sandbox;
pub mod scheduler;
pub mod schedules;
pub mod search;
pub mod secrets;
pub mod site_agent;
pub mod sites;
pub mod sources;
pub mod strict;
pub mod subscribers;
pub mod suppressions;
pub mod surveys;
pub mod templates;
pub mod timeline;
pub mod users;
pub mod work;

pub use batch::{Batch, BatchItem};
pub use fields::Fields;
pub use page::{Page, PageQuery};
pub use problem::{Code, FieldError, Problem};
pub use reach::RouteReach;
