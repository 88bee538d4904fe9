//! All that a submission must pass, the quick checks first, with the time each took.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::{run, suite, supply, tidy};

/// A name and what to do, which returns an exit code.
type Step = (&'static str, fn() -> Result<u8>);

/// Stops at the first step that fails and returns its exit code.
pub fn run() -> Result<u8> {
    let steps: [Step; 6] = [
        ("format", format),
        ("tidy", tidy::run),
        ("supply", supply::check),
        ("clippy", clippy),
        ("docs", docs),
        ("tests", || suite::test(&[])),
    ];
    let mut times = Vec::new();
    let mut code = 0;
    for (name, step) in steps {
        eprintln!("\n── {name} ──");
        let started = now();
        code = step()?;
        times.push((name, started.elapsed()));
        if code != 0 {
            break;
        }
    }
    report(&times, code);
    Ok(code)
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch for people, not the time of the product")]
fn now() -> Instant {
    Instant::now()
}

fn report(times: &[(&str, Duration)], code: u8) {
    eprintln!();
    for (name, took) in times {
        eprintln!("{name:>8} {:7.1} s", took.as_secs_f64());
    }
    let total: Duration = times.iter().map(|(_, took)| took).sum();
    let verdict = match times.last() {
        Some((name, _)) if code != 0 => format!("{name} failed"),
        _ => "all passed".to_owned(),
    };
    eprintln!("{:>8} {:7.1} s, {verdict}", "total", total.as_secs_f64());
}

fn format() -> Result<u8> {
    step(run::cargo(["fmt", "--all", "--check"]))
}

fn clippy() -> Result<u8> {
    step(run::cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]))
}

fn docs() -> Result<u8> {
    let mut command = run::cargo(["doc", "--workspace", "--all-features", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    step(command)
}

fn step(mut command: Command) -> Result<u8> {
    Ok(run::code(run::status(for_ci(&mut command))?))
}

/// A machine that builds once gains nothing from incremental files, which are slow to write and large.
pub fn for_ci(command: &mut Command) -> &mut Command {
    if std::env::var_os("CI").is_some() && std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}
