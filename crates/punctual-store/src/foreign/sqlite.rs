//! A query on a SQLite file that is opened for reading alone.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use punctual_model::table::{Cell, Column, Kind};
use rusqlite::{Connection, InterruptHandle, OpenFlags, Row, limits::Limit, types::ValueRef};

use super::{Filling, ForeignFault, ForeignQuery, GRACE, Table, parameters};

/// One text or blob has at most this many bytes, also while the query makes it.
const LONGEST_VALUE: i32 = 16 * 1024 * 1024;
/// How often a query is asked to stop: one that is just starting misses the first request.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// The way to stop a query that runs on another thread; dropping it stops it too.
#[derive(Default)]
struct Stop {
    wanted: AtomicBool,
    running: Mutex<Option<InterruptHandle>>,
}

impl Stop {
    fn now(&self) {
        self.wanted.store(true, Ordering::Relaxed);
        if let Some(handle) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            handle.interrupt();
        }
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }
}

struct StopOnDrop(Arc<Stop>);
impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.now();
    }
}

pub(super) async fn run(file: PathBuf, query: ForeignQuery<'_>) -> Result<Table, ForeignFault> {
    let (sql, max_rows, timeout) = (query.sql.to_owned(), query.max_rows, query.timeout);
    let params: Vec<(String, Cell)> =
        query.params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let stop = StopOnDrop(Arc::default());
    let shared = Arc::clone(&stop.0);
    let mut running =
        tokio::task::spawn_blocking(move || read(&file, &sql, &params, max_rows, timeout, &shared));
    let finished = match tokio::time::timeout(timeout, &mut running).await {
        Ok(finished) => finished,
        Err(_) => loop {
            stop.0.now();
            if let Ok(finished) = tokio::time::timeout(ASK_AGAIN, &mut running).await {
                break finished;
            }
        },
    };
    finished.unwrap_or_else(|_| Err(ForeignFault::refused("the query could not be run")))
}

fn read(
    file: &Path,
    sql: &str,
    params: &[(String, Cell)],
    max_rows: usize,
    timeout: Duration,
    stop: &Stop,
) -> Result<Table, ForeignFault> {
    let conn = connect(file, timeout).map_err(|_| {
        ForeignFault::passing("database_unreachable", "the database file of this connection cannot be opened")
    })?;
    *stop.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(conn.get_interrupt_handle());
    let failed = |error: rusqlite::Error| failed(&error, timeout, stop);

    let mut statement = conn.prepare(sql).map_err(failed)?;
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(ForeignFault::not_read_only());
    }
    let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
    for place in 1..=statement.parameter_count() {
        // What nobody binds would be null, and the report empty without a word.
        let written = statement.parameter_name(place).unwrap_or("?").to_owned();
        let name = written.strip_prefix(':').unwrap_or(&written);
        let value = params.iter().find(|(known, _)| known == name);
        let Some((_, value)) = value.filter(|_| written.starts_with(':')) else {
            return Err(parameters::unknown(name, &names));
        };
        bind(&mut statement, place, value).map_err(failed)?;
    }
    let mut filling = Filling::new(max_rows);
    filling.table.columns = statement.column_names().map(|name| Column::new(name, Kind::Text)).collect();
    let columns = filling.table.columns.len();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(failed)? {
        if stop.is_wanted() {
            return Err(ForeignFault::timeout(timeout));
        }
        if !filling.has_room() {
            break;
        }
        filling.add((0..columns).map(|place| cell(row, place)).collect());
    }
    Ok(filling.table)
}

fn connect(file: &Path, timeout: Duration) -> rusqlite::Result<Connection> {
    // A name is a file's name, never a URI: that could say how the file is opened.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags)?;
    conn.busy_timeout(timeout.min(GRACE))?;
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    conn.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF")?;
    Ok(conn)
}

/// Instants are bound as RFC 3339 text, the way most SQLite files keep them.
fn bind(statement: &mut rusqlite::Statement<'_>, place: usize, value: &Cell) -> rusqlite::Result<()> {
    match value {
        Cell::Null => statement.raw_bind_parameter(place, rusqlite::types::Null),
        Cell::Bool(value) => statement.raw_bind_parameter(place, value),
        Cell::Integer(value) => statement.raw_bind_parameter(place, value),
        Cell::Decimal(value) => statement.raw_bind_parameter(place, value.to_f64()),
        Cell::Date(value) => statement.raw_bind_parameter(place, value.to_string()),
        Cell::Instant(value) => statement.raw_bind_parameter(place, value.to_string()),
        Cell::Text(value) => statement.raw_bind_parameter(place, value),
    }
}

fn cell(row: &Row<'_>, place: usize) -> Cell {
    match row.get_ref(place) {
        Ok(ValueRef::Integer(value)) => Cell::Integer(value),
        Ok(ValueRef::Real(value)) => Cell::float(value),
        Ok(ValueRef::Text(bytes)) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
        Ok(ValueRef::Blob(bytes)) => Cell::Text(format!("{} bytes", bytes.len())),
        Ok(ValueRef::Null) | Err(_) => Cell::Null,
    }
}

fn failed(error: &rusqlite::Error, timeout: Duration, stop: &Stop) -> ForeignFault {
    let code = error.sqlite_error().map_or(0, |refusal| refusal.extended_code & 0xff);
    match code {
        _ if stop.is_wanted() => ForeignFault::timeout(timeout),
        // Read-only; not authorised.
        8 | 23 => ForeignFault::not_read_only(),
        // Busy, locked, out of memory, a failing disk.
        5 | 6 | 7 | 10 => ForeignFault { may_pass: true, ..ForeignFault::refused(&error.to_string()) },
        // No database at all.
        14 | 26 => {
            ForeignFault::passing("database_unreachable", "the file of this connection is no database")
        }
        _ if matches!(error, rusqlite::Error::MultipleStatement) => ForeignFault::not_read_only(),
        _ => ForeignFault::refused(&error.to_string()),
    }
}
