//! Errors as clients see them: RFC 9457 `application/problem+json` with a stable code and the fields at fault.
//!
//! [`Code`] is the closed list of what can go wrong. A [`FieldError`] says it about one place in a
//! request, a [`Problem`] about the whole. How a problem becomes an HTTP answer is for `punctual-api`.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The media type of a problem.
pub const CONTENT_TYPE: &str = "application/problem+json";

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $status:literal, $title:literal;)+) => {
        /// What went wrong, as a stable word that programs may compare.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
            /// A code that this version does not know: the answer comes from a newer server.
            #[serde(other)]
            Unknown,
        }

        impl Code {
            /// Every code that this version gives out.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The word itself, such as `missing_field`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ Self::Unknown => "unknown" }
            }

            /// The HTTP status it is answered with.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ Self::Unknown => 500 }
            }

            /// A short sentence for people, the same for every occurrence.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ Self::Unknown => "Unknown problem" }
            }

            /// When it is given out: the documentation of the code.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+).trim_ascii(),)+
                    Self::Unknown => "A code that this version does not know.",
                }
            }
        }
    };
}

codes! {
    /// The body is not JSON; the detail has line, column and what was expected.
    JsonSyntax = "json_syntax", 400, "The body is not valid JSON";
    /// Objects and arrays are nested deeper than 64.
    JsonTooDeep = "json_too_deep", 400, "The JSON is nested too deeply";
    /// An object has the same field twice.
    JsonDuplicateKey = "json_duplicate_key", 400, "A field appears twice";
    /// A text is not valid UTF-8, contains NUL, or has half of a surrogate pair.
    TextInvalid = "text_invalid", 400, "A text is not valid Unicode";
    /// The Content-Type is not one that the route takes.
    ContentType = "content_type", 415, "The content type is not accepted";
    /// The body has more bytes than the route takes; nothing was stored.
    BodyTooLarge = "body_too_large", 413, "The body is too large";
    /// The batch has more items than the route takes; nothing was stored.
    BatchTooLarge = "batch_too_large", 413, "The batch has too many items";
    /// A definition has a field that does not exist; the detail names the nearest that does.
    UnknownField = "unknown_field", 422, "A field is not known";
    /// A required field is absent or null.
    MissingField = "missing_field", 422, "A field is missing";
    /// A field holds another type of value than it takes.
    WrongType = "wrong_type", 422, "A field has the wrong type";
    /// A value is too small, too large, too long, or not among those allowed.
    OutOfRange = "out_of_range", 422, "A value is out of range";
    /// Two fields were given that exclude each other.
    FieldConflict = "field_conflict", 422, "Two fields exclude each other";
    /// A key, name or id is too long, has control characters, or is not of the required form.
    KeyInvalid = "key_invalid", 422, "A key is not valid";
    /// The key is known with other input; the row is on hold until a person looks.
    InputConflict = "input_conflict", 409, "The key is known with other input";
    /// The Idempotency-Key was used with another body.
    IdempotencyMismatch = "idempotency_mismatch", 409, "The idempotency key was used with another body";
    /// A time has no offset, so the instant it means is not known.
    TimeNoOffset = "time_no_offset", 422, "A time has no offset";
    /// A date or time does not exist or is not written as RFC 3339.
    DateInvalid = "date_invalid", 422, "A date is not valid";
    /// The time zone is not in the IANA database; the detail has the nearest names.
    ZoneUnknown = "zone_unknown", 422, "The time zone is not known";
    /// A duration is not of the form `15m`, `4h`, `2d` or `1d12h`, is negative, or is too long.
    DurationInvalid = "duration_invalid", 422, "A duration is not valid";
    /// A cron expression or rule never fires.
    ScheduleNever = "schedule_never", 422, "The schedule never fires";
    /// The due time is more than ten years ahead.
    DueOutOfRange = "due_out_of_range", 422, "The due time is too far ahead";
    /// The due time is longer ago than the lateness that is allowed.
    DueTooOld = "due_too_old", 422, "The due time is too long ago";
    /// A recipient's address is not valid or has a line break.
    AddressInvalid = "address_invalid", 422, "An address is not valid";
    /// A phone number is not valid after normalising.
    PhoneInvalid = "phone_invalid", 422, "A phone number is not valid";
    /// A subject has a line break or another control character.
    SubjectInvalid = "subject_invalid", 422, "The subject is not one line";
    /// A template does not parse; the detail has line, column and the text near it.
    TemplateSyntax = "template_syntax", 422, "The template has a syntax error";
    /// A template uses a variable that the context does not have.
    TemplateUnknownVariable = "template_unknown_variable", 422, "The template uses an unknown variable";
    /// A template took more steps or wrote more output than allowed.
    TemplateLimit = "template_limit", 422, "The template is over its budget";
    /// The channel does not exist; a warning when something is saved, not a refusal.
    ChannelUnknown = "channel_unknown", 422, "The channel is not known";
    /// The URL is not HTTPS.
    UrlScheme = "url_scheme", 422, "The URL's scheme is not allowed";
    /// The URL's port is not among those allowed.
    UrlPort = "url_port", 422, "The URL's port is not allowed";
    /// The URL has a user name or password in it.
    UrlUserinfo = "url_userinfo", 422, "The URL has user information";
    /// The URL leads to an address that is refused; which one is not said.
    UrlForbidden = "url_forbidden", 422, "The URL is not allowed";
    /// No key, a wrong key or an expired key; which of them is not said.
    AuthFailed = "auth_failed", 401, "Authentication failed";
    /// The key lacks a scope that the route needs.
    ScopeMissing = "scope_missing", 403, "The key lacks a scope";
    /// Nothing with this id exists, or the key may not see it.
    NotFound = "not_found", 404, "Not found";
    /// The route exists, the method does not.
    MethodNotAllowed = "method_not_allowed", 405, "The method is not allowed";
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", 408, "The request took too long";
    /// Someone else changed the thing in between; reload it.
    StaleVersion = "stale_version", 409, "The page is out of date";
    /// The state of the thing forbids the action; the detail has the state and what is allowed.
    StateNotAllowed = "state_not_allowed", 409, "The state does not allow this";
    /// A form came without its token, or with a foreign one.
    Csrf = "csrf", 403, "The form's token is not valid";
    /// The page size is not between 1 and 200.
    PageSize = "page_size", 422, "The page size is out of range";
    /// The cursor is damaged, or not one that this server gave out.
    CursorInvalid = "cursor_invalid", 422, "The cursor is not valid";
    /// Too many requests; Retry-After says when to come back.
    RateLimited = "rate_limited", 429, "Too many requests";
    /// The storage is down or full; nothing was stored, and Retry-After says when to come back.
    StorageUnavailable = "storage_unavailable", 503, "The storage is not available";
    /// The id is known with another body; nothing was overwritten.
    IdReused = "id_reused", 409, "The id is known with other content";
    /// Another scheduler owns the run.
    OwnedByOther = "owned_by_other", 409, "The run is owned by another";
    /// An imported file has a wrong encoding or uneven rows; nothing was stored.
    ImportInvalid = "import_invalid", 422, "The import is not valid";
    /// A provider's callback has a bad signature or an old time.
    SignatureInvalid = "signature_invalid", 401, "The signature is not valid";
    /// A fault of the server; its log has the request id.
    Internal = "internal", 500, "Internal error";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with one place in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// A JSON pointer (RFC 6901) to the place, such as `/items/3/subject`; a query parameter counts as a field.
    #[schema(example = "/runAt")]
    pub pointer: String,
    pub code: Code,
    /// One sentence that says what is wrong and what would be right.
    pub detail: String,
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The HTTP status, repeated.
    #[schema(example = 422)]
    pub status: u16,
    pub code: Code,
    /// The same for every problem with this code.
    pub title: Cow<'static, str>,
    /// One sentence that says what is wrong and what would be right.
    pub detail: String,
    /// The places at fault, where the request had them.
    #[serde(default)]
    pub errors: Vec<FieldError>,
    /// What the server's log calls this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// Further members that some codes have, such as the digests of `input_conflict`.
    #[serde(flatten)]
    #[schema(ignore)]
    pub more: Map<String, Value>,
}

