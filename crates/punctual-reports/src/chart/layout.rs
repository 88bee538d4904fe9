//! The layout of a chart: where its axes, bars, lines and labels are.

use punctual_model::{
    Decimal,
    table::{Cell, Kind},
};

use super::{AXIS, Anchor, COLOURS, Drawn, GRID, HEIGHT, KeyEntry, Shape, WIDTH, font, scale::Scale};
use crate::{
    definition::{Chart, ChartKind},
    view::{Shown, View},
};

/// More bars cannot be distinguished; more points of a line fall on one another.
const BARS_MAX: usize = 60;
const POINTS_MAX: usize = 600;
const LABEL_MAX: usize = 16;
const GAP: f64 = 8.0;

/// The part of the picture that holds the data.
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    scale: Scale,
    count: usize,
}

impl Plot {
    fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * self.scale.place(value)
    }

    /// The middle of a label's share of the axis.
    fn x(&self, place: usize) -> f64 {
        self.left + (place as f64 + 0.5) * self.share()
    }

    fn share(&self) -> f64 {
        (self.right - self.left) / self.count as f64
    }
}

/// The chart of a table; none where a column is missing or there is nothing to draw.
pub(crate) fn draw(chart: &Chart, view: &View<'_>) -> Option<Drawn> {
    let x = view.column(&chart.x)?;
    let series: Vec<&Shown> = chart.y.iter().map(|name| view.column(name)).collect::<Option<_>>()?;
    let most = if chart.kind == ChartKind::Bar { BARS_MAX } else { POINTS_MAX };
    let rows = &view.rows[..view.rows.len().min(most)];
    let value = |row: &[Cell], column: &Shown| row[column.place].number().map(|number| number.to_f64());
    let values = rows.iter().flat_map(|row| series.iter().filter_map(|column| value(row, column)));
    if rows.is_empty() || series.is_empty() || values.clone().next().is_none() {
        return None;
    }
    let scale = Scale::over(values, series.iter().all(|column| column.kind == Kind::Integer));

    let mut shapes = Vec::new();
    let ticks: Vec<(f64, String)> =
        scale.ticks().into_iter().map(|tick| (tick, tick_text(view, series[0], tick, scale))).collect();
    let widest = ticks.iter().map(|(_, text)| font::width(text)).fold(0.0, f64::max);
    let names: Vec<String> = series.iter().map(|column| cut(&column.title)).collect();
    let has_legend = series.len() > 1;
    let plot = Plot {
        left: widest + 2.0 * GAP,
        right: WIDTH - GAP,
        top: if has_legend { 34.0 } else { 14.0 },
        bottom: HEIGHT - 30.0,
        scale,
        count: rows.len(),
    };
    for (tick, text) in ticks {
        let y = plot.y(tick);
        let colour = if tick == 0.0 { AXIS } else { GRID };
        shapes.push(Shape::Line { points: vec![(plot.left, y), (plot.right, y)], width: 1.0, colour });
        shapes.push(text_at(plot.left - GAP, y + 4.0, Anchor::End, text));
    }
    match chart.kind {
        ChartKind::Bar => bars(&mut shapes, &plot, rows, &series, value),
        ChartKind::Line => lines(&mut shapes, &plot, rows, &series, value),
    }
    let labels: Vec<String> = rows.iter().map(|row| cut(&label(view, x, &row[x.place]))).collect();
    let label_key = put_labels(&mut shapes, &plot, &labels, view);
    let series_key = if has_legend { put_legend(&mut shapes, &plot, &names) } else { Vec::new() };
    if view.locale.is_right_to_left() {
        shapes.iter_mut().for_each(mirror);
    }
    let description = format!(
        "{} · {}",
        series.iter().map(|column| column.title.as_str()).collect::<Vec<_>>().join(", "),
        x.title
    );
    Some(Drawn { shapes, description, series_key, label_key })
}

fn bars(
    shapes: &mut Vec<Shape>,
    plot: &Plot,
    rows: &[Vec<Cell>],
    series: &[&Shown],
    value: impl Fn(&[Cell], &Shown) -> Option<f64>,
) {
    // Where there are few bars, each has a maximum width.
    let group = (plot.share() * 0.72).min(64.0 * series.len() as f64);
    let each = group / series.len() as f64;
    let inner = if each > 6.0 { each - 1.5 } else { each };
    for (place, row) in rows.iter().enumerate() {
        for (which, column) in series.iter().enumerate() {
            let Some(value) = value(row, column) else { continue };
            let (from, to) = (plot.y(0.0), plot.y(value));
            shapes.push(Shape::Box {
                x: plot.x(place) - group / 2.0 + each * which as f64,
                y: from.min(to),
                width: inner,
                height: (from - to).abs(),
                colour: COLOURS[which % COLOURS.len()],
            });
        }
    }
}

