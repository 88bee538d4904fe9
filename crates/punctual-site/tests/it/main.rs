//! The agent against a real central server on both databases, with a proxy in between that spoils replies.

mod forwarding;
mod full_disk;
mod health;
mod local;
mod outage;
mod r14_replies;
mod r15_buffer;
mod refused;
mod rig;
mod status;
