//! A message that somebody writes by hand: to a list or to addresses, in words of its own or from a template, now or at a time.

use axum::extract::State;
use punctual_engine::{CommandError, EnsureOutcome, Ensured, Handed, commands::Seen};
use punctual_model::{
    Audience, ChannelKey, Envelope, NewNotification, NotificationId, delivery_policy::Handling,
};
use punctual_store::{channels, lists, templates};
use punctual_wire::{Code, FieldError, Problem, content::Content, messages::MessageRequest};
use punctual_workflows::{
    due_window,
    messages::{NewMessage, send_at},
};
use serde_json::{Map, Value, json};

use super::{
    OFFERED,
    from_template::{self, Chosen},
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, over_quota},
    editor::{Done, Field, Form, Kind, Listing, Part, Refused, Resource, Stored, again},
    form::{Fields, Signed},
    frame::Visit,
    pages::{settings::offered_units, work::out_of_window, work_row::CHANNEL_UNKNOWN},
};

pub struct Messages;

impl Resource for Messages {
    const HOME: &'static str = "/outbox";
    const ONE: &'static str = "message";
    const MANY: &'static str = "Outbox";
    const NAV: &'static str = "/outbox";
    const KEY: &'static str = "/id";
    const EDITED: bool = false;

    fn after(key: &str, note: &str, _: &str) -> String {
        if note == CHANNEL_UNKNOWN { format!("/work/{key}?done={note}") } else { format!("/work/{key}") }
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    /// What is sent has no field that says to whom it goes, or where its text comes from; the form asks for one of two.
    fn to_form(request: &Value) -> Value {
        let mut draft = request.clone();
        let to = if request.get("targets").is_some() { "targets" } else { "list" };
        let from = if request.get("template").is_some() { "template" } else { "text" };
        (draft["to"], draft["from"]) = (to.into(), from.into());
        draft
    }

    fn of_form(mut draft: Value) -> Value {
        if let Some(fields) = draft.as_object_mut() {
            fields.remove("to");
            // Where a template is wanted and none is chosen, that is what is missing.
            if fields.remove("from").is_some_and(|from| from == "template") {
                fields.entry("template").or_insert_with(|| "".into());
            }
        }
        draft
    }

    async fn fresh(_: &App, _: &Visit, draft: &mut Map<String, Value>) {
        draft.insert("priority".to_owned(), "normal".into());
    }

    /// The outbox is a page of its own.
    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(_: &App, _: &Visit, _: &str) -> Result<Option<Stored>, Refusal> {
        Ok(None)
    }

    async fn form(app: &App, visit: &Visit, draft: &Value, _: Option<&Stored>) -> Result<Form, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let lists = lists::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
        let keys = channels::all(&mut reader.conn()).await?;
        let stored = templates::page(&mut reader.conn(), "", OFFERED).await?;
        drop(reader);
        let mut names: Vec<String> = stored.into_iter().map(|row| row.name).collect();
        let chosen = Chosen::of(app, draft).await?;
        // One that a link names may be beyond those that are offered.
        let named = chosen.as_ref().map(|one| one.name.clone()).filter(|name| !names.contains(name));
        names.extend(named);
        let mut choices = vec![(String::new(), "choose one".to_owned())];
        choices.extend(names.into_iter().map(|name| (name.clone(), name)));
        let from = Kind::choice(&[("text", "written here"), ("template", "from a template")]);
        let mut message = vec![
            Field::new("/from", "Text and subject", from).again(),
            Field::new("/template", "Template", Kind::Choice(choices))
                .required()
                .again()
                .only("/from=template"),
            Field::text("/subject", "Subject").required().prose().wide().only("/from=text"),
            Field::new("/body", "Text", Kind::Area).required().prose().only("/from=text"),
        ];
        message.extend(chosen.iter().flat_map(Chosen::fields));
        let offered = |name: String| (name, String::new());
        let zone = &visit.zone;
        let to = Kind::choice(&[("list", "a list"), ("targets", "addresses")]);
        Ok(Form::of(vec![
            Part::new(
                "To",
                vec![
                    Field::new("/to", "Recipients", to).decides(),
                    Field::text("/list", "List")
                        .offering(lists.into_iter().map(|row| offered(row.name)).collect())
                        .only("/to=list"),
                    Field::new("/targets", "Addresses", Kind::List).hint("One a line.").only("/to=targets"),
                    Field::text("/channel", "Channel")
                        .offering(keys.into_iter().map(|row| offered(row.key)).collect())
                        .hint("If empty, that of the list or email:default."),
                ],
            ),
            Part::new("Message", message),
            Part::new(
                "Time and topic",
                vec![
                    Field::new("/sendAt", format!("Time ({})", zone.name), Kind::Moment(zone.whole.clone()))
                        .hint("Now if empty."),
                    Field::new("/priority", "Priority", Kind::priority()),
                    Field::text("/topic", "Topic").hint("People can unsubscribe from a topic."),
                    Field::text("/businessUnit", "Business unit").offering(offered_units(app, visit).await?),
                ],
            ),
            Part::new(
                "HTML, replies and fallback",
                vec![
                    Field::new("/html", "HTML", Kind::Area)
                        .hint("Mail programs show it instead of the text.")
                        .only("/from=text"),
                    Field::text("/replyTo", "Reply to")
                        .hint("Where answers to a mail go, if not to its sender."),
                    Field::new("/failover", "Fallback channels", Kind::Words).hint(
                        "Tried in this order if the first one fails, such as sms:default, email:default.",
                    ),
                ],
            )
            .folded(),
        ]))
    }

