//! The report as plain text, for programs that show no HTML.

use crate::view::{Shown, View};

const ROWS_MAX: usize = 50;
const WIDEST: usize = 32;

pub(crate) fn text(view: &View<'_>, with_table: bool, has_file: bool) -> String {
    let mut text = format!("{}\n{}\n\n", view.title, view.period);
    let shown = if with_table { view.rows.len().min(ROWS_MAX) } else { view.rows.len() };
    if with_table && !view.rows.is_empty() {
        let mut lines: Vec<Vec<String>> =
            vec![view.columns.iter().map(|column| cut(&column.title)).collect()];
        for cells in &view.rows[..shown] {
            lines.push(
                view.columns.iter().map(|column| cut(&view.text(column, &cells[column.place]))).collect(),
            );
        }
        if let Some(totals) = &view.totals {
            let cell = |(place, (column, total)): (usize, (&Shown, &Option<_>))| match total {
                Some(total) => view.total_text(column, total),
                None if place == 0 => view.locale.words.total.to_owned(),
                None => String::new(),
            };
            lines.push(view.columns.iter().zip(totals).enumerate().map(cell).collect());
        }
        let widths: Vec<usize> = (0..view.columns.len())
            .map(|place| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0))
            .collect();
        for (number, line) in lines.iter().enumerate() {
            let cells = line.iter().zip(&widths).zip(&view.columns).map(|((cell, width), column)| {
                let gap = " ".repeat(width - cell.chars().count());
                if column.kind.is_number() { gap + cell } else { cell.clone() + &gap }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
            let is_last_row = view.totals.is_some() && number + 2 == lines.len();
            if number == 0 || is_last_row && number > 0 {
                let rule = widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("  ");
                text.push_str(&rule);
                text.push('\n');
            }
        }
        text.push('\n');
    }
    for note in view.notes(shown, has_file) {
        text.push_str(&note);
        text.push('\n');
    }
    text
}

/// One line of at most so many characters.
fn cut(text: &str) -> String {
    let one_line = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= WIDEST {
        return text.chars().map(one_line).collect();
    }
    text.chars().take(WIDEST - 1).map(one_line).chain(['…']).collect()
}
