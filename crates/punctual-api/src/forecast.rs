//! `/api/v1/forecast` and `/api/v1/why`: what will be sent, and why something was or was not.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp, civil::Time, tz::Offset};
use punctual_engine::titles::Titled;
use punctual_model::Reach;
use punctual_wire::{
    Code, FieldError, Problem,
    fields::{Fields, query_object},
    reminders::{Edge, Forecast, ForecastDay, ForecastItem, ForecastQuery, Why, WhyQuery, WhyStep},
};
use punctual_workflows::reminders::{
    forecast::{self, Days},
    why as path,
};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Read},
    parameters::Parameters,
};

/// The longest look ahead: a year and a little.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 400);

/// What will be sent, by local day
///
/// From the rows that are planned, with what quiet hours do to them; recurring reminders are counted on. Days are whole: the
/// same day has the same entries whatever `from` and `to` are.
#[utoipa::path(get, path = "/api/v1/forecast", tag = "Reminders", security(("key" = ["read"])),
    params(ForecastQuery), responses((status = 200, body = Forecast)))]
pub async fn forecast(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Parameters(pairs): Parameters,
) -> Answer {
    let object = query_object(pairs);
    let mut fields = Fields::query(&object);
    let query = ForecastQuery::read(&mut fields);
    fields.finish()?;
    let now = app.engine.clock.now();
    let from = query.from.unwrap_or(Edge::At(now));
    let to = query.to.unwrap_or_else(|| Edge::At(instant(from) + SignedDuration::from_hours(24 * 30)));
    let length = instant(to).duration_since(instant(from));
    if length.is_negative() || length > LONGEST {
        let detail = "`to` is later than `from`, by at most 400 days.";
        return Err(FieldError::new("/to", Code::OutOfRange, detail).into());
    }
    let kinds = app.engine.kinds_of_interest();
    let unit = match query.business_unit {
        Some(unit) => app.engine.unit_for(&caller.by, Some(unit), "").await?.into_name(),
        None => None,
    };
    let reach = unit.map_or_else(|| caller.by.reach(), |unit| Reach::Units(vec![unit]));
    let mut reader = app.engine.store.read_for_people().await?;
    let span = Days { now, from, to, named: forecast::NAMED };
    let found = forecast::forecast(&mut reader.conn(), &reach, &app.reminders, &kinds, span).await?;
    let titled = found.days.values().flat_map(|day| &day.items);
    let titled: Vec<Titled<'_>> =
        titled.map(|item| Titled { kind: &item.workflow, key: &item.key }).collect();
    let mut titles = app.engine.titles(&mut reader.conn(), &reach, &titled).await?.into_iter();
    drop(reader);
    let days = found.days.into_iter().map(|((local_date, time_zone), day)| ForecastDay {
        local_date,
        time_zone,
        count: day.count,
        recipients: day.recipients,
        by_path: day.by_path,
        items: day
            .items
            .into_iter()
            .map(|item| ForecastItem {
                title: titles.next().unwrap_or_else(|| item.key.clone()),
                key: item.key,
                due_at: item.due_at,
                kind: item.kind.as_str().into(),
                reason: item.reason.map(String::from),
            })
            .collect(),
    });
    JsonResponse::ok(&Forecast { days: days.collect(), cut: found.cut })
}

/// An edge on the time line, for its length.
fn instant(edge: Edge) -> Timestamp {
    match edge {
        Edge::At(at) => at,
        Edge::Day(day) => {
            Offset::UTC.to_timestamp(day.to_datetime(Time::midnight())).unwrap_or(Timestamp::MAX)
        }
    }
}

/// Why something was sent about a source on a day, or why not
#[utoipa::path(get, path = "/api/v1/why", tag = "Reminders", security(("key" = ["read"])),
    params(WhyQuery), responses((status = 200, body = Why)))]
pub async fn why(State(app): State<Shared>, caller: Caller<Read>, Parameters(pairs): Parameters) -> Answer {
    let object = query_object(pairs);
    let mut fields = Fields::query(&object);
    let query = WhyQuery::read(&mut fields);
    fields.finish()?;
    let (kind, id) = (query.source_type, query.source_id);
    let mut reader = app.engine.store.read_for_people().await?;
    let missing = || Failure::from(Problem::not_found("source", format!("{kind}/{id}")));
    let date = query.date.unwrap_or_default();
    let now = app.engine.clock.now();
    let steps =
        path::why(&mut reader.conn(), &caller.by.reach(), &app.reminders, &kind, &id, date, now).await?;
    let decisions = steps.ok_or_else(missing)?.into_iter().map(|step| {
        let (setting_id, setting) = step.setting.unzip();
        WhyStep {
            at: step.at,
            setting,
            setting_id,
            outcome: step.outcome.into(),
            reason: step.reason,
            values: step.values,
            key: step.key,
            work_id: step.work_id,
        }
    });
    JsonResponse::ok(&Why { decisions: decisions.collect() })
}
