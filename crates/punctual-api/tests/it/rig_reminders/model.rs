//! The plain model of a year: what settings want of documents, written down without work rows, keys or states of rows.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};
use serde_json::{Value, json};

/// Business units, and the zones that they may be in.
pub const UNITS: [&str; 4] = ["nz", "de", "us", "cl"];
pub const ZONES: [&str; 6] = [
    "Pacific/Auckland",
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",
    "Asia/Kolkata",
    "Pacific/Kiritimati",
];

/// A setting as the model has it.
#[derive(Clone, Debug)]
pub struct Rule {
    pub id: String,
    pub name: String,
    pub offsets: Vec<i64>,
    pub hour: i8,
    pub active: bool,
    /// Only documents of this kind.
    pub kind: Option<&'static str>,
    /// Only documents of this business unit.
    pub unit: Option<usize>,
    pub when: When,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    Dates,
    /// Every month after the date.
    Monthly,
    /// Whenever the level rises to nine.
    Level,
    /// Whenever three bookings that are paid name the document.
    Booked,
}

impl When {
    pub fn is_measured(self) -> bool {
        matches!(self, Self::Level | Self::Booked)
    }
}

impl Rule {
    pub fn body(&self) -> Value {
        let filter = self.kind.map(|kind| json!({ "questionId": "state.kind", "op": "==", "value": kind }));
        let at = format!("{:02}:00", self.hour);
        let mut body = json!({ "name": self.name, "sourceType": "document", "triggerKey": "expiry", "filter": filter,
            "businessUnit": self.unit.map(|unit| UNITS[unit]), "recipients": { "field": "/email" },
            "delivery": { "channel": "email:default" }, "active": self.active });
        let threshold = |metric: Value, value: u64| json!({ "metric": metric, "op": ">=", "value": value, "firingPolicy": "FalseToTrue" });
        let (kind, part, rule) = match self.when {
            When::Dates => (
                "dateBased",
                "date",
                json!({ "field": "/expiresOn", "offsetsDays": self.offsets, "sendTime": at }),
            ),
            When::Monthly => {
                ("recurring", "recurring", json!({ "field": "/expiresOn", "every": "month", "sendTime": at }))
            }
            When::Level => ("threshold", "threshold", threshold(json!({ "field": "/level" }), 9)),
            When::Booked => {
                let paid = json!({ "questionId": "state.paid", "op": "==", "value": true });
                let count = json!({ "sourceType": "booking", "parentField": "/documentId", "where": paid });
                ("threshold", "threshold", threshold(json!({ "count": count }), 3))
            }
        };
        body["kind"] = json!(kind);
        body[part] = rule;
        body
    }

    /// Whether the rule speaks of a document at all.
    fn wants(&self, document: &Document) -> bool {
        self.active
            && document.active
            && !document.deleted
            && self.kind.is_none_or(|kind| kind == document.kind)
            && self.unit.is_none_or(|unit| unit == document.unit)
    }
}

/// A source as the model has it.
#[derive(Clone, Debug)]
pub struct Document {
    pub unit: usize,
    pub kind: &'static str,
    pub expires_on: Date,
    pub active: bool,
    pub deleted: bool,
    pub level: u64,
    /// By rule: whether its measure was met at the last look, and whether that is still to be sent.
    pub met: BTreeMap<String, (bool, bool)>,
}

impl Document {
    pub fn body(&self, id: usize) -> Value {
        json!({ "type": "document", "id": name_of(id), "businessUnit": UNITS[self.unit], "active": self.active,
            "state": { "kind": self.kind, "expiresOn": self.expires_on.to_string(), "level": self.level,
                "email": format!("{}@b.example", name_of(id)) } })
    }
}

/// Something that is counted under a document.
#[derive(Clone, Debug)]
pub struct Booking {
    pub document: usize,
    pub paid: bool,
    pub active: bool,
}

impl Booking {
    pub fn body(&self, id: usize) -> Value {
        json!({ "type": "booking", "id": format!("b{id:05}"), "active": self.active,
            "state": { "documentId": name_of(self.document), "paid": self.paid } })
    }
}

pub fn name_of(id: usize) -> String {
    format!("d{id:05}")
}

/// Who is sent what, when: address, subject, body, instant.
pub type Sent = (String, String, String, String);

