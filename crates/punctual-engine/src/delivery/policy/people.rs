//! Who is behind an address: what they want, where they live, and at which other addresses they are reached.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::tz::TimeZone;
use punctual_model::{address::comparable, delivery_policy::Preference, local_time};
use punctual_store::{
    Named, StoreError, Tx, business_units,
    delivery_policy::preferences,
    notifications::NotificationRow,
    operations::people::{self, PersonRow},
};

use crate::Opened;

/// One person, as far as is known.
#[derive(Clone)]
pub(super) struct Person {
    /// Their name in the table, or their address.
    pub(super) key: String,
    pub(super) preference: Arc<Preference>,
    zone: Option<TimeZone>,
}

/// What was read for a batch, in sets.
pub(super) struct People {
    known: HashMap<String, Person>,
    /// Those at these addresses in the directory, found by the business unit of a message.
    listed: Named<PersonRow>,
    units: HashMap<String, TimeZone>,
    nobody: Arc<Preference>,
}

fn zone(name: Option<&str>) -> Option<TimeZone> {
    name.and_then(|name| local_time::zone(name).ok())
}

impl People {
    /// Reads what is known of these addresses. Zones are read only where an hour or a day matters.
    pub(super) async fn load(
        tx: &mut Tx,
        targets: HashSet<String>,
        units: HashSet<String>,
        opened: &Opened,
        has_cap: bool,
    ) -> Result<Self, StoreError> {
        let mut known = HashMap::new();
        let addresses: Vec<String> = targets.iter().map(|target| comparable(target)).collect();
        let mut asked: Vec<String> = addresses.clone();
        asked.sort_unstable();
        asked.dedup();
        for row in preferences::by_addresses(&mut tx.conn(), asked).await? {
            let preference = Arc::new(Preference::read(&row.definition));
            let zone = zone(preference.time_zone.as_deref());
            let person = Person { key: row.person, preference, zone };
            for other in person.preference.addresses.values() {
                known.entry(comparable(other)).or_insert_with(|| person.clone());
            }
            known.insert(row.address, person);
        }
        let by_day =
            |preference: &Preference| preference.quiet_hours.is_some() || preference.daily_cap.is_some();
        let needs_zones =
            has_cap || opened.policy.has_hours() || known.values().any(|person| by_day(&person.preference));
        let mut people =
            Self { known, listed: Named::default(), units: HashMap::new(), nobody: Arc::default() };
        if needs_zones {
            people.load_zones(tx, targets, units).await?;
        }
        Ok(people)
    }

    async fn load_zones(
        &mut self,
        tx: &mut Tx,
        targets: HashSet<String>,
        units: HashSet<String>,
    ) -> Result<(), StoreError> {
        let without =
            |target: &String| self.known.get(&comparable(target)).is_none_or(|person| person.zone.is_none());
        let mails = targets.into_iter().filter(|target| target.contains('@') && without(target)).collect();
        self.listed = people::at_emails(&mut tx.conn(), mails).await?;
        for unit in business_units::by_ids(&mut tx.conn(), units.into_iter().collect()).await? {
            self.units.extend(zone(Some(&unit.time_zone)).map(|zone| (unit.id, zone)));
        }
        Ok(())
    }

    pub(super) fn preference(&self, target: &str) -> &Arc<Preference> {
        self.known.get(&comparable(target)).map_or(&self.nobody, |person| &person.preference)
    }

    /// Under what somebody is counted.
    pub(super) fn key(&self, target: &str) -> String {
        let address = comparable(target);
        self.known.get(&address).map_or(address, |person| person.key.clone())
    }

    /// Where somebody lives: as they say, else where the message's unit does, else as the channel says.
    pub(super) fn zone(&self, target: &str, row: &NotificationRow, opened: &Opened) -> TimeZone {
        let own = self.known.get(&comparable(target)).and_then(|person| person.zone.clone());
        let listed = || self.listed.get(row.business_unit.as_deref(), target)?.time_zone.as_deref();
        own.or_else(|| zone(listed()))
            .or_else(|| row.business_unit.as_ref().and_then(|unit| self.units.get(unit).cloned()))
            .or_else(|| zone(opened.policy.time_zone.as_deref()))
            .unwrap_or(TimeZone::UTC)
    }
}
