//! Random edits of many events against a model of what people expect: the messages sent are the model's, to the second.
//!
//! The model knows nothing of work rows, schedules or states: a rule is armed when its moment is set, fires when the
//! moment has come, and sends each moment once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use punctual_engine::Actor;
use punctual_testkit::{Database, Seeded, TestBed, TestBedBuilder, run, scale};
use punctual_workflows::operations::{
    Anchor, RuleSpec,
    commands::{DefaultRule, RuleChange},
};

use super::*;

/// Events that are edited side by side in one bed.
const TOGETHER: usize = 25;
const STEPS: usize = 16;
const GRACE: i64 = 15 * 60;

#[test]
fn rig_operations_random_edits_send_what_the_model_sends_on_sqlite() {
    try_all(Database::Sqlite);
}

#[test]
fn rig_operations_random_edits_send_what_the_model_sends_on_postgres() {
    try_all(Database::Postgres);
}

fn try_all(database: Database) {
    // Ten thousand events on each at full scale; a commit has few, and fewer where each write waits for a server.
    let beds = scale(if database == Database::Sqlite { 4 } else { 1 }, 400);
    for number in 0..beds {
        run(TestBedBuilder::new(database), |bed| trial(bed, number as u64));
    }
    println!("{} sequences of {STEPS} edits on {database:?}", beds * TOGETHER);
}

struct Draws(Seeded);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.bytes(&mut bytes);
        u64::from_le_bytes(bytes) % bound
    }
}

/// One rule as people think of it. Moments are seconds since the beginning.
#[derive(Clone)]
struct Expected {
    anchor: Anchor,
    offset: i64,
    active: bool,
    moment: Option<i64>,
    set_at: i64,
    armed: bool,
    reported: BTreeSet<i64>,
}

impl Expected {
    fn new(anchor: Anchor, offset: i64) -> Self {
        Self {
            anchor,
            offset,
            active: true,
            moment: None,
            set_at: 0,
            armed: false,
            reported: BTreeSet::new(),
        }
    }

    /// The moment is set; one that stays as it is changes nothing.
    fn set(&mut self, moment: Option<i64>, now: i64) {
        if moment != self.moment {
            self.moment = moment;
            self.set_at = now;
            self.armed = moment.is_some();
        }
    }

    /// The moments that are sent up to now, with the time at which each is.
    fn fire(&mut self, now: i64) -> Option<i64> {
        let moment = self.moment.filter(|moment| self.armed && *moment <= now)?;
        self.armed = false;
        let is_sent = self.set_at - moment <= GRACE && self.reported.insert(moment);
        is_sent.then(|| moment.max(self.set_at))
    }
}

/// One event as people think of it.
#[derive(Default)]
struct Model {
    id: String,
    is_there: bool,
    start: Option<i64>,
    end: Option<i64>,
    rules: BTreeMap<String, Expected>,
    reported: Vec<i64>,
}

impl Model {
    fn moment(&self, rule: &Expected) -> Option<i64> {
        let date = match rule.anchor {
            Anchor::Start => self.start,
            Anchor::End => self.end,
        };
        date.filter(|_| rule.active).map(|date| date + rule.offset)
    }

    fn set_all(&mut self, now: i64) {
        let moments: Vec<Option<i64>> = self.rules.values().map(|rule| self.moment(rule)).collect();
        for (rule, moment) in self.rules.values_mut().zip(moments) {
            rule.set(moment, now);
        }
    }

    fn advance(&mut self, now: i64) {
        let fired: Vec<i64> = self.rules.values_mut().filter_map(|rule| rule.fire(now)).collect();
        self.reported.extend(fired);
    }
}

struct World {
    bed: TestBed,
    begin: Timestamp,
    random: Draws,
}

impl World {
    fn now(&self) -> i64 {
        self.bed.now().duration_since(self.begin).as_secs()
    }

    fn at(&self, second: i64) -> Timestamp {
        self.begin + SignedDuration::from_secs(second)
    }

    /// A date a little before or after now, from few, so that dates come back; or none.
    fn date(&mut self) -> Option<i64> {
        let around = [-1_800, -901, -900, -300, 0, 60, 300, 600, 900, 1_800];
        match self.random.below(12) {
            n if n < 10 => Some(self.now() / 300 * 300 + around[n as usize]),
            _ => None,
        }
    }

    async fn edit(&mut self, model: &mut Model) {
        let now = self.now();
        match self.random.below(10) {
            0..=4 => self.set_dates(model, now).await,
            5 => {
                delete(&self.bed, &model.id).await;
                model.is_there = false;
                model.rules.clear();
            }
            6 => self.add_rule(model, now).await,
            7 => self.pause_or_resume(model, now).await,
            8 => change(&self.bed, &model.id, |row| row.title = "Another title".into()).await,
            _ => self.delete_rule(model).await,
        }
    }

    async fn create(&mut self, model: &mut Model, number: usize) {
        let (start, end) = self.dates(None, None);
        let mut new = event(&self.bed, start.map(|at| self.at(at)), end.map(|at| self.at(at)));
        new.creator = format!("person-{number}");
        let id = create(&self.bed, &new).await;
        *model =
            Model { id, is_there: true, reported: std::mem::take(&mut model.reported), ..Model::default() };
        self.take_dates(model, start, end).await;
    }

