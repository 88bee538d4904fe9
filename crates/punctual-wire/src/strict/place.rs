//! Where in a body something is: by line and column for people, by pointer for programs.

/// The character there, as it may appear in a sentence.
pub(super) fn found_at(bytes: &[u8], at: usize) -> String {
    match std::str::from_utf8(&bytes[at..]).ok().and_then(|rest| rest.chars().next()) {
        Some(c) if c.is_control() => format!("the control character U+{:04X}", u32::from(c)),
        Some(c) => format!("`{c}`"),
        None => "the end of the body".to_owned(),
    }
}

/// Both from 1; columns count characters, as editors do.
pub(super) fn line_and_column(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// The pointer to the value that holds the byte `at`; everything before it has passed the scanner.
pub(super) fn pointer_at(bytes: &[u8], at: usize) -> String {
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
