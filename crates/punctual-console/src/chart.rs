//! Charts as SVG, made here: shapes only, with the axes as text around them, so that they stretch without distorting
//! a letter. Colours come from classes. Every bar is a link to the rows that it counts; the table behind each chart has
//! the same figures and links for whoever cannot see or point.

mod classes;

use std::fmt::Write;

use jiff::Timestamp;
use punctual_model::NotificationStatus;

pub use self::classes::{By, Class, classes};
use crate::{
    figures::{Interval, Range},
    links,
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

/// A count and where exactly its rows are.
pub struct Figure {
    pub count: i64,
    pub link: String,
}

impl Figure {
    pub fn shown(&self) -> String {
        grouped(self.count)
    }
}

/// The outbox limited to what ended in an interval, and to more.
pub fn ended(interval: &Interval, more: &[(&str, &str)]) -> String {
    let (from, to) = (interval.start.to_string(), interval.end.to_string());
    let pairs = more.iter().copied().chain([("endedFrom", from.as_str()), ("endedTo", to.as_str())]);
    format!("/outbox{}", links::query(pairs))
}

/// How notifications ended, stacked, one bar an interval.
pub fn endings(
    intervals: &[Interval],
    classes: &[Class],
    range: Range,
    zone: &Zone,
    only: Option<&str>,
) -> Chart {
    let top = nice(intervals.iter().map(Interval::total).max().unwrap_or(0));
    let mut svg = open();
    grid(&mut svg, &[0.0, 0.5]);
    let step = WIDTH / intervals.len().max(1) as f64;
    for (n, interval) in intervals.iter().enumerate() {
        let x = step * n as f64 + step * 0.14;
        // An empty interval still has something to point at.
        let title = format!("{}: {} ended", span(interval, range, zone), grouped(interval.total()));
        let link = ended(interval, &[("channel", only.unwrap_or_default())]);
        hit(&mut svg, &link, Some(interval.total()), &title, step, n);
        let mut below = HEIGHT;
        for class in classes {
            let count = class.count(interval);
            if count == 0 {
                continue;
            }
            // Even one parked among thousands is seen.
            let height = (HEIGHT * count as f64 / top as f64).max(2.0);
            below -= height;
            let title = format!("{}: {} {}", span(interval, range, zone), grouped(count), class.name);
            let _ = write!(
                svg,
                "<a href=\"{}\" data-figure=\"{count}\" tabindex=\"-1\" class=\"bar\"><title>{}</title>\
                 <rect class=\"seg {}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/></a>",
                escaped(&class.link(interval)),
                escaped(&title),
                class.style,
                below.max(0.0),
                step * 0.72
            );
        }
    }
    svg.push_str("</svg>");
    Chart { svg, y_labels: counts(top), x_labels: moments(intervals, range, zone) }
}

/// Lateness on a scale of powers of ten: the middle, and what 95 and 99 of a hundred stay below.
pub fn lateness(intervals: &[Interval], range: Range, zone: &Zone) -> Chart {
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
    let mut svg = open();
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
        let title = format!("{}: {said}", span(interval, range, zone));
        hit(
            &mut svg,
            &ended(interval, &[("status", NotificationStatus::Delivered.as_str())]),
            None,
            &title,
            step,
            n,
        );
    }
    svg.push_str("</svg>");
    let y_labels = (0..=decades).rev().map(|n| rough(1_000 * 10_i64.saturating_pow(n))).collect();
    Chart { svg, y_labels, x_labels: moments(intervals, range, zone) }
}

/// A bar of a chart that has no time below it.
pub struct Bar {
    pub name: String,
    pub count: i64,
    pub link: String,
    /// `warn` where it is more than it should be.
    pub style: &'static str,
}

