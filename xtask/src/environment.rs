//! Everything tests need around them, in one value.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::postgres::{Purpose, Server};
use crate::{chromium, ci, python, run, tools};

pub struct Environment {
    server: Server,
    python: PathBuf,
}

impl Environment {
    /// Installs what is missing and starts what must run.
    pub fn prepare() -> Result<Self> {
        let bin = tools::for_tests()?;
        let python = python::ensure()?;
        let server = Server::start(&bin, Purpose::Tests)?;
        eprintln!("PostgreSQL from {} at {}", bin.display(), server.url());
        Ok(Self { server, python })
    }

    /// Runs a command that finds the environment in its variables; returns its exit code.
    pub fn run(&mut self, mut command: Command) -> Result<u8> {
        command.env("PUNCTUAL_TEST_POSTGRES", self.server.url()).env(python::VARIABLE, &self.python);
        if let Some(browser) = chromium::find() {
            command.env(chromium::VARIABLE, browser);
        }
        eprintln!("$ {}", run::shown(&command));
        Ok(run::code(self.server.status(ci::for_ci(&mut command))?))
    }
}
