//! Previews a setting for one existing source: recipients, message and available variables. Stores and sends nothing.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::Engine;
use punctual_model::{Audience, NewNotification, Reach, ReasonCode, TextField, WorkKey};
use punctual_store::{Conn, StoreError, sources, sources::SourceRow, templates};
use punctual_templates::{Rendered, Variant, pick, render};
use serde_json::Value;

use super::{
    Providers, Setting, delivery,
    delivery::Occurrence,
    evaluate::{Inputs, invalid},
    load, outlook,
    providers::{Case, Parts, Source},
    recipients,
};

/// Variables that an author is shown.
const VARIABLES: usize = 100;

/// One message as it would be sent.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Why this source gets none.
    pub not: Option<ReasonCode>,
    /// When the next one is due, where one is.
    pub due_at: Option<Timestamp>,
    /// Whom it goes to, or why to nobody.
    pub audience: Result<Audience, ReasonCode>,
    pub channel: Option<String>,
    /// What it says, or why it cannot be written.
    pub shown: Result<Rendered, String>,
    /// What its texts may name, each with the value it has here.
    pub variables: Vec<(String, String)>,
}

/// The message of a setting about this source, for somebody with this reach.
#[boxed]
pub async fn sample(
    engine: &Engine,
    reach: &Reach,
    providers: &Providers,
    setting: &Setting,
    row: SourceRow,
) -> Result<Sample, StoreError> {
    let now = engine.clock.now();
    let setting = &Setting { active: true, ..setting.clone() };
    let mut reader = engine.store.read_for_people().await?;
    let mut conn = reader.conn();
    let zones = load::zones(&mut conn, std::iter::once(row.business_unit.clone())).await?;
    let inputs = Inputs { zones, ..Inputs::default() };
    let source = Source::new(row);
    let zone = inputs.zone(&source);
    let case = inputs.case(setting, &source, &zone);
    let next = outlook::ahead(&case, now).into_iter().next();
    let seen = next.clone().or_else(|| setting.rule.wanted(&case, now).candidates.into_iter().last());
    let occurrence = match &seen {
        Some(seen) => Occurrence::of(&seen.key, seen.due_at, seen.about),
        None => {
            Occurrence { key: WorkKey::stored("sample"), due_at: now, target_date: None, offset_days: None }
        }
    };
    let audience = audience(&mut conn, reach, providers, &case).await?;
    let to = audience.clone().unwrap_or_else(|_| Audience::Targets(Vec::new()));
    let message =
        delivery::named(providers, &setting.definition).map(|policy| policy.message(&case, &occurrence, to));
    let context = delivery::context(&case, &occurrence);
    let shown = match &message {
        Some(message) => written(&mut conn, message, &context).await?,
        None => Err("There is no such delivery policy.".to_owned()),
    };
    Ok(Sample {
        not: invalid(providers, &case),
        due_at: next.map(|next| next.due_at),
        audience,
        channel: message.and_then(|message| message.channel).map(|channel| channel.to_string()),
        shown,
        variables: variables(&context),
    })
}

async fn audience(
    conn: &mut Conn<'_>,
    reach: &Reach,
    providers: &Providers,
    case: &Case<'_>,
) -> Result<Result<Audience, ReasonCode>, StoreError> {
    let Some((provider, spec)) = recipients::named(providers, &case.setting.definition) else {
        return Ok(Err(ReasonCode::NoRecipients));
    };
    let named = provider.looks_at(spec, case.source);
    let places: Vec<(&str, &str)> = named.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).collect();
    let others: HashMap<(String, String), Source> = sources::within(conn, reach, &places)
        .await?
        .into_iter()
        .map(|row| ((row.source_type.clone(), row.source_id.clone()), Source::new(row)))
        .collect();
    Ok(provider.resolve(spec, case, &Parts::new(&others)))
}

/// A message with its template or its own texts filled in, as it is when it leaves.
async fn written(
    conn: &mut Conn<'_>,
    message: &NewNotification,
    context: &Value,
) -> Result<Result<Rendered, String>, StoreError> {
    let Some(name) = &message.template else {
        let is_template = |field| message.envelope.inline.contains(&field);
        let source = |field, text: &str| if is_template(field) { text.to_owned() } else { String::new() };
        let variant = Variant {
            subject: source(TextField::Subject, &message.subject),
            body: source(TextField::Body, &message.body),
            html: message.html.clone().filter(|_| is_template(TextField::Html)),
        };
        return Ok(render(&variant, context).map_err(|fault| fault.to_string()).map(|shown| Rendered {
            subject: if is_template(TextField::Subject) { shown.subject } else { message.subject.clone() },
            body: if is_template(TextField::Body) { shown.body } else { message.body.clone() },
            html: if is_template(TextField::Html) { shown.html } else { message.html.clone() },
        }));
    };
    let Some(row) = templates::by_names(conn, vec![name.clone()]).await?.pop() else {
        return Ok(Err(format!("There is no template `{name}`; the message is parked until there is.")));
    };
    let stored: BTreeMap<String, Value> = serde_json::from_str(&row.variants).unwrap_or_default();
    let Some((_, variant)) = pick(&stored, &row.default_locale, message.locale.as_deref()) else {
        return Ok(Err(format!("The template `{name}` has no text.")));
    };
    let text = |field: &str| variant[field].as_str().map(str::to_owned);
    let variant = Variant {
        subject: text("subject").unwrap_or_default(),
        body: text("body").unwrap_or_default(),
        html: text("html"),
    };
    Ok(render(&variant, context).map_err(|fault| fault.to_string()))
}

/// Paths into a context with their values, single values alone.
pub fn variables(context: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for root in ["state", "source", "setting", "reminder"] {
        leaves(root, &context[root], &mut found);
    }
    found.truncate(VARIABLES);
    found
}

fn leaves(path: &str, value: &Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(&format!("{path}.{name}"), value, into));
        }
        Value::Array(_) | Value::Null => {}
        Value::String(text) => into.push((path.to_owned(), text.clone())),
        other => into.push((path.to_owned(), other.to_string())),
    }
}
