//! Renders the messages of an event or task before it is saved.

use jiff::Timestamp;
use punctual_store::operations::{organisations::OrganisationRow, subjects::SubjectRow};
use punctual_templates::{Variant, render};

use super::{
    Anchor,
    arrival::context,
    commands::NewSubject,
    edit::{DefaultRule, State},
    rule::{moment, zone_name},
    words,
};

/// A message as it would be.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub rule: DefaultRule,
    /// When it is sent; never where there is no date to go by.
    pub run_at: Option<Timestamp>,
    pub subject: String,
    pub body: String,
    /// Why its texts cannot be filled in.
    pub fault: Option<String>,
}

/// The messages that this would get: those that are wanted, or the usual ones of a new one. The date is said in the zone of the
/// event, as for somebody without their own zone.
pub fn expected(
    new: &NewSubject,
    organisation: Option<&OrganisationRow>,
    wanted: Option<Vec<DefaultRule>>,
) -> Vec<Expected> {
    let row = new.row();
    let state = State { subject: &row, organisation };
    let wanted = wanted.unwrap_or_else(|| {
        let mut usual = state.defaults();
        usual.retain(|one| row.date(one.rule.anchor()).is_some());
        usual
    });
    wanted.into_iter().map(|rule| one(&row, organisation, rule)).collect()
}

fn one(row: &SubjectRow, organisation: Option<&OrganisationRow>, rule: DefaultRule) -> Expected {
    let anchor = rule.rule.anchor();
    let zone = zone_name(row, organisation).unwrap_or("UTC");
    let when = words::when_label(row, anchor, zone);
    let run_at = moment(row, &rule.rule, organisation).map(|wanted| wanted.run_at);
    let (subject, body) = (words::subject_line(row, anchor), words::body(row, anchor, &when));
    let mut shown = Expected { rule, run_at, subject, body, fault: None };
    let variant = Variant {
        subject: shown.rule.message.subject.clone().unwrap_or_default(),
        body: shown.rule.message.body.clone().unwrap_or_default(),
        html: None,
    };
    match render(&variant, &context(row, anchor, &when, zone)) {
        Ok(own) => {
            if shown.rule.message.subject.is_some() {
                shown.subject = own.subject;
            }
            if shown.rule.message.body.is_some() {
                shown.body = own.body;
            }
        }
        Err(fault) => shown.fault = Some(fault.to_string()),
    }
    shown
}

/// What a message says where its rule says nothing: subject and text, as templates would say it.
pub fn usual(anchor: Anchor) -> (&'static str, &'static str) {
    match anchor {
        Anchor::Start => ("Starts: {{ title }}", "{{ title }} starts {{ whenLabel }}."),
        Anchor::End => ("Ends: {{ title }}", "{{ title }} ends {{ whenLabel }}."),
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::delivery_policy::Handling;
    use punctual_wire::operations::texts::RuleTexts;

    use super::*;
    use crate::operations::{RuleSpec, SubjectType};

    #[test]
    fn the_usual_words_as_templates_say_what_the_usual_words_say() {
        let new = NewSubject {
            id: "1".into(),
            subject_type: SubjectType::Event,
            title: "Fair".into(),
            start_at: Some("2026-05-14T07:00:00Z".parse().unwrap()),
            end_at: Some("2026-05-14T09:00:00Z".parse().unwrap()),
            is_all_day: false,
            creator: "ann".into(),
            people: Vec::new(),
            organisation: None,
            time_zone: Some("Europe/Berlin".into()),
            business_unit: Default::default(),
            ical_uid: None,
            ical_series: None,
            location: None,
            description: None,
        };
        let usually = expected(&new, None, None);
        assert_eq!(usually.len(), 2);
        let own = usually.iter().map(|one| {
            let (subject, body) = usual(one.rule.rule.anchor());
            let message = RuleTexts { subject: Some(subject.into()), body: Some(body.into()), html: None };
            DefaultRule { message, ..one.rule.clone() }
        });
        for (own, usual) in expected(&new, None, Some(own.collect())).iter().zip(&usually) {
            assert_eq!((own.subject.as_str(), own.body.trim()), (usual.subject.as_str(), usual.body.trim()));
            assert_eq!(own.run_at, usual.run_at);
        }
        let wrong = DefaultRule {
            rule: RuleSpec::Relative { anchor: Anchor::Start, offset: "-1h".into() },
            channels: vec!["email".into()],
            handling: Handling::default(),
            message: RuleTexts { subject: Some("{{ nothing".into()), body: None, html: None },
        };
        let shown = expected(&new, None, Some(vec![wrong])).remove(0);
        assert!(shown.fault.is_some() && shown.run_at == Some("2026-05-14T06:00:00Z".parse().unwrap()));
    }
}
