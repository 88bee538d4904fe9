//! One text for both databases: what differs is marked in braces, and each database's text is made by the compiler.
//!
//! | marker | SQLite | PostgreSQL |
//! |---|---|---|
//! | `{sqlite …}`, `{postgres …}` | its own | its own |
//! | `{columns}`, `{columns w}` | the columns of the record, `w.` before each | the same |
//! | `{ints $1}`, `{texts $1}` | `SELECT value FROM json_each($1)` | `SELECT UNNEST($1::bigint[])`, `…text[]` |
//! | `{any $1}` | `$1`: the statement runs for each member | `ANY($1)` |
//! | `{names}` | the fields of the set | the same |
//! | `{replaced}`, `{replaced 2}` | `second = EXCLUDED.second, …`: all fields but the key, which is the first, or the first two | the same |
//! | `{.field}` | `$4` | `r.field` |
//! | `{*}` | `$3, $4, …` | `r.first, r.second, …` |
//! | `{values …}` | `VALUES (…)` | `SELECT … FROM UNNEST(…) AS r(…)` |
//! | `{from rows}`, `{using rows}`, `{join rows}` | nothing | `FROM`, `USING`, `CROSS JOIN UNNEST(…) AS r(…)` |
//! | `{ordered rows}` | nothing | `FROM UNNEST(…) WITH ORDINALITY AS r(…, position)` |
//! | `{reach $2 column}` | rows of the units that a caller may see | the same |
//! | `{shared $2 column}` | the same, and rows without a unit | the same |
//! | `{contains $1 text}` | whether the text is as the pattern says, whatever the case of its letters in any language | the same |
//! | `{folded text}` | the text in lower case, in any language | the same |
//!
//! A brace before anything else is an ordinary one. A marker that is not in this table does not compile.
//!
//! SQLite runs a statement for the members of one set at most: with a second `{any …}`, or with one beside `each`, it does not
//! compile either. Sets that are taken whole (`{ints …}`, `{texts …}`) may stand beside it, as many as there are ([`Sets`]).

use super::column::Kind;

/// A column of a set.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
}

/// Which database a text is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// What the markers of a statement stand for.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub columns: &'static [&'static str],
    pub fields: &'static [Field],
    /// How many scalars are bound before the set.
    pub after: usize,
}

impl Shape {
    pub(crate) const PLAIN: Self = Self { columns: &[], fields: &[], after: 0 };
}

/// What the brace that closes a marker does.
#[derive(Clone, Copy)]
enum Close {
    /// It is written, as its opening one was.
    Brace,
    Nothing,
    /// It ends what is not for this database.
    Show,
    Values,
}

/// How deep markers may stand in each other.
const DEPTH: usize = 8;

struct Writer<'o> {
    dialect: Dialect,
    shape: Shape,
    /// Nothing while the length is counted.
    out: Option<&'o mut [u8]>,
    length: usize,
    /// How many markers for the other database are open.
    hidden: usize,
    open: [Close; DEPTH],
    depth: usize,
    /// Whether SQLite runs the text for each row, and the number of the parameter whose members they are.
    per_row: bool,
    each: usize,
}

/// What is known of a text before it is written.
#[derive(Clone, Copy)]
pub(crate) struct Measure {
    pub length: usize,
    pub per_row: bool,
    each: usize,
}

/// How SQLite gets the sets of a statement, read from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sets {
    /// The text is for one row: it runs for each.
    pub per_row: bool,
    /// A bit for each parameter that the text takes whole, as a JSON array.
    whole: u128,
}

impl Sets {
    pub(crate) const fn new(per_row: bool, sqlite: &[u8]) -> Self {
        Self { per_row, whole: taken_whole(sqlite) }
    }

    /// The same for a text with markers, which say more.
    pub(crate) const fn measured(measure: Measure, shape: Shape, sqlite: &[u8]) -> Self {
        let sets = Self::new(measure.per_row, sqlite);
        assert!(measure.each == 0 || !sets.is_whole(measure.each), "a set is taken whole or by its members");
        let mut field = 0;
        while field < shape.fields.len() {
            assert!(!sets.is_whole(shape.after + field + 1), "a column of a set is not taken whole");
            field += 1;
        }
        sets
    }

    /// Whether the parameter of this number, from 1, is a set that is taken whole.
    pub(crate) const fn is_whole(self, number: usize) -> bool {
        number < 128 && self.whole & (1 << number) != 0
    }
}

