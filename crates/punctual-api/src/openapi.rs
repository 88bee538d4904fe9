//! The OpenAPI document: every route, described beside its handler and put together here; `finish` completes it.

mod adapters;
mod changes;
mod closed;
mod finish;
mod operation_ids;
pub mod shapes;

use punctual_wire::RouteReach;
use serde_json::Value;
use utoipa::{
    OpenApi as _,
    openapi::{
        Components, Content, HttpMethod, OpenApi, PathItem, Ref, RefOr, ResponseBuilder,
        extensions::Extensions,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn},
        schema::{ObjectBuilder, Type},
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Shared, attention, audit, blobs, business_units, callbacks, channels, consumers, definitions, erasures,
    events, forecast, health, inbox, keys, lists, messages, metrics, nodes, notifications, operations,
    preferences, reconciliations, reminder_settings, reports, restore, retention, sandbox, scheduler,
    schedules, search, secrets, sites, sources, subscribers, suppressions, surveys, templates, users, work,
};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Punctual",
        description = "Business events become messages that are sent on time, once, and can be explained.\n\n\
            Every route but health takes a key as `Authorization: Bearer KEY`. Times are RFC 3339 in UTC. Errors are \
            `application/problem+json` with a stable `code` and a JSON pointer for each field at fault. Lists come in \
            pages: give `nextCursor` back as `cursor`. A POST may carry an `Idempotency-Key` where it is described; the same \
            request with the same key gets the same answer and does nothing again.",
    ),
    tags(
        (name = "Notifications", description = "Messages to be sent now, and what became of them"),
        (name = "Messages", description = "One message to given targets at a given time"),
        (name = "Schedules", description = "A topic that is published at a given instant"),
        (name = "Work", description = "What becomes due, and what a person can do about it"),
        (name = "Search", description = "Anything by what people know of it"),
        (name = "Attention", description = "What needs attention"),
        (name = "Audit", description = "Who did what, sealed in a chain of digests"),
        (name = "Events", description = "What happened elsewhere"),
        (name = "Sources", description = "The last known state of the things that reminders are about"),
        (name = "Surveys", description = "Questionnaires that events send, and what became of each link"),
        (name = "Survey links", description = "What anybody with a link may do, without a key"),
        (name = "Subscribers", description = "Who gets events, and what became of each delivery"),
        (name = "Consumers", description = "Where events are taken from: streams and queues of message brokers"),
        (name = "Reminders", description = "Reminder settings, forecast and reasons"),
        (name = "Reports", description = "Recurring reports, and who gets them"),
        (name = "Report runs", description = "What was made, who owns it, and what became of it"),
        (name = "Rollouts", description = "Migration from an old scheduler, stage by stage and back"),
        (name = "Lists", description = "Named sets of targets"),
        (name = "Channels", description = "How messages leave"),
        (name = "Suppressions", description = "Addresses that get nothing"),
        (name = "Callbacks", description = "What providers report later about messages; signed, without a key"),
        (name = "Inbox", description = "The caller's own messages"),
        (name = "Delivery policy", description = "Preferences of people, and the policy for everybody"),
        (name = "Templates", description = "Subjects and bodies with variables, one variant per locale"),
        (name = "Business units", description = "Who owns data, and in which time zone they live"),
        (name = "Definitions", description = "Everything that is defined, as one document for version control"),
        (name = "Operations", description = "Events and tasks that notify their people"),
        (name = "Sites", description = "Agents that forward notifications from where scripts run"),
        (name = "Personal data", description = "What is stored about a person, handed out or erased"),
        (name = "Keys", description = "Who may call, and what for"),
        (name = "Users", description = "People who sign in to the console"),
        (name = "Scheduler", description = "One pass over all due work"),
        (name = "Sandbox", description = "A clock that the API moves; only under `serve --sandbox`"),
        (name = "Health", description = "Whether the server is well"),
    ),
    // The last ones are taken alone or many at once, which the macros write out.
    components(schemas(
        punctual_wire::Problem,
        punctual_wire::FieldError,
        punctual_wire::Code,
        punctual_wire::BatchItem,
        punctual_wire::Batch<punctual_wire::BatchItem>,
        punctual_wire::events::EventRequest,
        punctual_wire::messages::MessageAccepted,
        punctual_wire::messages::MessageRequest,
        punctual_wire::notifications::NotificationAccepted,
        punctual_wire::notifications::NotificationRequest,
        punctual_wire::notifications::SourceRequest,
        punctual_wire::schedules::Schedule,
        punctual_wire::schedules::ScheduleRequest,
        punctual_wire::sources::SequenceShape,
    ))
)]
struct Outline;

