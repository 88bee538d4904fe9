//! Plans a survey sent by a person: its recipients, and the reason for each skipped one. The send itself is
//! [`ingest`](super::ingest::ingest), as for events.

use std::collections::{HashMap, HashSet};

use punctual_boxed::boxed;
use punctual_engine::Engine;
use punctual_store::{
    StoreError, lists,
    survey_instances::{self, Holder},
    surveys::SurveyRow,
};
use punctual_wire::{csv, limits::INGEST_BATCH_MAX, surveys::IngestItem};
use serde_json::{Map, Value, json};

use super::{
    Catalogue,
    ingest::{self, Asked, Identity, Item, Why},
};

/// The column that says whom to ask; a file without it is a list of addresses.
const ADDRESS: &str = "recipient.address";

/// Somebody whom a person wants to ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where they stand in what was given, from 1.
    pub number: usize,
    pub address: String,
    /// The event, or what is wrong with the line.
    pub item: Result<Item, String>,
}

/// What would become of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Send,
    /// Somebody has a link for the same already, by the duplicate rules.
    AskedBefore,
    /// An earlier line is the same, by the duplicate rules.
    SameAs(usize),
    NotTaken(Why),
    Invalid(String),
}

/// Why nothing can be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CampaignFault {
    #[error("There is no list `{0}`.")]
    NoList(String),
    #[error("The list `{list}` is for {kind}, and the trigger sends over `{channel}`.")]
    OtherChannel { list: String, kind: String, channel: String },
    #[error("There are {0} lines; one campaign takes at most {INGEST_BATCH_MAX}.")]
    TooMany(usize),
    #[error("Nobody is named.")]
    Nobody,
}

/// Reads addresses, one a line; or a file with columns, the first line naming them, as `punctual surveys ingest` takes it.
pub fn read(text: &str) -> Result<Vec<Line>, CampaignFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut records = csv::records(text).peekable();
    let columns = match records.peek() {
        Some(csv::Record { cells: Ok(cells), .. }) if cells.iter().any(|cell| cell.trim() == ADDRESS) => {
            let columns: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
            records.next();
            Some(columns)
        }
        _ => None,
    };
    let is_blank = |cells: &[String]| cells.iter().all(|cell| cell.trim().is_empty());
    let lines: Vec<Line> = records
        .filter(|record| !record.cells.as_ref().is_ok_and(|cells| is_blank(cells)))
        .map(|record| match (record.cells, &columns) {
            (Err(why), _) => {
                Line { number: record.line, address: String::new(), item: Err(format!("{why}.")) }
            }
            (Ok(cells), None) => {
                let address = cells.first().map(|cell| cell.trim().to_owned()).unwrap_or_default();
                line(record.line, json!({ "payload": {}, "recipient": { "address": address } }))
            }
            (Ok(cells), Some(columns)) if cells.len() == columns.len() => {
                line(record.line, event_of(columns, &cells))
            }
            (Ok(cells), Some(columns)) => {
                let why = format!("It has {} columns, the first line has {}.", cells.len(), columns.len());
                Line { number: record.line, address: String::new(), item: Err(why) }
            }
        })
        .collect();
    bounded(lines)
}

fn bounded(lines: Vec<Line>) -> Result<Vec<Line>, CampaignFault> {
    match lines.len() {
        0 => Err(CampaignFault::Nobody),
        many if many > INGEST_BATCH_MAX => Err(CampaignFault::TooMany(many)),
        _ => Ok(lines),
    }
}

/// The event of a line: `recipient.…` says whom to ask, all other columns are its fields.
pub fn event_of(columns: &[String], cells: &[String]) -> Value {
    let (mut payload, mut recipient) = (Map::new(), Map::new());
    for (column, cell) in columns.iter().zip(cells) {
        match column.strip_prefix("recipient.") {
            Some(_) if cell.is_empty() => {}
            Some(name) => drop(recipient.insert(name.to_owned(), cell.trim().into())),
            None => {
                let name = column.strip_prefix("candidate.").unwrap_or(column);
                payload.insert(name.to_owned(), cell.as_str().into());
            }
        }
    }
    json!({ "payload": payload, "recipient": recipient })
}

fn line(number: usize, event: Value) -> Line {
    let address = event["recipient"]["address"].as_str().unwrap_or_default().to_owned();
    let item = IngestItem::read(&event, "")
        .map(|item| Item {
            payload: item.payload,
            address: item.recipient.address,
            locale: item.recipient.locale,
            customer_ref: item.recipient.customer_ref,
            occurred_at: item.occurred_at,
        })
        .map_err(|faults| faults.into_iter().map(|fault| fault.detail).collect::<Vec<_>>().join(" "));
    Line { number, address, item }
}

