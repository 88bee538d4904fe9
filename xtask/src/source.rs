//! A Rust source file taken apart just far enough: code, string literals, comments.

/// A string literal and where it is.
pub struct Literal {
    /// The text between the quotes, escapes as written.
    pub text: String,
    /// Counted from 1, where the literal begins.
    pub line: usize,
    /// Where the literal begins in `Source::code`.
    pub at: usize,
}

/// The parts of a file. `code` has the lines of the file, with strings reduced to `""` and no comments.
pub struct Source {
    pub code: String,
    pub literals: Vec<Literal>,
    /// Each comment's line and text.
    pub comments: Vec<(usize, String)>,
}

impl Source {
    pub fn parse(text: &str) -> Self {
        let mut source =
            Self { code: String::with_capacity(text.len()), literals: Vec::new(), comments: Vec::new() };
        let mut rest = text;
        let mut line = 1;
        while let Some(first) = rest.chars().next() {
            let length = if rest.starts_with("//") {
                source.comment(rest, rest.find('\n').unwrap_or(rest.len()), line)
            } else if rest.starts_with("/*") {
                source.comment(rest, block_comment(rest), line)
            } else if let Some((open, close)) = string_quotes(rest, source.code.chars().next_back()) {
                source.literal(rest, open, &close, line)
            } else if first == '\'' {
                source.character(rest)
            } else {
                source.code.push(first);
                first.len_utf8()
            };
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
        source
    }

    /// The line in which this place of `code` is.
    pub fn line_of(&self, at: usize) -> usize {
        1 + self.code[..at].matches('\n').count()
    }

    fn comment(&mut self, rest: &str, length: usize, line: usize) -> usize {
        self.comments.push((line, rest[..length].to_owned()));
        self.keep_lines(&rest[..length]);
        length
    }

    fn literal(&mut self, rest: &str, open: usize, close: &str, line: usize) -> usize {
        let raw = close.len() > 1 || rest[..open].contains('r');
        let body = &rest[open..];
        let end = if raw { body.find(close).unwrap_or(body.len()) } else { escaped_end(body, '"') };
        self.literals.push(Literal { text: body[..end].to_owned(), line, at: self.code.len() });
        self.code.push_str("\"\"");
        self.keep_lines(&body[..end]);
        (open + end + close.len()).min(rest.len())
    }

    /// A character such as `'"'` is left out; a lifetime such as `'a` is code.
    fn character(&mut self, rest: &str) -> usize {
        let mut chars = rest.char_indices().skip(1);
        let length = match chars.next() {
            Some((_, '\\')) => 2 + escaped_end(&rest[1..], '\''),
            _ => match chars.next() {
                Some((at, '\'')) => at + 1,
                _ => 1,
            },
        };
        self.code.push('\'');
        length.min(rest.len())
    }

    fn keep_lines(&mut self, text: &str) {
        self.code.extend(text.chars().filter(|c| *c == '\n'));
    }
}

/// How many bytes open the string that starts here, and what closes it; `before` is the code before it.
fn string_quotes(rest: &str, before: Option<char>) -> Option<(usize, String)> {
    let inside_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let prefix = if inside_word { "" } else { prefix };
    let after = &rest[prefix.len()..];
    let hashes = if prefix.ends_with('r') { after.len() - after.trim_start_matches('#').len() } else { 0 };
    after[hashes..].starts_with('"').then(|| (prefix.len() + hashes + 1, format!("\"{}", "#".repeat(hashes))))
}

/// Where the quote is that no backslash precedes.
fn escaped_end(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at,
            _ => {}
        }
    }
    body.len()
}

/// The length of a block comment, with those inside it.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: &str, literals: &[(&str, usize)]) {
        let source = Source::parse(text);
        assert_eq!(source.code, code);
        let found: Vec<_> =
            source.literals.iter().map(|literal| (literal.text.as_str(), literal.line)).collect();
        assert_eq!(found, literals);
    }

    #[test]
    fn strings_and_comments_are_distinguished_from_code() {
        check("a(\"b\") // c \"d\"\ne", "a(\"\") \ne", &[("b", 1)]);
        check("/* a\n/* b */ \" */ \"c\"", "\n \"\"", &[("c", 2)]);
        check(
            r##"r#"a "b" \"# + r"\" + "\"" "##,
            r##""" + "" + "" "##,
            &[("a \"b\" \\", 1), ("\\", 1), ("\\\"", 1)],
        );
        check("f(\"a\n  b\",\n\"c\")", "f(\"\"\n,\n\"\")", &[("a\n  b", 1), ("c", 3)]);
    }

    #[test]
    fn characters_and_lifetimes_open_no_string() {
        check(r#"'"' "a" '\'' '\\' '"' 'ü'"#, "' \"\" ' ' ' '", &[("a", 1)]);
        check("fn f<'a>(x: &'a str, r: u8) { \"b\" }", "fn f<'a>(x: &'a str, r: u8) { \"\" }", &[("b", 1)]);
        check(
            "b\"a\" br\"b\" c\"c\" attr\"d\"",
            "\"\" \"\" \"\" attr\"\"",
            &[("a", 1), ("b", 1), ("c", 1), ("d", 1)],
        );
    }
}
