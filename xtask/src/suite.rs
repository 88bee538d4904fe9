//! The tests of all crates, in their environment, and the long trials among them.

use std::process::Command;

use anyhow::{Result, bail};

use crate::environment::Environment;
use crate::{run, tools};

/// A long trial: the tests whose names start with `rig_<name>_`. Every test run does them at a small scale.
struct Trial {
    name: &'static str,
    about: &'static str,
}

const TRIALS: &[Trial] = &[
    Trial {
        name: "kill",
        about: "the server killed at random moments under load; nothing lost, nothing sent twice",
    },
    Trial {
        name: "nodes",
        about: "several nodes on one PostgreSQL, one of them killed; each row worked once",
    },
    Trial {
        name: "operations",
        about: "random edits of events and rules against a model; the messages sent are the model's",
    },
    Trial {
        name: "outage",
        about: "a provider that is down for an hour with 100,000 messages waiting, under a limit; all delivered after",
    },
    Trial {
        name: "reminders",
        about: "a year of sources, edits and changed settings against a plain model; each reminder once, on time",
    },
    Trial {
        name: "reports",
        about: "two schedulers race for 10,000 runs on each database; each is delivered once",
    },
    Trial {
        name: "sites",
        about: "a site agent and central killed at random moments under load; nothing lost, nothing doubled",
    },
    Trial {
        name: "zones",
        about: "every change of every time zone against an oracle; run it when jiff or its zones are updated",
    },
];

/// Runs the tests, and the examples in the docs when nothing was selected.
pub fn test(args: &[String]) -> Result<u8> {
    let runner = Runner::find();
    let mut environment = Environment::prepare()?;
    let code = environment.run(runner.command(args))?;
    // nextest leaves the examples to cargo; `cargo test` has run them already.
    if code == 0 && args.is_empty() && matches!(runner, Runner::Nextest) {
        return environment.run(run::cargo(["test", "--workspace", "--all-features", "--doc", "--quiet"]));
    }
    Ok(code)
}

/// Runs one trial, or `all`, at full scale, or shows the `list`.
pub fn rig(name: &str, args: &[String]) -> Result<u8> {
    if name == "list" {
        for Trial { name, about } in TRIALS {
            println!("{name:<8} {about}");
        }
        return Ok(0);
    }
    let prefix = match TRIALS.iter().find(|trial| trial.name == name) {
        Some(trial) => format!("rig_{}_", trial.name),
        None if name == "all" => "rig_".to_owned(),
        None => bail!("there is no trial {name:?}; `cargo xtask rig list` shows them"),
    };
    let runner = Runner::find();
    let mut environment = Environment::prepare()?;
    let mut command = runner.command(args);
    match runner {
        Runner::Nextest => command.args(["--profile", "rig", "--no-capture", "-E"]).arg(in_trial(&prefix)),
        Runner::CargoTest => command.args([&prefix, "--", "--nocapture", "--test-threads=1"]),
    };
    command.env("PUNCTUAL_RIG_SCALE", "release");
    environment.run(command)
}

/// A nextest filter for tests that start with the prefix, in any module.
fn in_trial(prefix: &str) -> String {
    format!("test(/(^|::){prefix}/)")
}

enum Runner {
    Nextest,
    CargoTest,
}

impl Runner {
    fn find() -> Self {
        if tools::has_nextest() {
            return Self::Nextest;
        }
        eprintln!("cargo-nextest is not installed: using `cargo test`");
        Self::CargoTest
    }

    fn command(&self, args: &[String]) -> Command {
        let mut command = match self {
            Self::Nextest => run::cargo(["nextest", "run"]),
            // As nextest is configured: go on after a failure.
            Self::CargoTest => run::cargo(["test", "--no-fail-fast"]),
        };
        if !selects_packages(args) {
            command.arg("--workspace");
        }
        // What a build can leave out is tested too.
        command.arg("--all-features");
        command.args(args);
        // A message names its place; the frames of the runtime would bury it.
        command.env("RUST_BACKTRACE", "0");
        command
    }
}

/// With `--workspace` beside it cargo would not heed a package that is named.
fn selects_packages(args: &[String]) -> bool {
    let own = args.iter().take_while(|arg| *arg != "--");
    own.into_iter().any(|arg| arg.starts_with("-p") || arg.starts_with("--package") || arg == "--workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn all_crates_are_tested_unless_one_is_named() {
        assert!(!selects_packages(&words("a_released_hold --release")));
        assert!(!selects_packages(&words("--profile rig -- -p")));
        assert!(selects_packages(&words("-p punctual-store claim")));
        assert!(selects_packages(&words("--package=punctual-store")));
    }

    #[test]
    fn every_trial_has_tests() {
        let mut sources = String::new();
        let mut folders = vec![run::root().join("crates")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
                    sources.push_str(&std::fs::read_to_string(entry.path()).unwrap());
                }
            }
        }
        for Trial { name, .. } in TRIALS {
            assert!(sources.contains(&format!("fn rig_{name}_")), "`rig {name}` would run nothing");
        }
    }
}
