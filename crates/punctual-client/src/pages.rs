//! Lists that come in pages.

use std::collections::VecDeque;

use punctual_wire::Page;
use serde::de::DeserializeOwned;

use crate::{ApiError, Client, client::Call};

/// The items of all pages, one after the other; each page is asked for when it is reached.
#[derive(Debug)]
pub struct Pages<T> {
    client: Client,
    call: Call,
    ready: VecDeque<T>,
    next: Next,
}

/// What is asked for when nothing is ready.
#[derive(Clone, Debug)]
enum Next {
    First,
    After(String),
    Nothing,
}

impl<T: DeserializeOwned> Pages<T> {
    pub(crate) fn of(client: Client, call: Call) -> Self {
        Self { client, call, ready: VecDeque::new(), next: Next::First }
    }

    /// The next item; none after the last. After an error the same page is asked for again.
    pub async fn next(&mut self) -> Result<Option<T>, ApiError> {
        while self.ready.is_empty() {
            let cursor = match &self.next {
                Next::First => None,
                Next::After(cursor) => Some(cursor.as_str()),
                Next::Nothing => return Ok(None),
            };
            let page: Page<T> = self.client.json(self.call.at(cursor)).await?;
            self.next = page.next_cursor.map_or(Next::Nothing, Next::After);
            self.ready = page.items.into();
        }
        Ok(self.ready.pop_front())
    }

    /// All that are left.
    pub async fn all(mut self) -> Result<Vec<T>, ApiError> {
        let mut found = Vec::new();
        while let Some(item) = self.next().await? {
            found.push(item);
        }
        Ok(found)
    }
}
