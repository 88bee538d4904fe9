//! What the program prints: logs to standard error, results to standard output.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Starts logging; `PUNCTUAL_LOG` filters as `RUST_LOG` does, and `info` is the default.
pub fn start_logging(format: LogFormat) {
    let mut filter = EnvFilter::try_from_env("PUNCTUAL_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    // The client of RabbitMQ writes whole messages that came back; what people answered has no place in a log.
    if let Ok(quiet) = "lapin=error".parse() {
        filter = filter.add_directive(quiet);
    }
    // That of NATS names every connection without saying whose it is; consumers and channels say it themselves.
    if let Ok(quiet) = "async_nats=warn".parse() {
        filter = filter.add_directive(quiet);
    }
    // Colours are for people at a terminal; in a file or a collector they are noise.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
