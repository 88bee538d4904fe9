//! What is wrong with one place in a request, with the sentence that each code needs.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Code, excerpt};

/// The error at one place in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// A JSON pointer (RFC 6901) to the place, such as `/items/3/subject`; a query parameter counts as a field.
    #[schema(example = "/runAt")]
    pub pointer: String,
    pub code: Code,
    /// One sentence with the error and the correct form.
    pub detail: String,
}

impl FieldError {
    pub fn new(pointer: impl Into<String>, code: Code, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }

    /// The same fault, found by someone who saw only the part of the document at `prefix`.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }

    pub fn key_invalid(pointer: impl Into<String>, why: impl fmt::Display) -> Self {
        Self::new(pointer, Code::KeyInvalid, format!("The key is not valid: {why}."))
    }

    pub fn zone_unknown(pointer: impl Into<String>, zone: &str, nearest: &[&str]) -> Self {
        let hint = if nearest.is_empty() {
            "use an IANA name such as `Europe/Berlin`".to_owned()
        } else {
            format!("did you mean `{}`?", nearest.join("`, `"))
        };
        let end = if hint.ends_with('?') { "" } else { "." };
        Self::new(
            pointer,
            Code::ZoneUnknown,
            format!("`{}` is no known time zone; {hint}{end}", excerpt(zone)),
        )
    }

    pub fn duration_invalid(pointer: impl Into<String>, text: &str) -> Self {
        let detail = format!(
            "`{}` is no duration; write whole numbers with their units, such as `15m`, `4h`, `2d` or `1d12h`.",
            excerpt(text)
        );
        Self::new(pointer, Code::DurationInvalid, detail)
    }

    pub fn schedule_never(pointer: impl Into<String>, searched_until: impl fmt::Display) -> Self {
        let detail = format!("The schedule never fires; searched until {searched_until}.");
        Self::new(pointer, Code::ScheduleNever, detail)
    }

    pub fn due_out_of_range(pointer: impl Into<String>, latest: impl fmt::Display) -> Self {
        let detail = format!("The due time is too far ahead; the latest accepted time is {latest}.");
        Self::new(pointer, Code::DueOutOfRange, detail)
    }

    pub fn due_too_old(pointer: impl Into<String>, earliest: impl fmt::Display) -> Self {
        let detail =
            format!("The due time is too far in the past; the earliest accepted time is {earliest}.");
        Self::new(pointer, Code::DueTooOld, detail)
    }

    pub fn address_invalid(pointer: impl Into<String>, address: &str, why: impl fmt::Display) -> Self {
        let detail = format!("`{}` is no valid address: {why}.", excerpt(address));
        Self::new(pointer, Code::AddressInvalid, detail)
    }

    pub fn phone_invalid(pointer: impl Into<String>, number: &str, country: &str) -> Self {
        let detail = format!(
            "`{}` is no valid phone number (country assumed: {country}); write it as `+49301234567`.",
            excerpt(number)
        );
        Self::new(pointer, Code::PhoneInvalid, detail)
    }

    pub fn subject_invalid(pointer: impl Into<String>) -> Self {
        let detail = "A subject is one line: take out line breaks and control characters.";
        Self::new(pointer, Code::SubjectInvalid, detail)
    }

    pub fn template_syntax(pointer: impl Into<String>, line: usize, column: usize, near: &str) -> Self {
        let detail =
            format!("Line {line}, column {column}: the template does not parse near `{}`.", excerpt(near));
        Self::new(pointer, Code::TemplateSyntax, detail)
    }

    pub fn template_unknown_variable(pointer: impl Into<String>, variable: &str) -> Self {
        let detail = format!("The template uses `{}`, which the context does not have.", excerpt(variable));
        Self::new(pointer, Code::TemplateUnknownVariable, detail)
    }

    pub fn template_limit(pointer: impl Into<String>) -> Self {
        let detail = "The template takes too many steps or writes too much; make it shorter.";
        Self::new(pointer, Code::TemplateLimit, detail)
    }

    pub fn channel_unknown(pointer: impl Into<String>, channel: &str) -> Self {
        let detail = format!(
            "There is no channel `{}` yet; messages for it are parked until there is.",
            excerpt(channel)
        );
        Self::new(pointer, Code::ChannelUnknown, detail)
    }

    pub fn url_scheme(pointer: impl Into<String>) -> Self {
        Self::new(pointer, Code::UrlScheme, "The URL must start with `https://`.")
    }

    pub fn url_port(pointer: impl Into<String>, allowed: impl fmt::Display) -> Self {
        Self::new(pointer, Code::UrlPort, format!("The URL's port is not allowed; allowed: {allowed}."))
    }

    pub fn url_userinfo(pointer: impl Into<String>) -> Self {
        Self::new(pointer, Code::UrlUserinfo, "The URL must not carry a user name or password.")
    }

    /// The same text for every refused address, so that the response reveals nothing about the network behind.
    pub fn url_forbidden(pointer: impl Into<String>) -> Self {
        Self::new(pointer, Code::UrlForbidden, "The URL leads to an address that is not allowed.")
    }
}
