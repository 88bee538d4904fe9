//! Notifications that are being sent: how far each is, and whose targets are next.

use std::{collections::VecDeque, sync::Arc};

use jiff::Timestamp;
use punctual_model::{SendOutcome, Span};
use punctual_store::notifications::Delivery;
use punctual_templates::Rendered;

use super::Answer;
use crate::delivery::{Class, ToSend, conclude::Tally, files::Files};

/// What all targets of a notification get: shared, and copied when a call starts.
pub(super) struct Content {
    pub(super) text: Rendered,
    pub(super) files: Files,
}

impl Content {
    pub(super) fn empty() -> Self {
        let text = Rendered { subject: String::new(), body: String::new(), html: None };
        Self { text, files: Files::default() }
    }
}

/// A notification that is being sent.
pub(super) struct Underway {
    pub(super) item: Arc<ToSend>,
    pub(super) content: Arc<Content>,
    /// Targets with an intent on disk or in the commit under way, targets called, targets answered.
    pub(super) intended: usize,
    pub(super) started: usize,
    pub(super) answered: usize,
    /// Intents in the commit under way.
    pub(super) being_intended: usize,
    pub(super) tally: Tally,
    /// Answers that no commit has taken yet.
    pub(super) fresh: Vec<Answer>,
    /// Intents on disk whose calls were not started.
    pub(super) unstarted: Vec<String>,
    /// No further call starts: the claim is lost, or the notification cannot be sent.
    pub(super) is_over: bool,
    /// What becomes of it whatever was answered.
    pub(super) given: Option<Delivery>,
    /// The span of this attempt.
    pub(super) trace: Span,
}

impl Underway {
    pub(super) fn new(mut item: ToSend, content: Content) -> Self {
        Self {
            trace: std::mem::take(&mut item.trace),
            intended: item.intended,
            item: Arc::new(item),
            content: Arc::new(content),
            started: 0,
            answered: 0,
            being_intended: 0,
            tally: Tally::default(),
            fresh: Vec::new(),
            unstarted: Vec::new(),
            is_over: false,
            given: None,
        }
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        self.answered += 1;
        self.tally.add(&answer, self.item.targets.len());
        self.fresh.push(answer);
    }

    /// A call that was chosen and not made: the lease had ended when it was to start.
    pub(super) fn not_started(&mut self, target: String) {
        self.started -= 1;
        self.unstarted.push(target);
        self.is_over = true;
    }

    /// Ends it without a call: the intents that are on disk get this outcome.
    pub(super) fn end_uncalled(&mut self, outcome: &SendOutcome, at: Timestamp) {
        self.is_over = true;
        for target in &self.item.targets[..self.intended] {
            self.fresh.push(Answer { target: target.clone(), outcome: outcome.clone(), at });
        }
        (self.started, self.answered) = (self.intended, self.intended);
        let any = Answer { target: "a file of the message".into(), outcome: outcome.clone(), at };
        self.tally.add(&any, 1);
    }

    /// Whether a call of it has started or is about to, or none will.
    pub(super) fn is_begun(&self) -> bool {
        self.intended > 0 || self.is_over
    }

    pub(super) fn has_ended(&self, no_call_starts: bool) -> bool {
        let nothing_left = self.started == self.item.targets.len() || self.is_over || no_call_starts;
        nothing_left && self.answered == self.started && self.being_intended == 0
    }
}

/// Notifications with targets that have no intent yet: urgent ones first, those of one class in turn.
#[derive(Default)]
pub(super) struct Queue {
    urgent: VecDeque<i64>,
    others: VecDeque<(Class, i64)>,
}

impl Queue {
    pub(super) fn push(&mut self, one: &Underway) {
        let row = &one.item.row;
        if one.intended < one.item.targets.len() && !one.is_over {
            match Class::of(row.priority) {
                Class::Urgent => self.urgent.push_back(row.seq),
                class @ (Class::Normal | Class::Shared(_)) => self.others.push_back((class, row.seq)),
            }
        }
    }

    pub(super) fn pop(&mut self) -> Option<i64> {
        self.urgent.pop_front().or_else(|| self.others.pop_front().map(|(_, seq)| seq))
    }

    pub(super) fn remove(&mut self, seq: i64) {
        self.urgent.retain(|one| *one != seq);
        self.others.retain(|(_, one)| *one != seq);
    }

    /// The class to wait in for the next permit; nothing where none is wanted.
    pub(super) fn class(&self) -> Option<Class> {
        match self.urgent.is_empty() {
            false => Some(Class::Urgent),
            true => self.others.front().map(|(class, _)| *class),
        }
    }
}
