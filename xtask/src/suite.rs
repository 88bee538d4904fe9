//! The tests of all crates, in their environment, and the long trials among them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::environment::Environment;
use crate::{previous, run, tools};

/// A long trial: the tests whose names start with `rig_<name>_`. Every test run does them at a small scale.
struct Trial {
    name: &'static str,
    about: &'static str,
}

const TRIALS: &[Trial] = &[
    Trial {
        name: "abort",
        about: "a row that ends the process whenever it is decided; it ends on hold, its neighbours are worked",
    },
    Trial {
        name: "clock",
        about: "clocks of nodes that are 90 s or 2 h wrong, are set while they run, or stand still",
    },
    Trial {
        name: "database",
        about: "PostgreSQL stopped, killed, cut off, made read-only, frozen, slowed down and left without room under load",
    },
    Trial {
        name: "disk",
        about: "the disk of the server, of PostgreSQL and of a site full, and failing with EIO, under load",
    },
    Trial {
        name: "failover",
        about: "the primary of a PostgreSQL killed under load and its synchronous standby promoted",
    },
    Trial {
        name: "flood",
        about: "3,000 slow clients, receivers that hang, and long lists of slow ones; probes are answered and nothing else is held up",
    },
    Trial { name: "kill", about: "the server killed at random moments and at crash points under load" },
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
        name: "partition",
        about: "links cut between a node and its database or provider, a site and central; both ways and one way",
    },
    Trial {
        name: "poison",
        about: "one bad row in a hundred, of each kind and in each stage; it is held or parked, no other is harmed",
    },
    Trial {
        name: "power",
        about: "the power of the machine cut under load; what was acknowledged is on the disk",
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
        name: "schemathesis",
        about: "requests made from the OpenAPI document, right and wrong ones, against a server on each database",
    },
    Trial {
        name: "sites",
        about: "a site agent and central killed at random moments under load; nothing lost, nothing doubled",
    },
    Trial { name: "stall", about: "a node stopped for longer than its lease and continued under load" },
    Trial {
        name: "upgrade",
        about: "nodes of the release before replaced by this one under load, with the changes of the schema in between",
    },
    Trial {
        name: "zones",
        about: "every change of every time zone against an oracle; run it when jiff or its zones are updated",
    },
];

/// How many faults a trial injects on a database at full scale, for those that leave records.
pub const FULL_SCALE: &[(&str, &str, u64)] = &[
    ("abort", "sqlite", 200),
    ("abort", "postgres", 200),
    ("clock", "sqlite", 200),
    ("clock", "postgres", 200),
    ("database", "postgres", 4_000),
    ("disk", "sqlite", 200),
    ("disk", "postgres", 200),
    ("disk", "site", 200),
    ("failover", "patroni", 50),
    ("failover", "postgres", 50),
    ("flood", "sqlite", 200),
    ("flood", "postgres", 200),
    ("kill", "sqlite", 10_000),
    ("kill", "postgres", 2_000),
    ("partition", "postgres", 500),
    ("partition", "site", 500),
    ("poison", "sqlite", 10_000),
    ("poison", "postgres", 10_000),
    ("power", "sqlite", 1_000),
    ("power", "postgres", 200),
    ("power", "site", 1_000),
    ("stall", "sqlite", 2_000),
    ("stall", "postgres", 2_000),
    ("upgrade", "sqlite", 50),
    ("upgrade", "postgres", 100),
];

/// What a trial does.
pub fn about(name: &str) -> Option<&'static str> {
    TRIALS.iter().find(|trial| trial.name == name).map(|trial| trial.about)
}

/// How far a trial goes. What is recorded for the present commit counts, so that a trial that was stopped continues.
#[derive(clap::Args)]
pub struct Limits {
    /// So many faults instead of the trial's own number.
    #[arg(long)]
    count: Option<u64>,
    /// Begin no round after so many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Where records are appended; `target/rig` by default. Those in `docs/reliability` make the page.
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// The seed of the first round.
    #[arg(long)]
    seed: Option<u64>,
    /// For `upgrade`: the binary of the release before.
    #[arg(long, value_name = "PATH", conflicts_with = "from")]
    previous: Option<PathBuf>,
    /// For `upgrade`: a commit of the release before, whose binary is built under `target/previous`.
    #[arg(long, value_name = "COMMIT")]
    from: Option<String>,
}

impl Limits {
    /// As the trials read them.
    fn variables(&self) -> Result<Vec<(&'static str, String)>> {
        let folder = match &self.records {
            Some(folder) => std::path::absolute(folder)?,
            None => run::kept().with_file_name("rig"),
        };
        let mut variables = vec![
            ("PUNCTUAL_RIG_RECORDS", folder.to_string_lossy().into_owned()),
            ("PUNCTUAL_RIG_COMMIT", commit()?),
        ];
        let numbers = [
            ("PUNCTUAL_RIG_COUNT", self.count),
            ("PUNCTUAL_RIG_MINUTES", self.minutes),
            ("PUNCTUAL_RIG_SEED", self.seed),
        ];
        variables.extend(numbers.into_iter().filter_map(|(name, value)| Some((name, value?.to_string()))));
        let previous = match (&self.previous, &self.from) {
            (Some(path), _) => Some(std::path::absolute(path)?),
            (None, Some(commit)) => Some(previous::build(commit)?),
            (None, None) => None,
        };
        let previous = previous.map(|path| ("PUNCTUAL_RIG_PREVIOUS", path.to_string_lossy().into_owned()));
        variables.extend(previous);
        Ok(variables)
    }
}

/// The commit that is tried; with a `+` where files differ from it.
fn commit() -> Result<String> {
    let git = |args: &[&str]| run::quiet(Command::new("git").current_dir(run::root()).args(args));
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Ok(format!("{}{}", git(&["rev-parse", "--short=12", "HEAD"])?, if changed { "+" } else { "" }))
}

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
pub fn rig(name: &str, limits: &Limits, args: &[String]) -> Result<u8> {
    if name == "upgrade" && limits.previous.is_none() && limits.from.is_none() {
        bail!("`rig upgrade` wants the release before: `--previous PATH` or `--from COMMIT`");
    }
    if name == "list" {
        for Trial { name, about } in TRIALS {
            println!("{name:<12} {about}");
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
    command.env("PUNCTUAL_RIG_SCALE", "release").envs(limits.variables()?);
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
            // As nextest is configured: continue after a failure.
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
        // What ends a process needs no other proof that it can: the test itself dies of it.
        for (name, _, _) in FULL_SCALE.iter().filter(|(name, ..)| *name != "abort") {
            assert!(about(name).is_some(), "{name} is no trial");
            assert!(
                sources.contains(&format!("fn rig_{name}_control_")),
                "nothing shows that {name} can fail"
            );
        }
    }
}
