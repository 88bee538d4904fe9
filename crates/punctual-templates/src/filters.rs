//! The filters and tests that an author may use; nothing else of the engine is reachable.
//!
//! | filter | gives |
//! |---|---|
//! | `due\|date("%d.%m.%Y", "Europe/Berlin")` | the day of an RFC 3339 instant, or of a date, in a zone (default UTC, `%Y-%m-%d`) |
//! | `due\|time("%H:%M", "Europe/Berlin")` | the same with `%H:%M` as its default |
//! | `due\|datetime("%d.%m.%Y %H:%M", "Europe/Berlin")` | the same with `%Y-%m-%d %H:%M` as its default |
//! | `price\|number(2, ",", ".")` | a number with so many decimals, a separator of thousands and a decimal point |
//! | `default`, `upper`, `lower`, `title`, `capitalize`, `trim`, `replace`, `split`, `lines`, `string`, `escape` | texts |
//! | `join`, `length`, `first`, `last`, `sort`, `reverse`, `unique`, `list`, `items`, `dictsort`, `groupby`, `map(attribute=…)`, `select`, `reject`, `selectattr`, `rejectattr`, `min`, `max`, `sum` | lists and maps |
//! | `int`, `float`, `round`, `abs`, `bool`, `tojson` | numbers and the rest |
//!
//! Left out on purpose: `safe` (data would become markup), `format`, `indent`, `batch`, `slice`, `zip` and `chain`
//! (they can make much out of little), `pprint` and `attr`.

use jiff::{
    Timestamp, Zoned,
    civil::{Date, DateTime},
    fmt::strtime::BrokenDownTime,
    tz::TimeZone,
};
use minijinja::{
    Environment, Error, ErrorKind, State, Value, filters,
    functions::{self, Function},
    tests,
    value::{FunctionArgs, FunctionResult, Rest, ValueKind, ValueOrKwargs},
};

/// The longest format of `date` and its like.
const FORMAT_LIMIT: usize = 256;
/// The most steps that `range` gives.
const RANGE_LIMIT: usize = 1_000;
/// The most decimals that `number` shows.
const DECIMALS_LIMIT: usize = 20;

/// The most bytes that the filters of one render may take and give; the slowest go through 200 MB a second.
const WORK_LIMIT: usize = 64 * 1024 * 1024;

/// What the filters of one render have gone through so far.
#[derive(Debug, Default)]
struct Meter(usize);

impl Meter {
    fn charge(state: &mut State<'_, '_>, values: &[Value]) -> Result<(), Error> {
        let meter = state.get_or_insert_extension(Meter::default());
        for value in values {
            // A list is counted by its length: what it holds is counted again where it becomes text.
            let size = value.as_str().map_or_else(|| value.len().unwrap_or(0).saturating_mul(32), str::len);
            meter.0 = meter.0.saturating_add(size);
        }
        if meter.0 > WORK_LIMIT { Err(Error::from(ErrorKind::OutOfFuel)) } else { Ok(()) }
    }
}

/// Adds a filter that counts its work and does not take a missing value for an empty one.
fn add<F, Rv, Args>(env: &mut Environment<'_>, name: &'static str, filter: F)
where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    let filter = Value::from_function(filter);
    env.add_filter(
        name,
        move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| -> Result<Value, Error> {
            let args = args.into_values();
            if args.first().is_some_and(Value::is_undefined) {
                // `upper` fails on it with an error that knows the name; `join` would give an empty text.
                return Value::from_function(filters::upper).call(state, &args[..1]);
            }
            Meter::charge(state, &args)?;
            let made = filter.call(state, &args)?;
            Meter::charge(state, std::slice::from_ref(&made))?;
            Ok(made)
        },
    );
}

