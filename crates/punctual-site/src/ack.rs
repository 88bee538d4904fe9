//! Applies acknowledgements to sent rows, as a pure function: an acknowledgement counts only for a row of this request, once,
//! and only if it names the row's id and the digest of its content. Everything else is ignored.

use std::collections::HashMap;

use punctual_wire::sites::SiteAck;

/// A row that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentRow {
    pub seq: i64,
    pub id: String,
    pub digest: String,
    pub bytes: i64,
}

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    /// Rows that central has.
    pub handed_over: Vec<i64>,
    /// What they take in the buffer.
    pub freed_bytes: i64,
    /// Rows that central will never take, each with why.
    pub refused: Vec<(i64, String)>,
    /// The first few refused ids, for the event log.
    pub refused_ids: Vec<String>,
    pub stored: usize,
    pub duplicates: usize,
    /// Acknowledgements for rows that were not sent, for another content, or said again.
    pub ignored: usize,
}

/// Refused ids that an entry of the event log names.
const NAMED: usize = 5;

pub fn settle(sent: &[SentRow], acks: Vec<SiteAck>) -> Settlement {
    let mut open: HashMap<&str, &SentRow> = sent.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut settlement = Settlement::default();
    for ack in acks {
        let row = ack.id.as_deref().and_then(|id| open.get(id).copied());
        let Some(row) = row else {
            settlement.ignored += 1;
            continue;
        };
        let names_content = ack.digest.as_deref() == Some(row.digest.as_str());
        let why = || {
            let code = ack.code.map_or("rejected", |code| code.as_str());
            match &ack.detail {
                Some(detail) => format!("{code}: {detail}"),
                None => code.to_owned(),
            }
        };
        // tidy-allow: words of the protocol, of which a newer central may have more
        match &*ack.outcome {
            "stored" | "duplicate" if names_content => {
                settlement.handed_over.push(row.seq);
                settlement.freed_bytes += row.bytes;
                // tidy-allow: the same word
                if ack.outcome == "stored" {
                    settlement.stored += 1;
                } else {
                    settlement.duplicates += 1;
                }
            }
            "conflict" if names_content => settlement.refused.push((row.seq, why())),
            // Central could not read it, so it has no digest to name; the row is kept, only out of the way.
            "rejected" => settlement.refused.push((row.seq, why())),
            _ => {
                settlement.ignored += 1;
                continue;
            }
        }
        if settlement.refused.last().is_some_and(|(seq, _)| *seq == row.seq)
            && settlement.refused_ids.len() < NAMED
        {
            settlement.refused_ids.push(row.id.clone());
        }
        open.remove(row.id.as_str());
    }
    settlement
}

#[cfg(test)]
mod tests {
    use punctual_wire::Code;

    use super::*;

    fn sent() -> Vec<SentRow> {
        (1..=3)
            .map(|n| SentRow { seq: n, id: format!("id-{n}"), digest: format!("d-{n}"), bytes: 10 })
            .collect()
    }

    fn ack(id: &str, outcome: &'static str, digest: Option<&str>) -> SiteAck {
        SiteAck {
            id: Some(id.into()),
            outcome: outcome.into(),
            digest: digest.map(str::to_owned),
            code: None,
            detail: None,
        }
    }

    #[test]
    fn r14_only_an_ack_with_id_and_digest_clears_a_row() {
        let acks = vec![
            ack("id-1", "stored", Some("d-1")),
            ack("id-2", "stored", Some("d-1")),
            ack("id-3", "stored", None),
            ack("id-9", "stored", Some("d-9")),
            ack("id-1", "stored", Some("d-1")),
            ack("id-2", "archived", Some("d-2")),
            SiteAck { id: None, ..ack("", "stored", Some("d-3")) },
        ];
        let settlement = settle(&sent(), acks);
        assert_eq!(settlement.handed_over, [1]);
        assert_eq!((settlement.stored, settlement.ignored, settlement.freed_bytes), (1, 6, 10));
        assert!(settlement.refused.is_empty());
    }

    #[test]
    fn a_refused_row_leaves_the_queue_and_says_why() {
        let conflict = SiteAck { code: Some(Code::IdReused), ..ack("id-1", "conflict", Some("d-1")) };
        let rejected = SiteAck { detail: Some("no".into()), ..ack("id-2", "rejected", None) };
        let settlement = settle(&sent(), vec![conflict, rejected, ack("id-3", "duplicate", Some("d-3"))]);
        assert_eq!(settlement.refused, [(1, "id_reused".to_owned()), (2, "rejected: no".to_owned())]);
        assert_eq!(settlement.refused_ids, ["id-1", "id-2"]);
        assert_eq!((settlement.handed_over, settlement.duplicates), (vec![3], 1));
    }

    #[test]
    fn a_conflict_about_other_content_is_not_ours() {
        let settlement = settle(&sent(), vec![ack("id-1", "conflict", Some("d-2"))]);
        assert_eq!((settlement.refused.len(), settlement.ignored), (0, 1));
    }
}
