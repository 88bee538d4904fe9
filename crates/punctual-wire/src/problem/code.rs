//! The closed list of what can go wrong, each code with its HTTP status, its title and its meaning.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

            /// The code with this word, if this version has it.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == text)
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
    /// The route does not accept this Content-Type.
    ContentType = "content_type", 415, "The content type is not accepted";
    /// The route does not accept this Content-Encoding, or the body does not match it.
    ContentEncoding = "content_encoding", 415, "The content encoding is not accepted";
    /// The body is larger than the route accepts; nothing was stored.
    BodyTooLarge = "body_too_large", 413, "The body is too large";
    /// The batch has more items than the route accepts; nothing was stored.
    BatchTooLarge = "batch_too_large", 413, "The batch has too many items";
    /// The body or the query has an unknown name; the detail has the nearest known name.
    UnknownField = "unknown_field", 422, "A field is not known";
    /// A required field is absent or null.
    MissingField = "missing_field", 422, "A field is missing";
    /// A field has a value of the wrong type.
    WrongType = "wrong_type", 422, "A field has the wrong type";
    /// A value is too small, too large, too long, or not among those allowed.
    OutOfRange = "out_of_range", 422, "A value is out of range";
    /// Two fields exclude each other.
    FieldConflict = "field_conflict", 422, "Two fields exclude each other";
    /// A key, name or id is too long, has control characters, or is not of the required form.
    KeyInvalid = "key_invalid", 422, "A key is not valid";
    /// A password is too short, too long, or the email address itself.
    PasswordWeak = "password_weak", 422, "The password is too weak";
    /// The Idempotency-Key was used with another body.
    IdempotencyMismatch = "idempotency_mismatch", 409, "The idempotency key was used with another body";
    /// A time has no UTC offset, so its instant is ambiguous.
    TimeNoOffset = "time_no_offset", 422, "A time has no offset";
    /// A date or time does not exist or is not written as RFC 3339.
    DateInvalid = "date_invalid", 422, "A date is not valid";
    /// The time of an event is more than a day in the future.
    TimeInFuture = "time_in_future", 422, "A time lies in the future";
    /// A date is before 1900 or after 2200, or an instant before 1970 or after 2200.
    DateOutOfRange = "date_out_of_range", 422, "A date is out of range";
    /// The time zone is not in the IANA database; the detail has the nearest names.
    ZoneUnknown = "zone_unknown", 422, "The time zone is not known";
    /// A duration is not of the form `15m`, `4h`, `2d` or `1d12h`, is negative, or is too long.
    DurationInvalid = "duration_invalid", 422, "A duration is not valid";
    /// The end of the request is ambiguous: it has both `Content-Length` and `Transfer-Encoding`, a repeated length, a length
    /// that is not all digits, or an encoding other than `chunked`.
    FramingAmbiguous = "framing_ambiguous", 400, "The end of the request is ambiguous";
    /// The business unit does not exist.
    UnitUnknown = "unit_unknown", 422, "The business unit is not known";
    /// A cron pattern or a recurrence rule cannot be read.
    ScheduleInvalid = "schedule_invalid", 422, "The schedule cannot be read";
    /// A cron expression or rule never fires.
    ScheduleNever = "schedule_never", 422, "The schedule never fires";
    /// The schedule skips short months; a warning when it is saved, not a refusal.
    MonthsSkipped = "months_skipped", 422, "The schedule skips short months";
    /// The due time is more than ten years ahead.
    DueOutOfRange = "due_out_of_range", 422, "The due time is too far ahead";
    /// The due time is too far in the past.
    DueTooOld = "due_too_old", 422, "The due time is too long ago";
    /// A recipient's address is not valid or has a line break.
    AddressInvalid = "address_invalid", 422, "An address is not valid";
    /// A phone number is not valid after normalising.
    PhoneInvalid = "phone_invalid", 422, "A phone number is not valid";
    /// A subject has a line break or another control character.
    SubjectInvalid = "subject_invalid", 422, "The subject is not one line";
    /// A message sets a header that is not allowed; the detail lists the allowed headers.
    HeaderNotAllowed = "header_not_allowed", 422, "The header may not be set";
    /// The value of a header is not one line of ASCII.
    HeaderInvalid = "header_invalid", 422, "The header is not one line";
    /// The name or media type of a file is not allowed, or its content is not base64.
    AttachmentInvalid = "attachment_invalid", 422, "The attachment is not valid";
    /// The blob does not exist: it was never uploaded, it expired, or the key may not use it.
    BlobUnknown = "blob_unknown", 422, "The blob is not known";
    /// The channel cannot send files.
    AttachmentsNotSupported = "attachments_not_supported", 422, "The channel cannot send attachments";
    /// A template does not parse; the detail has line, column and the text near it.
    TemplateSyntax = "template_syntax", 422, "The template has a syntax error";
    /// A template uses a variable that the context does not have.
    TemplateUnknownVariable = "template_unknown_variable", 422, "The template uses an unknown variable";
    /// A template took more steps or wrote more output than allowed.
    TemplateLimit = "template_limit", 422, "The template is over its budget";
    /// The channel does not exist; a warning, not a refusal.
    ChannelUnknown = "channel_unknown", 422, "The channel is not known";
    /// The URL is not HTTPS.
    UrlScheme = "url_scheme", 422, "The URL's scheme is not allowed";
    /// The URL's port is not among those allowed.
    UrlPort = "url_port", 422, "The URL's port is not allowed";
    /// The URL has a user name or password in it.
    UrlUserinfo = "url_userinfo", 422, "The URL has user information";
    /// The URL resolves to an address that is not allowed; the address is not disclosed.
    UrlForbidden = "url_forbidden", 422, "The URL is not allowed";
    /// The URL's host does not belong to the provider.
    UrlHost = "url_host", 422, "The URL is not one of the provider's";
    /// A secret starts with `file:` or `env:` but is not a reference that this server can resolve.
    SecretReference = "secret_reference", 422, "The secret's reference is not allowed";
    /// The destination of a channel or subscriber changed, and a secret was not entered again.
    SecretRequired = "secret_required", 422, "The secret must be given again";
    /// No key, a wrong key or an expired key; the response does not say which.
    AuthFailed = "auth_failed", 401, "Authentication failed";
    /// The key lacks a scope that the route needs.
    ScopeMissing = "scope_missing", 403, "The key lacks a scope";
    /// Nothing with this id exists, or the key may not see it.
    NotFound = "not_found", 404, "Not found";
    /// It was removed after its retention time.
    Gone = "gone", 410, "It is gone";
    /// The route exists, the method does not.
    MethodNotAllowed = "method_not_allowed", 405, "The method is not allowed";
    /// The request did not arrive in time.
    RequestTimeout = "request_timeout", 408, "The request took too long";
    /// Somebody else changed the object meanwhile; reload it.
    StaleVersion = "stale_version", 409, "The page is out of date";
    /// The action is not allowed in this state; the detail has the state and the allowed states.
    StateNotAllowed = "state_not_allowed", 409, "The state does not allow this";
    /// A form has no token, or the token of another session.
    Csrf = "csrf", 403, "The form's token is not valid";
    /// The page size is not between 1 and 200.
    PageSize = "page_size", 422, "The page size is out of range";
    /// The cursor is damaged or was not issued by this server.
    CursorInvalid = "cursor_invalid", 422, "The cursor is not valid";
    /// Too many requests; Retry-After says when to retry.
    RateLimited = "rate_limited", 429, "Too many requests";
    /// The business unit has used its quota of the day; nothing was stored, and Retry-After says when its next day begins.
    QuotaExceeded = "quota_exceeded", 429, "The quota of the business unit is used up";
    /// The storage is down or full; nothing was stored, and Retry-After says when to retry.
    StorageUnavailable = "storage_unavailable", 503, "The storage is not available";
    /// The id was used with another body; nothing was overwritten.
    IdReused = "id_reused", 409, "The id is known with other content";
    /// The token is that of another site.
    SiteMismatch = "site_mismatch", 403, "The token is that of another site";
    /// The buffer or the disk of a site agent is full; nothing was stored.
    BufferFull = "buffer_full", 507, "The buffer is full";
    /// Another scheduler owns the run.
    OwnedByOther = "owned_by_other", 409, "The run is owned by another";
    /// An imported file has a wrong encoding or uneven rows; nothing was stored.
    ImportInvalid = "import_invalid", 422, "The import is not valid";
    /// A provider's callback has a bad signature or an old time.
    SignatureInvalid = "signature_invalid", 401, "The signature is not valid";
    /// An internal error; the server's log has the request id.
    Internal = "internal", 500, "Internal error";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
