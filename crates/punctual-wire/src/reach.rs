//! Over what a route reaches: declared once for each, in the table of routes, and asked wherever a caller is found out.
//!
//! A key may be limited to business units. What concerns the whole installation is not for such a caller, whatever its
//! scopes. A route without a reach has no callers at all: [`RouteReach::declared`] refuses it.

use crate::{Code, Problem};

/// What a route reads or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteReach {
    /// Rows and definitions of business units: the handler shows and changes what is the caller's.
    Units,
    /// Definitions that belong to everybody: all callers read and use them, and nothing is changed.
    Shared,
    /// What belongs to all business units together: for callers without a limit alone.
    Installation,
    /// What a site does with its own token.
    Site,
    /// What needs no key, and signing in and out.
    Public,
}

impl RouteReach {
    /// The word in the OpenAPI document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::Shared => "shared",
            Self::Installation => "installation",
            Self::Site => "site",
            Self::Public => "public",
        }
    }

    /// The reach that a request's route declares. One that is not in the table of routes has none, and no callers.
    pub fn declared(found: Option<&Self>) -> Result<Self, Problem> {
        found.copied().ok_or_else(Problem::internal)
    }

    /// Whether a caller may go on who is limited to these business units, or to none.
    pub fn admit(self, units: Option<&[String]>) -> Result<(), Problem> {
        match self {
            Self::Installation if units.is_some() => {
                let detail = "The route concerns all business units, and the key is limited to some.";
                Err(Problem::new(Code::ScopeMissing, detail))
            }
            Self::Units | Self::Shared | Self::Installation | Self::Site | Self::Public => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t11_a_route_without_a_reach_is_refused() {
        assert_eq!(RouteReach::declared(None).unwrap_err().status, 500);
        assert_eq!(RouteReach::declared(Some(&RouteReach::Shared)), Ok(RouteReach::Shared));
    }

    #[test]
    fn t11_only_the_installation_asks_for_a_caller_without_a_limit() {
        let limited = ["nz".to_owned()];
        for reach in [
            RouteReach::Units,
            RouteReach::Shared,
            RouteReach::Installation,
            RouteReach::Site,
            RouteReach::Public,
        ] {
            assert!(reach.admit(None).is_ok());
            assert_eq!(reach.admit(Some(&limited)).is_err(), reach == RouteReach::Installation);
            assert_eq!(reach.admit(Some(&[])).is_err(), reach == RouteReach::Installation);
        }
    }
}