/// Every route with its description. Each is in the function of its reach, and nowhere else.
pub(crate) fn routes() -> OpenApiRouter<Shared> {
    let mut router = OpenApiRouter::with_openapi(Outline::openapi())
        .merge(reaching(RouteReach::Units, of_units()))
        .merge(reaching(RouteReach::Shared, of_everybody()))
        .merge(reaching(RouteReach::Installation, of_the_installation()))
        .merge(reaching(RouteReach::Site, of_sites()))
        .merge(reaching(RouteReach::Public, without_key()));
    complete(router.get_openapi_mut());
    router
}

/// These routes with this reach, in what they ask of a caller and in the document.
fn reaching(reach: RouteReach, mut routes: OpenApiRouter<Shared>) -> OpenApiRouter<Shared> {
    for item in routes.get_openapi_mut().paths.paths.values_mut() {
        for (_, operation) in operations(item) {
            let extension = Extensions::builder().add("x-reach", reach.as_str()).build();
            operation.extensions.get_or_insert_default().merge(extension);
        }
    }
    routes.route_layer(axum::Extension(reach))
}

/// Rows and definitions of business units: each handler keeps to those of its caller.
fn of_units() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(notifications::list, notifications::intake::post))
        .routes(routes!(notifications::get))
        .routes(routes!(notifications::timeline))
        .routes(routes!(notifications::retry))
        .routes(routes!(notifications::discard))
        .routes(routes!(notifications::acknowledge))
        .routes(routes!(blobs::post))
        .routes(routes!(messages::list, messages::post))
        .routes(routes!(messages::get, messages::patch, messages::delete))
        .routes(routes!(schedules::list, schedules::post))
        .routes(routes!(schedules::get, schedules::patch, schedules::delete))
        .routes(routes!(work::list))
        .routes(routes!(work::get))
        .routes(routes!(work::trace))
        .routes(routes!(work::release))
        .routes(routes!(work::retry))
        .routes(routes!(work::cancel))
        .routes(routes!(attention::get))
        .routes(routes!(search::search))
        .routes(routes!(audit::list))
        .routes(routes!(erasures::post))
        .routes(routes!(erasures::get))
        .routes(routes!(erasures::export))
        .routes(routes!(events::post))
        .routes(routes!(sources::bulk))
        .routes(routes!(sources::list))
        .routes(routes!(sources::get, sources::put, sources::delete))
        .routes(routes!(surveys::list, surveys::post))
        .routes(routes!(surveys::get, surveys::put))
        .routes(routes!(surveys::publish))
        .routes(routes!(surveys::ingest::post))
        .routes(routes!(surveys::ingest::post_as_known))
        .routes(routes!(surveys::ingest::campaign))
        .routes(routes!(surveys::instances::list))
        .routes(routes!(surveys::instances::get, surveys::instances::delete))
        .routes(routes!(surveys::results::get))
        .routes(routes!(surveys::results::csv))
        .routes(routes!(surveys::results::xlsx))
        .routes(routes!(subscribers::events))
        .routes(routes!(subscribers::retry))
        .routes(routes!(reminder_settings::list, reminder_settings::post))
        .routes(routes!(reminder_settings::plan_new))
        .routes(routes!(
            reminder_settings::get,
            reminder_settings::put,
            reminder_settings::patch,
            reminder_settings::delete
        ))
        .routes(routes!(reminder_settings::plan))
        .routes(routes!(forecast::forecast))
        .routes(routes!(forecast::why))
        .routes(routes!(reports::subscriptions::list, reports::subscriptions::post))
        .routes(routes!(reports::subscriptions::orphans))
        .routes(routes!(
            reports::subscriptions::get,
            reports::subscriptions::put,
            reports::subscriptions::patch,
            reports::subscriptions::delete
        ))
        .routes(routes!(reports::subscriptions::pause))
        .routes(routes!(reports::subscriptions::resume))
        .routes(routes!(reports::subscriptions::transfer))
        .routes(routes!(reports::subscriptions::upcoming))
        .routes(routes!(reports::runs::list, reports::runs::run_now))
        .routes(routes!(reports::runs::recent_of))
        .routes(routes!(reports::runs::failed_of))
        .routes(routes!(reports::runs::get))
        .routes(routes!(reports::runs::ownership))
        .routes(routes!(reports::runs::coordinates))
        .routes(routes!(reports::runs::artefact))
        .routes(routes!(reports::runs::retry))
        .routes(routes!(reports::runs::recent))
        .routes(routes!(reports::runs::failed))
        .routes(routes!(reports::ownership::get, reports::ownership::take, reports::ownership::report))
        .routes(routes!(reports::rollouts::list))
        .routes(routes!(reports::rollouts::get, reports::rollouts::put, reports::rollouts::delete))
        .routes(routes!(reports::rollouts::roll_back))
        .routes(routes!(reports::rollouts::comparison))
        .routes(routes!(reports::rollouts::figures))
        .routes(routes!(lists::list))
        .routes(routes!(lists::get, lists::put, lists::delete))
        .routes(routes!(inbox::list))
        .routes(routes!(inbox::read_all))
        .routes(routes!(inbox::read))
        .routes(routes!(business_units::list))
        .routes(routes!(business_units::get, business_units::put, business_units::delete))
        .routes(routes!(operations::subjects::list_events, operations::subjects::post_event))
        .routes(routes!(
            operations::subjects::get_event,
            operations::subjects::patch_event,
            operations::subjects::delete_event
        ))
        .routes(routes!(operations::subjects::list_tasks, operations::subjects::post_task))
        .routes(routes!(
            operations::subjects::get_task,
            operations::subjects::patch_task,
            operations::subjects::delete_task
        ))
        .routes(routes!(operations::people::list))
        .routes(routes!(operations::people::get, operations::people::put, operations::people::delete))
        .routes(routes!(operations::organisations::list))
        .routes(routes!(
            operations::organisations::get,
            operations::organisations::put,
            operations::organisations::delete
        ))
        .routes(routes!(operations::rules::list, operations::rules::post))
        .routes(routes!(operations::rules::get, operations::rules::patch, operations::rules::delete))
        .routes(routes!(operations::rules::repair))
        .routes(routes!(operations::feeds::post))
        .routes(routes!(operations::feeds::delete))
        .routes(routes!(operations::feeds::import))
}