/// The parameters that a text for SQLite unfolds.
const fn taken_whole(sqlite: &[u8]) -> u128 {
    let mark = "json_each($";
    let (mut whole, mut at) = (0, 0);
    while at + mark.len() < sqlite.len() {
        if is(sqlite, at, at + mark.len(), mark) {
            whole |= 1 << number_at(sqlite, at + mark.len());
        }
        at += 1;
    }
    whole
}

/// The number that begins there.
const fn number_at(text: &[u8], from: usize) -> usize {
    let (mut at, mut number) = (from, 0);
    while at < text.len() && text[at].is_ascii_digit() {
        number = number * 10 + (text[at] - b'0') as usize;
        at += 1;
    }
    assert!(number > 0 && number < 100, "a parameter is `$1` to `$99`");
    number
}

pub(crate) const fn measure(parts: &[&str], dialect: Dialect, shape: Shape) -> Measure {
    write(parts, dialect, shape, None)
}

/// The text, in as many bytes as were measured.
pub(crate) const fn render<const N: usize>(parts: &[&str], dialect: Dialect, shape: Shape) -> [u8; N] {
    let mut out = [0; N];
    write(parts, dialect, shape, Some(&mut out));
    out
}

/// A part of a text for PostgreSQL alone that writes several sets: its own set, numbered on from the part before.
pub(crate) struct Piece {
    pub shape: Shape,
    pub parts: &'static [&'static str],
}

/// The length of a text of pieces.
pub(crate) const fn joined_length(pieces: &[Piece]) -> usize {
    let (mut length, mut number) = (0, 0);
    while number < pieces.len() {
        let piece = &pieces[number];
        if number > 0 {
            let before = &pieces[number - 1].shape;
            assert!(piece.shape.after == before.after + before.fields.len(), "a set follows the one before");
        }
        length += measure(piece.parts, Dialect::Postgres, piece.shape).length;
        number += 1;
    }
    length
}

pub(crate) const fn join<const N: usize>(pieces: &[Piece]) -> [u8; N] {
    let mut out = [0; N];
    let (mut from, mut number) = (0, 0);
    while number < pieces.len() {
        let piece = &pieces[number];
        from = write_at(piece.parts, Dialect::Postgres, piece.shape, Some(&mut out), from).length;
        number += 1;
    }
    out
}

const fn write(parts: &[&str], dialect: Dialect, shape: Shape, out: Option<&mut [u8]>) -> Measure {
    write_at(parts, dialect, shape, out, 0)
}

const fn write_at(
    parts: &[&str],
    dialect: Dialect,
    shape: Shape,
    out: Option<&mut [u8]>,
    length: usize,
) -> Measure {
    let open = [Close::Nothing; DEPTH];
    let per_row = !shape.fields.is_empty();
    let mut writer = Writer { dialect, shape, out, length, hidden: 0, open, depth: 0, per_row, each: 0 };
    let mut part = 0;
    while part < parts.len() {
        writer.part(parts[part].as_bytes());
        part += 1;
    }
    assert!(writer.depth == 0, "a marker is not closed");
    Measure { length: writer.length, per_row: writer.per_row, each: writer.each }
}

