//! A year of many sources with random edits, deletes and changes of settings, against a plain model: every reminder
//! that the model expects is sent once, at its moment, and no other is.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Span, Timestamp, civil::Date, tz::TimeZone};
use punctual_testkit::{Bed, BedBuilder, Database, Seeded, scale};
use serde_json::{Value, json};

use crate::client::Client;

#[test]
fn rig_reminders_a_year_on_sqlite_matches_the_plain_model() {
    year(Database::Sqlite, 11, scale(80, 10_000));
}

#[test]
fn rig_reminders_a_year_on_postgres_matches_the_plain_model() {
    year(Database::Postgres, 12, scale(40, 2_000));
}

const UNITS: [(&str, &str); 4] = [
    ("nz", "Pacific/Auckland"),
    ("de", "Europe/Berlin"),
    ("us", "America/New_York"),
    ("cl", "America/Santiago"),
];

/// A setting as the model has it.
#[derive(Clone, Debug)]
struct Rule {
    id: String,
    name: String,
    offsets: Vec<i64>,
    hour: i8,
    active: bool,
    /// Only documents of this kind.
    kind: Option<&'static str>,
    when: When,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Dates,
    /// Every month after the date.
    Monthly,
    /// Whenever the level rises to nine.
    Level,
}

impl Rule {
    fn body(&self) -> Value {
        let filter = self.kind.map(|kind| json!({ "questionId": "state.kind", "op": "==", "value": kind }));
        let at = format!("{:02}:00", self.hour);
        let mut body = json!({ "name": self.name, "sourceType": "document", "triggerKey": "expiry", "filter": filter,
            "recipients": { "field": "/email" }, "delivery": { "channel": "email:default" }, "active": self.active });
        let (kind, part, rule) = match self.when {
            When::Dates => (
                "dateBased",
                "date",
                json!({ "field": "/expiresOn", "offsetsDays": self.offsets, "sendTime": at }),
            ),
            When::Monthly => {
                ("recurring", "recurring", json!({ "field": "/expiresOn", "every": "month", "sendTime": at }))
            }
            When::Level => (
                "threshold",
                "threshold",
                json!({ "metric": { "field": "/level" }, "op": ">=", "value": 9,
                "firingPolicy": "FalseToTrue" }),
            ),
        };
        body["kind"] = json!(kind);
        body[part] = rule;
        body
    }
}

/// A source as the model has it.
#[derive(Clone, Debug)]
struct Document {
    unit: usize,
    kind: &'static str,
    expires_on: Date,
    active: bool,
    deleted: bool,
    level: u64,
    /// Where its level stood at the last look, how often it rose, and whether that is still to be told.
    met: bool,
    crossing: i64,
    to_tell: bool,
}

impl Document {
    fn body(&self, id: usize) -> Value {
        json!({ "type": "document", "id": name_of(id), "businessUnit": UNITS[self.unit].0, "active": self.active,
            "state": { "kind": self.kind, "expiresOn": self.expires_on.to_string(), "level": self.level,
                "email": format!("{}@b.example", name_of(id)) } })
    }
}

fn name_of(id: usize) -> String {
    format!("d{id:05}")
}

/// Who is sent what, when: address, subject, body, instant.
type Sent = (String, String, String, String);

/// The plain model: what is wanted now, and what has been sent.
#[derive(Default)]
struct Model {
    rules: Vec<Rule>,
    documents: Vec<Document>,
    done: BTreeSet<(String, usize, Date, i64)>,
    sent: Vec<Sent>,
}

