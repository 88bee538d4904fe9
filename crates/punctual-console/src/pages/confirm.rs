//! The page before anything is changed: what will change, with counts, and the one button that does it.

use askama::Template;

use crate::{frame::Frame, words::Pill};

#[derive(Template)]
#[template(path = "confirm.html")]
pub struct Confirm {
    pub frame: Frame,
    pub sentence: String,
    /// What was chosen and cannot be changed any more.
    pub left_alone: Option<String>,
    pub items: Vec<Item>,
    /// Where the form goes.
    pub action: &'static str,
    pub hidden: Vec<(&'static str, String)>,
    /// None where nothing is left to do.
    pub button: Option<String>,
    pub is_destructive: bool,
    pub back: String,
}

pub struct Item {
    pub link: String,
    pub title: String,
    pub note: String,
    pub pill: Pill,
}
