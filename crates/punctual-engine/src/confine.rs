//! Isolates a failing row: a set that fails is split until the row is alone.

use std::{any::Any, panic::AssertUnwindSafe};

use futures_util::FutureExt;

use crate::{EngineError, due::chain};

/// A set that is worked in as few pieces as its faults allow: first whole; where that fails because of a row, in halves,
/// until each failing row is alone.
///
/// ```ignore
/// let mut pieces = Pieces::of(&rows);
/// while let Some(piece) = pieces.next() {
///     pieces.worked(piece, guarded(self.write(piece)).await)?;
/// }
/// ```
pub(crate) struct Pieces<'r, T, R> {
    rows: &'r [T],
    left: Vec<&'r [T]>,
    /// The results of the pieces that worked.
    pub(crate) done: Vec<R>,
    /// The rows that fail alone, with why.
    pub(crate) failed: Vec<(&'r T, EngineError)>,
}

impl<'r, T, R> Pieces<'r, T, R> {
    pub(crate) fn of(rows: &'r [T]) -> Self {
        Self { rows, left: vec![rows], done: Vec::new(), failed: Vec::new() }
    }

    /// The next piece to work.
    pub(crate) fn next(&mut self) -> Option<&'r [T]> {
        self.left.pop().filter(|piece| !piece.is_empty())
    }

    /// Takes the result of a piece. A fault of the database itself is returned: no row is to blame, and every piece would
    /// meet the same fault.
    pub(crate) fn worked(
        &mut self,
        piece: &'r [T],
        result: Result<R, EngineError>,
    ) -> Result<(), EngineError> {
        match (result, piece) {
            (Ok(done), _) => self.done.push(done),
            (Err(error), _) if error.is_unavailable() => return Err(error),
            (Err(error), [row]) => self.failed.push((row, error)),
            (Err(error), _) => {
                if piece.len() == self.rows.len() {
                    tracing::warn!(error = %chain(&error), rows = piece.len(), "a batch failed and is split");
                }
                let (first, second) = piece.split_at(piece.len() / 2);
                self.left.extend([second, first]);
            }
        }
        Ok(())
    }
}

/// Turns a panic into an error.
pub(crate) async fn guarded<R>(work: impl Future<Output = Result<R, EngineError>>) -> Result<R, EngineError> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => Err(EngineError::Panicked(panic_message(&*panic))),
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no panic message").to_owned()
}

#[cfg(test)]
mod tests {
    use punctual_store::StoreError;

    use super::*;

    fn run(rows: &[i32]) -> (Result<Pieces<'_, i32, Vec<i32>>, EngineError>, usize) {
        let (mut pieces, mut calls) = (Pieces::of(rows), 0);
        while let Some(piece) = pieces.next() {
            calls += 1;
            let work = async {
                if piece.contains(&-2) {
                    return Err(EngineError::Store(StoreError::Injected("work.settle")));
                }
                assert!(!piece.contains(&-3), "row -3");
                if piece.contains(&-1) { Err(EngineError::NotFound) } else { Ok(piece.to_vec()) }
            };
            let result = guarded(work).now_or_never().expect("nothing waits");
            if let Err(error) = pieces.worked(piece, result) {
                return (Err(error), calls);
            }
        }
        (Ok(pieces), calls)
    }

    #[test]
    fn a_bad_row_is_found_and_its_neighbours_are_worked_once() {
        let mut rows: Vec<i32> = (0..500).collect();
        rows[77] = -1;
        rows[78] = -3;
        rows[499] = -1;
        let (pieces, calls) = run(&rows);
        let pieces = pieces.expect("no outage");
        let good: Vec<i32> = rows.iter().copied().filter(|row| *row >= 0).collect();
        assert_eq!(pieces.done.concat(), good);
        let failed: Vec<i32> = pieces.failed.iter().map(|(row, _)| **row).collect();
        assert_eq!(failed, [-1, -3, -1]);
        assert!(matches!(&pieces.failed[1].1, EngineError::Panicked(text) if text == "row -3"));
        assert!(calls < 60, "{calls} calls for three bad rows of 500");
    }

    #[test]
    fn a_set_without_faults_is_worked_in_one_piece_and_an_empty_one_not_at_all() {
        assert_eq!(run(&[1, 2, 3]).1, 1);
        assert_eq!(run(&[]).1, 0);
    }

    #[test]
    fn an_outage_blames_no_row() {
        let (pieces, calls) = run(&[1, -2, 3]);
        assert!(pieces.is_err());
        assert_eq!(calls, 1);
    }
}
