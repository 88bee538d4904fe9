//! What tests write: definitions, notifications, work.

use jiff::Timestamp;
use punctual_engine::{Accepted, Ensured, Handed, OwnUnit};
use punctual_model::{Audience, Cause, NewNotification, NewWork, NotificationId, Random, Reach};
use punctual_store::{
    Lane, Tx,
    business_units::{self, BusinessUnitRow},
    channels::{self, ChannelRow},
    lists::{self, ListRow},
    templates::{self, TemplateRow},
};
use punctual_workflows::schedules::NewSchedule;
use serde_json::{Value, json};

use super::TestBed;

impl TestBed {
    /// A transaction of the store itself, for tests that look closer.
    ///
    /// # Panics
    /// When none can be had; so does everything below when the store fails.
    pub async fn begin(&self) -> Tx {
        self.store.begin(Lane::Intake).await.unwrap_or_else(|error| panic!("no transaction: {error:?}"))
    }

    async fn commit(tx: Tx) {
        tx.commit().await.unwrap_or_else(|error| panic!("not committed: {error:?}"));
    }

    /// Defines a business unit in UTC, unless it is there.
    pub async fn has_unit(&self, id: &str) {
        let mut tx = self.begin().await;
        let known = business_units::by_ids(&mut tx.conn(), vec![id.to_owned()]).await;
        if known.unwrap_or_else(|error| panic!("{error:?}")).is_empty() {
            let row = BusinessUnitRow {
                id: id.to_owned(),
                name: id.to_owned(),
                time_zone: "UTC".into(),
                ..BusinessUnitRow::default()
            };
            let put = business_units::put(&mut tx.conn(), self.now(), &row).await;
            put.unwrap_or_else(|error| panic!("{error:?}"));
        }
        Self::commit(tx).await;
    }

    /// A channel over this adapter, with three retries a minute apart.
    pub async fn channel(&self, key: &str, adapter: &str) {
        self.channel_with(key, adapter, json!({ "max": 3, "intervalSeconds": 60 }), false).await;
    }

    pub async fn channel_with(&self, key: &str, adapter: &str, retry: Value, at_most_once: bool) {
        self.put_channel(key, adapter, retry, at_most_once, json!({})).await;
    }

    /// A channel that keeps to limits and hours, as they are stored.
    pub async fn channel_with_policy(&self, key: &str, adapter: &str, policy: Value) {
        self.put_channel(key, adapter, json!({ "max": 3, "intervalSeconds": 60 }), false, policy).await;
    }

    pub async fn put_channel(
        &self,
        key: &str,
        adapter: &str,
        retry: Value,
        at_most_once: bool,
        policy: Value,
    ) {
        let row = ChannelRow {
            key: key.into(),
            adapter: adapter.into(),
            settings: "{}".into(),
            retry: retry.to_string(),
            at_most_once,
            policy: policy.to_string(),
            version: 0,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let mut tx = self.begin().await;
        channels::put(&mut tx.conn(), self.now(), &row).await.unwrap_or_else(|error| panic!("{error:?}"));
        Self::commit(tx).await;
        self.engine.channels.invalidate();
    }

    pub async fn list(&self, name: &str, channel: &str, targets: &[&str]) {
        let row = ListRow {
            name: name.into(),
            kind: channel.split(':').next().unwrap_or(channel).into(),
            channel: channel.into(),
            targets: json!(targets).to_string(),
            business_unit: None,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let mut tx = self.begin().await;
        lists::put(&mut tx.conn(), self.now(), &Reach::Everything, &row)
            .await
            .unwrap_or_else(|error| panic!("{error:?}"));
        Self::commit(tx).await;
    }

    /// A template; `variants` is `{"en": {"subject", "body"}}`.
    pub async fn template(&self, name: &str, default_locale: &str, variants: Value) {
        let row = TemplateRow {
            name: name.into(),
            default_locale: default_locale.into(),
            variants: variants.to_string(),
            version: 0,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let mut tx = self.begin().await;
        templates::put(&mut tx.conn(), self.now(), &row).await.unwrap_or_else(|error| panic!("{error:?}"));
        Self::commit(tx).await;
    }

    /// A notification to one address over the memory channel, with its own id.
    pub fn message(&self, address: &str) -> NewNotification {
        self.message_over("memory:default", &[address])
    }

    /// # Panics
    /// When the channel key is none.
    pub fn message_over(&self, channel: &str, targets: &[&str]) -> NewNotification {
        let audience = Audience::Targets(targets.iter().map(|target| (*target).to_owned()).collect());
        let id = NotificationId(self.random.uuid());
        let mut new = NewNotification::new(id, audience, "Hello", "It is due.");
        new.channel = Some(channel.parse().unwrap_or_else(|error| panic!("{channel}: {error}")));
        new
    }

    /// A notification to a list, over the list's channel.
    pub fn message_to_list(&self, list: &str) -> NewNotification {
        let id = NotificationId(self.random.uuid());
        NewNotification::new(id, Audience::List(list.into()), "Hello", "It is due.")
    }

    pub async fn accept(&self, items: Vec<NewNotification>) -> Vec<Accepted> {
        self.engine
            .accept(items.into_iter().map(Handed::stored).collect())
            .await
            .unwrap_or_else(|error| panic!("not accepted: {error:?}"))
    }

    /// Hands in one that is new; returns its id.
    pub async fn accept_one(&self, new: NewNotification) -> String {
        let id = new.id.to_string();
        assert_eq!(self.accept(vec![new]).await, [Accepted::Created]);
        id
    }

    /// Hands in a message to each of these addresses over the memory channel; returns their ids.
    pub async fn accept_to(&self, addresses: &[&str]) -> Vec<String> {
        let new: Vec<NewNotification> = addresses.iter().map(|address| self.message(address)).collect();
        let ids = new.iter().map(|new| new.id.to_string()).collect();
        self.accept(new).await;
        ids
    }

    pub async fn ensure(&self, rows: &[NewWork]) -> Vec<Ensured> {
        self.engine
            .ensure(rows, Cause::Machine)
            .await
            .unwrap_or_else(|error| panic!("not ensured: {error:?}"))
    }

    pub async fn ensure_one(&self, row: NewWork) -> Ensured {
        self.ensure(&[row]).await.remove(0)
    }

    /// A schedule on a topic; returns the id of its row.
    pub async fn schedule(&self, key: &str, topic: &str, run_at: Timestamp) -> i64 {
        self.ensure_one(new_schedule(key, topic, run_at)).await.id
    }
}

/// The row of a schedule, not stored yet.
///
/// # Panics
/// When the key is none.
pub fn new_schedule(key: &str, topic: &str, run_at: Timestamp) -> NewWork {
    let new = NewSchedule {
        key: key.into(),
        topic: topic.into(),
        run_at,
        time_zone: None,
        payload: json!({ "key": key }),
        business_unit: OwnUnit::default(),
    };
    new.into_work().unwrap_or_else(|error| panic!("{key}: {error}"))
}
