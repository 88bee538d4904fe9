//! Reconciliations, purges, consumers and an audit that need attention. They belong to the installation, so only callers without a limit see them.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use punctual_model::{Reach, WorkKey};
use punctual_store::{
    Conn, StoreError,
    attention::{self, WaitingRow},
    reminders::reconciliations,
    restored as store,
};

use super::{COUNTED, Kind, Waiting, waiting};
use crate::{Engine, audit_chain::SEAL, config::earlier, purge, restored, troubles::Chore};

impl Engine {
    /// Everything of this kind; there is little of it, so that it is counted by listing it.
    pub(super) async fn chores_waiting(&self, conn: &mut Conn<'_>) -> Result<Vec<Waiting>, StoreError> {
        let mut all = self.reconciliations_waiting(conn).await?;
        all.extend(self.purges_waiting(conn).await?);
        all.extend(self.audit_waiting(conn).await?);
        all.extend(self.consumers_waiting(conn).await?);
        all.extend(restore_waiting(conn).await?);
        Ok(all)
    }

    /// Reconciliations that fail or are overdue: repairs of workflows, and looks for what events have missed.
    async fn reconciliations_waiting(&self, conn: &mut Conn<'_>) -> Result<Vec<Waiting>, StoreError> {
        let repairs = self.failing_chores(conn, Chore::Reconcile).await?;
        let repairs = repairs.into_iter().map(|chore| Waiting {
            kind: Kind::Reconcile,
            title: format!("Repair of {}", chore.name),
            reason: format!("It has failed {} times in a row: {}", chore.times, chore.error),
            id: chore.name,
            since: chore.since,
            link: "/work".to_owned(),
            cause: None,
        });
        let mut all: Vec<Waiting> = repairs.collect();
        let overdue_before = earlier(self.clock.now(), self.config.stuck_after);
        let overdue = attention::overdue_looks(conn, overdue_before).await?;
        let succeeded: HashMap<String, Timestamp> = reconciliations::all(conn)
            .await?
            .into_iter()
            .filter_map(|row| Some((of_provider(&row.provider)?, row.last_run_at)))
            .collect();
        let failed = since_the_last_success(attention::failed_looks(conn).await?, &succeeded);
        let mut looks: Vec<WaitingRow> = overdue.into_iter().chain(failed).collect();
        // Only callers without a limit are shown what the installation does.
        self.give_titles(conn, &Reach::Everything, looks.iter_mut(), None).await?;
        all.extend(looks.into_iter().map(|row| waiting(Kind::Reconcile, format!("/work/{}", row.id), row)));
        Ok(all)
    }

    /// An audit that cannot be sealed, or whose chain is broken.
    async fn audit_waiting(&self, conn: &mut Conn<'_>) -> Result<Vec<Waiting>, StoreError> {
        let failing = self.failing_chores(conn, Chore::Audit).await?;
        let waiting = failing.into_iter().map(|chore| Waiting {
            kind: Kind::Audit,
            title: if chore.name == SEAL { "Seals of the audit" } else { "Chain of the audit" }.to_owned(),
            reason: chore.error,
            id: chore.name,
            since: chore.since,
            link: "/audit".to_owned(),
            cause: None,
        });
        Ok(waiting.collect())
    }

    /// A purge that waits for a person, and purges that fail.
    async fn purges_waiting(&self, conn: &mut Conn<'_>) -> Result<Vec<Waiting>, StoreError> {
        let purge = |name: String, reason: String, since: Timestamp| Waiting {
            kind: Kind::Purge,
            title: format!("Purge of {name}"),
            id: name,
            reason,
            since,
            link: "/outbox".to_owned(),
            cause: None,
        };
        let last = purge::last(conn).await?;
        let held_back = last.and_then(|last| {
            let count = last.held_back?;
            let reason = format!(
                "It is held back: {count} messages are past their time, an unusual share; if the clock is right, confirm it with POST /api/v1/retention/purge"
            );
            Some(purge(purge::NOTIFICATIONS.to_owned(), reason, last.at))
        });
        let failing = self.failing_chores(conn, Chore::Purge).await?.into_iter().map(|chore| {
            let times =
                if chore.times == 1 { String::new() } else { format!(" {} times in a row", chore.times) };
            purge(chore.name, format!("It has failed{times}: {}", chore.error), chore.since)
        });
        Ok(held_back.into_iter().chain(failing).collect())
    }
}

/// A restore after which rows still wait for a person.
async fn restore_waiting(conn: &mut Conn<'_>) -> Result<Option<Waiting>, StoreError> {
    let Some(restore) = restored::last(conn).await? else { return Ok(None) };
    let left = store::left(conn, COUNTED).await?;
    if left.work + left.notifications + left.owed == 0 {
        return Ok(None);
    }
    let backup = restore.backup_at.map_or_else(String::new, |at| format!(" of {at}"));
    let reason = format!(
        "{} messages and {} work rows were due between the backup{backup} and the restore; whether they were sent is not known",
        left.notifications,
        left.work + left.owed
    );
    Ok(Some(Waiting {
        kind: Kind::Restore,
        id: restore.restored_at.to_string(),
        title: "Restored database".to_owned(),
        reason,
        since: restore.restored_at,
        link: "/restore".to_owned(),
        cause: None,
    }))
}

/// What the keys of a provider's looks begin with.
fn of_provider(provider: &str) -> Option<String> {
    let key = WorkKey::reconcile(provider, Timestamp::UNIX_EPOCH).ok()?;
    Some(begins(key.as_str()).to_owned())
}

/// A key without its last part, the moment.
fn begins(key: &str) -> &str {
    key.rsplit_once(':').map_or(key, |(begins, _)| begins)
}

/// The latest look of each provider that has failed since one succeeded, and since when that is so.
fn since_the_last_success(
    failed: Vec<WaitingRow>,
    succeeded: &HashMap<String, Timestamp>,
) -> Vec<WaitingRow> {
    let mut latest: BTreeMap<String, WaitingRow> = BTreeMap::new();
    for row in failed {
        let provider = begins(&row.title).to_owned();
        if succeeded.get(&provider).is_some_and(|at| *at >= row.since) {
            continue;
        }
        let since = row.since;
        let entry = latest.entry(provider).or_insert(row);
        entry.since = entry.since.min(since);
    }
    latest.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("an instant")
    }

    fn look(id: &str, provider: &str, second: i64) -> WaitingRow {
        let since = at(second);
        let key = WorkKey::reconcile(provider, since).expect("a key").as_str().to_owned();
        let kind = "reconcile-external".to_owned();
        WaitingRow { id: id.to_owned(), kind, title: key, reason: None, answer: None, since }
    }

    #[test]
    fn only_failures_after_the_last_success_count_and_one_for_each_provider() {
        let failed = vec![
            look("9", "external:crm", 9),
            look("7", "external:crm", 7),
            look("6", "external:hr", 6),
            look("2", "external:crm", 2),
        ];
        let succeeded = [("external:crm", at(3)), ("external:hr", at(8))];
        let succeeded = succeeded.map(|(provider, at)| (of_provider(provider).expect("a key"), at)).into();
        let found = since_the_last_success(failed, &succeeded);
        let found: Vec<_> = found.iter().map(|row| (row.id.as_str(), row.since)).collect();
        assert_eq!(found, [("9", at(7))]);
    }
}
