//! The long trials of the shipped binary: each breaks something under load, again and again, and is judged by what the
//! clients were answered, what the database holds, what the receiver got and what was injected.
//!
//! Every test run does each of them for some seconds; `cargo xtask rig <name>` does it at full scale. A trial has a test
//! beside it in which the guard is off and the judge must object: else it would prove nothing.

mod clock;
mod cluster;
mod database;
mod disk;
mod failing_disk;
mod failover;
mod flood;
mod kill;
mod load;
mod network;
mod partition;
mod patroni;
mod power;
mod scene;
mod stall;
mod upgrade;
mod volume;

/// Networks and file systems of a trial's own can be made by root alone. Where somebody else runs the tests, such a trial
/// says so and does nothing; it leaves no record then.
fn needs_root() -> bool {
    let is_other = !cluster::is_root();
    if is_other {
        eprintln!("not tried: this trial needs root");
    }
    is_other
}
