//! Templates: subjects and texts with variables, one variant for each language, with a preview of what is typed.

use std::collections::BTreeSet;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::header,
    response::IntoResponse,
    routing::post,
};
use punctual_engine::{
    CommandError,
    commands::{NewTemplate, Seen},
};
use punctual_store::templates;
use punctual_templates::{RenderFault, Rendered, Variant, render, variables_of};
use punctual_wire::{limits::NAME_MAX, names::name_fault, templates::TemplateRequest};
use serde_json::{Map, Value, json};

use super::{SHOWN, cut, uses};
use crate::{
    App, Shared,
    answer::{Page, Refusal},
    editor::{
        Done, Field, Form, Kind, LARGE_FORM, Listed, Listing, Part, Refused, Resource, Stored, again,
        take_text, typed_draft,
    },
    form::{Fields, Signed},
    frame::Visit,
    links,
    pages::notification::BODY_POLICY,
    words::counted,
};

pub struct Templates;

impl Resource for Templates {
    const HOME: &'static str = "/settings/templates";
    const ONE: &'static str = "template";
    const MANY: &'static str = "Templates";
    const KEY: &'static str = "/name";
    const REMOVING: (&'static str, &'static str) = ("Remove", "Messages that use it are parked.");

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn fresh(_: &App, _: &Visit, draft: &mut Map<String, Value>) {
        draft.insert("defaultLocale".to_owned(), "en".into());
        draft.insert("variants".to_owned(), json!({"en": {}}));
    }

