//! Runs a test event against a schema: matching triggers, due times and texts of their messages. Pure: stores and sends
//! nothing.

use jiff::Timestamp;
use punctual_model::{
    Filter,
    survey::{Candidate, Schema, SurveyTrigger, advance, expires_at, first_send},
};
use punctual_templates::{InlineTemplate, Variant, render};
use serde_json::{Value, json};

use super::{
    ingest::{Item, Why},
    words,
};

/// What one trigger makes of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub trigger_id: String,
    pub outcome: TrialOutcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TrialOutcome {
    /// It does not take the event: why, and what its filter asked for, with what was found.
    Not {
        why: Why,
        asked: Vec<(String, String)>,
    },
    Takes(Box<Taken>),
}

/// What follows from an event that is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    pub channel: String,
    pub address: String,
    pub locale: String,
    pub template: Option<String>,
    /// When each message is due if the ones before it arrive at once.
    pub sends: Vec<Timestamp>,
    pub expires_at: Timestamp,
    /// What makes another event the same one: path and value.
    pub same_if: Vec<(String, String)>,
    /// The first message as it would be read, or why it cannot be shown.
    pub message: Result<String, String>,
}

/// Runs one event over the triggers of a schema.
pub fn trial(schema: &Schema, survey_id: i64, event_kind: &str, item: &Item, now: Timestamp) -> Vec<Trial> {
    let candidate = Candidate {
        survey_id,
        payload: &item.payload,
        address: &item.address,
        locale: item.locale.as_deref(),
        customer_ref: item.customer_ref.as_deref(),
    };
    let one = |trigger: &SurveyTrigger| {
        let passes = |filter: &Filter| filter.matches(&|path| candidate.get(path));
        let outcome = if trigger.event_kind != event_kind {
            TrialOutcome::Not { why: Why::NoTrigger, asked: Vec::new() }
        } else if !trigger.enabled {
            TrialOutcome::Not { why: Why::Disabled, asked: Vec::new() }
        } else if let Some(filter) = trigger.filter.as_ref().filter(|filter| !passes(filter)) {
            let asked = filter.paths().into_iter().map(|path| (path.to_owned(), found(&candidate, path)));
            TrialOutcome::Not { why: Why::FilterFalse, asked: asked.collect() }
        } else {
            TrialOutcome::Takes(Box::new(taken(schema, trigger, &candidate, item, now)))
        };
        Trial { trigger_id: trigger.id.clone(), outcome }
    };
    schema.triggers.iter().map(one).collect()
}

fn found(candidate: &Candidate<'_>, path: &str) -> String {
    match candidate.get(path).as_deref() {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn taken(
    schema: &Schema,
    trigger: &SurveyTrigger,
    candidate: &Candidate<'_>,
    item: &Item,
    now: Timestamp,
) -> Taken {
    let mut sends = vec![first_send(&trigger.schedule, now)];
    while let Some(next) = sends.last().and_then(|last| {
        let ordinal = i64::try_from(sends.len()).unwrap_or(i64::MAX);
        advance(&trigger.schedule, ordinal, *last).next_send_at
    }) {
        sends.push(next);
    }
    let locale = schema.locale(item.locale.as_deref());
    Taken {
        channel: trigger.channel.to_string(),
        address: item.address.clone(),
        template: trigger.template.clone(),
        expires_at: expires_at(trigger, now, sends.last().copied()),
        same_if: trigger.recipe.paths().iter().map(|path| (path.clone(), found(candidate, path))).collect(),
        message: first_message(schema, &locale, item),
        sends,
        locale,
    }
}

/// The words before the link of the first message.
fn first_message(schema: &Schema, locale: &str, item: &Item) -> Result<String, String> {
    let own = schema.invitation.as_ref().map(|text| schema.text(text, Some(locale)));
    let Some(own) = own else { return Ok(words::of(locale).invitation.to_owned()) };
    let parsed = InlineTemplate::parse(own, crate::inline::SURVEY).map_err(|fault| fault.to_string())?;
    if !parsed.is_template() {
        return Ok(own.to_owned());
    }
    let context = json!({
        "publicId": "00000000-0000-0000-0000-000000000000", "surveyUrl": "…", "ordinal": 1, "isReminder": false,
        "title": schema.text(&schema.title, Some(locale)), "candidate": item.payload,
        "recipient": { "address": item.address, "customerRef": item.customer_ref },
    });
    let variant = Variant { subject: String::new(), body: own.to_owned(), html: None };
    render(&variant, &context).map(|shown| shown.body).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(filter: Value) -> Schema {
        let trigger = json!({ "id": "closed", "eventKind": "visit-closed", "filter": filter, "channel": "sms:default",
            "dedupRecipe": ["recipient.address", "candidate.wip"], "schedule": { "initialDelay": "1d", "reminders": ["2d"] },
            "expiryGracePeriod": "10d" });
        Schema::read(&json!({ "title": { "en": "How was it?", "de": "Wie war es?" }, "triggers": [trigger],
            "invitation": { "en": "Hello {{ candidate.name }}", "de": "Hallo {{ candidate.name }}" },
            "questions": [{ "id": "rate", "type": "nps", "text": "How?" }] }))
        .unwrap()
    }

    fn item(job: &str) -> Item {
        let payload = json!({ "jobType": job, "wip": 7, "name": "Ada" });
        Item {
            payload: payload.as_object().unwrap().clone(),
            address: "+49 1".into(),
            locale: Some("de-AT".into()),
            customer_ref: None,
            occurred_at: None,
        }
    }

    #[test]
    fn a_trial_says_what_an_event_would_do_and_why_not() {
        let schema = schema(json!({ "questionId": "candidate.jobType", "op": "==", "value": "GR" }));
        let now: Timestamp = "2026-05-01T09:00:00Z".parse().unwrap();
        let of = |kind: &str, job: &str| trial(&schema, 3, kind, &item(job), now).remove(0).outcome;
        let asked = vec![("candidate.jobType".to_owned(), "XX".to_owned())];
        assert_eq!(of("visit-closed", "XX"), TrialOutcome::Not { why: Why::FilterFalse, asked });
        assert_eq!(of("other", "GR"), TrialOutcome::Not { why: Why::NoTrigger, asked: Vec::new() });
        let TrialOutcome::Takes(taken) = of("visit-closed", "GR") else { panic!("it is taken") };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(taken.sends, [at("2026-05-02T09:00:00Z"), at("2026-05-04T09:00:00Z")]);
        assert_eq!(taken.expires_at, at("2026-05-14T09:00:00Z"));
        assert_eq!((taken.locale.as_str(), taken.message), ("de", Ok("Hallo Ada".to_owned())));
        assert_eq!(taken.same_if[1], ("candidate.wip".to_owned(), "7".to_owned()));
    }
}
