//! What a connection thread does: transactions, and statements looped over the rows of a set.

use std::any::Any;

use rusqlite::{CachedStatement, Connection};

use super::bind::Binding;
use crate::{
    db::{Arg, Record, Sets, record::Decoder},
    error::DriverError,
};

/// One connection and the state of its transaction.
pub struct Session {
    conn: Connection,
    transaction: Transaction,
}

enum Transaction {
    None,
    Open,
    /// A statement failed after some rows of its set were written: all that is left is to roll back, as on PostgreSQL.
    Torn,
}

/// One statement with its values, ready to be sent to a connection.
pub(in crate::db) struct Statement {
    pub text: &'static str,
    /// How the text takes its sets: row by row, or whole as JSON arrays.
    pub sets: Sets,
    pub args: Vec<Arg>,
}

impl Session {
    pub(super) fn new(conn: Connection) -> Self {
        Self { conn, transaction: Transaction::None }
    }

    /// The bare connection, for what is no statement of the store: migrations, settings, checkpoints.
    pub(crate) fn bare(&self) -> &Connection {
        &self.conn
    }

    pub(crate) fn begin(&mut self) -> Result<(), DriverError> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        self.transaction = Transaction::Open;
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> Result<(), DriverError> {
        self.refuse_torn()?;
        self.conn.execute_batch("COMMIT")?;
        self.transaction = Transaction::None;
        Ok(())
    }

    /// Ends the open transaction, where there is one, as if it had never been.
    pub(crate) fn roll_back(&mut self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            // The next BEGIN would fail too, and say so to somebody.
            tracing::error!(%error, "a transaction could not be rolled back");
        }
        self.transaction = Transaction::None;
    }

    /// Returns how many rows were changed.
    pub(in crate::db) fn execute(&mut self, statement: Statement) -> Result<u64, DriverError> {
        let mut changed = 0;
        self.each_row(statement, &mut |prepared, _, _| {
            changed += prepared.raw_execute()? as u64;
            Ok(())
        })?;
        Ok(changed)
    }

    /// Returns which rows of the set changed something, each with the number last given to a new row.
    pub(in crate::db) fn execute_each(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<(usize, i64)>, DriverError> {
        let mut took = Vec::new();
        self.each_row(statement, &mut |prepared, conn, row| {
            if prepared.raw_execute()? > 0 {
                took.push((row, conn.last_insert_rowid()));
            }
            Ok(())
        })?;
        Ok(took)
    }

    /// Returns a `Vec<T>`, in a box: what carries it to the caller is then the same code for all records.
    pub(in crate::db) fn fetch<T: Record>(
        &mut self,
        statement: Statement,
    ) -> Result<Box<dyn Any + Send>, DriverError> {
        let (mut found, mut decoder) = (Vec::<T>::new(), Decoder::default());
        self.each_row(statement, &mut |prepared, _, _| {
            let mut rows = prepared.raw_query();
            while let Some(row) = rows.next()? {
                found.push(decoder.decode(row)?);
            }
            Ok(())
        })?;
        Ok(Box::new(found))
    }

    fn each_row(
        &mut self,
        statement: Statement,
        run: &mut dyn FnMut(&mut CachedStatement<'_>, &Connection, usize) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        self.refuse_torn()?;
        let mut prepared = self.conn.prepare_cached(statement.text)?;
        let binding = Binding::new(&prepared, statement.args, statement.sets)?;
        binding.bind_scalars(&mut prepared)?;
        for row in 0..binding.rows() {
            let done = binding
                .bind_row(&mut prepared, row)
                .map_err(DriverError::from)
                .and_then(|()| run(&mut prepared, &self.conn, row));
            if let Err(error) = done {
                drop(prepared);
                if row > 0 {
                    self.tear();
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whatever the open transaction has written, it must not be committed.
    pub(super) fn tear(&mut self) {
        if matches!(self.transaction, Transaction::Open) {
            self.transaction = Transaction::Torn;
        }
    }

    /// The plan of a statement for the first row of its set. It runs nothing.
    pub(in crate::db) fn explain(&mut self, statement: Statement) -> Result<Vec<String>, DriverError> {
        let text = format!("EXPLAIN QUERY PLAN {}", statement.text);
        let mut prepared = self.conn.prepare(&text)?;
        let binding = Binding::new(&prepared, statement.args, statement.sets)?;
        binding.bind_scalars(&mut prepared)?;
        if binding.rows() > 0 {
            binding.bind_row(&mut prepared, 0)?;
        }
        let lines = prepared.raw_query().mapped(|row| row.get("detail")).collect::<Result<_, _>>()?;
        Ok(lines)
    }

    /// SQLite ends a transaction by itself when the disk fails; what came after would be committed row by row.
    fn refuse_torn(&self) -> Result<(), DriverError> {
        match self.transaction {
            Transaction::Torn => Err(DriverError::Torn),
            Transaction::Open if self.conn.is_autocommit() => Err(DriverError::Torn),
            Transaction::Open | Transaction::None => Ok(()),
        }
    }
}