impl Model {
    /// Nothing changes between two instants but the time: whatever falls between them is sent.
    fn run(&mut self, from: Timestamp, until: Timestamp) {
        for rule in self.rules.iter().filter(|rule| rule.active && rule.when == When::Level) {
            for (id, document) in self.documents.iter_mut().enumerate() {
                if std::mem::take(&mut document.to_tell) {
                    let body = format!("{}: document {}.\n", rule.name, name_of(id));
                    let address = format!("{}@b.example", name_of(id));
                    self.sent.push((address, rule.name.clone(), body, from.to_string()));
                }
            }
        }
        for rule in self.rules.iter().filter(|rule| rule.active && rule.when != When::Level) {
            for (id, document) in self.documents.iter().enumerate() {
                let matches = rule.kind.is_none_or(|kind| kind == document.kind);
                if !document.active || document.deleted || !matches {
                    continue;
                }
                let zone = TimeZone::get(UNITS[document.unit].1).unwrap();
                // What it reminds of, and on which day.
                let days: Vec<(Date, i64, Date)> = match rule.when {
                    When::Monthly => (1..=24)
                        .map(|n| document.expires_on.checked_add(Span::new().months(n)).unwrap())
                        .map(|day| (day, 0, day))
                        .collect(),
                    _ => rule
                        .offsets
                        .iter()
                        .map(|days| {
                            (document.expires_on, *days, document.expires_on - Span::new().days(*days))
                        })
                        .collect(),
                };
                for (target, offset, day) in days {
                    let due = day.at(rule.hour, 0, 0, 0).to_zoned(zone.clone()).unwrap();
                    let day_ends = due.date().tomorrow().unwrap().to_zoned(zone.clone()).unwrap();
                    let at = due.timestamp().max(from);
                    if from >= day_ends.timestamp() || at > until {
                        continue;
                    }
                    if self.done.insert((rule.id.clone(), id, target, offset)) {
                        let body = format!("{}: document {}, {}.\n", rule.name, name_of(id), target);
                        let address = format!("{}@b.example", name_of(id));
                        self.sent.push((address, rule.name.clone(), body, at.to_string()));
                    }
                }
            }
        }
    }
}

impl Model {
    /// A look at these documents, as an event or a changed setting takes one.
    fn look(&mut self, ids: impl Iterator<Item = usize>) {
        let is_on = self.rules.iter().any(|rule| rule.active && rule.when == When::Level);
        for id in ids {
            let document = &mut self.documents[id];
            let met = is_on && document.active && !document.deleted && document.level >= 9;
            if met && !document.met {
                document.crossing += 1;
                document.to_tell = true;
            }
            document.to_tell &= met;
            document.met = met;
        }
    }
}

fn year(database: Database, seed: u64, documents: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let bed = BedBuilder::new(database).open().await;
        let chance = Seeded::new(seed);
        let client = Client::new(&bed).await;
        let mut model = Model::default();
        begin(&client, &mut model, &chance, documents).await;
        let begun = bed.now();
        let mut steps = 0;
        while bed.now().duration_since(begun) < SignedDuration::from_hours(24 * 365) {
            change(&bed, &client, &mut model, &chance).await;
            // Now and then the store fails once in the middle of it all.
            if steps % 20 == 7 {
                bed.faults.fail("work.settle", steps % 40 == 7, 1);
            }
            let hours = 1 + i64::try_from(chance.below(60)).unwrap();
            let (from, until) = (bed.now(), bed.now() + SignedDuration::from_hours(hours));
            model.run(from, until);
            client.advance(&format!("{hours}h")).await;
            steps += 1;
        }
        let mut expected = std::mem::take(&mut model.sent);
        let mut sent: Vec<Sent> = bed
            .sent()
            .iter()
            .map(|sent| (sent.address.clone(), sent.subject.clone(), sent.body.clone(), sent.at.to_string()))
            .collect();
        expected.sort();
        sent.sort();
        assert!(expected.len() > 80, "only {} reminders say little", expected.len());
        assert_eq!(
            differ(&expected, &sent),
            Vec::<String>::new(),
            "{} sent, {} expected",
            sent.len(),
            expected.len()
        );
    });
}

/// What is in one and not in the other, a few of each.
fn differ(expected: &[Sent], sent: &[Sent]) -> Vec<String> {
    let mut counts: BTreeMap<&Sent, i64> = BTreeMap::new();
    expected.iter().for_each(|one| *counts.entry(one).or_default() += 1);
    sent.iter().for_each(|one| *counts.entry(one).or_default() -= 1);
    let odd = counts.into_iter().filter(|(_, count)| *count != 0);
    odd.take(10)
        .map(|(one, count)| format!("{} {one:?}", if count > 0 { "missing" } else { "extra" }))
        .collect()
}

