//! The editor of an event or task: when it is and for whom, the messages that announce it with their texts, and beside them each message as it
//! would be sent.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{CommandError, OwnUnit, commands::Seen};
use punctual_store::{
    business_units, channels,
    operations::{organisations, people, rules, rules::RuleRow, subjects::SubjectRow},
};
use punctual_wire::{
    Code, FieldError,
    operations::{
        rules::RuleRequest,
        subjects::{EVENT, SubjectRequest, TASK, check_order, settle},
        texts::RuleTexts,
    },
};
use punctual_workflows::{
    inline,
    operations::{
        SubjectType, commands,
        commands::{DefaultRule, NewSubject},
        preview::{Expected, expected},
        save::{WantedRule, save, state_of},
        spec_of, texts,
        written::{rule_shape, rule_spec, texts_fit},
    },
};
use serde_json::{Map, Value, json};

use super::{fields, fields::Offered, shape, visible, when};
use crate::{
    App, Shared,
    answer::{Page, Refusal},
    editor::{
        Act, Done, Form, Listing, Notice, Refused, Resource, Stored, again, routes as pages, shown, take_text,
    },
    form::{Fields, Signed},
    frame::Visit,
    times::When,
};

/// Names that a field offers; with script, others are searched while one types.
const OFFERED: i64 = 200;

pub struct Subjects;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/operations/{kind}/{id}/edit", get(edit))
        .route("/operations/preview", post(preview))
        .merge(pages::<Subjects>())
}

/// The name of one among both types: `events/ID`.
pub fn key(subject_type: &str, id: &str) -> String {
    format!("{subject_type}s/{id}")
}

fn of_key(key: &str) -> Option<(SubjectType, &str)> {
    let (kind, id) = key.split_once('/')?;
    Some((SubjectType::parse(kind.strip_suffix('s')?)?, id))
}

impl Resource for Subjects {
    const HOME: &'static str = "/operations";
    const ONE: &'static str = "event";
    const MANY: &'static str = "Operations";
    const NAV: &'static str = "/operations";
    const KEY: &'static str = "/id";
    const REMOVING: (&'static str, &'static str) =
        ("Delete", "Its messages stop, and what is queued is withdrawn.");

