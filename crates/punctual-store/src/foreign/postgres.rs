//! A query on PostgreSQL: the text of a cursor in a read-only transaction.
//!
//! `DECLARE … CURSOR FOR` takes exactly one SELECT, through the extended protocol, with bound values; a statement that
//! writes is a syntax error there, and one hidden in a WITH or a function fails against the transaction. Rows are
//! then fetched as text, so that every type arrives readable and none has to be known here.

use futures_util::TryStreamExt;
use punctual_model::{
    Decimal,
    table::{Cell, Column, Kind},
};
use sqlx::{
    Arguments, AssertSqlSafe, Column as _, ConnectOptions, Connection, Executor, PgConnection, Row,
    SqlSafeStr, Statement, TypeInfo, ValueRef,
    postgres::{PgArguments, PgColumn, PgConnectOptions, PgRow},
};

use super::{Filling, ForeignFault, ForeignQuery, GRACE, Table, parameters};

/// A plan for all the rows, not for the first tenth of them.
const BEGIN: &str = "BEGIN READ ONLY; SET LOCAL cursor_tuple_fraction = 1; SET LOCAL idle_in_transaction_session_timeout = '60s'";
const TIMEOUT: &str =
    "SELECT set_config('statement_timeout', $1, TRUE), set_config('lock_timeout', $1, TRUE)";
const DECLARE: &str = "DECLARE punctual_rows NO SCROLL CURSOR FOR ";
const COLUMNS: &str = "FETCH FORWARD 0 FROM punctual_rows";

pub(super) async fn run(options: &PgConnectOptions, query: &ForeignQuery<'_>) -> Result<Table, ForeignFault> {
    let attempt = async {
        let options = options.clone().application_name("punctual report").disable_statement_logging();
        let mut conn = PgConnection::connect_with(&options).await.map_err(|error| unreachable(&error))?;
        let table = read(&mut conn, query).await;
        // It read and nothing else, so there is nothing to end in order.
        drop(conn.close().await);
        table
    };
    match tokio::time::timeout(query.timeout + GRACE, attempt).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ForeignFault::timeout(query.timeout)),
    }
}

async fn read(conn: &mut PgConnection, query: &ForeignQuery<'_>) -> Result<Table, ForeignFault> {
    let failed = |error: sqlx::Error| failed(&error, query);
    let names: Vec<&str> = query.params.iter().map(|(name, _)| *name).collect();
    let spell = |number: usize, name: &str| {
        let value = query.params.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        format!("CAST(${number} AS {})", value.map_or("text", sql_type))
    };
    let (text, used) = parameters::numbered(query.sql, &names, spell)?;
    let mut args = PgArguments::default();
    for place in used {
        args.add(bound(&query.params[place].1))
            .map_err(|_| ForeignFault::refused("a value cannot be bound"))?;
    }
    sqlx::raw_sql(BEGIN).execute(&mut *conn).await.map_err(failed)?;
    let millis = query.timeout.as_millis().max(1).to_string();
    sqlx::query(TIMEOUT).bind(millis).execute(&mut *conn).await.map_err(failed)?;
    let declare = AssertSqlSafe(DECLARE.to_owned() + &text);
    sqlx::query_with(declare, args).persistent(false).execute(&mut *conn).await.map_err(failed)?;

    let mut filling = Filling::new(query.max_rows);
    let fetch =
        "FETCH FORWARD ".to_owned() + &query.max_rows.saturating_add(1).to_string() + " FROM punctual_rows";
    let mut rows = sqlx::raw_sql(AssertSqlSafe(fetch)).fetch(&mut *conn);
    while let Some(row) = rows.try_next().await.map_err(failed)? {
        if filling.table.columns.is_empty() {
            filling.table.columns = row.columns().iter().map(column).collect();
        }
        if !filling.has_room() {
            // The rest is never asked for: the connection is closed instead.
            return Ok(filling.table);
        }
        filling.add(cells(&row));
    }
    drop(rows);
    if filling.table.columns.is_empty() {
        // Without a row nobody has said what the columns are.
        let described = conn.prepare(COLUMNS.into_sql_str()).await.map_err(failed)?;
        filling.table.columns = described.columns().iter().map(column).collect();
    }
    Ok(filling.table)
}

