//! Carries out an erasure in transactions of some hundred rows, so that it blocks nobody. An interrupted erasure can be started
//! again and continues with the remaining rows.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, ErasureStatus, FileRef, NotificationStatus, ReasonCode, WorkKey};
use punctual_store::{Lane, audit, personal as store, suppressions, uploads, work};

use super::{
    EraseOptions, Erasure, Findings, Person,
    certificate::{self, ERASURE, Outcome},
    find::Theirs,
    scrub,
};
use crate::{
    Actor, CommandError, Engine, EngineError, audit_chain, delivery_policy::preferences::DIGEST, due::chain,
};

/// Rows of one transaction.
const AT_ONCE: usize = 500;

impl Engine {
    /// Erases a person within the reach of the caller, and writes the certificate.
    #[boxed]
    pub async fn erase_person(
        &self,
        by: &Actor,
        person: &Person,
        options: EraseOptions,
    ) -> Result<Erasure, CommandError> {
        let mut found = self.find_person(&by.reach(), person).await?;
        let mut row = self.new_record(by, person, &found);
        let erased = found.counts();
        let mut outcome = Outcome { erased, ..Outcome::default() };
        if options.keep_suppressions && !found.suppressions.is_empty() {
            found.suppressions.clear();
            outcome.erased.retain(|count| count.kind != "suppressions");
            outcome.kept.push("Suppressions, so that nothing is sent to the address again.".to_owned());
        }
        self.erase_all(by, &found, &mut outcome).await?;
        // Another search is the proof.
        let mut left = self.find_person(&by.reach(), person).await?;
        if options.keep_suppressions {
            left.suppressions.clear();
            left.audit.remove("address");
        }
        if left.user.as_ref().is_some_and(|user| user.email == by.name()) {
            left.user = None;
            left.audit.remove("user");
        }
        outcome.remaining = left.counts();
        // What is left, here or in another unit, is found by the index again.
        if outcome.remaining.is_empty() {
            let erased = (!found.is_of_all).then(|| found.numbers());
            self.forget_addresses(&found.names, erased.as_ref()).await?;
        }
        let now = self.clock.now();
        row.status =
            if outcome.remaining.is_empty() { ErasureStatus::Done } else { ErasureStatus::Incomplete };
        let text = serde_json::to_string(&outcome).unwrap_or_default();
        row.signature = Some(certificate::signature(&self.vault, &row, &text, now));
        row.done_at = Some(now);
        let entry = audit::Entry {
            to: Some(row.status.as_str().to_owned()),
            data: Some(
                serde_json::json!({ "erased": outcome.erased, "remaining": outcome.remaining }).to_string(),
            ),
            ..audit::Entry::new(AuditAction::ErasePerson, ERASURE, &row.id, only_unit(by))
        };
        row.erased = Some(text);
        let mut tx = self.store.begin(Lane::Intake).await?;
        store::insert_erasure(&mut tx.conn(), &row).await?;
        by.audit_entry(&mut tx, now, entry).await?;
        tx.commit().await?;
        Ok(certificate::of_row(&row))
    }

    async fn erase_all(
        &self,
        by: &Actor,
        found: &Findings,
        outcome: &mut Outcome,
    ) -> Result<(), CommandError> {
        let now = self.clock.now();
        // Definitions first: nothing new is made for the person meanwhile.
        self.erase_definitions(by, found, now).await?;
        self.erase_messages(by, found, now).await?;
        for some in found.notifications.chunks(AT_ONCE) {
            self.erase_notifications(found, some, now).await?;
        }
        self.erase_errors(found).await?;
        self.erase_surveys(found).await?;
        self.erase_sources_and_work(found).await?;
        self.erase_people(found, now).await?;
        if by.units.is_some() {
            outcome.kept.push(
                "Preferences, suppressions, inboxes and accounts: they belong to the installation."
                    .to_owned(),
            );
        } else {
            self.erase_of_the_installation(by, found, outcome, now).await?;
        }
        for (kind, ids, with_subject) in found.audit_subjects() {
            for some in ids.chunks(AT_ONCE) {
                audit_chain::erase_among(&self.store, by, now, kind, some, with_subject).await?;
            }
        }
        Ok(())
    }

