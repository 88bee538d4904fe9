//! `/api/v1/preferences` and `/api/v1/delivery-policy`: what people want, and the policy for everybody.

use axum::extract::State;
use punctual_model::delivery_policy::Preference as Wanted;
use punctual_store::{
    StoreError,
    delivery_policy::{
        SETTINGS,
        preferences::{self, PreferenceRow},
    },
    facts,
};
use punctual_wire::{
    Page, Problem,
    delivery_policy::{DeliveryPolicy, Preference, PreferenceLink, PreferenceRequest},
    limits::MAIL_ADDRESS_MAX,
    names::name_fault,
    page::NamePageQuery,
};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Admin, Author, Caller, Read},
    body::Json,
    definitions::{self, Definition},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

fn checked_person(person: &str) -> Result<(), Failure> {
    name_fault(person, MAIL_ADDRESS_MAX, &|| "/person".to_owned()).map_or(Ok(()), |fault| Err(fault.into()))
}

/// Say what a person wants
///
/// The person is a name that you choose, or an address. A person with a name is found by each of their addresses.
#[utoipa::path(put, path = "/api/v1/preferences/{person}", tag = "Delivery policy", security(("key" = ["author"])),
    params(("person" = String, Path, example = "ann@example.org")), request_body(content = PreferenceRequest, example = json!({"timeZone": "Europe/Berlin", "quietHours": {"from": "22:00", "to": "07:00"}, "topics": {"offers": {"subscribed": false}}})),
    responses((status = 200, body = Preference)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(person): Segments<String>,
    body: Json,
) -> Answer {
    checked_person(&person)?;
    let request = PreferenceRequest::read(&body.value, "")?;
    let wanted: Wanted = serde_json::to_value(&request)
        .and_then(serde_json::from_value)
        .map_err(|error| Failure::internal(&error))?;
    let stored = app.engine.change_preference(&caller.by, &person, move |kept| *kept = wanted).await?;
    JsonResponse::ok(&stored.shape()?)
}

/// What a person wants
#[utoipa::path(get, path = "/api/v1/preferences/{person}", tag = "Delivery policy", security(("key" = ["read"])),
    params(("person" = String, Path, example = "ann@example.org")), responses((status = 200, body = Preference)))]
pub async fn get(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Segments(person): Segments<String>,
) -> Answer {
    definitions::one(&person, app.engine.preference_of(&person).await?)
}

/// What people want, by name
#[utoipa::path(get, path = "/api/v1/preferences", tag = "Delivery policy", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<Preference>)))]
pub async fn list(State(app): State<Shared>, _: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = preferences::page(&mut reader.conn(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Forget what a person wants
///
/// Also that they have unsubscribed: messages go to them as to anybody.
#[utoipa::path(delete, path = "/api/v1/preferences/{person}", tag = "Delivery policy", security(("key" = ["author"])),
    params(("person" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(person): Segments<String>,
) -> Answer {
    if !app.engine.forget_preference(&caller.by, &person).await? {
        return Err(Problem::not_found("preference", person).into());
    }
    JsonResponse::no_content()
}

/// A link to a person's own page
///
/// The link does not expire; everyone with the link can change the preferences of this person.
#[utoipa::path(post, path = "/api/v1/preferences/{person}/link", tag = "Delivery policy", security(("key" = ["author"])),
    params(("person" = String, Path, example = "ann@example.org")), responses((status = 200, body = PreferenceLink)))]
pub async fn link(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    Segments(person): Segments<String>,
) -> Answer {
    checked_person(&person)?;
    let (app, caller) = (&*app, &*caller);
    once.run(app, caller, &[], |_| async move {
        let url = app.engine.hand_out_preference_link(&caller.by, person).await?;
        JsonResponse::ok(&PreferenceLink { url })
    })
    .await
}

/// Get the delivery policy
#[utoipa::path(get, path = "/api/v1/delivery-policy", tag = "Delivery policy", security(("key" = ["read"])),
    responses((status = 200, body = DeliveryPolicy)))]
pub async fn delivery_policy(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let stored = facts::get(&mut reader.conn(), SETTINGS).await?.unwrap_or_else(|| "{}".to_owned());
    let policy: DeliveryPolicy =
        serde_json::from_str(&stored).map_err(|_| StoreError::Stored("facts.delivery-policy"))?;
    JsonResponse::ok(&policy)
}

/// Set the delivery policy
#[utoipa::path(put, path = "/api/v1/delivery-policy", tag = "Delivery policy", security(("key" = ["admin"])),
    request_body(content = DeliveryPolicy, example = json!({"dailyCap": 5, "digestAt": "08:00", "topics": [{"name": "offers", "title": "Offers and news"}]})),
    responses((status = 200, body = DeliveryPolicy)))]
pub async fn put_delivery_policy(State(app): State<Shared>, caller: Caller<Admin>, body: Json) -> Answer {
    let policy = DeliveryPolicy::read(&body.value, "")?;
    let stored = serde_json::to_value(&policy).map_err(|error| Failure::internal(&error))?;
    app.engine.save_delivery_policy(&caller.by, &stored).await?;
    JsonResponse::ok(&policy)
}

impl Definition for PreferenceRow {
    const WHAT: &'static str = "preference";
    type Shape = Preference;

    fn key(&self) -> &str {
        &self.person
    }

    fn shape(self) -> Result<Preference, StoreError> {
        Ok(Preference {
            wants: serde_json::from_str(&self.definition)
                .map_err(|_| StoreError::Stored("preferences.definition"))?,
            person: self.person,
            version: self.version,
            updated_at: self.updated_at,
        })
    }
}
