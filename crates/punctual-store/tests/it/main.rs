//! One conformance suite: each statement function, on both databases, grouped by table.

mod attempts;
mod definitions;
mod notifications;
mod open;
mod people;
mod plans;
mod schema;
mod site_buffer;
mod transactions;
mod work;
