//! The words of Punctual: ids, keys, statuses, decisions, time and the channel contract. No I/O.
//!
//! Everything here is plain values and pure functions, so that rules can be tested, simulated and
//! forecast without a database. Storage is `punctual-store`, the pipeline is `punctual-engine`.

pub mod address;
pub mod attachment;
pub mod audit_action;
pub mod channel;
pub mod clock;
pub mod decision;
pub mod delivery_policy;
pub mod durations;
pub mod envelope;
pub mod fault;
pub mod filter;
pub mod ids;
pub mod input_hash;
pub mod json;
pub mod keys;
pub mod local_time;
pub mod nearest;
pub mod notification;
pub mod object;
pub mod phone;
pub mod reach;
pub mod reason;
pub mod receipt;
pub mod registry;
pub mod retry;
pub mod role;
pub mod scope;
pub mod secret;
pub mod secret_reference;
pub mod sign_on;
pub mod status;
pub mod suppression;
pub mod survey;
pub mod table;

pub use address::Targets;
pub use audit_action::AuditAction;
pub use channel::{Adapter, Channel, Outgoing, SendOutcome, SettingsFault};
pub use clock::{Clock, Discipline, Doubt, ManualClock, Random, Reference, Sample};
pub use decision::{Arrival, Cause, Decided, Decision, Effect, Followed, NewWork, NoRow, Trigger};
pub use delivery_policy::Priority;
pub use durations::DurationError;
pub use envelope::{Envelope, Origin, TextField};
pub use fault::Fault;
pub use filter::Filter;
pub use ids::{ChannelKey, InvalidScheduleId, NotificationId, ScheduleId, WorkId};
pub use input_hash::InputHash;
pub use json::{Json, UnreadableJson};
pub use keys::{KeyError, KeyParts, WorkKey};
pub use notification::{Audience, FileRef, NewNotification, NotificationSource};
pub use phone::Phone;
pub use reach::Reach;
pub use reason::ReasonCode;
pub use receipt::{Callback, CallbackFault, CallbackTaken, Receipt, ReceiptState};
pub use registry::{DuplicateKey, Registry};
pub use retry::{NextAttempt, RetryPolicy};
pub use role::Role;
pub use scope::Scope;
pub use secret::Secret;
pub use secret_reference::SecretReference;
pub use sign_on::{Identity, IdentityProvider, SignOnAnswer, SignOnFault, SignOnRequest};
pub use status::{NotificationEvent, NotificationStatus, WorkEvent, WorkStatus};
pub use suppression::SuppressionReason;
