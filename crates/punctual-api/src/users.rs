//! `/api/v1/users`: people who sign in to the console.

use axum::extract::State;
use punctual_engine::commands::{Invitation, Mailed, NewUser, UserChange};
use punctual_store::{
    StoreError,
    users::{self, UserRow},
};
use punctual_wire::{
    Page,
    page::NamePageQuery,
    users::{User, UserChangeRequest, UserInvitation, UserInvited, UserRequest},
};

use crate::{
    App, Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller, Principal},
    body::Json,
    definitions::{self, Definition},
    idempotency::{IdempotencyKey, Ids},
    parameters::{Parameters, Segments},
};

/// Add a person and invite them
///
/// The answer has the link with which they set their password, for the only time: it works once and for three days.
/// Where there is an `email:*` channel, the link is mailed to them too.
#[utoipa::path(post, path = "/api/v1/users", tag = "Users", security(("key" = ["admin"])),
    request_body(content = UserRequest, example = json!({"email": "ada@example.org", "name": "Ada Lovelace", "role": "operator", "businessUnits": ["nz"]})),
    responses((status = 201, body = UserInvited)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = UserRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |ids| create(app, caller, ids, request)).await
}

async fn create(app: &App, caller: &Principal, ids: Ids<'_>, request: UserRequest) -> Answer {
    let UserRequest { email, name, role, business_units } = request;
    let new = NewUser { email, name, role, business_units };
    let id = ids.at(0);
    let user = app.engine.create_user(&caller.by, app.wall.now(), id, new).await?;
    let invited = invite_and_mail(app, caller, &user.id).await?;
    without_link(&invited, JsonResponse::created(&invited)?)
}

/// Invite a person again
///
/// For a person whose link has expired, or who has forgotten the password. The old password stays until the person sets a new
/// one. An earlier link is revoked.
#[utoipa::path(post, path = "/api/v1/users/{id}/invitation", tag = "Users", security(("key" = ["admin"])),
    params(("id" = String, Path)), responses((status = 200, body = UserInvited)))]
pub async fn invite(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(id): Segments<String>,
    once: IdempotencyKey,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    once.run(app, caller, id.clone().as_bytes(), |_| async move {
        let invited = invite_and_mail(app, caller, &id).await?;
        without_link(&invited, JsonResponse::ok(&invited)?)
    })
    .await
}

async fn invite_and_mail(
    app: &App,
    caller: &Principal,
    id: &str,
) -> Result<UserInvited, crate::answer::Failure> {
    let invitation = app.engine.invite_user(&caller.by, app.wall.now(), id).await?;
    let mailed = app.engine.mail_invitation(app.wall.as_ref(), &invitation).await?;
    Ok(shaped(invitation, mailed)?)
}

fn shaped(invitation: Invitation, mailed: Mailed) -> Result<UserInvited, StoreError> {
    let (mailed_over, mail_error) = match mailed {
        Mailed::NoChannel => (None, None),
        Mailed::Sent { channel } => (Some(channel), None),
        Mailed::Failed { channel, error } => (None, Some(format!("{channel}: {error}"))),
    };
    let Invitation { user, link, expires_at } = invitation;
    Ok(UserInvited {
        user: user.shape()?,
        invitation: UserInvitation { link: Some(link), expires_at, mailed_over, mail_error },
    })
}

/// The link is not kept, not even for a repeat of the request.
fn without_link(invited: &UserInvited, answer: JsonResponse) -> Answer {
    let mut kept = invited.clone();
    kept.invitation.link = None;
    Ok(JsonResponse { kept: serde_json::to_vec(&kept).ok(), ..answer })
}

/// List people, by email
#[utoipa::path(get, path = "/api/v1/users", tag = "Users", security(("key" = ["admin"])),
    params(NamePageQuery), responses((status = 200, body = Page<User>)))]
pub async fn list(State(app): State<Shared>, _: Caller<Admin>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = users::page(&mut reader.conn(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Look at a person
#[utoipa::path(get, path = "/api/v1/users/{id}", tag = "Users", security(("key" = ["admin"])),
    params(("id" = String, Path)), responses((status = 200, body = User)))]
pub async fn get(
    State(app): State<Shared>,
    _caller: Caller<Admin>,
    Segments(id): Segments<String>,
) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = users::get(&mut reader.conn(), &id).await?;
    definitions::one(&id, row)
}

/// Change a person
///
/// Whose role or business units change signs in again: their open sessions end. Who is not active cannot sign in.
#[utoipa::path(patch, path = "/api/v1/users/{id}", tag = "Users", security(("key" = ["admin"])),
    params(("id" = String, Path)),
    request_body(content = UserChangeRequest, example = json!({"role": "viewer", "businessUnits": null})),
    responses((status = 200, body = User)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    let UserChangeRequest { email, name, role, business_units, active } =
        UserChangeRequest::read(&body.value, "")?;
    let change = UserChange { email, name, role, business_units, active };
    let row = app.engine.change_user(&caller.by, app.wall.now(), &id, change).await?;
    JsonResponse::ok(&row.shape()?)
}

/// Remove a person
///
/// Their sessions and links end. The audit keeps what they did.
#[utoipa::path(delete, path = "/api/v1/users/{id}", tag = "Users", security(("key" = ["admin"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(id): Segments<String>,
) -> Answer {
    app.engine.delete_user(&caller.by, app.wall.now(), &id).await?;
    JsonResponse::no_content()
}

impl Definition for UserRow {
    const WHAT: &'static str = "user";
    type Shape = User;

    fn key(&self) -> &str {
        &self.email
    }

    fn shape(self) -> Result<User, StoreError> {
        Ok(User {
            business_units: self
                .business_units
                .as_deref()
                .map(|text| serde_json::from_str(text).unwrap_or_default()),
            has_password: self.password_hash.is_some(),
            external_subject: self.subject,
            rights_from_provider: self.rights_from_provider,
            created_at: self.created_at,
            updated_at: self.updated_at,
            last_sign_in_at: self.last_sign_in_at,
            id: self.id,
            email: self.email,
            name: self.name,
            role: self.role,
            active: self.active,
        })
    }
}
