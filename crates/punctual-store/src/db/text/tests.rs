//! What the markers become.

use punctual_boxed::{Record, SetRow};

use super::{Dialect, Sets, Shape, measure, write};
use crate::db::{SetRow as _, Sql};

#[derive(Record)]
struct Thing {
    id: i64,
    name: String,
}

#[derive(SetRow)]
struct NewThing<'a> {
    #[column(skip)]
    id: i64,
    name: &'a str,
    on_hold: bool,
    due_at: Option<i64>,
}

fn check(sql: &Sql, sqlite: &str, postgres: &str) {
    assert_eq!((sql.sqlite, sql.postgres), (sqlite, postgres));
}

#[test]
fn each_database_gets_its_own_words() {
    const LIKE: &str = "{sqlite LIKE}{postgres ILIKE}";
    check(
        &sql!("things.get", as Thing, "SELECT {columns t} FROM things AS t {sqlite INDEXED BY x }WHERE a ", LIKE, " '{}'"),
        "SELECT t.id, t.name FROM things AS t INDEXED BY x WHERE a LIKE '{}'",
        "SELECT t.id, t.name FROM things AS t WHERE a ILIKE '{}'",
    );
    let thing = Thing { id: 1, name: String::new() };
    assert_eq!((thing.id, thing.name.as_str()), (1, ""));
}