impl Writer<'_> {
    const fn part(&mut self, text: &[u8]) {
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'{' if at + 1 < text.len() && is_marker(text[at + 1]) => at = self.marker(text, at + 1),
                b'{' => {
                    self.byte(b'{');
                    self.push(Close::Brace);
                }
                b'}' => self.close(),
                byte => self.byte(byte),
            }
            at += 1;
        }
    }

    /// Writes the marker whose first letter is at `from`; returns where its last byte is that was read.
    const fn marker(&mut self, text: &[u8], from: usize) -> usize {
        let end = word_end(text, from);
        if is(text, from, end, "sqlite") || is(text, from, end, "postgres") {
            let own = is(text, from, end, "sqlite") == matches!(self.dialect, Dialect::Sqlite);
            self.push(if own { Close::Nothing } else { Close::Show });
            if !own {
                self.hidden += 1;
            }
            return end;
        }
        if is(text, from, end, "values") {
            self.text(self.either("VALUES (", "SELECT "));
            self.push(Close::Values);
            return end;
        }
        let (first, first_end) = argument(text, end);
        if is(text, from, end, "contains") {
            return self.contains(text, (first, first_end));
        }
        if is(text, from, end, "folded") {
            self.text(self.either("folded(", "LOWER("));
            self.bytes(text, first, first_end);
            self.text(self.either(")", " COLLATE folds_case)"));
            return first_end;
        }
        let (second, second_end) = argument(text, first_end);
        assert!(text[second_end] == b'}', "a marker has at most two words after its name");
        if text[from] == b'.' {
            self.field(self.find(text, from + 1, end));
        } else if is(text, from, end, "*") {
            self.fields(true);
        } else if is(text, from, end, "names") {
            self.fields(false);
        } else if is(text, from, end, "replaced") {
            self.replaced(text, first, first_end);
        } else if is(text, from, end, "columns") {
            self.columns(text, first, first_end);
        } else if is(text, from, end, "any") {
            self.any(text, first, first_end);
        } else if is(text, from, end, "ints") {
            self.members(text, first, first_end, "bigint");
        } else if is(text, from, end, "texts") {
            self.members(text, first, first_end, "text");
        } else if is(text, from, end, "reach") || is(text, from, end, "shared") {
            let shared = is(text, from, end, "shared");
            self.units(text, (first, first_end), (second, second_end), shared);
        } else if is(text, first, first_end, "rows") {
            if is(text, from, end, "from") {
                self.rows("FROM ");
            } else if is(text, from, end, "ordered") {
                self.ordered_rows();
            } else if is(text, from, end, "using") {
                self.rows("USING ");
            } else if is(text, from, end, "join") {
                self.rows("CROSS JOIN ");
            } else {
                panic!("rows come with `from`, `ordered`, `using` or `join`");
            }
        } else {
            panic!("there is no such marker");
        }
        second_end
    }

    const fn close(&mut self) {
        assert!(self.depth > 0, "a brace closes nothing");
        self.depth -= 1;
        match self.open[self.depth] {
            Close::Brace => self.byte(b'}'),
            Close::Nothing => {}
            Close::Show => self.hidden -= 1,
            Close::Values => match self.dialect {
                Dialect::Sqlite => self.byte(b')'),
                Dialect::Postgres => self.rows(" FROM "),
            },
        }
    }

    const fn push(&mut self, close: Close) {
        self.open[self.depth] = close;
        self.depth += 1;
    }

    const fn either(&self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self.dialect {
            Dialect::Sqlite => sqlite,
            Dialect::Postgres => postgres,
        }
    }

    /// `UNNEST($3::text[], …) AS r(first, …)`, where there is a set to unfold.
    const fn rows(&mut self, before: &str) {
        if matches!(self.dialect, Dialect::Postgres) {
            self.text(before);
            self.unnest();
            self.text(" AS r(");
            self.fields(false);
            self.byte(b')');
        }
    }

    /// The same, each row with its place in the set: a join may return rows in any order.
    const fn ordered_rows(&mut self) {
        if matches!(self.dialect, Dialect::Postgres) {
            self.text("FROM ");
            self.unnest();
            self.text(" WITH ORDINALITY AS r(");
            self.fields(false);
            self.text(", position)");
        }
    }

    const fn unnest(&mut self) {
        self.text("UNNEST(");
        let mut number = 0;
        while number < self.shape.fields.len() {
            if number > 0 {
                self.text(", ");
            }
            self.parameter(number);
            self.text("::");
            self.text(self.shape.fields[number].kind.on_postgres());
            self.text("[]");
            number += 1;
        }
        self.byte(b')');
    }

    /// All fields of the set: their values, or their names.
    const fn fields(&mut self, values: bool) {
        let mut number = 0;
        while number < self.shape.fields.len() {
            if number > 0 {
                self.text(", ");
            }
            if values {
                self.field(number);
            } else {
                self.text(self.shape.fields[number].name);
            }
            number += 1;
        }
    }

    /// All fields but the key, whose length may stand there as one digit.
    const fn replaced(&mut self, text: &[u8], from: usize, end: usize) {
        assert!(end - from < 2, "a key has fewer than ten fields");
        let key = if end > from { (text[from] - b'0') as usize } else { 1 };
        let mut number = key;
        while number < self.shape.fields.len() {
            if number > key {
                self.text(", ");
            }
            self.text(self.shape.fields[number].name);
            self.text(" = EXCLUDED.");
            self.text(self.shape.fields[number].name);
            number += 1;
        }
    }

    const fn field(&mut self, number: usize) {
        match self.dialect {
            Dialect::Sqlite => self.parameter(number),
            Dialect::Postgres => {
                self.text("r.");
                self.text(self.shape.fields[number].name);
            }
        }
    }

    const fn find(&self, text: &[u8], from: usize, end: usize) -> usize {
        let mut number = 0;
        while number < self.shape.fields.len() {
            if is(text, from, end, self.shape.fields[number].name) {
                return number;
            }
            number += 1;
        }
        panic!("the set has no such field");
    }

    const fn parameter(&mut self, field: usize) {
        self.byte(b'$');
        let number = self.shape.after + field + 1;
        assert!(number < 100, "a statement has fewer than a hundred parameters");
        if number > 9 {
            self.byte(b'0' + (number / 10) as u8);
        }
        self.byte(b'0' + (number % 10) as u8);
    }

    const fn columns(&mut self, text: &[u8], prefix: usize, prefix_end: usize) {
        assert!(!self.shape.columns.is_empty(), "`{{columns}}` wants a record: `sql!(name, as Record, …)`");
        let mut number = 0;
        while number < self.shape.columns.len() {
            if number > 0 {
                self.text(", ");
            }
            if prefix_end > prefix {
                self.bytes(text, prefix, prefix_end);
                self.byte(b'.');
            }
            self.text(self.shape.columns[number]);
            number += 1;
        }
    }

    /// One of the members of an array parameter.
    const fn any(&mut self, text: &[u8], parameter: usize, end: usize) {
        if self.hidden == 0 {
            let number = number_at(text, parameter + 1);
            assert!(
                self.shape.fields.is_empty(),
                "SQLite runs a statement for one set: `each` or `{{any …}}`"
            );
            assert!(
                self.each == 0 || self.each == number,
                "SQLite runs a statement for one set, not for two"
            );
            self.each = number;
            self.per_row = true;
        }
        self.text(self.either("", "ANY("));
        self.bytes(text, parameter, end);
        self.text(self.either("", ")"));
    }

    /// The members of an array parameter, as rows.
    const fn members(&mut self, text: &[u8], parameter: usize, end: usize, kind: &str) {
        assert!(end > parameter, "a set has a parameter");
        self.text(self.either("SELECT value FROM json_each(", "SELECT UNNEST("));
        self.bytes(text, parameter, end);
        if matches!(self.dialect, Dialect::Postgres) {
            self.text("::");
            self.text(kind);
            self.text("[]");
        }
        self.byte(b')');
    }

    /// A comparison with a pattern without regard to case; returns where its last byte is. What follows the parameter is the
    /// text that is compared, up to the end of the marker.
    const fn contains(&mut self, text: &[u8], parameter: (usize, usize)) -> usize {
        let from = parameter.1 + 1;
        let mut end = from;
        while text[end] != b'}' {
            end += 1;
        }
        self.text(self.either("ilike(", "("));
        if matches!(self.dialect, Dialect::Sqlite) {
            self.bytes(text, parameter.0, parameter.1);
            self.text(", ");
        }
        self.bytes(text, from, end);
        self.byte(b')');
        if matches!(self.dialect, Dialect::Postgres) {
            self.text(" COLLATE folds_case ILIKE ");
            self.bytes(text, parameter.0, parameter.1);
            self.text(" ESCAPE '\\'");
        }
        end
    }

    /// Whether the row's business unit is one that the caller may see; a null parameter is a caller without a limit.
    const fn units(&mut self, text: &[u8], parameter: (usize, usize), column: (usize, usize), shared: bool) {
        assert!(column.1 > column.0, "a reach names its parameter and the column of the business unit");
        self.byte(b'(');
        self.bytes(text, parameter.0, parameter.1);
        self.text(self.either(" IS NULL OR ", "::text[] IS NULL OR "));
        if shared {
            self.bytes(text, column.0, column.1);
            self.text(" IS NULL OR ");
        }
        self.bytes(text, column.0, column.1);
        self.text(" IN (");
        self.members(text, parameter.0, parameter.1, "text");
        self.text("))");
    }

    const fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes(), 0, text.len());
    }

    const fn bytes(&mut self, text: &[u8], from: usize, end: usize) {
        let mut at = from;
        while at < end {
            self.byte(text[at]);
            at += 1;
        }
    }

    const fn byte(&mut self, byte: u8) {
        if self.hidden > 0 {
            return;
        }
        if let Some(out) = &mut self.out {
            out[self.length] = byte;
        }
        self.length += 1;
    }
}

