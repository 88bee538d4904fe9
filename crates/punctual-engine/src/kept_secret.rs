//! Decides whether a stored secret is kept when its definition is saved again, by one rule for all definitions: a secret or
//! secret reference stays only as long as its destination is unchanged.

/// A secret in a request, or where to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenSecret<T> {
    /// Nothing is said of it: the stored one is kept.
    LeftOut,
    /// There is to be none.
    TakenAway,
    Given(T),
}

/// It would be sent to another place than it was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret must be given again")]
pub struct GivenForElsewhere;

impl<T> GivenSecret<T> {
    /// The secret to store in place of this one. `is_moved` says that it would be sent to another place than before.
    pub fn over(self, stored: Option<T>, is_moved: bool) -> Result<Option<T>, GivenForElsewhere> {
        match (self, stored) {
            (Self::Given(secret), _) => Ok(Some(secret)),
            (Self::TakenAway, _) | (Self::LeftOut, None) => Ok(None),
            (Self::LeftOut, Some(_)) if is_moved => Err(GivenForElsewhere),
            (Self::LeftOut, Some(stored)) => Ok(Some(stored)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GivenForElsewhere, GivenSecret::*};

    #[test]
    fn t12_a_secret_stays_with_the_place_that_it_was_given_for() {
        for is_moved in [false, true] {
            assert_eq!(Given("new").over(Some("old"), is_moved), Ok(Some("new")));
            assert_eq!(TakenAway.over(Some("old"), is_moved), Ok(None));
            assert_eq!(LeftOut.over(None::<&str>, is_moved), Ok(None));
        }
        assert_eq!(LeftOut.over(Some("old"), false), Ok(Some("old")));
        assert_eq!(LeftOut.over(Some("old"), true), Err(GivenForElsewhere));
    }
}