    async fn list(app: &App, _: &Visit, fields: &Fields) -> Result<Listing, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let rows = templates::page(&mut reader.conn(), fields.text("after"), SHOWN + 1).await?;
        let (rows, next) = cut(rows, |row| row.name.clone());
        let rows = rows.into_iter().map(|row| {
            let variants: Map<String, Value> = serde_json::from_str(&row.variants).unwrap_or_default();
            let subject = variants.get(&row.default_locale).and_then(|one| one["subject"].as_str());
            Listed {
                note: subject.unwrap_or_default().to_owned(),
                pill: None,
                cells: vec![variants.keys().cloned().collect::<Vec<_>>().join(", "), row.version.to_string()],
                title: row.name.clone(),
                key: row.name,
                removable: true,
            }
        });
        Ok(Listing {
            sentence: "Texts of messages, in each language.".to_owned(),
            columns: &["Template", "Languages", "Version"],
            rows: rows.collect(),
            empty: "A template is a subject and a text with variables, in each language. Reminders, surveys and messages refer to it.",
            next,
        })
    }

    async fn stored(app: &App, _: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let mut reader = app.engine.store.read_for_people().await?;
        let row = templates::by_names(&mut reader.conn(), vec![key.to_owned()]).await?.pop();
        Ok(row.map(|row| {
            let variants: Value = serde_json::from_str(&row.variants).unwrap_or_default();
            let languages = variants.as_object().map_or(0, |variants| variants.len());
            let languages = counted(i64::try_from(languages).unwrap_or(i64::MAX), "language", "languages");
            Stored {
                draft: json!({"name": row.name, "defaultLocale": row.default_locale, "variants": variants}),
                version: row.version,
                secrets: Vec::new(),
                sentence: format!("{languages}; saved {}.", counted(row.version, "time", "times")),
                key: row.name,
            }
        }))
    }

    async fn form(_: &App, _: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let name = match stored {
            Some(_) => Field::new("/name", "Name", Kind::Fixed),
            None => {
                Field::text("/name", "Name").required().hint("Definitions refer to it, such as due-soon.")
            }
        };
        let mut parts = vec![Part::new(
            "Template",
            vec![
                name,
                Field::text("/defaultLocale", "Default language")
                    .required()
                    .hint("For recipients whose language has no text."),
                Field::text("/addLocale", "New language")
                    .hint("Such as de or en-GB; Preview or Save adds its fields."),
            ],
        )];
        for locale in locales(draft) {
            let at = |field: &str| format!("/variants/{locale}/{field}");
            let fields = vec![
                Field { wide: true, ..Field::text(at("subject"), "Subject").required() },
                Field::new(at("body"), "Text", Kind::Area),
                Field::new(at("html"), "HTML", Kind::Area)
                    .hint("Optional; mail programs show it instead of the text."),
            ];
            let about = "Variables are written as {{ name }}. Leave all fields empty to remove the language.";
            parts.push(Part::new(format!("Language {locale}"), fields).about(about));
        }
        Ok(Form::of(parts))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let (name, added) = (take_text(&mut draft, "name"), take_text(&mut draft, "addLocale"));
        complete(&mut draft, &added);
        let read = TemplateRequest::read(&draft, "");
        let mut faults = read.as_ref().err().cloned().unwrap_or_default();
        faults.extend(name_fault(&name, NAME_MAX, &|| "/name".to_owned()));
        let (true, Ok(request)) = (faults.is_empty(), read) else { return Err(Refused::Faults(faults)) };
        let variants = request
            .variants
            .into_iter()
            .map(|(locale, one)| (locale, Variant { subject: one.subject, body: one.body, html: one.html }));
        let new = NewTemplate { name, default_locale: request.default_locale, variants: variants.collect() };
        let row = app.engine.replace_template(&visit.viewer.by, seen, new).await?;
        Ok(Done::Saved { key: row.name, note: "saved" })
    }

    async fn remove(app: &App, visit: &Visit, key: &str) -> Result<(), CommandError> {
        app.engine.delete_template(&visit.viewer.by, key).await
    }

    async fn below(
        app: &App,
        visit: &Visit,
        stored: Option<&Stored>,
        draft: &Value,
        typed: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let locales: Vec<String> = locales(draft).into_iter().collect();
        let text = |name: &str| typed.map(|fields| fields.text(name).to_owned()).unwrap_or_default();
        let locale = Some(text("previewLocale")).filter(|locale| locales.contains(locale));
        let locale =
            locale.or_else(|| draft["defaultLocale"].as_str().map(str::to_owned)).unwrap_or_default();
        let variant = variant(draft, &locale);
        let variables = variables_of(&variant);
        let context = Some(text("context")).filter(|context| !context.is_empty());
        let context = context.unwrap_or_else(|| sample(&variables));
        let preview = if typed.is_some() { Some(previewed(variant, &context).await?) } else { None };
        let part = PreviewPart { locales, locale, variables, context, preview };
        let part = part.render().map_err(|error| Refusal::internal(&error))?;
        let Some(stored) = stored else { return Ok(part) };
        let name = stored.key.as_str();
        let write = (format!("/outbox/new{}", links::query([("template", name)])), "Write a message from it");
        let acts = visit.viewer.may_author().then_some(write).into_iter().collect();
        Ok(part + &uses::part(app, visit, "template", name, acts).await?)
    }
}

/// The languages of a draft: as a request has them, or as fields of a form.
fn locales(draft: &Value) -> BTreeSet<String> {
    let mut found: BTreeSet<String> =
        draft["variants"].as_object().into_iter().flatten().map(|(locale, _)| locale.clone()).collect();
    for name in draft.as_object().into_iter().flatten().map(|(name, _)| name) {
        let locale = name.strip_prefix("variants/").and_then(|rest| rest.split('/').next());
        found.extend(locale.map(str::to_owned));
    }
    let added = draft["addLocale"].as_str().unwrap_or_default().trim();
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    found.extend(Some(added).filter(|added| !added.is_empty() && plain(added)).map(str::to_owned));
    found
}

