//! Values to parameters. SQLite takes `$3` for a name, not a number, so each statement says where its numbers are.

use rusqlite::{
    Result, Statement, ToSql,
    types::{ToSqlOutput, Value, ValueRef},
};

use crate::db::{Arg, Sets};

/// The values of one statement, each with the place it is bound to.
pub(super) struct Binding {
    args: Vec<Arg>,
    /// (place in the statement, index of the value): those that stay, and those in which rows differ.
    scalars: Vec<(usize, usize)>,
    columns: Vec<(usize, usize)>,
    rows: usize,
}

impl Binding {
    pub(super) fn new(statement: &Statement<'_>, args: Vec<Arg>, sets: Sets) -> Result<Self> {
        let bound =
            |(index, arg)| if sets.is_whole(index + 1) { whole_as_json(arg) } else { units_as_json(arg) };
        let args: Vec<Arg> = args.into_iter().enumerate().map(bound).collect();
        let rows = if sets.per_row { args.iter().filter_map(Arg::rows).max().unwrap_or(0) } else { 1 };
        // A set that the text takes neither whole nor row by row: of its members only the first would be bound.
        if let Some(index) = args.iter().position(|arg| !sets.per_row && arg.rows().is_some()) {
            return Err(rusqlite::Error::InvalidParameterName(format!("${} is a set", index + 1)));
        }
        let (mut scalars, mut columns) = (Vec::new(), Vec::with_capacity(args.len()));
        for place in 1..=statement.parameter_count() {
            let name = statement.parameter_name(place).unwrap_or_default();
            let number: Option<usize> = name.get(1..).and_then(|digits| digits.parse().ok());
            let Some(index) = number.and_then(|n| n.checked_sub(1)).filter(|index| *index < args.len())
            else {
                return Err(rusqlite::Error::InvalidParameterName(name.to_owned()));
            };
            if args[index].varies() { &mut columns } else { &mut scalars }.push((place, index));
        }
        Ok(Self { args, scalars, columns, rows })
    }

    /// How often the statement runs.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn bind_scalars(&self, statement: &mut Statement<'_>) -> Result<()> {
        self.scalars.iter().try_for_each(|(place, index)| {
            statement.raw_bind_parameter(*place, Cell(self.args[*index].cell(0)))
        })
    }

    pub(super) fn bind_row(&self, statement: &mut Statement<'_>, row: usize) -> Result<()> {
        self.columns.iter().try_for_each(|(place, index)| {
            statement.raw_bind_parameter(*place, Cell(self.args[*index].cell(row)))
        })
    }
}

/// A set that is taken whole is one JSON array, for `json_each`.
fn whole_as_json(arg: Arg) -> Arg {
    match arg {
        Arg::Ints(v) => Arg::Text(serde_json::to_string(&v).ok()),
        Arg::Texts(v) => Arg::Text(serde_json::to_string(&v.to_vec()).ok()),
        Arg::Bools(v) => Arg::Text(serde_json::to_string(&v).ok()),
        other => units_as_json(other),
    }
}

/// Units are one value, whatever the statement takes.
fn units_as_json(arg: Arg) -> Arg {
    match arg {
        Arg::Units(units) => Arg::Text(units.and_then(|units| serde_json::to_string(&units).ok())),
        other => other,
    }
}

impl Arg {
    /// How many rows a column has; none for a scalar.
    fn rows(&self) -> Option<usize> {
        match self {
            Arg::Ints(v) => Some(v.len()),
            Arg::Texts(v) => Some(v.len()),
            Arg::Bools(v) => Some(v.len()),
            Arg::Bool(_) | Arg::Int(_) | Arg::Text(_) | Arg::Bytes(_) | Arg::Units(_) => None,
        }
    }

    /// Whether the rows of a set differ in it. What they share (half of the columns of a message are null in all of
    /// them) is bound once.
    fn varies(&self) -> bool {
        match self {
            Arg::Ints(v) => v.iter().any(|value| Some(value) != v.first()),
            Arg::Texts(v) => (1..v.len()).any(|row| v.get(row) != v.get(0)),
            Arg::Bools(v) => v.iter().any(|value| Some(value) != v.first()),
            Arg::Bool(_) | Arg::Int(_) | Arg::Text(_) | Arg::Bytes(_) | Arg::Units(_) => false,
        }
    }

