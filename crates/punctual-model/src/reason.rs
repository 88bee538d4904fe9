//! Reason codes: why something did not go the ordinary way, in words that are stable and countable.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// A stable, short code such as `no-recipients` or `SourceNoLongerValid`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReasonCode(Cow<'static, str>);

impl ReasonCode {
    pub const fn new(code: &'static str) -> Self {
        Self(Cow::Borrowed(code))
    }
    pub fn owned(code: String) -> Self {
        Self(Cow::Owned(code))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&'static str> for ReasonCode {
    fn from(code: &'static str) -> Self {
        Self::new(code)
    }
}
