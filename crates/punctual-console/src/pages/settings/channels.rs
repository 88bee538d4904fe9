//! Channels: made and changed with the form that their adapter describes.

use askama::Template;
use axum::{Router, extract::State, routing::get};
use punctual_engine::{
    CommandError,
    commands::{NewChannel, Seen},
};
use punctual_model::{AboutAdapter, SettingsFault, local_time};
use punctual_store::channels;
use punctual_wire::{
    Code, FieldError,
    channels::{ChannelPolicy, ChannelRequest},
    names::channel_fault,
};
use serde_json::Value;

use super::channel_health;
use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    editor::{
        Done, Field, Form, Kind, Listing, Part, Refused, Resource, Stored, retry_part, routes,
        settings_parts, take_text, without_secrets,
    },
    form::Fields,
    frame::{Frame, Visit},
};

/// The pages beside the list.
pub fn pages() -> Router<Shared> {
    routes::<Channels>().route("/channels/add", get(add))
}

pub struct Channels;

impl Resource for Channels {
    const HOME: &'static str = "/channels";
    const ONE: &'static str = "channel";
    const MANY: &'static str = "Channels";
    const NAV: &'static str = "/channels";
    const KEY: &'static str = "/key";
    const ADD: &'static str = "add";
    const REMOVING: (&'static str, &'static str) =
        ("Remove", "Its messages are parked until there is a channel with this key again.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_admin()
    }

    /// The page of channels shows how they do, and is a page of its own.
    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, _: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let row = channels::get(&mut reader.conn(), key).await?;
        Ok(row.map(|row| {
            let adapter = app.engine.channels.adapter(&row.adapter).map(AsRef::as_ref);
            let (settings, secrets) = without_secrets(&row.settings, adapter);
            let mut draft = serde_json::to_value(ChannelPolicy::of_stored(&row.policy)).unwrap_or_default();
            draft["key"] = row.key.as_str().into();
            draft["adapter"] = row.adapter.as_str().into();
            draft["settings"] = settings;
            draft["atMostOnce"] = row.at_most_once.into();
            if row.retry != "{}" {
                draft["retry"] = serde_json::from_str(&row.retry).unwrap_or_default();
            }
            let broken =
                app.engine.channels.broken(&row.key).map(|broken| format!("It cannot send: {}.", broken.why));
            Stored {
                draft,
                version: row.version,
                secrets,
                sentence: broken.unwrap_or_else(|| "It is ready to send.".to_owned()),
                key: row.key,
            }
        }))
    }

    async fn form(app: &App, _: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let name = draft["adapter"].as_str().unwrap_or_default();
        let adapter = app.engine.channels.adapter(name);
        let about = adapter.map(|adapter| adapter.about());
        let kind = about.and_then(|about| about.types.first()).copied().unwrap_or("email");
        let key = match stored {
            Some(_) => Field::new("/key", "Key", Kind::Fixed),
            None => Field::text("/key", "Key").required().hint(format!(
                "Type and name; lists of the type {kind} use {kind}:default unless they name another."
            )),
        };
        let title = about.map_or("", |about| about.title);
        let mut parts = vec![
            Part::new("Channel", vec![key, Field::new("/adapter", "Adapter", Kind::Fixed)]).about(title),
        ];
        if let Some(about) = about {
            parts.extend(settings_parts(about, stored.map_or(&[], |stored| &stored.secrets)));
        }
        let usual = if kind == "email" {
            "as usual for mail: after 1, 5 and 15 minutes, 1 and 4 hours"
        } else {
            "as usual: three times, a minute apart"
        };
        let mut retry = retry_part(usual).folded();
        retry.fields.push(Field::new("/atMostOnce", "At most once", Kind::Flag).hint(
            "A message that may have arrived is not retried. For receivers that cannot detect repeats.",
        ));
        parts.push(retry);
        parts.extend([limits(), circuit()]);
        Ok(Form::of(parts))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let key = take_text(&mut draft, "key");
        let read = ChannelRequest::read(&draft, "");
        let mut faults = read.as_ref().err().cloned().unwrap_or_default();
        faults.extend(channel_fault(&key, &|| "/key".to_owned()));
        if !faults.is_empty() && seen == Seen::Nothing {
            // The command looks no further than this; what else is wrong is said at once.
            faults.extend(of_settings(app, &draft));
        }
        let (true, Ok(request)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let ChannelRequest { adapter, settings, retry, at_most_once, policy } = request;
        let retry = retry.and_then(|retry| serde_json::to_value(retry).ok());
        let new = NewChannel { key, adapter, settings, retry, at_most_once, policy: policy.stored() };
        let row = app.engine.replace_channel(&visit.viewer.by, seen, new).await?;
        Ok(Done::Saved { key: row.key, note: "saved" })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        app.engine.delete_channel(&visit.viewer.by, key).await
    }

    async fn below(
        app: &App,
        visit: &Visit,
        stored: Option<&Stored>,
        _: &Value,
        _: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let Some(stored) = stored else { return Ok(String::new()) };
        let form =
            TestForm { token: &visit.viewer.form_token(app.engine.random.as_ref()), channel: &stored.key };
        let form = form.render().map_err(|error| Refusal::internal(&error))?;
        Ok(form + &channel_health::part(app, visit, &stored.key).await?)
    }
}