    fn one(draft: &Value) -> &'static str {
        if draft["type"] == "task" { "task" } else { "event" }
    }

    fn at(key: &str) -> String {
        format!("/operations/{key}/edit")
    }

    fn after(key: &str, note: &str, _: &str) -> String {
        format!("/operations/{key}?done={note}")
    }

    fn back(stored: Option<&Stored>) -> String {
        stored.map_or_else(|| Self::HOME.to_owned(), |stored| format!("/operations/{}", stored.key))
    }

    fn name(stored: &Stored) -> String {
        stored.draft["title"].as_str().unwrap_or_default().to_owned()
    }

    fn to_form(request: &Value) -> Value {
        shape::to_form(request)
    }

    fn of_form(draft: Value) -> Value {
        shape::of_form(draft)
    }

    fn place(pointer: &str) -> String {
        shape::place(pointer)
    }

    fn act(act: &Act, tree: &mut Value) -> Option<String> {
        let place = act.apply(tree)?;
        if act.word == "add" && act.pointer == "/rules" {
            let rule = tree.pointer_mut(&place)?;
            *rule = json!({ "rule": { "type": "relative", "anchor": "start", "offset": "-24h" }, "channels": "email" });
        }
        Some(place)
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn fresh(app: &App, visit: &Visit, draft: &mut Map<String, Value>) {
        let on = draft.get("on").and_then(|day| day.as_str()?.parse().ok());
        let today = on.unwrap_or_else(|| visit.zone.day(Visit::now(app)));
        let now = Visit::now(app);
        let nine = visit.zone.read(&format!("{today}T09:00"));
        // What has begun already would send nothing.
        let start = nine.filter(|nine| *nine > now).or_else(|| visit.zone.next_hour(now));
        let at = |start: Option<Timestamp>, hours: i64| {
            Some(start?.checked_add(SignedDuration::from_hours(hours)).ok()?.to_string())
        };
        let rule = |anchor: &str| json!({ "rule": { "type": "at_subject_date", "anchor": anchor }, "channels": ["email"] });
        let usual = json!({ "type": "event", "startDate": at(start, 0), "endDate": at(start, 1), "usual": true,
            "rules": [rule("start"), rule("end")] });
        draft.extend(usual.as_object().cloned().unwrap_or_default());
    }

    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, visit: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let Some((subject_type, id)) = of_key(key) else { return Ok(None) };
        let row = match visible(app, visit, subject_type.as_str(), id).await {
            Ok(row) => row,
            Err(refusal) => match refusal.into_problem() {
                problem if problem.code == Code::NotFound => return Ok(None),
                problem => return Err(problem.into()),
            },
        };
        let mut reader = app.engine.store.read_for_people().await?;
        let own =
            rules::of_subjects(&mut reader.conn(), &visit.viewer.by.reach(), vec![id.to_owned()]).await?;
        Ok(Some(Stored {
            draft: request_of(&row, &own, key),
            version: state_of(&row, &own),
            secrets: Vec::new(),
            sentence: "Its people are notified in time, and a changed date moves the messages.".to_owned(),
            key: key.to_owned(),
        }))
    }

    async fn form(app: &App, visit: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let offered = offered(app, visit, draft).await?;
        Ok(fields::form(draft, &offered, &visit.zone, stored.is_some()))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, draft: Value) -> Result<Done, Refused> {
        let (mut new, wanted) = read(&draft)?;
        let by = &visit.viewer.by;
        let is_new = new.id.is_empty();
        if is_new {
            new.id = app.engine.random.ordered_uuid(app.engine.clock.now()).to_string();
            // Whoever is limited to business units makes things in the first of them.
            let unit = visit.viewer.unit_or_first(new.business_unit.as_deref().unwrap_or_default());
            new.business_unit = app.engine.unit_for(by, unit, "/businessUnit").await?;
        }
        let row = save(&app.engine, by, seen, &new, wanted.as_deref()).await?;
        let note = if is_new { "created" } else { "saved" };
        Ok(Done::Saved { key: key(&row.subject_type, &row.id), note })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        let Some((subject_type, id)) = of_key(key) else {
            return Err(CommandError::not_found("event", key));
        };
        let may = |row: &SubjectRow| row.subject_type == subject_type.as_str();
        match commands::delete(&app.engine, &visit.viewer.by, id, may).await? {
            true => Ok(()),
            false => Err(CommandError::not_found(subject_type.as_str(), id)),
        }
    }

    async fn beside(
        app: &App,
        visit: &Visit,
        _: Option<&Stored>,
        draft: &Value,
        _: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let part = MessagesPart::of(app, visit, draft).await?;
        part.render().map_err(|error| Refusal::internal(&error))
    }
}

/// One that is stored, as the request that would make it.
fn request_of(row: &SubjectRow, own: &[RuleRow], key: &str) -> Value {
    let is_task = row.subject_type == "task";
    let words = if is_task { TASK } else { EVENT };
    let at = |at: Option<Timestamp>| {
        let at = at?;
        // Whole days are days of UTC.
        Some(if row.is_all_day { at.strftime("%Y-%m-%d").to_string() } else { at.to_string() })
    };
    let mut request =
        json!({ "id": key, "type": row.subject_type, "title": row.title, "creator": row.creator });
    request[words.people] = texts(&row.people).into();
    if !is_task {
        request["isAllDay"] = row.is_all_day.into();
    }
    let optional = [
        (words.start, at(row.start_at)),
        (words.end, at(row.end_at)),
        ("organisation", row.organisation.clone()),
        ("timeZone", row.time_zone.clone()),
        ("location", row.location.clone()),
        ("description", row.description.clone()),
        ("businessUnit", row.business_unit.clone()),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            request[name] = value.into();
        }
    }
    request["rules"] = own.iter().filter_map(rule_of).collect();
    request
}

fn rule_of(row: &RuleRow) -> Option<Value> {
    let shape = rule_shape(&spec_of(row)?);
    // How its messages are handled stands beside the rest.
    let handling: Option<Value> = row.handling.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let mut rule = handling.filter(Value::is_object).unwrap_or_else(|| json!({}));
    rule["id"] = row.id.as_str().into();
    rule["rule"] = json!(shape);
    rule["channels"] = texts(&row.channels).into();
    let message = RuleTexts::stored(row.texts.as_deref());
    if !message.is_empty() {
        rule["message"] = json!(message);
    }
    if !row.active {
        rule["active"] = false.into();
    }
    Some(rule)
}