const fn is_marker(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'.' || byte == b'*'
}

/// Where the word ends that begins at `from`.
const fn word_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while text[at] != b' ' && text[at] != b'}' && text[at] != b'\n' {
        at += 1;
    }
    at
}

/// The next word of a marker: where it begins and ends; empty where the marker ends.
const fn argument(text: &[u8], end: usize) -> (usize, usize) {
    let from = if text[end] == b' ' { end + 1 } else { end };
    (from, word_end(text, from))
}

const fn is(text: &[u8], from: usize, end: usize, word: &str) -> bool {
    let word = word.as_bytes();
    if end - from != word.len() {
        return false;
    }
    let mut at = 0;
    while at < word.len() {
        if text[from + at] != word[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// One statement for both databases. See the module for the markers.
///
/// `sql!("lists.get", as ListRow, "SELECT {columns} FROM lists WHERE name = $1")` reads records;
/// `sql!("work.renew", each Held, after 1, "UPDATE …")` writes a set whose columns are bound after one scalar.
macro_rules! sql {
    ($name:literal, as $record:ty, each $row:ty, after $after:literal, $($part:expr),+ $(,)?) => {
        $crate::db::sql!(@ $name, $crate::db::Shape {
            columns: <$record as $crate::db::Record>::COLUMNS,
            fields: <$row as $crate::db::SetRow>::FIELDS,
            after: $after,
        }, $($part),+)
    };
    ($name:literal, each $row:ty, after $after:literal, $($part:expr),+ $(,)?) => {
        $crate::db::sql!(@ $name, $crate::db::Shape {
            columns: &[],
            fields: <$row as $crate::db::SetRow>::FIELDS,
            after: $after,
        }, $($part),+)
    };
    ($name:literal, as $record:ty, $($part:expr),+ $(,)?) => {
        $crate::db::sql!(@ $name, $crate::db::Shape {
            columns: <$record as $crate::db::Record>::COLUMNS,
            ..$crate::db::Shape::PLAIN
        }, $($part),+)
    };
    (@ $name:literal, $shape:expr, $($part:expr),+) => {{
        use $crate::db::{Dialect, Measure, Shape, measure, render};
        const PARTS: &[&str] = &[$($part),+];
        const SHAPE: Shape = $shape;
        const ON_SQLITE: Measure = measure(PARTS, Dialect::Sqlite, SHAPE);
        const ON_POSTGRES: Measure = measure(PARTS, Dialect::Postgres, SHAPE);
        const SQLITE: [u8; ON_SQLITE.length] = render(PARTS, Dialect::Sqlite, SHAPE);
        const POSTGRES: [u8; ON_POSTGRES.length] = render(PARTS, Dialect::Postgres, SHAPE);
        const SETS: $crate::db::Sets = $crate::db::Sets::measured(ON_SQLITE, SHAPE, &SQLITE);
        $crate::db::Sql::rendered($name, &SQLITE, &POSTGRES, SETS)
    }};
    ($name:literal, $($part:expr),+ $(,)?) => {
        $crate::db::sql!(@ $name, $crate::db::Shape::PLAIN, $($part),+)
    };
}
pub(crate) use sql;

/// One statement for PostgreSQL that does what several do on SQLite: each round trip that is saved is time in which a
/// channel's permits wait. `joined_sql!("name", for [ONE, OTHER], each Row, after 1 => ["WITH …"], each Other, after 5 => ["…"])`:
/// the statements whose crash points are passed, and a part for each set.
macro_rules! joined_sql {
    ($name:literal, for [$($of:ident),+], $(each $row:ty, after $after:literal => [$($part:expr),+ $(,)?]),+ $(,)?) => {{
        use $crate::db::{Piece, Shape, join, joined_length};
        const PIECES: &[Piece] = &[$(Piece {
            shape: Shape { columns: &[], fields: <$row as $crate::db::SetRow>::FIELDS, after: $after },
            parts: &[$($part),+],
        }),+];
        const TEXT: [u8; joined_length(PIECES)] = join(PIECES);
        const OF: &[&str] = &[$($of.name),+];
        $crate::db::Sql::joined($name, OF, &TEXT)
    }};
}
pub(crate) use joined_sql;

#[cfg(test)]
mod tests;
