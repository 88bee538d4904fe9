//! The next messages of a setting, and the messages of the last twelve months that it would have sent. Both are computed from
//! the present states of sources with the planning functions; earlier dates of a source are not known.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, civil::Date};
use punctual_boxed::boxed;
use punctual_model::{KeyParts, WorkKey};
use punctual_store::{Reader, StoreError, sources};

use super::{
    Providers, Setting,
    evaluate::{Inputs, invalid},
    providers::{Candidate, Case, Source},
    titles,
};

/// Sources that one outlook reads.
pub const MOST: usize = 20_000;
/// Sources read at once.
const BATCH: i64 = 500;
/// Messages that are named; the rest is counted.
pub const NAMED: usize = 50;
/// How far back it looks.
const BACK: SignedDuration = SignedDuration::from_hours(24 * 365);
/// Later occurrences of one source that are named.
const AHEAD: usize = 3;

/// The messages of a setting, as far as they follow from what is known now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// The next ones, the earliest first.
    pub next: Vec<Expected>,
    /// Sources for which there is a next one.
    pub next_count: u64,
    /// Those of the last twelve months, the latest first.
    pub past: Vec<Expected>,
    pub past_count: u64,
    /// How many in each month, as `2026-05`.
    pub past_by_month: BTreeMap<String, u64>,
    /// Sources of its type that were read, and those that it is for.
    pub sources: u64,
    pub matching: u64,
    /// There are more sources than one outlook reads.
    pub cut: bool,
    /// It depends on measures, whose past is not kept: there is no outlook.
    pub is_unknown: bool,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// As its row would be called.
    pub title: String,
    pub source_id: String,
    pub due_at: Timestamp,
    pub local_date: Date,
    pub time_zone: String,
}

/// Looks ahead and back for a setting, stored or not.
#[boxed]
pub async fn outlook(
    reader: &mut Reader,
    providers: &Providers,
    setting: &Setting,
    now: Timestamp,
) -> Result<Outlook, StoreError> {
    // One that is switched off is shown as it would be if it were on.
    let setting = &Setting { active: true, ..setting.clone() };
    let mut outlook = Outlook { is_unknown: setting.rule.keeps_state(), ..Outlook::default() };
    let mut conn = reader.conn();
    let mut after = String::new();
    loop {
        let rows = sources::walk(&mut conn, &setting.source_type, &after, None, BATCH, false).await?;
        let Some(last) = rows.last() else { break };
        after.clone_from(&last.source_id);
        outlook.sources += rows.len() as u64;
        let inputs = Inputs {
            zones: super::load::zones(&mut conn, rows.iter().map(|row| row.business_unit.clone())).await?,
            ..Inputs::default()
        };
        for source in rows.into_iter().map(Source::new) {
            let zone = inputs.zone(&source);
            let case = inputs.case(setting, &source, &zone);
            if invalid(providers, &case).is_none() {
                outlook.add(&case, now);
            }
        }
        if outlook.sources >= MOST as u64 {
            outlook.cut = true;
            break;
        }
    }
    outlook.next.sort_by(|one, other| (one.due_at, &one.title).cmp(&(other.due_at, &other.title)));
    outlook.next.truncate(NAMED);
    outlook.past.sort_by(|one, other| (other.due_at, &one.title).cmp(&(one.due_at, &other.title)));
    outlook.past.truncate(NAMED);
    Ok(outlook)
}

impl Outlook {
    /// Adds what one source brings.
    fn add(&mut self, case: &Case<'_>, now: Timestamp) {
        self.matching += 1;
        if self.is_unknown {
            return;
        }
        let (ahead, past) = (ahead(case, now), past(case, now));
        self.next_count += u64::from(!ahead.is_empty());
        self.next.extend(ahead.iter().map(|one| expected(case, one, now)));
        self.past_count += past.len() as u64;
        for one in &past {
            *self.past_by_month.entry(one.local_date.strftime("%Y-%m").to_string()).or_default() += 1;
        }
        self.past.extend(past.iter().map(|one| expected(case, one, now)));
        // A long list is cut now and then, so that a million sources do not fill the memory.
        if self.next.len() > 40 * NAMED {
            self.next.sort_by_key(|one| one.due_at);
            self.next.truncate(NAMED);
        }
        if self.past.len() > 40 * NAMED {
            self.past.sort_by_key(|one| std::cmp::Reverse(one.due_at));
            self.past.truncate(NAMED);
        }
    }
}

/// What is still to come for a source.
pub(super) fn ahead(case: &Case<'_>, now: Timestamp) -> Vec<Candidate> {
    let wanted = case.setting.rule.wanted(case, now).candidates;
    let mut found: Vec<Candidate> =
        wanted.into_iter().filter(|one| one.due_at >= now && one.fault.is_none()).collect();
    while found.len() < AHEAD
        && let Some(last) = found.last()
        && let Some(next) = case.setting.rule.next(case, last.due_at)
    {
        found.push(next);
    }
    found
}

/// What would have been sent for a source in the last twelve months.
fn past(case: &Case<'_>, now: Timestamp) -> Vec<Candidate> {
    let from = now.checked_sub(BACK).unwrap_or(Timestamp::MIN);
    let within = |one: &Candidate| one.due_at >= from && one.due_at < now && one.fault.is_none();
    let mut found: Vec<Candidate> = case.setting.rule.wanted(case, from).candidates;
    let mut at = from;
    while let Some(next) = case.setting.rule.next(case, at).filter(|next| next.due_at < now) {
        at = next.due_at;
        if found.iter().all(|one| one.key != next.key) {
            found.push(next);
        }
    }
    found.retain(within);
    found
}

fn expected(case: &Case<'_>, candidate: &Candidate, now: Timestamp) -> Expected {
    let key: KeyParts = WorkKey::parts(&candidate.key);
    Expected {
        title: titles::of_case(case, &key, now),
        source_id: case.source.row.source_id.clone(),
        due_at: candidate.due_at,
        local_date: candidate.local_date,
        time_zone: case.zone.name.clone(),
    }
}
