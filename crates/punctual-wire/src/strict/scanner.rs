//! One pass over a body that checks its grammar, depth, field names and texts, and builds nothing.

use std::borrow::Cow;

use crate::limits::DEPTH_MAX;

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

pub(super) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// The fields of all open objects. Those of a finished object are cut off, so each object's lie together.
    keys: Vec<Cow<'a, str>>,
}

/// Where the scanner stopped, and why. Small: the sentence for it is made later.
pub(super) struct Refusal {
    pub at: usize,
    pub why: Why,
}

pub(super) enum Why {
    Expected(&'static str),
    TooDeep,
    /// The field's name; `at` is where its object starts.
    Twice(String),
    Text(&'static str),
}

pub(super) type Scan<T = ()> = Result<T, Refusal>;

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, depth: 0, keys: Vec::new() }
    }

    /// Passes a whole body: one value, with nothing but space around it.
    pub fn document(&mut self) -> Scan {
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
                Some(_) => {
                    return self.expected("text without control characters (write a line break as `\\n`)");
                }
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