/// Adds everything an author may use to an empty environment.
pub(crate) fn install(env: &mut Environment<'_>) {
    texts(env);
    lists(env);
    add(env, "int", filters::int);
    add(env, "float", filters::float);
    add(env, "round", filters::round);
    add(env, "abs", filters::abs);
    add(env, "bool", filters::bool);
    add(env, "tojson", filters::tojson);
    add(env, "date", |value: &Value, format: Option<&str>, zone: Option<&str>| {
        moment(value, format.unwrap_or("%Y-%m-%d"), zone)
    });
    add(env, "time", |value: &Value, format: Option<&str>, zone: Option<&str>| {
        moment(value, format.unwrap_or("%H:%M"), zone)
    });
    add(env, "datetime", |value: &Value, format: Option<&str>, zone: Option<&str>| {
        moment(value, format.unwrap_or("%Y-%m-%d %H:%M"), zone)
    });
    add(env, "number", number);
    env.add_function("range", |lower: isize, upper: Option<isize>, step: Option<isize>| {
        let range = functions::range(lower, upper, step)?;
        if range.try_iter()?.nth(RANGE_LIMIT).is_some() {
            return Err(refused(format!("a range has at most {RANGE_LIMIT} steps")));
        }
        Ok(range)
    });
    add_tests(env);
}

fn texts(env: &mut Environment<'_>) {
    env.add_filter("default", filters::default);
    env.add_filter("d", filters::default);
    add(env, "upper", filters::upper);
    add(env, "lower", filters::lower);
    add(env, "title", filters::title);
    add(env, "capitalize", filters::capitalize);
    add(env, "trim", filters::trim);
    add(env, "replace", filters::replace);
    add(env, "split", filters::split);
    add(env, "lines", filters::lines);
    add(env, "string", filters::string);
    add(env, "escape", filters::escape);
    add(env, "e", filters::escape);
}

fn lists(env: &mut Environment<'_>) {
    add(env, "join", filters::join);
    add(env, "length", filters::length);
    add(env, "count", filters::length);
    add(env, "first", filters::first);
    add(env, "last", filters::last);
    add(env, "sort", filters::sort);
    add(env, "reverse", filters::reverse);
    add(env, "unique", filters::unique);
    add(env, "list", filters::list);
    add(env, "items", filters::items);
    add(env, "dictsort", filters::dictsort);
    add(env, "groupby", filters::groupby);
    add(env, "map", filters::map);
    add(env, "select", filters::select);
    add(env, "reject", filters::reject);
    add(env, "selectattr", filters::selectattr);
    add(env, "rejectattr", filters::rejectattr);
    add(env, "min", filters::min);
    add(env, "max", filters::max);
    add(env, "sum", filters::sum);
}

fn add_tests(env: &mut Environment<'_>) {
    env.add_test("defined", tests::is_defined);
    env.add_test("undefined", tests::is_undefined);
    env.add_test("none", tests::is_none);
    env.add_test("boolean", tests::is_boolean);
    env.add_test("number", tests::is_number);
    env.add_test("integer", tests::is_integer);
    env.add_test("string", tests::is_string);
    env.add_test("sequence", tests::is_sequence);
    env.add_test("mapping", tests::is_mapping);
    env.add_test("odd", tests::is_odd);
    env.add_test("even", tests::is_even);
    env.add_test("divisibleby", tests::is_divisibleby);
    env.add_test("startingwith", tests::is_startingwith);
    env.add_test("endingwith", tests::is_endingwith);
    env.add_test("true", tests::is_true);
    env.add_test("false", tests::is_false);
    env.add_test("in", tests::is_in);
    for name in ["eq", "equalto", "=="] {
        env.add_test(name, tests::is_eq);
    }
    for name in ["ne", "!="] {
        env.add_test(name, tests::is_ne);
    }
    for name in ["lt", "lessthan", "<"] {
        env.add_test(name, tests::is_lt);
    }
    for name in ["le", "<="] {
        env.add_test(name, tests::is_le);
    }
    for name in ["gt", "greaterthan", ">"] {
        env.add_test(name, tests::is_gt);
    }
    for name in ["ge", ">="] {
        env.add_test(name, tests::is_ge);
    }
}

fn refused(detail: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail)
}

/// An instant or a local date in a zone, in the words of a format.
fn moment(value: &Value, format: &str, zone: Option<&str>) -> Result<String, Error> {
    let text = value.as_str().filter(|text| text.len() <= 64).ok_or_else(|| {
        refused("a date is given as RFC 3339 text, such as 2026-11-03T08:00:00Z".to_owned())
    })?;
    if format.len() > FORMAT_LIMIT {
        return Err(refused(format!("a date format has at most {FORMAT_LIMIT} bytes")));
    }
    let zone = match zone {
        None => TimeZone::UTC,
        Some(name) => TimeZone::get(name)
            .map_err(|_| refused(format!("`{name}` is no time zone; write one such as Europe/Berlin")))?,
    };
    let zoned: Zoned = if let Ok(instant) = text.parse::<Timestamp>() {
        instant.to_zoned(zone)
    } else {
        // A local date or time has no offset: it is shown as it is stored, in whatever zone.
        let local = text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(DateTime::from));
        local
            .and_then(|local| local.to_zoned(TimeZone::UTC))
            .map_err(|_| refused(format!("`{text}` is no date; write 2026-11-03 or 2026-11-03T08:00:00Z")))?
    };
    BrokenDownTime::from(&zoned)
        .to_string(format)
        .map_err(|fault| refused(format!("the date format `{format}` does not work: {fault}")))
}

