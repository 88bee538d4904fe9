//! The form of a reminder setting. Its fields are picked from what a real source has, with its values.

use serde_json::Value;

use super::{
    shape::{OTHER, leaves},
    triggers::{self, TRIGGERS},
};
use crate::editor::{Asks, Field, Form, Kind, Part, filter_part};

/// What the fields offer.
#[derive(Default)]
pub struct Offered {
    pub types: Vec<String>,
    pub units: Vec<(String, String)>,
    pub channels: Vec<(String, String)>,
    pub lists: Vec<(String, String)>,
    pub templates: Vec<String>,
    /// Sources of the type, to look at: id and name.
    pub sources: Vec<(String, String)>,
    /// The state of the one that is shown.
    pub state: Value,
    /// What the texts see, in one line.
    pub variables: String,
}

/// Picks a place in the state of the source, by its value.
pub struct Picker {
    /// Places with their values.
    fields: Vec<(String, String)>,
    /// What a field says that nothing can be picked for.
    none: &'static str,
}

impl Picker {
    pub fn field(&self, draft: &Value, at: &str, label: &str, none: &str) -> Field {
        if self.fields.is_empty() {
            let like = match label {
                "Date" => "/expiresOn",
                "Address" => "/email",
                "Field with the language" => "/language",
                _ => "/amount",
            };
            return Field::text(at, label).placeholder(like).hint(self.none);
        }
        let mut choices = vec![(String::new(), none.to_owned())];
        choices.extend(self.fields.iter().map(|(pointer, value)| (pointer.clone(), named(pointer, value))));
        let given = draft.pointer(at).and_then(Value::as_str).unwrap_or_default();
        if choices.iter().all(|(pointer, _)| pointer != given) {
            choices.push((given.to_owned(), format!("{given} (not in this source)")));
        }
        Field::new(at, label, Kind::Choice(choices))
    }

    /// The same as paths of a filter.
    fn asks(&self) -> Asks {
        if self.fields.is_empty() {
            return Asks::Offer(Vec::new());
        }
        let of_state =
            self.fields.iter().filter(|(pointer, _)| !pointer.contains('~')).map(|(pointer, value)| {
                (format!("state{}", pointer.replace('/', ".")), named(pointer, value))
            });
        let own = [("businessUnit", "Business unit"), ("id", "Id of the source")];
        Asks::Choice(of_state.chain(own.map(|(path, name)| (path.to_owned(), name.to_owned()))).collect())
    }

    fn value(&self, path: &str) -> Vec<(String, String)> {
        let pointer = path.strip_prefix("state").map(|rest| rest.replace('.', "/")).unwrap_or_default();
        let found = self.fields.iter().find(|(known, _)| *known == pointer);
        found.map(|(_, value)| (value.clone(), "as in this source".to_owned())).into_iter().collect()
    }
}

/// `expiresOn: 2026-05-14`.
fn named(pointer: &str, value: &str) -> String {
    let short: String = value.chars().take(40).collect();
    format!("{}: {short}", pointer.trim_start_matches('/').replace('/', " › "))
}

pub fn owned(words: &[String]) -> Vec<(String, String)> {
    words.iter().map(|word| (word.clone(), word.clone())).collect()
}

pub fn form(draft: &Value, offered: &Offered, is_stored: bool) -> Form {
    let kind = draft["sourceType"].as_str().unwrap_or_default();
    let none = match (kind, offered.types.is_empty()) {
        ("", false) => "Choose a kind of source to pick one of its fields.",
        _ => "Once a source of the kind is known, its fields are offered; until then a JSON pointer.",
    };
    let pick = Picker { fields: leaves(&offered.state), none };
    let mut parts = vec![about(draft, offered, is_stored)];
    parts.extend(
        TRIGGERS.iter().map(|one| (one.fields)(draft, &pick, offered).only(format!("/kind={}", one.kind))),
    );
    parts.extend([
        filter_part(draft, "/filter", "Conditions", "Field", &pick.asks(), |path| pick.value(path)),
        recipients(draft, &pick, offered),
        message(draft, &pick, offered),
        Part::new(
            "Delivery options",
            vec![
                Field::new("/delivery/quietHours/from", "Quiet from", Kind::Time),
                Field::new("/delivery/quietHours/to", "Quiet to", Kind::Time).hint("Local time; messages due within quiet hours wait for their end."),
                Field::text("/maxLateness", "Longest delay").placeholder("until its local day is over").hint("Later messages are skipped, such as 1d or 4h."),
                Field::new("/delivery/priority", "Priority", Kind::priority()),
                Field::text("/delivery/topic", "Topic"),
                Field::new("/delivery/failover", "Fallback channels", Kind::Words).hint("Tried in this order if the first one fails, between commas."),
                Field::new("/immediate", "Also send once when a source is added", Kind::Flag),
                Field::text("/triggerKey", "Key").hint("Part of the key of each message; it stays when the name changes. Made from the name if empty."),
            ],
        )
        .folded(),
    ]);
    Form::of(parts)
}

