//! What one kind of definition says about itself, so that it has a list, a form, saving and removing.

use punctual_engine::{CommandError, EngineError, commands::Seen};
use punctual_store::StoreError;
use punctual_wire::{Code, FieldError};
use serde_json::{Map, Value};

use super::{Act, Form};
use crate::{App, answer::Refusal, form::Fields, frame::Visit, links, words::Pill};

/// A kind of definition that people make and change here.
pub trait Resource: Send + Sync + 'static {
    /// Where its list is; its other pages are below.
    const HOME: &'static str;
    /// The page that it is reached from.
    const ABOVE: &'static str = Self::HOME;
    /// What one of them is called, and all of them as a heading.
    const ONE: &'static str;
    const MANY: &'static str;
    /// The entry of the navigation that it belongs to.
    const NAV: &'static str = "/settings";
    /// The field that names it: it is fixed once it is stored.
    const KEY: &'static str;
    /// The page that a new one begins with.
    const ADD: &'static str = "new";
    /// Whether it is changed after it was made.
    const EDITED: bool = true;
    /// What happens when one is removed, and the word for it.
    const REMOVING: (&'static str, &'static str) = ("Remove", "");

    /// What the button says that stores a change.
    const SAVE: &'static str = "Save";

    /// Whether a change is planned first: what it would do is shown, and stored when it is sent once more.
    const PLANNED: bool = false;

    /// What this one is called, where there is more than one sort of them.
    fn one(_draft: &Value) -> &'static str {
        Self::ONE
    }

    /// Its own page.
    fn at(key: &str) -> String {
        format!("{}/edit?key={}", Self::HOME, links::encoded(key))
    }

    /// Where somebody goes who has saved it; `then` is what they want to do next.
    fn after(key: &str, note: &str, _then: &str) -> String {
        let at = Self::at(key);
        let joined = if at.contains('?') { '&' } else { '?' };
        format!("{at}{joined}done={note}")
    }

    /// Where somebody goes who leaves the form.
    fn back(_stored: Option<&Stored>) -> String {
        Self::HOME.to_owned()
    }

    /// What people call it.
    fn name(stored: &Stored) -> String {
        stored.key.clone()
    }

    /// Ways to save it and go on: the value of `then`, and what the button says.
    const ACTS: &'static [(&'static str, &'static str)] = &[];

    /// The request as its form has it, where that has another shape.
    fn to_form(request: &Value) -> Value {
        request.clone()
    }

    /// The same the other way round.
    fn of_form(draft: Value) -> Value {
        draft
    }

    /// Where the form has what is at this place of the request.
    fn place(pointer: &str) -> String {
        pointer.to_owned()
    }

    /// A button of its own that changes the form; the place to go on at, if it is one.
    fn act(_act: &Act, _tree: &mut Value) -> Option<String> {
        None
    }

    /// That they may make and change them.
    fn may_change(visit: &Visit) -> Result<(), Refusal>;

    /// What the list shows.
    fn list(
        app: &App,
        visit: &Visit,
        fields: &Fields,
    ) -> impl Future<Output = Result<Listing, Refusal>> + Send;

    /// What is stored under this key.
    fn stored(
        app: &App,
        visit: &Visit,
        key: &str,
    ) -> impl Future<Output = Result<Option<Stored>, Refusal>> + Send;

    /// The form for a request like this one.
    fn form(
        app: &App,
        visit: &Visit,
        draft: &Value,
        stored: Option<&Stored>,
    ) -> impl Future<Output = Result<Form, Refusal>> + Send;

    /// What a new one begins with, beside what the address says.
    fn fresh(_app: &App, _visit: &Visit, _draft: &mut Map<String, Value>) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    fn save(
        app: &App,
        visit: &Visit,
        seen: Seen,
        draft: Value,
    ) -> impl Future<Output = Result<Done, Refused>> + Send;

    fn remove(app: &App, visit: &Visit, key: &str) -> impl Future<Output = Result<(), CommandError>> + Send;

    /// What is wrong with one that is stored all the same, such as a draft, and what that means.
    fn review(
        _app: &App,
        _visit: &Visit,
        _stored: &Stored,
    ) -> impl Future<Output = Result<Option<(&'static str, Vec<FieldError>)>, Refusal>> + Send {
        std::future::ready(Ok(None))
    }

    /// What is wrong with a request, without storing it.
    fn check(
        _app: &App,
        _visit: &Visit,
        _seen: Seen,
        _draft: &Value,
    ) -> impl Future<Output = Result<(), Refused>> + Send {
        std::future::ready(Ok(()))
    }

    /// What a request would do, as HTML.
    fn plan(
        _app: &App,
        _visit: &Visit,
        _stored: Option<&Stored>,
        _draft: &Value,
    ) -> impl Future<Output = Result<String, Refusal>> + Send {
        std::future::ready(Ok(String::new()))
    }

    /// What stands beside the form, as HTML.
    fn beside(
        _app: &App,
        _visit: &Visit,
        _stored: Option<&Stored>,
        _draft: &Value,
        _typed: Option<&Fields>,
    ) -> impl Future<Output = Result<String, Refusal>> + Send {
        std::future::ready(Ok(String::new()))
    }

    /// What stands below the form, as HTML.
    fn below(
        _app: &App,
        _visit: &Visit,
        _stored: Option<&Stored>,
        _draft: &Value,
        _typed: Option<&Fields>,
    ) -> impl Future<Output = Result<String, Refusal>> + Send {
        std::future::ready(Ok(String::new()))
    }
}