async fn begin(client: &Client, model: &mut Model, chance: &Seeded, documents: usize) {
    for (unit, zone) in UNITS {
        let body = json!({ "name": unit, "timeZone": zone });
        client.put(&format!("/api/v1/business-units/{unit}"), body).await.expect(200);
    }
    for (name, offsets, hour, kind, when) in [
        ("First aid", vec![30, 7, 1], 9, Some("first-aid"), When::Dates),
        ("All", vec![14, 0, -3], 2, None, When::Dates),
        ("Vetting", vec![60], 23, Some("vetting"), When::Dates),
        ("Monthly", Vec::new(), 12, Some("vetting"), When::Monthly),
        ("Level", Vec::new(), 0, None, When::Level),
    ] {
        let mut rule = Rule { id: String::new(), name: name.into(), offsets, hour, active: true, kind, when };
        let made = client.post("/api/v1/reminder-settings", rule.body()).await.expect(201);
        rule.id = made["id"].as_str().unwrap().to_owned();
        model.rules.push(rule);
    }
    for _ in 0..documents {
        model.documents.push(Document {
            unit: usize::try_from(chance.below(4)).unwrap(),
            kind: if chance.below(2) == 0 { "first-aid" } else { "vetting" },
            expires_on: day(chance),
            active: true,
            deleted: false,
            level: chance.below(12),
            met: false,
            crossing: 0,
            to_tell: false,
        });
    }
    tell(client, model, &(0..documents).collect::<Vec<_>>()).await;
    model.look(0..documents);
}

/// A day within a year and a half.
fn day(chance: &Seeded) -> Date {
    let days = i64::try_from(chance.below(450)).unwrap();
    Date::constant(2026, 5, 1).checked_add(Span::new().days(days)).unwrap()
}

async fn tell(client: &Client, model: &Model, ids: &[usize]) {
    for chunk in ids.chunks(1_000) {
        let items: Vec<Value> = chunk.iter().map(|id| model.documents[*id].body(*id)).collect();
        let reply = client.post("/api/v1/sources", json!({ "items": items })).await.expect(200);
        let all = reply["items"].as_array().unwrap();
        assert!(all.iter().all(|item| item["outcome"] == "accepted"), "{reply}");
    }
}

/// Some random changes, to the installation and to the model alike.
async fn change(bed: &Bed, client: &Client, model: &mut Model, chance: &Seeded) {
    let pick = |bound: usize| usize::try_from(chance.below(bound as u64)).unwrap();
    let edits = 1 + pick(1 + model.documents.len() / 60);
    let mut told = BTreeSet::new();
    for _ in 0..edits {
        let id = pick(model.documents.len());
        let document = &mut model.documents[id];
        match pick(10) {
            0 => document.active = !document.active,
            1 => {
                if !document.deleted {
                    client.delete(&format!("/api/v1/sources/document/{}", name_of(id))).await.expect(204);
                }
                document.deleted = true;
                told.remove(&id);
                model.look(std::iter::once(id));
                continue;
            }
            2 => document.kind = if document.kind == "vetting" { "first-aid" } else { "vetting" },
            3 => document.level = chance.below(12),
            // The same again.
            4..=5 => {}
            _ => document.expires_on = day(chance),
        }
        document.deleted = false;
        told.insert(id);
    }
    let told: Vec<usize> = told.into_iter().collect();
    tell(client, model, &told).await;
    model.look(told.into_iter());
    if pick(6) == 0 {
        let which = pick(model.rules.len());
        let rule = &mut model.rules[which];
        match pick(3) {
            0 => rule.active = !rule.active,
            // A level has no hour.
            1 | 2 if rule.when == When::Level => {}
            1 => rule.hour = i8::try_from(pick(24)).unwrap(),
            _ if rule.when == When::Monthly => {}
            _ => rule.offsets = [vec![30, 7, 1], vec![21, 2], vec![5, 0, -2, -30]][pick(3)].clone(),
        }
        client.put(&format!("/api/v1/reminder-settings/{}", rule.id), rule.body()).await.expect(200);
        model.look(0..model.documents.len());
        // A change over many sources is due work: it is done before time goes on.
        bed.tick().await;
        model.run(bed.now(), bed.now());
    }
}
