//! The mail. Mail programs know little CSS and no style sheets, so every style is where it is used.

use std::fmt::Write;

use crate::{
    chart::Drawn,
    present::CHART_ID,
    view::{Shown, View},
};

/// More rows are for the file: mail programs cut long mails.
pub(crate) const ROWS_MAX: usize = 100;
const CELL_MAX: usize = 500;

const FONT: &str = "font-family:-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";
const MUTED: &str = "color:#5b6670";
const LINE: &str = "border-bottom:1px solid #e3e8eb";

/// The whole mail; without `with_table` only what is said around it.
pub(crate) fn page(view: &View<'_>, chart: Option<&Drawn>, with_table: bool, has_file: bool) -> String {
    let mut page = String::with_capacity(8 * 1024);
    let direction = if view.locale.is_right_to_left() { "rtl" } else { "ltr" };
    let (language, title) = (escaped(view.locale.tag()), escaped(view.title));
    _ = write!(
        page,
        r#"<!doctype html>
<html lang="{language}" dir="{direction}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light"><title>{title}</title></head>
<body style="margin:0;padding:0;background:#f2f4f6">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" dir="{direction}" style="background:#f2f4f6"><tr><td align="center" style="padding:16px 8px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:720px;table-layout:fixed;background:#ffffff;border:1px solid #dde3e7;border-radius:6px;{FONT};color:#1c2328">
<tr><td style="padding:20px 24px 4px"><h1 style="margin:0;font-size:20px;line-height:1.3;font-weight:600">{title}</h1><p style="margin:4px 0 0;font-size:14px;{MUTED}">{}</p></td></tr>
"#,
        escaped(&view.period)
    );
    if let Some(chart) = chart {
        let alt = escaped(&view.locale.words.chart_of.replace("{}", &chart.description));
        _ = write!(
            page,
            r#"<tr><td style="padding:12px 24px 0"><img src="cid:{CHART_ID}" width="640" alt="{alt}" style="display:block;width:100%;max-width:640px;height:auto;border:0">"#
        );
        legend(&mut page, chart);
        page.push_str("</td></tr>\n");
    }
    let shown = if with_table { view.rows.len().min(ROWS_MAX) } else { 0 };
    if with_table && !view.rows.is_empty() {
        // A table that is too wide is scrolled where the mail program can; it never widens the rest of the mail.
        page.push_str(r#"<tr><td style="padding:12px 24px 0"><div style="overflow-x:auto">"#);
        table(&mut page, view, shown);
        page.push_str("</div></td></tr>\n");
    }
    // Without the table nothing is shown of the rows, and the file is all there is.
    let notes = if with_table { view.notes(shown, has_file) } else { view.notes(view.rows.len(), has_file) };
    page.push_str(r#"<tr><td style="padding:12px 24px 20px">"#);
    for note in &notes {
        _ = write!(page, r#"<p style="margin:0 0 4px;font-size:13px;{MUTED}">{}</p>"#, escaped(note));
    }
    page.push_str("</td></tr>\n</table>\n</td></tr></table>\n</body></html>\n");
    page
}

/// What the picture itself cannot write, because it has no letters for the language.
fn legend(page: &mut String, chart: &Drawn) {
    for entry in &chart.series_key {
        _ = write!(
            page,
            r#"<span style="display:inline-block;margin:4px 12px 0 0;font-size:12px;{MUTED}"><span style="color:{}">&#9632;</span> <span dir="auto">{}</span></span>"#,
            entry.colour,
            escaped(&entry.text)
        );
    }
    if !chart.label_key.is_empty() {
        _ = write!(page, r#"<p style="margin:4px 0 0;font-size:12px;{MUTED}">"#);
        for (place, (number, text)) in chart.label_key.iter().enumerate() {
            let between = if place == 0 { "" } else { " · " };
            _ = write!(page, "{between}{} <bdi>{}</bdi>", escaped(number), escaped(text));
        }
        page.push_str("</p>");
    }
}

fn table(page: &mut String, view: &View<'_>, shown: usize) {
    let right = if view.locale.is_right_to_left() { "left" } else { "right" };
    let left = if view.locale.is_right_to_left() { "right" } else { "left" };
    let side = |column: &Shown| if column.kind.is_number() { right } else { left };
    page.push_str(r#"<table width="100%" cellpadding="0" cellspacing="0" style="border-collapse:collapse;font-size:13px;line-height:1.4;font-variant-numeric:tabular-nums"><thead><tr>"#);
    for column in &view.columns {
        _ = write!(
            page,
            r#"<th scope="col" style="padding:6px 8px;text-align:{};font-weight:600;border-bottom:2px solid #b9c4cc">{}</th>"#,
            side(column),
            escaped(&column.title)
        );
    }
    page.push_str("</tr></thead><tbody>\n");
    for cells in &view.rows[..shown] {
        page.push_str("<tr>");
        for column in &view.columns {
            let text = view.text(column, &cells[column.place]);
            let is_number = column.kind.is_number();
            let (wrap, direction) =
                if is_number { (";white-space:nowrap", "") } else { ("", r#" dir="auto""#) };
            _ = write!(
                page,
                r#"<td{direction} style="padding:5px 8px;text-align:{};vertical-align:top;{LINE}{wrap}">{}</td>"#,
                side(column),
                escaped(cut(&text))
            );
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>");
    if let Some(totals) = &view.totals {
        page.push_str("<tfoot><tr>");
        for (place, (column, total)) in view.columns.iter().zip(totals).enumerate() {
            let text = match total {
                Some(total) => view.total_text(column, total),
                None if place == 0 => view.locale.words.total.to_owned(),
                None => String::new(),
            };
            _ = write!(
                page,
                r#"<td style="padding:6px 8px;text-align:{};font-weight:600;border-top:2px solid #b9c4cc;white-space:nowrap">{}</td>"#,
                side(column),
                escaped(&text)
            );
        }
        page.push_str("</tr></tfoot>");
    }
    page.push_str("</table>");
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(CELL_MAX).map_or(text, |(end, _)| &text[..end])
}

/// Text that is in HTML or an attribute. Control characters have no place in either.
pub(crate) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            '\n' => written.push_str("<br>"),
            c if c.is_control() => written.push(' '),
            c => written.push(c),
        }
    }
    written
}
