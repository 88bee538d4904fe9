//! The pure part of surveys: schema, validation, schedule and answers.
//!
//! [`Schema::read`] parses a schema both when it is published and when its stored text is used, so only validated schemas are
//! used.

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