/// A number with a fixed count of decimals and its thousands set apart.
fn number(
    value: &Value,
    decimals: Option<usize>,
    thousands: Option<&str>,
    point: Option<&str>,
) -> Result<String, Error> {
    let decimals = decimals.unwrap_or(0).min(DECIMALS_LIMIT);
    let (thousands, point) = (thousands.unwrap_or(","), point.unwrap_or("."));
    if thousands.len() > 8 || point.len() > 8 {
        return Err(refused("a separator has at most 8 bytes".to_owned()));
    }
    if value.kind() != ValueKind::Number {
        return Err(refused(format!("`number` takes a number, not {}", value.kind())));
    }
    // Whole numbers stay exact beyond the 53 bits of a float.
    let plain = match i128::try_from(value.clone()) {
        Ok(whole) if value.is_integer() => match decimals {
            0 => whole.to_string(),
            _ => format!("{whole}.{}", "0".repeat(decimals)),
        },
        _ => {
            let float = f64::try_from(value.clone())?;
            if !float.is_finite() {
                return Err(refused("`number` takes a finite number".to_owned()));
            }
            format!("{float:.decimals$}")
        }
    };
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut shown = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            shown.push_str(thousands);
        }
        shown.push(digit);
    }
    if !fraction.is_empty() {
        shown.push_str(point);
        shown.push_str(fraction);
    }
    Ok(shown)
}

#[cfg(test)]
mod documentation {
    const SOURCE: &str = include_str!("filters.rs");
    const REFERENCE: &str = include_str!("../../../docs/templates.md");

    /// Whether the environment that authors get has a filter or test of this name.
    fn exists(template: &str) -> bool {
        let mut env = minijinja::Environment::empty();
        super::install(&mut env);
        let fault = env.render_str(template, ()).err();
        !fault.is_some_and(|fault| {
            matches!(fault.kind(), minijinja::ErrorKind::UnknownFilter | minijinja::ErrorKind::UnknownTest)
        })
    }

    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    #[test]
    fn the_reference_has_no_filter_and_no_test_that_is_gone() {
        let (_, part) = REFERENCE.split_once("## Filters").unwrap();
        let cells = part.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
        let filters = cells.flat_map(|(names, _)| quoted_from(names)).collect::<Vec<_>>();
        assert!(filters.len() > 30, "{filters:?}");
        for name in filters {
            assert!(exists(&format!("{{{{ 1|{name} }}}}")), "docs/templates.md has the filter `{name}`");
        }
        let (_, tests) = part.split_once("Tests after `is`:").unwrap();
        for name in quoted(tests) {
            assert!(exists(&format!("{{{{ 1 is {name} }}}}")), "docs/templates.md has the test `{name}`");
        }
    }

    /// The names in a cell whose first backtick is cut off.
    fn quoted_from(cell: &str) -> Vec<&str> {
        cell.split('`').step_by(2).filter_map(|one| one.split('(').next()).collect()
    }

    #[test]
    fn the_reference_has_every_filter_and_test() {
        let calls = ["add(env, \"", "add_filter(\"", "add_test(\""];
        let names: Vec<&str> = calls
            .iter()
            .flat_map(|call| SOURCE.split(call).skip(1))
            .filter_map(|rest| rest.split('"').next())
            .filter(|name| name.chars().all(|c| c.is_ascii_lowercase()))
            .collect();
        assert!(names.len() > 50, "{names:?}");
        for name in names {
            let is_there =
                [format!("`{name}`"), format!("`{name}(")].iter().any(|text| REFERENCE.contains(text));
            assert!(is_there, "docs/templates.md does not have `{name}`");
        }
    }
}
