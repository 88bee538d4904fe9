//! Decides a due rule on the present rule, event or task, and people.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::{
    Attempted, Claimed, Decide, Engine, EngineError, FollowsDeliveries, Loads, Maintains, SettledWork,
    WatchesAttempts, Workflow, WritesRows,
};
use punctual_model::{
    Arrival, Audience, Decided, Decision, Effect, NewNotification, NotificationId, Origin, ReasonCode,
    delivery_policy::Handling,
};
use punctual_store::{
    Conn, Named, StoreError,
    operations::{
        organisations::{self, OrganisationRow},
        people::{self, PersonRow},
        rules::{self, RuleRow},
        subjects::{self, SubjectRow},
    },
    templates,
};
use punctual_templates::InlineTemplate;
use punctual_wire::operations::texts::RuleTexts;
use serde_json::json;

use super::{
    Anchor, Input, KIND, Payload, Reach,
    log::{self, Put},
    occurrence_of, organisation_of, people_of, reach, settled, sync, topic, wanted, why_nobody, words,
};
use crate::inline;

/// A date that had passed when it was set is still announced within this time.
pub const GRACE: SignedDuration = SignedDuration::from_mins(15);

/// The workflow of operations.
pub struct Operations;

impl Workflow for Operations {
    fn kind(&self) -> &'static str {
        KIND
    }
}

impl Loads for Operations {
    type Loaded = Known;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Known, StoreError> {
        let inputs = batch.iter().filter_map(|row| read(&row.input));
        Known::load(conn, inputs.map(|input| input.payload).collect()).await
    }
}

impl WritesRows for Operations {
    type Row = Put;

    async fn put(&self, conn: &mut Conn<'_>, now: Timestamp, rows: &[Put]) -> Result<(), StoreError> {
        log::write(conn, now, rows).await
    }
}

impl FollowsDeliveries for Operations {
    type Loaded = settled::Deliveries;

    async fn load_settled(
        &self,
        conn: &mut Conn<'_>,
        works: &[SettledWork],
    ) -> Result<settled::Deliveries, StoreError> {
        settled::load(conn, works).await
    }
}

impl WatchesAttempts for Operations {
    fn attempted(&self, attempt: &Attempted<'_>) {
        log::attempted(attempt);
    }
}

impl Maintains for Operations {
    async fn reconcile(&self, engine: &Engine, now: Timestamp) -> Result<usize, EngineError> {
        sync::reconcile(engine, now).await
    }
}

/// What a row carries; `None` where it cannot be what one of ours carries.
pub(super) fn read(input: &str) -> Option<Input> {
    let input: Input = serde_json::from_str(input).ok()?;
    let expected = topic(input.payload.subject_type.as_str(), input.payload.kind.as_str());
    (input.topic == expected).then_some(input)
}

/// Everything that the rows of a batch are about, read in sets.
pub struct Known {
    pub rules: HashMap<String, RuleRow>,
    pub subjects: HashMap<String, SubjectRow>,
    pub organisations: Named<OrganisationRow>,
    pub people: Named<PersonRow>,
    /// Topics for which somebody has written a template.
    pub templates: HashSet<String>,
}

/// Who is notified of what, by which rule.
struct Checked<'a> {
    rule: &'a RuleRow,
    subject: &'a SubjectRow,
    reached: Vec<Reach>,
}

impl Known {
    #[boxed]
    pub async fn load(conn: &mut Conn<'_>, payloads: Vec<Payload>) -> Result<Self, StoreError> {
        let rule_ids = payloads.iter().map(|payload| payload.notification_rule_id.clone()).collect();
        let subject_ids = payloads.iter().map(|payload| payload.subject_id.clone()).collect();
        let rules = rules::by_ids(conn, &punctual_model::Reach::Everything, rule_ids).await?;
        let subjects = subjects::by_ids(conn, &punctual_model::Reach::Everything, subject_ids).await?;
        let named = subjects.iter().filter_map(|subject| subject.organisation.clone()).collect();
        let organisations = organisations::named(conn, named).await?;
        let people = people::named(conn, subjects.iter().flat_map(people_of).collect()).await?;
        let mut topics: Vec<String> = payloads
            .iter()
            .map(|payload| topic(payload.subject_type.as_str(), payload.kind.as_str()))
            .collect();
        topics.sort_unstable();
        topics.dedup();
        let templates = templates::by_names(conn, topics).await?;
        Ok(Self {
            rules: rules.into_iter().map(|row| (row.id.clone(), row)).collect(),
            subjects: subjects.into_iter().map(|row| (row.id.clone(), row)).collect(),
            organisations,
            people,
            templates: templates.into_iter().map(|row| row.name).collect(),
        })
    }

    pub fn organisation_of(&self, subject: &SubjectRow) -> Option<&OrganisationRow> {
        organisation_of(&self.organisations, subject)
    }

