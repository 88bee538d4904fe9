//! How a channel did over time, below its form: a chart whose bars open their rows, and the same as a table.

use askama::Template;
use punctual_model::NotificationStatus;

use crate::{
    App,
    answer::Refusal,
    chart::{self, By, Chart, Figure},
    figures::{self, Interval, Range},
    frame::Visit,
    links,
    words::grouped,
};

#[derive(Template)]
#[template(path = "settings_channel_health.html")]
struct HealthPart {
    zone: String,
    sentence: String,
    ranges: Vec<(&'static str, String, bool)>,
    chart: Chart,
    legend: Vec<(String, &'static str)>,
    rows: Vec<(String, Vec<Figure>)>,
}

/// The part as HTML; nothing for viewers who do not see all business units, whose messages it counts.
pub async fn part(app: &App, visit: &Visit, channel: &str) -> Result<String, Refusal> {
    if !visit.viewer.sees_all() {
        return Ok(String::new());
    }
    let range = Range::read(visit.query().text("range"));
    let all = figures::intervals(app, Visit::now(app), range).await?;
    let own: Vec<Interval> = all.iter().map(|interval| interval.over(channel)).collect();
    let classes: Vec<_> =
        chart::classes(&own, By::Outcome).into_iter().map(|class| class.only(channel)).collect();
    let about = if own.iter().any(|interval| interval.is_about) { "about " } else { "" };
    let (total, delivered): (i64, i64) =
        own.iter().fold((0, 0), |(all, good), one| (all + one.total(), good + one.delivered()));
    let parked: i64 =
        own.iter().map(|one| one.count(|group| group.status == NotificationStatus::Parked)).sum();
    let sentence = match total {
        0 => format!("Nothing ended over it in {}.", range.in_words()),
        total => format!(
            "{about}{} ended in {}: {} delivered, {} parked.",
            grouped(total),
            range.in_words(),
            grouped(delivered),
            grouped(parked)
        ),
    };
    let link = |range: Range| {
        format!("/channels/edit{}#health", links::query([("key", channel), ("range", range.as_str())]))
    };
    let rows = own.iter().rev().filter(|interval| interval.total() > 0).map(|interval| {
        let cells = classes.iter().map(|class| class.figure(interval));
        (chart::span(interval, range, &visit.zone), cells.collect())
    });
    let part = HealthPart {
        zone: visit.zone.name.clone(),
        sentence,
        ranges: Range::ALL.iter().map(|one| (one.as_str(), link(*one), *one == range)).collect(),
        chart: chart::endings(&own, &classes, range, &visit.zone, Some(channel)),
        rows: rows.collect(),
        legend: classes.into_iter().map(|class| (class.name, class.style)).collect(),
    };
    part.render().map_err(|error| Refusal::internal(&error))
}
