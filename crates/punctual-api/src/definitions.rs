//! The shared parts of the routes for definitions: read one, list them, and filter by reach.

pub mod document;

use punctual_store::StoreError;
use punctual_wire::{Page, Problem, page::NamePageQuery};
use serde::Serialize;

use crate::answer::{Answer, JsonResponse};

/// A row that people have defined.
pub trait Definition: Sized {
    /// What people call it.
    const WHAT: &'static str;
    type Shape: Serialize;

    /// What it is found by, and listed in the order of.
    fn key(&self) -> &str;

    fn shape(self) -> Result<Self::Shape, StoreError>;
}

/// One definition, if there is one within the reach of the caller that it was read for.
pub fn one<D: Definition>(name: &str, row: Option<D>) -> Answer {
    match row {
        Some(row) => JsonResponse::ok(&row.shape()?),
        None => Err(Problem::not_found(D::WHAT, name).into()),
    }
}

/// A page of rows that were read for the caller, made of one row more than it shows.
pub fn page<D: Definition>(query: &NamePageQuery, rows: Vec<D>) -> Answer {
    let page = Page::cut_by_name(rows, query.limit, D::key);
    let items: Vec<D::Shape> = page.items.into_iter().map(D::shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}
