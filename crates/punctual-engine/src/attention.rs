//! What needs attention, over all workflows, read from stored rows.
//!
//! A workflow whose rows can need an operator adds a variant to [`Kind`] and the query that finds them. The API, the console
//! and the badge then include it.

mod chores;

use jiff::{Timestamp, Unit};
use punctual_boxed::boxed;
use punctual_model::{Reach, reason::sentence_of};
use punctual_store::{
    Conn, StoreError,
    attention::{
        self, WaitingRow,
        causes::{self, Cause, CauseCount},
    },
    delivery_policy::{
        StandingRow,
        circuits::{self, CircuitKey},
        standing,
    },
    nodes, owed, receipts, report_troubles,
};

use crate::{
    Engine, EngineError, config::earlier, delivery::KEEPS_FAILING, delivery_policy::Circuit, titles::Titled,
};

/// The kind of the work rows of reports, which have pages of their own.
const RUN: &str = "report-subscription";

/// What kind of thing waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Work on hold.
    Hold,
    /// A notification that will not be retried by itself.
    Parked,
    /// A delivery to a subscriber that will not be retried by itself.
    Subscriber,
    /// A rule that is out of step with its schedule.
    Sync,
    /// A site that is silent.
    Site,
    /// A message that its provider took and that did not arrive.
    Receipt,
    /// A run of a report that is held, because somebody else owns it or because a person held it.
    RunHeld,
    /// A run of a report that failed, and after which none was delivered.
    RunFailed,
    /// A report subscription without an owner or without recipients.
    Orphan,
    /// A channel, or a host of one, to which nothing is sent because calls fail.
    Circuit,
    /// A node that is cut off or too old.
    Node,
    /// A node whose machine's clock is wrong.
    Clock,
    /// A row whose claim ran out and that nobody took over.
    Locked,
    /// Work that failed permanently.
    Failed,
    /// Work whose messages have settled, and what should follow keeps failing.
    Owed,
    /// A reconciliation that fails or is overdue.
    Reconcile,
    /// A purge that is held back or fails.
    Purge,
    /// An audit that cannot be sealed, or that is not as it was written.
    Audit,
    /// A consumer that has been disconnected for long.
    Consumer,
    /// What was due when the database was restored.
    Restore,
    /// A business unit that has been given all rows of its day.
    Quota,
}

impl Kind {
    pub const ALL: [Self; 21] = [
        Self::Hold,
        Self::Parked,
        Self::Subscriber,
        Self::Sync,
        Self::Site,
        Self::Receipt,
        Self::RunHeld,
        Self::RunFailed,
        Self::Orphan,
        Self::Circuit,
        Self::Node,
        Self::Clock,
        Self::Locked,
        Self::Failed,
        Self::Owed,
        Self::Reconcile,
        Self::Purge,
        Self::Audit,
        Self::Consumer,
        Self::Restore,
        Self::Quota,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Parked => "parked",
            Self::Subscriber => "subscriber",
            Self::Sync => "sync",
            Self::Site => "site",
            Self::Receipt => "receipt",
            Self::RunHeld => "runHeld",
            Self::RunFailed => "runFailed",
            Self::Orphan => "orphan",
            Self::Circuit => "circuit",
            Self::Node => "node",
            Self::Clock => "clock",
            Self::Locked => "locked",
            Self::Failed => "failed",
            Self::Owed => "owed",
            Self::Reconcile => "reconcile",
            Self::Purge => "purge",
            Self::Audit => "audit",
            Self::Consumer => "consumer",
            Self::Restore => "restore",
            Self::Quota => "quota",
        }
    }

    /// The word that lists show for its state.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hold | Self::RunHeld => "held",
            Self::Parked | Self::Subscriber => "parked",
            Self::Sync => "out of step",
            Self::Site => "silent",
            Self::Receipt => "not delivered",
            Self::RunFailed | Self::Failed => "failed",
            Self::Owed => "not followed up",
            Self::Reconcile => "not reconciled",
            Self::Purge => "not purged",
            Self::Audit => "broken",
            Self::Consumer => "disconnected",
            Self::Restore => "in doubt",
            Self::Quota => "used up",
            Self::Orphan => "orphaned",
            Self::Circuit => "circuit open",
            Self::Node => "not well",
            Self::Clock => "wrong clock",
            Self::Locked => "locked",
        }
    }
}

/// One thing that needs attention.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub kind: Kind,
    pub id: String,
    pub title: String,
    /// Why, in plain words.
    pub reason: String,
    pub since: Timestamp,
    /// Its page in the console.
    pub link: String,
    /// Why a message is parked, where others are parked for the same.
    pub cause: Option<Cause>,
}

/// Everything that needs attention: the latest of each kind, and how many there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attention {
    pub items: Vec<Waiting>,
    pub counts: Vec<(Kind, i64)>,
    /// How many messages are parked for each cause, the most frequent first.
    pub causes: Vec<CauseCount>,
}

/// Counting stops here; nobody reads more digits than this.
pub const COUNTED: i64 = 10_000;

impl Attention {
    pub fn total(&self) -> i64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }
}

