//! A `punctual serve` process on its own data folder and database, that can be killed and started again.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use punctual_testkit::postgres::TestDatabase;
use serde_json::Value;
use tempfile::TempDir;

pub const KEY: &str = "a-key-for-this-test-only";

/// Where a server keeps its rows.
pub enum Database {
    Sqlite,
    Postgres(Box<TestDatabase>),
}

/// A data folder and a database that outlive the processes started on them.
pub struct Place {
    folder: TempDir,
    database: Database,
    /// Variables that its servers find in their environment.
    pub environment: Vec<(String, String)>,
    /// Where its servers keep their files, where that is not a folder of its own.
    pub data: Option<PathBuf>,
    /// The command that runs its servers, such as one that changes into a namespace.
    pub wrapper: Vec<String>,
    /// The address that its servers listen on.
    pub listen: String,
    /// The program that its servers run.
    pub binary: PathBuf,
}

impl Place {
    pub fn sqlite() -> Self {
        Self::on(Database::Sqlite)
    }

    pub async fn postgres() -> Self {
        Self::on(Database::Postgres(Box::new(TestDatabase::empty().await)))
    }

    fn on(database: Database) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            database,
            environment: Vec::new(),
            data: None,
            wrapper: Vec::new(),
            listen: "127.0.0.1:0".into(),
            binary: binary(),
        }
    }

    pub fn folder(&self) -> &Path {
        self.data.as_deref().unwrap_or(self.folder.path())
    }

    /// Starts a server that reaches its database at this address.
    pub fn start_on(&self, database_url: &str) -> Server {
        self.try_start_on(database_url, &[]).expect("the server ended before it listened")
    }

    /// The same with more arguments; `None` if it ended before it listened.
    pub fn try_start_on(&self, database_url: &str, more: &[&str]) -> Option<Server> {
        let mut command = self.command_on(Some(database_url), more);
        command.stderr(Stdio::inherit());
        Self::listening(command)
    }

    fn url(&self) -> Option<&str> {
        match &self.database {
            Database::Sqlite => None,
            Database::Postgres(database) => Some(database.url()),
        }
    }

    fn command(&self, more: &[&str]) -> Command {
        self.command_on(self.url(), more)
    }

    /// Starts `punctual demo`: a sandbox with samples of everything and a clock that flows.
    pub fn start_demo(&self) -> Server {
        let mut command = self.command_as("demo", self.url(), &[]);
        command.stderr(Stdio::inherit());
        Self::listening(command).expect("the server ended before it listened")
    }

    fn command_on(&self, database_url: Option<&str>, more: &[&str]) -> Command {
        self.command_as("serve", database_url, more)
    }

    fn command_as(&self, subcommand: &str, database_url: Option<&str>, more: &[&str]) -> Command {
        let mut words = self.wrapper.iter().map(Into::into).chain([self.binary.clone().into_os_string()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args([subcommand, "--listen", &self.listen]);
        command.args(["--admin-key", KEY, "--sweep-every", "1s"]);
        command.env("PUNCTUAL_LEASE", "3s");
        command.arg("--data-dir").arg(self.folder());
        command.args(["--outgoing-allow", "127.0.0.0/8,10.0.0.0/8"]);
        if let Some(url) = database_url {
            command.args(["--database-url", url]);
        }
        command
            .args(more)
            .env_remove("PUNCTUAL_CONFIG")
            // A trial makes thousands of errors on purpose; one at full scale says nothing of them.
            .env("PUNCTUAL_LOG", punctual_testkit::rig::log_level())
            .envs(self.environment.iter().cloned())
            .current_dir(self.folder());
        command
    }

    /// Starts a server and waits until it listens.
    pub fn start(&self, more: &[&str]) -> Server {
        self.try_start(more).expect("the server ended before it listened")
    }

    /// Starts a server with another lease than the usual one.
    pub fn start_with_lease(&self, lease: &str) -> Server {
        let mut command = self.command(&[]);
        command.env("PUNCTUAL_LEASE", lease).stderr(Stdio::inherit());
        Self::listening(command).expect("the server ended before it listened")
    }

    /// Starts a server that logs everything it can to a file.
    pub fn start_with_log(&self, more: &[&str], log: &Path) -> Server {
        let mut command = self.command(more);
        command.env("PUNCTUAL_LOG", "trace").stderr(std::fs::File::create(log).unwrap());
        Self::listening(command).expect("the server ended before it listened")
    }

    /// What a server that must not start says.
    pub fn refusal(&self, more: &[&str]) -> String {
        let log = self.folder().join("refusal.log");
        let mut command = self.command(more);
        command.stderr(std::fs::File::create(&log).unwrap());
        assert!(Self::listening(command).is_none(), "it started");
        std::fs::read_to_string(log).unwrap()
    }

    /// The database of this place, for those who look into it while no server has it.
    pub fn database_url(&self) -> String {
        match &self.database {
            Database::Sqlite => format!("sqlite:{}", self.folder().join("punctual.sqlite").display()),
            Database::Postgres(database) => database.url().to_owned(),
        }
    }

    /// Starts a server; `None` if it ended before it listened, as one with an early crash point does.
    pub fn try_start(&self, more: &[&str]) -> Option<Server> {
        let mut command = self.command(more);
        command.stderr(Stdio::inherit());
        Self::listening(command)
    }

    fn listening(mut command: Command) -> Option<Server> {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next();
        // Read on, so that the process never stops at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        match first {
            Some(Ok(line)) => {
                let address =
                    line.strip_prefix("Punctual listens on ").expect("the first line names the address");
                Some(Server { child, address: address.to_owned(), client: client() })
            }
            _ => {
                child.wait().unwrap();
                None
            }
        }
    }
}

pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_punctual"))
}

/// One for all: making one reads the machine's certificates.
pub fn client() -> reqwest::Client {
    static CLIENT: std::sync::OnceLock<reqwest::Client> = std::sync::OnceLock::new();
    CLIENT.get_or_init(make_client).clone()
}

fn make_client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().unwrap()
}

pub struct Server {
    pub child: Child,
    pub address: String,
    pub client: reqwest::Client,
}

impl Server {
    /// SIGKILL: no destructor, no last words.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Waits until the process has ended by itself, as one with a crash point does when it is passed.
    #[expect(clippy::disallowed_methods, reason = "a real process on real time; there is no clock to set")]
    pub async fn until_ended(mut self, point: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "{point} was never passed");
            // tidy-allow: a real process on real time
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn put(&self, path: &str, body: &Value) -> Value {
        let request = self.client.put(format!("{}{path}", self.address)).bearer_auth(KEY).json(body);
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "PUT {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Posts; `None` when the server died before it answered.
    pub async fn post(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        let request = self.client.post(format!("{}{path}", self.address)).bearer_auth(KEY).json(body);
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        Some((status, response.json().await.ok()?))
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        let response =
            self.client.get(format!("{}{path}", self.address)).bearer_auth(KEY).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap())
    }

    /// Asks again and again until the answer is there, or fails after two minutes: a busy machine is slow.
    #[expect(clippy::disallowed_methods, reason = "a real process on real time; there is no clock to set")]
    pub async fn until<T>(&self, what: &str, mut ask: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            if let Some(answer) = ask(self).await {
                return answer;
            }
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            // tidy-allow: a real process on real time
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
