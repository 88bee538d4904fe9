//! Stored definitions of operations (people, organisations and rules), with validation of their hours and offsets.

use jiff::Timestamp;
use punctual_model::{Fault, local_time};
use punctual_store::operations::{organisations::OrganisationRow, people::PersonRow};
use punctual_wire::{
    Code, FieldError,
    operations::{
        organisations::OrganisationRequest, people::PersonRequest, rules::RuleShape, texts::RuleTexts,
    },
};

use super::{
    Anchor, RuleSpec,
    commands::DefaultRule,
    rule::{is_same_message, parse_offset},
};
use crate::inline::{self, Saved};

/// A request as it is stored.
pub fn person_row(id: String, request: PersonRequest, now: Timestamp) -> PersonRow {
    PersonRow {
        id,
        name: request.name,
        email: request.email,
        time_zone: request.time_zone,
        locale: request.locale,
        channels: serde_json::Value::from(request.channels).to_string(),
        addresses: serde_json::Value::from_iter(request.addresses).to_string(),
        business_unit: request.business_unit,
        updated_at: now,
    }
}

/// A request as it is stored; what its hours and rules mean is checked here.
pub fn organisation_row(
    id: String,
    request: OrganisationRequest,
    now: Timestamp,
) -> Result<OrganisationRow, FieldError> {
    if let Some(at) = &request.all_day_at {
        local_time::parse_time(at)
            .map_err(|error| FieldError::new("/allDayAt", Code::DateInvalid, error.to_string()))?;
    }
    let mut rules: Vec<DefaultRule> = Vec::new();
    for (index, one) in request.rules.iter().flatten().enumerate() {
        let rule = rule_spec(&one.rule, &format!("/rules/{index}/rule"))?;
        let (handling, message) = (one.handling.clone().into(), one.message.clone());
        texts_fit(&message, &format!("/rules/{index}/message"))?;
        if rules.iter().any(|known| is_same_message(known.what(), (&rule, &one.channels))) {
            let detail = "There is such a message already, at the same moment and over the same channels.";
            return Err(FieldError::new(format!("/rules/{index}/rule"), Code::OutOfRange, detail));
        }
        rules.push(DefaultRule { rule, channels: one.channels.clone(), handling, message });
    }
    let rules = request.rules.as_ref().map(|_| serde_json::json!(rules).to_string());
    Ok(OrganisationRow {
        id,
        name: request.name,
        time_zone: request.time_zone,
        all_day_at: request.all_day_at,
        rules,
        business_unit: request.business_unit,
        updated_at: now,
    })
}

/// That the texts of a rule are templates with the variables of a stored one.
pub fn texts_fit(texts: &RuleTexts, pointer: &str) -> Result<(), FieldError> {
    let saved =
        texts.each().map(|(name, text)| Saved { pointer: format!("{pointer}/{name}"), text, before: None });
    match inline::faults(saved, inline::OPERATION).into_iter().next() {
        None => Ok(()),
        Some(Fault { pointer, code, detail }) => {
            Err(FieldError::new(pointer, Code::parse(code).unwrap_or(Code::OutOfRange), detail))
        }
    }
}

/// The rule that a request means; what its texts mean is checked here.
pub fn rule_spec(shape: &RuleShape, pointer: &str) -> Result<RuleSpec, FieldError> {
    let anchor = if shape.anchor == "end" { Anchor::End } else { Anchor::Start };
    Ok(match shape.kind.as_str() {
        "relative" => {
            let offset = shape.offset.clone().unwrap_or_default();
            if parse_offset(&offset).is_none() {
                let detail = format!(
                    "`{offset}` is no offset; write a sign and a duration, such as `-24h` or `+15m`."
                );
                return Err(FieldError::new(format!("{pointer}/offset"), Code::DurationInvalid, detail));
            }
            RuleSpec::Relative { anchor, offset }
        }
        "on_day" => {
            let at = shape.at.clone().unwrap_or_default();
            local_time::parse_time(&at).map_err(|error| {
                FieldError::new(format!("{pointer}/at"), Code::DateInvalid, error.to_string())
            })?;
            RuleSpec::OnDay {
                anchor,
                at,
                time_zone: shape.time_zone.clone(),
                day_offset: shape.day_offset.unwrap_or_default(),
            }
        }
        _ => RuleSpec::AtSubjectDate { anchor },
    })
}

/// A rule as clients see it.
pub fn rule_shape(spec: &RuleSpec) -> RuleShape {
    let mut shape = RuleShape {
        kind: spec.type_name().to_owned(),
        anchor: spec.anchor().as_str().to_owned(),
        offset: None,
        at: None,
        time_zone: None,
        day_offset: None,
    };
    match spec {
        RuleSpec::AtSubjectDate { .. } => {}
        RuleSpec::Relative { offset, .. } => shape.offset = Some(offset.clone()),
        RuleSpec::OnDay { at, time_zone, day_offset, .. } => {
            shape.at = Some(at.clone());
            shape.time_zone = time_zone.clone();
            shape.day_offset = Some(*day_offset).filter(|days| *days != 0);
        }
    }
    shape
}
