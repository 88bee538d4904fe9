//! Titles of work rows for people, used in lists, forecasts, Attention and timelines. Each workflow provides the words
//! ([`Titles`](crate::workflow::Titles)).
//!
//! A title is made from the key of a row, so an expected row has the same title as the stored row.

use std::collections::{BTreeMap, HashMap};

use jiff::{Timestamp, civil::Date, tz::Offset};
use punctual_boxed::boxed;
use punctual_model::{KeyParts, Reach, WorkKey, local_time};
use punctual_store::{Conn, StoreError};

use crate::Engine;

mod steps;

pub use steps::{Step, actor};

/// Keys that are asked for at once; a year's forecast has more.
const AT_ONCE: usize = 2_000;
/// Longer texts of people are cut in a title.
const LONGEST: usize = 120;

/// A row, or one that is expected, as titles are made of it: its kind and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Titled<'a> {
    pub kind: &'a str,
    pub key: &'a str,
}

/// A key as its workflow reads it.
struct Read {
    parts: KeyParts,
    /// It is the second run of another key.
    repeated: bool,
}

impl Engine {
    /// The titles of these rows, in their order, for somebody with this reach. What they are made of is read once for each kind.
    #[boxed]
    pub async fn titles(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        rows: &[Titled<'_>],
    ) -> Result<Vec<String>, StoreError> {
        let now = self.clock.now();
        let mut by_kind: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for row in rows {
            by_kind.entry(row.kind).or_default().push(row.key);
        }
        let mut titles: HashMap<Titled<'_>, String> = HashMap::new();
        for (kind, mut keys) in by_kind {
            keys.sort_unstable();
            keys.dedup();
            for keys in keys.chunks(AT_ONCE) {
                let read: Vec<Read> = keys.iter().map(|key| read(key)).collect();
                let parts: Vec<KeyParts> = read.iter().map(|one| one.parts.clone()).collect();
                let found = match self.workflows.get(kind) {
                    Some(workflow) => workflow.titles.titles(conn, reach, now, &parts).await?,
                    None => Vec::new(),
                };
                let mut found = found.into_iter();
                for (key, one) in keys.iter().zip(read) {
                    let mut title =
                        found.next().flatten().unwrap_or_else(|| format!("{} {key}", named(kind)));
                    if one.repeated {
                        title.push_str(" (repeated)");
                    }
                    titles.insert(Titled { kind, key }, title);
                }
            }
        }
        Ok(rows.iter().map(|row| titles.get(row).cloned().unwrap_or_else(|| row.key.to_owned())).collect())
    }

    /// The title of one row.
    #[boxed]
    pub async fn title(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        kind: &str,
        key: &str,
    ) -> Result<String, StoreError> {
        let titles = self.titles(conn, reach, &[Titled { kind, key }]).await?;
        Ok(titles.into_iter().next().unwrap_or_else(|| key.to_owned()))
    }
}

fn read(key: &str) -> Read {
    let mut read = Read { parts: WorkKey::stored(key).parts(), repeated: false };
    while let KeyParts::SupportRetry { of, .. } = read.parts {
        read = Read { parts: of.parts(), repeated: true };
    }
    read
}

/// A kind as a title begins with it: `Report subscription`.
fn named(kind: &str) -> String {
    let text = if kind.is_empty() { "work".to_owned() } else { kind.replace('-', " ") };
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A date in a title: `14 May`, with its year where that is not the present one.
pub fn day(date: Date, now: Timestamp) -> String {
    let form = if date.year() == Offset::UTC.to_datetime(now).year() { "%-d %b" } else { "%-d %b %Y" };
    date.strftime(form).to_string()
}

/// An instant in a title: `14 May 07:00 UTC`.
pub fn moment(at: Timestamp, now: Timestamp) -> String {
    let local = Offset::UTC.to_datetime(at);
    format!("{} {} UTC", day(local.date(), now), local.strftime("%H:%M"))
}

/// The same in the local time of a zone: `14 May 09:00 Berlin`; in UTC where none is known.
pub fn moment_in(at: Timestamp, zone: Option<&str>, now: Timestamp) -> String {
    let Some((name, zone)) = zone.and_then(|name| Some((name, local_time::zone(name).ok()?))) else {
        return moment(at, now);
    };
    let local = zone.to_datetime(at);
    let city = name.rsplit('/').next().unwrap_or(name).replace('_', " ");
    format!("{} {} {city}", day(local.date(), now), local.strftime("%H:%M"))
}

/// A text of people in one line, cut where it is long.
pub fn line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_date_has_its_year_where_it_is_another_one() {
        let now: Timestamp = "2026-05-01T00:00:00Z".parse().unwrap();
        assert_eq!(day(date(2026, 5, 14), now), "14 May");
        assert_eq!(day(date(2027, 1, 2), now), "2 Jan 2027");
        assert_eq!(moment(now, now), "1 May 00:00 UTC");
        assert_eq!(moment_in(now, Some("America/New_York"), now), "30 Apr 20:00 New York");
        assert_eq!(moment_in(now, Some("no/zone"), now), "1 May 00:00 UTC");
        assert_eq!((line(" a\n b "), line(&"x".repeat(200)).chars().count()), ("a b".to_owned(), LONGEST));
    }

    #[test]
    fn a_second_run_is_read_as_what_it_repeats() {
        let key = WorkKey::support_retry(&WorkKey::message("m").unwrap(), 1).unwrap();
        let again = WorkKey::support_retry(&key, 2).unwrap();
        let found = read(again.as_str());
        assert_eq!((found.parts, found.repeated), (KeyParts::Message { id: "m".into() }, true));
        assert!(!read("message:m").repeated);
    }
}
