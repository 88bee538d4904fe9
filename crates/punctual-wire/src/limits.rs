//! How large the parts of a request may be, each with its reason. All sizes of text are in bytes of UTF-8.

/// A mail header line is at most 998 bytes (RFC 5322, 2.1.1), and the subject is one line on every channel.
pub const SUBJECT_MAX: usize = 998;

/// What a template may render, and so what a message may carry; larger content belongs in an attachment.
pub const BODY_MAX: usize = 256 * 1024;

/// One notification is sent target by target under one lease; larger audiences belong in a list.
pub const TARGETS_MAX: usize = 1_000;

/// A list is resolved in memory when it is delivered.
pub const LIST_TARGETS_MAX: usize = 10_000;

/// The longest address in use is a URL; browsers and proxies stop at about this length.
pub const ADDRESS_MAX: usize = 2_048;

/// RFC 5321: 64 bytes before the `@`, 255 after it.
pub const MAIL_ADDRESS_MAX: usize = 320;

/// Names appear in URLs, log lines and table cells.
pub const NAME_MAX: usize = 128;

/// Work keys are indexed; both databases hold 512 bytes in one index entry with room to spare.
pub const KEY_MAX: usize = 512;

/// A work row stays small: the payload travels inside it through every claim.
pub const PAYLOAD_MAX: usize = 8 * 1024;

/// What a template sees; larger data is looked up when the message is made.
pub const CONTEXT_MAX: usize = 64 * 1024;

/// The last known state of one source, read again for every reminder that concerns it.
pub const STATE_MAX: usize = 64 * 1024;

/// The data of one event; the same as a source's state, because an event may carry one.
pub const EVENT_DATA_MAX: usize = STATE_MAX;

/// The settings of one channel: addresses, names, a few switches.
pub const SETTINGS_MAX: usize = 16 * 1024;

/// Items of a batch on most routes: one transaction of a few milliseconds.
pub const BATCH_MAX: usize = 1_000;

/// Items of a bulk import of sources, whose rows are small.
pub const SOURCES_BATCH_MAX: usize = 10_000;

/// Items that a site forwards in one request.
pub const SITE_BATCH_MAX: usize = 10_000;

/// Events that make instances of surveys, in one request.
pub const INGEST_BATCH_MAX: usize = 10_000;

/// The schema of one survey: two hundred questions in several languages.
pub const SURVEY_SCHEMA_MAX: usize = 512 * 1024;

/// The body of an answer to a survey, which anybody may send.
pub const RESPONSE_BODY_MAX: usize = 64 * 1024;

/// The id of a site appears in paths, file names and log lines.
pub const SITE_ID_MAX: usize = 64;

/// Entries of a site's event log in one report; the rest comes with the next.
pub const SITE_EVENTS_MAX: usize = 200;

/// What one entry of a site's event log says.
pub const SITE_EVENT_DETAIL_MAX: usize = 2_000;

/// Items on one page.
pub const PAGE_MAX: u32 = 200;

/// Items on one page when the request does not say.
pub const PAGE_DEFAULT: u32 = 50;

/// Locales of one template; more than any installation has shown, few enough for one row.
pub const VARIANTS_MAX: usize = 100;

/// Retries of one notification; a receiver that has not answered by then needs attention.
pub const RETRIES_MAX: i64 = 100;

/// The longest wait between two attempts: one week.
pub const RETRY_INTERVAL_SECONDS_MAX: i64 = 7 * 24 * 3_600;

/// Rows that one tick may take, so that the answer comes in seconds.
pub const TICK_BATCH_MAX: i64 = 10_000;
/// Rows of a kind in one tick, where the request does not say.
pub const TICK_BATCH: i64 = 100;

/// Nesting of JSON. Deeper documents are attacks or mistakes, and every reader here is recursive.
pub const DEPTH_MAX: usize = 64;

/// Faults reported for one object; the rest would not be read.
pub const FAULTS_MAX: usize = 50;

/// Business units that one API key may be limited to.
pub const KEY_BUSINESS_UNITS_MAX: usize = 100;
