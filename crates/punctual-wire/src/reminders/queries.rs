//! What the routes of reminders are asked.

use jiff::{Timestamp, civil::Date};
use utoipa::IntoParams;

use crate::{
    fields::Fields,
    instant::{self, NotAnInstant},
    problem::Code,
};

/// One end of a forecast: a local day, or an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Day(Date),
    At(Timestamp),
}

/// Which days are looked ahead to.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct ForecastQuery {
    /// The first local day, or an instant; by default now.
    #[param(value_type = Option<String>, example = "2026-05-14")]
    pub from: Option<Edge>,
    /// The last local day, or an instant; by default thirty days after the first.
    #[param(value_type = Option<String>, example = "2026-06-14")]
    pub to: Option<Edge>,
    pub business_unit: Option<String>,
}

impl ForecastQuery {
    pub fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            from: edge(fields, "from"),
            to: edge(fields, "to"),
            business_unit: fields.optional_name("businessUnit"),
        }
    }
}

fn edge(fields: &mut Fields<'_>, name: &'static str) -> Option<Edge> {
    let text = fields.optional_text(name, 1..=64)?;
    let date = instant::parse_date(&text).map(Edge::Day);
    match date.or_else(|fault| match fault {
        NotAnInstant::TooEarly | NotAnInstant::TooLate => Err(fault),
        _ => instant::parse(&text).map(Edge::At),
    }) {
        Ok(edge) => Some(edge),
        Err(fault @ (NotAnInstant::TooEarly | NotAnInstant::TooLate)) => {
            fields.push(fault.at(fields.pointer_to(name), &text, "2026-05-14"));
            None
        }
        Err(_) => {
            let detail = format!(
                "`{name}` takes a day such as `2026-05-14` or an instant such as `{}`.",
                instant::EXAMPLE
            );
            fields.refuse(name, Code::DateInvalid, detail);
            None
        }
    }
}

/// The source and the day that somebody asks about.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct WhyQuery {
    #[param(example = "document")]
    pub source_type: String,
    #[param(example = "42")]
    pub source_id: String,
    /// A local day of the source's business unit.
    #[param(value_type = String, example = "2026-05-14")]
    pub date: Option<Date>,
}

impl WhyQuery {
    pub fn read(fields: &mut Fields<'_>) -> Self {
        fields.require("date", || "a day such as `2026-05-14`".into());
        Self {
            source_type: fields.required_name("sourceType"),
            source_id: fields.required_name("sourceId"),
            date: fields.optional_date("date"),
        }
    }
}
