//! The strict reader: bytes to a JSON tree, refusing what a lenient reader would pass on in silence.
//!
//! One pass over the bytes checks grammar, depth, doubled fields and texts; then `serde_json` builds the
//! tree. The pass keeps no path: only when it refuses, [`pointer_at`] walks the bytes again to name the place.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{
    limits::DEPTH_MAX,
    problem::{Code, FieldError, Problem, excerpt},
};

/// Reads a body into a tree, or says what is wrong with it and where.
pub fn read(bytes: &[u8]) -> Result<Value, Problem> {
    let text = check(bytes)?;
    serde_json::from_str(text).map_err(|error| number_too_large(bytes, &error))
}

/// Like [`read`], for routes whose body may be absent: an empty body is an empty object.
pub fn read_or_empty(bytes: &[u8]) -> Result<Value, Problem> {
    if bytes.trim_ascii().is_empty() { Ok(Value::Object(Map::new())) } else { read(bytes) }
}

/// Checks a body without building the tree, and gives it back as text.
pub fn check(bytes: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let refusal = Refusal { at: error.valid_up_to(), why: Why::Text("a byte that is not UTF-8") };
        refusal.into_problem(bytes)
    })?;
    let mut scanner = Scanner { text, bytes, at: 0, depth: 0, keys: Vec::new() };
    scanner.document().map_err(|refusal| refusal.into_problem(bytes))?;
    Ok(text)
}

/// Up to this many fields are compared pair by pair; sorting pays only beyond.
const FEW_KEYS: usize = 16;

/// Bytes at which the fast loop over a text stops: its end, an escape, a control character.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        stops[byte] = true;
        byte += 1;
    }
    stops[b'"' as usize] = true;
    stops[b'\\' as usize] = true;
    stops
};

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// The fields of all open objects. Those of a finished object are cut off, so each object's lie together.
    keys: Vec<Cow<'a, str>>,
}

/// Where the scanner stopped, and why. Small: the sentence for it is made later.
struct Refusal {
    at: usize,
    why: Why,
}

enum Why {
    Expected(&'static str),
    TooDeep,
    /// The field's name; `at` is where its object starts.
    Twice(String),
    Text(&'static str),
}

type Scan<T = ()> = Result<T, Refusal>;

impl<'a> Scanner<'a> {
    fn document(&mut self) -> Scan {
        self.space();
        self.value()?;
        self.space();
        if self.at < self.bytes.len() { self.expected("the end of the body") } else { Ok(()) }
    }

    fn value(&mut self) -> Scan {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", "`true`"),
            Some(b'f') => self.word("false", "`false`"),
            Some(b'n') => self.word("null", "`null`"),
            _ => self.expected("a value"),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Scan) -> Scan {
        if self.depth == DEPTH_MAX {
            return Err(Refusal { at: self.at, why: Why::TooDeep });
        }
        self.depth += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self) -> Scan {
        let start = self.at;
        let first_key = self.keys.len();
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.expected("a field name in double quotes");
            }
            let key = self.key()?;
            self.keys.push(key);
            self.space();
            if self.peek() != Some(b':') {
                return self.expected("`:`");
            }
            self.at += 1;
            self.space();
            self.value()?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.expected("`,` or `}`"),
            }
            self.space();
        }
        self.at += 1;
        if let Some(name) = doubled(&mut self.keys[first_key..]) {
            return Err(Refusal { at: start, why: Why::Twice(name) });
        }
        self.keys.truncate(first_key);
        Ok(())
    }

    fn array(&mut self) -> Scan {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value()?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.expected("`,` or `]`"),
            }
            self.space();
        }
        self.at += 1;
        Ok(())
    }

    /// A field's name, as it reads once escapes are resolved: `"a"` and `"\u0061"` are the same field.
    fn key(&mut self) -> Scan<Cow<'a, str>> {
        let start = self.at;
        let plain = self.string()?;
        let quoted = &self.text[start..self.at];
        Ok(if plain {
            Cow::Borrowed(&quoted[1..quoted.len() - 1])
        } else {
            // The scanner has accepted it, so there is always a text; an empty one would only miss a double.
            Cow::Owned(serde_json::from_str(quoted).unwrap_or_default())
        })
    }

    /// Passes a text, and says whether it is free of escapes.
    fn string(&mut self) -> Scan<bool> {
        self.at += 1;
        let mut plain = true;
        loop {
            while let Some(&byte) = self.bytes.get(self.at)
                && !STOPS[byte as usize]
            {
                self.at += 1;
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(plain);
                }
                Some(b'\\') => {
                    plain = false;
                    self.escape()?;
                }
                Some(0) => return self.text_invalid(self.at, "the character NUL"),
                Some(_) => return self.expected("text without control characters (write a line break as `\\n`)"),
                None => return self.expected("the closing double quote"),
            }
        }
    }

    fn escape(&mut self) -> Scan {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => match self.four_digits()? {
                0 => self.text_invalid(start, "the character NUL"),
                0xDC00..=0xDFFF => self.text_invalid(start, "half of a surrogate pair"),
                0xD800..=0xDBFF if !self.low_surrogate()? => {
                    self.text_invalid(start, "half of a surrogate pair")
                }
                _ => Ok(()),
            },
            _ => self.expected("an escape such as `\\n` or `\\u0041`"),
        }
    }

    /// Passes the second half of a surrogate pair, if it is there.
    fn low_surrogate(&mut self) -> Scan<bool> {
        if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
            return Ok(false);
        }
        self.at += 1;
        Ok(matches!(self.four_digits()?, 0xDC00..=0xDFFF))
    }

    /// Passes `uXXXX`.
    fn four_digits(&mut self) -> Scan<u32> {
        let mut code = 0;
        for _ in 0..4 {
            self.at += 1;
            match self.peek().and_then(|byte| char::from(byte).to_digit(16)) {
                Some(digit) => code = code * 16 + digit,
                None => return self.expected("four hexadecimal digits after `\\u`"),
            }
        }
        self.at += 1;
        Ok(code)
    }

    fn number(&mut self) -> Scan {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.expected("a number without leading zeros");
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Passes at least one digit.
    fn digits(&mut self) -> Scan {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.expected("a digit") } else { Ok(()) }
    }

    fn word(&mut self, word: &str, expected: &'static str) -> Scan {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.expected(expected);
        }
        self.at += word.len();
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expected<T>(&self, what: &'static str) -> Scan<T> {
        Err(Refusal { at: self.at, why: Why::Expected(what) })
    }

    fn text_invalid<T>(&self, at: usize, what: &'static str) -> Scan<T> {
        Err(Refusal { at, why: Why::Text(what) })
    }
}

