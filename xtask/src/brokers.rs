//! Message brokers to throw away: NATS with JetStream, NATS behind TLS, and RabbitMQ with AMQP 1.0, each on a port and in their
//! own folder.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::keeper::Keeper;
use crate::postgres::free_port;
use crate::{run, tools};

/// What the tests of the channels read; the users are those of the configurations below.
const NATS: &str = "PUNCTUAL_TEST_NATS";
const NATS_TLS: &str = "PUNCTUAL_TEST_NATS_TLS";
const RABBITMQ: &str = "PUNCTUAL_TEST_RABBITMQ";

/// RabbitMQ starts in about five seconds; a machine that builds beside it takes longer.
const LONGEST_START: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The brokers. Dropping them ends them and removes all they stored.
pub struct Brokers {
    folder: PathBuf,
    ports: [u16; 3],
    servers: Vec<(&'static str, Child)>,
    keeper: Keeper,
}

impl Brokers {
    /// Starts them all, without waiting.
    pub fn launch() -> Result<Self> {
        tools::brokers()?;
        let folder = tempfile::Builder::new().prefix("punctual-brokers-").tempdir()?.keep();
        let keeper = Keeper::watch(&folder)?;
        let ports = [free_port()?, free_port()?, free_port()?];
        let mut brokers = Self { folder, ports, servers: Vec::new(), keeper };
        brokers.start_nats("nats", ports[0], "")?;
        let certificates = run::root().join("crates/punctual-channels/tests/it/tls");
        let tls = format!(
            "tls {{ cert_file: {:?}, key_file: {:?} }}\n",
            certificates.join("server.pem"),
            certificates.join("server.key")
        );
        brokers.start_nats("nats-tls", ports[1], &tls)?;
        brokers.start_rabbitmq(ports[2])?;
        Ok(brokers)
    }

    fn start_nats(&mut self, name: &'static str, port: u16, tls: &str) -> Result<()> {
        let file = self.folder.join(format!("{name}.conf"));
        let store = self.folder.join(name);
        fs::write(
            &file,
            format!("listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {store:?} }}\n{tls}{NATS_USERS}"),
        )?;
        let program = tools::found("nats-server").context("there is no nats-server")?;
        self.start(name, Command::new(program).arg("-c").arg(file))
    }

    fn start_rabbitmq(&mut self, port: u16) -> Result<()> {
        let folder = self.folder.clone();
        let definitions = folder.join("definitions.json");
        fs::write(&definitions, RABBITMQ_DEFINITIONS)?;
        fs::write(folder.join("enabled_plugins"), "[rabbitmq_amqp1_0].\n")?;
        let config = format!(
            "listeners.tcp.1 = 127.0.0.1:{port}\nloopback_users = none\nlog.console = true\nlog.file = false\n\
             load_definitions = {}\n",
            definitions.display()
        );
        fs::write(folder.join("rabbitmq.conf"), config)?;
        // Its nodes find each other through a program that would otherwise stay behind, so it gets one of its own.
        let [names, distribution] = [free_port()?, free_port()?];
        let epmd = tools::found("epmd").context("there is no epmd")?;
        self.start("epmd", Command::new(epmd).args(["-port", &names.to_string(), "-address", "127.0.0.1"]))?;
        let script = tools::rabbitmq().context("there is no rabbitmq-server")?;
        let mut command = Command::new(script);
        command
            .env("HOME", &folder)
            .env("ERL_EPMD_PORT", names.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", format!("punctual-{port}@localhost"))
            .env("RABBITMQ_DIST_PORT", distribution.to_string())
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}")
            .env("RABBITMQ_LOGS", "-")
            // The script is not the server, so the server says itself who it is.
            .env("RABBITMQ_PID_FILE", folder.join("beam.pid"));
        for (variable, name) in [
            ("RABBITMQ_CONFIG_FILE", "rabbitmq.conf"),
            ("RABBITMQ_ADVANCED_CONFIG_FILE", "advanced.config"),
            ("RABBITMQ_CONF_ENV_FILE", "none"),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", "enabled_plugins"),
            ("RABBITMQ_MNESIA_BASE", "mnesia"),
            ("RABBITMQ_LOG_BASE", "log"),
            ("RABBITMQ_GENERATED_CONFIG_DIR", "generated"),
            ("RABBITMQ_FEATURE_FLAGS_FILE", "feature_flags"),
            ("RABBITMQ_QUORUM_DIR", "quorum"),
            ("RABBITMQ_STREAM_DIR", "stream"),
        ] {
            command.env(variable, folder.join(name));
        }
        self.start("rabbitmq", &mut command)
    }

