//! A cluster that Patroni and etcd manage: the machine of the primary dies, and the standby is promoted without anybody's doing.
//!
//! PostgreSQL alone, and only where Patroni and etcd are installed: `apt-get install patroni etcd-server`.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use punctual_testkit::{
    history::stored::Stored,
    rig::{Outcome, Rig, Round},
};
use tempfile::TempDir;

use super::{
    cluster::{bin, succeed},
    needs_root,
    scene::{Scene, now, pause},
};
use crate::server::Place;

/// Patroni gives a primary that does not renew its key this long, and takes no less.
const PROMOTED_WITHIN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_failover_r22_patroni_promotes_a_standby_that_has_everything_acknowledged() {
    // Every test run promotes a standby by hand; waiting for Patroni takes half a minute each time.
    let mut rig = Rig::new("failover", "patroni", 0, 50);
    if needs_root() || !Path::new("/usr/bin/patroni").exists() || !Path::new("/usr/bin/etcd").exists() {
        eprintln!("not tried: this trial needs Patroni and etcd");
        return;
    }
    while let Some(round) = rig.next_round() {
        rig.judged(round, &machines_die(round).await);
    }
}

async fn machines_die(round: Round) -> Outcome {
    let mut cluster = Patroni::start().await;
    let place = Place::sqlite();
    let server = place.try_start_on(&cluster.url(), &[]).unwrap();
    let mut scene =
        Scene::open(&server, Stored::at(cluster.primary().url()), Duration::from_millis(20)).await;
    scene.recovered(now()).await;
    while scene.faults() < round.left.min(5) {
        let dead = cluster.primary().name;
        cluster.kill_primary();
        scene.injected("failover by Patroni");
        cluster.until_promoted().await;
        assert_ne!(cluster.primary().name, dead, "nothing had died");
        scene.moved(Stored::at(cluster.primary().url()));
        scene.recovered(now()).await;
        cluster.repair().await;
    }
    scene.judge().await
}

struct Patroni {
    folder: TempDir,
    etcd: u16,
    nodes: [Machine; 2],
    primary: usize,
    /// Ended last.
    _etcd: Machine,
}

/// All processes of one machine, in a namespace of their own: they die together, and with this value.
struct Machine {
    name: &'static str,
    port: u16,
    rest: u16,
    processes: Option<Child>,
}

impl Machine {
    fn new(name: &'static str) -> Self {
        Self { name, port: free_port(), rest: free_port(), processes: None }
    }

    fn run(&mut self, folder: &Path, program: &str, arguments: &[&str]) {
        let log = folder.join(format!("{}.log", self.name));
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig=KILL", "unshare", "--fork", "--pid", "--mount-proc"]);
        // A change of the user takes back what ends the first process of the namespace with its parent.
        command.args([
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
            "--pdeathsig=KILL",
        ]);
        command.arg(program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.processes = Some(command.spawn().unwrap());
    }

    fn kill(&mut self) {
        if let Some(mut processes) = self.processes.take() {
            let _ = processes.kill();
            processes.wait().unwrap();
        }
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Whether Patroni says this of the machine.
    fn is(&self, role: &str) -> bool {
        let url = format!("http://127.0.0.1:{}/{role}", self.rest);
        let mut ask = Command::new("curl");
        ask.args(["--silent", "--fail", "--max-time", "2", "--output", "/dev/null", &url]);
        ask.status().unwrap().success()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Patroni {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        succeed(Command::new("chown").arg("postgres").arg(folder.path()));
        let (mut etcd, peers) = (Machine::new("etcd"), free_port());
        let (clients, peers) =
            (format!("http://127.0.0.1:{}", etcd.port), format!("http://127.0.0.1:{peers}"));
        let cluster = format!("default={peers}");
        etcd.run(
            folder.path(),
            "/usr/bin/etcd",
            &[
                "--data-dir=etcd",
                &format!("--listen-client-urls={clients}"),
                &format!("--advertise-client-urls={clients}"),
                &format!("--listen-peer-urls={peers}"),
                &format!("--initial-advertise-peer-urls={peers}"),
                &format!("--initial-cluster={cluster}"),
            ],
        );
        let nodes = [Machine::new("one"), Machine::new("two")];
        let mut patroni = Self { folder, etcd: etcd.port, nodes, primary: 0, _etcd: etcd };
        patroni.boot(0);
        patroni.until_promoted().await;
        patroni.boot(1);
        patroni.until_synchronous().await;
        patroni
    }

    fn boot(&mut self, place: usize) {
        let Self { folder, etcd, nodes, .. } = self;
        let Machine { name, port, rest, .. } = &nodes[place];
        let (below, programs) = (folder.path().display(), bin());
        let settings = format!(
            "scope: punctual\nname: {name}\n\
             restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}\n\
             etcd3: {{host: '127.0.0.1:{etcd}'}}\n\
             bootstrap:\n  \
               dcs:\n    \
                 ttl: 20\n    loop_wait: 1\n    retry_timeout: 5\n    synchronous_mode: true\n    \
                 postgresql: {{use_pg_rewind: true, parameters: {{wal_log_hints: 'on', max_connections: 100}}}}\n  \
               initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}]\n  \
               pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']\n\
             postgresql:\n  \
               listen: '127.0.0.1:{port}'\n  connect_address: '127.0.0.1:{port}'\n  \
               data_dir: '{below}/{name}'\n  bin_dir: '{programs}'\n  pgpass: '{below}/{name}.pass'\n  \
               parameters: {{unix_socket_directories: '{below}', shared_buffers: 32MB}}\n  \
               authentication:\n    \
                 superuser: {{username: postgres, password: none}}\n    \
                 replication: {{username: replicator, password: none}}\n    \
                 rewind: {{username: postgres, password: none}}\n",
            programs = programs.display(),
        );
        let file = self.folder.path().join(format!("{name}.yaml"));
        std::fs::write(&file, settings).unwrap();
        let folder = self.folder.path().to_owned();
        self.nodes[place].run(&folder, "/usr/bin/patroni", &[file.to_str().unwrap()]);
    }

    fn url(&self) -> String {
        let [one, two] = &self.nodes;
        format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", one.port, two.port)
    }

    fn primary(&self) -> &Machine {
        &self.nodes[self.primary]
    }

    fn kill_primary(&mut self) {
        self.nodes[self.primary].kill();
    }

    /// Waits until Patroni has made one of them the primary.
    async fn until_promoted(&mut self) {
        let ends = now() + PROMOTED_WITHIN;
        loop {
            if let Some(place) = (0..2).find(|place| self.nodes[*place].is("primary")) {
                self.primary = place;
                return;
            }
            assert!(now() < ends, "nobody was promoted\n{}", self.logs());
            pause(50).await;
        }
    }

    /// Starts the machine again that died, and waits until commits wait for it.
    async fn repair(&mut self) {
        self.boot(1 - self.primary);
        self.until_synchronous().await;
    }

    async fn until_synchronous(&self) {
        let ends = now() + PROMOTED_WITHIN;
        while !self.nodes[1 - self.primary].is("synchronous") {
            assert!(now() < ends, "the standby does not follow\n{}", self.logs());
            pause(100).await;
        }
    }

    fn logs(&self) -> String {
        let logs = ["etcd", "one", "two"].map(|name| {
            let text =
                std::fs::read_to_string(self.folder.path().join(format!("{name}.log"))).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{name}:\n{}", lines[lines.len().saturating_sub(20)..].join("\n"))
        });
        logs.join("\n")
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).unwrap().port()
}
