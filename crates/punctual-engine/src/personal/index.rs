//! The index of addresses, written in the background: short hashes of many rows in one record, spread over buckets.
//!
//! An index of the database over the targets of attempts would cost each attempt about 11 µs on SQLite, because addresses are
//! random index positions. Here ten thousand rows become 64 small rows, written together. An entry has forty bits of a hash and
//! the number of a row; the row is read and its address compared before it counts as a match.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::address::comparable;
use punctual_store::{
    Conn, Lane, StoreError, Tx,
    personal::{self, BUCKETS, IndexRow, Occurrence, Part, PartRow},
};

use super::Names;
use crate::{Engine, EngineError, config::earlier, keys::digest};

/// A transaction that has taken a number or a moment has ended after so long.
const SETTLED_WITHIN: Duration = Duration::from_secs(5 * 60);
/// Bytes of an entry that are of the hash, and those that are of the row.
const HASH: usize = 4;
const ENTRY: usize = HASH + 8;
/// Pieces of a bucket that one purge removes.
const PURGED_AT_ONCE: i64 = 200;
/// Rows that are read at once where there is no index yet.
const TAIL: i64 = 10_000;

/// The bucket of an address, and what its entries begin with.
fn place_of(address: &str) -> (usize, [u8; HASH]) {
    let digest = digest(address.as_bytes());
    let mut hash = [0; HASH];
    hash.copy_from_slice(&digest[1..=HASH]);
    (usize::from(digest[0]) % BUCKETS, hash)
}

/// The entries of a piece, by bucket.
fn packed(occurrences: &[Occurrence]) -> Vec<Vec<u8>> {
    let mut buckets = vec![BTreeSet::new(); BUCKETS];
    for one in occurrences {
        let (bucket, hash) = place_of(&one.address);
        buckets[bucket].insert((hash, one.number));
    }
    let bytes = |entries: BTreeSet<([u8; HASH], i64)>| {
        entries.iter().flat_map(|(hash, number)| hash.iter().copied().chain(number.to_be_bytes())).collect()
    };
    buckets.into_iter().map(bytes).collect()
}

/// The number in an entry.
fn number_in(entry: &[u8]) -> i64 {
    let mut number = [0; 8];
    number.copy_from_slice(&entry[HASH..ENTRY]);
    i64::from_be_bytes(number)
}

impl Engine {
    /// Writes whole pieces of what can be seen by everybody; returns how many rows they are of. What is left is less than a
    /// piece and some minutes of every part, and is read row by row by whoever searches.
    #[boxed]
    pub async fn index_addresses(&self, now: Timestamp) -> Result<usize, EngineError> {
        let mut indexed = 0;
        for part in Part::ALL {
            while let Some(rows) = self.index_piece(part, now).await? {
                indexed += rows;
            }
        }
        Ok(indexed)
    }

    async fn index_piece(&self, part: Part, now: Timestamp) -> Result<Option<usize>, EngineError> {
        let mut reader = self.store.read().await?;
        let reaches = personal::part(&mut reader.conn(), part).await?;
        let Some(up_to) = settled(part, &reaches, now) else {
            if reaches.seen_at == 0 {
                let greatest = personal::greatest(&mut reader.conn(), part).await?;
                drop(reader);
                self.see(part, now, greatest).await?;
            }
            return Ok(None);
        };
        let piece = self.config.index_piece;
        let page = personal::walk(&mut reader.conn(), part, &reaches.place(), up_to, piece).await?;
        let (Some(next), true) = (page.next, page.is_full) else {
            if !part.is_timed() {
                let greatest = personal::greatest(&mut reader.conn(), part).await?;
                drop(reader);
                self.see(part, now, greatest).await?;
            }
            return Ok(None);
        };
        drop(reader);
        let mut tx = self.store.begin(Lane::Claim).await?;
        // Another node may have written the same piece.
        if !personal::advance(&mut tx.conn(), part, reaches.pieces, &next).await? {
            return Ok(None);
        }
        for (bucket, entries) in (0..).zip(packed(&page.occurrences)) {
            if !entries.is_empty() {
                personal::put_piece(&mut tx.conn(), bucket, part, reaches.pieces, entries).await?;
            }
        }
        tx.commit().await?;
        Ok(Some(page.rows))
    }

