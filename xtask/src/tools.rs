//! What must be on the machine before tests can run, and how it gets there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::run;

/// Something the tests need that cargo does not bring.
struct Tool {
    name: &'static str,
    /// The package of Debian and Ubuntu that has it.
    package: &'static str,
    is_there: fn() -> bool,
}

const POSTGRES: Tool = Tool {
    name: "PostgreSQL server (initdb, pg_ctl, postgres)",
    package: "postgresql",
    is_there: || postgres_folder().is_some(),
};

const PYTHON: Tool = Tool {
    name: "Python 3 with venv and pip",
    package: "python3-venv",
    is_there: || run::works(Command::new("python3").args(["-c", "import venv, ensurepip"])),
};

const CHROMIUM: Tool = Tool {
    name: "Chromium, for the tests of the console's pages",
    package: "chromium",
    is_there: || crate::chromium::find().is_some(),
};

const NODE: Tool = Tool {
    name: "Node.js 20 or newer with npm",
    package: "npm",
    is_there: || {
        run::works(Command::new("node").arg("--version")) && run::works(Command::new("npm").arg("--version"))
    },
};

const NATS: Tool =
    Tool { name: "nats-server", package: "nats-server", is_there: || found("nats-server").is_some() };

const PGBOUNCER: Tool =
    Tool { name: "PgBouncer", package: "pgbouncer", is_there: || found("pgbouncer").is_some() };

const RABBITMQ: Tool = Tool {
    name: "RabbitMQ with its plugin for AMQP 1.0",
    package: "rabbitmq-server",
    is_there: || rabbitmq().is_some() && found("epmd").is_some(),
};

/// Makes sure of the message brokers that tests publish to.
pub fn brokers() -> Result<()> {
    ensure(&[NATS, RABBITMQ])
}

/// The script that starts RabbitMQ for whoever calls it; the one on the PATH changes to its own user.
pub fn rabbitmq() -> Option<PathBuf> {
    let script = Path::new("/usr/lib/rabbitmq/bin/rabbitmq-server");
    if script.is_file() { Some(script.to_owned()) } else { found("rabbitmq-server") }
}

/// A program on the PATH, or where Debian keeps those of administrators.
pub fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/lib/erlang/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Makes sure of a PostgreSQL server and returns the folder with its programs.
pub fn postgres() -> Result<PathBuf> {
    ensure(&[POSTGRES])?;
    Ok(postgres_folder().expect("ensured above"))
}

/// Makes sure of all that tests need and returns the folder with PostgreSQL's programs.
pub fn for_tests() -> Result<PathBuf> {
    let mut tools = vec![POSTGRES, PGBOUNCER, CHROMIUM, NATS, RABBITMQ];
    if !crate::python::is_chosen() {
        tools.push(PYTHON);
    }
    if !crate::node::is_chosen() {
        tools.push(NODE);
    }
    ensure(&tools)?;
    Ok(postgres_folder().expect("ensured above"))
}

/// Without nextest `cargo test` does the same work, only less readably.
pub fn has_nextest() -> bool {
    run::works(&mut run::cargo(["nextest", "--version"]))
}

pub fn is_root() -> bool {
    run::quiet(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}

/// Installs what is missing where we may, and otherwise says what to install.
fn ensure(tools: &[Tool]) -> Result<()> {
    let missing = || tools.iter().filter(|tool| !(tool.is_there)()).collect::<Vec<_>>();
    let wanted = missing();
    if wanted.is_empty() {
        return Ok(());
    }
    let packages: Vec<_> = wanted.iter().map(|tool| tool.package).collect();
    let installed = apt_install(&packages);
    let still = missing();
    if still.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = still.iter().map(|tool| format!("  - {}", tool.name)).collect();
    let packages: Vec<_> = still.iter().map(|tool| tool.package).collect();
    bail!(
        "the tests need\n{}\nand {}. On Debian or Ubuntu: apt-get install {}",
        names.join("\n"),
        if installed { "installing did not bring it" } else { "it could not be installed from here" },
        packages.join(" ")
    );
}

/// Whether apt-get could be run and succeeded.
fn apt_install(packages: &[&str]) -> bool {
    // An update that reaches only some mirrors may still bring what is needed.
    update_packages();
    // Another installation may be under way: its lock is waited for.
    let mut args = vec!["-o", "DPkg::Lock::Timeout=300", "install", "-q", "-y", "--no-install-recommends"];
    args.extend(packages);
    apt_get(&args)
}

/// Reads again which packages there are, where we may.
pub fn update_packages() {
    apt_get(&["update", "-q"]);
}

fn apt_get(args: &[&str]) -> bool {
    let Some(apt) = apt() else { return false };
    let mut command = Command::new(apt[0]);
    command.args(&apt[1..]).args(args);
    eprintln!("$ {}", run::shown(&command));
    run::status(&mut command).is_ok_and(|status| status.success())
}

/// The words that start apt-get with the rights it needs, where there are any.
fn apt() -> Option<&'static [&'static str]> {
    const AS_ROOT: &[&str] = &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    const WITH_SUDO: &[&str] = &["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    if !run::works(Command::new("apt-get").arg("--version")) {
        None
    } else if is_root() {
        Some(AS_ROOT)
    } else {
        run::works(Command::new("sudo").args(["-n", "true"])).then_some(WITH_SUDO)
    }
}

/// The folder with the server's programs, which Debian keeps off the PATH.
fn postgres_folder() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).find_map(|folder| server_in(&folder));
    let of_debian = || debian_folders().iter().find_map(|folder| server_in(folder));
    let configured = || server_in(Path::new(&run::quiet(Command::new("pg_config").arg("--bindir")).ok()?));
    on_path.or_else(of_debian).or_else(configured)
}

/// The newest version first.
fn debian_folders() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut versions: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    versions.iter().rev().map(|path| path.join("bin")).collect()
}

/// The folder itself or, for links such as those in `/usr/local/bin`, the one they lead to.
fn server_in(folder: &Path) -> Option<PathBuf> {
    let real = folder.join("postgres").canonicalize().ok()?.parent()?.to_owned();
    ["initdb", "pg_ctl"].iter().all(|name| real.join(name).is_file()).then_some(real)
}