/// What a request asks for; its id is empty where it is new.
fn read(draft: &Value) -> Result<(NewSubject, Option<Vec<WantedRule>>), Vec<FieldError>> {
    let mut draft = draft.clone();
    let known = take_text(&mut draft, "id");
    let named = take_text(&mut draft, "type");
    let (subject_type, id) = match of_key(&known) {
        Some((subject_type, id)) => (subject_type, id.to_owned()),
        None => match SubjectType::parse(&named) {
            Some(subject_type) => (subject_type, String::new()),
            None => {
                let detail = "`type` takes `event` or `task`.";
                return Err(vec![FieldError::new("/type", Code::OutOfRange, detail)]);
            }
        },
    };
    let rules = draft.as_object_mut().and_then(|fields| fields.remove("rules"));
    let words = if subject_type == SubjectType::Task { TASK } else { EVENT };
    let mut faults = Vec::new();
    let wanted = rules.map(|rules| wanted(&rules, subject_type, &mut faults));
    let request = match SubjectRequest::read(&draft, "", words) {
        Ok(request) => request,
        Err(mut found) => {
            found.extend(faults);
            return Err(found);
        }
    };
    let dated = |given, name| settle(given, request.is_all_day, name);
    let dates = dated(request.start, words.start).and_then(|start| {
        let end = dated(request.end, words.end)?;
        check_order(start, end, words).map(|()| (start, end))
    });
    let (start_at, end_at) = match dates {
        Ok(dates) if faults.is_empty() => dates,
        Ok(_) => return Err(faults),
        Err(fault) => {
            faults.insert(0, fault);
            return Err(faults);
        }
    };
    let new = NewSubject {
        id,
        subject_type,
        title: request.title,
        start_at,
        end_at,
        is_all_day: request.is_all_day,
        creator: request.creator,
        people: request.people,
        organisation: request.organisation,
        time_zone: request.time_zone,
        // Checked where it is saved.
        business_unit: OwnUnit::stored(request.business_unit),
        ical_uid: None,
        ical_series: None,
        location: request.location,
        description: request.description,
    };
    Ok((new, wanted))
}

fn wanted(rules: &Value, subject_type: SubjectType, faults: &mut Vec<FieldError>) -> Vec<WantedRule> {
    let Some(rules) = rules.as_array() else {
        faults.push(FieldError::new("/rules", Code::WrongType, "`rules` takes an array."));
        return Vec::new();
    };
    let one = |(index, rule): (usize, &Value)| -> Result<WantedRule, Vec<FieldError>> {
        let mut rule = rule.clone();
        let id = take_text(&mut rule, "id");
        let at = format!("/rules/{index}");
        let active = match rule.as_object_mut().and_then(|fields| fields.remove("active")) {
            None => true,
            Some(Value::Bool(active)) => active,
            Some(_) => {
                let detail = "`active` takes true or false.";
                return Err(vec![FieldError::new(format!("{at}/active"), Code::WrongType, detail)]);
            }
        };
        if let Some(fields) = rule.as_object_mut() {
            fields.insert("subjectType".to_owned(), subject_type.as_str().into());
            fields.insert("subjectId".to_owned(), "new".into());
        }
        let request = RuleRequest::read(&rule, &at)?;
        let alone = |fault: FieldError| vec![fault];
        let spec = rule_spec(&request.rule, &format!("{at}/rule")).map_err(alone)?;
        texts_fit(&request.message, &format!("{at}/message")).map_err(alone)?;
        let wanted = DefaultRule {
            rule: spec,
            channels: request.channels,
            handling: request.handling.into(),
            message: request.message,
        };
        Ok(WantedRule { id: Some(id).filter(|id| !id.is_empty()), active, wanted })
    };
    let mut read = Vec::new();
    for rule in rules.iter().enumerate() {
        match one(rule) {
            Ok(rule) => read.push(rule),
            Err(found) => faults.extend(found),
        }
    }
    read
}

/// Whether a person is one of the viewer's units, or of all: the unit of a draft is what somebody typed.
fn sees(visit: &Visit, person: &people::PersonRow) -> bool {
    person.business_unit.as_deref().is_none_or(|unit| visit.viewer.by.may_touch(Some(unit)))
}