impl FieldError {
    pub fn new(pointer: impl Into<String>, code: Code, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
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
        Self::new(pointer, Code::ZoneUnknown, format!("`{}` is no known time zone; {hint}{end}", excerpt(zone)))
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
        let detail = format!("The due time is too far ahead; the latest that is taken is {latest}.");
        Self::new(pointer, Code::DueOutOfRange, detail)
    }

    pub fn due_too_old(pointer: impl Into<String>, earliest: impl fmt::Display) -> Self {
        let detail = format!("The due time is too long ago; the earliest that is taken is {earliest}.");
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
        let detail = format!("Line {line}, column {column}: the template does not parse near `{}`.", excerpt(near));
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

    /// The same text for every refused address, so that the answer tells nothing about the network behind.
    pub fn url_forbidden(pointer: impl Into<String>) -> Self {
        Self::new(pointer, Code::UrlForbidden, "The URL leads to an address that is not allowed.")
    }
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            status: code.status(),
            code,
            title: Cow::Borrowed(code.title()),
            detail: detail.into(),
            errors: Vec::new(),
            request_id: None,
            more: Map::new(),
        }
    }

    /// A request whose fields are at fault. The first fault gives the code and the status.
    pub fn of_fields(errors: Vec<FieldError>) -> Self {
        let Some(first) = errors.first() else { return Self::internal() };
        let code = first.code;
        let detail = match errors.len() {
            1 => first.detail.clone(),
            n => format!("{} ({} more: see `errors`)", first.detail, n - 1),
        };
        Self { errors, ..Self::new(code, detail) }
    }

    /// Adds one place at fault.
    #[must_use]
    pub fn with_field(mut self, pointer: impl Into<String>, code: Code, detail: impl Into<String>) -> Self {
        self.errors.push(FieldError::new(pointer, code, detail));
        self
    }

    /// Adds a member beyond the standard ones.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// Seconds for the Retry-After header, where the problem has one.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.more.get(RETRY_AFTER)?.as_u64()
    }

    pub fn content_type(found: Option<&str>, accepted: &[&str]) -> Self {
        let found = found.map_or("none was given".to_owned(), |found| format!("this is `{}`", excerpt(found)));
        let detail = format!("The route takes `{}`; {found}.", accepted.join("` or `"));
        Self::new(Code::ContentType, detail)
    }

    pub fn body_too_large(limit: usize) -> Self {
        let detail = format!("The body is larger than {limit} bytes; nothing was stored.");
        Self::new(Code::BodyTooLarge, detail).with("limit", limit)
    }

    pub fn batch_too_large(count: usize, limit: usize) -> Self {
        let detail = format!("The batch has {count} items, the route takes {limit}; nothing was stored.");
        Self::new(Code::BatchTooLarge, detail).with("limit", limit)
    }

    /// The key is known with other input: `stored` and `given` are the two digests.
    pub fn input_conflict(work_id: i64, stored: &str, given: &str) -> Self {
        let detail = format!(
            "The key belongs to work {work_id} with other input (stored {stored}, given {given}); it is on hold."
        );
        Self::new(Code::InputConflict, detail).with("workId", work_id).with("stored", stored).with("given", given)
    }

    pub fn idempotency_mismatch() -> Self {
        let detail = "This Idempotency-Key was used with another body; use a new key for a new request.";
        Self::new(Code::IdempotencyMismatch, detail)
    }

    pub fn id_reused(id: &str) -> Self {
        let detail = format!("The id `{}` is known with other content; nothing was overwritten.", excerpt(id));
        Self::new(Code::IdReused, detail)
    }

    pub fn owned_by_other(owner: &str) -> Self {
        Self::new(Code::OwnedByOther, format!("The run is owned by `{}`.", excerpt(owner))).with("owner", owner)
    }

    /// The same body for a missing, wrong and expired key.
    pub fn auth_failed() -> Self {
        Self::new(Code::AuthFailed, "Send a valid key as `Authorization: Bearer KEY`.")
    }

    pub fn scope_missing(scope: &str) -> Self {
        Self::new(Code::ScopeMissing, format!("The route needs the scope `{scope}`.")).with("scope", scope)
    }

    /// Nothing with this id, as far as the caller may see. `what` is a noun without article: `work row`.
    pub fn not_found(what: &str, id: impl fmt::Display) -> Self {
        let id = id.to_string();
        Self::new(Code::NotFound, format!("There is no {what} `{}`.", excerpt(&id)))
    }

    pub fn route_not_found() -> Self {
        Self::new(Code::NotFound, "There is nothing at this path; `/openapi.json` lists every route.")
    }

    pub fn method_not_allowed() -> Self {
        Self::new(Code::MethodNotAllowed, "The route exists but not with this method; see `/openapi.json`.")
    }

    pub fn request_timeout() -> Self {
        Self::new(Code::RequestTimeout, "The request did not arrive in time; nothing was stored.")
    }

    pub fn stale_version() -> Self {
        Self::new(Code::StaleVersion, "It was changed in the meantime; reload it and try again.")
    }

    /// `action` is a verb, `state` a status word, `allowed` the verbs that would work.
    pub fn state_not_allowed(action: &str, state: &str, allowed: &[&str]) -> Self {
        let allowed_text = match allowed {
            [] => "nothing".to_owned(),
            _ => format!("`{}`", allowed.join("`, `")),
        };
        let detail = format!("It is {state}, so `{action}` is not possible; possible: {allowed_text}.");
        Self::new(Code::StateNotAllowed, detail).with("state", state).with("allowed", allowed)
    }

    pub fn csrf() -> Self {
        Self::new(Code::Csrf, "The form's token is missing or belongs to another session; reload the page.")
    }

    pub fn rate_limited(retry_after_seconds: u64) -> Self {
        let detail = format!("Too many requests; try again in {retry_after_seconds} s.");
        Self::new(Code::RateLimited, detail).with(RETRY_AFTER, retry_after_seconds)
    }

    pub fn storage_unavailable(retry_after_seconds: u64) -> Self {
        let detail =
            format!("The storage does not answer; nothing was stored. Try again in {retry_after_seconds} s.");
        Self::new(Code::StorageUnavailable, detail).with(RETRY_AFTER, retry_after_seconds)
    }

    pub fn signature_invalid() -> Self {
        Self::new(Code::SignatureInvalid, "The signature does not match or its time is too old.")
    }

    /// A fault of ours. It says nothing more on purpose: the cause is in the log, under the request id.
    pub fn internal() -> Self {
        Self::new(Code::Internal, "The server failed; its log has more under the request id.")
    }
}