/// What the adapter finds wrong with the settings of a new channel.
fn of_settings(app: &App, draft: &Value) -> Vec<FieldError> {
    let adapter = draft["adapter"].as_str().and_then(|name| app.engine.channels.adapter(name));
    settings_faults(draft, |settings| adapter.map(|adapter| adapter.check(settings)))
}

/// The faults that an adapter finds in the settings of a draft, at their fields.
pub fn settings_faults(
    draft: &Value,
    check: impl FnOnce(&Value) -> Option<Vec<SettingsFault>>,
) -> Vec<FieldError> {
    let settings = draft.get("settings").cloned().unwrap_or_else(|| Value::Object(Default::default()));
    let fault = |fault: SettingsFault| {
        let code = Code::parse(fault.code).unwrap_or(Code::OutOfRange);
        FieldError::new(format!("/settings{}", fault.pointer), code, fault.detail)
    };
    check(&settings).unwrap_or_default().into_iter().map(fault).collect()
}

#[derive(Template)]
#[template(path = "settings_channel_test.html")]
struct TestForm<'a> {
    token: &'a str,
    channel: &'a str,
}

/// How much it may send, and when.
fn limits() -> Part {
    let zones = local_time::names().into_iter().map(|name| (name, String::new())).collect();
    let days = [
        ("mon", "Monday"),
        ("tue", "Tuesday"),
        ("wed", "Wednesday"),
        ("thu", "Thursday"),
        ("fri", "Friday"),
        ("sat", "Saturday"),
        ("sun", "Sunday"),
    ];
    let days = days.iter().map(|(value, name)| ((*value).to_owned(), (*name).to_owned())).collect();
    Part::new(
        "Limits and hours",
        vec![
            Field::new("/limits/rates", "Rates", Kind::Rates)
                .hint("One a line, such as 30 per 1m, for all nodes together."),
            Field::text("/limits/provider", "Account")
                .hint("For channels that share one account, such as twilio-main."),
            Field::new("/limits/providerRates", "Rates of the account", Kind::Rates)
                .hint("For all channels of the account together.")
                .when("/limits/provider"),
            Field::new("/quietHours/from", "Quiet from", Kind::Time)
                .hint("In the recipient's zone; alarms are sent anyway."),
            Field::new("/quietHours/to", "Quiet until", Kind::Time),
            Field::new("/sendWindow/from", "Sending starts", Kind::Time),
            Field::new("/sendWindow/to", "Sending ends", Kind::Time),
            Field::new("/sendWindow/days", "Sending days", Kind::Checks(days))
                .hint("Every day if none is chosen."),
            Field::text("/timeZone", "Time zone")
                .offering(zones)
                .hint("For recipients whose own zone is not known."),
        ],
    )
    .folded()
}

