//! Converts errors of the strict reader into command errors.

use punctual_engine::CommandError;
use punctual_model::Fault;
use punctual_wire::FieldError;

/// A definition that could not be read.
pub(crate) fn unreadable(faults: Vec<FieldError>) -> CommandError {
    CommandError::Invalid(faults.into_iter().map(fault).collect())
}

pub(crate) fn fault(found: FieldError) -> Fault {
    Fault::new(found.pointer, found.code.as_str(), found.detail)
}
