//! Loads the data for decisions about sources, in sets.

use std::collections::HashMap;

use punctual_boxed::boxed;
use punctual_store::{
    Conn, StoreError, business_units,
    reminders::{
        children::{self, Parent},
        settings::{self, SettingRow},
        states,
    },
    sources::SourceRow,
    work,
};

use super::{
    KIND, Setting,
    evaluate::Inputs,
    providers::{Providers, Source, Zone},
};

/// Reads settings; one that cannot be read is left out, as if it were switched off.
pub fn read_settings(providers: &Providers, rows: &[SettingRow]) -> Vec<Setting> {
    rows.iter().filter_map(|row| Setting::read(providers, row).ok()).collect()
}

/// The settings that concern sources of these types, held for the transaction; with those of the parents of what
/// they count.
#[boxed]
pub async fn of_types(
    conn: &mut Conn<'_>,
    providers: &Providers,
    types: &[String],
) -> Result<Vec<Setting>, StoreError> {
    let rows = settings::of_types(conn, types.to_vec()).await?;
    let mut more: Vec<String> =
        rows.iter().map(|row| row.source_type.clone()).filter(|kind| !types.contains(kind)).collect();
    if more.is_empty() {
        return Ok(read_settings(providers, &rows));
    }
    more.extend(types.iter().cloned());
    more.sort_unstable();
    more.dedup();
    let rows = settings::of_types(conn, more).await?;
    Ok(read_settings(providers, &rows))
}

/// The zones of business units, by id.
pub async fn zones(
    conn: &mut Conn<'_>,
    units: impl Iterator<Item = Option<String>>,
) -> Result<HashMap<String, Zone>, StoreError> {
    let mut units: Vec<String> = units.flatten().collect();
    units.sort_unstable();
    units.dedup();
    let rows = business_units::by_ids(conn, units).await?;
    Ok(rows.into_iter().map(|row| (row.id, Zone::named(Some(&row.time_zone)))).collect())
}

impl Inputs {
    /// Reads what the evaluation of these sources under these settings needs. `fresh` says that a source which is at its
    /// first version has no rows yet, as in the transaction of its first event; only then are messages made at once.
    #[boxed]
    pub async fn load(
        conn: &mut Conn<'_>,
        settings: Vec<Setting>,
        sources: Vec<SourceRow>,
        fresh: bool,
    ) -> Result<Self, StoreError> {
        let zones = zones(conn, sources.iter().map(|row| row.business_unit.clone())).await?;
        let known: Vec<(&str, &str)> = sources
            .iter()
            .filter(|row| !(fresh && row.version == 1))
            .map(|row| (row.source_type.as_str(), row.source_id.as_str()))
            .collect();
        let mut inputs = Self { zones, from_event: fresh, ..Self::default() };
        for row in work::of_sources(conn, KIND, &known).await? {
            let place = (row.source_type.clone(), row.source_id.clone());
            inputs.existing.entry(place).or_default().push(row);
        }
        inputs.load_measures(conn, &settings, &sources).await?;
        inputs.settings = settings;
        inputs.sources = sources.into_iter().map(Source::new).collect();
        Ok(inputs)
    }

    /// The state of measures, and what children come to.
    #[boxed]
    pub async fn load_measures(
        &mut self,
        conn: &mut Conn<'_>,
        settings: &[Setting],
        sources: &[SourceRow],
    ) -> Result<(), StoreError> {
        let pairs = |wanted: &dyn Fn(&Setting) -> bool| -> Vec<(String, String)> {
            settings
                .iter()
                .filter(|setting| wanted(setting))
                .flat_map(|setting| {
                    let own = sources.iter().filter(|row| row.source_type == setting.source_type);
                    own.map(|row| (setting.id.clone(), row.source_id.clone()))
                })
                .collect()
        };
        let stateful = pairs(&|setting| setting.rule.keeps_state());
        if !stateful.is_empty() {
            let borrowed: Vec<(&str, &str)> = borrowed(&stateful);
            for row in states::of(conn, &borrowed).await? {
                let pair = (row.setting_id.clone(), row.source_id.clone());
                self.states.entry(pair).or_default().push(row);
            }
        }
        let mut counting = Vec::new();
        for setting in settings.iter().filter(|setting| setting.rule.counted().is_some()) {
            let own = sources.iter().filter(|row| row.source_type == setting.source_type);
            counting.extend(own.map(|row| Parent {
                setting_id: &setting.id,
                parent_id: &row.source_id,
                business_unit: row.business_unit.as_deref(),
            }));
        }
        if !counting.is_empty() {
            for row in children::sums(conn, counting).await? {
                self.sums.insert((row.setting_id, row.parent_id), row.total_millionths);
            }
        }
        Ok(())
    }
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(one, other)| (one.as_str(), other.as_str())).collect()
}
