//! What people want, as it is changed: by an operator, on their own page, or with one click in a mail.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{
    AuditAction,
    address::comparable,
    delivery_policy::{Preference, Topic},
};
use punctual_store::{
    Lane, StoreError, Tx,
    delivery_policy::{
        SETTINGS,
        preferences::{self, PreferenceRow},
    },
    facts,
};
use serde_json::Value;

use crate::{Actor, CommandError, Engine, EngineError, commands::Seen};

/// The kind of the work rows that send people what they did not get.
pub const DIGEST: &str = "digest";

impl Engine {
    /// Changes what a person wants, and remembers who did it. The person is one of the table, or an address.
    pub async fn change_preference(
        &self,
        by: &Actor,
        person: &str,
        change: impl FnOnce(&mut Preference),
    ) -> Result<PreferenceRow, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let person = named(&mut tx, person).await?;
        let row = preferences::lock(&mut tx.conn(), now, &person).await?;
        let mut preference = Preference::read(&row.definition);
        change(&mut preference);
        write(&mut tx, now, &person, &preference).await?;
        by.audit(&mut tx, now, AuditAction::Put, "preference", &person, None).await?;
        let stored = preferences::get(&mut tx.conn(), &person).await?.ok_or(EngineError::NotFound)?;
        tx.commit().await?;
        self.policy.invalidate();
        Ok(stored)
    }

    /// Sets all that a person wants, for somebody who has seen what they replace.
    #[boxed]
    pub async fn replace_preference(
        &self,
        by: &Actor,
        seen: Seen,
        person: &str,
        wanted: &Preference,
    ) -> Result<PreferenceRow, CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let person = named(&mut tx, person).await?;
        let row = preferences::lock(&mut tx.conn(), now, &person).await?;
        // A row that was made for the lock has no version yet.
        seen.check(Some(row.version).filter(|version| *version > 0), &person)?;
        write(&mut tx, now, &person, wanted).await?;
        by.audit(&mut tx, now, AuditAction::Put, "preference", &person, None).await?;
        let stored = preferences::get(&mut tx.conn(), &person).await?.ok_or(EngineError::NotFound)?;
        tx.commit().await?;
        self.policy.invalidate();
        Ok(stored)
    }

    /// Sets the delivery policy of the installation, as it is stored.
    #[boxed]
    pub async fn save_delivery_policy(&self, by: &Actor, policy: &Value) -> Result<(), EngineError> {
        match self.replace_delivery_policy(by, None, policy).await {
            Ok(()) => Ok(()),
            Err(CommandError::Engine(error)) => Err(error),
            // The caller names no version, so nothing can be stale.
            Err(_) => Err(EngineError::NotFound),
        }
    }

    /// The delivery policy of the installation, as it is stored.
    #[boxed]
    pub async fn delivery_policy(&self) -> Result<Value, EngineError> {
        let mut reader = self.store.read_for_people().await?;
        let stored = facts::get(&mut reader.conn(), SETTINGS).await?;
        let policy =
            stored.map_or_else(|| Ok(Value::Object(Default::default())), |text| serde_json::from_str(&text));
        policy.map_err(|_| StoreError::Stored("facts.delivery-policy").into())
    }

    /// The same as [`Self::save_delivery_policy`], for somebody who has seen what they replace.
    #[boxed]
    pub async fn replace_delivery_policy(
        &self,
        by: &Actor,
        seen: Option<&Value>,
        policy: &Value,
    ) -> Result<(), CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        if let Some(seen) = seen {
            let stored = facts::get(&mut tx.conn(), SETTINGS).await?.unwrap_or_else(|| "{}".to_owned());
            if serde_json::from_str::<Value>(&stored).ok().as_ref() != Some(seen) {
                return Err(CommandError::Stale);
            }
        }
        self.save_delivery_policy_in(&mut tx, by, policy).await?;
        tx.commit().await?;
        self.policy.invalidate();
        Ok(())
    }

    /// The same in a transaction of the caller's, who lets the policy be read again after the commit.
    #[boxed]
    pub async fn save_delivery_policy_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        policy: &Value,
    ) -> Result<(), EngineError> {
        let now = self.clock.now();
        facts::put(&mut tx.conn(), now, SETTINGS, &policy.to_string()).await?;
        // The stored name is an older one: audit entries are not rewritten.
        Ok(by.audit(tx, now, AuditAction::Put, "manners", "settings", None).await?)
    }

    /// Somebody does not want this topic any more, or none at all.
    #[boxed]
    pub async fn unsubscribe(
        &self,
        address: &str,
        topic: Option<&str>,
    ) -> Result<PreferenceRow, EngineError> {
        let topic = topic.map(str::to_owned);
        let known: Vec<String> =
            self.policy.settings().topics.iter().map(|topic| topic.name.clone()).collect();
        self.change_preference(&Actor::recipient(), address, move |preference| {
            let topics = topic.map_or(known, |topic| vec![topic]);
            for topic in topics {
                let channels = preference.topics.remove(&topic).and_then(|before| before.channels);
                preference.topics.insert(topic, Topic { subscribed: false, channels });
            }
        })
        .await
    }

    /// The preferences of a person, given by name or address.
    #[boxed]
    pub async fn preference_of(&self, person: &str) -> Result<Option<PreferenceRow>, EngineError> {
        let mut reader = self.store.read().await?;
        let owner = preferences::owner(&mut reader.conn(), &comparable(person)).await?;
        Ok(preferences::get(&mut reader.conn(), owner.as_deref().unwrap_or(person)).await?)
    }

    /// Forgets what a person wants; messages go to them as to anybody.
    #[boxed]
    pub async fn forget_preference(&self, by: &Actor, person: &str) -> Result<bool, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let person = named(&mut tx, person).await?;
        let was_there = preferences::delete(&mut tx.conn(), &person).await?;
        if was_there {
            by.audit(&mut tx, now, AuditAction::Delete, "preference", &person, None).await?;
            tx.commit().await?;
        }
        Ok(was_there)
    }
}

/// The stored name of a person: the owner of the given address, otherwise the given name.
async fn named(tx: &mut Tx, person: &str) -> Result<String, StoreError> {
    let address = comparable(person);
    let owner = preferences::owner(&mut tx.conn(), &address).await?;
    Ok(owner.unwrap_or_else(|| if person.contains('@') { address } else { person.trim().to_owned() }))
}

async fn write(tx: &mut Tx, now: Timestamp, person: &str, preference: &Preference) -> Result<(), StoreError> {
    let mut addresses: Vec<String> =
        preference.addresses.values().map(|address| comparable(address)).collect();
    // A person stored under an address is found by it.
    addresses.push(comparable(person));
    addresses.sort_unstable();
    addresses.dedup();
    let definition =
        serde_json::to_string(preference).map_err(|_| StoreError::Stored("preferences.definition"))?;
    preferences::put(&mut tx.conn(), now, person, &definition, addresses).await
}
