//! A test event below the editor: what the triggers, as they are in the form, would make of it. Nothing is stored or sent.

use askama::Template;
use punctual_model::survey::Schema;
use punctual_workflows::surveys::{
    ingest::{Item, Why},
    trial::{Taken, Trial, TrialOutcome, trial},
};
use serde_json::{Map, Value};

use super::shape::items;
use crate::{App, editor::Stored, editor::meant, form::Fields, frame::Visit, times::When, words};

#[derive(Template)]
#[template(path = "survey_trial.html")]
pub struct TrialPart {
    kind: String,
    kinds: Vec<String>,
    address: String,
    locale: String,
    customer: String,
    fields: String,
    /// What happened to it, once it was tried.
    said: Option<Result<Vec<Said>, String>>,
}

/// What one trigger says.
pub struct Said {
    title: String,
    taken: bool,
    why: String,
    asked: Vec<(String, String)>,
    steps: Vec<(String, When)>,
    same_if: Vec<(String, String)>,
    message: String,
}

impl TrialPart {
    pub fn of(
        app: &App,
        visit: &Visit,
        stored: Option<&Stored>,
        draft: &Value,
        typed: Option<&Fields>,
    ) -> Self {
        let triggers = items(&draft["schema"]["triggers"]);
        let mut kinds: Vec<String> =
            triggers.iter().filter_map(|one| one["eventKind"].as_str().map(str::to_owned)).collect();
        kinds.dedup();
        let text = |name: &str| typed.map(|fields| fields.text(name).to_owned()).unwrap_or_default();
        let given = text("trialFields").replace("\r\n", "\n");
        let kind = text("trialKind");
        let said = (!text("trialKind").is_empty()
            && typed.is_some_and(|fields| fields.text("do").is_empty()))
        .then(|| tried(app, visit, stored, draft, &kind, &text, &given));
        Self {
            address: Some(text("trialAddress"))
                .filter(|it| !it.is_empty())
                .unwrap_or_else(|| "ann@example.org".into()),
            locale: text("trialLocale"),
            customer: text("trialCustomer"),
            fields: if given.is_empty() { asked_for(triggers) } else { given },
            kind,
            kinds,
            said,
        }
    }
}

/// A line for each field of the event that a trigger asks for.
fn asked_for(triggers: &[Value]) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut take = |path: &str| {
        if let Some(name) = path.strip_prefix("candidate.").filter(|name| !name.is_empty())
            && names.iter().all(|known| known != name)
        {
            names.push(name.to_owned());
        }
    };
    for trigger in triggers {
        items(&trigger["dedupRecipe"]).iter().filter_map(Value::as_str).for_each(&mut take);
        let filter = trigger.get("filter").and_then(|filter| punctual_model::Filter::parse(filter).ok());
        filter.iter().flat_map(punctual_model::Filter::paths).for_each(&mut take);
    }
    names.iter().map(|name| format!("{name} = ")).collect::<Vec<_>>().join("\n")
}

fn tried(
    app: &App,
    visit: &Visit,
    stored: Option<&Stored>,
    draft: &Value,
    kind: &str,
    text: &dyn Fn(&str) -> String,
    given: &str,
) -> Result<Vec<Said>, String> {
    let schema = Schema::read(&draft["schema"]).map_err(|faults| {
        format!(
            "It is not a survey yet: {}",
            faults.first().map_or_else(String::new, |one| words::said("", &one.detail))
        )
    })?;
    let payload: Map<String, Value> = given
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim()))
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .map(|(name, value)| (name, meant("==", value)))
        .collect();
    let optional = |name: &str| Some(text(name)).filter(|text| !text.is_empty());
    let item = Item {
        payload,
        address: text("trialAddress"),
        locale: optional("trialLocale"),
        customer_ref: optional("trialCustomer"),
        occurred_at: None,
    };
    let id = stored.and_then(|stored| stored.key.parse().ok()).unwrap_or_default();
    let now = Visit::now(app);
    if schema.triggers.is_empty() {
        return Err("The survey has no trigger, so no event sends it.".to_owned());
    }
    Ok(trial(&schema, id, kind, &item, now).into_iter().map(|one| said(one, visit, now)).collect())
}

fn said(one: Trial, visit: &Visit, now: jiff::Timestamp) -> Said {
    let title = format!("Trigger {}", one.trigger_id);
    let not = |why: &str, asked| Said {
        title: title.clone(),
        taken: false,
        why: why.to_owned(),
        asked,
        steps: Vec::new(),
        same_if: Vec::new(),
        message: String::new(),
    };
    match one.outcome {
        TrialOutcome::Not { why: Why::NoTrigger, .. } => not("Its kind of event is different.", Vec::new()),
        TrialOutcome::Not { why: Why::Disabled, .. } => not("It is switched off.", Vec::new()),
        TrialOutcome::Not { why: Why::FilterFalse, asked } => {
            not("Its conditions do not match this event:", asked)
        }
        TrialOutcome::Takes(taken) => {
            let Taken { channel, address, locale, template, sends, expires_at, same_if, message } = *taken;
            let mut steps: Vec<(String, When)> = Vec::new();
            for (number, at) in sends.into_iter().enumerate() {
                let what = if number == 0 {
                    "First message".to_owned()
                } else {
                    format!("Reminder {number}, without an answer")
                };
                steps.push((what, visit.zone.when(at, now)));
            }
            steps.push(("The link ends".to_owned(), visit.zone.when(expires_at, now)));
            Said {
                title,
                taken: true,
                why: format!("It asks {address} over {channel}, in {locale}."),
                asked: Vec::new(),
                steps,
                same_if,
                message: match (template, message) {
                    (Some(template), _) => format!("From the template {template}."),
                    (None, Ok(text)) => text,
                    (None, Err(why)) => format!("The message cannot be rendered: {why}"),
                },
            }
        }
    }
}