    async fn beside(
        app: &App,
        _: &Visit,
        _: Option<&Stored>,
        draft: &Value,
        _: Option<&Fields>,
    ) -> Result<String, Refusal> {
        from_template::beside(app, draft).await
    }

    async fn save(app: &App, visit: &Visit, _: Seen, mut draft: Value) -> Result<Done, Refused> {
        let (now, by) = (app.engine.clock.now(), &visit.viewer.by);
        if draft.get("sendAt").is_none() {
            draft["sendAt"] = json!(now.to_string());
        }
        if draft["template"] == "" {
            return Err(vec![FieldError::new("/template", Code::MissingField, "Template is missing.")].into());
        }
        let MessageRequest { id, send_at: at, revive, content, handling } = MessageRequest::read(&draft, "")?;
        only_by_programs(&content)?;
        if let Some(chosen) = Chosen::named(app, content.template.as_deref().unwrap_or_default())
            .await
            .map_err(Refused::Other)?
        {
            let faults = chosen.faults(&content).await.map_err(Refused::Other)?;
            if !faults.is_empty() {
                return Err(faults.into());
            }
        }
        due_window::check(now, at).map_err(|outside| vec![out_of_window("/sendAt", outside)])?;
        let unit = visit.viewer.unit_or_first(content.business_unit.as_deref().unwrap_or_default());
        let unit = app.engine.unit_for(by, unit, "/businessUnit").await?;
        let usual = || ChannelKey::for_targets("").to_string();
        let channel = content.channel.clone().or_else(|| content.list.is_none().then(usual));
        let named = channel.iter().chain(&handling.failover).cloned();
        let unknown = app.engine.unknown_channels(named.collect()).await?;
        let note = if unknown.is_empty() { "created" } else { CHANNEL_UNKNOWN };
        let audience = content.list.map_or(Audience::Targets(content.targets), Audience::List);
        let unnamed = NotificationId(Default::default());
        let mut new = NewNotification::new(unnamed, audience, content.subject, content.body);
        new.channel = content.channel.as_deref().and_then(|key| key.parse().ok());
        (new.html, new.template, new.locale) = (content.html, content.template, content.locale);
        (new.context, new.type_data) = (content.context, content.type_data);
        new.envelope =
            Envelope { reply_to: content.reply_to, headers: content.headers, ..Envelope::default() };
        Handling::from(handling).give(&mut new);
        let id = id.unwrap_or_else(|| app.engine.random.ordered_uuid(now).to_string());
        let message = NewMessage { id: id.clone(), send_at: at, revive, content: Handed::new(unit, new) };
        match send_at(&app.engine, by, &[message]).await?.into_iter().next() {
            None | Some(Ensured { outcome: EnsureOutcome::Reused, .. }) => {
                Err(Refused::Other(Problem::id_reused(&id).into()))
            }
            Some(Ensured { outcome: EnsureOutcome::OverQuota(reached), .. }) => {
                Err(Refused::Other(over_quota(&reached).into()))
            }
            Some(ensured) => Ok(Done::Saved { key: ensured.id.to_string(), note }),
        }
    }

    async fn remove(_: &App, _: &Visit, key: &str) -> Result<(), CommandError> {
        Err(CommandError::not_found("message", key))
    }
}

/// The form again, with the message for what is typed.
pub async fn preview(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    again::<Messages>(&app, &visit, &fields).await
}

/// That it asks for nothing that only the API takes: files, and texts that are templates of their own.
fn only_by_programs(content: &Content) -> Result<(), Vec<FieldError>> {
    let is_inline = content.context.is_some() && content.template.is_none();
    let faults = [
        (!content.attachments.is_empty(), "/attachments", "Files are sent over the API."),
        (is_inline, "/context", "Values need a stored template; name it in `template`."),
    ];
    let faults = faults.into_iter().filter(|(is_asked, ..)| *is_asked);
    let faults: Vec<FieldError> =
        faults.map(|(_, pointer, detail)| FieldError::new(pointer, Code::FieldConflict, detail)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
