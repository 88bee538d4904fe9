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
pub const STATES: [(&str, &str); 8] = [
    (QUEUED, "to be sent"),
    (NotificationStatus::Pending.as_str(), "waiting"),
    (NotificationStatus::Retrying.as_str(), "retrying"),
    (NotificationStatus::Delivered.as_str(), "delivered"),
    (NotificationStatus::Parked.as_str(), "parked"),
    (NotificationStatus::Withdrawn.as_str(), "withdrawn"),
    (NotificationStatus::Discarded.as_str(), "discarded"),
    (SET_ASIDE, "withdrawn or discarded"),
];
/// Both states in which something will never be sent.
const SET_ASIDE: &str = "set-aside";

/// As the person entered it, with what is wrong beside it.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub status: String,
    pub kind: String,
    pub site: String,
    pub list: String,
    pub channel: String,
    /// A reason code.
    pub cause: String,
    /// The list, template or channel that the cause is about.
    pub about: String,
    pub from: String,
    pub to: String,
    /// Exact instants, as the bars of charts have them.
    pub created: Span,
    pub ended: Span,
    pub q: String,
    pub stuck: bool,
    pub from_fault: bool,
    pub to_fault: bool,
    pub place: Option<Place>,
    created_from: Option<Timestamp>,
    created_to: Option<Timestamp>,
}

/// From an instant to another, either of which may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Span {
    fn read(fields: &Fields, from: &str, to: &str) -> Self {
        Self { from: fields.text(from).parse().ok(), to: fields.text(to).parse().ok() }
    }

    pub fn is_any(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// As people read it.
    pub fn shown(&self, zone: &Zone) -> String {
        let at = |at: Option<Timestamp>| at.map_or("…".to_owned(), |at| zone.exact(at).text);
        format!("{} – {}, {}", at(self.from), at(self.to), zone.name)
    }

    /// As an address or a form carries it.
    fn pair(&self) -> [String; 2] {
        [self.from, self.to].map(|at| at.map(|at| at.to_string()).unwrap_or_default())
    }
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
            channel: text("channel"),
            cause: text("cause"),
            about: text("about"),
            created: Span::read(fields, "createdFrom", "createdTo"),
            ended: Span::read(fields, "endedFrom", "endedTo"),
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
        self.stuck || self.is_detailed() || !self.status.is_empty() || !self.q.is_empty()
    }

    /// Whether anything beside the state and the keyword is limited: then the rest of the form is open.
    pub fn is_detailed(&self) -> bool {
        let texts = [&self.kind, &self.site, &self.list, &self.channel, &self.cause, &self.about];
        let mut texts = texts.into_iter().chain([&self.from, &self.to]);
        self.created.is_any() || self.ended.is_any() || texts.any(|text| !text.is_empty())
    }

    /// What the form carries along beside its fields.
    pub fn hidden(&self) -> Vec<(&'static str, String)> {
        let ([created_from, created_to], [ended_from, ended_to]) = (self.created.pair(), self.ended.pair());
        let all = [
            ("createdFrom", created_from),
            ("createdTo", created_to),
            ("endedFrom", ended_from),
            ("endedTo", ended_to),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The address without the span that a chart gave.
    pub fn without_spans(&self) -> String {
        Self { created: Span::default(), ended: Span::default(), ..self.clone() }.link()
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
            set_aside: self.status == SET_ASIDE,
            channel: given(&self.channel),
            cause: given(&self.cause),
            about: given(&self.about),
            ended_from: self.ended.from.map(Timestamp::as_microsecond),
            ended_to: self.ended.to.map(Timestamp::as_microsecond),
            kind: given(&self.kind),
            site: given(&self.site),
            list: given(&self.list),
            created_from: self.created_from.max(self.created.from).map(Timestamp::as_microsecond),
            created_to: earlier(self.created_to, self.created.to).map(Timestamp::as_microsecond),
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
        format!("/outbox{}", self.query(cursor))
    }

    /// The address of the same rows as a file.
    pub fn file(&self) -> String {
        format!("/outbox.csv{}", self.query(""))
    }

    fn query(&self, cursor: &str) -> String {
        let hidden = self.hidden();
        let hidden = hidden.iter().map(|(name, value)| (*name, value.as_str()));
        let pairs = [
            ("status", self.status.as_str()),
            ("type", &self.kind),
            ("site", &self.site),
            ("list", &self.list),
            ("channel", &self.channel),
            ("cause", &self.cause),
            ("about", &self.about),
            ("from", &self.from),
            ("to", &self.to),
            ("q", &self.q),
            ("stuck", if self.stuck { "1" } else { "" }),
            ("cursor", cursor),
        ];
        links::query(pairs.into_iter().chain(hidden))
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
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
        let bar =
            read("channel=sms:a&cause=no-credit&endedFrom=2026-05-14T05:00:00Z&endedTo=2026-05-14T05:30:00Z");
        let browse = bar.browse(Stuck { before: 0, held_back: None }, 1);
        assert_eq!(browse.ended_to.unwrap() - browse.ended_from.unwrap(), 1_800_000_000);
        assert_eq!((browse.channel.as_deref(), browse.cause.as_deref()), (Some("sms:a"), Some("no-credit")));
        assert_eq!(read(bar.link().split_once('?').unwrap().1).link(), bar.link());
        assert_eq!(bar.without_spans(), "/outbox?channel=sms:a&cause=no-credit");
    }
}
