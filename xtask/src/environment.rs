//! Everything tests need around them, in one value.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::brokers::Brokers;
use crate::postgres::{Purpose, Server};
use crate::{chromium, ci, keeper, node, promtool, python, run, tools};

pub struct Environment {
    server: Server,
    brokers: Brokers,
    python: PathBuf,
    node_modules: PathBuf,
    promtool: PathBuf,
}

impl Environment {
    /// Installs what is missing and starts what must run.
    pub fn prepare() -> Result<Self> {
        let bin = tools::for_tests()?;
        // RabbitMQ takes seconds to start, and meanwhile there is something to do.
        let mut brokers = Brokers::launch()?;
        let python = python::ensure()?;
        let node_modules = node::ensure()?;
        let promtool = promtool::ensure()?;
        let server = Server::start(&bin, Purpose::Tests)?;
        eprintln!("PostgreSQL from {} at {}", bin.display(), server.url());
        brokers.wait_until_ready()?;
        for (variable, url) in brokers.variables() {
            eprintln!("{variable}={url}");
        }
        Ok(Self { server, brokers, python, node_modules, promtool })
    }

    /// Runs a command that finds the environment in its variables; returns its exit code.
    pub fn run(&mut self, mut command: Command) -> Result<u8> {
        command.env("PUNCTUAL_TEST_POSTGRES", self.server.url()).env(python::VARIABLE, &self.python);
        command.env(node::VARIABLE, &self.node_modules).env(promtool::VARIABLE, &self.promtool);
        command.envs(self.brokers.variables());
        if let Some(browser) = chromium::find() {
            command.env(chromium::VARIABLE, browser);
        }
        eprintln!("$ {}", run::shown(&command));
        let keepers = [self.server.keeper(), self.brokers.keeper()];
        Ok(run::code(keeper::status_with(keepers, ci::for_ci(&mut command))?))
    }
}