/// How many calls at once, and when nothing is sent because calls fail.
fn circuit() -> Part {
    Part::new(
        "Concurrency and circuit",
        vec![
            Field::new("/concurrency", "Concurrent calls", Kind::Number)
                .hint("Per node, 1 to 200; the adapter's own number if empty."),
            Field::new("/circuit", "Circuit", Kind::OrFalse("opens after failures", "never opens"))
                .hint("While it is open, nothing is sent but one probe message from time to time."),
            Field::new("/circuit/failures", "Failures until it opens", Kind::Number)
                .placeholder("10")
                .when("/circuit="),
            Field::text("/circuit/openFor", "First open time").placeholder("30s").when("/circuit="),
            Field::text("/circuit/maxOpenFor", "Longest open time").placeholder("5m").when("/circuit="),
        ],
    )
    .folded()
}

#[derive(Template)]
#[template(path = "settings_adapters.html")]
struct AdaptersPage {
    frame: Frame,
    home: &'static str,
    many: &'static str,
    sentence: String,
    /// By what they reach.
    groups: Vec<(&'static str, Vec<AdapterChoice>)>,
}

/// An adapter that something new can have.
struct AdapterChoice {
    link: String,
    title: String,
    purpose: &'static str,
}

/// What adapters reach, in the order in which people look for it: heading, and the types of their addresses.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Mail", &["email"]),
    ("Text messages", &["sms", "whatsapp"]),
    ("Chat and inbox", &["teams", "slack", "inbox"]),
    ("Programs", &[]),
];

async fn add(State(app): State<Shared>, visit: Visit) -> Page {
    choose_adapter::<Channels>(&app, &visit, &[]).await
}

/// The adapters that something new can have: those of these names, or all.
pub async fn choose_adapter<R: Resource>(app: &App, visit: &Visit, among: &[&str]) -> Page {
    let usual = if among.is_empty() { "default" } else { "" };
    let names = app.engine.channels.adapter_names().into_iter();
    let adapters = names.filter(|name| among.is_empty() || among.contains(name)).filter_map(|name| {
        let adapter =
            app.engine.channels.adapter(name).filter(|adapter| adapter.disabled_reason().is_none())?;
        Some((adapter.name(), adapter.about(), usual))
    });
    adapters_page::<R>(app, visit, &format!("Choose what the {} sends with.", R::ONE), adapters).await
}

/// The page to choose an adapter on: the name of each, what it says of itself, and the name that a key with it usually has.
pub async fn adapters_page<R: Resource>(
    app: &App,
    visit: &Visit,
    sentence: &str,
    adapters: impl Iterator<Item = (&str, &'static AboutAdapter, &str)>,
) -> Page {
    R::may_change(visit)?;
    let mut groups = GROUPS.map(|(title, _)| (title, Vec::<AdapterChoice>::new()));
    for (name, about, usual) in adapters {
        let title = if about.title.is_empty() { name } else { about.title };
        let kind = about.types.first().copied().unwrap_or("email");
        let link = format!("{}/new?adapter={name}&key={kind}:{usual}", R::HOME);
        let group = GROUPS.iter().position(|(_, types)| types.contains(&kind)).unwrap_or(GROUPS.len() - 1);
        groups[group].1.push(AdapterChoice { link, title: title.to_owned(), purpose: about.purpose });
    }
    for (_, adapters) in &mut groups {
        adapters.sort_by_key(|adapter| adapter.title.to_lowercase());
    }
    page(&AdaptersPage {
        frame: visit.frame(app, &format!("Add a {}", R::ONE), R::NAV).await?,
        home: R::HOME,
        many: R::MANY,
        sentence: sentence.to_owned(),
        groups: groups.into_iter().filter(|(_, adapters)| !adapters.is_empty()).collect(),
    })
}
