//! Counts child sources: the contribution of a child to its parent is written with the event of the child, and its old and new
//! parent are evaluated in the same transaction.

use std::collections::{BTreeSet, HashMap};

use punctual_boxed::boxed;
use punctual_store::{
    Conn, StoreError,
    reminders::children::{self, ChildRow},
    sources::{self, SourceRow},
};
use serde_json::Value;

use super::{
    Setting,
    providers::{Counted, Source},
    triggers::metric::{MILLION, number},
};

/// What a child counts as for a setting; nothing where it does not count.
fn amount(setting: &Setting, counted: &Counted, child: &Source) -> Option<ChildRow> {
    if !child.is_valid() || counted.filter.as_ref().is_some_and(|filter| !setting.matches(filter, child)) {
        return None;
    }
    let parent_id = match child.state.pointer(&counted.parent_field)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let amount_millionths = match &counted.sum {
        None => MILLION,
        Some(field) => {
            let amount = number(child.state.pointer(field)?)? * MILLION as f64;
            // Beyond nine trillion a sum is no longer one that anybody counts.
            if amount.abs() > 9e18 { return None } else { amount.round() as i64 }
        }
    };
    Some(ChildRow {
        setting_id: setting.id.clone(),
        child_id: child.row.source_id.clone(),
        parent_id,
        amount_millionths,
        business_unit: child.row.business_unit.clone(),
    })
}

/// How the count of some children differs from what is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    pub put: Vec<ChildRow>,
    /// By setting and child.
    pub gone: Vec<(String, String)>,
    /// The parents that are to be checked again, by type and id.
    pub parents: BTreeSet<(String, String)>,
}

impl Diff {
    #[boxed]
    pub async fn write(&self, conn: &mut Conn<'_>) -> Result<(), StoreError> {
        let gone: Vec<(&str, &str)> =
            self.gone.iter().map(|(setting, child)| (setting.as_str(), child.as_str())).collect();
        children::delete(conn, &gone).await?;
        children::put(conn, &self.put).await?;
        Ok(())
    }
}

/// Compares what these sources count as, wherever they are counted, with what is written.
#[boxed]
pub async fn diff(conn: &mut Conn<'_>, settings: &[Setting], rows: &[SourceRow]) -> Result<Diff, StoreError> {
    let mut diff = Diff::default();
    let counting: Vec<(&Setting, &Counted)> =
        settings.iter().filter_map(|setting| Some((setting, setting.rule.counted()?))).collect();
    let is_counted =
        |row: &&SourceRow| counting.iter().any(|(_, counted)| counted.source_type == row.source_type);
    let sources: Vec<Source> = rows.iter().filter(is_counted).cloned().map(Source::new).collect();
    let mut wanted: Vec<(&Setting, &Source, Option<ChildRow>)> = Vec::new();
    for (setting, counted) in &counting {
        for child in sources.iter().filter(|child| child.row.source_type == counted.source_type) {
            wanted.push((setting, child, amount(setting, counted, child)));
        }
    }
    if wanted.is_empty() {
        return Ok(diff);
    }
    let pairs: Vec<(&str, &str)> = wanted
        .iter()
        .map(|(setting, child, _)| (setting.id.as_str(), child.row.source_id.as_str()))
        .collect();
    let before: HashMap<(String, String), ChildRow> = children::of(conn, &pairs)
        .await?
        .into_iter()
        .map(|row| ((row.setting_id.clone(), row.child_id.clone()), row))
        .collect();
    for (setting, child, now) in wanted {
        let pair = (setting.id.clone(), child.row.source_id.clone());
        let was = before.get(&pair);
        if was == now.as_ref() {
            continue;
        }
        for row in was.into_iter().chain(&now) {
            diff.parents.insert((setting.source_type.clone(), row.parent_id.clone()));
        }
        match now {
            Some(row) => diff.put.push(row),
            None => diff.gone.push(pair),
        }
    }
    diff.put.sort_by(|a, b| (&a.setting_id, &a.child_id).cmp(&(&b.setting_id, &b.child_id)));
    Ok(diff)
}

/// What the children of every parent would come to under a setting that is not applied yet.
#[derive(Debug, Default)]
pub struct Tally(HashMap<String, Vec<(Option<String>, i64)>>);

impl Tally {
    /// Walks over all that would be counted.
    #[boxed]
    pub async fn of(conn: &mut Conn<'_>, setting: &Setting) -> Result<Self, StoreError> {
        let mut tally = Self::default();
        let Some(counted) = setting.rule.counted() else { return Ok(tally) };
        let mut after = String::new();
        loop {
            let rows =
                sources::walk(conn, &counted.source_type, &after, None, super::changes::BATCH, false).await?;
            let Some(last) = rows.last() else { return Ok(tally) };
            after.clone_from(&last.source_id);
            for row in rows {
                if let Some(row) = amount(setting, counted, &Source::new(row)) {
                    let amount = (row.business_unit, row.amount_millionths);
                    tally.0.entry(row.parent_id).or_default().push(amount);
                }
            }
        }
    }

    /// The sum for one parent, as [`children::sums`] has it.
    pub fn sum(&self, parent: &SourceRow) -> Option<i64> {
        let counts = |unit: &Option<String>| unit.is_none() || *unit == parent.business_unit;
        let mut amounts = self.0.get(&parent.source_id)?.iter().filter(|(unit, _)| counts(unit)).peekable();
        amounts.peek()?;
        Some(amounts.map(|(_, amount)| amount).sum())
    }
}