/// Whom a list has now. A name that belongs to another business unit is unknown.
#[boxed]
pub async fn of_list(
    engine: &Engine,
    catalogue: &Catalogue,
    survey: &SurveyRow,
    trigger_id: &str,
    list: &str,
) -> Result<Result<Vec<Line>, CampaignFault>, StoreError> {
    let mut reader = engine.store.read_for_people().await?;
    let found = lists::named(&mut reader.conn(), vec![list.to_owned()]).await?;
    let Some(row) = found.get(survey.business_unit.as_deref(), list).cloned() else {
        return Ok(Err(CampaignFault::NoList(list.to_owned())));
    };
    let published = catalogue.current(&mut reader.conn()).await?;
    let channel = published.entry(survey.id, trigger_id).map(|entry| entry.trigger().channel.clone());
    if let Some(channel) = channel.filter(|channel| channel.kind() != row.kind) {
        let fault = CampaignFault::OtherChannel {
            list: list.to_owned(),
            kind: row.kind,
            channel: channel.to_string(),
        };
        return Ok(Err(fault));
    }
    let targets: Vec<String> = serde_json::from_str(&row.targets).unwrap_or_default();
    let lines = targets.into_iter().enumerate().map(|(place, address)| {
        line(place + 1, json!({ "payload": {}, "recipient": { "address": address } }))
    });
    Ok(bounded(lines.collect()))
}

/// What would become of each line, with nothing written. `units` limits whose surveys may answer, as for the send.
#[boxed]
pub async fn plan(
    engine: &Engine,
    catalogue: &Catalogue,
    asked: &Asked<'_>,
    units: Option<&[String]>,
    lines: &[Line],
) -> Result<Vec<Fate>, StoreError> {
    let mut reader = engine.store.read_for_people().await?;
    let published = catalogue.current(&mut reader.conn()).await?;
    let identities: Vec<Result<Identity, Fate>> = lines
        .iter()
        .map(|line| match &line.item {
            Err(why) => Err(Fate::Invalid(why.clone())),
            Ok(item) => ingest::only_identity(&published, asked, units, item).map_err(Fate::NotTaken),
        })
        .collect();
    let wanted: HashSet<&String> = identities.iter().flatten().flat_map(Identity::hashes).collect();
    let holders =
        survey_instances::by_hashes(&mut reader.conn(), wanted.into_iter().cloned().collect()).await?;
    let holders: HashMap<&str, &Holder> =
        holders.iter().map(|holder| (holder.unique_hash.as_str(), holder)).collect();
    let is_known = |identity: &Identity| {
        identity.hashes().any(|hash| holders.get(hash.as_str()).is_some_and(|holder| identity.is_of(holder)))
    };
    let mut first: HashMap<&str, usize> = HashMap::new();
    Ok(identities
        .iter()
        .zip(lines)
        .map(|(identity, line)| match identity {
            Err(fate) => fate.clone(),
            Ok(identity) if is_known(identity) => Fate::AskedBefore,
            Ok(Identity { hash, .. }) => match first.get(hash.as_str()) {
                Some(number) => Fate::SameAs(*number),
                None => {
                    first.insert(hash, line.number);
                    Fate::Send
                }
            },
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_files_are_read_and_bad_lines_named() {
        let plain = read("ann@example.org\r\n\n ben@example.org ,x\n").unwrap();
        let addresses: Vec<&str> = plain.iter().map(|line| line.address.as_str()).collect();
        assert_eq!(addresses, ["ann@example.org", "ben@example.org"]);
        let file = read("wip;recipient.address;recipient.locale\n7;ann@example.org;de\n8;x\n").unwrap();
        let item = file[0].item.as_ref().unwrap();
        assert_eq!((item.payload["wip"].as_str(), item.locale.as_deref()), (Some("7"), Some("de")));
        assert!(file[1].item.as_ref().unwrap_err().contains("2 columns, the first line has 3"));
        assert_eq!(read(" \n"), Err(CampaignFault::Nobody));
        let many = "a@b.example\n".repeat(INGEST_BATCH_MAX + 1);
        assert_eq!(read(&many), Err(CampaignFault::TooMany(INGEST_BATCH_MAX + 1)));
    }
}