/// Definitions that everybody reads and uses. What changes them concerns the installation.
fn of_everybody() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(channels::list))
        .routes(routes!(channels::get))
        .routes(routes!(preferences::delivery_policy))
        .routes(routes!(templates::list))
        .routes(routes!(templates::get))
        .routes(routes!(templates::preview))
        .routes(routes!(sandbox::clock))
}

/// What concerns all business units together: for callers without a limit.
fn of_the_installation() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(notifications::kpis))
        .routes(routes!(definitions::document::export, definitions::document::import))
        .routes(routes!(restore::get))
        .routes(routes!(restore::release))
        .routes(routes!(restore::discard))
        .routes(routes!(retention::get, retention::put))
        .routes(routes!(retention::plan))
        .routes(routes!(retention::purge))
        .routes(routes!(subscribers::list))
        .routes(routes!(subscribers::get, subscribers::put, subscribers::delete))
        .routes(routes!(subscribers::retry_all))
        .routes(routes!(consumers::list))
        .routes(routes!(consumers::get, consumers::put, consumers::delete))
        .routes(routes!(reconciliations::list))
        .routes(routes!(reconciliations::run))
        .routes(routes!(channels::health))
        .routes(routes!(channels::put, channels::delete))
        .routes(routes!(channels::test))
        .routes(routes!(channels::rotate::rotate))
        .routes(routes!(secrets::rekey))
        .routes(routes!(suppressions::list))
        .routes(routes!(suppressions::get, suppressions::put, suppressions::delete))
        .routes(routes!(preferences::list))
        .routes(routes!(preferences::get, preferences::put, preferences::delete))
        .routes(routes!(preferences::link))
        .routes(routes!(preferences::put_delivery_policy))
        .routes(routes!(templates::put, templates::delete))
        .routes(routes!(nodes::list))
        .routes(routes!(sites::list, sites::post))
        .routes(routes!(sites::get, sites::patch))
        .routes(routes!(sites::rotate))
        .routes(routes!(sites::revoke))
        .routes(routes!(sites::events))
        .routes(routes!(keys::list, keys::post))
        .routes(routes!(keys::delete))
        .routes(routes!(users::list, users::post))
        .routes(routes!(users::get, users::patch, users::delete))
        .routes(routes!(users::invite))
        .routes(routes!(scheduler::tick))
        .routes(routes!(sandbox::move_clock))
        .routes(routes!(sandbox::sent))
        .routes(routes!(sandbox::misbehave))
        .routes(routes!(metrics::metrics))
}

