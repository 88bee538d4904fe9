//! A PostgreSQL server of a trial's own, which is stopped, killed and started again.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use super::scene::pause;

/// One server. It dies with this value, and with this process.
pub struct Cluster {
    folder: TempDir,
    /// Where its folder is since the file system below it was replaced.
    moved: Option<PathBuf>,
    pub port: u16,
    /// Variables that its server finds in its environment.
    pub environment: Vec<(String, String)>,
    server: Option<Child>,
}

/// How a server is stopped.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    Fast,
    Immediate,
    Kill,
}

impl Cluster {
    /// Makes a server and starts it.
    pub async fn start(settings: &str) -> Self {
        Self::start_in(&std::env::temp_dir(), settings).await
    }

    /// The same with its files below this folder.
    pub async fn start_in(parent: &Path, settings: &str) -> Self {
        let mut cluster = Self::empty(parent);
        let mut initdb = cluster.program("initdb");
        initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        succeed(initdb.arg("-D").arg(cluster.data()));
        cluster.configure(settings);
        cluster.resume().await;
        cluster
    }

    /// A copy of this server that follows it under this name.
    pub async fn standby(&self, name: &str) -> Self {
        let mut standby = Self::empty(&std::env::temp_dir());
        let mut copy = standby.program("pg_basebackup");
        copy.args(["--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--username=postgres", "-D"]);
        copy.arg(standby.data()).args(["--host=127.0.0.1", "--port", &self.port.to_string()]);
        succeed(&mut copy);
        let source = format!(
            "primary_conninfo = 'host=127.0.0.1 port={} user=postgres application_name={name}'",
            self.port
        );
        // Settings that were copied along would win over ours.
        let _ = std::fs::remove_file(standby.data().join("postgresql.auto.conf"));
        standby.configure(&format!("{source}\nsynchronous_standby_names = ''"));
        standby.resume().await;
        standby
    }

    fn empty(parent: &Path) -> Self {
        let folder = tempfile::tempdir_in(parent).unwrap();
        if is_root() {
            succeed(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).unwrap().port();
        Self { folder, moved: None, port, environment: Vec::new(), server: None }
    }

    fn configure(&self, settings: &str) {
        let own = format!(
            "\nlisten_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\nmax_connections = 100\n\
             shared_buffers = 32MB\nautovacuum = off\nmax_wal_size = 256MB\n{settings}\n",
            self.port,
            self.folder.path().display()
        );
        let file = self.data().join("postgresql.conf");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, text + &own).unwrap();
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    fn folder(&self) -> &Path {
        self.moved.as_deref().unwrap_or(self.folder.path())
    }

    /// The folder above is elsewhere from here on. The server must have been stopped.
    pub fn moved_to(&mut self, parent: &Path) {
        self.moved = Some(parent.join(self.folder.path().file_name().unwrap()));
        let sockets = format!("\nunix_socket_directories = '{}'\n", self.folder().display());
        let file = self.data().join("postgresql.conf");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, text + &sockets).unwrap();
    }

    /// A program of PostgreSQL, run by whom it does not refuse.
    fn program(&self, name: &str) -> Command {
        let file = bin().join(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            // The server must not outlive a trial that is killed.
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=KILL"]);
            command.arg(file);
            command
        } else {
            Command::new(file)
        };
        let log = self.folder().join("log");
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        command.current_dir(self.folder()).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    /// Starts it again and waits until it takes connections.
    pub async fn resume(&mut self) {
        let is_up = self.resumes().await;
        assert!(is_up, "{}", std::fs::read_to_string(self.folder().join("log")).unwrap_or_default());
    }

    /// The same; returns whether it could.
    pub async fn resumes(&mut self) -> bool {
        for _ in 0..8 {
            if self.server.is_none() {
                let mut server = self.program("postgres");
                server.envs(self.environment.iter().cloned()).arg("-D").arg(self.data());
                self.server = Some(server.spawn().unwrap());
            }
            let mut ask = Command::new(bin().join("pg_isready"));
            ask.args(["--quiet", "--host=127.0.0.1", "--port", &self.port.to_string()]);
            for _ in 0..200 {
                if ask.status().unwrap().success() {
                    return true;
                }
                pause(25).await;
                // Memory that a killed server left is given back a little later.
                if self.server.as_mut().is_some_and(|server| server.try_wait().unwrap().is_some()) {
                    self.server = None;
                    break;
                }
            }
        }
        false
    }

    /// Ends the server and waits for its end.
    pub fn stop(&mut self, how: Stop) {
        let Some(mut server) = self.server.take() else { return };
        let pid = server.id();
        match how {
            Stop::Fast => signal("INT", &[pid]),
            Stop::Immediate => signal("QUIT", &[pid]),
            Stop::Kill => {
                let backends = self.processes(pid);
                signal("KILL", &[&[pid], &*backends].concat());
            }
        }
        server.wait().unwrap();
    }

    /// The processes of the server besides the first.
    pub fn processes(&self, of: u32) -> Vec<u32> {
        let listed = Command::new("ps").args(["-o", "pid=", "--ppid", &of.to_string()]).output().unwrap();
        String::from_utf8_lossy(&listed.stdout)
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect()
    }

    /// Stops or continues every process of the server.
    pub fn freeze(&self, is_frozen: bool) {
        let pid = self.server.as_ref().unwrap().id();
        let all = [&[pid], &*self.processes(pid)].concat();
        signal(if is_frozen { "STOP" } else { "CONT" }, &all);
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        succeed(self.program("pg_ctl").args(["promote", "--wait", "-D"]).arg(self.data()));
    }

    /// Says something to the server as its administrator; returns what it answers.
    pub fn say(&self, text: &str) -> String {
        let mut psql = Command::new(bin().join("psql"));
        psql.args(["-XAtq", "-h", "127.0.0.1", "-U", "postgres", "-p", &self.port.to_string(), "-c", text]);
        // Also while everybody else may only read.
        let output = psql.env("PGOPTIONS", "-c default_transaction_read_only=off").output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.freeze(false);
        }
        self.stop(Stop::Kill);
    }
}

/// Sends a signal to processes; those that are gone already do not matter.
pub fn signal(name: &str, pids: &[u32]) {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).args(pids.iter().map(u32::to_string)).stderr(Stdio::null());
    kill.status().unwrap();
}

pub fn succeed(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

pub fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.starts_with(b"0\n")
}

/// Where the server's programs are; Debian has them beside the PATH.
pub fn bin() -> PathBuf {
    let usual = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = usual.map(|entry| entry.path().join("bin")).filter(|bin| bin.join("initdb").is_file()).max();
    newest.unwrap_or_else(|| {
        let asked = Command::new("pg_config").arg("--bindir").output().expect("no PostgreSQL here");
        PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim())
    })
}