impl Engine {
    /// What needs attention, of what is within reach, the latest of each kind first.
    #[boxed]
    pub async fn attention(&self, reach: &Reach, limit: i64) -> Result<Attention, EngineError> {
        let mut reader = self.store.read().await?;
        let mut held = attention::held(&mut reader.conn(), reach, limit).await?;
        let parked = causes::parked(&mut reader.conn(), reach, limit).await?;
        let out_of_step = attention::out_of_step(&mut reader.conn(), reach, limit).await?;
        let mut failed = attention::failed(&mut reader.conn(), reach, limit).await?;
        let mut owed = owed::waiting(&mut reader.conn(), reach, KEEPS_FAILING, limit).await?;
        let not_arrived = receipts::failed(&mut reader.conn(), reach, limit).await?;
        let mut runs_held = report_troubles::held(&mut reader.conn(), reach, limit).await?;
        let mut runs_failed = report_troubles::failed(&mut reader.conn(), reach, limit).await?;
        let orphaned = report_troubles::orphaned(&mut reader.conn(), reach, limit).await?;
        let quotas = self.quotas_waiting(&mut reader.conn(), reach).await?;
        let locked_since = self.locked_since();
        let mut locked_work = nodes::locked_work(&mut reader.conn(), reach, locked_since, limit).await?;
        let locked = nodes::locked_notifications(&mut reader.conn(), reach, locked_since, limit).await?;
        let work = [&mut held, &mut failed, &mut owed, &mut locked_work];
        self.give_titles(&mut reader.conn(), reach, work.into_iter().flatten(), None).await?;
        let runs = [&mut runs_held, &mut runs_failed];
        self.give_titles(&mut reader.conn(), reach, runs.into_iter().flatten(), Some(RUN)).await?;
        // Sites, channels and nodes belong to no business unit: callers that are limited to units are not shown them.
        let (silent, circuits, nodes, chores) = match reach {
            Reach::Units(_) => Default::default(),
            Reach::Everything => (
                attention::silent_sites(&mut reader.conn(), self.silent_since(), limit).await?,
                standing(&mut reader.conn()).await?,
                self.nodes_waiting(&nodes::all(&mut reader.conn()).await?),
                self.chores_waiting(&mut reader.conn()).await?,
            ),
        };
        let circuits = circuits.into_iter().filter(|row| row.what == "circuit");
        let circuits = circuits.take(usize::try_from(limit).unwrap_or(usize::MAX)).map(open_circuit);
        drop(reader);
        let parked = parked.into_iter().map(|row| {
            let kind = if row.kind == "event" { Kind::Subscriber } else { Kind::Parked };
            let cause = (kind == Kind::Parked)
                .then(|| Cause { reason: row.reason.clone(), about: row.about.clone() });
            let (link, reason) = (format!("/notifications/{}", row.id), Some(row.reason));
            let (id, kind_of, title, answer) = (row.id, row.kind, row.title, row.answer);
            let row = WaitingRow { id, kind: kind_of, title, reason, answer, since: row.since };
            Waiting { cause, ..waiting(kind, link, row) }
        });
        let silent = silent.into_iter().map(|row| waiting(Kind::Site, format!("/sites/{}", row.id), row));
        let out_of_step =
            out_of_step.into_iter().map(|row| waiting(Kind::Sync, format!("/operations/{}", row.kind), row));
        let not_arrived = not_arrived
            .into_iter()
            .map(|row| waiting(Kind::Receipt, format!("/notifications/{}", row.id), row));
        let work = |kind, row: WaitingRow| waiting(kind, format!("/work/{}", row.id), row);
        let run =
            |kind, row: WaitingRow| waiting(kind, format!("/reports/{}/runs/{}", row.kind, row.id), row);
        let runs = runs_held.into_iter().map(|row| run(Kind::RunHeld, row));
        let runs = runs.chain(runs_failed.into_iter().map(|row| run(Kind::RunFailed, row)));
        let orphaned =
            orphaned.into_iter().map(|row| waiting(Kind::Orphan, format!("/reports/{}", row.id), row));
        let mut items: Vec<Waiting> = held
            .into_iter()
            .map(|row| work(Kind::Hold, row))
            .chain(failed.into_iter().map(|row| work(Kind::Failed, row)))
            .chain(owed.into_iter().map(|row| work(Kind::Owed, row)))
            .chain(locked_work.into_iter().map(|row| work(Kind::Locked, row)))
            .chain(parked)
            .chain(out_of_step)
            .chain(silent)
            .chain(not_arrived)
            .chain(runs)
            .chain(orphaned)
            .chain(circuits)
            .chain(nodes)
            .chain(chores)
            .chain(quotas)
            .chain(
                locked
                    .into_iter()
                    .map(|row| waiting(Kind::Locked, format!("/notifications/{}", row.id), row)),
            )
            .collect();
        items.sort_by_key(|item| std::cmp::Reverse(item.since));
        let causes = self.parked_causes(reach).await?;
        Ok(Attention { items, counts: self.attention_counts(reach).await?, causes })
    }

