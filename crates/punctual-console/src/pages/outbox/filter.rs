//! What the outbox is limited to, as it is stored in the address and in the form above the list.

use jiff::Timestamp;
use punctual_model::NotificationStatus;
use punctual_store::notifications::{Browse, Place, Stuck};

use crate::{form::Fields, links, times::Zone};

/// Rows that one page reads; a search goes on from there when it is asked to.
const WINDOW: i64 = 20_000;
/// Longer words than this are cut; no name and no subject that people search for is.
const LONGEST: usize = 200;

/// Both states in which something is still to be sent: what the figure counts.
const QUEUED: &str = "queued";
/// The states that can be chosen, with their words.
pub const STATES: [(&str, &str); 7] = [
    (QUEUED, "to be sent"),
    ("pending", "waiting"),
    ("retrying", "retrying"),
    ("delivered", "delivered"),
    ("parked", "parked"),
    ("withdrawn", "withdrawn"),
    ("discarded", "discarded"),
];

/// As the person entered it, with what is wrong beside it.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub status: String,
    pub kind: String,
    pub site: String,
    pub list: String,
    pub from: String,
    pub to: String,
    pub q: String,
    pub stuck: bool,
    pub from_fault: bool,
    pub to_fault: bool,
    pub place: Option<Place>,
    created_from: Option<Timestamp>,
    created_to: Option<Timestamp>,
}

impl Filter {
    pub fn read(fields: &Fields, zone: &Zone) -> Self {
        let text = |name: &str| fields.text(name).chars().take(LONGEST).collect::<String>();
        let status = STATES.iter().find(|(status, _)| *status == fields.text("status"));
        let (from, to) = (text("from"), text("to"));
        let (created_from, created_to) = (zone.read(&from), zone.read(&to));
        Self {
            status: status.map_or(String::new(), |(status, _)| (*status).to_owned()),
            kind: text("type"),
            site: text("site"),
            list: text("list"),
            q: text("q"),
            stuck: !fields.text("stuck").is_empty(),
            from_fault: !from.is_empty() && created_from.is_none(),
            to_fault: !to.is_empty() && created_to.is_none(),
            place: read_place(fields.text("cursor")),
            from,
            to,
            created_from,
            created_to,
        }
    }

    /// Whether anything is limited at all.
    pub fn is_any(&self) -> bool {
        self.stuck
            || [&self.status, &self.kind, &self.site, &self.list, &self.from, &self.to, &self.q]
                .iter()
                .any(|text| !text.is_empty())
    }

    /// Whether anything beside the state and the keyword is limited: then the rest of the form is open.
    pub fn is_detailed(&self) -> bool {
        [&self.kind, &self.site, &self.list, &self.from, &self.to].iter().any(|text| !text.is_empty())
    }

    /// Whether this state is the chosen one.
    pub fn has_status(&self, status: &str) -> bool {
        self.status == status
    }

    pub fn browse(&self, stuck: Stuck, limit: usize) -> Browse {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Browse {
            status: NotificationStatus::parse(&self.status),
            live: self.status == QUEUED,
            kind: given(&self.kind),
            site: given(&self.site),
            list: given(&self.list),
            created_from: self.created_from.map(Timestamp::as_microsecond),
            created_to: self.created_to.map(Timestamp::as_microsecond),
            stuck: self.stuck.then_some(stuck),
            q: given(&self.q),
            before: self.place,
            limit,
            window: WINDOW,
        }
    }

    /// The address of the same list from this place on.
    pub fn at(&self, place: Place) -> String {
        self.address(&format!("{}.{}", place.at, place.seq))
    }

    /// The address of the first page.
    pub fn link(&self) -> String {
        self.address("")
    }

    /// The address of this page, place and all, behind the `?`.
    pub fn here(&self) -> String {
        self.place.map_or_else(|| self.link(), |place| self.at(place))
    }

    fn address(&self, cursor: &str) -> String {
        let pairs = [
            ("status", self.status.as_str()),
            ("type", &self.kind),
            ("site", &self.site),
            ("list", &self.list),
            ("from", &self.from),
            ("to", &self.to),
            ("q", &self.q),
            ("stuck", if self.stuck { "1" } else { "" }),
            ("cursor", cursor),
        ];
        format!("/outbox{}", links::query(pairs))
    }
}

fn read_place(text: &str) -> Option<Place> {
    let (at, seq) = text.split_once('.')?;
    Some(Place { at: at.parse().ok()?, seq: seq.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_read_from_its_own_address() {
        let zone = Zone::named(None);
        let read = |query: &str| Filter::read(&Fields::read(query.as_bytes()), &zone);
        let filter =
            read("status=parked&q=100%25&from=2026-05-14T05:00&to=soon&cursor=7.-3&site=plant+7&status=lost");
        assert_eq!(
            (filter.status.as_str(), filter.q.as_str(), filter.site.as_str()),
            ("parked", "100%", "plant 7")
        );
        assert!(filter.to_fault && !filter.from_fault && filter.is_detailed());
        assert_eq!(filter.place, Some(Place { at: 7, seq: -3 }));
        let here = filter.here();
        assert_eq!(read(here.split_once('?').unwrap().1).here(), here);
        assert!(!read("status=lost&cursor=x").is_any());
    }
}