    fn start(&mut self, name: &'static str, command: &mut Command) -> Result<()> {
        let log = File::create(self.log(name))?;
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("could not start `{}`", run::shown(command)))?;
        fs::write(self.folder.join(format!("{name}.pid")), child.id().to_string())?;
        self.servers.push((name, child));
        Ok(())
    }

    /// Waits until all of them take connections.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        let looks = LONGEST_START.as_millis() / BETWEEN_LOOKS.as_millis();
        for _ in 0..looks {
            for (name, child) in &mut self.servers {
                if let Some(status) = child.try_wait()? {
                    let (name, log) = (*name, self.folder.join(format!("{name}.log")));
                    bail!("{name} ended ({status})\n{}", fs::read_to_string(log).unwrap_or_default());
                }
            }
            if self.is_ready() {
                return Ok(());
            }
            pause();
        }
        let said: Vec<String> = self
            .servers
            .iter()
            .map(|(name, _)| fs::read_to_string(self.log(name)).unwrap_or_default())
            .collect();
        bail!("the brokers did not start in time\n{}", said.concat());
    }

    fn is_ready(&self) -> bool {
        let [nats, nats_tls, _] = self.ports;
        let answers = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok();
        // RabbitMQ listens before it has read its users.
        let rabbitmq = fs::read_to_string(self.log("rabbitmq")).unwrap_or_default();
        answers(nats) && answers(nats_tls) && rabbitmq.contains("Server startup complete")
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Where they are, for the tests.
    pub fn variables(&self) -> [(&'static str, String); 3] {
        let [nats, nats_tls, rabbitmq] = self.ports;
        [
            (NATS, format!("nats://127.0.0.1:{nats}")),
            (NATS_TLS, format!("tls://localhost:{nats_tls}")),
            (RABBITMQ, format!("amqp://127.0.0.1:{rabbitmq}")),
        ]
    }

    pub fn keeper(&mut self) -> &mut Keeper {
        &mut self.keeper
    }
}

/// Starts them, says where they are and waits to be interrupted.
pub fn serve() -> Result<u8> {
    let mut brokers = Brokers::launch()?;
    brokers.wait_until_ready()?;
    for (variable, url) in brokers.variables() {
        println!("export {variable}={url}");
    }
    eprintln!("ctrl-c stops them and removes what they stored");
    loop {
        std::thread::park();
    }
}

#[expect(clippy::disallowed_methods, reason = "no signal says when another program is ready")]
fn pause() {
    std::thread::sleep(BETWEEN_LOOKS);
}

/// `punctual` may do everything, `narrow` may publish elsewhere only, and the last one signs in with a key.
const NATS_USERS: &str = r#"
authorization {
  users: [
    { user: punctual, password: "nats-secret" }
    { user: narrow, password: "narrow-secret", permissions: { publish: "elsewhere.>", subscribe: "_INBOX.>" } }
    { nkey: UDNHT6ZDKQ2ZQ3TBJFCXATWXF6YDK5FEXDRSAIIVDFVERD6AZCK6B6WT }
  ]
}
"#;

/// `punctual` may do everything in both virtual hosts, `narrow` may write to nothing that is there.
const RABBITMQ_DEFINITIONS: &str = r#"{
  "vhosts": [{"name": "/"}, {"name": "orders"}],
  "users": [
    {"name": "punctual", "password": "rabbit-secret", "tags": ""},
    {"name": "narrow", "password": "narrow-secret", "tags": ""}
  ],
  "permissions": [
    {"user": "punctual", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"},
    {"user": "punctual", "vhost": "orders", "configure": ".*", "write": ".*", "read": ".*"},
    {"user": "narrow", "vhost": "/", "configure": "", "write": "^allowed$", "read": ""}
  ]
}
"#;
