//! Finding the parameters in a query that a user wrote, and nowhere else: not in texts, comments or casts.

use punctual_model::nearest;

use super::ForeignFault;

/// Whether a text begins as a statement that reads. The database makes sure of it; this says it in plain words first.
pub(super) fn only_reads(sql: &str) -> bool {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            break;
        };
    }
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    ["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|start| word.eq_ignore_ascii_case(start))
}

/// The text with a number for each parameter, and the names by number. `spell` writes one: `$1` with its type.
pub(super) fn numbered(
    sql: &str,
    known: &[&str],
    spell: impl Fn(usize, &str) -> String,
) -> Result<(String, Vec<usize>), ForeignFault> {
    let (mut text, mut used) = (String::with_capacity(sql.len() + 64), Vec::new());
    let mut rest = sql;
    let mut before = ' ';
    while let Some(next) = rest.chars().next() {
        let quoted = skip(rest, before);
        if quoted > 0 {
            let (taken, after) = rest.split_at(quoted);
            text.push_str(taken);
            (before, rest) = (taken.chars().next_back().unwrap_or(' '), after);
            continue;
        }
        let name: &str = match rest.strip_prefix(':') {
            // `a::text` is a cast and `a[low:high]` a part of an array.
            Some(after) if !is_joined(before) => &after[..name_length(after)],
            _ => "",
        };
        if name.is_empty() {
            text.push(next);
            (before, rest) = (next, &rest[next.len_utf8()..]);
            continue;
        }
        let Some(which) = known.iter().position(|one| *one == name) else { return Err(unknown(name, known)) };
        let number = used.iter().position(|one| *one == which).unwrap_or_else(|| {
            used.push(which);
            used.len() - 1
        });
        text.push_str(&spell(number + 1, name));
        (before, rest) = ('a', &rest[1 + name.len()..]);
    }
    Ok((text, used))
}

pub(super) fn unknown(name: &str, known: &[&str]) -> ForeignFault {
    let detail = format!("the query has no value for `:{name}`; {}", nearest::suggestion(name, known));
    ForeignFault::lasting("query_parameter", detail)
}

fn is_joined(before: char) -> bool {
    before.is_alphanumeric() || matches!(before, '_' | ':' | ']' | ')' | '"')
}

fn name_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return 0;
    }
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// How long the text, name or comment is that starts here; zero where none does.
fn skip(rest: &str, before: char) -> usize {
    let to = |end: Option<usize>, more: usize| end.map_or(rest.len(), |end| end + more);
    let bytes = rest.as_bytes();
    match bytes[0] {
        b'\'' => {
            let escapes = before.eq_ignore_ascii_case(&'e');
            let mut at = 1;
            while at < bytes.len() {
                match bytes[at] {
                    b'\\' if escapes => at += 2,
                    b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
                    b'\'' => return at + 1,
                    _ => at += 1,
                }
            }
            rest.len()
        }
        b'"' => to(rest[1..].find('"'), 2),
        b'-' if rest.starts_with("--") => to(rest.find('\n'), 1),
        b'/' if rest.starts_with("/*") => {
            // PostgreSQL's comments have comments in them.
            let (mut depth, mut at) = (0, 0);
            while at < bytes.len() {
                match &bytes[at..(at + 2).min(bytes.len())] {
                    b"/*" => (depth, at) = (depth + 1, at + 2),
                    b"*/" => (depth, at) = (depth - 1, at + 2),
                    _ => at += 1,
                }
                if depth == 0 {
                    return at;
                }
            }
            rest.len()
        }
        b'$' if !is_joined(before) => {
            let tag = 1 + name_length(&rest[1..]);
            if bytes.get(tag) != Some(&b'$') {
                return 0;
            }
            let mark = &rest[..=tag];
            to(rest[mark.len()..].find(mark), 2 * mark.len())
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: &[&str] = &["periodStart", "businessUnit"];

    fn read(sql: &str) -> Result<(String, Vec<usize>), ForeignFault> {
        numbered(sql, KNOWN, |number, _| format!("${number}"))
    }

    #[test]
    fn parameters_are_found_where_they_are_and_nowhere_else() {
        for (sql, expected) in [
            ("a > :periodStart", "a > $1"),
            ("(:periodStart,:businessUnit, :periodStart)", "($1,$2, $1)"),
            ("a=:periodStart::date", "a=$1::date"),
            ("x::text, ':periodStart', \":periodStart\"", "x::text, ':periodStart', \":periodStart\""),
            ("'it''s :x' || :periodStart", "'it''s :x' || $1"),
            ("E'\\':x' || :periodStart", "E'\\':x' || $1"),
            ("a[1:2], a[lo:hi], :periodStart", "a[1:2], a[lo:hi], $1"),
            ("-- :x\n:periodStart /* :x /* :y */ :z */ :businessUnit", "-- :x\n$1 /* :x /* :y */ :z */ $2"),
            ("$$ :x $$, $tag$ :x $$ $tag$, :periodStart", "$$ :x $$, $tag$ :x $$ $tag$, $1"),
            ("'open :x", "'open :x"),
            ("ü :periodStart", "ü $1"),
        ] {
            assert_eq!(read(sql).unwrap().0, expected, "{sql}");
        }
        assert_eq!(read(":businessUnit, :periodStart").unwrap().1, [1, 0]);
    }

    #[test]
    fn a_misspelt_parameter_is_named_with_what_was_meant() {
        let fault = read("a > :periodstart").unwrap_err();
        assert_eq!(fault.code, "query_parameter");
        assert!(fault.detail.contains(":periodstart") && fault.detail.contains("`periodStart`"), "{fault}");
    }

    #[test]
    fn only_statements_that_read_begin_like_it() {
        for sql in
            ["SELECT 1", " -- why\n/* x */ (select 1)", "with a as (select 1) select * from a", "VALUES (1)"]
        {
            assert!(only_reads(sql), "{sql}");
        }
        for sql in [
            "",
            "DELETE FROM a",
            "-- SELECT",
            "/* SELECT */ DROP TABLE a",
            "COPY a TO PROGRAM 'x'",
            "SELECTED",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_lose_anything(sql in "[-a:'\"$/*\\\\e\\[\\]() \n_é]{0,40}") {
            if let Ok((text, used)) = numbered(&sql, &["a"], |_, name| format!(":{name}")) {
                prop_assert_eq!(text, sql);
                prop_assert!(used.len() <= 1);
            }
        }
    }
}
