//! The business units whose rows a caller may see.

/// Everything, or the rows of these business units. Every store function that reads business rows for somebody takes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    Everything,
    Units(Vec<String>),
}

impl Reach {
    /// A caller that is limited to these units, or to nothing at all.
    pub fn limited_to(units: Option<Vec<String>>) -> Self {
        units.map_or(Self::Everything, Self::Units)
    }

    /// The units it is limited to.
    pub fn units(&self) -> Option<&[String]> {
        match self {
            Self::Everything => None,
            Self::Units(units) => Some(units),
        }
    }

    /// Whether a business row of this unit is within reach. One without a unit belongs to the installation.
    pub fn includes(&self, unit: Option<&str>) -> bool {
        match (self, unit) {
            (Self::Everything, _) => true,
            (Self::Units(units), Some(unit)) => units.iter().any(|own| own == unit),
            (Self::Units(_), None) => false,
        }
    }

    /// Whether a definition of this unit may be used. One without a unit is shared by all.
    pub fn shares(&self, unit: Option<&str>) -> bool {
        unit.is_none() || self.includes(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_unit_belong_to_the_installation_and_definitions_to_all() {
        let own = Reach::limited_to(Some(vec!["de".to_owned(), "nz".to_owned()]));
        let table = |reach: &Reach| {
            [Some("de"), Some("fr"), None].map(|unit| (reach.includes(unit), reach.shares(unit)))
        };
        assert_eq!(table(&own), [(true, true), (false, false), (false, true)]);
        assert_eq!(table(&Reach::limited_to(None)), [(true, true); 3]);
        assert_eq!(table(&Reach::Units(Vec::new())), [(false, false), (false, false), (false, true)]);
    }
}
