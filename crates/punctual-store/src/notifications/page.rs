//! Pages of notifications in order of arrival, newest first: each walks the index that leaves out most of what its filter does
//! not want, over a bounded number of rows, and says where the next one goes on.

use punctual_boxed::{Record, boxed};
use punctual_model::{NotificationStatus, Reach};

use super::{NotificationRow, Stuck, bisect, query::contains_pattern};
use crate::{
    db::{Arg, Conn, Result, Sql, args, sql},
    walk::{BY_INDEX, IN_ORDER, Stretch, with_surplus},
};

/// What a page of notifications is limited to; every field left out does not limit.
#[derive(Clone, Debug, Default)]
pub struct NotificationFilter {
    pub status: Option<NotificationStatus>,
    pub kind: Option<String>,
    pub site: Option<String>,
    pub list: Option<String>,
    pub created_from: Option<i64>,
    pub created_to: Option<i64>,
    /// Only what is stuck.
    pub stuck: Option<Stuck>,
    /// A keyword in the subject.
    pub q: Option<String>,
    /// Only these, by id: what a work row queued.
    pub ids: Option<Vec<String>>,
    /// Only what keys of this client sent.
    pub client: Option<String>,
    /// Rows older than this sequence number.
    pub before: Option<i64>,
    pub limit: i64,
}

