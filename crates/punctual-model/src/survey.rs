//! Surveys without I/O: what an author writes, what is wrong with it, when its messages are due, and which answers it
//! takes.
//!
//! A schema is read once when it is published ([`Schema::read`]) and again from its stored text whenever it is used;
//! both go the same way, so that nothing is used that was not checked.

mod answers;
mod instance;
mod lint;
mod read;
mod recipe;
mod schedule;
mod schema;
#[cfg(test)]
mod tests;

pub use answers::{ANSWER_BYTES_MAX, ANSWERS_MAX, Visible, check_answers, visible};
pub use instance::{InstanceEvent, InstanceStatus};
pub use lint::{Warning, lint};
pub use read::is_colour;
pub(crate) use read::localised;
pub use recipe::{Candidate, Recipe};
pub use schedule::{Advance, advance, expires_at, first_send, latest_send};
pub use schema::{
    Choice, DEFAULT_GRACE, DEFAULT_MAX_LATENESS, Localised, Question, QuestionKind, Route, Schedule, Schema,
    SurveyTrigger, is_right_to_left,
};
