//! `/api/v1/templates`: subjects and bodies with variables, one variant per locale.

use axum::extract::State;
use punctual_engine::commands::NewTemplate;
use punctual_store::{
    StoreError,
    templates::{self, TemplateRow},
};
use punctual_templates::{RenderFailure, RenderFault, pick, render};
use punctual_wire::{
    Code, FieldError, Page, Problem,
    page::NamePageQuery,
    templates::{Preview, PreviewRequest, Template, TemplateRequest, Variant},
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    definitions::{self, Definition},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments, checked_name},
};

/// Define a template
#[utoipa::path(put, path = "/api/v1/templates/{name}", tag = "Templates", security(("key" = ["author"])),
    params(("name" = String, Path)), request_body(content = TemplateRequest, example = json!({"defaultLocale": "en", "variants": {"en": {"subject": "Your {{ document }} expires", "body": "On {{ date }}."}}})), responses((status = 200, body = Template)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(name): Segments<String>,
    body: Json,
) -> Answer {
    checked_name(&name, "/name")?;
    let TemplateRequest { default_locale, variants } = TemplateRequest::read(&body.value, "")?;
    let variants = variants.into_iter().map(|(locale, variant)| (locale, texts(variant))).collect();
    let new = NewTemplate { name, default_locale, variants };
    JsonResponse::ok(&app.engine.save_template(&caller.by, new).await?.shape()?)
}

/// A variant as it is rendered.
fn texts(variant: Variant) -> punctual_templates::Variant {
    let Variant { subject, body, html } = variant;
    punctual_templates::Variant { subject, body, html }
}

/// Look at a template
#[utoipa::path(get, path = "/api/v1/templates/{name}", tag = "Templates", security(("key" = ["read"])),
    params(("name" = String, Path)), responses((status = 200, body = Template)))]
pub async fn get(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Segments(name): Segments<String>,
) -> Answer {
    definitions::one(&name, found(&app, &name).await?)
}

/// All templates, by name
#[utoipa::path(get, path = "/api/v1/templates", tag = "Templates", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<Template>)))]
pub async fn list(State(app): State<Shared>, _: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = templates::page(&mut reader.conn(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Remove a template
#[utoipa::path(delete, path = "/api/v1/templates/{name}", tag = "Templates", security(("key" = ["author"])),
    params(("name" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(name): Segments<String>,
) -> Answer {
    app.engine.delete_template(&caller.by, &name).await?;
    JsonResponse::no_content()
}

/// Show a template as a recipient would see it
#[utoipa::path(post, path = "/api/v1/templates/{name}/preview", tag = "Templates", security(("key" = ["author"])),
    params(("name" = String, Path)), request_body = PreviewRequest, responses((status = 200, body = Preview)))]
pub async fn preview(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    Segments(name): Segments<String>,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = PreviewRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let missing = || Failure::from(Problem::not_found("template", &name));
        let template = found(app, &name).await?.ok_or_else(missing)?.shape()?;
        let picked = pick(&template.variants, &template.default_locale, request.locale.as_deref());
        let (locale, variant) = picked.ok_or_else(missing)?;
        let (locale, variant) = (locale.to_owned(), texts(variant.clone()));
        // Up to two seconds of work for the worst template there can be: not on a thread that serves others.
        let rendered = tokio::task::spawn_blocking(move || render(&variant, &request.context)).await;
        let rendered = rendered.map_err(|error| Failure::internal(&error))?.map_err(refusal)?;
        JsonResponse::ok(&Preview {
            subject: rendered.subject,
            body: rendered.body,
            html: rendered.html,
            locale,
        })
    })
    .await
}

fn refusal(fault: RenderFault) -> Failure {
    let field = fault.field;
    match fault.why {
        RenderFailure::UnknownVariable { name } => {
            FieldError::template_unknown_variable("/context", &name).into()
        }
        RenderFailure::Limit => FieldError::template_limit("").into(),
        RenderFailure::SubjectInvalid => FieldError::subject_invalid("").into(),
        RenderFailure::Syntax(fault) => {
            let detail =
                format!("Line {}, column {} of `{field}`: {}.", fault.line, fault.column, fault.detail);
            FieldError::new("", Code::TemplateSyntax, detail).into()
        }
        RenderFailure::Failed { detail } => {
            FieldError::new("", Code::TemplateSyntax, format!("`{field}` cannot be rendered: {detail}."))
                .into()
        }
    }
}

async fn found(app: &App, name: &str) -> Result<Option<TemplateRow>, StoreError> {
    let mut reader = app.engine.store.read_for_people().await?;
    Ok(templates::by_names(&mut reader.conn(), vec![name.to_owned()]).await?.pop())
}

impl Definition for TemplateRow {
    const WHAT: &'static str = "template";
    type Shape = Template;

    fn key(&self) -> &str {
        &self.name
    }

    fn shape(self) -> Result<Template, StoreError> {
        Ok(Template {
            variants: serde_json::from_str(&self.variants)
                .map_err(|_| StoreError::Stored("templates.variants"))?,
            updated_at: self.updated_at,
            name: self.name,
            default_locale: self.default_locale,
            version: self.version,
        })
    }
}