/// The first name that appears twice. Sorting keeps an object with very many fields from costing their square.
fn doubled(keys: &mut [Cow<'_, str>]) -> Option<String> {
    if keys.len() <= FEW_KEYS {
        let (i, _) = keys.iter().enumerate().find(|(i, key)| keys[..*i].contains(key))?;
        return Some(keys[i].to_string());
    }
    keys.sort_unstable();
    keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_string())
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

fn found_at(bytes: &[u8], at: usize) -> String {
    match std::str::from_utf8(&bytes[at..]).ok().and_then(|rest| rest.chars().next()) {
        Some(c) if c.is_control() => format!("the control character U+{:04X}", u32::from(c)),
        Some(c) => format!("`{c}`"),
        None => "the end of the body".to_owned(),
    }
}

/// Both from 1; columns count characters, as editors do.
fn line_and_column(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// The pointer to the value that holds the byte `at`; everything before it has passed the scanner.
fn pointer_at(bytes: &[u8], at: usize) -> String {
    enum Step {
        Index(usize),
        Name(Option<String>),
    }
    let mut path = Vec::new();
    let mut name_next = false;
    let mut i = 0;
    while i < at {
        match bytes[i] {
            b'[' => path.push(Step::Index(0)),
            b'{' => {
                path.push(Step::Name(None));
                name_next = true;
            }
            b']' | b'}' => {
                path.pop();
            }
            b',' => match path.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                Some(Step::Name(name)) => {
                    *name = None;
                    name_next = true;
                }
                None => {}
            },
            b'"' => {
                let end = string_end(bytes, i);
                if name_next && end <= at {
                    let raw = String::from_utf8_lossy(&bytes[i..end]);
                    let name = serde_json::from_str(&raw).unwrap_or_else(|_| raw.into_owned());
                    if let Some(Step::Name(slot)) = path.last_mut() {
                        *slot = Some(name);
                    }
                    name_next = false;
                }
                i = end - 1;
            }
            _ => {}
        }
        i += 1;
    }
    path.iter().fold(String::new(), |pointer, step| match step {
        Step::Index(index) => format!("{pointer}/{index}"),
        Step::Name(Some(name)) => join(&pointer, name),
        Step::Name(None) => pointer,
    })
}

/// The index after the closing quote of the text that starts at `start`, or the end of the bytes.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// A pointer one step longer, escaped as RFC 6901 asks.
pub(crate) fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(body: impl AsRef<[u8]>, code: &str, pointer: Option<&str>, detail: &str) {
        let problem = read(body.as_ref()).unwrap_err();
        assert_eq!(problem.code.as_str(), code, "{problem}");
        assert_eq!(problem.errors.first().map(|error| error.pointer.as_str()), pointer, "{problem}");
        assert!(problem.detail.contains(detail), "{:?} lacks {detail:?}", problem.detail);
    }

    #[test]
    fn broken_json_is_named_by_line_column_and_what_was_expected() {
        #[track_caller]
        fn check(body: &str, detail: &str) {
            refused(body, "json_syntax", None, detail);
        }
        check("", "Line 1, column 1: expected a value, found the end of the body.");
        check("{\n  \"a\": 1,\n  b\n}", "Line 3, column 3: expected a field name in double quotes, found `b`.");
        check("{\"ä\" 1}", "Line 1, column 6: expected `:`, found `1`.");
        check("{\"a\":1 \"b\"", "column 8: expected `,` or `}`, found `\"`.");
        check("[1 2]", "expected `,` or `]`, found `2`.");
        check("[1,]", "expected a value, found `]`.");
        check("{\"a\":1,}", "expected a field name in double quotes, found `}`.");
        check("{} x", "expected the end of the body, found `x`.");
        check("nul", "expected `null`");
        check("True", "expected a value, found `T`.");
        check("[01]", "a number without leading zeros");
        check("[1.]", "expected a digit, found `]`.");
        check("[-]", "expected a digit");
        check("[1e+]", "expected a digit");
        check("\"a", "expected the closing double quote, found the end of the body.");
        check("\"a\nb\"", "write a line break as `\\n`), found the control character U+000A.");
        check(r#""\x""#, "expected an escape such as `\\n` or `\\u0041`, found `x`.");
        check(r#""\u12g4""#, "expected four hexadecimal digits after `\\u`, found `g`.");
        check("\u{feff}{}", "Line 1, column 1: expected a value");
        check("\0", "expected a value, found the control character U+0000.");
    }

    #[test]
    fn deep_nesting_is_refused_beyond_64() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read(nested(64).as_bytes()).is_ok());
        refused(nested(65), "json_too_deep", Some(&"/0".repeat(64)), "nested deeper than 64");
        refused("[".repeat(1_000_000), "json_too_deep", Some(&"/0".repeat(64)), "column 65");
        let objects = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
        refused(objects, "json_too_deep", Some(&"/a".repeat(64)), "64");
    }

    #[test]
    fn a_doubled_field_is_named() {
        #[track_caller]
        fn check(body: &str, pointer: &str) {
            refused(body, "json_duplicate_key", Some(pointer), "appears twice in one object");
        }
        check(r#"{"a":1,"a":2}"#, "/a");
        check(r#"{"a":1,"b":2,"\u0061":3}"#, "/a");
        check(r#"{"items":[{},{"x":{"a/b~":1,"c":2,"a/b~":1}}]}"#, "/items/1/x/a~1b~0");
        let many: Vec<String> = (0..5_000).chain([77]).map(|n| format!("\"k{n}\":{n}")).collect();
        check(&format!("[{{{}}}]", many.join(",")), "/0/k77");
        assert!(read(br#"[{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}]"#).is_ok(), "other objects do not count");
    }

    #[test]
    fn text_that_is_not_unicode_is_named_by_its_pointer() {
        #[track_caller]
        fn check(body: impl AsRef<[u8]>, pointer: &str, what: &str) {
            refused(body, "text_invalid", Some(pointer), what);
        }
        check(b"{\"a\":[1,\"x\xff\"]}", "/a/1", "Line 1, column 11: the text has a byte that is not UTF-8");
        check(b"{\"a\":{\"\xc3\x28\":1}}", "/a", "not UTF-8");
        check(b"\xff", "", "not UTF-8");
        check(b"{\"a\":\"\0\"}", "/a", "NUL");
        check(r#"{"a":"x","b":"\u0000"}"#, "/b", "NUL");
        check(r#"["\ud83d"]"#, "/0", "half of a surrogate pair");
        check(r#"["\ud83dx"]"#, "/0", "half of a surrogate pair");
        check(r#"["\ud83d\u0041"]"#, "/0", "half of a surrogate pair");
        check(r#"["ok",{"s":"\ude00"}]"#, "/1/s", "half of a surrogate pair");
        check(r#"{"a":1,"\udfff":1}"#, "", "half of a surrogate pair");
        assert_eq!(read(br#""\ud83d\ude00""#).unwrap(), "\u{1F600}");
    }

    #[test]
    fn a_number_beyond_every_float_is_out_of_range() {
        refused("{\n\"a\":[0,1e999]}", "out_of_range", Some("/a/1"), "too large");
        refused(format!("[{}]", "9".repeat(400)), "out_of_range", Some("/0"), "too large");
        assert_eq!(read(b"1e-999").unwrap(), json!(0.0));
    }

    #[test]
    fn an_absent_body_is_an_empty_object_where_the_route_says_so() {
        assert_eq!(read_or_empty(b" \n").unwrap(), json!({}));
        assert_eq!(read_or_empty(b"{\"batchSize\":1}").unwrap(), json!({"batchSize": 1}));
        assert!(read_or_empty(b"{").is_err());
    }

    /// Agrees with `serde_json` except for the refusals that this reader adds.
    fn agrees(bytes: &[u8]) -> Result<(), TestCaseError> {
        let lenient = serde_json::from_slice::<Value>(bytes);
        match (read(bytes), lenient) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Ok(_), Err(error)) => return Err(TestCaseError::fail(format!("accepted what serde_json refuses: {error}"))),
            (Err(problem), Ok(_)) => prop_assert!(
                matches!(problem.code, Code::JsonTooDeep | Code::JsonDuplicateKey | Code::TextInvalid),
                "refused what serde_json accepts: {}",
                problem
            ),
            (Err(problem), Err(_)) => prop_assert_eq!(problem.errors.is_empty(), problem.code == Code::JsonSyntax),
        }
        Ok(())
    }

    /// Bytes that look like JSON more often than chance would make them.
    fn fragments() -> impl Strategy<Value = Vec<u8>> {
        let pieces: &[&[u8]] = &[
            b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\"a\"", b"\"b\":", b"\"a\":1", b"\\", b"\\u", b"\\u0000",
            b"\\ud83d", b"\\ude00", b"\\n", b"0", b"-1", b"1.5e3", b"1e999", b"true", b"null", b" ", b"\n", b"\0",
            b"\xff", b"\xc3\xa4", b"x",
        ];
        prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|parts| parts.concat())
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..24)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_agree_with_serde_json(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            agrees(&bytes)?;
        }

        #[test]
        fn fragments_of_json_agree_with_serde_json(bytes in fragments()) {
            agrees(&bytes)?;
        }

        #[test]
        fn damaged_documents_agree_with_serde_json(tree in tree(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = serde_json::to_vec_pretty(&tree).unwrap();
            agrees(&bytes)?;
            let at = at.index(bytes.len());
            bytes[at] = byte;
            agrees(&bytes)?;
            bytes.truncate(at);
            agrees(&bytes)?;
        }

        #[test]
        fn the_pointer_leads_to_the_text_at_fault(path in prop::collection::vec(step(), 0..12)) {
            let beside = || json!({"a": ["]", "\\\"", {"b": "}{,"}], "": 1});
            let document = path.iter().rev().fold(json!("NUL: \0"), |inner, step| match step {
                Ok(index) => (0..*index).map(|_| beside()).chain([inner, beside()]).collect(),
                Err(name) => json!({"": beside(), "m": beside(), name: inner, "\u{FFFF}": beside()}),
            });
            let expected = path.iter().fold(String::new(), |pointer, step| match step {
                Ok(index) => format!("{pointer}/{index}"),
                Err(name) => join(&pointer, name),
            });
            let problem = read(serde_json::to_string_pretty(&document).unwrap().as_bytes()).unwrap_err();
            prop_assert_eq!(problem.code, Code::TextInvalid);
            prop_assert_eq!(&problem.errors[0].pointer, &expected);
            prop_assert!(document.pointer(&expected).is_some());
        }
    }

    /// One step of a path: an index, or a field's name with the characters that pointers escape.
    fn step() -> impl Strategy<Value = Result<usize, String>> {
        prop_oneof![(0..4_usize).prop_map(Ok), "[a-z/~\"\\\\ä]{1,4}".prop_map(Err)]
    }
}
