//! The forecast by local day: planned rows, moved by quiet hours, and future occurrences of recurring reminders.

use std::collections::{BTreeMap, HashMap};

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, Time},
    tz::Offset,
};
use punctual_boxed::boxed;
use punctual_model::{Audience, Reach, ReasonCode, WorkKey};
use punctual_store::{
    Conn, Named, StoreError,
    lists::{self, ListRow},
    reminders::settings,
    sources,
    work::{self, WorkRow},
};
use punctual_wire::reminders::Edge;

use super::{
    KIND, Providers, Setting, delivery,
    evaluate::{Inputs, invalid},
    load,
    providers::{Case, Parts, Source, Zone},
    recipients,
};
use crate::{reports, schedules, surveys};

/// Which days a forecast is about. Whatever its edges are, a day that it shows is shown whole, so that the same day has
/// the same entries however it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Days {
    pub now: Timestamp,
    pub from: Edge,
    pub to: Edge,
    /// So many entries of each day and zone are named; all are counted.
    pub named: usize,
}

impl Days {
    /// No row before it can be sent on the first day: that begins in some zone fourteen hours before UTC has it, and quiet
    /// hours move a row by at most a day.
    fn start(self) -> Timestamp {
        let first = match self.from {
            Edge::Day(day) => midnight(day),
            Edge::At(at) => at,
        };
        first - SignedDuration::from_hours(24 + 14 + 26)
    }

    /// No row after it is sent on the last day, which ends in some zone twelve hours after UTC does.
    fn end(self) -> Timestamp {
        let last = match self.to {
            Edge::Day(day) => midnight(day) + SignedDuration::from_hours(24 + 12),
            Edge::At(at) => at + SignedDuration::from_hours(26),
        };
        last.min(self.now + HORIZON)
    }

    fn shows(self, zone: &Zone, date: Date) -> bool {
        let of = |edge: Edge| match edge {
            Edge::Day(day) => day,
            Edge::At(at) => zone.date(at),
        };
        (of(self.from)..=of(self.to)).contains(&date)
    }
}

fn midnight(day: Date) -> Timestamp {
    Offset::UTC.to_timestamp(day.to_datetime(Time::midnight())).unwrap_or(Timestamp::MAX)
}

/// How far ahead anything can be planned.
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * 3_660);
/// Rows read at once.
const AT_ONCE: i64 = 1_000;
/// Rows that one forecast reads.
pub const MOST: usize = 50_000;
/// Items that a day names; the rest is counted.
pub const NAMED: usize = 100;

/// One local day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Day {
    pub count: u64,
    /// How many addresses its reminders go to, at present.
    pub recipients: u64,
    pub by_path: BTreeMap<String, u64>,
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub key: String,
    /// The kind of its work row.
    pub workflow: String,
    /// When it will be sent.
    pub due_at: Timestamp,
    /// Where that is not when it is due.
    pub reason: Option<ReasonCode>,
    /// How many addresses it goes to, where that is known beforehand.
    pub recipients: u64,
    pub kind: Entry,
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Message,
    /// A link ends; nothing is sent.
    Expiry,
    /// A report, or a topic that is published.
    Run,
    /// A report that is only compared with the old scheduler's; nothing is sent.
    Shadow,
}

impl Entry {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Expiry => "expiry",
            Self::Run => "run",
            Self::Shadow => "shadow",
        }
    }

    /// Whether a message leaves: what a day counts.
    pub fn is_sent(self) -> bool {
        matches!(self, Self::Message | Self::Run)
    }

    fn of(row: &WorkRow) -> Self {
        match row.kind.as_str() {
            surveys::KIND if surveys::is_expiry(&row.key) => Self::Expiry,
            schedules::KIND => Self::Run,
            _ => Self::Message,
        }
    }
}

/// Days by local date and zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    pub days: BTreeMap<(String, String), Day>,
    /// There was more than one forecast reads.
    pub cut: bool,
}

