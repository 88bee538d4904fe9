//! Charts as SVG, made here: shapes only, with the axes as text around them, so that they stretch without distorting
//! a letter. Colours come from classes.

use std::fmt::Write;

use crate::{
    figures::{INTERVAL, Interval},
    times::{Zone, rough},
    words::grouped,
};

/// A chart ready for its template: trusted markup and the texts of its axes.
pub struct Chart {
    pub svg: String,
    /// From the top down.
    pub y_labels: Vec<String>,
    /// From left to right.
    pub x_labels: Vec<String>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 160.0;

/// How notifications ended, stacked, one bar an interval.
pub fn outcomes(intervals: &[Interval], zone: &Zone) -> Chart {
    let top = nice(intervals.iter().map(Interval::total).max().unwrap_or(0));
    let mut svg = open("Notifications that ended, by outcome");
    grid(&mut svg, &[0.0, 0.5]);
    let step = WIDTH / intervals.len().max(1) as f64;
    for (n, interval) in intervals.iter().enumerate() {
        let x = step * n as f64 + step * 0.14;
        let title = format!(
            "{}: {} delivered, {} parked, {} set aside",
            span(interval, zone),
            grouped(interval.delivered),
            grouped(interval.parked),
            grouped(interval.set_aside)
        );
        let _ = write!(svg, "<g><title>{title}</title>");
        // An empty interval still has something to point at.
        let _ = write!(
            svg,
            "<rect class=\"hit\" x=\"{:.1}\" y=\"0\" width=\"{step:.1}\" height=\"{HEIGHT}\"/>",
            step * n as f64
        );
        let mut below = HEIGHT;
        for (count, class) in
            [(interval.delivered, "good"), (interval.set_aside, "aside"), (interval.parked, "bad")]
        {
            if count == 0 {
                continue;
            }
            // Even one parked among thousands is seen.
            let height = (HEIGHT * count as f64 / top as f64).max(2.0);
            below -= height;
            let _ = write!(
                svg,
                "<rect class=\"seg {class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
                below.max(0.0),
                step * 0.72
            );
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    let y_labels = vec![grouped(top), grouped(top / 2), "0".to_owned()];
    Chart {
        svg,
        y_labels: if top < 2 { vec![grouped(top), String::new(), "0".to_owned()] } else { y_labels },
        x_labels: hours(intervals, zone),
    }
}

/// Lateness on a scale of powers of ten: the middle, and what 95 and 99 of a hundred stay below.
pub fn lateness(intervals: &[Interval], zone: &Zone) -> Chart {
    // Decades in microseconds: 1 ms to 1,000 s at least, further where something was later.
    let worst = intervals.iter().filter_map(|i| i.late).map(|late| late[2]).max().unwrap_or(0);
    let mut decades = 3;
    while 1_000_i64.saturating_mul(10_i64.saturating_pow(decades)) < worst && decades < 9 {
        decades += 1;
    }
    let y = |late: i64| {
        let power = (late.max(1_000) as f64 / 1_000.0).log10();
        HEIGHT - HEIGHT * (power / f64::from(decades)).min(1.0)
    };
    let mut svg = open("How late notifications were delivered");
    let lines: Vec<f64> = (0..decades).map(|n| f64::from(n) / f64::from(decades)).collect();
    grid(&mut svg, &lines);
    let step = WIDTH / intervals.len().max(1) as f64;
    for (place, class) in [(2, "p99"), (1, "p95"), (0, "p50")] {
        let points = intervals
            .iter()
            .enumerate()
            .map(|(n, interval)| interval.late.map(|late| (step * (n as f64 + 0.5), y(late[place]))));
        paths(&mut svg, points, class);
    }
    for (n, interval) in intervals.iter().enumerate() {
        let said = interval.late.map_or("nothing delivered".to_owned(), |[p50, p95, p99]| {
            format!("half within {}, 95 % within {}, 99 % within {}", rough(p50), rough(p95), rough(p99))
        });
        let _ = write!(
            svg,
            "<g><title>{}: {said}</title><rect class=\"hit\" x=\"{:.1}\" y=\"0\" width=\"{step:.1}\" height=\"{HEIGHT}\"/></g>",
            span(interval, zone),
            step * n as f64
        );
    }
    svg.push_str("</svg>");
    let y_labels = (0..=decades).rev().map(|n| rough(1_000 * 10_i64.saturating_pow(n))).collect();
    Chart { svg, y_labels, x_labels: hours(intervals, zone) }
}

/// A line with gaps where there is nothing; a point alone becomes a short stroke.
fn paths(svg: &mut String, points: impl Iterator<Item = Option<(f64, f64)>>, class: &str) {
    let mut path = String::new();
    let mut pen_down = false;
    for point in points {
        match point {
            Some((x, y)) if pen_down => {
                let _ = write!(path, "L{x:.1} {y:.1}");
            }
            Some((x, y)) => {
                let _ = write!(path, "M{:.1} {y:.1}L{x:.1} {y:.1}", x - 6.0);
                pen_down = true;
            }
            None => pen_down = false,
        }
    }
    let _ = write!(svg, "<path class=\"line {class}\" d=\"{path}\"/>");
}

/// A small line without axes.
pub fn sparkline(values: &[i64]) -> String {
    let top = values.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = 100.0 / (values.len().max(2) - 1) as f64;
    let mut path = String::new();
    for (n, value) in values.iter().enumerate() {
        let letter = if n == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{:.1} {:.1}", step * n as f64, 22.0 - 20.0 * *value as f64 / top);
    }
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 100 24\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"line\" d=\"{path}\"/></svg>"
    )
}

fn open(label: &str) -> String {
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">"
    )
}

fn grid(svg: &mut String, shares: &[f64]) {
    for share in shares.iter().chain([&1.0]) {
        let y = HEIGHT * share;
        let _ = write!(svg, "<line class=\"rule\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
}

fn span(interval: &Interval, zone: &Zone) -> String {
    format!("{}–{}", zone.clock(interval.start), zone.clock(interval.start + INTERVAL))
}

/// Five instants, evenly apart, the last one the end.
fn hours(intervals: &[Interval], zone: &Zone) -> Vec<String> {
    let Some(last) = intervals.last() else { return Vec::new() };
    let quarter = (intervals.len() / 4).max(1);
    let starts = intervals.iter().step_by(quarter).take(4).map(|interval| zone.clock(interval.start));
    starts.chain([zone.clock(last.start + INTERVAL)]).collect()
}

/// The next number of the form 1, 2, 5, 10, 20, … that is at least this.
fn nice(value: i64) -> i64 {
    let mut decade = 1_i64;
    loop {
        for step in [1, 2, 4, 5] {
            if let Some(top) = decade.checked_mul(step).filter(|top| *top >= value) {
                return top;
            }
        }
        match decade.checked_mul(10) {
            Some(next) => decade = next,
            None => return i64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!([0, 1, 3, 7, 41, 99, 450].map(nice), [1, 1, 4, 10, 50, 100, 500]);
        assert_eq!(nice(i64::MAX), i64::MAX);
    }

    #[test]
    fn a_chart_has_nothing_that_a_strict_policy_refuses() {
        let intervals: Vec<Interval> = (0..4)
            .map(|n| Interval {
                delivered: n,
                parked: 1,
                late: Some([1_000, 2_000, 9_000_000]),
                ..Interval::default()
            })
            .collect();
        let zone = Zone::named(None);
        for chart in [outcomes(&intervals, &zone), lateness(&intervals, &zone)] {
            assert!(!chart.svg.contains("style=") && !chart.svg.contains("NaN"), "{}", chart.svg);
            assert_eq!(chart.x_labels.len(), 5);
            assert!(outcomes(&[], &zone).svg.ends_with("</svg>"));
        }
    }
}