    /// Puts titles in place of the keys of work; runs of reports have one kind.
    async fn give_titles<'r>(
        &self,
        conn: &mut Conn<'_>,
        reach: &Reach,
        rows: impl Iterator<Item = &'r mut WaitingRow>,
        kind: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut rows: Vec<&mut WaitingRow> = rows.collect();
        let keys = rows.iter().map(|row| Titled { kind: kind.unwrap_or(&row.kind), key: &row.title });
        let titles = self.titles(conn, reach, &keys.collect::<Vec<_>>()).await?;
        for (row, title) in rows.iter_mut().zip(titles) {
            row.title = title;
        }
        Ok(())
    }

    /// A site that last called before this is silent: agents report far more often.
    pub fn silent_since(&self) -> Timestamp {
        earlier(self.clock.now(), self.config.stuck_after)
    }

    /// How much needs attention, of each kind that there is any of, counted up to [`COUNTED`].
    #[boxed]
    pub async fn attention_counts(&self, reach: &Reach) -> Result<Vec<(Kind, i64)>, EngineError> {
        let mut reader = self.store.read().await?;
        let found = attention::counts(&mut reader.conn(), reach, COUNTED).await?;
        let out_of_step = attention::count_out_of_step(&mut reader.conn(), reach, COUNTED).await?;
        let failed = attention::count_failed(&mut reader.conn(), reach, COUNTED).await?;
        let owed = owed::count_waiting(&mut reader.conn(), reach, KEEPS_FAILING, COUNTED).await?;
        let not_arrived = receipts::count_failed(&mut reader.conn(), reach, COUNTED).await?;
        let reports = report_troubles::counts(&mut reader.conn(), reach, COUNTED).await?;
        let locked = nodes::count_locked(&mut reader.conn(), reach, self.locked_since(), COUNTED).await?;
        let (silent, circuits, mut listed) = match reach {
            Reach::Units(_) => Default::default(),
            Reach::Everything => (
                attention::count_silent_sites(&mut reader.conn(), self.silent_since()).await?,
                circuits::count(&mut reader.conn()).await?,
                self.nodes_waiting(&nodes::all(&mut reader.conn()).await?),
            ),
        };
        if *reach == Reach::Everything {
            listed.extend(self.chores_waiting(&mut reader.conn()).await?);
        }
        listed.extend(self.quotas_waiting(&mut reader.conn(), reach).await?);
        let listed = |kind| i64::try_from(listed.iter().filter(|one| one.kind == kind).count()).unwrap_or(0);
        let counts = [
            (Kind::Hold, found.held),
            (Kind::Parked, found.parked),
            (Kind::Subscriber, found.events),
            (Kind::Sync, out_of_step),
            (Kind::Site, silent),
            (Kind::Receipt, not_arrived),
            (Kind::RunHeld, reports.held),
            (Kind::RunFailed, reports.failed),
            (Kind::Orphan, reports.orphaned),
            (Kind::Circuit, circuits),
            (Kind::Node, listed(Kind::Node)),
            (Kind::Clock, listed(Kind::Clock)),
            (Kind::Locked, locked),
            (Kind::Failed, failed),
            (Kind::Owed, owed),
            (Kind::Reconcile, listed(Kind::Reconcile)),
            (Kind::Purge, listed(Kind::Purge)),
            (Kind::Audit, listed(Kind::Audit)),
            (Kind::Consumer, listed(Kind::Consumer)),
            (Kind::Restore, listed(Kind::Restore)),
            (Kind::Quota, listed(Kind::Quota)),
        ];
        Ok(counts.into_iter().filter(|(_, count)| *count > 0).collect())
    }
}

fn open_circuit(row: StandingRow) -> Waiting {
    let CircuitKey { channel, host } = row.circuit_key();
    let circuit = Circuit::of(row);
    let times = if circuit.open_count == 1 {
        String::new()
    } else {
        format!(" {} times in a row", circuit.open_count)
    };
    let reason = format!(
        "Calls fail; the circuit has opened{times}, and the next probe is at {}: {}",
        circuit.open_until.round(Unit::Second).unwrap_or(circuit.open_until),
        circuit.last_error
    );
    Waiting {
        kind: Kind::Circuit,
        id: host.as_ref().map_or_else(|| channel.clone(), |host| format!("{channel}/{host}")),
        title: host.map_or_else(|| channel.clone(), |host| format!("{host} over {channel}")),
        reason,
        since: circuit.opened_at,
        link: "/channels".to_owned(),
        cause: None,
    }
}

fn waiting(kind: Kind, link: String, row: WaitingRow) -> Waiting {
    let code = row.reason.unwrap_or_default();
    let words = sentence_of(&code).to_owned();
    let reason = match row.answer.filter(|answer| !answer.is_empty()) {
        Some(answer) if words.is_empty() => answer,
        Some(answer) => format!("{words}: {answer}"),
        None if words.is_empty() => "no reason was given".to_owned(),
        None => words,
    };
    let since = row.since;
    Waiting { kind, id: row.id, title: row.title, reason, since, link, cause: None }
}
