//! Infers column types for sources without types: SQLite and JSON have no dates and mix number types.

use jiff::{Timestamp, civil::Date};

use super::{Cell, Kind, Table};
use crate::Decimal;

impl Table {
    /// Gives each column the kind that all of its values have. A text column whose every value is a date is one of
    /// dates; one text among numbers makes it text again, and then nothing is changed.
    pub fn infer_kinds(&mut self) {
        for place in 0..self.columns.len() {
            let mut kinds: Option<Kind> = None;
            let mut mixed = false;
            for cell in self.rows.iter().filter_map(|row| row.get(place)) {
                let Some(kind) = kind_of(cell) else { continue };
                match (kinds, kind) {
                    (None, _) => kinds = Some(kind),
                    (Some(before), now) if before == now => {}
                    (Some(Kind::Integer), Kind::Decimal) => kinds = Some(Kind::Decimal),
                    (Some(Kind::Decimal), Kind::Integer) => {}
                    _ => {
                        mixed = true;
                        break;
                    }
                }
            }
            let kind = kinds.filter(|_| !mixed).unwrap_or(Kind::Text);
            self.set_kind(place, kind);
        }
    }

    /// Makes a column one of this kind: what can be read as such becomes it, the rest stays.
    pub fn set_kind(&mut self, place: usize, kind: Kind) {
        let Some(column) = self.columns.get_mut(place) else { return };
        column.kind = kind;
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(place)) {
            let now = read_as(cell, kind);
            if let Some(now) = now {
                *cell = now;
            }
        }
    }
}

fn kind_of(cell: &Cell) -> Option<Kind> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Bool(_) => Kind::Boolean,
        Cell::Integer(_) => Kind::Integer,
        Cell::Decimal(_) => Kind::Decimal,
        Cell::Date(_) => Kind::Date,
        Cell::Instant(_) => Kind::Instant,
        Cell::Text(text) if date(text).is_some() => Kind::Date,
        Cell::Text(text) if instant(text).is_some() => Kind::Instant,
        Cell::Text(_) => Kind::Text,
    })
}

/// The cell as this kind, where it is another now and can be.
fn read_as(cell: &Cell, kind: Kind) -> Option<Cell> {
    match (cell, kind) {
        (Cell::Text(text), Kind::Integer) => text.trim().parse().ok().map(Cell::Integer),
        (Cell::Text(text), Kind::Decimal | Kind::Percent) => Decimal::of_cell(text.trim()).map(Cell::Decimal),
        (Cell::Decimal(amount), Kind::Integer) => {
            let whole = amount.rounded(0);
            (whole == *amount).then(|| whole.to_string().parse().ok()).flatten().map(Cell::Integer)
        }
        (Cell::Text(text), Kind::Date) => date(text).map(Cell::Date),
        (Cell::Text(text), Kind::Instant) => instant(text).map(Cell::Instant),
        (Cell::Integer(0), Kind::Boolean) => Some(Cell::Bool(false)),
        (Cell::Integer(1), Kind::Boolean) => Some(Cell::Bool(true)),
        (Cell::Text(text), Kind::Boolean) => match text.as_str() {
            "true" | "t" => Some(Cell::Bool(true)),
            "false" | "f" => Some(Cell::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}

/// `2026-11-03` and nothing else.
fn date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    (bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-').then(|| text.parse().ok()).flatten()
}

/// An instant with its offset; a local time without one is text, for nobody knows where it was.
fn instant(text: &str) -> Option<Timestamp> {
    (text.len() >= 17 && text.as_bytes()[0].is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn column(cells: Vec<Cell>) -> (Kind, Vec<Cell>) {
        let mut table = Table::new(vec![Column::new("c", Kind::Text)]);
        table.rows = cells.into_iter().map(|cell| vec![cell]).collect();
        table.infer_kinds();
        (table.columns[0].kind, table.rows.into_iter().flatten().collect())
    }

    #[test]
    fn a_column_is_what_all_of_its_values_are() {
        let text = |text: &str| Cell::text(text);
        assert_eq!(column(vec![Cell::Integer(1), Cell::Null, Cell::float(0.5)]).0, Kind::Decimal);
        assert_eq!(column(vec![Cell::Integer(1), Cell::Integer(2)]).0, Kind::Integer);
        let (kind, cells) = column(vec![text("2026-11-03"), Cell::Null]);
        assert_eq!((kind, &cells[0]), (Kind::Date, &Cell::Date("2026-11-03".parse().unwrap())));
        let (kind, cells) = column(vec![text("2026-11-03T08:00:00+01:00")]);
        assert_eq!(
            (kind, &cells[0]),
            (Kind::Instant, &Cell::Instant("2026-11-03T07:00:00Z".parse().unwrap()))
        );
        for mixed in [
            vec![text("2026-11-03"), text("soon")],
            vec![Cell::Integer(1), text("x")],
            vec![text("2026-11-03"), text("2026-11-03T08:00:00Z")],
            vec![Cell::Null],
            vec![text("007")],
            vec![text("2026-11-03 08:00:00")],
        ] {
            let (kind, cells) = column(mixed.clone());
            assert_eq!((kind, cells), (Kind::Text, mixed));
        }
    }

    #[test]
    fn a_kind_that_is_given_is_read_where_it_can_be() {
        let mut table = Table::new(vec![Column::new("c", Kind::Text)]);
        table.rows = ["12.50", "many"].map(|one| vec![Cell::text(one)]).to_vec();
        table.set_kind(0, Kind::Decimal);
        assert_eq!(table.rows[0][0], Cell::Decimal(Decimal::of_cell("12.5").unwrap()));
        assert_eq!(table.rows[1][0], Cell::text("many"));
        table.rows = vec![vec![Cell::Integer(1)], vec![Cell::Integer(7)]];
        table.set_kind(0, Kind::Boolean);
        assert_eq!(table.rows, [[Cell::Bool(true)], [Cell::Integer(7)]]);
        table.set_kind(9, Kind::Text);
    }
}
