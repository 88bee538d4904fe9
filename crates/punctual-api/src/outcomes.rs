//! The items of one request, each with its own outcome: a refused item does not affect the others.

use punctual_wire::{BatchItem, FieldError, Problem, batch::Item};

/// How an item stands so far: good, or refused.
pub(crate) type Outcome = Result<Good, BatchItem>;

pub(crate) struct Good {
    pub index: usize,
    pub id: String,
    pub warnings: Vec<FieldError>,
}

/// Reads each item by its place and pointer; returns how all of them stand, and the good ones in their order.
pub(crate) fn read_each<R, T>(
    many: Vec<Item<R>>,
    id_of: impl Fn(&T) -> String,
    mut read: impl FnMut(R, usize, &str) -> Result<T, Problem>,
) -> (Vec<Outcome>, Vec<T>) {
    let (mut good, mut outcomes) = (Vec::with_capacity(many.len()), Vec::with_capacity(many.len()));
    for (index, item) in many.into_iter().enumerate() {
        let item = item.map_err(Problem::from);
        outcomes.push(match item.and_then(|one| read(one, index, &format!("/{index}"))) {
            Ok(one) => {
                let id = id_of(&one);
                good.push(one);
                Ok(Good { index, id, warnings: Vec::new() })
            }
            Err(problem) => Err(BatchItem::rejected(index, None, problem)),
        });
    }
    (outcomes, good)
}

/// Notes what completing the good ones came to; returns those that are good still.
pub(crate) fn completed<T>(
    outcomes: &mut [Outcome],
    made: Vec<Result<(T, Vec<FieldError>), Problem>>,
) -> Vec<T> {
    let mut good = Vec::with_capacity(made.len());
    let mut made = made.into_iter();
    for outcome in outcomes {
        let Ok(Good { index, id, warnings }) = outcome else { continue };
        match made.next() {
            Some(Ok((one, said))) => {
                *warnings = said;
                good.push(one);
            }
            Some(Err(problem)) => {
                *outcome = Err(BatchItem::rejected(*index, Some(std::mem::take(id)), problem));
            }
            None => {}
        }
    }
    good
}
