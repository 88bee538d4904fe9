//! The two formats of figures: OpenMetrics, which the encoder writes, and the text format of Prometheus, made from it. They
//! differ in how counters are described and in the line at the end.

use std::collections::HashMap;
use std::fmt::Write;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The media type and the text for whoever sends these values of `Accept`. Whoever can read OpenMetrics says so by name, and does
/// not like the other better; `*/*` and nothing at all get what every scraper reads.
pub fn answer<'a>(open_metrics: String, accept: impl IntoIterator<Item = &'a str>) -> (&'static str, String) {
    let accepted = accept.into_iter().flat_map(|value| value.split(',')).map(liked);
    let (mut open, mut text) = (0.0_f32, 0.0_f32);
    for (kind, weight) in accepted {
        match kind.as_str() {
            "application/openmetrics-text" => open = open.max(weight),
            "text/plain" | "text/*" | "*/*" => text = text.max(weight),
            _ => {}
        }
    }
    let wants_open = open > 0.0 && open >= text;
    if wants_open { (OPEN_METRICS, open_metrics) } else { (PROMETHEUS, prometheus(&open_metrics)) }
}

/// A media type of `Accept` and how much it is liked, 1 unless its `q` says less.
fn liked(one: &str) -> (String, f32) {
    let mut parts = one.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    (kind, weight.and_then(|weight| weight.parse().ok()).unwrap_or(1.0))
}

/// The same samples. A counter is described under the name that its samples have, and types that Prometheus does not have
/// become the nearest that it has.
fn prometheus(open_metrics: &str) -> String {
    let kinds: HashMap<&str, &str> =
        open_metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let shown = |name: &str| match kinds.get(name) {
        Some(&"counter") => format!("{name}_total"),
        Some(&"info") => format!("{name}_info"),
        _ => name.to_owned(),
    };
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        // Writing to a String cannot fail.
        let _ = if let Some((name, kind)) = described(line, "# TYPE ") {
            let kind = match kind {
                "info" | "stateset" => "gauge",
                "unknown" => "untyped",
                "gaugehistogram" => "histogram",
                other => other,
            };
            writeln!(text, "# TYPE {} {kind}", shown(name))
        } else if let Some((name, help)) = described(line, "# HELP ") {
            writeln!(text, "# HELP {} {help}", shown(name))
        } else if line == "# EOF" || line.starts_with("# UNIT ") {
            Ok(())
        } else {
            writeln!(text, "{line}")
        };
    }
    text
}

fn described<'l>(line: &'l str, word: &str) -> Option<(&'l str, &'l str)> {
    line.strip_prefix(word)?.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_the_one_that_is_liked_better() {
        let is_open = |accept: &str| answer("# EOF\n".into(), [accept]).0 == OPEN_METRICS;
        for accept in [
            "application/openmetrics-text",
            "Application/OpenMetrics-Text; version=1.0.0, */*",
            // As Prometheus asks.
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
        ] {
            assert!(is_open(accept), "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/plain",
            "application/json",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text; q=0.000, text/html",
            "text/plain;version=0.0.4, application/openmetrics-text;q=0.1",
        ] {
            assert!(!is_open(accept), "{accept}");
        }
    }

    #[test]
    fn counters_are_described_by_the_name_of_their_samples() {
        let open = "# HELP a_sent Messages.\n# TYPE a_sent counter\na_sent_total{channel=\"x\"} 3\n\
                    # HELP b Depth.\n# TYPE b gauge\nb 1\n\
                    # HELP c_seconds Time.\n# TYPE c_seconds histogram\n# UNIT c_seconds seconds\n\
                    c_seconds_sum 0.5\nc_seconds_count 1\nc_seconds_bucket{le=\"+Inf\"} 1\n\
                    # HELP d Build.\n# TYPE d info\nd_info{version=\"1\"} 1\n# EOF\n";
        let expected = "# HELP a_sent_total Messages.\n# TYPE a_sent_total counter\na_sent_total{channel=\"x\"} 3\n\
                    # HELP b Depth.\n# TYPE b gauge\nb 1\n\
                    # HELP c_seconds Time.\n# TYPE c_seconds histogram\n\
                    c_seconds_sum 0.5\nc_seconds_count 1\nc_seconds_bucket{le=\"+Inf\"} 1\n\
                    # HELP d_info Build.\n# TYPE d_info gauge\nd_info{version=\"1\"} 1\n";
        assert_eq!(prometheus(open), expected);
    }
}
