//! `/api/v1/operations`: events and tasks that announce their own start and end.

pub mod feeds;
pub mod organisations;
pub mod people;
pub mod rules;
pub mod subjects;
