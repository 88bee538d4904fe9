//! The forecast of report subscriptions: the planned run and the runs after it.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{Audience, Reach, ReasonCode};
use punctual_store::{
    Conn, StoreError,
    lists::{self, ListRow},
    report_subscriptions,
    rollouts::{self, RolloutRow},
    work::WorkRow,
};

use super::{CatchUp, KIND, RunKey, subscription::Subscription};
use crate::rollout::{Duty, RunKind, Stage, duty};

/// Occurrences of one subscription that are counted on.
const AHEAD: usize = 400;

/// A run that is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub key: String,
    pub at: Timestamp,
    pub time_zone: String,
    /// What will be done about it, where its moment has passed.
    pub reason: Option<ReasonCode>,
    pub recipients: u64,
    /// It is only compared with the old scheduler's run, and sends nothing.
    pub is_shadow: bool,
}

/// Rollouts that are read; an installation has a handful.
const ROLLOUTS: i64 = 10_000;

/// The runs of these rows, with what follows them before `to`.
#[boxed]
pub async fn expected(
    conn: &mut Conn<'_>,
    reach: &Reach,
    rows: &[WorkRow],
    now: Timestamp,
    to: Timestamp,
) -> Result<Vec<Expected>, StoreError> {
    let guids = rows.iter().filter_map(|row| row.setting_id.clone()).collect();
    let stored = report_subscriptions::by_guids(conn, reach, guids).await?;
    let names = stored.iter().filter_map(|row| row.list_name.clone()).collect();
    let lists = lists::named(conn, names).await?;
    let size =
        |list: &ListRow| serde_json::from_str::<Vec<String>>(&list.targets).map_or(0, |all| all.len() as u64);
    let known: HashMap<String, Subscription> = stored
        .iter()
        .filter_map(|row| Subscription::read(row).ok())
        .map(|subscription| (subscription.guid.clone(), subscription))
        .collect();
    let rollouts: HashMap<(String, String), RolloutRow> =
        rollouts::page(conn, reach, KIND, ("", ""), ROLLOUTS)
            .await?
            .into_iter()
            .map(|row| ((row.scope.clone(), row.scope_id.clone()), row))
            .collect();
    let rollout = |scope: &str, id: &str| rollouts.get(&(scope.to_owned(), id.to_owned()));
    let mut expected = Vec::new();
    for row in rows {
        let run = RunKey::read(&row.key);
        let Some(subscription) = run.as_ref().and_then(|run| known.get(&run.guid)) else { continue };
        let recipients = match &subscription.audience {
            Audience::Targets(targets) => targets.len() as u64,
            Audience::List(name) => lists.get(subscription.business_unit.as_deref(), name).map_or(0, size),
        };
        let unit = subscription.business_unit.as_deref();
        let over = rollout("subject", &subscription.guid).or_else(|| rollout("business_unit", unit?));
        let kind = run.as_ref().map_or(RunKind::Scheduled, |run| run.kind_under(over));
        let is_shadow = duty(Stage::of(over), kind) != Duty::Make;
        let one = |key: String, at: Timestamp, reason| Expected {
            is_shadow,
            key,
            at,
            time_zone: subscription.cadence.zone_name.clone(),
            reason,
            recipients,
        };
        let at = row.ready_at;
        let is_planned = run.is_some_and(|run| run.kind == RunKind::Scheduled) && row.retry_count == 0;
        let missed =
            is_planned && subscription.cadence.latest_until(now).is_some_and(|latest| latest.at > at);
        let reason = match subscription.catch_up {
            CatchUp::Skip => ReasonCode::CatchUpSkip,
            CatchUp::Last => ReasonCode::CatchUpLast,
            CatchUp::All => ReasonCode::CatchUpAll,
        };
        expected.push(one(row.key.clone(), at, missed.then_some(reason)));
        if is_planned && subscription.is_active() {
            let later = subscription.cadence.after(at.max(now)).take(AHEAD).take_while(|next| next.at < to);
            let planned = later.filter_map(|next| subscription.planned(next).ok());
            expected.extend(
                planned
                    .filter(|next| next.key.as_str() != row.key)
                    .map(|next| one(next.key.to_string(), next.occurrence.at, None)),
            );
        }
    }
    Ok(expected)
}
