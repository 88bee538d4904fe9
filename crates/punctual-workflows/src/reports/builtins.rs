//! Built-in reports over Punctual's own data: deliveries by site and channel, and survey results.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use punctual_model::{
    Decimal, Fault,
    object::Object,
    table::{Cell, Column, Kind, Table},
};
use punctual_reports::{Asked, Builtin, FetchFault, Sources};
use punctual_store::{Store, StoreError, notifications, surveys};
use serde_json::Value;

/// Rows a built-in report has at most: sites times channels, or surveys.
const MOST_ROWS: i64 = 10_000;

/// The sources with those that ship.
pub fn with_built_ins(sources: Sources) -> Arc<Sources> {
    Arc::new(sources.with_builtin(Arc::new(DeliveryKpis)).with_builtin(Arc::new(SurveyResults)))
}

/// The sources of a server without configuration: only those that ship. One for all, because opening the client for
/// endpoints reads the machine's certificates.
pub fn built_in() -> Arc<Sources> {
    static SOURCES: OnceLock<Arc<Sources>> = OnceLock::new();
    SOURCES.get_or_init(|| with_built_ins(Sources::default())).clone()
}

fn storage(error: StoreError) -> FetchFault {
    tracing::warn!(%error, "a built-in report could not be read");
    FetchFault::passing("source_unavailable", "the figures could not be read")
}

fn seconds(micros: Option<i64>) -> Cell {
    micros.map_or(Cell::Null, |micros| Cell::Integer(micros / 1_000_000))
}

struct DeliveryKpis;

impl Builtin for DeliveryKpis {
    fn key(&self) -> &'static str {
        "delivery-kpis"
    }

    fn check(&self, settings: &Value) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Some(mut source) = Object::new(settings, String::new(), &mut faults) {
            source.only(&["builtin"]);
        }
        faults
    }

    fn fetch<'a>(
        &'a self,
        own: &'a Store,
        asked: &'a Asked,
        _settings: &'a Value,
    ) -> BoxFuture<'a, Result<Table, FetchFault>> {
        Box::pin(async move {
            let mut reader = own.read().await.map_err(storage)?;
            let (from, to) = (asked.period_start.as_microsecond(), asked.period_end.as_microsecond());
            let unit = asked.business_unit.as_deref();
            let found =
                notifications::by_site_and_channel(&mut reader.conn(), from, to, unit, MOST_ROWS + 1).await;
            let mut found = found.map_err(storage)?;
            let most = usize::try_from(MOST_ROWS).unwrap_or(usize::MAX);
            let truncated = found.len() > most;
            found.truncate(most);
            let names =
                ["delivered", "parked", "discarded", "withdrawn", "retried", "uncertain", "meanSeconds"];
            let mut columns = vec![Column::new("site", Kind::Text), Column::new("channel", Kind::Text)];
            columns.extend(names.map(|name| Column::new(name, Kind::Integer)));
            let rows = found.into_iter().map(|row| {
                vec![
                    Cell::Text(row.source_site.unwrap_or_else(|| "central".to_owned())),
                    Cell::Text(row.channel),
                    Cell::Integer(row.delivered),
                    Cell::Integer(row.parked),
                    Cell::Integer(row.discarded),
                    Cell::Integer(row.withdrawn),
                    Cell::Integer(row.retried),
                    Cell::Integer(row.uncertain),
                    seconds(row.mean_wait),
                ]
            });
            Ok(Table { columns, rows: rows.collect(), truncated })
        })
    }
}

struct SurveyResults;

impl Builtin for SurveyResults {
    fn key(&self) -> &'static str {
        "survey-results"
    }

    fn check(&self, settings: &Value) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Some(mut source) = Object::new(settings, String::new(), &mut faults) {
            source.only(&["builtin", "survey"]);
            if source.get("survey").is_some_and(|survey| survey.as_i64().is_none()) {
                source.refuse("survey", "wrong_type", "`survey` takes the number of a survey.");
            }
        }
        faults
    }

    fn fetch<'a>(
        &'a self,
        own: &'a Store,
        asked: &'a Asked,
        settings: &'a Value,
    ) -> BoxFuture<'a, Result<Table, FetchFault>> {
        Box::pin(async move {
            let only = settings.get("survey").and_then(Value::as_i64);
            let mut reader = own.read().await.map_err(storage)?;
            let (from, to) = (asked.period_start, asked.period_end);
            let unit = asked.business_unit.as_deref();
            let found = surveys::asked_in(&mut reader.conn(), from, to, only, unit, MOST_ROWS).await;
            let mut columns = vec![Column::new("survey", Kind::Text)];
            columns.extend(
                ["asked", "sent", "answered", "expired"].map(|name| Column::new(name, Kind::Integer)),
            );
            columns.push(Column::new("responseRate", Kind::Percent));
            let rows = found.map_err(storage)?.into_iter().map(|row| {
                let rate = share(row.answered, row.sent);
                let counts = [row.asked, row.sent, row.answered, row.expired];
                let mut cells = vec![Cell::Text(row.name)];
                cells.extend(counts.map(Cell::Integer));
                cells.push(rate);
                cells
            });
            Ok(Table { columns, rows: rows.collect(), truncated: false })
        })
    }
}

/// A share in thousandths, exactly as it is shown.
fn share(part: i64, whole: i64) -> Cell {
    if whole == 0 {
        return Cell::Null;
    }
    let thousandths = (part.saturating_mul(1_000) + whole / 2) / whole;
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    Decimal::of_cell(&text).map_or(Cell::Null, Cell::Decimal)
}