impl Forecast {
    fn add(&mut self, kind: &str, zone: &Zone, span: Days, item: Item) {
        let date = zone.date(item.due_at);
        if !span.shows(zone, date) {
            return;
        }
        let day = self.days.entry((date.to_string(), zone.name.clone())).or_default();
        if item.kind.is_sent() {
            day.count += 1;
            day.recipients += item.recipients;
            *day.by_path.entry(kind.to_owned()).or_default() += 1;
        }
        if day.items.len() < span.named {
            day.items.push(item);
        }
    }
}

/// Looks ahead over these days, over rows that are within reach.
#[boxed]
pub async fn forecast(
    conn: &mut Conn<'_>,
    reach: &Reach,
    providers: &Providers,
    kinds: &[String],
    span: Days,
) -> Result<Forecast, StoreError> {
    let mut forecast = Forecast::default();
    let mut looked_at = 0;
    let (start, end) = (span.start().as_microsecond(), span.end().as_microsecond());
    // A row that repeats is planned one at a time, so what it will be on these days is found at its next moment, however
    // much earlier that is. Each subscription has one row: those are read from the first.
    let passes = kinds.iter().flat_map(|kind| match kind.as_str() {
        KIND => vec![(kind, Pass::Repeating), (kind, Pass::From(start))],
        reports::KIND => vec![(kind, Pass::From(i64::MIN))],
        _ => vec![(kind, Pass::From(start))],
    });
    for (kind, pass) in passes {
        let mut after = (i64::MIN, i64::MIN);
        loop {
            let rows = match pass {
                Pass::Repeating => work::repeating(conn, reach, kind, start, after, AT_ONCE).await?,
                Pass::From(start) => work::ahead(conn, reach, kind, start, end, after, AT_ONCE).await?,
            };
            let Some(last) = rows.last() else { break };
            after = (last.ready_at.as_microsecond(), last.id);
            looked_at += rows.len();
            if kind == KIND {
                reminders(conn, reach, providers, rows, span, &mut forecast).await?;
            } else if kind == reports::KIND {
                for run in reports::forecast::expected(conn, reach, &rows, span.now, span.end()).await? {
                    let zone = Zone::named(Some(&run.time_zone));
                    let reports::forecast::Expected { key, at, reason, recipients, is_shadow, .. } = run;
                    let entry = if is_shadow { Entry::Shadow } else { Entry::Run };
                    let workflow = kind.clone();
                    let item = Item { key, workflow, due_at: at, reason, recipients, kind: entry };
                    forecast.add(kind, &zone, span, item);
                }
            } else {
                for row in &rows {
                    let zone = Zone::named(row.time_zone.as_deref());
                    forecast.add(kind, &zone, span, item(row)?);
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

/// Which rows of a kind are read.
#[derive(Clone, Copy)]
enum Pass {
    /// Those before the first day that come again.
    Repeating,
    /// Those from an instant on.
    From(i64),
}

fn item(row: &WorkRow) -> Result<Item, StoreError> {
    Ok(Item {
        key: row.key.clone(),
        workflow: row.kind.clone(),
        due_at: row.ready_at,
        reason: None,
        recipients: 0,
        kind: Entry::of(row),
    })
}

async fn reminders(
    conn: &mut Conn<'_>,
    reach: &Reach,
    providers: &Providers,
    rows: Vec<WorkRow>,
    span: Days,
    forecast: &mut Forecast,
) -> Result<(), StoreError> {
    let ids = rows.iter().filter_map(|row| row.setting_id.clone()).collect();
    let stored = settings::by_ids(conn, reach, ids).await?;
    let known: HashMap<String, Setting> = load::read_settings(providers, &stored)
        .into_iter()
        .map(|setting| (setting.id.clone(), setting))
        .collect();
    let places: Vec<(&str, &str)> = rows
        .iter()
        .filter_map(|row| Some((row.source_type.as_deref()?, row.source_id.as_deref()?)))
        .collect();
    let found = sources::within(conn, reach, &places).await?;
    let inputs = Inputs {
        zones: load::zones(conn, found.iter().map(|row| row.business_unit.clone())).await?,
        ..Inputs::default()
    };
    let found: HashMap<(String, String), Source> = found
        .into_iter()
        .map(|row| ((row.source_type.clone(), row.source_id.clone()), Source::new(row)))
        .collect();
    let audiences = Audiences::load(conn, reach, providers, &known, &found, &rows).await?;
    for row in &rows {
        let place = (row.source_type.clone().unwrap_or_default(), row.source_id.clone().unwrap_or_default());
        let setting = row.setting_id.as_ref().and_then(|id| known.get(id));
        let (Some(setting), Some(source)) = (setting, found.get(&place)) else { continue };
        let zone = inputs.zone(source);
        let case = inputs.case(setting, source, &zone);
        if invalid(providers, &case).is_some() {
            continue;
        }
        let recipients = audiences.count(providers, &case);
        let mut first = Item { recipients, ..item(row)? };
        let policy = delivery::named(providers, &setting.definition);
        let later = |item: &mut Item| {
            if let Some(until) = policy.and_then(|policy| policy.waits_until(&case, item.due_at)) {
                item.due_at = until;
                item.reason = Some(ReasonCode::QuietHours);
            }
        };
        let mut at = first.due_at;
        later(&mut first);
        forecast.add(KIND, &zone, span, first);
        // What follows is planned one at a time; here it is counted on.
        while let Some(next) = setting.rule.next(&case, at).filter(|next| next.due_at < span.end()) {
            at = next.due_at;
            let key = WorkKey::as_str(&next.key).to_owned();
            let kind = Entry::Message;
            let mut item =
                Item { key, workflow: KIND.to_owned(), due_at: at, reason: None, recipients, kind };
            later(&mut item);
            forecast.add(KIND, &zone, span, item);
        }
    }
    Ok(())
}

/// What the number of recipients depends on besides the source itself.
struct Audiences {
    others: HashMap<(String, String), Source>,
    /// How many targets a list has.
    lists: Named<ListRow>,
}

impl Audiences {
    async fn load(
        conn: &mut Conn<'_>,
        reach: &Reach,
        providers: &Providers,
        settings: &HashMap<String, Setting>,
        sources: &HashMap<(String, String), Source>,
        rows: &[WorkRow],
    ) -> Result<Self, StoreError> {
        let mut looked_at: Vec<(String, String)> = Vec::new();
        for row in rows {
            let place = row.source_type.clone().zip(row.source_id.clone()).unwrap_or_default();
            let setting = row.setting_id.as_ref().and_then(|id| settings.get(id));
            let (Some(setting), Some(source)) = (setting, sources.get(&place)) else { continue };
            let named = recipients::named(providers, &setting.definition);
            looked_at.extend(named.and_then(|(provider, spec)| provider.looks_at(spec, source)));
        }
        let places: Vec<(&str, &str)> =
            looked_at.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).collect();
        let others = sources::within(conn, reach, &places).await?;
        let names = settings
            .values()
            .filter_map(|setting| setting.definition.pointer("/recipients/list")?.as_str())
            .map(str::to_owned);
        Ok(Self {
            others: others
                .into_iter()
                .map(|row| ((row.source_type.clone(), row.source_id.clone()), Source::new(row)))
                .collect(),
            lists: lists::named(conn, names.collect()).await?,
        })
    }

    fn count(&self, providers: &Providers, case: &Case<'_>) -> u64 {
        let Some((provider, spec)) = recipients::named(providers, &case.setting.definition) else { return 0 };
        match provider.resolve(spec, case, &Parts::new(&self.others)) {
            Ok(Audience::Targets(targets)) => targets.len() as u64,
            Ok(Audience::List(name)) => {
                let list = self.lists.get(case.source.row.business_unit.as_deref(), &name);
                let targets = list.and_then(|list| serde_json::from_str::<Vec<String>>(&list.targets).ok());
                targets.map_or(0, |targets| targets.len() as u64)
            }
            Err(_) => 0,
        }
    }
}
