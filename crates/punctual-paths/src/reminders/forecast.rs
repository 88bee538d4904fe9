//! What will be sent on which local day, from the rows that are planned, with what quiet hours do to them and the
//! occurrences of recurring reminders that are not planned yet.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use punctual_model::WorkKey;
use punctual_store::{
    Conn, StoreError,
    reminders::settings,
    sources,
    work::{self, WorkRow},
};

use super::{
    KIND, Providers, Setting, delivery,
    evaluate::{Ground, invalid},
    load,
    providers::{Source, Zone},
};

/// Rows read at once.
const AT_ONCE: i64 = 1_000;
/// Rows that one forecast looks at.
pub const MOST: usize = 50_000;
/// Items that a day names; the rest is counted.
pub const NAMED: usize = 100;

/// One local day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Day {
    pub count: u64,
    pub by_path: BTreeMap<String, u64>,
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub key: String,
    /// When it will go out.
    pub due_at: Timestamp,
    pub title: String,
    /// Where that is not when it is due.
    pub reason: Option<&'static str>,
}

/// Days by local date and zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    pub days: BTreeMap<(String, String), Day>,
    /// There was more than one forecast looks at.
    pub cut: bool,
}

impl Forecast {
    fn add(&mut self, kind: &str, zone: &Zone, item: Item) {
        let date = zone.date(item.due_at).to_string();
        let day = self.days.entry((date, zone.name.clone())).or_default();
        day.count += 1;
        *day.by_path.entry(kind.to_owned()).or_default() += 1;
        if day.items.len() < NAMED {
            day.items.push(item);
        }
    }
}

/// Looks ahead from one instant to another, over rows that `sees` lets through.
pub async fn forecast(
    conn: &mut Conn<'_>,
    providers: &Providers,
    kinds: &[String],
    from: Timestamp,
    to: Timestamp,
    sees: &(dyn Fn(Option<&str>) -> bool + Send + Sync),
) -> Result<Forecast, StoreError> {
    let mut forecast = Forecast::default();
    let mut looked_at = 0;
    for kind in kinds {
        let mut after = (i64::MIN, i64::MIN);
        loop {
            let (start, end) = (from.as_microsecond(), to.as_microsecond());
            let rows = work::ahead(conn, kind, start, end, after, AT_ONCE).await?;
            let Some(last) = rows.last() else { break };
            after = (last.ready_at, last.id);
            looked_at += rows.len();
            let rows: Vec<WorkRow> =
                rows.into_iter().filter(|row| sees(row.business_unit.as_deref())).collect();
            if kind == KIND {
                reminders(conn, providers, rows, to, &mut forecast).await?;
            } else {
                for row in &rows {
                    let zone = Zone::named(row.time_zone.as_deref());
                    forecast.add(kind, &zone, item(row, row.key.clone())?);
                }
            }
            if looked_at >= MOST {
                forecast.cut = true;
                return Ok(forecast);
            }
        }
    }
    Ok(forecast)
}

fn item(row: &WorkRow, title: String) -> Result<Item, StoreError> {
    Ok(Item { key: row.key.clone(), due_at: work::instant(row.ready_at)?, title, reason: None })
}

async fn reminders(
    conn: &mut Conn<'_>,
    providers: &Providers,
    rows: Vec<WorkRow>,
    to: Timestamp,
    forecast: &mut Forecast,
) -> Result<(), StoreError> {
    let ids = rows.iter().filter_map(|row| row.setting_id.clone()).collect();
    let stored = settings::by_ids(conn, ids).await?;
    let known: HashMap<String, Setting> = load::read_settings(providers, &stored)
        .into_iter()
        .map(|setting| (setting.id.clone(), setting))
        .collect();
    let places: Vec<(&str, &str)> = rows
        .iter()
        .filter_map(|row| Some((row.source_type.as_deref()?, row.source_id.as_deref()?)))
        .collect();
    let found = sources::by_keys(conn, &places).await?;
    let ground = Ground {
        zones: load::zones(conn, found.iter().map(|row| row.business_unit.clone())).await?,
        ..Ground::default()
    };
    let found: HashMap<(String, String), Source> = found
        .into_iter()
        .map(|row| ((row.source_type.clone(), row.source_id.clone()), Source::new(row)))
        .collect();
    for row in &rows {
        let place = (row.source_type.clone().unwrap_or_default(), row.source_id.clone().unwrap_or_default());
        let setting = row.setting_id.as_ref().and_then(|id| known.get(id));
        let (Some(setting), Some(source)) = (setting, found.get(&place)) else { continue };
        let zone = ground.zone(source);
        let case = ground.case(setting, source, &zone);
        if invalid(providers, &case).is_some() {
            continue;
        }
        let title = format!("{}: {}/{}", setting.name, place.0, place.1);
        let mut first = item(row, title.clone())?;
        let policy = delivery::named(providers, &setting.definition);
        let later = |item: &mut Item| {
            if let Some(until) = policy.and_then(|policy| policy.waits_until(&case, item.due_at)) {
                item.due_at = until;
                item.reason = Some("quiet-hours");
            }
        };
        let mut at = first.due_at;
        later(&mut first);
        forecast.add(KIND, &zone, first);
        // What follows is planned one at a time; here it is counted on.
        while let Some(next) = setting.rule.next(&case, at).filter(|next| next.due_at < to) {
            at = next.due_at;
            let key = WorkKey::as_str(&next.key).to_owned();
            let mut item = Item { key, due_at: at, title: title.clone(), reason: None };
            later(&mut item);
            forecast.add(KIND, &zone, item);
        }
    }
    Ok(())
}
