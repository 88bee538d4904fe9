//! What tests log: kept as JSON lines for the whole process, so that the end of each test can look for its warnings.

use std::{
    io::Write,
    sync::{Mutex, OnceLock, PoisonError},
};

use serde_json::Value;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// The lines of this process. A runner that has several tests in one process mixes them; ids tell them apart.
static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// Changes what is kept; nothing where another subscriber was first.
static FILTER: OnceLock<Option<Reload>> = OnceLock::new();

type Reload = Box<dyn Fn(&str) + Send + Sync>;

/// Adds to the lines; also for tests with their own subscriber, which takes the lines of its thread.
pub fn keep(bytes: &[u8]) {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
}

#[derive(Clone, Copy)]
struct Kept;

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        keep(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Kept {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        *self
    }
}

/// Keeps warnings and errors from now on.
pub(crate) fn start() {
    FILTER.get_or_init(|| {
        let lines = tracing_subscriber::fmt().json().with_env_filter(EnvFilter::new("warn"));
        let lines = lines.with_writer(Kept).with_filter_reloading();
        let handle = lines.reload_handle();
        tracing::subscriber::set_global_default(lines.finish()).ok()?;
        let reload: Reload = Box::new(move |filter| {
            let reloaded = handle.reload(EnvFilter::new(filter));
            reloaded.unwrap_or_else(|error| panic!("{error}"));
        });
        Some(reload)
    });
}

/// Keeps more, such as `debug,punctual=trace`, for the rest of the process.
///
/// # Panics
/// Where something else takes the log of this process.
pub fn widen(filter: &str) {
    start();
    let Some(Some(reload)) = FILTER.get() else { panic!("another subscriber has the log of this process") };
    reload(filter);
}

/// All lines so far.
pub fn text() -> String {
    String::from_utf8_lossy(&LINES.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

/// The fields of all warnings so far, the message among them.
pub fn warnings() -> Vec<Value> {
    let is_warning = |line: &Value| line["level"] == "WARN";
    let lines = text();
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(is_warning).map(|mut line| line["fields"].take()).collect()
}
