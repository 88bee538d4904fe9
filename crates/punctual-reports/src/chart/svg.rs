//! Shapes as SVG.

use std::fmt::Write;

use super::{Anchor, HEIGHT, INK, Shape, WIDTH};
use crate::html::escaped;

pub(super) fn write(shapes: &[Shape], description: &str) -> String {
    let mut svg = String::with_capacity(4 * 1024);
    let label = escaped(description);
    _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}" font-family="system-ui,'Segoe UI',Roboto,Arial,sans-serif" font-size="11" fill="{INK}"><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>"##
    );
    for shape in shapes {
        match shape {
            Shape::Box { x, y, width, height, colour } => {
                _ = write!(
                    svg,
                    r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
                );
            }
            Shape::Line { points, width, colour } => {
                _ = write!(
                    svg,
                    r#"<polyline fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round" stroke-linecap="round" points=""#
                );
                for (x, y) in points {
                    _ = write!(svg, "{x:.1},{y:.1} ");
                }
                svg.push_str(r#""/>"#);
            }
            Shape::Dot { x, y, radius, colour } => {
                _ = write!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{colour}"/>"#);
            }
            Shape::Text { x, y, anchor, text, .. } => {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                // The text as a whole runs left to right, so that start and end are where the layout put them; words of other scripts
                // are still shown in their own direction.
                _ = write!(
                    svg,
                    r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" direction="ltr">{}</text>"#,
                    escaped(text)
                );
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}
