//! Checks the business units in a request: each must exist and be within the caller's reach.
//!
//! Only [`Units`] makes an [`OwnUnit`], and every new row carries one, so a command cannot store an unchecked unit. For a
//! limited caller, the name of another unit is unknown.

use std::collections::BTreeSet;

use punctual_boxed::boxed;
use punctual_store::{Conn, StoreError, business_units};

use super::{Actor, CommandError};
use crate::Engine;

/// The business unit of something new: none, or one that exists and that the caller may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnUnit(Option<String>);

impl OwnUnit {
    /// A unit that no request names: it is stored already, or comes from a sample or another database.
    pub fn stored(unit: Option<String>) -> Self {
        Self(unit)
    }

    pub fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub fn into_name(self) -> Option<String> {
        self.0
    }
}

/// The business units that one request may give to what it makes.
#[derive(Debug)]
pub struct Units {
    by: Actor,
    known: BTreeSet<String>,
}

impl Units {
    /// Looks up the units of a whole request in one statement; in none where it names none.
    #[boxed]
    pub async fn read(conn: &mut Conn<'_>, by: &Actor, named: Vec<&str>) -> Result<Self, StoreError> {
        // Without a name, a limited caller uses its own unit, so no lookup is needed.
        let named: BTreeSet<&str> = match &by.units {
            None => named.into_iter().collect(),
            Some(own) => own.iter().map(String::as_str).collect(),
        };
        let rows = business_units::by_ids(conn, named.into_iter().map(str::to_owned).collect()).await?;
        Ok(Self { by: by.clone(), known: rows.into_iter().map(|row| row.id).collect() })
    }

    /// The unit of something new: the one given, or the only one that the caller has. `pointer` is where the object is
    /// that names it.
    pub fn unit_for(&self, given: Option<String>, pointer: &str) -> Result<OwnUnit, CommandError> {
        self.unit_after(None, given, pointer)
    }

    /// As [`Self::unit_for`], for something that is there: it may keep its unit, also one that was removed since.
    pub fn unit_after(
        &self,
        before: Option<&Option<String>>,
        given: Option<String>,
        pointer: &str,
    ) -> Result<OwnUnit, CommandError> {
        match self.by.unit_for(given, pointer)? {
            Some(unit) if !self.known.contains(&unit) && before != Some(&Some(unit.clone())) => {
                Err(unit_unknown(&format!("{pointer}/businessUnit"), &unit))
            }
            unit => Ok(OwnUnit(unit)),
        }
    }
}

impl Engine {
    /// The business units that a request may name, which are these.
    #[boxed]
    pub async fn units_named(&self, by: &Actor, named: Vec<&str>) -> Result<Units, StoreError> {
        if by.units.is_none() && named.is_empty() {
            return Ok(Units { by: by.clone(), known: BTreeSet::new() });
        }
        let mut reader = self.store.read_for_people().await?;
        Units::read(&mut reader.conn(), by, named).await
    }

    /// The business unit of one new thing.
    #[boxed]
    pub async fn unit_for(
        &self,
        by: &Actor,
        given: Option<String>,
        pointer: &str,
    ) -> Result<OwnUnit, CommandError> {
        let units = self.units_named(by, given.as_deref().into_iter().collect()).await?;
        units.unit_for(given, pointer)
    }

    /// The business unit of one thing that may be there already, with that unit.
    #[boxed]
    pub async fn unit_after(
        &self,
        by: &Actor,
        before: Option<&Option<String>>,
        given: Option<String>,
    ) -> Result<OwnUnit, CommandError> {
        let units = self.units_named(by, given.as_deref().into_iter().collect()).await?;
        units.unit_after(before, given, "")
    }
}

/// The first of these business units that does not exist.
pub(crate) async fn unknown_unit(
    conn: &mut Conn<'_>,
    units: &[String],
) -> Result<Option<String>, StoreError> {
    let known = business_units::by_ids(conn, units.to_vec()).await?;
    Ok(units.iter().find(|unit| known.iter().all(|row| row.id != **unit)).cloned())
}

pub(crate) fn unit_unknown(pointer: &str, unit: &str) -> CommandError {
    CommandError::invalid(pointer, "unit_unknown", format!("There is no business unit `{unit}`."))
}
