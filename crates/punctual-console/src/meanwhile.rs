//! A form that somebody else has overtaken. It carries what its fields had when it was opened; before it is saved, that is compared with
//! what is stored now, and what differs is named. The editors of [`crate::editor`] do the same with their own fields.

use crate::form::Fields;

/// The fields of a form with their labels, in its order.
pub type Labelled = Vec<(String, String)>;

/// A field that somebody else changed: its label, what it was and what it is now.
pub type Change = (String, String, String);

/// What a form was opened on.
#[derive(Clone, Default)]
pub struct Opened {
    /// What its fields had then, as the form carries it.
    pub base: String,
    /// What somebody else has changed since then, where the form was refused for it.
    pub changes: Option<Vec<Change>>,
}

impl Opened {
    /// A form about what is stored.
    pub fn on(stored: &Labelled) -> Self {
        Self { base: serde_json::json!(stored).to_string(), changes: None }
    }

    /// A form that was sent and is shown again.
    pub fn sent(fields: &Fields) -> Self {
        Self { base: fields.text("base").to_owned(), changes: None }
    }

    /// What a form is shown with that somebody else has overtaken; the next save goes on from what is stored now. None where
    /// nothing has changed, and for a form that says nothing of what it was opened on.
    pub fn overtaken(fields: &Fields, stored: &Labelled) -> Option<Self> {
        let before: Labelled = serde_json::from_str(fields.text("base")).ok()?;
        (before != *stored).then(|| Self { changes: Some(changes(&before, stored)), ..Self::on(stored) })
    }
}

/// The fields that differ, in the order of the form.
fn changes(before: &Labelled, now: &Labelled) -> Vec<Change> {
    let value = |of: &Labelled, label: &str| {
        let found = of.iter().find(|(name, _)| name == label).map(|(_, value)| value.as_str());
        match found.unwrap_or_default() {
            "" => "empty".to_owned(),
            text => text.to_owned(),
        }
    };
    let gone = before.iter().filter(|(name, _)| now.iter().all(|(other, _)| other != name));
    let labels = now.iter().chain(gone).map(|(label, _)| label);
    let both = labels.map(|label| (label.clone(), value(before, label), value(now, label)));
    both.filter(|(_, before, now)| before != now).collect()
}

/// Fields with the labels of their form.
pub fn labelled<const N: usize>(fields: [(&str, &str); N]) -> Labelled {
    fields.into_iter().map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(stored: &Labelled) -> Fields {
        let base = Opened::on(stored).base;
        let bytes: String = base.bytes().map(|byte| format!("%{byte:02x}")).collect();
        Fields::read(format!("base={bytes}").as_bytes())
    }

    #[test]
    fn what_differs_is_named_and_the_next_save_goes_on_from_there() {
        let before = labelled([("Name", "Ada"), ("Role", "viewer"), ("Group 3", "night")]);
        let now = labelled([("Name", "Ada"), ("Role", "author"), ("Language", "de")]);
        assert!(Opened::overtaken(&sent(&before), &before).is_none());
        let opened = Opened::overtaken(&sent(&before), &now).unwrap();
        let change = |label: &str, before: &str, now: &str| (label.into(), before.into(), now.into());
        let expected = [
            change("Role", "viewer", "author"),
            change("Language", "empty", "de"),
            change("Group 3", "night", "empty"),
        ];
        assert_eq!(opened.changes.unwrap(), expected);
        assert_eq!(opened.base, Opened::on(&now).base);
        // A form of a program that says nothing is not held up.
        assert!(Opened::overtaken(&Fields::read(b""), &now).is_none());
    }
}
