//! The shipped binary as a child process: started, used, killed and started again.

mod audit;
mod backup;
#[cfg(all(feature = "nats", feature = "amqp", feature = "amqp1"))]
mod brokers;
mod clock;
#[cfg(all(feature = "nats", feature = "amqp", feature = "amqp1"))]
mod consumers;
mod crash_points;
mod definitions;
mod doctor;
mod first_minutes;
mod guide_calls;
mod integrators;
mod links;
mod log_file;
mod object_store;
mod operations;
mod proxies;
mod receiver;
mod reminders;
mod reports;
mod rig;
mod roles;
mod secrets;
mod server;
mod site;
mod site_agents;
mod site_kill;
mod stop;
mod surveys;
#[cfg(feature = "otlp")]
mod traces;
mod upgrade;