    fn scalar(&self) -> ValueRef<'_> {
        match self {
            Arg::Bool(v) => v.map_or(ValueRef::Null, |v| ValueRef::Integer(v.into())),
            Arg::Int(v) => v.map_or(ValueRef::Null, ValueRef::Integer),
            Arg::Text(v) => v.as_ref().map_or(ValueRef::Null, |v| ValueRef::Text(v.as_bytes())),
            Arg::Bytes(v) => v.as_ref().map_or(ValueRef::Null, |v| ValueRef::Blob(v)),
            Arg::Ints(_) | Arg::Texts(_) | Arg::Bools(_) | Arg::Units(_) => ValueRef::Null,
        }
    }

    fn cell(&self, row: usize) -> ValueRef<'_> {
        match self {
            Arg::Ints(v) => v.get(row).copied().flatten().map_or(ValueRef::Null, ValueRef::Integer),
            Arg::Texts(v) => v.get(row).map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes())),
            Arg::Bools(v) => v.get(row).map_or(ValueRef::Null, |v| ValueRef::Integer((*v).into())),
            scalar => scalar.scalar(),
        }
    }
}

struct Cell<'a>(ValueRef<'a>);

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            ValueRef::Null => ToSqlOutput::Owned(Value::Null),
            value => ToSqlOutput::Borrowed(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::db::args;

    #[test]
    fn a_number_is_bound_to_its_value_wherever_it_stands() {
        let conn = Connection::open_in_memory().unwrap();
        let mut statement = conn.prepare("SELECT $3, $1, $2, $1").unwrap();
        let values = args![7_i64, vec![1_i64, 2], vec![Some("a".to_owned()), None]];
        let sets = Sets::new(true, b"");
        let binding = Binding::new(&statement, values, sets).unwrap();
        assert_eq!(binding.rows(), 2);
        binding.bind_scalars(&mut statement).unwrap();
        let mut found: Vec<(Option<String>, i64, i64, i64)> = Vec::new();
        for row in 0..2 {
            binding.bind_row(&mut statement, row).unwrap();
            let mut rows = statement.raw_query();
            let row = rows.next().unwrap().unwrap();
            found.push((row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap()));
        }
        assert_eq!(found, [(Some("a".to_owned()), 7, 1, 7), (None, 7, 2, 7)]);
    }

    #[test]
    fn a_set_taken_whole_is_one_json_array() {
        let conn = Connection::open_in_memory().unwrap();
        let text = "SELECT $2 || $1 FROM json_each($2)";
        let mut statement = conn.prepare(text).unwrap();
        let values = args!["!", vec!["a\"\\\n\u{1}é".to_owned()]];
        let binding = Binding::new(&statement, values, Sets::new(false, text.as_bytes())).unwrap();
        binding.bind_scalars(&mut statement).unwrap();
        let mut rows = statement.raw_query();
        let text: String = rows.next().unwrap().unwrap().get(0).unwrap();
        assert_eq!(text, "[\"a\\\"\\\\\\n\\u0001é\"]!");
    }

    #[test]
    fn sets_that_are_taken_whole_stand_beside_each_other_and_beside_a_row_s() {
        let conn = Connection::open_in_memory().unwrap();
        let text =
            "SELECT $1 IN (SELECT value FROM json_each($2)) AND 'a' IN (SELECT value FROM json_each($3))";
        let mut statement = conn.prepare(text).unwrap();
        let values = args![vec![1_i64, 2], vec![2_i64, 3, 4], vec!["a".to_owned()]];
        let binding = Binding::new(&statement, values, Sets::new(true, text.as_bytes())).unwrap();
        binding.bind_scalars(&mut statement).unwrap();
        let mut found = Vec::new();
        for row in 0..2 {
            binding.bind_row(&mut statement, row).unwrap();
            found.push(statement.raw_query().next().unwrap().unwrap().get::<_, bool>(0).unwrap());
        }
        assert_eq!((binding.rows(), found), (2, vec![false, true]));
    }

    #[test]
    fn a_set_that_the_text_does_not_take_is_refused() {
        let conn = Connection::open_in_memory().unwrap();
        let text = "SELECT $1";
        let statement = conn.prepare(text).unwrap();
        let sets = Sets::new(false, text.as_bytes());
        assert!(Binding::new(&statement, args![vec![1_i64, 2]], sets).is_err());
    }

    #[test]
    fn a_parameter_without_a_value_is_refused() {
        let conn = Connection::open_in_memory().unwrap();
        for text in ["SELECT $2", "SELECT $0", "SELECT :name", "SELECT ?"] {
            let statement = conn.prepare(text).unwrap();
            let sets = Sets::new(false, text.as_bytes());
            assert!(Binding::new(&statement, args![1_i64], sets).is_err(), "{text}");
        }
    }
}
