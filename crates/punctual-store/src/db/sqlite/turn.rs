//! A turn at writing: from BEGIN to COMMIT or ROLLBACK, with the permit in hand.

use super::{Session, SqliteThread};
use crate::{db::gate::Permit, error::DriverError};

/// An open transaction of the one writer. Dropped without a commit it is rolled back.
pub(in crate::db) struct Turn {
    writer: SqliteThread,
    committed: bool,
    /// Handed on when the turn is dropped: by then the rollback is queued, ahead of whatever comes next.
    _permit: Permit,
}

impl Turn {
    pub(super) async fn begin(writer: SqliteThread, permit: Permit) -> Result<Self, DriverError> {
        // It exists before BEGIN is sent: a caller that gives up in between leaves no transaction open.
        let turn = Self { writer, committed: false, _permit: permit };
        turn.writer.run(Session::begin).await??;
        Ok(turn)
    }

    pub(in crate::db) fn thread(&self) -> &SqliteThread {
        &self.writer
    }

    pub(in crate::db) async fn commit(mut self) -> Result<(), DriverError> {
        self.writer.run(Session::commit).await??;
        self.committed = true;
        Ok(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.committed {
            self.writer.send(Session::roll_back);
        }
    }
}
