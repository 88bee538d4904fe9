//! The strict reader: bytes to a JSON tree, refusing what a lenient reader would pass on in silence.
//!
//! One pass over the bytes checks grammar, depth, doubled fields and texts; then `serde_json` builds the
//! tree. The pass keeps no path: only when it refuses, `place` walks the bytes again to name the place.

mod place;
mod scanner;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub(crate) use self::place::join;
use self::{
    place::{found_at, line_and_column, pointer_at},
    scanner::{Refusal, Scanner, Why},
};
use crate::{
    limits::DEPTH_MAX,
    problem::{Code, FieldError, Problem, excerpt},
};

/// Reads a body into a tree, or says what is wrong with it and where.
pub fn read(bytes: &[u8]) -> Result<Value, Problem> {
    let text = check(bytes)?;
    serde_json::from_str(text).map_err(|error| number_too_large(bytes, &error))
}

/// Like [`read`], for routes whose body may be absent: an empty body is an empty object. Empty is what has nothing but the
/// four characters that JSON allows between its parts.
pub fn read_or_empty(bytes: &[u8]) -> Result<Value, Problem> {
    let is_empty = bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    if is_empty { Ok(Value::Object(Map::new())) } else { read(bytes) }
}

/// Checks a body without building the tree, and gives it back as text.
pub fn check(bytes: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let refusal = Refusal { at: error.valid_up_to(), why: Why::Text("a byte that is not UTF-8") };
        refusal.into_problem(bytes)
    })?;
    Scanner::new(text).document().map_err(|refusal| refusal.into_problem(bytes))?;
    Ok(text)
}

impl Refusal {
    fn into_problem(self, bytes: &[u8]) -> Problem {
        let pointer = pointer_at(bytes, self.at);
        let (line, column) = line_and_column(bytes, self.at);
        let (code, pointer, detail) = match self.why {
            Why::Expected(what) => {
                let found = found_at(bytes, self.at);
                let detail = format!("Line {line}, column {column}: expected {what}, found {found}.");
                return Problem::new(Code::JsonSyntax, detail).with("line", line).with("column", column);
            }
            Why::TooDeep => {
                let detail = format!("Line {line}, column {column}: nested deeper than {DEPTH_MAX}.");
                (Code::JsonTooDeep, pointer, detail)
            }
            Why::Twice(name) => {
                let detail = format!("The field `{}` appears twice in one object.", excerpt(&name));
                (Code::JsonDuplicateKey, join(&pointer, &name), detail)
            }
            Why::Text(what) => {
                let detail = format!("Line {line}, column {column}: the text has {what}.");
                (Code::TextInvalid, pointer, detail)
            }
        };
        Problem::of_fields(vec![FieldError::new(pointer, code, detail)])
    }
}

/// The one thing that the scanner lets through and `serde_json` does not: a number such as `1e999`.
fn number_too_large(bytes: &[u8], error: &serde_json::Error) -> Problem {
    let line_start = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>();
    let at = (line_start + error.column().saturating_sub(1)).min(bytes.len());
    let detail = format!(
        "Line {}, column {}: the number is too large; numbers go up to about 1.8e308.",
        error.line(),
        error.column()
    );
    FieldError::new(pointer_at(bytes, at), Code::OutOfRange, detail).into()
}
