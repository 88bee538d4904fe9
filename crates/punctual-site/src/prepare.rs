//! A batch prepared for the wire: the rows as JSON, compressed, with what is needed to understand the answer.
//!
//! The body is two gzip streams behind each other. The rows can thus be compressed while the batch before them is on its
//! way, and the report, which says the state when the request leaves, is put in front of them later.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use jiff::Timestamp;
use punctual_store::{
    StoreError,
    site_buffer::outgoing::{self, WaitingRow},
};
use punctual_wire::sites::SiteReport;
use serde::Serialize;

use crate::{Agent, ack::SentRow};

/// Rows that are ready to be sent.
pub struct Prepared {
    pub rows: Vec<SentRow>,
    /// The compressed end of the body: the items and what closes the document.
    end: Vec<u8>,
}

/// An item as it is written, without copying the row.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item<'r> {
    id: &'r str,
    list: &'r str,
    subject: &'r str,
    body: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<&'r str>,
    enqueued_at: Timestamp,
}

impl Agent {
    /// The rows that come after `after`, ready to be sent.
    pub(crate) async fn prepare(&self, after: i64, limit: usize) -> Result<Prepared, StoreError> {
        let mut reader = self.store.read().await?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = outgoing::waiting(&mut reader.conn(), after, limit, self.config.batch_bytes).await?;
        drop(reader);
        // Compressing takes a while, which others need not wait for.
        let made = tokio::task::spawn_blocking(move || Prepared::new(rows)).await;
        made.map_err(|_| StoreError::Stored("outgoing"))
    }
}

impl Prepared {
    fn new(rows: Vec<WaitingRow>) -> Self {
        let mut json =
            Vec::with_capacity(rows.iter().map(|row| row.subject.len() + row.body.len() + 200).sum());
        for (n, row) in rows.iter().enumerate() {
            if n > 0 {
                json.push(b',');
            }
            let item = Item {
                id: &row.id,
                list: &row.list,
                subject: &row.subject,
                body: &row.body,
                instance: row.instance.as_deref(),
                script: row.script.as_deref(),
                enqueued_at: Timestamp::from_microsecond(row.enqueued_at).unwrap_or_default(),
            };
            // Texts and a time always serialise.
            let _ = serde_json::to_writer(&mut json, &item);
        }
        json.extend_from_slice(b"]}");
        let end = compress(&json);
        let sent = rows.into_iter().map(|row| SentRow {
            seq: row.seq,
            id: row.id,
            digest: row.digest,
            bytes: row.bytes,
        });
        Self { rows: sent.collect(), end }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of the last row, after which the next batch begins.
    pub fn last(&self) -> i64 {
        self.rows.last().map_or(0, |row| row.seq)
    }

    /// The whole body.
    pub fn body(&self, report: &SiteReport) -> Vec<u8> {
        let mut start = b"{\"report\":".to_vec();
        let _ = serde_json::to_writer(&mut start, report);
        start.extend_from_slice(b",\"items\":[");
        let mut body = compress(&start);
        body.extend_from_slice(&self.end);
        body
    }
}

/// Fast rather than small: texts of messages shrink to a third or less either way.
fn compress(json: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(json.len() / 3 + 64), Compression::fast());
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(json);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use punctual_wire::sites::SiteHandOver;

    use super::*;

    #[test]
    fn two_streams_are_one_document_that_central_reads() {
        let row = |seq: i64| WaitingRow {
            seq,
            id: format!("0197a3c4-5d6e-7f80-9a1b-00000000000{seq}"),
            digest: "d".into(),
            enqueued_at: 1_000_000,
            bytes: 9,
            list: "ops".into(),
            instance: None,
            script: Some("watch \"it\".sh".into()),
            subject: "Ä".into(),
            body: "line\nline".into(),
        };
        let prepared = Prepared::new(vec![row(1), row(2)]);
        assert_eq!(prepared.last(), 2);
        let report = SiteReport { backlog: 2, ..SiteReport::default() };
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(&prepared.body(&report)[..]).read_to_string(&mut text).unwrap();
        let read = SiteHandOver::read_body(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(read.items.len(), 2);
        assert_eq!(read.items[1].as_ref().unwrap().script.as_deref(), Some("watch \"it\".sh"));
        assert_eq!(read.report.unwrap().backlog, 2);
        let empty = Prepared::new(Vec::new());
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(&empty.body(&report)[..]).read_to_string(&mut text).unwrap();
        assert!(SiteHandOver::read_body(&serde_json::from_str(&text).unwrap()).unwrap().items.is_empty());
    }
}
