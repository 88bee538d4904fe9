//! `/api/v1/blobs`: files that messages name afterwards.

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Request, State},
    http::header,
};
use bytes::Bytes;
use punctual_engine::uploads::NewUpload;
use punctual_model::attachment::{BYTES_MAX, check_media_type};
use punctual_wire::{Code, FieldError, attachments::Blob};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, SendNow},
    body::bounded,
    idempotency::IdempotencyKey,
    parameters::Parameters,
};

/// A body of any media type that may be sent as a file, and whose it is.
pub struct File {
    media_type: String,
    unit: Option<String>,
    content: Bytes,
}

/// Generated clients write a `Content-Type` of their own, which says nothing about the file: the address may say it instead.
const NAME_IT: &str = "The media type of the file is its `Content-Type`, or `contentType` in the address";

impl FromRequest<Shared> for File {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Failure> {
        let (mut parts, body): (_, Body) = request.into_parts();
        let parameters = Parameters::from_request_parts(&mut parts, app).await?;
        let (unit, named) = parameters
            .read(|fields| (fields.optional_name("businessUnit"), fields.optional_name("contentType")))?;
        let header = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let pointer = if named.is_some() { "/contentType" } else { "/Content-Type" };
        let media_type = named.unwrap_or_else(|| header.unwrap_or_default().to_owned());
        if let Err(fault) = check_media_type(&media_type) {
            let detail = format!("{NAME_IT}; {fault}.");
            return Err(FieldError::new(pointer, Code::AttachmentInvalid, detail).into());
        }
        let content = bounded(&parts.headers, body, BYTES_MAX, app.options.body_time).await?;
        Ok(Self { media_type, unit, content })
    }
}

/// Upload a file that messages can attach
///
/// The body is the file itself, of at most 25 MiB, with its media type as `Content-Type` or as `contentType` in the address. When the answer comes it is on
/// disk. It is removed after a day unless a message uses it, and else with the last message that does.
#[utoipa::path(post, path = "/api/v1/blobs", tag = "Notifications", security(("key" = ["ingest"]), ("key" = ["send"])),
    params(("businessUnit" = Option<String>, Query, description = "Whose it is; by default the only unit of the key"),
        ("contentType" = Option<String>, Query, description = "The media type of the file, such as `application/pdf`; by default the header `Content-Type`")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file, with its own media type"),
    responses((status = 201, body = Blob)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<SendNow>,
    once: IdempotencyKey,
    file: File,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let File { media_type, unit, content } = file;
    let business_unit = app.engine.unit_for(&caller.by, unit, "").await?.into_name();
    once.run(app, caller, &content.clone(), |_| async move {
        let new = NewUpload { business_unit, media_type, content: content.to_vec() };
        let row = app.engine.upload(vec![new]).await?.pop();
        let row = row.ok_or_else(punctual_wire::Problem::internal)?;
        JsonResponse::created(&Blob {
            id: row.id,
            content_type: row.media_type,
            size: row.bytes,
            digest: row.digest,
            business_unit: row.business_unit,
            expires_at: row.keep_until,
        })
    })
    .await
}
