//! The lines of a calendar file: folding, names, parameters and escaping.

/// Content lines with the number of the line each begins on; a line that begins with a blank continues the one before.
pub(super) fn unfolded(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some((_, before))) => before.push_str(rest),
            _ if line.is_empty() => {}
            _ => lines.push((index + 1, line.to_owned())),
        }
    }
    lines
}

/// One property.
pub(super) struct Line {
    pub(super) name: String,
    parameters: Vec<(String, String)>,
    pub(super) value: String,
}

impl Line {
    pub(super) fn parse(content: &str) -> Self {
        let mut is_quoted = false;
        let colon = content.find(|character| {
            is_quoted ^= character == '"';
            character == ':' && !is_quoted
        });
        let (head, value) = match colon {
            Some(at) => (&content[..at], &content[at + 1..]),
            None => (content, ""),
        };
        let mut parts = head.split(';');
        let name = parts.next().unwrap_or_default().to_ascii_uppercase();
        let parameters = parts
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| (name.to_ascii_uppercase(), value.trim_matches('"').to_owned()))
            .collect();
        Self { name, parameters, value: value.to_owned() }
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A text as it was before it was put into a file.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'N') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

/// The beginning of a text, cut between characters.
pub(super) fn clipped(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