/// A text may be empty; a language that has nothing is left out; one that was added is asked for.
fn complete(draft: &mut Value, added: &str) {
    let default = draft["defaultLocale"].as_str().unwrap_or_default().to_owned();
    let Some(fields) = draft.as_object_mut() else { return };
    let variants = fields.entry("variants").or_insert_with(|| json!({}));
    let Some(variants) = variants.as_object_mut() else { return };
    variants.retain(|locale, one| *locale == default || one.as_object().is_some_and(|one| !one.is_empty()));
    for locale in [default.as_str(), added].into_iter().filter(|locale| !locale.is_empty()) {
        variants.entry(locale).or_insert_with(|| json!({}));
    }
    for one in variants.values_mut().filter_map(Value::as_object_mut) {
        one.entry("body").or_insert_with(|| "".into());
    }
}

/// The texts of one language.
pub(in crate::pages) fn variant(draft: &Value, locale: &str) -> Variant {
    let one = &draft["variants"][locale];
    let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
    Variant {
        subject: text("subject"),
        body: text("body"),
        html: Some(text("html")).filter(|html| !html.is_empty()),
    }
}

/// A context that gives each variable something to show.
fn sample(variables: &BTreeSet<String>) -> String {
    let mut context = Value::Object(Map::new());
    for variable in variables {
        let mut place = &mut context;
        for name in variable.split('.').filter(|name| !name.is_empty()) {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[name];
        }
        if place.is_null() {
            *place = variable.rsplit('.').next().unwrap_or_default().into();
        }
    }
    serde_json::to_string_pretty(&context).unwrap_or_default()
}

/// What a reader would see, or why there is nothing to see.
async fn previewed(variant: Variant, context: &str) -> Result<Result<Rendered, String>, Refusal> {
    let context: Value = match serde_json::from_str(context) {
        Ok(context) => context,
        Err(fault) => return Ok(Err(format!("The sample is not JSON: {fault}."))),
    };
    Ok(rendered(variant, context).await?.map_err(|fault| format!("{fault}.")))
}

/// The texts filled in.
pub(in crate::pages) async fn rendered(
    variant: Variant,
    context: Value,
) -> Result<Result<Rendered, RenderFault>, Refusal> {
    // Up to two seconds of work for the worst template there can be: not on a thread that serves others.
    let rendered = tokio::task::spawn_blocking(move || render(&variant, &context)).await;
    rendered.map_err(|error| Refusal::internal(&error))
}

#[derive(Template)]
#[template(path = "settings_template_preview.html")]
struct PreviewPart {
    locales: Vec<String>,
    locale: String,
    variables: BTreeSet<String>,
    context: String,
    preview: Option<Result<Rendered, String>>,
}

/// The form again, with a preview of what is typed.
pub fn preview() -> Router<Shared> {
    Router::new()
        .route("/settings/templates/preview", post(show_preview))
        .route("/settings/templates/html", post(show_html))
        .layer(DefaultBodyLimit::max(LARGE_FORM))
}

/// The HTML of what is typed, alone, for the frame on the page: no script, no form, no origin.
async fn show_html(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    Templates::may_change(&visit)?;
    let draft = typed_draft::<Templates>(&app, &visit, &fields).await?;
    let shown = previewed(variant(&draft, fields.text("previewLocale")), fields.text("context")).await?;
    // A text that is no HTML is shown as text.
    let (kind, text) = match shown.map(|shown| shown.html) {
        Ok(Some(html)) => ("text/html; charset=utf-8", html),
        Ok(None) => ("text/plain; charset=utf-8", "This language has no HTML.".to_owned()),
        Err(why) => ("text/plain; charset=utf-8", why),
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, BODY_POLICY)];
    Ok((headers, text).into_response())
}

async fn show_preview(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    Templates::may_change(&visit)?;
    again::<Templates>(&app, &visit, &fields).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_gets_a_sample() {
        let variant = Variant {
            subject: "{{ document.name }} expires".to_owned(),
            body: "On {{date}}, {{- document.number | upper }} {{ 'text' }}".to_owned(),
            html: None,
        };
        let context: Value = serde_json::from_str(&sample(&variables_of(&variant))).unwrap();
        assert_eq!(context, json!({"date": "date", "document": {"name": "name", "number": "number"}}));
    }
}
