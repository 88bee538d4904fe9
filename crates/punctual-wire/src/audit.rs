//! `/api/v1/audit`: what people, keys and the engine did.

use jiff::Timestamp;
use punctual_model::AuditAction;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::{
    fields::{Fields, query_object},
    limits::NAME_MAX,
    page::NamePageQuery,
    problem::{Code, FieldError},
};

/// The longest id of a subject that is looked for.
const SUBJECT_MAX: usize = 2_048;

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Its number: entries are sealed in this order.
    pub seq: i64,
    pub at: Timestamp,
    /// `key:NAME`, `site:ID`, `recipient`, `operator` (the command line) or `engine`.
    #[schema(example = "key:ann")]
    pub actor: String,
    #[schema(example = "release")]
    pub action: String,
    /// Kind and id of the subject; without the id if it was erased.
    #[schema(example = "work/4711")]
    pub subject: String,
    /// The state before, where the subject has states.
    pub from: Option<String>,
    pub to: Option<String>,
    /// The version of the subject after it.
    pub version: Option<i64>,
    /// A reason code, or what the person said.
    pub reason: Option<String>,
    /// Further details; null if there are none or they were erased.
    pub data: Option<Value>,
    pub business_unit: Option<String>,
    /// The seal: it covers this entry and the digest of the one before. Null until the entry is sealed, some seconds after it
    /// was written.
    pub digest: Option<String>,
}

/// Which entries are wanted, newest first; what is left out does not limit.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// From this instant on.
    #[param(example = "2026-11-01T00:00:00Z")]
    pub from: Option<Timestamp>,
    /// Before this instant.
    #[param(example = "2026-12-01T00:00:00Z")]
    pub to: Option<Timestamp>,
    #[param(example = "key:ann")]
    pub actor: Option<String>,
    /// An action of the reference.
    #[param(example = "release")]
    pub action: Option<String>,
    /// Kind and id.
    #[param(value_type = Option<String>, example = "work/4711")]
    pub subject: Option<SubjectName>,
    #[param(inline, ignore)]
    pub page: NamePageQuery,
}

/// Kind and id of a subject: `work/4711`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectName {
    pub kind: String,
    pub id: String,
}

impl SubjectName {
    /// `None` for a text that is not a kind, a slash and an id.
    pub fn read(text: &str) -> Option<Self> {
        let (kind, id) = text.split_once('/').filter(|(kind, id)| !kind.is_empty() && !id.is_empty())?;
        Some(Self { kind: kind.to_owned(), id: id.to_owned() })
    }
}

/// The place of an entry in a list, newest first, as a cursor has it.
pub fn place(at: i64, seq: i64) -> String {
    format!("{at}:{seq}")
}

/// The place that a cursor has; `None` for another list's cursor.
pub fn read_place(text: &str) -> Option<(i64, i64)> {
    let (at, seq) = text.split_once(':')?;
    Some((at.parse().ok()?, seq.parse().ok()?))
}

impl AuditQuery {
    pub fn read(parameters: impl IntoIterator<Item = (String, String)>) -> Result<Self, Vec<FieldError>> {
        let object = query_object(parameters);
        let mut fields = Fields::query(&object);
        let actions: Vec<(&str, &str)> =
            AuditAction::all().iter().map(|action| (action.as_str(), action.as_str())).collect();
        let (from, to) = (fields.optional_instant("from"), fields.optional_instant("to"));
        let actor = fields.optional_text("actor", 1..=NAME_MAX);
        let action = fields.optional_choice("action", &actions).map(str::to_owned);
        let subject = fields.optional_text("subject", 1..=SUBJECT_MAX);
        let page = NamePageQuery::read(&mut fields);
        let named = subject.as_deref().map(SubjectName::read);
        if named == Some(None) {
            let detail = "`subject` takes a kind and an id, such as `work/4711`.";
            fields.refuse("subject", Code::KeyInvalid, detail);
        }
        if page.cursor.as_deref().is_some_and(|cursor| read_place(cursor).is_none()) {
            let detail = "`cursor` takes the `nextCursor` of an earlier page, unchanged.";
            fields.refuse("cursor", Code::CursorInvalid, detail);
        }
        let query = Self { from, to, actor, action, subject: named.flatten(), page };
        fields.finish().map(|()| query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<AuditQuery, String> {
        let query = AuditQuery::read([(name.to_owned(), value.to_owned())]);
        query.map_err(|faults| format!("{} {}", faults[0].pointer, faults[0].code.as_str()))
    }

    #[test]
    fn filters_are_read_and_what_is_no_filter_is_refused() {
        let subject = read("subject", "address/email:a@b.example/c").unwrap().subject.unwrap();
        assert_eq!((subject.kind.as_str(), subject.id.as_str()), ("address", "email:a@b.example/c"));
        assert_eq!(read("action", "release").unwrap().action.as_deref(), Some("release"));
        for (name, value, code) in [
            ("action", "released", "/action out_of_range"),
            ("subject", "work", "/subject key_invalid"),
            ("subject", "work/", "/subject key_invalid"),
            ("cursor", &crate::page::encode_name_cursor("ops"), "/cursor cursor_invalid"),
        ] {
            assert_eq!(read(name, value).unwrap_err(), code, "{value}");
        }
        assert_eq!(read_place(&place(-5, 7)), Some((-5, 7)));
    }
}
