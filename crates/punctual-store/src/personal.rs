//! Personal data: finding the addresses of a person, erasing them, and recording the erasure.
//!
//! Addresses of attempts have no index: it would cost each attempt about 11 µs on SQLite. Instead a background pass writes
//! short hashes of many rows into one record (`index`); rows that are not indexed yet are scanned (`walk`). A row number from
//! the index is a hint: the row is read, within the reach of the caller, and compared.

pub mod columns;
mod definitions;
mod deliveries;
mod index;
mod people;
mod records;
mod rows;
mod walk;

pub use definitions::{DefinitionKind, DefinitionRow, definitions_with, rewrite_definition};
pub use deliveries::{
    FoundNotification, Received, Rewrite, erase_attempts, erase_digests, erase_errors, erase_receipts,
    erase_skipped, erase_survey_attempts, found_notifications, live_attempted, received, release_files,
    release_message_files, rewrite_notifications, withdraw_erased,
};
pub use index::{
    BUCKETS, IndexRow, PartRow, advance, bucket, forget_piece, part, pieces_of, put_piece, replace_piece, see,
};
pub use people::{
    FoundPerson, FoundText, SuppressedAt, blank_person, count_digests, count_inbox, delete_days,
    delete_inbox, digests_of, inbox_of, people_by_ids, people_changed_at, suppressions_of,
};
pub use records::{ErasureRow, by_id as erasure, insert as insert_erasure, page as erasures};
pub use rows::{
    FoundEntry, FoundEvent, FoundInstance, FoundResponse, FoundSource, FoundWork, audit_entries,
    blank_events, blank_instances, blank_messages, blank_responses, blank_work, entries, event_notifications,
    events_of, events_of_work, found_instances, found_sources, found_work, published, rename_digests,
    responses_of, rewrite_source, sends_of, traced_of_source, unerased_among,
};
pub use walk::{Occurrence, Part, Place, WalkPage, addresses_in, greatest, least, walk};

crate::db::statements![; definitions, deliveries, index, people, records, rows, walk];
