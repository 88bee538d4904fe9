//! Business units that a command names.

use punctual_store::{Conn, StoreError, business_units};

use super::CommandError;

/// The first of these business units that does not exist.
pub(crate) async fn unknown_unit(
    conn: &mut Conn<'_>,
    units: &[String],
) -> Result<Option<String>, StoreError> {
    let known = business_units::by_ids(conn, units.to_vec()).await?;
    Ok(units.iter().find(|unit| known.iter().all(|row| row.id != **unit)).cloned())
}

/// Refuses a business unit that does not exist, at `pointer`.
pub(crate) async fn require_unit(
    conn: &mut Conn<'_>,
    unit: Option<&str>,
    pointer: &str,
) -> Result<(), CommandError> {
    let named: Vec<String> = unit.map(str::to_owned).into_iter().collect();
    match unknown_unit(conn, &named).await? {
        Some(unit) => Err(unit_unknown(pointer, &unit)),
        None => Ok(()),
    }
}

pub(crate) fn unit_unknown(pointer: &str, unit: &str) -> CommandError {
    CommandError::invalid(pointer, "unit_unknown", format!("There is no business unit `{unit}`."))
}