fn column(column: &PgColumn) -> Column {
    let kind = match column.type_info().name() {
        "BOOL" => Kind::Boolean,
        "INT2" | "INT4" | "INT8" | "OID" => Kind::Integer,
        "FLOAT4" | "FLOAT8" | "NUMERIC" => Kind::Decimal,
        "DATE" => Kind::Date,
        "TIMESTAMPTZ" => Kind::Instant,
        _ => Kind::Text,
    };
    Column::new(column.name(), kind)
}

fn cells(row: &PgRow) -> Vec<Cell> {
    (0..row.columns().len())
        .map(|place| {
            let Ok(value) = row.try_get_raw(place) else { return Cell::Null };
            if value.is_null() {
                return Cell::Null;
            }
            let Ok(text) = value.as_str() else { return Cell::text("not UTF-8") };
            cell(text, column(row.column(place)).kind)
        })
        .collect()
}

/// What does not fit its type, such as `NaN` or `infinity`, stays the text that it is.
fn cell(text: &str, kind: Kind) -> Cell {
    let read = match kind {
        Kind::Boolean => Some(Cell::Bool(text == "t")),
        Kind::Integer => text.parse().ok().map(Cell::Integer),
        Kind::Decimal | Kind::Percent => Decimal::of_cell(text).map(Cell::Decimal),
        Kind::Date => text.parse().ok().map(Cell::Date),
        Kind::Instant => text.parse().ok().map(Cell::Instant),
        Kind::Text => None,
    };
    read.unwrap_or_else(|| Cell::text(text))
}

/// Values travel as text and are cast where they stand, so that none of their types has to be known to the driver.
fn sql_type(value: &Cell) -> &'static str {
    match value {
        Cell::Null | Cell::Text(_) => "text",
        Cell::Bool(_) => "boolean",
        Cell::Integer(_) => "bigint",
        Cell::Decimal(_) => "numeric",
        Cell::Date(_) => "date",
        Cell::Instant(_) => "timestamptz",
    }
}

fn bound(value: &Cell) -> Option<String> {
    match value {
        Cell::Null => None,
        Cell::Bool(value) => Some(value.to_string()),
        Cell::Integer(value) => Some(value.to_string()),
        Cell::Decimal(value) => Some(value.to_string()),
        Cell::Date(value) => Some(value.to_string()),
        Cell::Instant(value) => Some(value.to_string()),
        Cell::Text(value) => Some(value.clone()),
    }
}

/// The driver's text may have the host and the user in it, so only the kind of error is returned.
fn unreachable(error: &sqlx::Error) -> ForeignFault {
    let code = error.as_database_error().and_then(|refusal| refusal.code()).unwrap_or_default();
    match &*code {
        "28000" | "28P01" | "3D000" => ForeignFault::passing(
            "database_unreachable",
            "the database refused the sign-in of this connection",
        ),
        _ => {
            ForeignFault::passing("database_unreachable", "the database of this connection cannot be reached")
        }
    }
}

fn failed(error: &sqlx::Error, query: &ForeignQuery<'_>) -> ForeignFault {
    let Some(refusal) = error.as_database_error() else {
        return ForeignFault::passing("database_unreachable", "the connection to the database broke");
    };
    let code = refusal.code().unwrap_or_default();
    match &*code {
        "57014" => ForeignFault::timeout(query.timeout),
        "25006" => ForeignFault::not_read_only(),
        code if ["08", "40", "53", "55", "57", "58"].iter().any(|class| code.starts_with(class)) => {
            ForeignFault { may_pass: true, ..ForeignFault::refused(refusal.message()) }
        }
        _ => ForeignFault::refused(refusal.message()),
    }
}