fn lines(
    shapes: &mut Vec<Shape>,
    plot: &Plot,
    rows: &[Vec<Cell>],
    series: &[&Shown],
    value: impl Fn(&[Cell], &Shown) -> Option<f64>,
) {
    for (which, column) in series.iter().enumerate() {
        let colour = COLOURS[which % COLOURS.len()];
        let mut run: Vec<(f64, f64)> = Vec::new();
        // What is not known is a gap, not a zero.
        for (place, row) in rows.iter().enumerate() {
            match value(row, column) {
                Some(value) => run.push((plot.x(place), plot.y(value))),
                None => finish_run(shapes, &mut run, colour),
            }
        }
        finish_run(shapes, &mut run, colour);
        if rows.len() <= 40 {
            let dots = rows
                .iter()
                .enumerate()
                .filter_map(|(place, row)| Some((plot.x(place), plot.y(value(row, column)?))));
            shapes.extend(dots.map(|(x, y)| Shape::Dot { x, y, radius: 2.6, colour }));
        }
    }
}

fn finish_run(shapes: &mut Vec<Shape>, run: &mut Vec<(f64, f64)>, colour: &'static str) {
    let points = std::mem::take(run);
    match points[..] {
        [] => {}
        [(x, y)] => shapes.push(Shape::Dot { x, y, radius: 2.6, colour }),
        _ => shapes.push(Shape::Line { points, width: 2.0, colour }),
    }
}

/// Every label, or every second, or fewer: as many as have room. Returns which numbers stand for what.
fn put_labels(
    shapes: &mut Vec<Shape>,
    plot: &Plot,
    labels: &[String],
    view: &View<'_>,
) -> Vec<(String, String)> {
    let numbered = labels.iter().any(|label| !font::can_write(label));
    let number = |place: usize| view.locale.integer(i64::try_from(place + 1).unwrap_or(i64::MAX));
    let painted = |place: usize| if numbered { number(place) } else { labels[place].clone() };
    // The SVG has the labels themselves, so they need room too.
    let widest = labels
        .iter()
        .enumerate()
        .map(|(place, label)| font::width(&painted(place)).max(font::width_anyhow(label)))
        .fold(0.0, f64::max);
    let every = ((widest + 10.0) / plot.share()).ceil().max(1.0) as usize;
    let mut key = Vec::new();
    for (place, label) in labels.iter().enumerate().step_by(every) {
        // A long label at either end must not leave the picture.
        let half = widest.min(font::width_anyhow(label)) / 2.0;
        let x = plot.x(place).clamp(half + 2.0, (WIDTH - half - 2.0).max(half + 2.0));
        shapes.push(Shape::Text {
            x,
            y: plot.bottom + 18.0,
            anchor: Anchor::Middle,
            text: label.clone(),
            painted: painted(place),
        });
        if numbered {
            key.push((number(place), label.clone()));
        }
    }
    key
}

/// Names beside their colours. Where one cannot be painted, the mail has them instead.
fn put_legend(shapes: &mut Vec<Shape>, plot: &Plot, names: &[String]) -> Vec<KeyEntry> {
    let can_write = names.iter().all(|name| font::can_write(name));
    let mut x = plot.left;
    for (which, name) in names.iter().enumerate() {
        let colour = COLOURS[which % COLOURS.len()];
        if can_write {
            shapes.push(Shape::Box { x, y: 8.0, width: 10.0, height: 10.0, colour });
            shapes.push(text_at(x + 15.0, 17.0, Anchor::Start, name.clone()));
            x += 15.0 + font::width_anyhow(name) + 18.0;
        }
    }
    if can_write {
        return Vec::new();
    }
    names
        .iter()
        .enumerate()
        .map(|(which, name)| KeyEntry { colour: COLOURS[which % COLOURS.len()], text: name.clone() })
        .collect()
}

fn text_at(x: f64, y: f64, anchor: Anchor, text: String) -> Shape {
    Shape::Text { x, y, anchor, painted: text.clone(), text }
}

fn tick_text(view: &View<'_>, column: &Shown, tick: f64, scale: Scale) -> String {
    let amount = Decimal::from_f64(tick).unwrap_or(Decimal::from(0));
    match column.kind {
        Kind::Percent => view.locale.percent(&amount, scale.decimals().saturating_sub(2)),
        _ => view.locale.amount(&amount, scale.decimals()),
    }
}

fn label(view: &View<'_>, column: &Shown, cell: &Cell) -> String {
    match cell {
        // The year is the same on the whole axis, most of the time, and takes the room of the next label.
        Cell::Date(date) => view.locale.day(*date),
        Cell::Instant(at) => view.locale.day(at.to_zoned(view.zone.clone()).date()),
        other => view.text(column, other).into_owned(),
    }
}

fn cut(text: &str) -> String {
    let one_line = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= LABEL_MAX {
        return text.chars().map(one_line).collect();
    }
    text.chars().take(LABEL_MAX - 1).map(one_line).chain(['…']).collect()
}

fn mirror(shape: &mut Shape) {
    match shape {
        Shape::Box { x, width, .. } => *x = WIDTH - *x - *width,
        Shape::Line { points, .. } => points.iter_mut().for_each(|point| point.0 = WIDTH - point.0),
        Shape::Dot { x, .. } => *x = WIDTH - *x,
        Shape::Text { x, anchor, .. } => {
            *x = WIDTH - *x;
            *anchor = match *anchor {
                Anchor::Start => Anchor::End,
                Anchor::Middle => Anchor::Middle,
                Anchor::End => Anchor::Start,
            };
        }
    }
}
