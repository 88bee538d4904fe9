//! The trace context of the request that created a row. Separate statements write and read it, and run only if traces are
//! recorded, so the hot statements are not affected.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{NewWork, TraceParent};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// Rows of one transaction that are followed; a source with a thousand reminders would be one trace of thousands of spans.
const FOLLOWED: usize = 64;

/// A recorded span, and when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub by: TraceParent,
    pub at: Timestamp,
}

impl Asked {
    fn written(&self) -> String {
        format!("{} {}", self.by, self.at.as_microsecond())
    }

    fn read(text: &str) -> Option<Self> {
        let (by, at) = text.split_once(' ')?;
        Some(Self { by: TraceParent::parse(by)?, at: Timestamp::from_microsecond(at.parse().ok()?).ok()? })
    }
}

/// Who asked for what a transaction writes, as far as it is recorded: for everything, by the source that it is about, or by the
/// row that it continues from.
#[derive(Clone, Debug, Default)]
pub struct AskedFor {
    everything: Option<Asked>,
    sources: HashMap<(String, String), Asked>,
    /// By keys without their last part, which is the step.
    chains: HashMap<String, Asked>,
}

/// A key without its last part.
fn chain(key: &str) -> &str {
    key.rsplit_once(':').map_or(key, |(chain, _)| chain)
}

impl AskedFor {
    pub fn everything(asked: Asked) -> Self {
        Self { everything: Some(asked), ..Self::default() }
    }

    /// The next steps of the row with this key.
    pub fn after(&mut self, key: &str, asked: Asked) {
        self.chains.insert(chain(key).to_owned(), asked);
    }

    pub fn about(&mut self, source: (String, String), asked: Asked) {
        self.sources.insert(source, asked);
    }

    pub fn is_empty(&self) -> bool {
        self.everything.is_none() && self.sources.is_empty() && self.chains.is_empty()
    }

    /// Who asked for this row.
    pub fn of(&self, row: &NewWork) -> Option<Asked> {
        let of_source = row.source.as_ref().and_then(|source| self.sources.get(source));
        let of_chain = || self.chains.get(chain(row.key.as_str()));
        of_source.or_else(of_chain).or(self.everything.as_ref()).copied()
    }
}

#[derive(SetRow)]
struct Noted {
    id: i64,
    trace: String,
}

const NOTE: Sql = sql!(
    "work.note_trace", each Noted, after 0,
    "UPDATE work SET trace = {.trace}
     {from rows}
     WHERE work.id = {.id}",
);

/// Writes who asked for rows that this transaction has made or moved. It is no new version.
#[boxed]
pub async fn note_traces(conn: &mut Conn<'_>, rows: &[(i64, Asked)]) -> Result<()> {
    let noted: Vec<Noted> =
        rows.iter().take(FOLLOWED).map(|(id, asked)| Noted { id: *id, trace: asked.written() }).collect();
    if !noted.is_empty() {
        conn.execute(&NOTE, with_rows(args![], &noted)).await?;
    }
    Ok(())
}

#[derive(Record)]
struct Traced {
    id: i64,
    trace: Option<String>,
}

const TRACES: Sql = sql!("work.traces", as Traced, "SELECT {columns} FROM work WHERE trace IS NOT NULL AND id IN ({ints $1})");

/// Who asked for these rows, where that is known.
#[boxed]
pub async fn traces(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<HashMap<i64, Asked>> {
    let rows: Vec<Traced> = conn.fetch_all(&TRACES, args![ids]).await?;
    // A text that cannot be read costs the link alone.
    Ok(rows.into_iter().filter_map(|row| Some((row.id, Asked::read(row.trace.as_deref()?)?))).collect())
}

crate::db::statements![NOTE, TRACES];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let by = TraceParent::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        let asked = Asked { by, at: "2026-05-14T07:00:00.000001Z".parse().unwrap() };
        assert_eq!(Asked::read(&asked.written()), Some(asked));
        for wrong in ["", "x", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x 1"] {
            assert_eq!(Asked::read(wrong), None, "{wrong}");
        }
    }
}
