//! Pages of the outbox for people: every page costs the same, whatever is filtered and however much there is.
//!
//! A page walks backwards from a place along the index that fits its filter best, over a bounded number of rows. What
//! lies beyond is not read; the answer says where to go on.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::{ChannelKey, NotificationId, NotificationStatus, Reach};

use super::{Stuck, query::contains_pattern};
use crate::{
    attention::causes::ABOUT,
    db::{Arg, Conn, Result, Sql, args, sql},
};

/// A row of a list: what is shown there, and no content.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct ListedNotification {
    pub seq: i64,
    pub id: NotificationId,
    pub kind: String,
    pub channel: ChannelKey,
    pub list_name: Option<String>,
    pub subject: String,
    /// The template that makes the subject, where the message has none of its own.
    pub template: Option<String>,
    pub status: NotificationStatus,
    pub priority: i64,
    pub ready_at: Timestamp,
    pub lease_expires_at: Option<Timestamp>,
    pub retry_count: i64,
    pub last_error: Option<String>,
    pub reason_code: Option<String>,
    pub business_unit: Option<String>,
    pub source_site: Option<String>,
    pub uncertain: i64,
    pub created_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub version: i64,
}

/// A place in a list: an instant and a sequence number. Lists in order of arrival go by the number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct Place {
    pub at: i64,
    pub seq: i64,
}

impl Place {
    const NEWEST: Self = Self { at: i64::MAX, seq: i64::MAX };
    const OLDEST: Self = Self { at: i64::MIN, seq: i64::MIN };

    /// The place just newer than this one, so that a page which starts there has this row first.
    #[must_use]
    pub fn inclusive(self) -> Self {
        Self { seq: self.seq.saturating_add(1), ..self }
    }
}

/// What a page is limited to; every field left out does not limit. Deliveries to subscribers are never part of it.
#[derive(Clone, Debug, Default)]
pub struct Browse {
    pub status: Option<NotificationStatus>,
    pub kind: Option<String>,
    pub site: Option<String>,
    pub list: Option<String>,
    pub created_from: Option<i64>,
    pub created_to: Option<i64>,
    /// When it ended: delivered, parked, or set aside.
    pub ended_from: Option<i64>,
    pub ended_to: Option<i64>,
    pub channel: Option<String>,
    /// Its reason code, or [`NO_REASON`].
    pub cause: Option<String>,
    /// The list, template or channel that its cause is about, as Attention groups by it.
    pub about: Option<String>,
    /// Only what was withdrawn or discarded, in place of a status.
    pub set_aside: bool,
    /// Only what is still to be sent, in whichever state.
    pub live: bool,
    /// Only what is stuck.
    pub stuck: Option<Stuck>,
    /// A keyword in the subject, the error or the recipients; or a whole id or address.
    pub q: Option<String>,
    pub before: Option<Place>,
    pub limit: usize,
    /// Rows read, at most.
    pub window: i64,
}

/// What stands for the cause of rows that have no reason code.
pub const NO_REASON: &str = "-";
/// What stands for both states of rows that were set aside.
const SET_ASIDE_STATES: &str = "set-aside";

/// One page, and how it goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Browsed {
    pub rows: Vec<ListedNotification>,
    /// The place of the first row, so that the same page can be had again when newer rows have come.
    pub top: Option<Place>,
    pub next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// There is nothing older.
    End,
    /// There are older ones that match.
    Page(Place),
    /// So many rows were read; whether older ones match is not known.
    Further(Place),
}