async fn offered(app: &App, visit: &Visit, draft: &Value) -> Result<Offered, Refusal> {
    let reach = visit.viewer.by.reach();
    let mut reader = app.engine.store.read_for_people().await?;
    let known = people::page(&mut reader.conn(), &reach, "", OFFERED).await?;
    let groups = organisations::page(&mut reader.conn(), &reach, "", OFFERED).await?;
    let units = business_units::page(&mut reader.conn(), &reach, "", OFFERED).await?;
    let all = channels::all(&mut reader.conn()).await?;
    // Those who are named and not among the first are shown with their names too.
    let named: Vec<String> = draft["participants"]
        .as_array()
        .into_iter()
        .flatten()
        .chain([&draft["creator"]])
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    let names = people::named(&mut reader.conn(), named.clone()).await?;
    drop(reader);
    let mut offered: Vec<(String, String)> = known.into_iter().map(|row| (row.id, row.name)).collect();
    let unit = draft["businessUnit"].as_str();
    for id in named {
        if offered.iter().all(|(known, _)| *known != id)
            && let Some(person) = names.get(unit, &id).filter(|person| sees(visit, person))
        {
            offered.push((id, person.name.clone()));
        }
    }
    let mut words: Vec<String> = vec!["email".to_owned()];
    let of_rules = draft["rules"].as_array().into_iter().flatten().flat_map(|rule| match &rule["channels"] {
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(word) => vec![word.clone()],
        _ => Vec::new(),
    });
    let kinds = all.iter().filter_map(|row| row.key.split(':').next()).map(str::to_owned);
    for word in kinds.chain(of_rules) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    Ok(Offered {
        people: offered,
        organisations: groups.into_iter().map(|row| (row.id, row.name)).collect(),
        units: units.into_iter().map(|row| (row.id, row.name)).collect(),
        channels: words,
        variables: inline::OPERATION.hint(),
    })
}

/// The messages as they would be sent.
#[derive(Template)]
#[template(path = "operations_messages.html")]
struct MessagesPart {
    /// Why there is nothing to see.
    nothing: String,
    to: String,
    messages: Vec<Message>,
}

struct Message {
    title: String,
    over: String,
    when: Option<When>,
    subject: String,
    body: String,
    fault: Option<String>,
}

impl MessagesPart {
    async fn of(app: &App, visit: &Visit, draft: &Value) -> Result<Self, Refusal> {
        let mut part = Self { nothing: String::new(), to: String::new(), messages: Vec::new() };
        let (new, rules) = match read(draft) {
            Ok(read) => read,
            Err(faults) => {
                // What is still to be filled in is said when somebody sends the form.
                let wrong = faults.iter().find(|fault| fault.code != Code::MissingField);
                let wrong =
                    wrong.map(|fault| crate::words::said(&fault.pointer, &fault.detail)).unwrap_or_default();
                part.nothing = format!("The messages appear here once the form is complete. {wrong}");
                return Ok(part);
            }
        };
        let mut reader = app.engine.store.read_for_people().await?;
        let organisation = match &new.organisation {
            Some(id) => organisations::get(&mut reader.conn(), &visit.viewer.by.reach(), id).await?,
            None => None,
        };
        let mut ids = vec![new.creator.clone()];
        ids.extend(new.people.iter().filter(|id| **id != new.creator).cloned());
        let known = people::named(&mut reader.conn(), ids.clone()).await?;
        drop(reader);
        let unit = new.business_unit.as_deref();
        let names = ids.iter().map(|id| match known.get(unit, id).filter(|person| sees(visit, person)) {
            Some(person) => person.name.clone(),
            None => format!("{id} (unknown: gets nothing)"),
        });
        part.to = names.collect::<Vec<_>>().join(", ");
        let wanted =
            rules.map(|rules| rules.into_iter().filter(|rule| rule.active).map(|rule| rule.wanted).collect());
        let now = Visit::now(app);
        let message = |one: Expected| Message {
            title: when::in_words(&one.rule.rule),
            over: one.rule.channels.join(", "),
            when: one.run_at.map(|at| visit.zone.when(at, now)),
            subject: one.subject,
            body: one.body,
            fault: one.fault,
        };
        part.messages = expected(&new, organisation.as_ref(), wanted).into_iter().map(message).collect();
        Ok(part)
    }
}

async fn edit(
    State(app): State<Shared>,
    visit: Visit,
    Path((kind, id)): Path<(String, String)>,
    uri: Uri,
) -> Page {
    visit.must_author()?;
    let notice = (Fields::of_query(&uri).text("done") == "saved")
        .then(|| Notice { text: "Saved.".to_owned(), warn: false });
    shown::<Subjects>(&app, &visit, &format!("{kind}/{id}"), notice).await
}

/// The form again, with the messages for what is typed.
async fn preview(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    again::<Subjects>(&app, &visit, &fields).await
}