/// What a site does with its own token.
fn of_sites() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(sites::hand_over::identity))
        .routes(routes!(sites::hand_over::post))
        .routes(routes!(sites::hand_over::status))
}

/// What anybody may call.
fn without_key() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(surveys::public::get))
        .routes(routes!(surveys::public::opened))
        .routes(routes!(surveys::public::respond))
        .routes(routes!(surveys::public::respond_as_known))
        .routes(routes!(callbacks::get, callbacks::post))
        .routes(routes!(callbacks::post_secret))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
}

/// The whole document, as it is served.
pub fn document() -> Value {
    finished(&described())
}

/// What the macros say beside the handlers.
pub(crate) fn described() -> OpenApi {
    routes().into_openapi()
}

fn finished(described: &OpenApi) -> Value {
    finish::finished(serde_json::to_value(described).unwrap_or_default())
}

/// The text that is served and checked in.
pub(crate) fn text(described: &OpenApi) -> String {
    let mut text = serde_json::to_string_pretty(&finished(described)).unwrap_or_default();
    text.push('\n');
    text
}

/// Adds what all routes have in common: the key, the problem, the idempotency key.
fn complete(document: &mut OpenApi) {
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("key", bearer);
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            let problem = ResponseBuilder::new()
                .description("What went wrong")
                .content("application/problem+json", Content::new(Some(Ref::from_schema_name("Problem"))))
                .build();
            operation.responses.responses.insert("default".to_owned(), RefOr::T(problem));
            if method == HttpMethod::Post && takes_idempotency_key(operation, path) {
                operation.parameters.get_or_insert_default().push(RefOr::T(idempotency_key()));
            }
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    let all = [
        (HttpMethod::Get, &mut item.get),
        (HttpMethod::Put, &mut item.put),
        (HttpMethod::Post, &mut item.post),
        (HttpMethod::Delete, &mut item.delete),
        (HttpMethod::Patch, &mut item.patch),
    ];
    all.into_iter().filter_map(|(method, operation)| operation.as_mut().map(|operation| (method, operation)))
}

/// Whether the handler asks for the key, as a test compares: those that know their caller and write something.
fn takes_idempotency_key(operation: &Operation, path: &str) -> bool {
    let has_caller = operation.security.is_some();
    has_caller
        && !path.starts_with("/api/v1/reminder-settings/")
        && path != "/api/v1/sites/{site}/notifications"
        && path != "/api/v1/personal-data/export"
        && path != "/api/v1/retention/plan"
}

fn idempotency_key() -> Parameter {
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .description(Some("1 to 255 visible ASCII characters; the same request again gets the same answer"))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(255))
                .pattern(Some("^[!-~]+$")),
        ))
        .build()
}