fn about(draft: &Value, offered: &Offered, is_stored: bool) -> Part {
    let kinds: Vec<(&str, &str)> = TRIGGERS.iter().map(|one| (one.kind, one.choice)).collect();
    let mut fields = vec![Field::text("/name", "Name").required()];
    if is_stored {
        let sent = draft["kind"].as_str().and_then(triggers::of).map_or("", |one| one.choice);
        fields.push(Field::new("/id", "Id", Kind::Fixed));
        fields.push(Field::new("/sourceType", "Kind of source", Kind::Fixed));
        fields.push(Field::new("/kind", "Kind of reminder", Kind::Fixed).shown_as(sent));
    } else {
        if offered.types.is_empty() {
            fields.push(Field::text("/sourceType", "Kind of source").required().hint(
                "Such as document. No source was reported yet; sources of this kind will get the reminder.",
            ));
        } else {
            let mut types = vec![(String::new(), "choose…".to_owned())];
            types.extend(owned(&offered.types));
            types.push((OTHER.to_owned(), "one that is not reported yet…".to_owned()));
            fields.push(Field::new("/sourceType", "Kind of source", Kind::Choice(types)).required().again());
            fields.push(Field::text("/otherType", "Name of the kind").only(format!("/sourceType={OTHER}")));
        }
        fields.push(Field::new("/kind", "Kind of reminder", Kind::choice(&kinds)).decides());
    }
    if !offered.sources.is_empty() {
        fields.push(
            Field::new("/sample", "Sample source", Kind::Choice(offered.sources.clone()))
                .hint("A source to pick fields from and to preview the message for.")
                .again(),
        );
    }
    fields.push(
        Field::text("/businessUnit", "Business unit").offering(offered.units.clone()).hint("All if empty."),
    );
    fields.push(Field::new("/active", "Active", Kind::Flag));
    let given = draft["kind"].as_str().unwrap_or_default();
    let part = Part::new("What", fields);
    match given.is_empty() || triggers::of(given).is_some() {
        true => part,
        false => part.about("This kind belongs to another program; its rule is edited as JSON."),
    }
}

fn recipients(draft: &Value, pick: &Picker, offered: &Offered) -> Part {
    let how = |word: &str| format!("/recipients/how={word}");
    let ways = [
        ("field", "an address in the source"),
        ("addresses", "these addresses"),
        ("list", "a list"),
        ("lookup", "an address in another source that it names"),
    ];
    Part::new(
        "Recipients",
        vec![
            Field::new("/recipients/how", "Recipients", Kind::choice(&ways)).decides(),
            pick.field(draft, "/recipients/field", "Address", "choose…").only(how("field")),
            Field::new("/recipients/addresses", "Addresses", Kind::List)
                .hint("One a line.")
                .only(how("addresses")),
            Field::text("/recipients/list", "List").offering(offered.lists.clone()).only(how("list")),
            Field::text("/recipients/lookup/sourceType", "Kind of the other source")
                .offering(owned(&offered.types))
                .only(how("lookup")),
            pick.field(draft, "/recipients/lookup/idField", "Field with its id", "choose…")
                .only(how("lookup")),
            Field::text("/recipients/lookup/field", "Field with its address")
                .placeholder("/email")
                .only(how("lookup")),
            Field::text("/delivery/channel", "Channel")
                .placeholder("of the list, or email:default")
                .offering(offered.channels.clone()),
        ],
    )
}

fn message(draft: &Value, pick: &Picker, offered: &Offered) -> Part {
    let mut templates = vec![(String::new(), "the text below".to_owned())];
    templates.extend(owned(&offered.templates));
    let given = draft.pointer("/delivery/template").and_then(Value::as_str).unwrap_or_default();
    if templates.iter().all(|(name, _)| name != given) {
        templates.push((given.to_owned(), format!("{given} (not there yet)")));
    }
    let own = "/delivery/template=";
    Part::new(
        "Message",
        vec![
            Field::new("/delivery/template", "Content", Kind::Choice(templates)).decides(),
            Field::text("/delivery/locale", "Language").placeholder("en"),
            pick.field(draft, "/delivery/localeField", "Field with the language", "the language above"),
            Field::text("/delivery/subject", "Subject")
                .placeholder("the name above")
                .wide()
                .prose()
                .only(own),
            Field::new("/delivery/body", "Text", Kind::Area)
                .placeholder("the name above, the source and its date")
                .hint(offered.variables.clone())
                .prose()
                .only(own),
            Field::new("/delivery/html", "HTML", Kind::Area)
                .hint("Optional; mail programs show it instead of the text.")
                .only(own),
        ],
    )
}