    async fn see(&self, part: Part, now: Timestamp, greatest: i64) -> Result<(), EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        personal::see(&mut tx.conn(), now, part, greatest).await?;
        Ok(tx.commit().await?)
    }

    /// Removes pieces whose rows are all gone, the oldest first; returns how many of their buckets went.
    pub(crate) async fn purge_index(&self) -> Result<usize, EngineError> {
        let mut removed = 0;
        for part in Part::ALL {
            let mut reader = self.store.read().await?;
            let pieces = personal::part(&mut reader.conn(), part).await?.pieces;
            drop(reader);
            if pieces == 0 {
                continue;
            }
            let mut tx = self.store.begin(Lane::Claim).await?;
            let least = personal::least(&mut tx.conn(), part).await?;
            let is_gone =
                |row: &IndexRow| row.entries.chunks_exact(ENTRY).all(|entry| number_in(entry) < least);
            for bucket in 0..i64::try_from(BUCKETS).unwrap_or(i64::MAX) {
                let rows = personal::pieces_of(&mut tx.conn(), bucket, part, 0, PURGED_AT_ONCE).await?;
                for row in rows.iter().take_while(|row| is_gone(row)) {
                    personal::forget_piece(&mut tx.conn(), bucket, part, row.piece).await?;
                    removed += 1;
                }
            }
            tx.commit().await?;
        }
        Ok(removed)
    }

    /// Takes a person's addresses out of the index: all of them, or those of rows that were erased.
    pub(super) async fn forget_addresses(
        &self,
        names: &Names,
        erased: Option<&Numbers>,
    ) -> Result<(), EngineError> {
        for address in &names.addresses {
            let (bucket, hash) = place_of(address);
            let bucket = i64::try_from(bucket).unwrap_or(0);
            let mut tx = self.store.begin(Lane::Claim).await?;
            for row in personal::bucket(&mut tx.conn(), bucket).await? {
                let of_part = erased.map(|erased| erased.iter().find(|(part, _)| part.as_str() == row.part));
                let goes = |entry: &[u8]| {
                    entry[..HASH] == hash
                        && match of_part {
                            None => true,
                            Some(numbers) => numbers.is_some_and(|(_, own)| own.contains(&number_in(entry))),
                        }
                };
                let kept = row.entries.chunks_exact(ENTRY).filter(|entry| !goes(entry));
                let entries: Vec<u8> = kept.flatten().copied().collect();
                if entries.len() < row.entries.len() {
                    personal::replace_piece(&mut tx.conn(), bucket, IndexRow { entries, ..row }).await?;
                }
            }
            tx.commit().await?;
        }
        Ok(())
    }
}

/// Puts the recipients of a message into the index at once: one that was changed may lie before where the index has got to.
#[boxed]
pub async fn index_recipients(tx: &mut Tx, work_id: i64, targets: &[String]) -> Result<(), StoreError> {
    let occurrence = |target: &String| Occurrence { number: work_id, address: comparable(target) };
    let occurrences: Vec<Occurrence> = targets.iter().map(occurrence).collect();
    for (bucket, entries) in (0..).zip(packed(&occurrences)) {
        if !entries.is_empty() {
            // Pieces of the walk are counted from zero up.
            personal::put_piece(&mut tx.conn(), bucket, Part::Work, -work_id, entries).await?;
        }
    }
    Ok(())
}

/// Numbers of rows, by part.
pub(super) type Numbers = BTreeMap<Part, BTreeSet<i64>>;

/// Up to where rows of a part can all be seen; nothing where that is not known yet.
fn settled(part: Part, reaches: &PartRow, now: Timestamp) -> Option<i64> {
    let settled = earlier(now, SETTLED_WITHIN).as_microsecond();
    if part.is_timed() {
        return Some(settled);
    }
    (reaches.seen_at > 0 && reaches.seen_at <= settled).then_some(reaches.seen_number)
}

/// Where these addresses occur: numbers from the index, and those of rows that it does not have yet.
pub(super) async fn occurrences(conn: &mut Conn<'_>, names: &Names) -> Result<Numbers, StoreError> {
    let mut found = Numbers::new();
    for address in &names.addresses {
        let (bucket, hash) = place_of(address);
        for row in personal::bucket(conn, i64::try_from(bucket).unwrap_or(0)).await? {
            let Some(part) = Part::ALL.into_iter().find(|part| part.as_str() == row.part) else { continue };
            let hits = row.entries.chunks_exact(ENTRY).filter(|entry| entry[..HASH] == hash).map(number_in);
            found.entry(part).or_default().extend(hits);
        }
    }
    for part in Part::ALL {
        let mut place = personal::part(conn, part).await?.place();
        loop {
            let page = personal::walk(conn, part, &place, i64::MAX, TAIL).await?;
            let hits = page.occurrences.iter().filter(|one| names.addresses.contains(&one.address));
            found.entry(part).or_default().extend(hits.map(|one| one.number));
            match page.next {
                Some(next) if page.is_full => place = next,
                _ => break,
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_in_the_bucket_of_its_address_once() {
        let one = |number, address: &str| Occurrence { number, address: address.to_owned() };
        let packed = packed(&[one(7, "a@x.example"), one(7, "a@x.example"), one(9, "b@x.example")]);
        let (bucket, hash) = place_of("a@x.example");
        let hits: Vec<i64> =
            packed[bucket].chunks_exact(ENTRY).filter(|entry| entry[..HASH] == hash).map(number_in).collect();
        assert_eq!(hits, [7]);
        assert_eq!(packed.iter().map(Vec::len).sum::<usize>(), 2 * ENTRY);
    }
}
