//! Bounded pages of lists: a request reads a bounded number of rows for any filter, and returns where the next request
//! continues.

/// Rows that one page looks at where they lie one after another.
pub const IN_ORDER: i64 = 10_000;
/// Rows that one page looks at where an index leads to each of them.
pub const BY_INDEX: i64 = 5_000;

/// One page of such a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch<T, P = i64> {
    pub rows: Vec<T>,
    /// The next page begins behind this place: that of the last row shown, or how far this page looked. Nothing at the end.
    pub next: Option<P>,
}

impl<T, P> Stretch<T, P> {
    /// A page of rows of which one more was read than it shows. `looked_to` is where the look ended, if it ended before the
    /// list did.
    pub(crate) fn cut(mut rows: Vec<T>, limit: i64, place: impl Fn(&T) -> P, looked_to: Option<P>) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(place) } else { looked_to };
        Self { rows, next }
    }

    pub(crate) fn empty() -> Self {
        Self { rows: Vec::new(), next: None }
    }
}

/// How many rows are read for a page of so many.
pub(crate) fn with_surplus(limit: i64) -> i64 {
    limit.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_on_behind_its_last_row_or_behind_what_it_looked_at() {
        let cut =
            |rows: &[i64], looked_to: Option<i64>| Stretch::cut(rows.to_vec(), 2, |row| *row, looked_to);
        assert_eq!(cut(&[9, 8, 7], Some(3)), Stretch { rows: vec![9, 8], next: Some(8) });
        assert_eq!(cut(&[9, 8], Some(3)), Stretch { rows: vec![9, 8], next: Some(3) });
        assert_eq!(cut(&[], Some(3)), Stretch { rows: vec![], next: Some(3) });
        assert_eq!(cut(&[9], None), Stretch { rows: vec![9], next: None });
    }
}
