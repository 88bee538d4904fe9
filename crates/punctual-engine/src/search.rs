//! Search over everything that people know by name: messages, work, sources, people, settings. The API and the console's
//! palette show the same.

use punctual_boxed::boxed;
use punctual_model::{Reach, WorkKey};
use punctual_store::{
    StoreError,
    search::{self, Match, Search, Sizes},
    sources,
};

use crate::{
    Engine,
    titles::{Titled, line},
};

/// What one search returns.
pub const BEST: usize = 20;
/// Results of each part; more of one only where the others have none.
const OF_EACH: usize = 8;
/// Rows of work whose titles are searched.
const TITLED: i64 = 500;

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HitKind {
    Person,
    Setting,
    Source,
    Work,
    Message,
}

impl HitKind {
    pub const ALL: [Self; 5] = [Self::Person, Self::Setting, Self::Source, Self::Work, Self::Message];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Setting => "setting",
            Self::Source => "source",
            Self::Work => "work",
            Self::Message => "message",
        }
    }

    /// Whether more of it is stored than a search looks through.
    fn exceeds(self, sizes: &Sizes) -> bool {
        match self {
            Self::Person => sizes.exceed_people(),
            Self::Setting => sizes.exceed_definitions(),
            Self::Source => sizes.exceed_sources(),
            Self::Work => sizes.exceed_work(TITLED),
            Self::Message => sizes.exceed_messages(),
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub kind: HitKind,
    pub id: String,
    pub title: String,
    /// What it is, and what else it was found by.
    pub note: String,
    /// Its page in the console.
    pub link: String,
    /// How well it fits, the best first.
    rank: u8,
}

/// The best of what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// Parts of which only a window was searched for the text; for a caller who is limited to units all of them, whatever there is.
    pub cut: Vec<HitKind>,
}

/// It is exactly what was asked for.
const EXACT: u8 = 0;

impl Engine {
    /// The best matches for a text that are within reach. Ids and keys are found whatever there is, addresses among the newest
    /// attempts, texts in a window of each part; `cut` says of which parts there is more, or may be.
    #[boxed]
    pub async fn search(&self, reach: &Reach, text: &str) -> Result<Found, StoreError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Found::default());
        }
        let search = Search { text, reach, limit: BEST as i64 };
        let mut reader = self.store.read_for_people().await?;
        let mut conn = reader.conn();
        let mut hits = Hits { text: text.to_lowercase(), sees_all: reach.units().is_none(), all: Vec::new() };
        hits.add(HitKind::Message, search.message(&mut conn).await?, true);
        hits.add(HitKind::Message, search.messages_to(&mut conn).await?, true);
        hits.add(HitKind::Person, search.people_exactly(&mut conn).await?, true);
        let keys = [WorkKey::parse(text), WorkKey::message(text), WorkKey::schedule(text)];
        let keys = keys.into_iter().flatten().map(|key| key.to_string()).collect();
        let exact = search.work_exactly(&mut conn, keys).await?;
        // `document/103` and `document 103` name one source, `103` may be of any type.
        let named = text.split_once(['/', ' ']).filter(|(kind, id)| !kind.is_empty() && !id.is_empty());
        let types = sources::types(&mut conn, reach).await?;
        let of_any = search.sources_of(&mut conn, types, text).await?;
        hits.add(HitKind::Source, of_any, true);
        if let Some((kind, id)) = named {
            let one = search.sources_of(&mut conn, vec![kind.to_owned()], id.trim()).await?;
            hits.add(HitKind::Source, one, true);
        }
        hits.add(HitKind::Setting, search.definitions(&mut conn).await?, false);
        hits.add(HitKind::Person, search.people(&mut conn).await?, false);
        hits.add(HitKind::Source, search.sources(&mut conn).await?, false);
        hits.add(HitKind::Message, search.messages(&mut conn).await?, false);
        let by_key = search.work(&mut conn).await?;
        let newest = search.newest_work(&mut conn, TITLED).await?;
        let all: Vec<&Match> = exact.iter().chain(&by_key).chain(&newest).collect();
        let keys: Vec<Titled<'_>> =
            all.iter().map(|row| Titled { kind: &row.kind, key: &row.title }).collect();
        let titles = self.titles(&mut conn, reach, &keys).await?;
        let (first, second) = (exact.len(), exact.len() + by_key.len());
        let words = hits.text.clone();
        let titled = all.into_iter().zip(titles).enumerate().filter_map(|(at, (row, title))| {
            let fits = at < second || title.to_lowercase().contains(&words);
            let found = Match { note: row.title.clone(), title, kind: row.kind.clone(), id: row.id.clone() };
            fits.then_some((at < first, found))
        });
        for (is_exact, row) in titled.collect::<Vec<_>>() {
            hits.add(HitKind::Work, vec![row], is_exact);
        }
        let cut = if reach.units().is_some() {
            HitKind::ALL.to_vec()
        } else {
            let sizes = search::sizes(&mut conn).await?;
            HitKind::ALL.into_iter().filter(|kind| kind.exceeds(&sizes)).collect()
        };
        Ok(Found { hits: hits.best(), cut })
    }
}

