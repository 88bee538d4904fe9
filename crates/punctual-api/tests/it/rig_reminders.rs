//! A year of many sources with random edits, deletes, moves between business units and zones, things that are counted, and
//! changes of settings, against a plain model: every reminder that the model expects is sent once, at its moment, and no
//! other is.

mod model;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Span, civil::Date};
use punctual_testkit::{Database, Seeded, TestBed, TestBedBuilder, scale};
use serde_json::{Value, json};

use crate::client::Client;
use model::{Booking, Document, Model, Rule, Sent, UNITS, When, ZONES, differ, name_of};

#[test]
fn rig_reminders_a_year_on_sqlite_matches_the_plain_model() {
    year(Database::Sqlite, 11, scale(200, 10_000));
}

#[test]
fn rig_reminders_a_year_on_postgres_matches_the_plain_model() {
    year(Database::Postgres, 12, scale(30, 10_000));
}

fn year(database: Database, seed: u64, documents: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let bed = TestBedBuilder::new(database).open().await;
        let mut year = Year {
            client: Client::new(&bed).await,
            bed: bed.clone(),
            random: Seeded::new(seed),
            model: Model { zones: [0, 1, 2, 3], ..Model::default() },
            did: BTreeMap::new(),
        };
        year.begin(documents).await;
        let begun = bed.now();
        let (mut steps, mut sent) = (0, Vec::new());
        year.take(&mut sent);
        while bed.now().duration_since(begun) < SignedDuration::from_hours(24 * 365) {
            year.change().await;
            // Now and then the store fails once in the middle of it all.
            if steps % 20 == 7 {
                bed.faults.fail("work.settle", steps % 40 == 7, 1);
                year.did("store failures");
            }
            let hours = 1 + i64::try_from(year.random.below(60)).unwrap();
            let (from, until) = (bed.now(), bed.now() + SignedDuration::from_hours(hours));
            year.model.run(from, until);
            year.client.advance(&format!("{hours}h")).await;
            // What was captured is bounded, so it is taken away step by step.
            year.take(&mut sent);
            steps += 1;
        }
        let mut expected = std::mem::take(&mut year.model.sent);
        expected.sort();
        sent.sort();
        println!("{documents} documents on {database:?}: {} reminders; {:?}", sent.len(), year.did);
        assert!(expected.len() > 80, "only {} reminders say little", expected.len());
        let odd = differ(&expected, &sent);
        for one in odd.iter().take(3) {
            year.explain(one).await;
        }
        assert_eq!(odd, Vec::<String>::new(), "{} sent, {} expected", sent.len(), expected.len());
        // A trial in which something never happened says nothing about it.
        for what in
            ["edits", "deletes", "unit moves", "zone moves", "bookings", "setting changes", "store failures"]
        {
            assert!(year.did.get(what).is_some_and(|count| *count > 0), "no {what}: {:?}", year.did);
        }
    });
}

/// The installation and the model side by side.
struct Year {
    bed: TestBed,
    client: Client,
    random: Seeded,
    model: Model,
    /// How often what was done.
    did: BTreeMap<&'static str, u64>,
}