/// One that is stored, as the request that would make it.
pub struct Stored {
    pub key: String,
    pub draft: Value,
    /// Its number, or the time of its last change.
    pub version: i64,
    /// The secrets that are set.
    pub secrets: Vec<String>,
    /// One line on its state.
    pub sentence: String,
}

/// What became of a form.
pub enum Done {
    Saved { key: String, note: &'static str },
    Once(Once),
}

/// Something that is shown once and stored nowhere: what it is, the secret, and what to do with it.
pub struct Once {
    pub title: String,
    pub label: &'static str,
    pub secret: String,
    pub hint: String,
}

/// Why nothing was stored.
pub enum Refused {
    Faults(Vec<FieldError>),
    /// Somebody else has changed it meanwhile.
    Stale,
    Other(Refusal),
}

impl From<Vec<FieldError>> for Refused {
    fn from(faults: Vec<FieldError>) -> Self {
        Self::Faults(faults)
    }
}

impl From<CommandError> for Refused {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Invalid(faults) => Self::Faults(
                faults
                    .into_iter()
                    .map(|fault| {
                        let code = Code::parse(fault.code).unwrap_or(Code::OutOfRange);
                        FieldError::new(fault.pointer, code, fault.detail)
                    })
                    .collect(),
            ),
            CommandError::Stale => Self::Stale,
            other => Self::Other(other.into()),
        }
    }
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Self {
        Self::Other(error.into())
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Other(error.into())
    }
}

/// The list of a kind.
#[derive(Default)]
pub struct Listing {
    pub sentence: String,
    pub columns: &'static [&'static str],
    pub rows: Vec<Listed>,
    /// What an empty list teaches.
    pub empty: &'static str,
    /// The key to go on after.
    pub next: Option<String>,
}

/// One line of a list.
pub struct Listed {
    pub key: String,
    pub title: String,
    pub note: String,
    pub pill: Option<Pill>,
    pub cells: Vec<String>,
    /// Whether it can still be removed.
    pub removable: bool,
}

impl Listed {
    pub(super) fn link(&self, home: &str) -> String {
        format!("{home}/edit?key={}", links::encoded(&self.key))
    }
}

/// A line above a form.
pub struct Notice {
    pub text: String,
    pub warn: bool,
}
