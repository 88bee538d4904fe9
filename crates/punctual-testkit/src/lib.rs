//! For tests: a store and an engine on either database, a clock that is set, randomness that repeats, channels and workflows
//! that behave as they are set, and a checker of what happened.
//!
//! A test is a plain function of a [`TestBed`]; [`on_both!`] runs it on SQLite and on PostgreSQL. Nothing here sleeps: a
//! test sets the clock and ticks, or waits for a signal.

pub mod channel;
pub mod clock;
mod console_routes;
pub mod history;
pub mod log;
mod pgbouncer;
pub mod postgres;
pub mod promtool;
mod proxy;
pub mod rig;
mod run;
mod seed;
pub mod test_bed;
pub mod workflow;

pub use channel::{Gated, Scripted};
pub use clock::{Seeded, WallClock};
pub use console_routes::{console_routes, console_sources};
pub use pgbouncer::PgBouncer;
pub use proxy::{Proxy, Way};
pub use run::{adjusted, run, run_of, scale, signal};
pub use seed::{new_work, new_work_with};
pub use test_bed::{Database, START, TestBed, TestBedBuilder, new_schedule, run_on_sqlite};
pub use workflow::TestWorkflow;

/// Makes two tests of each function named, `sqlite::…` and `postgres::…`.
///
/// ```text
/// on_both! {
///     a_released_hold_is_claimed_at_once;
///     claims_wait_for_each_other with |bed| bed.without_skip_locked();
///     the_same_body_again = claims_wait_for_each_other with |bed| bed.connections(2);
/// }
/// async fn a_released_hold_is_claimed_at_once(bed: TestBed) { … }
/// ```
#[macro_export]
macro_rules! on_both {
    ($($name:ident $(= $body:ident)? $(with $with:expr)?;)*) => {
        mod sqlite {
            use super::*;
            // The builders may name anything of the file; this uses the import where none does.
            const _: fn(TestBed) = |_| {};
            $(#[test] fn $name() { $crate::on_both!(@run Sqlite, $name $(= $body)? $(with $with)?) })*
        }
        mod postgres {
            use super::*;
            const _: fn(TestBed) = |_| {};
            $(#[test] fn $name() { $crate::on_both!(@run Postgres, $name $(= $body)? $(with $with)?) })*
        }
    };
    (@run $database:ident, $name:ident with $with:expr) => {
        $crate::run_of(env!("CARGO_PKG_NAME"), $crate::adjusted($crate::Database::$database, $with), super::$name)
    };
    (@run $database:ident, $name:ident) => {
        $crate::run_of(env!("CARGO_PKG_NAME"), $crate::TestBedBuilder::new($crate::Database::$database), super::$name)
    };
    (@run $database:ident, $name:ident = $body:ident with $with:expr) => {
        $crate::run_of(env!("CARGO_PKG_NAME"), $crate::adjusted($crate::Database::$database, $with), super::$body)
    };
    (@run $database:ident, $name:ident = $body:ident) => {
        $crate::run_of(env!("CARGO_PKG_NAME"), $crate::TestBedBuilder::new($crate::Database::$database), super::$body)
    };
}
