//! A thread that owns one connection. Callers send a job and wait for its result, so a set of rows costs one hop there and
//! one back, however many rows it has.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
};

use tokio::sync::oneshot;

use super::Session;
use crate::error::DriverError;

type Job = Box<dyn FnOnce(&mut Session) + Send>;

enum Command {
    Run(Job),
    Close(oneshot::Sender<()>),
}

/// The way to a connection. Jobs run one after the other, in the order in which they were sent.
#[derive(Clone)]
pub struct SqliteThread(mpsc::Sender<Command>);

impl SqliteThread {
    /// Opens a connection on a thread of its own; the thread ends when it is asked to or nobody can reach it any more.
    pub(super) async fn start(
        name: &str,
        open: impl FnOnce() -> Result<Session, DriverError> + Send + 'static,
    ) -> Result<Self, DriverError> {
        let (commands, inbox) = mpsc::channel();
        let (opened, answer) = oneshot::channel();
        let body = move || {
            let session = match open() {
                Ok(session) => session,
                Err(error) => return drop(opened.send(Err(error))),
            };
            if opened.send(Ok(())).is_ok() {
                serve(session, &inbox);
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(body).map_err(DriverError::Thread)?;
        answer.await.unwrap_or(Err(DriverError::Closed))?;
        Ok(Self(commands))
    }

    /// Runs a job and waits for its answer. It runs to its end also where nobody waits for it any more.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Session) -> R + Send + 'static,
    ) -> Result<R, DriverError> {
        let (answer, answered) = oneshot::channel();
        self.send(move |session| drop(answer.send(job(session))));
        answered.await.map_err(|_| DriverError::Closed)
    }

    /// Queues a job that nobody waits for: before everything that is sent later.
    pub(super) fn send(&self, job: impl FnOnce(&mut Session) + Send + 'static) {
        // A closed connection has nothing left to do; whoever waits sees the closed channel.
        drop(self.0.send(Command::Run(Box::new(job))));
    }

    /// Closes the connection; jobs that come later are answered with `Closed`.
    pub(super) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.0.send(Command::Close(done)).is_ok() {
            drop(closed.await);
        }
    }
}

fn serve(mut session: Session, inbox: &mpsc::Receiver<Command>) {
    while let Ok(command) = inbox.recv() {
        match command {
            // A job that panics fails alone: its caller gets the error, and the next transaction finds the connection.
            Command::Run(job) => {
                if catch_unwind(AssertUnwindSafe(|| job(&mut session))).is_err() {
                    session.tear();
                }
            }
            Command::Close(done) => {
                drop(session);
                let _ = done.send(());
                return;
            }
        }
    }
}
