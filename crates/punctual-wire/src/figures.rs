//! The two formats of figures: OpenMetrics, which the encoder writes, and the text format of Prometheus, made from it. They
//! differ in how counters are described and in the line at the end.

use std::collections::HashMap;
use std::fmt::Write;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The media type and the text for whoever sends these values of `Accept`. Whoever can read OpenMetrics says so by name;
/// `*/*` and nothing at all get what every scraper reads.
pub fn answer<'a>(open_metrics: String, accept: impl IntoIterator<Item = &'a str>) -> (&'static str, String) {
    let mut accepted = accept.into_iter().flat_map(|value| value.split(','));
    let wants_open = accepted.any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_it =
            parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
        is_it && !parts.any(|part| part == "q=0" || part == "q=0.0")
    });
    if wants_open { (OPEN_METRICS, open_metrics) } else { (PROMETHEUS, prometheus(&open_metrics)) }
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