// What every page is limited to, after the walk; what its cause is about and a bracket follow.
const FILTER: &str = concat!(
    " AND kind <> 'event'
      AND ($5 IS NULL OR status = $5 OR ($5 = 'set-aside' AND status IN ('withdrawn', 'discarded')))
      AND ($17 IS NULL OR channel = $17)
      AND ($18 IS NULL OR COALESCE(reason_code, '-') = $18)
      AND ($6 IS NULL OR kind = $6)
      AND ($7 IS NULL OR source_site = $7)
      AND ($8 IS NULL OR list_name = $8)
      AND ($9 IS NULL OR created_at >= $9)
      AND ($10 IS NULL OR created_at < $10)
      AND ($11 IS NULL OR (status IN ('pending', 'retrying') AND ",
    stuck!("$11", "$15"),
    "))
      AND ($12 IS NULL
          OR {contains $12 subject}
          OR {contains $12 last_error}
          OR {contains $12 SUBSTR(targets, 1, 1000)}
          OR id = {folded $16}
          OR EXISTS (SELECT 1 FROM attempts AS a
                     WHERE a.notification_seq = notifications.seq AND a.target IN ($16, {folded $16})))
      AND {reach $13 business_unit}
      AND ($19 IS NULL OR $19 = "
);
// Lists in order of arrival have no use for the instants of their bounds; PostgreSQL wants to know their type all the
// same.
const BY_SEQ: &str =
    " AND seq < $2 AND seq > $4 AND CAST($1 AS BIGINT) IS NOT NULL AND CAST($3 AS BIGINT) IS NOT NULL";

const BY_ARRIVAL: Sql = sql!(
    "notifications.browse", as ListedNotification,
    "SELECT {columns} FROM notifications {sqlite NOT INDEXED} WHERE TRUE", BY_SEQ, FILTER, ABOUT,
    ") ORDER BY seq DESC LIMIT $14",
);
// Pairs and not `=` on PostgreSQL: where it believes that a site has many rows it takes the order of arrival for as good as the
// index by site, and would walk the table for one that has few or none. The limit ends the walk, as in the pages of the API.
const BY_SITE: Sql = sql!(
    "notifications.browse_site", as ListedNotification,
    "SELECT {columns} FROM {sqlite notifications INDEXED BY notifications_by_site}
     {postgres (SELECT * FROM notifications WHERE source_site IS NOT NULL AND (source_site, seq) < ($7, $2) AND source_site >= $7
                ORDER BY source_site DESC, seq DESC LIMIT 10000) AS notifications}
     WHERE {sqlite source_site = $7}{postgres TRUE}",
    BY_SEQ, FILTER, ABOUT, ") ORDER BY {postgres source_site DESC, }seq DESC LIMIT $14",
);
const PARKED: Sql = sql!(
    "notifications.browse_parked", as ListedNotification,
    "SELECT {columns} FROM notifications {sqlite INDEXED BY notifications_parked} WHERE status = 'parked'",
    BY_SEQ, FILTER, ABOUT, ") ORDER BY seq DESC LIMIT $14",
);
// The condition of the index notifications_set_aside.
const IS_SET_ASIDE: &str = "(status = 'retrying' OR status = 'withdrawn' OR status = 'discarded')";
const SET_ASIDE: Sql = sql!(
    "notifications.browse_set_aside", as ListedNotification,
    "SELECT {columns} FROM notifications {sqlite INDEXED BY notifications_set_aside} WHERE ", IS_SET_ASIDE,
    " AND status = $5", BY_SEQ, FILTER, ABOUT, ") ORDER BY seq DESC LIMIT $14",
);
const LIVE: Sql = sql!(
    "notifications.browse_live", as ListedNotification,
    "SELECT {columns} FROM notifications {sqlite INDEXED BY notifications_live}
     WHERE status IN ('pending', 'retrying') AND (created_at, seq) < ($1, $2) AND (created_at, seq) > ($3, $4)",
    FILTER, ABOUT, ") ORDER BY created_at DESC, seq DESC LIMIT $14",
);
const ENDED: Sql = sql!(
    "notifications.browse_ended", as ListedNotification,
    "SELECT {columns} FROM notifications {sqlite INDEXED BY notifications_finished}
     WHERE finished_at IS NOT NULL AND (finished_at, seq) < ($1, $2) AND (finished_at, seq) > ($3, $4)",
    FILTER, ABOUT, ") ORDER BY finished_at DESC, seq DESC LIMIT $14",
);

// The row that lies just beyond what one page may look at, along each index.
const SITE_HORIZON: Sql = sql!(
    "notifications.site_horizon",
    "SELECT seq AS at, seq FROM notifications {sqlite INDEXED BY notifications_by_site}
     WHERE source_site = $3 AND seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET $2",
);
const PARKED_HORIZON: Sql = sql!(
    "notifications.parked_horizon",
    "SELECT seq AS at, seq FROM notifications {sqlite INDEXED BY notifications_parked}
     WHERE status = 'parked' AND seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET $2",
);
const SET_ASIDE_HORIZON: Sql = sql!(
    "notifications.set_aside_horizon",
    "SELECT seq AS at, seq FROM notifications {sqlite INDEXED BY notifications_set_aside}
     WHERE ",
    IS_SET_ASIDE,
    " AND status = $3 AND seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET $2",
);
const LIVE_HORIZON: Sql = sql!(
    "notifications.live_horizon",
    "SELECT created_at AS at, seq FROM notifications {sqlite INDEXED BY notifications_live}
     WHERE status IN ('pending', 'retrying') AND kind <> 'event' AND (created_at, seq) < ($1, $3)
     ORDER BY created_at DESC, seq DESC LIMIT 1 OFFSET $2",
);
const ENDED_HORIZON: Sql = sql!(
    "notifications.ended_horizon",
    "SELECT finished_at AS at, seq FROM notifications {sqlite INDEXED BY notifications_finished}
     WHERE finished_at IS NOT NULL AND (finished_at, seq) < ($1, $3)
     ORDER BY finished_at DESC, seq DESC LIMIT 1 OFFSET $2",
);

/// Which way a page is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    Arrival,
    Site,
    Parked,
    SetAside,
    Live,
    Ended,
}

impl Walk {
    /// The index that leaves out most of what the filter does not want.
    fn of(browse: &Browse) -> Self {
        use NotificationStatus::{Delivered, Discarded, Parked, Pending, Retrying, Withdrawn};
        match browse.status {
            _ if browse.stuck.is_some() || browse.live => Self::Live,
            _ if browse.ended_from.is_some() || browse.ended_to.is_some() || browse.set_aside => Self::Ended,
            Some(Parked) => Self::Parked,
            Some(Retrying | Withdrawn | Discarded) => Self::SetAside,
            Some(Pending) => Self::Live,
            Some(Delivered) | None if browse.site.is_some() => Self::Site,
            Some(Delivered) => Self::Ended,
            None => Self::Arrival,
        }
    }

    fn page(self) -> &'static Sql {
        match self {
            Self::Arrival => &BY_ARRIVAL,
            Self::Site => &BY_SITE,
            Self::Parked => &PARKED,
            Self::SetAside => &SET_ASIDE,
            Self::Live => &LIVE,
            Self::Ended => &ENDED,
        }
    }

    /// Whether the list goes by the order of arrival, so that sequence numbers alone bound it.
    fn by_arrival(self) -> bool {
        !matches!(self, Self::Live | Self::Ended)
    }

    fn place(self, row: &ListedNotification) -> Place {
        let at = match self {
            Self::Live => row.created_at.as_microsecond(),
            Self::Ended => row.finished_at.unwrap_or(row.created_at).as_microsecond(),
            Self::Arrival | Self::Site | Self::Parked | Self::SetAside => row.seq,
        };
        Place { at, seq: row.seq }
    }
}

/// One page, newest first.
#[boxed]
pub async fn browse(conn: &mut Conn<'_>, reach: &Reach, browse: &Browse) -> Result<Browsed> {
    let walk = Walk::of(browse);
    let before = upper_bound(conn, walk, browse).await?;
    let horizon = horizon_of(conn, walk, browse, before).await?;
    let mut after = horizon.unwrap_or(Place::OLDEST);
    if walk.by_arrival()
        && let Some(from) = browse.created_from
    {
        after.seq = after.seq.max(super::bisect::last_before(conn, from).await?.unwrap_or(i64::MIN));
    }
    if walk == Walk::Ended
        && let Some(from) = browse.ended_from.filter(|from| *from > after.at)
    {
        after = Place { at: from - 1, seq: i64::MAX };
    }
    let b = browse.clone();
    let (stuck_before, held_back) =
        b.stuck.map_or((None, None), |stuck| (Some(stuck.before), stuck.held_back));
    let limit = i64::try_from(b.limit).unwrap_or(i64::MAX - 1) + 1;
    let bound = args![
        before.at,
        before.seq,
        after.at,
        after.seq,
        b.status.map(NotificationStatus::as_str).or(b.set_aside.then_some(SET_ASIDE_STATES)),
        b.kind,
        b.site,
        b.list,
        b.created_from,
        b.created_to,
        stuck_before,
        b.q.as_deref().map(contains_pattern),
        reach,
        limit,
        held_back,
        b.q.map(|word| word.trim().to_owned()),
        b.channel,
        b.cause,
        b.about,
    ];
    let mut rows: Vec<ListedNotification> = conn.fetch_all(walk.page(), bound).await?;
    let more = rows.len() > browse.limit;
    rows.truncate(browse.limit);
    let next = match (rows.last().filter(|_| more), horizon) {
        (Some(last), _) => Next::Page(walk.place(last)),
        // Where the time range ends before the horizon does, there is nothing to go on to.
        (None, Some(horizon)) if after == horizon => Next::Further(horizon.inclusive()),
        (None, _) => Next::End,
    };
    Ok(Browsed { top: rows.first().map(|row| walk.place(row).inclusive()), rows, next })
}

/// Where the page starts: its place, or the end of its time range where that is older.
async fn upper_bound(conn: &mut Conn<'_>, walk: Walk, browse: &Browse) -> Result<Place> {
    let mut before = browse.before.unwrap_or(Place::NEWEST);
    if walk == Walk::Ended
        && let Some(to) = browse.ended_to.filter(|to| before.at > *to)
    {
        before = Place { at: to, seq: i64::MIN };
    }
    let Some(to) = browse.created_to else { return Ok(before) };
    if walk == Walk::Live && before.at > to {
        before = Place { at: to, seq: i64::MIN };
    } else if walk.by_arrival()
        && let Some(first) = super::bisect::first_after(conn, to).await?
    {
        before.seq = before.seq.min(first);
    }
    Ok(before)
}

async fn horizon_of(
    conn: &mut Conn<'_>,
    walk: Walk,
    browse: &Browse,
    before: Place,
) -> Result<Option<Place>> {
    let (sql, bound): (&Sql, Vec<Arg>) = match walk {
        Walk::Arrival => {
            // Numbers have few gaps, so that counting back on them is as good as counting rows.
            let Some(ends) = super::bisect::ends(conn).await? else { return Ok(None) };
            let seq = before.seq.min(ends.newest.saturating_add(1)).saturating_sub(browse.window + 1);
            return Ok((seq >= ends.oldest).then_some(Place { at: seq, seq }));
        }
        Walk::Site => (&SITE_HORIZON, args![before.seq, browse.window, browse.site.clone()]),
        Walk::Parked => (&PARKED_HORIZON, args![before.seq, browse.window]),
        Walk::SetAside => (&SET_ASIDE_HORIZON, args![before.seq, browse.window, browse.status]),
        Walk::Live => (&LIVE_HORIZON, args![before.at, browse.window, before.seq]),
        Walk::Ended => (&ENDED_HORIZON, args![before.at, browse.window, before.seq]),
    };
    conn.fetch_optional(sql, bound).await
}

/// The first of those whom a notification is for, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct Recipients {
    pub seq: i64,
    pub first: Option<String>,
    pub count: i64,
}

const RECIPIENTS: Sql = sql!(
    "notifications.recipients", as Recipients,
    "SELECT seq, {sqlite targets ->> 0}{postgres targets::json ->> 0} AS first,
         {sqlite json_array_length(targets)}{postgres CAST(json_array_length(targets::json) AS BIGINT)} AS count
     FROM notifications WHERE seq IN ({ints $1}) AND targets IS NOT NULL",
);

/// Whom these notifications are for, where they name addresses and no list.
#[boxed]
pub async fn recipients(conn: &mut Conn<'_>, seqs: Vec<i64>) -> Result<Vec<Recipients>> {
    conn.fetch_all(&RECIPIENTS, args![seqs]).await
}

crate::db::statements![
    BY_ARRIVAL,
    BY_SITE,
    PARKED,
    SET_ASIDE,
    LIVE,
    ENDED,
    SITE_HORIZON,
    PARKED_HORIZON,
    SET_ASIDE_HORIZON,
    LIVE_HORIZON,
    ENDED_HORIZON,
    RECIPIENTS
];