    /// New dates; the end is not before the start.
    fn dates(&mut self, start: Option<i64>, end: Option<i64>) -> (Option<i64>, Option<i64>) {
        let (mut start, mut end) = (start, end);
        if self.random.below(3) > 0 {
            start = self.date();
        }
        if self.random.below(3) > 0 {
            end = self.date();
        }
        match (start, end) {
            (Some(from), Some(to)) if to < from => (start, Some(from)),
            dates => dates,
        }
    }

    async fn set_dates(&mut self, model: &mut Model, _now: i64) {
        let (start, end) = self.dates(model.start, model.end);
        let (from, to) = (start.map(|at| self.at(at)), end.map(|at| self.at(at)));
        change(&self.bed, &model.id, |row| (row.start_at, row.end_at) = (from, to)).await;
        self.take_dates(model, start, end).await;
    }

    /// A date that goes takes its rules along; one that comes brings the one at it.
    async fn take_dates(&mut self, model: &mut Model, start: Option<i64>, end: Option<i64>) {
        let now = self.now();
        for (anchor, before, after) in [(Anchor::Start, model.start, start), (Anchor::End, model.end, end)] {
            if after.is_none() {
                model.rules.retain(|_, rule| rule.anchor != anchor);
            } else if before.is_none() && model.rules.values().all(|rule| rule.anchor != anchor) {
                let own = rules_of(&self.bed, &model.id).await;
                let made = own.into_iter().find(|rule| rule.kind == anchor).expect("a rule at the date");
                model.rules.insert(made.id, Expected::new(anchor, 0));
            }
        }
        (model.start, model.end) = (start, end);
        model.set_all(now);
    }

    async fn add_rule(&mut self, model: &mut Model, now: i64) {
        let (anchor, date) = match self.random.below(2) {
            0 => (Anchor::Start, model.start),
            _ => (Anchor::End, model.end),
        };
        let (offset, text) = [(-600, "-10m"), (-60, "-1m"), (300, "+5m")][self.random.below(3) as usize];
        if date.is_none() {
            return;
        }
        let id = self.bed.random.ordered_uuid(self.bed.now()).to_string();
        let wanted = DefaultRule {
            rule: RuleSpec::Relative { anchor, offset: text.into() },
            channels: vec!["email".to_owned()],
            handling: Default::default(),
            message: Default::default(),
        };
        let by = Actor::named("rig");
        let added = commands::add_rule(&self.bed.engine, &by, &model.id, id.clone(), &wanted, |_| true);
        if let Changed::Done(_) = added.await.unwrap() {
            model.rules.insert(id, Expected::new(anchor, offset));
            model.set_all(now);
        }
    }

    async fn pause_or_resume(&mut self, model: &mut Model, now: i64) {
        let count = model.rules.len() as u64;
        if count == 0 {
            return;
        }
        let which = self.random.below(count) as usize;
        let (id, active) = match model.rules.iter_mut().nth(which) {
            Some((id, rule)) => {
                rule.active = !rule.active;
                (id.clone(), rule.active)
            }
            None => return,
        };
        let change = RuleChange { active: Some(active), ..Default::default() };
        commands::change_rule(&self.bed.engine, &Actor::named("rig"), &id, change).await.unwrap();
        model.set_all(now);
    }

    async fn delete_rule(&mut self, model: &mut Model) {
        let Some(id) = model.rules.keys().next().cloned() else { return };
        commands::delete_rule(&self.bed.engine, &Actor::named("rig"), &id).await.unwrap();
        model.rules.remove(&id);
    }
}

async fn trial(bed: TestBed, seed: u64) {
    let mut world = World { begin: bed.now(), random: Draws(Seeded::new(seed)), bed: bed.clone() };
    let mut models: Vec<Model> = (0..TOGETHER).map(|_| Model::default()).collect();
    for number in 0..TOGETHER {
        person(&bed, &format!("person-{number}")).await;
    }
    for _ in 0..STEPS {
        for (number, model) in models.iter_mut().enumerate() {
            if model.is_there {
                world.edit(model).await;
            } else {
                world.create(model, number).await;
            }
        }
        let by = [0, 60, 300, 300, 900][world.random.below(5) as usize];
        bed.run_for(by).await;
        let now = world.now();
        models.iter_mut().for_each(|model| model.advance(now));
    }
    bed.run_for(7_200).await;
    let now = world.now();
    models.iter_mut().for_each(|model| model.advance(now));

    let mut sent: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for one in bed.sent() {
        let at = one.at.duration_since(world.begin).as_secs();
        sent.entry(one.address.clone()).or_default().push(at);
    }
    for (number, mut model) in models.into_iter().enumerate() {
        let mut found = sent.remove(&format!("person-{number}@example.org")).unwrap_or_default();
        found.sort_unstable();
        model.reported.sort_unstable();
        assert_eq!(found, model.reported, "seed {seed}, event {number} ({})", model.id);
    }
    assert!(sent.is_empty());
}
