//! What we depend on, checked: licences, bans and sources by `deny.toml`, and known advisories where their database can be had.
//! cargo-deny is used where it is installed; building it takes longer than all that it checks.

use std::process::Command;

use anyhow::Result;

use crate::run;

/// What the machine has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    Nothing,
    /// cargo-deny, without a network or a copy of the advisories.
    Rules,
    All,
}

/// The step of CI. What cannot be checked here is said in one line, and fails nothing.
pub fn check() -> Result<u8> {
    let (checks, skipped) = plan(means());
    if let Some(skipped) = skipped {
        eprintln!("{skipped}");
    }
    if checks.is_empty() {
        return Ok(0);
    }
    let mut command = deny(&["check"]);
    command.args(checks);
    Ok(run::code(run::status(&mut command)?))
}

fn means() -> Means {
    if !run::works(&mut deny(&["--version"])) {
        Means::Nothing
    } else if !run::works(&mut deny(&["fetch", "db"])) {
        Means::Rules
    } else {
        Means::All
    }
}

fn plan(means: Means) -> (&'static [&'static str], Option<&'static str>) {
    match means {
        Means::Nothing => {
            (&[], Some("skipped: cargo-deny is not installed (`cargo install --locked cargo-deny`)"))
        }
        Means::Rules => (
            &["licenses", "bans", "sources"],
            Some("advisories skipped: their database cannot be had from here"),
        ),
        Means::All => (&["licenses", "bans", "sources", "advisories"], None),
    }
}

fn deny(args: &[&str]) -> Command {
    let mut command = run::cargo(["deny"]);
    command.args(args);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_checked_without_a_network_and_what_is_skipped_is_said() {
        assert_eq!(plan(Means::All).1, None);
        let (checks, skipped) = plan(Means::Rules);
        assert_eq!(checks, ["licenses", "bans", "sources"]);
        assert!(skipped.is_some_and(|line| line.contains("advisories") && !line.contains('\n')));
        let (checks, skipped) = plan(Means::Nothing);
        assert!(checks.is_empty() && skipped.is_some_and(|line| line.contains("cargo-deny")));
    }
}
