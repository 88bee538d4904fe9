//! A chart of the report: laid out once, as shapes, then written as SVG and painted as PNG.
//!
//! Mail programs show PNG, browsers and people who want to reuse it SVG. The picture has its own small font for
//! what is on its axes. A label that the font has no letters for is shown by its number, and the mail says beside the picture
//! which number is which; the SVG has the label itself. From right to left everything is mirrored.

mod canvas;
mod font;
mod layout;
mod png;
mod scale;
mod svg;

pub(crate) use layout::draw;

/// Size in points; the PNG has two pixels for each.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;

/// Colours that stay apart for people who see few of them.
const COLOURS: [&str; 6] = ["#2b6a8c", "#d9822b", "#3f9463", "#b4475c", "#7559a6", "#6f7a82"];
const INK: &str = "#46515a";
const GRID: &str = "#e4e9ec";
const AXIS: &str = "#9aa7b0";

/// A laid-out chart.
pub(crate) struct Drawn {
    shapes: Vec<Shape>,
    /// What is drawn, in words: for those who cannot see it.
    pub description: String,
    /// Series and labels that the picture could not name itself.
    pub series_key: Vec<KeyEntry>,
    pub label_key: Vec<(String, String)>,
}

pub(crate) struct KeyEntry {
    pub colour: &'static str,
    pub text: String,
}

#[derive(Clone, Debug)]
enum Shape {
    Box { x: f64, y: f64, width: f64, height: f64, colour: &'static str },
    Line { points: Vec<(f64, f64)>, width: f64, colour: &'static str },
    Dot { x: f64, y: f64, radius: f64, colour: &'static str },
    Text { x: f64, y: f64, anchor: Anchor, text: String, painted: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawn {
    pub fn svg(&self) -> String {
        svg::write(&self.shapes, &self.description)
    }

    pub fn png(&self) -> Vec<u8> {
        canvas::paint(&self.shapes)
    }
}