impl Year {
    fn pick(&self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    fn did(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }

    fn take(&self, sent: &mut Vec<Sent>) {
        let one = |one: &punctual_channels::Sent| {
            (one.address.clone(), one.subject.clone(), one.body.clone(), one.at.to_string())
        };
        sent.extend(self.bed.sent().iter().map(|sent| one(sent)));
        self.bed.captured.clear();
    }

    /// What the installation says about the source and the day of a difference.
    async fn explain(&self, difference: &str) {
        let words: Vec<&str> = difference.split('"').collect();
        let [_, address, .., at, _] = words[..] else { return };
        let (source, day) = (address.split('@').next().unwrap_or_default(), &at[..10]);
        let path = format!("/api/v1/why?sourceType=document&sourceId={source}&date={day}");
        println!("{difference}: {}", self.client.get(&path).await.expect(200));
    }

    /// A day within a year and a half.
    fn day(&self) -> Date {
        let days = i64::try_from(self.random.below(450)).unwrap();
        Date::constant(2026, 5, 1).checked_add(Span::new().days(days)).unwrap()
    }

    async fn put_unit(&self, unit: usize) {
        let body = json!({ "name": UNITS[unit], "timeZone": ZONES[self.model.zones[unit]] });
        self.client.put(&format!("/api/v1/business-units/{}", UNITS[unit]), body).await.expect(200);
    }

    async fn put_source(&self, items: Vec<Value>) {
        for items in items.chunks(1_000) {
            let reply = self.client.post("/api/v1/sources", json!({ "items": items })).await.expect(200);
            let all = reply["items"].as_array().unwrap();
            assert!(all.iter().all(|item| item["outcome"] == "accepted"), "{reply}");
        }
    }

    async fn begin(&mut self, documents: usize) {
        for unit in 0..UNITS.len() {
            self.put_unit(unit).await;
        }
        for (name, offsets, hour, kind, unit, when) in [
            ("First aid", vec![30, 7, 1], 9, Some("first-aid"), None, When::Dates),
            ("All", vec![14, 0, -3], 2, None, None, When::Dates),
            ("Vetting", vec![60], 23, Some("vetting"), Some(1), When::Dates),
            ("Monthly", Vec::new(), 12, Some("vetting"), None, When::Monthly),
            ("Level", Vec::new(), 0, None, None, When::Level),
            ("Booked", Vec::new(), 0, None, Some(2), When::Booked),
        ] {
            let id = String::new();
            let mut rule = Rule { id, name: name.into(), offsets, hour, active: true, kind, unit, when };
            let made = self.client.post("/api/v1/reminder-settings", rule.body()).await.expect(201);
            rule.id = made["id"].as_str().unwrap().to_owned();
            self.model.rules.push(rule);
        }
        for _ in 0..documents {
            let document = Document {
                unit: self.pick(4),
                kind: if self.pick(2) == 0 { "first-aid" } else { "vetting" },
                expires_on: self.day(),
                active: true,
                deleted: false,
                level: self.random.below(12),
                met: BTreeMap::new(),
            };
            self.model.documents.push(document);
        }
        for _ in 0..documents * 2 {
            // A few documents are booked by many.
            let document = self.pick(documents.div_ceil(2));
            self.model.bookings.push(Booking { document, paid: self.pick(3) > 0, active: true });
        }
        let documents = self.model.documents.iter().enumerate().map(|(id, one)| one.body(id));
        self.put_source(documents.collect()).await;
        let bookings = self.model.bookings.iter().enumerate().map(|(id, one)| one.body(id));
        self.put_source(bookings.collect()).await;
        self.model.look(0..self.model.documents.len());
    }

    /// Some random changes, to the installation and to the model alike.
    async fn change(&mut self) {
        self.edit_documents().await;
        if self.pick(2) == 0 {
            self.edit_bookings().await;
        }
        if self.pick(6) == 0 {
            self.change_setting().await;
        }
        if self.pick(20) == 0 {
            self.move_zone().await;
        }
    }

    async fn edit_documents(&mut self) {
        let edits = 1 + self.pick(1 + self.model.documents.len() / 60);
        let (mut reported, mut touched) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..edits {
            let id = self.pick(self.model.documents.len());
            let (act, level, day, unit) = (self.pick(12), self.random.below(12), self.day(), self.pick(4));
            // Put once a batch: what lies between is not seen by anybody.
            if !touched.insert(id) {
                continue;
            }
            let document = &mut self.model.documents[id];
            match act {
                0 => document.active = !document.active,
                1 => {
                    let was_there = !document.deleted;
                    document.deleted = true;
                    if was_there {
                        let path = format!("/api/v1/sources/document/{}", name_of(id));
                        self.client.delete(&path).await.expect(204);
                        self.did("deletes");
                    }
                    self.model.look(std::iter::once(id));
                    continue;
                }
                2 => document.kind = if document.kind == "vetting" { "first-aid" } else { "vetting" },
                3 => document.level = level,
                // The same again.
                4..=5 => {}
                6..=7 => {
                    document.unit = unit;
                    self.did("unit moves");
                }
                _ => document.expires_on = day,
            }
            self.model.documents[id].deleted = false;
            self.did("edits");
            reported.insert(id);
        }
        self.put_source(reported.iter().map(|id| self.model.documents[*id].body(*id)).collect()).await;
        self.model.look(reported.into_iter());
    }

    /// One is paid, cancelled, or goes to another document; both documents are checked.
    async fn edit_bookings(&mut self) {
        let edits = 1 + self.pick(1 + self.model.bookings.len() / 60);
        let (mut reported, mut touched) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..edits {
            let id = self.pick(self.model.bookings.len());
            let (act, document) = (self.pick(3), self.pick(self.model.documents.len().div_ceil(2)));
            let booking = &mut self.model.bookings[id];
            // Put once a batch: what lies between is not seen by anybody.
            if !reported.insert(id) {
                continue;
            }
            touched.insert(booking.document);
            match act {
                0 => booking.paid = !booking.paid,
                1 => booking.active = !booking.active,
                _ => booking.document = document,
            }
            touched.insert(booking.document);
            self.did("bookings");
        }
        self.put_source(reported.iter().map(|id| self.model.bookings[*id].body(*id)).collect()).await;
        self.model.look(touched.into_iter());
    }

    async fn change_setting(&mut self) {
        let which = self.pick(self.model.rules.len());
        let (act, hour, offsets) = (self.pick(3), i8::try_from(self.pick(24)).unwrap(), self.pick(3));
        let rule = &mut self.model.rules[which];
        match act {
            0 => rule.active = !rule.active,
            // A measure has no hour.
            1 | 2 if rule.when.is_measured() => {}
            1 => rule.hour = hour,
            _ if rule.when == When::Monthly => {}
            _ => rule.offsets = [vec![30, 7, 1], vec![21, 2], vec![5, 0, -2, -30]][offsets].clone(),
        }
        let (path, body) = (format!("/api/v1/reminder-settings/{}", rule.id), rule.body());
        self.client.put(&path, body).await.expect(200);
        self.did("setting changes");
        self.applied().await;
    }

    async fn move_zone(&mut self) {
        let unit = self.pick(4);
        self.model.zones[unit] = self.pick(ZONES.len());
        self.put_unit(unit).await;
        self.did("zone moves");
        self.applied().await;
    }

    /// A change over many sources is due work: it is done before time goes on.
    async fn applied(&mut self) {
        self.model.look(0..self.model.documents.len());
        self.bed.tick().await;
        self.model.run(self.bed.now(), self.bed.now());
    }
}
