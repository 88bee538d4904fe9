//! Accepts notifications of scripts: concurrent calls share a commit, and each gets its response after it.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use punctual_store::{
    Lane, Store, StoreError,
    site_buffer::outgoing::{self, NewOutgoing},
};
use punctual_wire::{site_agent::NotifyRequest, sites::SiteItem};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::{Agent, level::Level};

/// Calls that share a commit at most: some milliseconds of SQLite's writer.
const GROUP: usize = 1_000;
/// Calls that wait for a commit; more wait at the door.
const WAITING: usize = 4_096;

/// Why a notification was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    #[error("{0}")]
    Full(String),
    #[error("the id is known with other content")]
    IdReused(String),
    #[error("the buffer failed")]
    Store(#[from] Arc<StoreError>),
    #[error("the agent is stopping")]
    Stopping,
}

struct Job {
    row: NewOutgoing,
    reply: oneshot::Sender<Result<(), NotifyError>>,
}

/// The way to the committer, which ends when the last agent is gone.
pub(crate) struct Intake(mpsc::Sender<Job>);

impl Intake {
    pub(crate) fn start(store: Store, level: Arc<Level>, arrived: Arc<Notify>) -> Self {
        let (sender, jobs) = mpsc::channel(WAITING);
        tokio::spawn(Committer { store, level, arrived }.run(jobs));
        Self(sender)
    }
}

impl Agent {
    /// Takes a notification in and returns its id; it is on disk by then. The same id with the same content again changes
    /// nothing.
    pub async fn notify(&self, request: NotifyRequest) -> Result<String, NotifyError> {
        if !self.reserve.is_held() {
            return Err(NotifyError::Full("The disk is full".into()));
        }
        let now = self.clock.now();
        let row = self.new_row(request, now);
        let (id, bytes) = (row.id.clone(), row.bytes);
        self.level.take(bytes).map_err(NotifyError::Full)?;
        let (reply, answer) = oneshot::channel();
        if self.intake.0.send(Job { row, reply }).await.is_err() {
            self.level.give_back(1, bytes);
            return Err(NotifyError::Stopping);
        }
        // The committing task returns unused space, even if this call is cancelled meanwhile.
        answer.await.unwrap_or(Err(NotifyError::Stopping))?;
        self.metrics.taken_in();
        Ok(id)
    }

    fn new_row(&self, request: NotifyRequest, now: Timestamp) -> NewOutgoing {
        let id = request.id.unwrap_or_else(|| self.random.ordered_uuid(now).hyphenated().to_string());
        let item = SiteItem {
            id,
            list: request.list,
            subject: request.subject,
            body: request.body,
            instance: request.instance,
            script: request.script,
            enqueued_at: Some(now),
        };
        let bytes = serde_json::to_vec(&item).map_or(0, |json| json.len());
        NewOutgoing {
            digest: item.digest(),
            id: item.id,
            list: item.list,
            instance: item.instance,
            script: item.script,
            subject: item.subject,
            body: item.body,
            enqueued_at: now,
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        }
    }
}

struct Committer {
    store: Store,
    level: Arc<Level>,
    arrived: Arc<Notify>,
}

impl Committer {
    async fn run(self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(first) = jobs.recv().await {
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = jobs.try_recv()
            {
                group.push(next);
            }
            self.commit(group).await;
        }
    }

    async fn commit(&self, group: Vec<Job>) {
        let rows: Vec<NewOutgoing> = group.iter().map(|job| job.row.clone()).collect();
        match self.store_rows(&rows).await {
            Ok(taken) => {
                for (job, taken) in group.into_iter().zip(taken) {
                    self.answer(job, taken);
                }
                self.arrived.notify_one();
            }
            Err(error) if group.len() == 1 => {
                let error = Arc::new(error);
                for job in group {
                    self.level.give_back(1, job.row.bytes);
                    let _ = job.reply.send(Err(error.clone().into()));
                }
            }
            // One bad row must not harm the others: each is retried on its own.
            Err(_) => {
                for job in group {
                    Box::pin(self.commit(vec![job])).await;
                }
            }
        }
    }

    fn answer(&self, job: Job, taken: Taken) {
        if taken != Taken::New {
            self.level.give_back(1, job.row.bytes);
        }
        let answer = match taken {
            Taken::New | Taken::Known => Ok(()),
            Taken::Other => Err(NotifyError::IdReused(job.row.id.clone())),
        };
        // A caller that went away needs no answer.
        let _ = job.reply.send(answer);
    }

    async fn store_rows(&self, rows: &[NewOutgoing]) -> Result<Vec<Taken>, StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let known = {
            let ids = rows.iter().map(|row| row.id.clone()).collect();
            outgoing::digests(&mut tx.conn(), ids).await?
        };
        let mut known: HashMap<String, String> =
            known.into_iter().map(|known| (known.id, known.digest)).collect();
        let (mut new, mut taken) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for row in rows {
            taken.push(match known.get(&row.id) {
                Some(digest) if *digest == row.digest => Taken::Known,
                Some(_) => Taken::Other,
                None => {
                    known.insert(row.id.clone(), row.digest.clone());
                    new.push(row.clone());
                    Taken::New
                }
            });
        }
        if !new.is_empty() {
            outgoing::insert(&mut tx.conn(), &new).await?;
        }
        tx.commit().await?;
        Ok(taken)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    New,
    /// It is there with the same content.
    Known,
    /// It is there with other content.
    Other,
}
