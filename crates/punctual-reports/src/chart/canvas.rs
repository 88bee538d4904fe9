//! Painting shapes into pixels, with soft edges: a pixel that is half covered gets half of the colour.

use super::{Anchor, HEIGHT, INK, Shape, WIDTH, font, png};

/// Pixels for each point, so that the picture is sharp on dense screens.
const DENSITY: f64 = 2.0;
const INK_WIDTH: f64 = 1.05;

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    /// How much of each pixel the current stroke covers; lines that meet must not add up.
    mask: Vec<f32>,
}

pub(super) fn paint(shapes: &[Shape]) -> Vec<u8> {
    let (width, height) = ((WIDTH * DENSITY) as usize, (HEIGHT * DENSITY) as usize);
    let mut canvas =
        Canvas { width, height, pixels: vec![255; width * height * 3], mask: vec![0.0; width * height] };
    for shape in shapes {
        match shape {
            Shape::Box { x, y, width, height, colour } => canvas.fill(*x, *y, *width, *height, colour),
            Shape::Line { points, width, colour } => {
                canvas.stroke(std::slice::from_ref(points), *width, colour)
            }
            Shape::Dot { x, y, radius, colour } => {
                canvas.stroke(&[vec![(*x, *y), (*x, *y)]], radius * 2.0, colour)
            }
            Shape::Text { x, y, anchor, painted, .. } => {
                let width = font::width(painted);
                let left = match anchor {
                    Anchor::Start => *x,
                    Anchor::Middle => x - width / 2.0,
                    Anchor::End => x - width,
                };
                canvas.stroke(&font::strokes(painted, left, *y), INK_WIDTH, INK);
            }
        }
    }
    png::encode(width, height, &canvas.pixels)
}

impl Canvas {
    /// A rectangle. Its edges may lie within pixels.
    fn fill(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        let (left, top) = (x * DENSITY, y * DENSITY);
        let (right, bottom) = (left + width * DENSITY, top + height * DENSITY);
        let covered = |from: f64, to: f64, pixel: usize| {
            let pixel = pixel as f64;
            (to.min(pixel + 1.0) - from.max(pixel)).clamp(0.0, 1.0)
        };
        for row in self.rows(top, bottom) {
            for column in self.columns(left, right) {
                let share = covered(left, right, column) * covered(top, bottom, row);
                self.blend(row * self.width + column, colour, share as f32);
            }
        }
    }

    /// Lines with round ends and joints.
    fn stroke(&mut self, lines: &[Vec<(f64, f64)>], width: f64, colour: &str) {
        let half = width * DENSITY / 2.0;
        let mut touched = Vec::new();
        for line in lines {
            for ends in line.windows(2) {
                let [a, b] = [ends[0], ends[1]].map(|(x, y)| (x * DENSITY, y * DENSITY));
                let reach = half + 1.0;
                for row in self.rows(a.1.min(b.1) - reach, a.1.max(b.1) + reach) {
                    for column in self.columns(a.0.min(b.0) - reach, a.0.max(b.0) + reach) {
                        let centre = (column as f64 + 0.5, row as f64 + 0.5);
                        let share = (half + 0.5 - distance(centre, a, b)).clamp(0.0, 1.0) as f32;
                        let at = row * self.width + column;
                        if share > self.mask[at] {
                            if self.mask[at] == 0.0 {
                                touched.push(at);
                            }
                            self.mask[at] = share;
                        }
                    }
                }
            }
        }
        for at in touched {
            let share = std::mem::take(&mut self.mask[at]);
            self.blend(at, colour, share);
        }
    }

    fn rows(&self, from: f64, to: f64) -> std::ops::Range<usize> {
        bounded(from, to, self.height)
    }

    fn columns(&self, from: f64, to: f64) -> std::ops::Range<usize> {
        bounded(from, to, self.width)
    }

    fn blend(&mut self, at: usize, colour: &str, share: f32) {
        let Some(pixel) = self.pixels.get_mut(at * 3..at * 3 + 3) else { return };
        for (channel, part) in pixel.iter_mut().zip(channels(colour)) {
            let mixed = f32::from(*channel) * (1.0 - share) + f32::from(part) * share;
            *channel = mixed.round() as u8;
        }
    }
}

fn bounded(from: f64, to: f64, size: usize) -> std::ops::Range<usize> {
    let clamp = |value: f64| value.clamp(0.0, size as f64) as usize;
    clamp(from.floor())..clamp(to.ceil())
}

/// `#2b6a8c` as red, green and blue.
fn channels(colour: &str) -> [u8; 3] {
    let part =
        |at: usize| colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    [part(1), part(3), part(5)]
}

/// From a point to the nearest of a line.
fn distance(point: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (along, across) = (b.0 - a.0, b.1 - a.1);
    let length = along * along + across * across;
    let share =
        if length == 0.0 { 0.0 } else { ((point.0 - a.0) * along + (point.1 - a.1) * across) / length };
    let share = share.clamp(0.0, 1.0);
    (point.0 - a.0 - along * share).hypot(point.1 - a.1 - across * share)
}
