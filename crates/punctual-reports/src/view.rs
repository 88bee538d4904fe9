//! A table as one reader sees it: which columns in which order, under which titles, each cell as text.

use std::borrow::Cow;

use jiff::tz::TimeZone;
use punctual_model::{
    Decimal,
    table::{Cell, Kind, Table},
};

use crate::{Definition, Locale, Look};

/// Decimals that a number is shown with where nobody says how many; files have all of them.
const DECIMALS: u32 = 2;

pub(crate) struct View<'a> {
    pub title: &'a str,
    pub period: String,
    pub columns: Vec<Shown>,
    pub rows: &'a [Vec<Cell>],
    /// A sum for each shown column that has one; none where nothing is added up.
    pub totals: Option<Vec<Option<Decimal>>>,
    pub truncated: bool,
    pub locale: Locale,
    pub zone: &'a TimeZone,
}

/// One column as it is shown.
pub(crate) struct Shown {
    /// Where it is in a row of the table.
    pub place: usize,
    pub name: String,
    pub title: String,
    pub kind: Kind,
    pub decimals: u32,
}

impl<'a> View<'a> {
    pub fn new(definition: &Definition, table: &'a Table, look: &'a Look) -> Self {
        let locale = Locale::new(&look.locale);
        // Those that the definition names come first, in its order.
        let named = definition.columns.iter().filter_map(|look| table.place(&look.name));
        let mut places: Vec<usize> = Vec::with_capacity(table.columns.len());
        for place in named.chain(0..table.columns.len()) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let columns: Vec<Shown> =
            places.iter().map(|place| shown(definition, table, *place, &locale)).collect();
        let is_summed = |column: &Shown| definition.totals.contains(&column.name);
        let totals = columns.iter().any(is_summed).then(|| {
            columns
                .iter()
                .map(|column| if is_summed(column) { sum(table, column.place) } else { None })
                .collect()
        });
        Self {
            title: &look.title,
            period: locale.period(look.period_start, look.period_end, &look.period_zone),
            columns,
            rows: &table.rows,
            totals,
            truncated: table.truncated,
            locale,
            zone: &look.zone,
        }
    }

    pub fn column(&self, name: &str) -> Option<&Shown> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// A cell as the reader reads it.
    pub fn text<'c>(&self, column: &Shown, cell: &'c Cell) -> Cow<'c, str> {
        let amount = |amount: &Decimal| match column.kind {
            Kind::Percent => self.locale.percent(amount, column.decimals),
            Kind::Decimal => self.locale.amount(amount, column.decimals),
            Kind::Integer => self.locale.amount(amount, amount.decimals().min(DECIMALS)),
            // A number among texts is a name: 4711 is no amount.
            _ => amount.to_string(),
        };
        match cell {
            Cell::Null => Cow::Borrowed(""),
            Cell::Bool(truth) => Cow::Borrowed(self.locale.truth(*truth)),
            Cell::Integer(value) => Cow::Owned(amount(&Decimal::from(*value))),
            Cell::Decimal(value) => Cow::Owned(amount(value)),
            Cell::Date(date) => Cow::Owned(self.locale.date(*date)),
            Cell::Instant(at) => Cow::Owned(self.locale.instant(*at, self.zone)),
            Cell::Text(text) => Cow::Borrowed(text),
        }
    }

    pub fn total_text(&self, column: &Shown, total: &Decimal) -> String {
        self.text(column, &Cell::Decimal(total.clone())).into_owned()
    }

    /// What must be said about the rows, each as one sentence; `shown` of them are in the text.
    pub fn notes(&self, shown: usize, has_file: bool) -> Vec<String> {
        let words = self.locale.words;
        let count = |rows: usize| self.locale.integer(i64::try_from(rows).unwrap_or(i64::MAX));
        let mut notes = Vec::new();
        if self.rows.is_empty() {
            notes.push(words.no_rows.to_owned());
        }
        if shown < self.rows.len() {
            notes.push(words.first_rows.replace("{}", &count(shown)));
            if has_file {
                notes.push(words.in_the_file.replace("{}", &count(self.rows.len())));
            }
        }
        if self.truncated {
            notes.push(words.left_out.replace("{}", &count(self.rows.len())));
        }
        if self.columns.iter().any(|column| column.kind == Kind::Instant)
            && let Some(zone) = self.zone.iana_name()
        {
            notes.push(words.times_in.replace("{}", zone));
        }
        notes
    }
}

fn shown(definition: &Definition, table: &Table, place: usize, locale: &Locale) -> Shown {
    let column = &table.columns[place];
    let look = definition.columns.iter().find(|look| look.name == column.name);
    let title = look.and_then(|look| look.title.as_ref()).map(|title| title.pick(Some(locale.tag()), "en").1);
    let decimals = look.and_then(|look| look.decimals).unwrap_or_else(|| {
        let most = table.rows.iter().map(|row| row[place].decimals()).max().unwrap_or(0);
        if column.kind == Kind::Percent { most.saturating_sub(2).min(1) } else { most.min(DECIMALS) }
    });
    Shown {
        place,
        name: column.name.clone(),
        title: title.unwrap_or(&column.name).to_owned(),
        kind: column.kind,
        decimals,
    }
}

/// The exact sum; none where a column has no numbers, or more digits than can be kept.
fn sum(table: &Table, place: usize) -> Option<Decimal> {
    let mut numbers = table.rows.iter().filter_map(|row| row[place].number());
    let first = numbers.next()?;
    numbers.try_fold(first, |sum, number| sum.checked_add(&number))
}