/// What was found so far, each thing once.
struct Hits {
    /// In lower case.
    text: String,
    /// Definitions of the installation have pages of their own for callers without a limit alone.
    sees_all: bool,
    all: Vec<Hit>,
}

impl Hits {
    fn add(&mut self, kind: HitKind, rows: Vec<Match>, is_exact: bool) {
        for row in rows {
            let rank = if is_exact { EXACT } else { self.rank(&row) };
            let link = link(kind, &row, self.sees_all);
            if self.all.iter().any(|hit| hit.link == link && hit.title == title(kind, &row)) {
                continue;
            }
            let what = match kind {
                HitKind::Setting | HitKind::Message => row.kind.clone(),
                HitKind::Person | HitKind::Source | HitKind::Work => String::new(),
            };
            let notes = [what, line(&plain(&row.note))].into_iter().filter(|note| !note.is_empty());
            let note = notes.collect::<Vec<_>>().join(" · ");
            self.all.push(Hit { kind, title: title(kind, &row), id: row.id, note, link, rank });
        }
    }

    /// How well a row fits: as a whole, at its beginning, at that of a word, or anywhere.
    fn rank(&self, row: &Match) -> u8 {
        let title = row.title.to_lowercase();
        if title == self.text || row.id.to_lowercase() == self.text {
            EXACT
        } else if title.starts_with(&self.text) {
            1
        } else if title.split_whitespace().any(|word| word.starts_with(&self.text)) {
            2
        } else {
            3
        }
    }

    /// The best ones, in an order that keeps each kind together; no kind takes all the places while there are others.
    fn best(mut self) -> Vec<Hit> {
        self.all.sort_by_key(|hit| hit.rank);
        let (mut best, mut rest) = (Vec::new(), Vec::new());
        for hit in self.all {
            let of_kind = best.iter().filter(|other: &&Hit| other.kind == hit.kind).count();
            if of_kind < OF_EACH { best.push(hit) } else { rest.push(hit) }
        }
        best.extend(rest);
        best.truncate(BEST);
        best.sort_by_key(|hit| (hit.rank, hit.kind));
        best
    }
}

/// The addresses of a message, as they are stored or the beginning of that, as people write them.
fn plain(note: &str) -> String {
    match note.strip_prefix("[\"") {
        Some(rest) => rest.trim_end_matches(['"', ']']).replace("\",\"", ", "),
        None => note.to_owned(),
    }
}

fn title(kind: HitKind, row: &Match) -> String {
    match kind {
        HitKind::Message if row.title.is_empty() => "(no subject)".to_owned(),
        _ => line(&row.title),
    }
}

/// The page of what was found.
fn link(kind: HitKind, row: &Match, sees_all: bool) -> String {
    let id = encoded(&row.id);
    match (kind, row.kind.as_str()) {
        (HitKind::Person, _) => format!("/operations/people/{id}"),
        (HitKind::Source, of) => format!("/sources/{}/{id}", encoded(of)),
        (HitKind::Work, _) => format!("/work/{id}"),
        (HitKind::Message, _) => format!("/notifications/{id}"),
        (HitKind::Setting, "survey") => format!("/surveys/{id}"),
        (HitKind::Setting, "report") => format!("/reports/{id}"),
        (HitKind::Setting, subject @ ("event" | "task")) => format!("/operations/{subject}s/{id}"),
        (HitKind::Setting, "list") => format!("/settings/lists/edit?key={id}"),
        (HitKind::Setting, "template") if sees_all => format!("/settings/templates/edit?key={id}"),
        (HitKind::Setting, "template") => "/settings/templates".to_owned(),
        (HitKind::Setting, "channel") if sees_all => format!("/channels/edit?key={id}"),
        (HitKind::Setting, "channel") => "/channels".to_owned(),
        (HitKind::Setting, _) => format!("/reminders/{id}"),
    }
}

/// A text as one part of an address.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, title: &str) -> Match {
        Match { kind: "list".into(), id: id.into(), title: title.into(), note: String::new() }
    }

    #[test]
    fn the_best_come_first_and_no_kind_takes_all_places() {
        let mut hits = Hits { text: "ops".into(), sees_all: true, all: Vec::new() };
        let many =
            (0..30).map(|n| Match { kind: "parked".into(), ..row(&n.to_string(), &format!("Shops {n}")) });
        hits.add(HitKind::Message, many.collect(), false);
        hits.add(
            HitKind::Setting,
            vec![row("a", "The shops"), row("b", "Night ops"), row("ops", "OPS")],
            false,
        );
        hits.add(HitKind::Setting, vec![row("ops", "OPS")], true);
        let best = hits.best();
        assert_eq!(best.len(), BEST);
        let first: Vec<&str> = best.iter().take(3).map(|hit| hit.title.as_str()).collect();
        assert_eq!(first, ["OPS", "Night ops", "The shops"]);
        assert_eq!(best.iter().filter(|hit| hit.title == "OPS").count(), 1);
    }

    #[test]
    fn links_carry_any_text() {
        assert_eq!(plain(r#"["a@x","b@x"]"#), "a@x, b@x");
        let list = link(HitKind::Setting, &row("a/b ?", "x"), true);
        assert_eq!(list, "/settings/lists/edit?key=a%2Fb%20%3F");
    }
}