// What every page is limited to, after the walk.
const FILTER: &str = concat!(
    " AND seq < $1 AND seq > $2
      AND ($5 IS NULL OR status = $5)
      AND ($6 IS NULL OR kind = $6)
      AND ($7 IS NULL OR source_site = $7)
      AND ($8 IS NULL OR list_name = $8)
      AND ($9 IS NULL OR created_at >= $9)
      AND ($10 IS NULL OR created_at < $10)
      AND ($11 IS NULL OR (status IN ('pending', 'retrying') AND ",
    stuck!("$11", "$12"),
    "))
      AND ($13 IS NULL OR {contains $13 subject})
      AND ($14 IS NULL OR client = $14)
      AND {reach $4 business_unit}"
);
const NEWEST: &str = " ORDER BY seq DESC LIMIT $3";

const BY_ARRIVAL: Sql = sql!(
    "notifications.page", as NotificationRow,
    "SELECT {columns} FROM notifications {sqlite NOT INDEXED} WHERE TRUE", FILTER, NEWEST,
);
// Pairs and not `=` on PostgreSQL: where it believes that a site or client has many rows it takes the order of arrival for as good
// as their index, and would walk the table for one that has few or none. A walk does not end where the second part of a pair does,
// but where the first does, behind all rows of the site; so a limit ends it, which is that of [`IN_ORDER`].
const OF_SITE: Sql = sql!(
    "notifications.page_of_site", as NotificationRow,
    "SELECT {columns} FROM {sqlite notifications INDEXED BY notifications_by_site}
     {postgres (SELECT * FROM notifications WHERE source_site IS NOT NULL AND (source_site, seq) < ($7, $1) AND source_site >= $7
                ORDER BY source_site DESC, seq DESC LIMIT 10000) AS notifications}
     WHERE {sqlite source_site = $7}{postgres TRUE}", FILTER,
    " ORDER BY {postgres source_site DESC, }seq DESC LIMIT $3",
);
const OF_CLIENT: Sql = sql!(
    "notifications.page_of_client", as NotificationRow,
    "SELECT {columns} FROM {sqlite notifications INDEXED BY notifications_by_client}
     {postgres (SELECT * FROM notifications WHERE client IS NOT NULL AND (client, seq) < ($14, $1) AND client >= $14
                ORDER BY client DESC, seq DESC LIMIT 10000) AS notifications}
     WHERE {sqlite client = $14}{postgres TRUE}", FILTER,
    " ORDER BY {postgres client DESC, }seq DESC LIMIT $3",
);
const PARKED: Sql = sql!(
    "notifications.page_parked", as NotificationRow,
    "SELECT {columns} FROM notifications {sqlite INDEXED BY notifications_parked} WHERE status = 'parked'", FILTER, NEWEST,
);
// The condition of the index notifications_set_aside.
const IS_SET_ASIDE: &str = "(status = 'retrying' OR status = 'withdrawn' OR status = 'discarded')";
const SET_ASIDE: Sql = sql!(
    "notifications.page_set_aside", as NotificationRow,
    "SELECT {columns} FROM notifications {sqlite INDEXED BY notifications_set_aside} WHERE ", IS_SET_ASIDE,
    " AND status = $5", FILTER, NEWEST,
);
const THESE: Sql = sql!(
    "notifications.page_these", as NotificationRow,
    "SELECT {columns} FROM notifications WHERE id IN ({texts $15})", FILTER, NEWEST,
);

// What is live is either ready or claimed. In the order of their indexes, so that PostgreSQL, which may believe that much of the
// table is live, never looks for it in the table itself.
const READY: &str = "FROM notifications {sqlite INDEXED BY notifications_ready}
     WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL
     ORDER BY channel, priority, ready_at, seq LIMIT ";
const CLAIMED: &str = "FROM notifications {sqlite INDEXED BY notifications_leased}
     WHERE lease_expires_at IS NOT NULL ORDER BY lease_expires_at LIMIT ";
const LIVE: Sql = sql!(
    "notifications.page_live", as NotificationRow,
    "SELECT {columns} FROM notifications
     WHERE seq {sqlite IN (}{postgres = ANY (ARRAY(}
         SELECT seq FROM (SELECT seq ", READY, "$15) AS ready
         UNION ALL SELECT seq FROM (SELECT seq ", CLAIMED, "$15) AS claimed){postgres )}",
    FILTER, NEWEST,
);
const COUNT_LIVE: Sql = sql!(
    "notifications.count_live",
    "SELECT (SELECT COUNT(*) FROM (SELECT seq ",
    READY,
    "$1) AS ready) + (SELECT COUNT(*) FROM (SELECT seq ",
    CLAIMED,
    "$1) AS claimed) AS count",
);

// The row that lies just beyond what one page may look at, along each index.
const SITE_HORIZON: Sql = sql!(
    "notifications.page_of_site_horizon",
    "SELECT seq FROM notifications {sqlite INDEXED BY notifications_by_site}
     WHERE {sqlite source_site = $3 AND seq < $1 AND seq > $4}
           {postgres source_site IS NOT NULL AND (source_site, seq) < ($3, $1) AND (source_site, seq) > ($3, $4)}
     ORDER BY {postgres source_site DESC, }seq DESC LIMIT 1 OFFSET $2",
);
const CLIENT_HORIZON: Sql = sql!(
    "notifications.page_of_client_horizon",
    "SELECT seq FROM notifications {sqlite INDEXED BY notifications_by_client}
     WHERE {sqlite client = $3 AND seq < $1 AND seq > $4}
           {postgres client IS NOT NULL AND (client, seq) < ($3, $1) AND (client, seq) > ($3, $4)}
     ORDER BY {postgres client DESC, }seq DESC LIMIT 1 OFFSET $2",
);
const PARKED_HORIZON: Sql = sql!(
    "notifications.page_parked_horizon",
    "SELECT seq FROM notifications {sqlite INDEXED BY notifications_parked}
     WHERE status = 'parked' AND seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET $2",
);
const SET_ASIDE_HORIZON: Sql = sql!(
    "notifications.page_set_aside_horizon",
    "SELECT seq FROM notifications {sqlite INDEXED BY notifications_set_aside}
     WHERE ",
    IS_SET_ASIDE,
    " AND status = $3 AND seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET $2",
);

#[derive(Record)]
struct Count {
    count: i64,
}

#[derive(Record)]
struct Seq {
    seq: i64,
}

/// Which way a page is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    These,
    /// All that is live at once: it is little.
    Live,
    Parked,
    SetAside,
    Client,
    Site,
    Arrival,
}

impl Walk {
    async fn of(conn: &mut Conn<'_>, filter: &NotificationFilter) -> Result<Self> {
        use NotificationStatus::{Discarded, Parked, Pending, Retrying, Withdrawn};
        if filter.ids.is_some() {
            return Ok(Self::These);
        }
        match filter.status {
            Some(Parked) => return Ok(Self::Parked),
            Some(Retrying | Withdrawn | Discarded) => return Ok(Self::SetAside),
            _ => {}
        }
        if filter.status == Some(Pending) || filter.stuck.is_some() {
            let live: Count = conn.fetch_one(&COUNT_LIVE, args![with_surplus(BY_INDEX)]).await?;
            // Where more is live it is most of what came last, and the order of arrival finds it.
            if live.count <= BY_INDEX {
                return Ok(Self::Live);
            }
        }
        Ok(match filter {
            NotificationFilter { client: Some(_), .. } => Self::Client,
            NotificationFilter { site: Some(_), .. } => Self::Site,
            _ => Self::Arrival,
        })
    }

    fn page(self) -> &'static Sql {
        match self {
            Self::These => &THESE,
            Self::Live => &LIVE,
            Self::Parked => &PARKED,
            Self::SetAside => &SET_ASIDE,
            Self::Client => &OF_CLIENT,
            Self::Site => &OF_SITE,
            Self::Arrival => &BY_ARRIVAL,
        }
    }

    /// The newest row that this page does not look at, if there is one.
    async fn horizon(
        self,
        conn: &mut Conn<'_>,
        filter: &NotificationFilter,
        before: i64,
    ) -> Result<Option<i64>> {
        let (sql, bound): (&Sql, Vec<Arg>) = match self {
            Self::These | Self::Live => return Ok(None),
            Self::Arrival => {
                // Numbers have few gaps, so that counting back on them is as good as counting rows.
                let Some(ends) = bisect::ends(conn).await? else { return Ok(None) };
                let seq = before.min(ends.newest.saturating_add(1)).saturating_sub(IN_ORDER + 1);
                return Ok((seq >= ends.oldest).then_some(seq));
            }
            Self::Parked => (&PARKED_HORIZON, args![before, BY_INDEX]),
            Self::SetAside => (&SET_ASIDE_HORIZON, args![before, BY_INDEX, filter.status]),
            Self::Client => (&CLIENT_HORIZON, args![before, BY_INDEX, filter.client.clone(), i64::MIN]),
            Self::Site => (&SITE_HORIZON, args![before, BY_INDEX, filter.site.clone(), i64::MIN]),
        };
        let row: Option<Seq> = conn.fetch_optional(sql, bound).await?;
        Ok(row.map(|row| row.seq))
    }
}

/// One page, newest first. It may be short, or empty, and still go on.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    filter: &NotificationFilter,
) -> Result<Stretch<NotificationRow>> {
    let walk = Walk::of(conn, filter).await?;
    let mut before = filter.before.unwrap_or(i64::MAX);
    if let Some(to) = filter.created_to
        && let Some(first) = bisect::first_after(conn, to).await?
    {
        before = before.min(first);
    }
    let horizon = walk.horizon(conn, filter, before).await?;
    let mut after = horizon.unwrap_or(i64::MIN);
    if let Some(from) = filter.created_from
        && let Some(last) = bisect::last_before(conn, from).await?
    {
        after = after.max(last);
    }
    if after >= before {
        return Ok(Stretch::empty());
    }
    let f = filter.clone();
    let (stuck_before, held_back) =
        f.stuck.map_or((None, None), |stuck| (Some(stuck.before), stuck.held_back));
    let mut bound = args![
        before,
        after,
        with_surplus(f.limit),
        reach,
        f.status,
        f.kind,
        f.site,
        f.list,
        f.created_from,
        f.created_to,
        stuck_before,
        held_back,
        f.q.map(|word| contains_pattern(&word)),
        f.client,
    ];
    match walk {
        Walk::These => bound.extend(args![f.ids.unwrap_or_default()]),
        Walk::Live => bound.extend(args![BY_INDEX]),
        _ => {}
    }
    let rows: Vec<NotificationRow> = conn.fetch_all(walk.page(), bound).await?;
    // Where the time range ends before the look does, there is nothing to go on to.
    let looked_to = horizon.filter(|horizon| *horizon == after).map(|seq| seq.saturating_add(1));
    Ok(Stretch::cut(rows, filter.limit, |row| row.seq, looked_to))
}

/// As many rows as the limit says, newest first, over as many pages as that takes: for tests and tools.
#[boxed]
pub async fn list(
    conn: &mut Conn<'_>,
    reach: &Reach,
    filter: &NotificationFilter,
) -> Result<Vec<NotificationRow>> {
    let mut filter = filter.clone();
    let mut rows = Vec::new();
    loop {
        let found = page(conn, reach, &filter).await?;
        filter.limit -= i64::try_from(found.rows.len()).unwrap_or(i64::MAX);
        rows.extend(found.rows);
        filter.before = found.next;
        if filter.before.is_none() || filter.limit <= 0 {
            return Ok(rows);
        }
    }
}

crate::db::statements![
    BY_ARRIVAL,
    OF_SITE,
    OF_CLIENT,
    PARKED,
    SET_ASIDE,
    THESE,
    LIVE,
    COUNT_LIVE,
    SITE_HORIZON,
    CLIENT_HORIZON,
    PARKED_HORIZON,
    SET_ASIDE_HORIZON
];