#[test]
fn a_set_is_unfolded_or_bound_row_by_row() {
    check(
        &sql!("things.insert", each NewThing<'_>, after 1,
            "INSERT INTO things ({names}, created_at) {values {*}, $1} ON CONFLICT DO NOTHING{postgres  RETURNING id}"),
        "INSERT INTO things (name, on_hold, due_at, created_at) VALUES ($2, $3, $4, $1) ON CONFLICT DO NOTHING",
        "INSERT INTO things (name, on_hold, due_at, created_at) SELECT r.name, r.on_hold, r.due_at, $1 \
         FROM UNNEST($2::text[], $3::boolean[], $4::bigint[]) AS r(name, on_hold, due_at) ON CONFLICT DO NOTHING RETURNING id",
    );
    check(
        &sql!("things.change", each NewThing<'_>, after 9,
            "UPDATE things SET due_at = {.due_at} {from rows} WHERE things.name = {.name}"),
        "UPDATE things SET due_at = $12  WHERE things.name = $10",
        "UPDATE things SET due_at = r.due_at FROM UNNEST($10::text[], $11::boolean[], $12::bigint[]) \
         AS r(name, on_hold, due_at) WHERE things.name = r.name",
    );
    check(
        &sql!("things.put", each NewThing<'_>, after 0, "ON CONFLICT (name) DO UPDATE SET {replaced}"),
        "ON CONFLICT (name) DO UPDATE SET on_hold = EXCLUDED.on_hold, due_at = EXCLUDED.due_at",
        "ON CONFLICT (name) DO UPDATE SET on_hold = EXCLUDED.on_hold, due_at = EXCLUDED.due_at",
    );
    check(
        &sql!("things.put", each NewThing<'_>, after 0, "ON CONFLICT (name, on_hold) DO UPDATE SET {replaced 2}"),
        "ON CONFLICT (name, on_hold) DO UPDATE SET due_at = EXCLUDED.due_at",
        "ON CONFLICT (name, on_hold) DO UPDATE SET due_at = EXCLUDED.due_at",
    );
    let new = NewThing { id: 1, name: "a", on_hold: false, due_at: None };
    assert_eq!((new.id, crate::db::columns_of(&[new]).len()), (1, 3));
}

#[test]
fn a_reach_is_one_parameter() {
    check(
        &sql!(
            "things.page",
            "SELECT 1 FROM t WHERE {reach $2 t.unit} AND {shared $2 unit} AND id IN ({ints $1})"
        ),
        "SELECT 1 FROM t WHERE ($2 IS NULL OR t.unit IN (SELECT value FROM json_each($2))) \
         AND ($2 IS NULL OR unit IS NULL OR unit IN (SELECT value FROM json_each($2))) \
         AND id IN (SELECT value FROM json_each($1))",
        "SELECT 1 FROM t WHERE ($2::text[] IS NULL OR t.unit IN (SELECT UNNEST($2::text[]))) \
         AND ($2::text[] IS NULL OR unit IS NULL OR unit IN (SELECT UNNEST($2::text[]))) \
         AND id IN (SELECT UNNEST($1::bigint[]))",
    );
}

#[test]
fn case_is_of_no_account_whatever_the_locale_of_the_database() {
    check(
        &sql!("things.find", "SELECT 1 FROM t WHERE {contains $1 SUBSTR(name, 1, 9)} OR mail = {folded $2}"),
        "SELECT 1 FROM t WHERE ilike($1, SUBSTR(name, 1, 9)) OR mail = folded($2)",
        "SELECT 1 FROM t WHERE (SUBSTR(name, 1, 9)) COLLATE folds_case ILIKE $1 ESCAPE '\\' \
         OR mail = LOWER($2 COLLATE folds_case)",
    );
}

#[test]
fn the_members_of_an_array_are_found_one_by_one_or_at_once() {
    let sql = sql!("things.by_ids", as Thing, "SELECT {columns} FROM things WHERE id = {any $1}");
    check(
        &sql,
        "SELECT id, name FROM things WHERE id = $1",
        "SELECT id, name FROM things WHERE id = ANY($1)",
    );
    assert!(sql.sets.per_row);
    assert!(!sql!("things.get", "SELECT 1 FROM things WHERE id = $1").sets.per_row);
}

#[test]
fn a_text_says_which_of_its_sets_are_taken_whole() {
    let sql =
        sql!("things.of", "SELECT 1 FROM t WHERE id = {any $1} AND a IN ({ints $3}) AND b IN ({texts $12})");
    let whole: Vec<usize> = (1..14).filter(|number| sql.sets.is_whole(*number)).collect();
    assert_eq!((sql.sets.per_row, whole), (true, vec![3, 12]));
}

/// What `sql!` does for the compiler, for a text that must not compile.
fn compiled(text: &str, fields: &'static [crate::db::Field]) -> Sets {
    let shape = Shape { fields, ..Shape::PLAIN };
    let measured = measure(&[text], Dialect::Sqlite, shape);
    let mut sqlite = vec![0; measured.length];
    write(&[text], Dialect::Sqlite, shape, Some(&mut sqlite));
    Sets::measured(measured, shape, &sqlite)
}

#[test]
#[should_panic(expected = "one set, not for two")]
fn a_statement_for_the_members_of_two_sets_does_not_compile() {
    compiled("SELECT 1 FROM t WHERE a = {any $1} AND b = {any $2}", &[]);
}

#[test]
#[should_panic(expected = "`each` or")]
fn a_statement_for_rows_and_for_the_members_of_a_set_does_not_compile() {
    compiled("UPDATE t SET a = {.name} {from rows} WHERE id = {any $9}", NewThing::FIELDS);
}

#[test]
#[should_panic(expected = "whole or by its members")]
fn a_set_is_not_taken_whole_and_by_its_members() {
    compiled("SELECT 1 FROM t WHERE a = {any $1} AND b IN ({ints $1})", &[]);
}

#[test]
#[should_panic(expected = "a column of a set is not taken whole")]
fn a_column_of_rows_is_not_taken_whole() {
    compiled("UPDATE t SET a = {.name} {from rows} WHERE id IN ({ints $2})", NewThing::FIELDS);
}

#[derive(Record, SetRow)]
struct Renamed {
    id: i64,
    #[column("rests")]
    open_count: i64,
}

#[test]
fn a_field_may_name_its_column() {
    check(
        &sql!("things.copy", as Renamed, each Renamed, after 0, "INSERT INTO t ({names}) {values {*}} RETURNING {columns}"),
        "INSERT INTO t (id, rests) VALUES ($1, $2) RETURNING id, rests",
        "INSERT INTO t (id, rests) SELECT r.id, r.rests FROM UNNEST($1::bigint[], $2::bigint[]) AS r(id, rests) \
         RETURNING id, rests",
    );
    let row = Renamed { id: 1, open_count: 2 };
    assert_eq!((row.id, row.open_count), (1, 2));
}