const RETRY_AFTER: &str = "retryAfterSeconds";

impl From<Vec<FieldError>> for Problem {
    fn from(errors: Vec<FieldError>) -> Self {
        Self::of_fields(errors)
    }
}

impl From<FieldError> for Problem {
    fn from(error: FieldError) -> Self {
        Self::of_fields(vec![error])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl std::error::Error for Problem {}

/// At most 80 characters of what the caller wrote, without control characters, for use inside a sentence.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    if text.len() <= LONGEST && !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut short: String =
        text.chars().take(LONGEST).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_spelling_a_client_status_and_a_meaning() {
        let mut seen = std::collections::HashSet::new();
        for &code in Code::ALL {
            let json = serde_json::to_value(code).unwrap();
            assert_eq!(json, code.as_str(), "serde and as_str differ");
            assert_eq!(serde_json::from_value::<Code>(json).unwrap(), code);
            assert!((400..=503).contains(&code.status()), "{code}");
            assert!(code.meaning().ends_with('.') && !code.meaning().starts_with(' '), "{code}");
            assert!(!code.title().ends_with('.'), "{code}: a title is no sentence");
            assert!(seen.insert(code.as_str()), "{code} appears twice");
        }
    }

    #[test]
    fn a_problem_is_written_as_documented_and_read_back() {
        let problem = Problem::of_fields(vec![
            FieldError::new("/runAt", Code::MissingField, "`runAt` is missing."),
            FieldError::subject_invalid("/subject"),
        ])
        .with_request_id("r-1");
        let json = serde_json::to_value(&problem).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "status": 422,
                "code": "missing_field",
                "title": "A field is missing",
                "detail": "`runAt` is missing. (1 more: see `errors`)",
                "errors": [
                    {"pointer": "/runAt", "code": "missing_field", "detail": "`runAt` is missing."},
                    {"pointer": "/subject", "code": "subject_invalid",
                     "detail": "A subject is one line: take out line breaks and control characters."}
                ],
                "requestId": "r-1"
            })
        );
        assert_eq!(serde_json::from_value::<Problem>(json).unwrap(), problem);
    }

    #[test]
    fn a_problem_of_a_newer_server_is_still_read() {
        let json = r#"{"status":418,"code":"teapot","title":"T","detail":"D","instance":"/x"}"#;
        let problem: Problem = serde_json::from_str(json).unwrap();
        assert_eq!((problem.status, problem.code), (418, Code::Unknown));
        assert_eq!(problem.more["instance"], "/x");
    }

    #[test]
    fn details_name_what_would_be_right() {
        #[track_caller]
        fn check(problem: impl Into<Problem>, status: u16, code: &str, detail: &str) {
            let problem = problem.into();
            assert_eq!((problem.status, problem.code.as_str()), (status, code));
            assert!(problem.detail.contains(detail), "{:?} lacks {detail:?}", problem.detail);
            assert!(problem.detail.ends_with(['.', '?']), "{:?} is no sentence", problem.detail);
        }
        let p = "/x";
        check(FieldError::key_invalid(p, "longer than 512 bytes"), 422, "key_invalid", "512 bytes");
        check(FieldError::zone_unknown(p, "Berlin", &["Europe/Berlin"]), 422, "zone_unknown", "`Europe/Berlin`");
        check(FieldError::zone_unknown(p, "?", &[]), 422, "zone_unknown", "IANA");
        check(FieldError::duration_invalid(p, "1 month"), 422, "duration_invalid", "`15m`");
        check(FieldError::schedule_never(p, "2036"), 422, "schedule_never", "2036");
        check(FieldError::due_out_of_range(p, "2036"), 422, "due_out_of_range", "2036");
        check(FieldError::due_too_old(p, "2026"), 422, "due_too_old", "2026");
        check(FieldError::address_invalid(p, "a\nb", "it has a line break"), 422, "address_invalid", "a\u{FFFD}b");
        check(FieldError::phone_invalid(p, "12", "NZ"), 422, "phone_invalid", "NZ");
        check(FieldError::template_syntax(p, 2, 7, "{% if"), 422, "template_syntax", "Line 2, column 7");
        check(FieldError::template_unknown_variable(p, "user"), 422, "template_unknown_variable", "`user`");
        check(FieldError::template_limit(p), 422, "template_limit", "shorter");
        check(FieldError::channel_unknown(p, "sms:x"), 422, "channel_unknown", "`sms:x`");
        check(FieldError::url_scheme(p), 422, "url_scheme", "https");
        check(FieldError::url_port(p, "443"), 422, "url_port", "443");
        check(FieldError::url_userinfo(p), 422, "url_userinfo", "password");
        check(FieldError::url_forbidden(p), 422, "url_forbidden", "not allowed");
        check(Problem::content_type(None, &["application/json"]), 415, "content_type", "none was given");
        check(Problem::content_type(Some("text/x"), &["a", "b"]), 415, "content_type", "`a` or `b`; this is `text/x`");
        check(Problem::body_too_large(7), 413, "body_too_large", "7 bytes");
        check(Problem::batch_too_large(9, 7), 413, "batch_too_large", "takes 7");
        check(Problem::input_conflict(3, "aa", "bb"), 409, "input_conflict", "stored aa, given bb");
        check(Problem::idempotency_mismatch(), 409, "idempotency_mismatch", "new key");
        check(Problem::id_reused("x"), 409, "id_reused", "`x`");
        check(Problem::owned_by_other("old"), 409, "owned_by_other", "`old`");
        check(Problem::auth_failed(), 401, "auth_failed", "Bearer");
        check(Problem::scope_missing("operate"), 403, "scope_missing", "`operate`");
        check(Problem::not_found("list", "ops"), 404, "not_found", "no list `ops`");
        check(Problem::route_not_found(), 404, "not_found", "/openapi.json");
        check(Problem::method_not_allowed(), 405, "method_not_allowed", "method");
        check(Problem::request_timeout(), 408, "request_timeout", "in time");
        check(Problem::stale_version(), 409, "stale_version", "reload");
        check(Problem::state_not_allowed("discard", "delivered", &[]), 409, "state_not_allowed", "nothing");
        check(Problem::state_not_allowed("retry", "pending", &["a", "b"]), 409, "state_not_allowed", "`a`, `b`");
        check(Problem::csrf(), 403, "csrf", "reload");
        check(Problem::signature_invalid(), 401, "signature_invalid", "old");
        check(Problem::internal(), 500, "internal", "log");
        check(Vec::new(), 500, "internal", "log");
        assert_eq!(Problem::rate_limited(9).retry_after_seconds(), Some(9));
        assert_eq!(Problem::storage_unavailable(5).retry_after_seconds(), Some(5));
    }

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt("plain"), "plain");
        assert_eq!(excerpt("a\r\nb"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(excerpt(&"ä".repeat(500)).chars().count(), 81);
    }
}
