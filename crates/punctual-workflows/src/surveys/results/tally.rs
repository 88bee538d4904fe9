//! Counts instances one by one, and computes the shares at the end.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use punctual_model::survey::{InstanceStatus, Question, QuestionKind};
use punctual_store::{
    survey_instances::Walked,
    survey_results::{AnswerCount, InstanceCount, ResponseCount, WaitCount},
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::questions;
use crate::surveys::Version;

/// Texts that are shown of a question for words; the export has all of them.
pub(super) const TEXTS_SHOWN: usize = 50;
const MICROS_A_DAY: i64 = 86_400_000_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Results {
    pub survey_id: i64,
    /// The newest version; the questions are those of all versions.
    pub version: Option<i64>,
    pub instances: i64,
    pub by_status: BTreeMap<InstanceStatus, i64>,
    /// Instances that were reached: at least one message arrived, or there is an answer.
    pub sent: i64,
    pub answered: i64,
    /// Answered among those that were reached, 0 to 1.
    pub response_rate: Option<f64>,
    /// From the last message before the answer to the answer.
    pub median_seconds_to_answer: Option<i64>,
    pub by_day: Vec<DayCount>,
    pub by_trigger: Vec<TriggerCount>,
    pub questions: Vec<QuestionResults>,
    /// When it was counted: a survey with very many links is not counted again for each request.
    pub counted_at: Timestamp,
    /// Only so many of the newest links are counted so far; all of them are being counted.
    pub newest: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DayCount {
    /// A date in UTC.
    pub day: String,
    pub triggered: i64,
    pub answered: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerCount {
    pub trigger_id: String,
    pub instances: i64,
    pub sent: i64,
    pub answered: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionResults {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub text: String,
    pub answered: i64,
    pub counts: Vec<ChoiceCount>,
    pub average: Option<f64>,
    pub nps: Option<NpsScore>,
    pub csat: Option<CsatScore>,
    /// The latest answers in words.
    pub texts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceCount {
    pub value: Value,
    pub text: String,
    pub count: i64,
    /// Of those who answered the question, 0 to 1.
    pub share: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NpsScore {
    /// −100 to 100.
    pub score: f64,
    pub promoters: i64,
    pub passives: i64,
    pub detractors: i64,
}

/// The number of satisfied ratings: those in the top quarter of the scale, such as 4 and 5 of 1 to 5.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CsatScore {
    /// 0 to 100.
    pub score: f64,
    pub satisfied: i64,
}

pub(super) struct Tally<'v> {
    results: Results,
    questions: Vec<Asked<'v>>,
    days: BTreeMap<String, DayCount>,
    triggers: BTreeMap<String, TriggerCount>,
    /// How many waited so many seconds.
    waits: BTreeMap<i64, i64>,
}

/// A question and what was answered so far.
struct Asked<'v> {
    question: &'v Question,
    text: String,
    answered: i64,
    counts: BTreeMap<String, i64>,
    sum: f64,
    texts: Vec<String>,
}

impl<'v> Tally<'v> {
    pub(super) fn new(survey_id: i64, versions: &'v [Arc<Version>], counted_at: Timestamp) -> Self {
        let asked = |(version, question): (&'v Version, &'v Question)| Asked {
            text: version.schema.text(&question.text, None).to_owned(),
            question,
            answered: 0,
            counts: BTreeMap::new(),
            sum: 0.0,
            texts: Vec::new(),
        };
        let newest = versions.first().map(|one| one.number);
        Self {
            results: Results { survey_id, version: newest, counted_at, ..Results::default() },
            questions: questions(versions).into_iter().map(asked).collect(),
            days: BTreeMap::new(),
            triggers: BTreeMap::new(),
            waits: BTreeMap::new(),
        }
    }

    /// Adds one instance with its answers.
    pub(super) fn add(&mut self, row: &Walked) {
        self.add_instances(&InstanceCount {
            trigger_id: row.trigger_id.clone(),
            status: row.status,
            day: row.triggered_at.as_microsecond().div_euclid(MICROS_A_DAY),
            count: 1,
            sent: i64::from(row.sends > 0 || row.answers.is_some()),
        });
        let (Some(answers), Some(at)) = (&row.answers, row.completed_at) else { return };
        self.add_responses(&ResponseCount {
            trigger_id: row.trigger_id.clone(),
            day: at.as_microsecond().div_euclid(MICROS_A_DAY),
            count: 1,
        });
        let asked_at = row.last_sent_at.filter(|sent| *sent <= at).unwrap_or(row.triggered_at);
        let seconds = at.duration_since(asked_at).as_secs().max(0);
        self.add_waits(&WaitCount { seconds, count: 1 });
        let answers: Map<String, Value> = serde_json::from_str(answers).unwrap_or_default();
        for asked in &mut self.questions {
            if let Some(answer) = answers.get(&asked.question.id) {
                asked.add(answer, 1);
            }
        }
    }

    /// Adds instances that are counted already.
    pub(super) fn add_instances(&mut self, row: &InstanceCount) {
        let results = &mut self.results;
        results.instances += row.count;
        *results.by_status.entry(row.status).or_default() += row.count;
        results.sent += row.sent;
        let trigger = self.triggers.entry(row.trigger_id.clone()).or_default();
        trigger.instances += row.count;
        trigger.sent += row.sent;
        self.days.entry(day(row.day)).or_default().triggered += row.count;
    }

    pub(super) fn add_responses(&mut self, row: &ResponseCount) {
        self.results.answered += row.count;
        self.triggers.entry(row.trigger_id.clone()).or_default().answered += row.count;
        self.days.entry(day(row.day)).or_default().answered += row.count;
    }

    /// Adds the answers of a question that are counted already.
    pub(super) fn add_answers(&mut self, row: &AnswerCount) {
        let answer: Value = serde_json::from_str(&row.value).unwrap_or_default();
        if let Some(asked) = self.questions.iter_mut().find(|asked| asked.question.id == row.question_id) {
            asked.add(&answer, row.count);
        }
    }

    pub(super) fn add_waits(&mut self, row: &WaitCount) {
        *self.waits.entry(row.seconds).or_default() += row.count;
    }

    /// Adds how often a question in words was answered.
    pub(super) fn add_texts(&mut self, question: &str, answered: i64) {
        if let Some(asked) = self.questions.iter_mut().find(|asked| asked.question.id == question) {
            asked.answered += answered;
        }
    }

    /// Sets the latest answers in words of a question, newest first.
    pub(super) fn show_texts(&mut self, question: &str, texts: &[String]) {
        if let Some(asked) = self.questions.iter_mut().find(|asked| asked.question.id == question) {
            asked.texts.extend(texts.iter().rev().filter_map(|text| serde_json::from_str(text).ok()));
        }
    }

    /// The questions by whether their answers are words, which are shown and not counted.
    pub(super) fn questions(&self) -> (Vec<String>, Vec<String>) {
        let (words, others): (Vec<&Asked<'_>>, Vec<&Asked<'_>>) =
            self.questions.iter().partition(|asked| matches!(asked.question.kind, QuestionKind::Text { .. }));
        let ids = |asked: Vec<&Asked<'_>>| asked.into_iter().map(|one| one.question.id.clone()).collect();
        (ids(words), ids(others))
    }

    /// The questions that are answered in words, where anybody has.
    pub(super) fn words(&self) -> Vec<String> {
        let in_words = |asked: &&Asked<'_>| matches!(asked.question.kind, QuestionKind::Text { .. });
        let answered = self.questions.iter().filter(in_words).filter(|asked| asked.answered > 0);
        answered.map(|asked| asked.question.id.clone()).collect()
    }

    pub(super) fn finish(self) -> Results {
        let mut results = self.results;
        results.response_rate = share(results.answered, results.sent);
        results.median_seconds_to_answer = middle(&self.waits);
        results.by_day = self.days.into_iter().map(|(day, count)| DayCount { day, ..count }).collect();
        results.by_trigger = self
            .triggers
            .into_iter()
            .map(|(trigger_id, count)| TriggerCount { trigger_id, ..count })
            .collect();
        results.questions = self.questions.into_iter().map(Asked::finish).collect();
        results
    }
}

impl Asked<'_> {
    fn add(&mut self, answer: &Value, times: i64) {
        self.answered += times;
        match &self.question.kind {
            QuestionKind::MultiChoice { .. } => {
                for choice in answer.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    *self.counts.entry(choice.to_owned()).or_default() += times;
                }
            }
            QuestionKind::Text { .. } => {
                if self.texts.len() == TEXTS_SHOWN {
                    self.texts.remove(0);
                }
                self.texts.extend(answer.as_str().map(str::to_owned));
            }
            QuestionKind::Number { .. } => self.sum += answer.as_f64().unwrap_or(0.0) * times as f64,
            QuestionKind::Rating { .. } | QuestionKind::Nps => {
                self.sum += answer.as_f64().unwrap_or(0.0) * times as f64;
                *self.counts.entry(answer.to_string()).or_default() += times;
            }
            QuestionKind::SingleChoice { .. } | QuestionKind::Date { .. } | QuestionKind::YesNo => {
                let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
                *self.counts.entry(text).or_default() += times;
            }
        }
    }

    fn finish(self) -> QuestionResults {
        let count = |value: &str| self.counts.get(value).copied().unwrap_or(0);
        let counted = |value: Value, text: String| {
            let count = count(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            ChoiceCount { value, text, count, share: share(count, self.answered).unwrap_or(0.0) }
        };
        let kind = &self.question.kind;
        let counts = match kind {
            QuestionKind::SingleChoice { options } | QuestionKind::MultiChoice { options, .. } => options
                .iter()
                .map(|option| {
                    let text = option.text.pick(None, "en").1.to_owned();
                    counted(Value::from(option.value.as_str()), text)
                })
                .collect(),
            QuestionKind::Rating { .. } | QuestionKind::Nps => {
                let (min, max) = kind.scale().unwrap_or_default();
                (min..=max).map(|step| counted(Value::from(step), step.to_string())).collect()
            }
            QuestionKind::YesNo => [(true, "yes"), (false, "no")]
                .into_iter()
                .map(|(value, text)| counted(Value::from(value), text.to_owned()))
                .collect(),
            QuestionKind::Date { .. } => {
                self.counts.keys().map(|date| counted(Value::from(date.as_str()), date.clone())).collect()
            }
            QuestionKind::Text { .. } | QuestionKind::Number { .. } => Vec::new(),
        };
        let has_average =
            matches!(kind, QuestionKind::Rating { .. } | QuestionKind::Nps | QuestionKind::Number { .. });
        let average = (has_average && self.answered > 0).then(|| rounded(self.sum / self.answered as f64));
        let nps = (matches!(kind, QuestionKind::Nps) && self.answered > 0).then(|| {
            let within =
                |range: std::ops::RangeInclusive<i64>| range.map(|step| count(&step.to_string())).sum();
            let (promoters, passives, detractors): (i64, i64, i64) =
                (within(9..=10), within(7..=8), within(0..=6));
            let score = rounded((promoters - detractors) as f64 * 100.0 / self.answered as f64);
            NpsScore { score, promoters, passives, detractors }
        });
        let csat = match kind {
            QuestionKind::Rating { .. } if self.answered > 0 => kind.scale().map(|(min, max)| {
                let satisfied = (min..=max).filter(|step| (step - min) * 4 >= (max - min) * 3);
                let satisfied: i64 = satisfied.map(|step| count(&step.to_string())).sum();
                let score = rounded(satisfied as f64 * 100.0 / self.answered as f64);
                CsatScore { score, satisfied }
            }),
            _ => None,
        };
        let mut texts = self.texts;
        texts.reverse();
        QuestionResults {
            id: self.question.id.clone(),
            kind: kind.as_str().to_owned(),
            text: self.text,
            answered: self.answered,
            counts,
            average,
            nps,
            csat,
            texts,
        }
    }
}

/// The value in the middle, the lower one of two.
fn middle(counts: &BTreeMap<i64, i64>) -> Option<i64> {
    let mut before = (counts.values().sum::<i64>() - 1).max(0) / 2;
    counts.iter().find_map(|(value, count)| {
        before -= count;
        (before < 0).then_some(*value)
    })
}

/// A day by its number since 1970, as a date.
fn day(number: i64) -> String {
    let at = Timestamp::from_microsecond(number.saturating_mul(MICROS_A_DAY)).unwrap_or_default();
    at.strftime("%Y-%m-%d").to_string()
}

fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 10_000.0).round() / 10_000.0)
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
