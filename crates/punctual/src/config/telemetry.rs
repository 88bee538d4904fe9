//! `[telemetry]`: where traces go. Off unless an endpoint is named.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::ServeArgs;

/// Where spans of traces are taken, below the endpoint for all kinds of telemetry.
const TRACES_PATH: &str = "/v1/traces";

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct TelemetryFile {
    otlp_endpoint: Option<String>,
    trace_ratio: Option<f64>,
}

/// A collector that takes traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceConfig {
    /// The whole address that spans are posted to.
    pub url: String,
    /// The share of the traces that begin here and are recorded.
    pub ratio: f64,
}

pub fn read(args: &ServeArgs, file: Option<TelemetryFile>) -> Result<Option<TraceConfig>> {
    let file = file.unwrap_or_default();
    let ratio = args.trace_ratio.or(file.trace_ratio).unwrap_or(1.0);
    ensure!((0.0..=1.0).contains(&ratio), "telemetry.trace_ratio = {ratio} must be between 0 and 1");
    let given = |url: &Option<String>| url.clone().filter(|url| !url.is_empty());
    let below = |url: String| format!("{}{TRACES_PATH}", url.trim_end_matches('/'));
    let endpoint = given(&args.otlp_endpoint).or(given(&file.otlp_endpoint));
    let Some(url) = given(&args.otlp_traces_endpoint).or(endpoint.map(below)) else { return Ok(None) };
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    ensure!(
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(' ')),
        "telemetry.otlp_endpoint ({url}) must be an address such as http://127.0.0.1:4318"
    );
    Ok(Some(TraceConfig { url, ratio }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn telemetry(text: &str, args: ServeArgs) -> Result<Option<TraceConfig>> {
        read(&args, Some(toml::from_str(text)?))
    }

    #[test]
    fn traces_are_off_until_there_is_an_endpoint() {
        assert_eq!(telemetry("", ServeArgs::default()).unwrap(), None);
        let empty = ServeArgs { otlp_endpoint: Some(String::new()), ..Default::default() };
        assert_eq!(telemetry("", empty).unwrap(), None, "as a variable that is set to nothing");
        let found = telemetry("otlp_endpoint = \"http://c:4318/\"\ntrace_ratio = 0.1", ServeArgs::default());
        let expected = TraceConfig { url: "http://c:4318/v1/traces".into(), ratio: 0.1 };
        assert_eq!(found.unwrap(), Some(expected));
    }

    #[test]
    fn the_address_for_traces_alone_is_taken_as_it_is() {
        let args = ServeArgs {
            otlp_endpoint: Some("http://all:4318".into()),
            otlp_traces_endpoint: Some("https://traces/take".into()),
            ..Default::default()
        };
        let found = telemetry("otlp_endpoint = \"http://file:4318\"", args).unwrap().unwrap();
        assert_eq!((found.url.as_str(), found.ratio), ("https://traces/take", 1.0));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (text, named) in [
            ("trace_ratio = 1.5", "telemetry.trace_ratio = 1.5"),
            ("otlp_endpoint = \"collector:4317\"", "telemetry.otlp_endpoint (collector:4317"),
            ("endpoint = \"x\"", "endpoint"),
        ] {
            let said = format!("{:#}", telemetry(text, ServeArgs::default()).unwrap_err());
            assert!(said.contains(named), "{text}: {said}");
        }
    }
}