    /// The guards in their order; if it passes them all, these people are notified.
    fn check(&self, row: &Claimed, input: &Input) -> Result<Checked<'_>, ReasonCode> {
        let payload = &input.payload;
        let (occurrence, step, asked_again) = occurrence_of(&row.key).ok_or(ReasonCode::InvalidPayload)?;
        let rule = self.rules.get(&payload.notification_rule_id).ok_or(ReasonCode::RuleMissing)?;
        if rule.deleted_at.is_some() {
            return Err(ReasonCode::RuleCanceled);
        }
        if !rule.active {
            return Err(ReasonCode::RuleInactive);
        }
        // Another channel for those whom the first one did not reach, and what a person asked for again, come after.
        let is_first = step == 0 && !asked_again;
        if is_first && rule.last_sent_occurrence.as_deref() == Some(occurrence.as_str()) {
            return Err(ReasonCode::AlreadyDelivered);
        }
        let subject = self
            .subjects
            .get(&payload.subject_id)
            .filter(|subject| subject.subject_type == payload.subject_type.as_str())
            .ok_or(ReasonCode::SubjectMissing)?;
        let organisation = self.organisation_of(subject);
        let wanted = wanted(Some(subject), rule, organisation);
        let run_at = match wanted {
            Some(wanted) if wanted.occurrence == occurrence => wanted.run_at,
            _ => return Err(ReasonCode::Moved),
        };
        if is_first && rule.dated_at.duration_since(run_at) > GRACE {
            return Err(ReasonCode::AnchorInPast);
        }
        let only = input.fallback.as_ref().map(|fallback| fallback.people.as_slice());
        let reached = reach(subject, rule, organisation, &self.people, step, only);
        if reached.is_empty() {
            return Err(ReasonCode::NoRecipients);
        }
        Ok(Checked { rule, subject, reached })
    }

    /// What a reason does not say by itself.
    fn why(&self, reason: ReasonCode, payload: &Payload) -> Option<&'static str> {
        let rule = self.rules.get(&payload.notification_rule_id)?;
        let subject = self.subjects.get(&payload.subject_id)?;
        (reason == ReasonCode::NoRecipients).then(|| why_nobody(subject, rule, &self.people))
    }

    /// One message for each way of saying it: the same channel, zone and language.
    fn messages(&self, input: &Input, checked: Checked<'_>) -> Vec<NewNotification> {
        let Checked { rule, subject, reached } = checked;
        let handling = Handling::read(rule.handling.as_deref());
        let texts = RuleTexts::stored(rule.texts.as_deref());
        let mut groups: BTreeMap<(String, String, Option<String>), Vec<Reach>> = BTreeMap::new();
        for one in reached {
            let group = (one.channel.as_str().to_owned(), one.zone.clone(), one.locale.clone());
            groups.entry(group).or_default().push(one);
        }
        let anchor = input.payload.kind;
        let message = |((_, zone, locale), people): ((String, String, Option<String>), Vec<Reach>)| {
            let when = words::when_label(subject, anchor, &zone);
            let channel = people.first().map(|one| one.channel.clone());
            let targets = people.into_iter().map(|one| one.address).collect();
            let mut new = NewNotification::new(
                NotificationId(Default::default()),
                Audience::Targets(targets),
                words::subject_line(subject, anchor),
                words::body(subject, anchor, &when),
            );
            let context = || context(subject, anchor, &when, &zone);
            // What the rule says itself comes before what is said of all of its topic.
            if !texts.is_empty() {
                give_texts(&mut new, &texts, context);
            } else if self.templates.contains(&input.topic) {
                new.template = Some(input.topic.clone());
                new.context = Some(context());
            }
            new.channel = channel;
            new.business_unit = subject.business_unit.clone();
            new.locale = locale;
            new.envelope.origin = Some(Origin {
                kind: KIND.to_owned(),
                topic: input.topic.clone(),
                definition: rule.id.clone(),
            });
            handling.give(&mut new);
            new
        };
        groups.into_iter().map(message).collect()
    }
}

/// What the texts of a rule see.
pub(super) fn context(subject: &SubjectRow, anchor: Anchor, when: &str, zone: &str) -> serde_json::Value {
    json!({
        "title": subject.title,
        "whenLabel": when,
        "timeZone": zone,
        "subjectType": subject.subject_type,
        "subjectId": subject.id,
        "kind": anchor.as_str(),
        "isAllDay": subject.is_all_day,
        "startsAt": subject.start_at.map(|at| at.to_string()),
        "endsAt": subject.end_at.map(|at| at.to_string()),
    })
}

/// Gives a message the texts of its rule; what the rule leaves out stays in the usual words, which are no templates.
fn give_texts(new: &mut NewNotification, texts: &RuleTexts, context: impl FnOnce() -> serde_json::Value) {
    let own =
        |text: &Option<String>| text.as_deref().map(|text| InlineTemplate::stored(text, inline::OPERATION));
    let subject = own(&texts.subject).unwrap_or_else(|| InlineTemplate::literal(new.subject.as_str()));
    let body = own(&texts.body).unwrap_or_else(|| InlineTemplate::literal(new.body.as_str()));
    let html = own(&texts.html);
    inline::give(new, &inline::Texts { subject: &subject, body: &body, html: html.as_ref() }, context);
}

/// What listeners get: the occurrence itself, whatever the delivery decides about it, and not each channel that is used.
fn arrived(row: &Claimed, input: &Input) -> Option<Effect> {
    let payload = serde_json::to_string(&input.payload).ok().filter(|_| input.fallback.is_none())?;
    let (id, topic) = (row.key.clone(), input.topic.clone());
    Some(Effect::Publish(Arrival { id, topic, due_at: row.due_at, payload }))
}

impl Decide<Put> for Known {
    fn decide(&self, row: &Claimed, _now: Timestamp) -> Decided<Put> {
        let input = read(&row.input);
        let checked = input
            .as_ref()
            .ok_or(ReasonCode::InvalidPayload)
            .and_then(|input| Ok((input, self.check(row, input)?)));
        match checked {
            Ok((input, checked)) => {
                let decided = Decided::from(Decision::Deliver(self.messages(input, checked)));
                decided.with_effects(arrived(row, input))
            }
            Err(reason) => {
                let arrival = input.as_ref().and_then(|input| arrived(row, input));
                let why = input.as_ref().and_then(|input| self.why(reason, &input.payload));
                let payload = input.map(|input| input.payload);
                let put = Put::Skipped { reason, why, payload, key: row.key.clone() };
                Decided::from(Decision::Skip(reason)).with_rows([put]).with_effects(arrival)
            }
        }
    }
}
