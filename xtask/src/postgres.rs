//! A PostgreSQL server to throw away: its own folder, its own port, gone with the process that started it.
//!
//! Two servers never meet, so a run that was killed cannot disturb the next one. The stopping is left to
//! `keeper.sh`, a child that notices the end of this process even when it cannot clean up.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::keeper::Keeper;
use crate::{run, tools};

/// Another process may take a free port before PostgreSQL does; then another port is used.
const START_ATTEMPTS: usize = 5;

/// Files that live in memory, on Linux. Hundreds of tests make a database each, and most of their time was the disk's; what
/// they prove about crashes is about Punctual's processes and not about the server's.
const MEMORY: &str = "/dev/shm";
/// What a run of all tests takes there at most is a quarter of this. A container may have no more than 64 MB.
const ROOM_IN_MB: u64 = 4_096;

/// What initdb and pg_ctl say, and what the server says.
const SETUP_LOG: &str = "setup.log";
const SERVER_LOG: &str = "server.log";

/// What the server is for.
#[derive(Clone, Copy)]
pub enum Purpose {
    Tests,
    Bench,
}

/// A running server. Dropping it stops the server and removes all it stored.
pub struct Server {
    url: String,
    keeper: Keeper,
}

impl Server {
    pub fn start(bin: &Path, purpose: Purpose) -> Result<Self> {
        let place = match purpose {
            Purpose::Tests if has_room(MEMORY) => PathBuf::from(MEMORY),
            _ => std::env::temp_dir(),
        };
        let folder = tempfile::Builder::new().prefix("punctual-postgres-").tempdir_in(place)?.keep();
        let mut keeper = Keeper::watch(&folder)?;
        let owner = Owner::of(&folder)?;
        let data = folder.join("data");

        let mut initdb = owner.command(&bin.join("initdb"), &folder)?;
        initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        if !keeper.status(initdb.arg("-D").arg(&data))?.success() {
            bail!("could not make a PostgreSQL data folder\n{}", logs(&folder));
        }
        for _ in 0..START_ATTEMPTS {
            let port = free_port()?;
            // Of two lines with the same name PostgreSQL takes the later.
            append(&data.join("postgresql.conf"), &settings(purpose, port, &folder))?;
            let mut start = owner.command(&bin.join("pg_ctl"), &folder)?;
            start.args(["start", "--wait", "-D"]).arg(&data).arg("-l").arg(folder.join(SERVER_LOG));
            if keeper.status(&mut start)?.success() {
                return Ok(Self { url: format!("postgres://postgres@127.0.0.1:{port}/postgres"), keeper });
            }
        }
        bail!("PostgreSQL did not start\n{}", logs(&folder));
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn keeper(&mut self) -> &mut Keeper {
        &mut self.keeper
    }
}

/// Starts a server, says where it is and waits to be interrupted.
pub fn serve(durable_bench: bool) -> Result<u8> {
    let bin = tools::postgres()?;
    let server = Server::start(&bin, if durable_bench { Purpose::Bench } else { Purpose::Tests })?;
    println!("{}", server.url());
    eprintln!("for tests: export PUNCTUAL_TEST_POSTGRES={}", server.url());
    eprintln!("ctrl-c stops it and removes what it stored");
    loop {
        std::thread::park();
    }
}

/// Durability stays on in both: Punctual refuses a server without it, and benchmarks show what it costs.
fn settings(purpose: Purpose, port: u16, folder: &Path) -> String {
    let (shared_buffers, max_wal_size) = match purpose {
        Purpose::Tests => ("256MB", "1GB"),
        Purpose::Bench => ("1GB", "4GB"),
    };
    let sockets = folder.to_string_lossy().replace('\'', "''");
    format!(
        "\nlisten_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{sockets}'\n\
         max_connections = 300\nshared_buffers = {shared_buffers}\nmax_wal_size = {max_wal_size}\n\
         fsync = on\nsynchronous_commit = on\n"
    )
}

fn has_room(folder: &str) -> bool {
    let mut df = Command::new("df");
    let free = run::quiet(df.args(["--output=avail", "--block-size=1M", folder])).ok();
    let free = free.and_then(|text| text.lines().last()?.trim().parse::<u64>().ok());
    free.is_some_and(|free| free >= ROOM_IN_MB)
}

fn append(file: &Path, text: &str) -> Result<()> {
    let open = File::options().append(true).open(file);
    open.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("could not write {}", file.display()))
}

fn logs(folder: &Path) -> String {
    [SETUP_LOG, SERVER_LOG].map(|name| fs::read_to_string(folder.join(name)).unwrap_or_default()).concat()
}

pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr())?.port())
}

/// Who runs the server: PostgreSQL refuses root, so root hands the folder to the user `postgres`.
struct Owner {
    through_runuser: bool,
}

impl Owner {
    fn of(folder: &Path) -> Result<Self> {
        let through_runuser = tools::is_root();
        if through_runuser {
            run::quiet(Command::new("chown").arg("postgres").arg(folder))
                .context("PostgreSQL refuses to run as root and needs a user named postgres")?;
        }
        Ok(Self { through_runuser })
    }

    fn command(&self, program: &Path, folder: &Path) -> Result<Command> {
        let mut command = if self.through_runuser {
            let mut runuser = Command::new("runuser");
            runuser.args(["-u", "postgres", "--"]).arg(program);
            runuser
        } else {
            Command::new(program)
        };
        let log = File::options().create(true).append(true).open(folder.join(SETUP_LOG))?;
        command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }
}
