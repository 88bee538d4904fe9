//! A PgBouncer of a test's own, in transaction mode, before the server of the tests.

use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    str::FromStr,
    time::Duration,
};

use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use crate::postgres::POSTGRES_VARIABLE;

/// A running pooler; it ends with this value.
pub struct PgBouncer {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl PgBouncer {
    /// One that shares so many sessions of each database among its clients.
    ///
    /// # Panics
    /// When there is no PgBouncer, or it does not start.
    pub async fn start(sessions: u32) -> Self {
        Self::start_ignoring(sessions, "").await
    }

    /// The same, which drops these settings of a session without a word.
    ///
    /// # Panics
    /// When there is no PgBouncer, or it does not start.
    pub async fn start_ignoring(sessions: u32, ignored: &str) -> Self {
        let server =
            std::env::var(POSTGRES_VARIABLE).unwrap_or_else(|_| panic!("{POSTGRES_VARIABLE} is not set"));
        let server = PgConnectOptions::from_str(&server).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let port = free_port();
        let config = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port={} user={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = {sessions}\n\
             max_client_conn = 200\nignore_startup_parameters = {ignored}\n",
            server.get_host(),
            server.get_port(),
            server.get_username(),
        );
        std::fs::write(&config, text).unwrap_or_else(|error| panic!("{error}"));
        open_to_all(folder.path());
        let mut command = Command::new(program());
        // It refuses to run as root.
        if is_root() {
            command.args(["-u", "nobody"]);
        }
        let child = command.arg("-q").arg(&config).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("PgBouncer does not start: {error}"));
        let this = Self { child, port, _folder: folder };
        let listens = async {
            while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), listens).await;
        waited.unwrap_or_else(|_| panic!("PgBouncer does not listen"));
        this
    }

    /// The address of a database of the tests' server, through the pooler.
    ///
    /// # Panics
    /// When the address is none.
    pub fn url_of(&self, direct: &str) -> String {
        let name = PgConnectOptions::from_str(direct).unwrap_or_else(|error| panic!("{error}"));
        format!("postgres://anybody@127.0.0.1:{}/{}", self.port, name.get_database().unwrap_or_default())
    }

    /// How somebody else connects to it, with nothing that a pooler refuses.
    ///
    /// # Panics
    /// When the address is none.
    pub fn plain(&self, direct: &str) -> PgConnectOptions {
        let options =
            PgConnectOptions::from_str(&self.url_of(direct)).unwrap_or_else(|error| panic!("{error}"));
        options.extra_float_digits(None)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.unwrap_or_else(|error| panic!("no port: {error}")).port()
}

/// On the PATH, or where Debian keeps the programs of administrators.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut files = folders.map(|folder| folder.join("pgbouncer"));
    files
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("there is no pgbouncer: `cargo xtask test` installs it"))
}

#[cfg(unix)]
fn open_to_all(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let opened = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755));
    opened.unwrap_or_else(|error| panic!("{error}"));
}

#[cfg(not(unix))]
fn open_to_all(_folder: &std::path::Path) {}

#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}
