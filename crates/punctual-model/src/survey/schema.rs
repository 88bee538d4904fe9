//! The parts of a validated survey.

use std::{collections::BTreeMap, time::Duration};

use jiff::civil::Date;

use super::Recipe;
use crate::{ChannelKey, Filter, delivery_policy::Handling};

/// How long a link lives after the last message, or after the event where nothing was sent.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(30 * 24 * 3_600);
/// How late a message may still be sent.
pub const DEFAULT_MAX_LATENESS: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A survey as it was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    pub title: Localised,
    /// The text above the questions.
    pub intro: Option<Localised>,
    /// What the last page says.
    pub thanks: Option<Localised>,
    /// The first message and the later ones, before the link; for channels without a template.
    pub invitation: Option<Localised>,
    pub reminder: Option<Localised>,
    /// Who asks, as people see it.
    pub organisation: Option<Localised>,
    /// `#rrggbb`.
    pub colour: Option<String>,
    pub default_locale: String,
    pub questions: Vec<Question>,
    pub triggers: Vec<SurveyTrigger>,
    /// Who gets answers; nothing means every subscriber.
    pub subscribers: Option<Vec<Route>>,
}

impl Schema {
    pub fn trigger(&self, id: &str) -> Option<&SurveyTrigger> {
        self.triggers.iter().find(|trigger| trigger.id == id)
    }

    pub fn question(&self, id: &str) -> Option<&Question> {
        self.questions.iter().find(|question| question.id == id)
    }

    /// The language that a reader gets: theirs, a nearer one, or the survey's own.
    pub fn locale(&self, wanted: Option<&str>) -> String {
        self.title.pick(wanted, &self.default_locale).0.to_owned()
    }

    /// Every language the title has, the survey's own first.
    pub fn locales(&self) -> Vec<&str> {
        let own = self.default_locale.as_str();
        let others = self.title.0.keys().map(String::as_str).filter(|locale| *locale != own);
        std::iter::once(own).filter(|own| self.title.0.contains_key(*own)).chain(others).collect()
    }

    /// The text for a reader.
    pub fn text<'s>(&'s self, text: &'s Localised, locale: Option<&str>) -> &'s str {
        text.pick(locale, &self.default_locale).1
    }

    /// Who gets the events to an instance of this trigger: the trigger's own list, else the survey's.
    pub fn routes(&self, trigger: &str) -> Option<&[Route]> {
        let own = self.trigger(trigger).and_then(|trigger| trigger.subscribers.as_deref());
        own.or(self.subscribers.as_deref())
    }
}

/// One text in several languages, by language tag; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Localised(pub(super) BTreeMap<String, String>);

impl Localised {
    pub fn one(locale: &str, text: impl Into<String>) -> Self {
        Self(BTreeMap::from([(locale.to_owned(), text.into())]))
    }

    pub fn locales(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Every language with its text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(locale, text)| (locale.as_str(), text.as_str()))
    }

    /// The text for a language: `ar-IQ`, else `ar`, else the default's, else the first there is.
    pub fn pick(&self, wanted: Option<&str>, default: &str) -> (&str, &str) {
        let near = wanted.into_iter().chain([default]).find_map(|tag| self.nearest(tag));
        let found = near.or_else(|| self.0.iter().next());
        found.map_or(("", ""), |(locale, text)| (locale.as_str(), text.as_str()))
    }

    fn nearest(&self, tag: &str) -> Option<(&String, &String)> {
        let mut tag = tag.replace('_', "-");
        loop {
            let found = self.0.iter().find(|(locale, _)| locale.eq_ignore_ascii_case(&tag));
            if found.is_some() {
                return found;
            }
            tag.truncate(tag.rfind('-')?);
        }
    }
}

/// Whether this language is written from right to left.
pub fn is_right_to_left(locale: &str) -> bool {
    let language = locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(
        language.as_str(),
        "ar" | "arc" | "ckb" | "dv" | "fa" | "he" | "iw" | "ku" | "ps" | "sd" | "ug" | "ur" | "yi"
    )
}

#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub id: String,
    pub text: Localised,
    pub help: Option<Localised>,
    pub required: bool,
    /// Neighbours with the same one share a screen on a phone; without one a question has its own.
    pub group: Option<String>,
    pub kind: QuestionKind,
    /// Shown only if this is true of earlier answers.
    pub show_if: Option<Filter>,
    /// Left out if this is true of earlier answers.
    pub skip_if: Option<Filter>,
    /// Both as they were written, for the page's script.
    pub show_if_json: Option<serde_json::Value>,
    pub skip_if_json: Option<serde_json::Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum QuestionKind {
    SingleChoice {
        options: Vec<Choice>,
    },
    MultiChoice {
        options: Vec<Choice>,
        min: usize,
        max: usize,
    },
    /// A whole number on a scale.
    Rating {
        min: i64,
        max: i64,
    },
    /// 0 to 10: how likely somebody is to recommend.
    Nps,
    Text {
        max_length: usize,
        multiline: bool,
    },
    Number {
        min: Option<f64>,
        max: Option<f64>,
        whole: bool,
    },
    Date {
        min: Option<Date>,
        max: Option<Date>,
    },
    YesNo,
}

impl QuestionKind {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::SingleChoice { .. } => "singleChoice",
            Self::MultiChoice { .. } => "multiChoice",
            Self::Rating { .. } => "rating",
            Self::Nps => "nps",
            Self::Text { .. } => "text",
            Self::Number { .. } => "number",
            Self::Date { .. } => "date",
            Self::YesNo => "yesNo",
        }
    }

    /// The ends of a scale.
    pub fn scale(&self) -> Option<(i64, i64)> {
        match self {
            Self::Rating { min, max } => Some((*min, *max)),
            Self::Nps => Some((0, 10)),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub text: Localised,
}

/// What makes an instance of the survey, and how its messages are sent.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyTrigger {
    pub id: String,
    pub enabled: bool,
    pub event_kind: String,
    pub filter: Option<Filter>,
    pub recipe: Recipe,
    pub schedule: Schedule,
    pub channel: ChannelKey,
    /// A stored template for the messages; without it they have the survey's own words and the link.
    pub template: Option<String>,
    /// Topic, priority and order of channels of all its messages.
    pub handling: Handling,
    pub grace: Duration,
    pub max_lateness: Duration,
    pub subscribers: Option<Vec<Route>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub initial_delay: Duration,
    /// Each counts from the send before it.
    pub reminders: Vec<Duration>,
}

/// A subscriber that gets answers for which the filter is true.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub key: String,
    pub filter: Option<Filter>,
}
