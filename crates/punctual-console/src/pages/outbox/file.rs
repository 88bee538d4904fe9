//! What the outbox lists, as a file: everything that fits the filters, newest first, up to a bound.

use std::collections::HashMap;

use axum::{
    extract::State,
    http::{HeaderValue, Uri, header},
    response::IntoResponse,
};
use jiff::tz::TimeZone;
use punctual_model::table::{Cell, Column, Kind, Table};
use punctual_store::notifications::{self, ListedNotification, Next};

use super::{filter::Filter, named};
use crate::{Shared, answer::Page, form::Fields, frame::Visit, words};

/// Rows of a file at most, and those that are read for it at once.
const EXPORTED: usize = 20_000;
const AT_ONCE: usize = 1_000;
/// Steps over rows that do not fit, so that a filter that fits nothing ends.
const STEPS: usize = 40;

pub async fn csv(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let filter = Filter::read(&Fields::of_query(&uri), &visit.zone);
    let columns = [
        ("id", Kind::Text),
        ("subject", Kind::Text),
        ("status", Kind::Text),
        ("list", Kind::Text),
        ("recipient", Kind::Text),
        ("channel", Kind::Text),
        ("site", Kind::Text),
        ("cause", Kind::Text),
        ("why", Kind::Text),
        ("error", Kind::Text),
        ("created", Kind::Instant),
        ("ended", Kind::Instant),
        ("businessUnit", Kind::Text),
    ];
    let mut table = Table::new(columns.map(|(name, kind)| Column::new(name, kind)).into());
    let blocked = app.engine.blocked_channels().await?;
    let mut browse = filter.browse(blocked.stuck(), AT_ONCE);
    for _ in 0..STEPS {
        let mut reader = app.engine.store.read_for_people().await?;
        let found = notifications::browse(&mut reader.conn(), &visit.viewer.by.reach(), &browse).await?;
        let seqs = found.rows.iter().map(|row| row.seq).collect();
        let to = notifications::recipients(&mut reader.conn(), seqs).await?;
        drop(reader);
        let mut to: HashMap<i64, String> = to.into_iter().map(|to| (to.seq, named(&to))).collect();
        table.rows.extend(found.rows.into_iter().map(|row| {
            let recipient = to.remove(&row.seq);
            cells(row, recipient)
        }));
        match found.next {
            Next::Page(place) | Next::Further(place) if table.rows.len() < EXPORTED => {
                browse.before = Some(place);
            }
            Next::Page(_) | Next::Further(_) | Next::End => break,
        }
    }
    table.rows.truncate(EXPORTED);
    let text = punctual_reports::csv::table(&table, &TimeZone::UTC);
    let kind = HeaderValue::from_static("text/csv; charset=utf-8");
    let name = HeaderValue::from_static("attachment; filename=\"outbox.csv\"");
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], text).into_response())
}

fn cells(row: ListedNotification, recipient: Option<String>) -> Vec<Cell> {
    let text = |text: Option<String>| text.map_or(Cell::Null, Cell::Text);
    let why = words::reason(row.reason_code.as_deref());
    vec![
        Cell::Text(row.id.to_string()),
        Cell::Text(words::called(&row.subject, row.template.as_deref())),
        Cell::Text(row.status.as_str().to_owned()),
        text(row.list_name),
        text(recipient),
        Cell::Text(row.channel.to_string()),
        text(row.source_site),
        text(row.reason_code),
        Cell::Text(why),
        text(row.last_error),
        Cell::Instant(row.created_at),
        row.finished_at.map_or(Cell::Null, Cell::Instant),
        text(row.business_unit),
    ]
}
