//! One conformance suite: each statement function, on both databases, grouped by table.

mod attempts;
mod browse;
mod definitions;
mod notifications;
mod open;
mod people;
mod plans;
mod schema;
mod transactions;
mod work;
