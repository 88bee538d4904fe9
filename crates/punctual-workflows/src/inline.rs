//! Texts of definitions on their way into messages: reminder settings, surveys, reports and rules of operations share this.

use punctual_model::{Fault, NewNotification, TextField};
use punctual_templates::{InlineTemplate, Variables};
use serde_json::Value;

/// What the texts of a reminder setting see: the fields of the source's state, and these.
pub const REMINDER: Variables = Variables(&[
    "state.*",
    "source.type",
    "source.id",
    "source.businessUnit",
    "setting.id",
    "setting.name",
    "setting.triggerKey",
    "reminder.dueAt",
    "reminder.localDate",
    "reminder.timeZone",
    "reminder.targetDate",
    "reminder.offsetDays",
    "*",
]);

/// What the invitation and the reminder of a survey see.
pub const SURVEY: Variables = Variables(&[
    "title",
    "surveyUrl",
    "publicId",
    "ordinal",
    "isReminder",
    "candidate.*",
    "recipient.address",
    "recipient.customerRef",
]);

/// What the subject of a report sees.
pub const REPORT: Variables = Variables(&[
    "subscription.guid",
    "subscription.name",
    "period.label",
    "period.start",
    "period.end",
    "report.rows",
    "report.truncated",
]);

/// What the texts of a rule of an event or task see.
pub const OPERATION: Variables = Variables(&[
    "title",
    "whenLabel",
    "timeZone",
    "subjectType",
    "subjectId",
    "kind",
    "isAllDay",
    "startsAt",
    "endsAt",
]);

/// The texts of one message, each a template or not.
pub(crate) struct Texts<'t> {
    pub(crate) subject: &'t InlineTemplate,
    pub(crate) body: &'t InlineTemplate,
    pub(crate) html: Option<&'t InlineTemplate>,
}

/// Gives a message its texts. The values go along only where one of them is a template; they are filled in when it is sent.
pub(crate) fn give(new: &mut NewNotification, texts: &Texts<'_>, context: impl FnOnce() -> Value) {
    let all = [
        (TextField::Subject, Some(texts.subject)),
        (TextField::Body, Some(texts.body)),
        (TextField::Html, texts.html),
    ];
    new.subject = texts.subject.as_str().to_owned();
    new.body = texts.body.as_str().to_owned();
    new.html = texts.html.map(|html| html.as_str().to_owned());
    let templates = all.into_iter().filter(|(_, text)| text.is_some_and(InlineTemplate::is_template));
    new.envelope.inline = templates.map(|(field, _)| field).collect();
    if !new.envelope.inline.is_empty() {
        new.context = Some(context());
    }
}

/// A text that somebody saves, with the one that stood in its place.
pub struct Saved<'t> {
    pub pointer: String,
    pub text: &'t str,
    pub before: Option<&'t str>,
}

/// What is wrong with texts that somebody saves. One that is as it was is not refused: it continues as it did.
pub fn faults<'t>(texts: impl IntoIterator<Item = Saved<'t>>, variables: Variables) -> Vec<Fault> {
    let changed = texts.into_iter().filter(|saved| saved.before != Some(saved.text));
    changed
        .filter_map(|saved| {
            let fault = InlineTemplate::parse(saved.text, variables).err()?;
            let detail = match &fault {
                punctual_templates::InlineFault::Syntax(_) => format!("No template: {fault}."),
                punctual_templates::InlineFault::UnknownVariables(_) => {
                    let known: Vec<&str> = variables.paths().collect();
                    format!("No template: {fault}; known are `{}`.", known.join("`, `"))
                }
            };
            Some(Fault::new(saved.pointer, fault.code(), detail))
        })
        .collect()
}
