//! Titles of report runs: `Weekly deliveries: period from 11 May`.

use std::collections::HashMap;

use jiff::{Timestamp, civil::Time, tz::TimeZone};
use punctual_engine::{
    Titles,
    titles::{day, line},
};
use punctual_model::{KeyParts, Reach, local_time};
use punctual_store::{Conn, StoreError, report_subscriptions};

use super::{Reports, Subscription};

impl Titles for Reports {
    async fn titles(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        now: Timestamp,
        keys: &[KeyParts],
    ) -> Result<Vec<Option<String>>, StoreError> {
        let guid = |key: &KeyParts| match key {
            KeyParts::ReportScheduled { guid, .. } | KeyParts::ReportManual { guid, .. } => {
                Some(guid.clone())
            }
            _ => None,
        };
        let guids: Vec<String> = keys.iter().filter_map(guid).collect();
        let rows = report_subscriptions::by_guids(conn, reach, guids).await?;
        let named = rows.into_iter().map(|row| {
            let zone =
                Subscription::read(&row).ok().and_then(|read| local_time::zone(&read.cadence.zone_name).ok());
            let name = line(&row.name);
            let name = if row.deleted { format!("{name} (deleted)") } else { name };
            (row.guid, (name, zone.unwrap_or(TimeZone::UTC)))
        });
        let named: HashMap<String, (String, TimeZone)> = named.collect();
        let title = |key: &KeyParts| {
            let gone = ("Deleted report".to_owned(), TimeZone::UTC);
            let (name, zone) = named.get(&guid(key)?).unwrap_or(&gone);
            let KeyParts::ReportScheduled { period_start, .. } = key else {
                return Some(format!("{name}: run on request"));
            };
            let local = zone.to_datetime(*period_start);
            let hour = if local.time() == Time::midnight() {
                String::new()
            } else {
                local.strftime(" %H:%M").to_string()
            };
            Some(format!("{name}: period from {}{hour}", day(local.date(), now)))
        };
        Ok(keys.iter().map(title).collect())
    }
}
