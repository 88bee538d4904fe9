//! `/healthz` and `/readyz`: whether the process lives, and whether it can do its work.

use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
};

/// That the process responds.
#[derive(Serialize, ToSchema)]
pub struct Health {
    #[schema(example = "ok")]
    status: &'static str,
    /// The program's version.
    version: &'static str,
}

/// That the database responds, and how well it keeps what it acknowledged.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    #[schema(example = "ready")]
    status: &'static str,
    /// `sqlite` or `postgres`.
    database: &'static str,
    database_version: String,
    /// Whether an acknowledged row survives a power cut.
    survives_power_loss: bool,
    /// The settings that decide it, as the database reports them.
    #[schema(value_type = Object)]
    durability: serde_json::Map<String, serde_json::Value>,
    sandbox: bool,
}

/// Whether the process lives
#[utoipa::path(get, path = "/healthz", tag = "Health", responses((status = 200, body = Health)))]
pub async fn healthz() -> Answer {
    JsonResponse::ok(&Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// What to probe.
#[derive(Deserialize, IntoParams)]
pub struct Probe {
    /// Given, whatever its value: the database must also take a write within two seconds.
    write: Option<String>,
}

/// Whether the database answers
///
/// Responds within five seconds. `?write` also asks whether the database takes writes: it is read-only after a failover
/// that went wrong, and full when its disk is.
#[utoipa::path(get, path = "/readyz", tag = "Health", params(Probe), responses((status = 200, body = Readiness)))]
pub async fn readyz(State(app): State<Shared>, Query(probe): Query<Probe>) -> Answer {
    if let Err(why) = app.engine.readiness(probe.write.is_some()).await {
        return Err(Failure::not_ready(&why));
    }
    let durability = app.engine.store.durability();
    JsonResponse::ok(&Readiness {
        status: "ready",
        database: durability.database,
        database_version: durability.version.clone(),
        survives_power_loss: durability.survives_power_loss,
        durability: durability
            .settings
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect(),
        sandbox: app.sandbox.is_some(),
    })
}