/// What is wanted now, and what has been sent.
#[derive(Default)]
pub struct Model {
    pub rules: Vec<Rule>,
    pub documents: Vec<Document>,
    pub bookings: Vec<Booking>,
    /// The zone of each business unit, by its place in `ZONES`.
    pub zones: [usize; 4],
    pub done: BTreeSet<(String, usize, Date, i64)>,
    pub sent: Vec<Sent>,
}

impl Model {
    /// Nothing changes between two instants but the time: whatever falls between them is sent.
    pub fn run(&mut self, from: Timestamp, until: Timestamp) {
        let Self { rules, documents, zones, done, sent, .. } = self;
        let zones = zones.map(|zone| TimeZone::get(ZONES[zone]).unwrap());
        for rule in rules.iter().filter(|rule| rule.when.is_measured()) {
            for (id, document) in documents.iter_mut().enumerate() {
                let Some((_, to_put)) = document.met.get_mut(&rule.id) else { continue };
                if std::mem::take(to_put) {
                    let body = format!("{}: document {}.\n", rule.name, name_of(id));
                    let address = format!("{}@b.example", name_of(id));
                    sent.push((address, rule.name.clone(), body, from.to_string()));
                }
            }
        }
        // No zone is further than a day from UTC, and no day longer than two.
        let margin = jiff::SignedDuration::from_hours(72);
        let (first, last) = (day_of(from - margin), day_of(until + margin));
        for rule in rules.iter().filter(|rule| !rule.when.is_measured()) {
            for (id, document) in documents.iter().enumerate().filter(|(_, one)| rule.wants(one)) {
                for (target, offset, day) in days(rule, document) {
                    if day < first || day > last {
                        continue;
                    }
                    let zone = zones[document.unit].clone();
                    let due = day.at(rule.hour, 0, 0, 0).to_zoned(zone.clone()).unwrap();
                    let day_ends = due.date().tomorrow().unwrap().to_zoned(zone).unwrap();
                    let at = due.timestamp().max(from);
                    if from >= day_ends.timestamp() || at > until {
                        continue;
                    }
                    if done.insert((rule.id.clone(), id, target, offset)) {
                        let body = format!("{}: document {}, {}.\n", rule.name, name_of(id), target);
                        let address = format!("{}@b.example", name_of(id));
                        sent.push((address, rule.name.clone(), body, at.to_string()));
                    }
                }
            }
        }
    }

    /// A look at these documents, as an event or a changed setting takes one.
    pub fn look(&mut self, ids: impl Iterator<Item = usize>) {
        let ids: BTreeSet<usize> = ids.collect();
        let mut booked: BTreeMap<usize, u64> = BTreeMap::new();
        for booking in
            self.bookings.iter().filter(|one| one.active && one.paid && ids.contains(&one.document))
        {
            *booked.entry(booking.document).or_default() += 1;
        }
        for rule in self.rules.iter().filter(|rule| rule.when.is_measured()) {
            for id in &ids {
                let document = &mut self.documents[*id];
                let is_met = match rule.when {
                    When::Booked => booked.get(id).copied().unwrap_or(0) >= 3,
                    _ => document.level >= 9,
                };
                let met = rule.wants(document) && is_met;
                let (was_met, to_put) = document.met.entry(rule.id.clone()).or_default();
                *to_put = met && (*to_put || !*was_met);
                *was_met = met;
            }
        }
    }
}

fn day_of(at: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(at).date()
}

/// What a rule reminds of, and on which day: the date, the offset, the day.
fn days(rule: &Rule, document: &Document) -> Vec<(Date, i64, Date)> {
    match rule.when {
        When::Monthly => (1..=24)
            .map(|n| document.expires_on.checked_add(Span::new().months(n)).unwrap())
            .map(|day| (day, 0, day))
            .collect(),
        _ => rule
            .offsets
            .iter()
            .map(|days| (document.expires_on, *days, document.expires_on - Span::new().days(*days)))
            .collect(),
    }
}

/// What is in one and not in the other, a few of each.
pub fn differ(expected: &[Sent], sent: &[Sent]) -> Vec<String> {
    let mut counts: BTreeMap<&Sent, i64> = BTreeMap::new();
    expected.iter().for_each(|one| *counts.entry(one).or_default() += 1);
    sent.iter().for_each(|one| *counts.entry(one).or_default() -= 1);
    let odd = counts.into_iter().filter(|(_, count)| *count != 0);
    odd.take(10)
        .map(|(one, count)| format!("{} {one:?}", if count > 0 { "missing" } else { "extra" }))
        .collect()
}