    async fn erase_definitions(
        &self,
        by: &Actor,
        found: &Findings,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        for (kind, row) in &found.definitions {
            let Some(text) = scrub::scrubbed(&row.text, &found.names) else { continue };
            let mut tx = self.store.begin(Lane::Intake).await?;
            store::rewrite_definition(&mut tx.conn(), now, *kind, &row.id, &text).await?;
            let subject = match kind {
                store::DefinitionKind::List => "list",
                store::DefinitionKind::Reminder => "reminder-setting",
                store::DefinitionKind::Report => "report-subscription",
            };
            by.audit(&mut tx, now, AuditAction::Change, subject, &row.id, row.business_unit.as_deref())
                .await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// What circuits and owed results say about their addresses, and views that search for them.
    async fn erase_errors(&self, found: &Findings) -> Result<(), EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        for address in &found.names.addresses {
            store::erase_errors(&mut tx.conn(), address).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Removes files that only erased messages used. One that cannot be removed now is removed by the purge within a day.
    async fn remove_files(&self, uploads: Vec<String>) -> Result<(), EngineError> {
        if uploads.is_empty() {
            return Ok(());
        }
        for id in &uploads {
            self.blobs.delete(&FileRef::upload_blob(id)).await?;
        }
        let mut tx = self.store.begin(Lane::Intake).await?;
        uploads::delete(&mut tx.conn(), uploads).await?;
        Ok(tx.commit().await?)
    }

    async fn erase_messages(&self, by: &Actor, found: &Findings, now: Timestamp) -> Result<(), CommandError> {
        for some in found.messages.chunks(AT_ONCE) {
            let alone = || some.iter().filter(|one| one.others.is_empty());
            for one in alone().filter(|one| one.is_pending) {
                match self.cancel_work(by, one.work_id, None).await {
                    // It has become due meanwhile: what it sends is found by the second search.
                    Ok(_) | Err(CommandError::NotAllowed { .. } | CommandError::Stale) => {}
                    Err(error) => return Err(error),
                }
            }
            let blank = alone().map(|one| one.row.id.clone()).collect();
            let shorter: Vec<(String, String)> = some
                .iter()
                .filter(|one| !one.others.is_empty())
                .map(|one| (one.row.id.clone(), serde_json::json!(one.others).to_string()))
                .collect();
            let keys = alone().filter_map(|one| WorkKey::message(&one.row.id).ok());
            let keys: Vec<String> = keys.map(|key| key.as_str().to_owned()).collect();
            let mut tx = self.store.begin(Lane::Intake).await?;
            store::blank_messages(&mut tx.conn(), blank, &shorter).await?;
            let unused = store::release_message_files(&mut tx.conn(), now, &keys).await?;
            tx.commit().await?;
            self.remove_files(unused).await?;
        }
        Ok(())
    }

    async fn erase_notifications(
        &self,
        found: &Findings,
        some: &[Theirs],
        now: Timestamp,
    ) -> Result<(), EngineError> {
        // What a node is sending at this moment is left to the next run.
        let free: Vec<&Theirs> = some.iter().filter(|one| one.row.lease_expires_at.is_none()).collect();
        let alone: Vec<i64> =
            free.iter().filter(|one| one.is_for_them_alone()).map(|one| one.row.seq).collect();
        let shorter: Vec<store::Rewrite> = free
            .iter()
            .filter(|one| !one.is_for_them_alone())
            .map(|one| store::Rewrite {
                wanted: one.row.seq,
                targets: match &one.others {
                    Some(others) => Some(serde_json::json!(others).to_string()),
                    None => one.row.targets.clone(),
                },
                last_error: one.row.last_error.clone().filter(|error| {
                    let error = error.to_lowercase();
                    !found.names.lower().iter().any(|address| error.contains(address))
                }),
            })
            .collect();
        let seqs: Vec<i64> = free.iter().map(|one| one.row.seq).collect();
        let mut tx = self.store.begin(Lane::Settle).await?;
        let withdrawn = store::withdraw_erased(&mut tx.conn(), now, &alone).await?;
        store::rewrite_notifications(&mut tx.conn(), &shorter, &alone).await?;
        for (number, address) in (1..).zip(found.names.lower()) {
            let word = format!("erased:{number}");
            store::erase_attempts(&mut tx.conn(), &seqs, &address, &word).await?;
            store::erase_skipped(&mut tx.conn(), &seqs, &address, &word).await?;
            store::erase_receipts(&mut tx.conn(), &seqs, &address, &word).await?;
        }
        let unused = store::release_files(&mut tx.conn(), now, alone).await?;
        let ids = free.iter().map(|one| one.row.id.clone()).collect();
        store::erase_survey_attempts(&mut tx.conn(), ids).await?;
        let waiting: Vec<i64> =
            withdrawn.iter().filter_map(|row| row.waiting_work).map(|work| work.0).collect();
        if !waiting.is_empty() {
            work::count_down(&mut tx.conn(), waiting).await?;
        }
        let entries: Vec<audit::Entry> = withdrawn
            .iter()
            .map(|row| audit::Entry {
                to: Some(NotificationStatus::Withdrawn.as_str().to_owned()),
                version: Some(row.version),
                reason: Some(ReasonCode::Erased.into()),
                ..audit::Entry::new(
                    AuditAction::Withdraw,
                    "notification",
                    row.id,
                    row.business_unit.as_deref(),
                )
            })
            .collect();
        audit::append(&mut tx.conn(), now, &entries).await?;
        tx.commit().await?;
        self.remove_files(unused).await
    }

    async fn erase_surveys(&self, found: &Findings) -> Result<(), EngineError> {
        let instances: Vec<i64> = found.instances.iter().map(|row| row.id).collect();
        for some in instances.chunks(AT_ONCE) {
            let mut tx = self.store.begin(Lane::Intake).await?;
            store::blank_instances(&mut tx.conn(), some.to_vec()).await?;
            let responses = found.responses.iter().filter(|row| some.contains(&row.instance_id));
            store::blank_responses(&mut tx.conn(), responses.map(|row| row.id).collect()).await?;
            tx.commit().await?;
        }
        for some in found.purged_sends.chunks(AT_ONCE) {
            let mut tx = self.store.begin(Lane::Intake).await?;
            store::erase_survey_attempts(&mut tx.conn(), some.to_vec()).await?;
            tx.commit().await?;
        }
        if !found.events.is_empty() {
            let mut tx = self.store.begin(Lane::Intake).await?;
            store::blank_events(&mut tx.conn(), found.events.clone(), found.event_messages.clone()).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn erase_sources_and_work(&self, found: &Findings) -> Result<(), EngineError> {
        for some in found.sources.chunks(AT_ONCE) {
            let mut tx = self.store.begin(Lane::Intake).await?;
            for row in some {
                if let Some(state) = scrub::scrubbed(&row.state, &found.names) {
                    store::rewrite_source(&mut tx.conn(), &row.source_type, &row.source_id, &state).await?;
                }
            }
            tx.commit().await?;
        }
        for some in found.work.chunks(AT_ONCE) {
            let inputs: Vec<(i64, String)> = some
                .iter()
                .map(|row| {
                    (row.id, scrub::scrubbed(&row.input, &found.names).unwrap_or_else(|| row.input.clone()))
                })
                .collect();
            let mut tx = self.store.begin(Lane::Settle).await?;
            store::blank_work(&mut tx.conn(), &inputs).await?;
            let digests = || some.iter().filter(|row| row.kind == DIGEST);
            let keys = digests().map(|row| row.key.clone()).collect();
            store::rename_digests(&mut tx.conn(), digests().map(|row| row.id).collect(), keys).await?;
            tx.commit().await?;
            for name in some.iter().filter_map(|row| row.trace_blob.as_deref()) {
                if let Err(error) = self.blobs.delete(name).await {
                    tracing::warn!(error = %chain(&error), "the trace of an erased person could not be removed");
                }
            }
        }
        Ok(())
    }

    async fn erase_people(&self, found: &Findings, now: Timestamp) -> Result<(), EngineError> {
        if found.people.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.begin(Lane::Intake).await?;
        for person in &found.people {
            store::blank_person(&mut tx.conn(), now, &person.id).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn erase_of_the_installation(
        &self,
        by: &Actor,
        found: &Findings,
        outcome: &mut Outcome,
        now: Timestamp,
    ) -> Result<(), CommandError> {
        for preference in &found.preferences {
            self.forget_preference(by, &preference.person).await?;
        }
        let people = found.people_names();
        let mut tx = self.store.begin(Lane::Intake).await?;
        for row in &found.suppressions {
            suppressions::delete(&mut tx.conn(), &row.channel_type, &row.address).await?;
        }
        if !found.suppressions.is_empty() {
            suppressions::changed(&mut tx.conn(), now).await?;
        }
        store::delete_inbox(&mut tx.conn(), people.clone()).await?;
        store::delete_days(&mut tx.conn(), people.clone()).await?;
        store::erase_digests(&mut tx.conn(), people, found.names.lower()).await?;
        tx.commit().await?;
        if let Some(user) = &found.user {
            // A person who removes their own account could not see the certificate.
            if user.email == by.name() {
                outcome.kept.push("Your own account: another administrator can remove it.".to_owned());
                outcome.erased.retain(|count| count.kind != "users");
            } else {
                self.delete_user(by, now, &user.id).await?;
            }
        }
        Ok(())
    }
}

/// The unit of an erasure that was limited to one.
pub(super) fn only_unit(by: &Actor) -> Option<&str> {
    match by.units.as_deref() {
        Some([only]) => Some(only),
        _ => None,
    }
}