/// Bars beside each other, each with its name below.
pub fn bars(all: &[Bar]) -> Chart {
    let top = nice(all.iter().map(|bar| bar.count).max().unwrap_or(0));
    let mut svg = open();
    grid(&mut svg, &[0.0, 0.5]);
    let step = WIDTH / all.len().max(1) as f64;
    for (n, bar) in all.iter().enumerate() {
        let height = if bar.count == 0 { 0.0 } else { (HEIGHT * bar.count as f64 / top as f64).max(2.0) };
        let _ = write!(
            svg,
            "<a href=\"{}\" data-figure=\"{}\" tabindex=\"-1\" class=\"bar\"><title>{}: {}</title>\
             <rect class=\"hit\" x=\"{:.1}\" y=\"0\" width=\"{step:.1}\" height=\"{HEIGHT}\"/>\
             <rect class=\"seg {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/></a>",
            escaped(&bar.link),
            bar.count,
            escaped(&bar.name),
            grouped(bar.count),
            step * n as f64,
            bar.style,
            step * (n as f64 + 0.2),
            HEIGHT - height,
            step * 0.6
        );
    }
    svg.push_str("</svg>");
    Chart { svg, y_labels: counts(top), x_labels: all.iter().map(|bar| bar.name.clone()).collect() }
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

/// The table behind a chart says the same, with links that a keyboard reaches.
fn open() -> String {
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    )
}

/// The whole height of an interval as a link; it says how many rows that opens, or that it is a measure.
fn hit(svg: &mut String, link: &str, count: Option<i64>, title: &str, step: f64, n: usize) {
    let says = count.map_or("data-measure".to_owned(), |count| format!("data-figure=\"{count}\""));
    let _ = write!(
        svg,
        "<a href=\"{}\" {says} tabindex=\"-1\"><title>{}</title><rect class=\"hit\" x=\"{:.1}\" y=\"0\" width=\"{step:.1}\" height=\"{HEIGHT}\"/></a>",
        escaped(link),
        escaped(title),
        step * n as f64
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn grid(svg: &mut String, shares: &[f64]) {
    for share in shares.iter().chain([&1.0]) {
        let y = HEIGHT * share;
        let _ = write!(svg, "<line class=\"rule\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
}

/// From when to when, as short as the range allows.
pub fn span(interval: &Interval, range: Range, zone: &Zone) -> String {
    format!("{}–{}", moment(interval.start, range, zone), zone.clock(interval.end))
}

fn moment(at: Timestamp, range: Range, zone: &Zone) -> String {
    match range {
        Range::Hour | Range::Day => zone.clock(at),
        Range::Week | Range::Month => zone.day_and_clock(at),
    }
}

/// Five instants, evenly apart, the last one the end.
fn moments(intervals: &[Interval], range: Range, zone: &Zone) -> Vec<String> {
    let Some(last) = intervals.last() else { return Vec::new() };
    let quarter = (intervals.len() / 4).max(1);
    let starts =
        intervals.iter().step_by(quarter).take(4).map(|interval| moment(interval.start, range, zone));
    starts.chain([moment(last.end, range, zone)]).collect()
}

fn counts(top: i64) -> Vec<String> {
    let middle = if top < 2 { String::new() } else { grouped(top / 2) };
    vec![grouped(top), middle, "0".to_owned()]
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
    use punctual_model::NotificationStatus;

    use super::*;
    use crate::figures::Group;

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!([0, 1, 3, 7, 41, 99, 450].map(nice), [1, 1, 4, 10, 50, 100, 500]);
        assert_eq!(nice(i64::MAX), i64::MAX);
    }

    #[test]
    fn a_chart_has_nothing_that_a_strict_policy_refuses() {
        let group = |status, cause: Option<&str>| Group {
            status,
            channel: "web\"hook<:a".into(),
            cause: cause.map(str::to_owned),
        };
        let intervals: Vec<Interval> = (0..4)
            .map(|n| Interval {
                groups: vec![
                    (group(NotificationStatus::Delivered, None), n),
                    (group(NotificationStatus::Parked, Some("no-<b>")), 1),
                ],
                late: Some([1_000, 2_000, 9_000_000]),
                ..Interval::default()
            })
            .collect();
        let zone = Zone::named(None);
        for by in By::ALL {
            let chart = endings(&intervals, &classes(&intervals, by), Range::Week, &zone, None);
            assert!(!chart.svg.contains("style=") && !chart.svg.contains("NaN"), "{}", chart.svg);
            assert!(!chart.svg.contains("<b>") && !chart.svg.contains("web\"hook"), "{}", chart.svg);
            assert_eq!(chart.x_labels.len(), 5);
        }
        assert!(endings(&[], &[], Range::Day, &zone, None).svg.ends_with("</svg>"));
        assert!(!lateness(&intervals, Range::Hour, &zone).svg.contains("NaN"));
        let bar = Bar { name: "<1".into(), count: 0, link: "/outbox".into(), style: "" };
        assert!(bars(&[bar]).svg.contains("&lt;1") && bars(&[]).svg.ends_with("</svg>"));
    }
}
