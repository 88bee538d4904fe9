//! Ensures that every link expires: an open instance without a planned message or expiry gets an expiry.
//!
//! A fault or a lost row can leave such an instance. Each sweep checks a few instances in order of creation, and starts again
//! after the last.

use std::{collections::HashSet, sync::atomic::Ordering};

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError, EnsureOutcome, Maintains, ensure_in};
use punctual_model::{Cause, NewWork, Reach, WorkKey};
use punctual_store::{
    Lane, survey_instances,
    work::{self, WorkRow},
};

use super::{Step, Surveys, ends_at, is_live, work_of};

/// Instances that changed within this time are skipped: an answer may be on its way to an instance that we read.
const SETTLES_WITHIN: SignedDuration = SignedDuration::from_mins(10);
/// Instances of one look: about a millisecond on both databases.
const AT_ONCE: i64 = 200;

impl Maintains for Surveys {
    async fn reconcile(&self, engine: &Engine, now: Timestamp) -> Result<usize, EngineError> {
        self.end_what_nothing_ends(engine, now).await
    }
}

impl Surveys {
    #[boxed]
    async fn end_what_nothing_ends(&self, engine: &Engine, now: Timestamp) -> Result<usize, EngineError> {
        let mut reader = engine.store.read().await?;
        let conn = &mut reader.conn();
        let open =
            survey_instances::open_after(conn, self.looked_at.load(Ordering::Relaxed), AT_ONCE).await?;
        let is_last = i64::try_from(open.len()).is_ok_and(|count| count < AT_ONCE);
        let after = open.last().filter(|_| !is_last).map_or(0, |last| last.id);
        self.looked_at.store(after, Ordering::Relaxed);
        let steps = |public_id: &str, sends: i64| {
            let keys = [WorkKey::survey_send(public_id, sends + 1), WorkKey::survey_expire(public_id)];
            keys.into_iter().flatten().map(|key| key.to_string()).collect::<Vec<_>>()
        };
        let keys = open.iter().flat_map(|one| steps(&one.public_id, one.sends)).collect();
        let changed_since = now.checked_sub(SETTLES_WITHIN).unwrap_or(now);
        let is_attended = |row: &WorkRow| is_live(row) || row.updated_at > changed_since;
        let live: HashSet<String> = work::by_keys(conn, &Reach::Everything, keys)
            .await?
            .into_iter()
            .filter(is_attended)
            .map(|row| row.key)
            .collect();
        let mut ends: Vec<NewWork> = Vec::new();
        for one in open {
            if steps(&one.public_id, one.sends).iter().any(|key| live.contains(key)) {
                continue;
            }
            let version = self.catalogue.version(conn, one.version_id).await?;
            let at = version.and_then(|version| ends_at(&one, &version)).unwrap_or(now);
            ends.extend(work_of(&one.public_id, Step::Expire, one.survey_id, one.business_unit, at));
        }
        drop(reader);
        if ends.is_empty() {
            return Ok(0);
        }
        let mut tx = engine.store.begin(Lane::Intake).await?;
        let ensured = ensure_in(&mut tx, now, &ends, Cause::Machine).await?;
        tx.commit().await?;
        let is_new = |outcome: &EnsureOutcome| {
            matches!(outcome, EnsureOutcome::Created | EnsureOutcome::Reactivated | EnsureOutcome::Updated)
        };
        Ok(ensured.iter().filter(|one| is_new(&one.outcome)).count())
    }
}
