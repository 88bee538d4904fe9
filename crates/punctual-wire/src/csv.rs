//! Reading CSV: comma or semicolon, quoted cells with doubled quotes and line breaks, either kind of line end.

/// One record, with the line it begins on.
pub struct Record {
    pub line: usize,
    pub cells: Result<Vec<String>, &'static str>,
}

/// The longest cell; what is longer is a quote that was never closed.
const CELL_MAX: usize = 64 << 10;

/// The records of a text. Empty lines are left out.
pub fn records(text: &str) -> impl Iterator<Item = Record> {
    let separator = if text.lines().next().is_some_and(|first| !first.contains(',') && first.contains(';')) {
        ';'
    } else {
        ','
    };
    let mut reader = Reader { rest: text, line: 1, separator };
    std::iter::from_fn(move || reader.next())
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
    separator: char,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Record> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let line = self.line;
            let cells = self.record();
            if !matches!(&cells, Ok(cells) if cells.len() == 1 && cells[0].is_empty()) {
                return Some(Record { line, cells });
            }
        }
    }

    fn record(&mut self) -> Result<Vec<String>, &'static str> {
        let mut cells = Vec::new();
        loop {
            let (cell, ended) = match self.rest.strip_prefix('"') {
                Some(after) => self.quoted(after)?,
                None => self.plain(),
            };
            cells.push(cell);
            if ended {
                return Ok(cells);
            }
        }
    }

    /// Up to the separator or the end of the line.
    fn plain(&mut self) -> (String, bool) {
        let end = self.rest.find([self.separator, '\n']).unwrap_or(self.rest.len());
        let cell = self.rest[..end].trim_end_matches('\r').to_owned();
        let ended = !self.rest[end..].starts_with(self.separator);
        self.step(end);
        (cell, ended)
    }

    fn quoted(&mut self, after: &str) -> Result<(String, bool), &'static str> {
        let mut cell = String::new();
        let mut at = 0;
        loop {
            let Some(quote) = after[at..].find('"') else { return Err(self.skip("a quote is not closed")) };
            cell.push_str(&after[at..at + quote]);
            at += quote + 1;
            if cell.len() > CELL_MAX {
                return Err(self.skip("a cell is longer than 64 KiB; a quote may not be closed"));
            }
            if after[at..].starts_with('"') {
                cell.push('"');
                at += 1;
                continue;
            }
            self.line += cell.matches('\n').count();
            let rest = &after[at..];
            let rest = rest.strip_prefix('\r').unwrap_or(rest);
            if !rest.is_empty() && !rest.starts_with([self.separator, '\n']) {
                return Err(self.skip("there is text behind a closing quote"));
            }
            let ended = !rest.starts_with(self.separator);
            let taken = self.rest.len() - rest.len();
            self.step(taken);
            return Ok((cell, ended));
        }
    }

    /// Goes behind the cell of so many bytes and what ends it.
    fn step(&mut self, bytes: usize) {
        let rest = &self.rest[bytes..];
        if rest.starts_with('\n') {
            self.line += 1;
        }
        self.rest = rest.get(1..).unwrap_or_default();
    }

    /// Leaves the line out.
    fn skip(&mut self, why: &'static str) -> &'static str {
        let end = self.rest.find('\n').map_or(self.rest.len(), |end| end + 1);
        self.rest = &self.rest[end..];
        self.line += 1;
        why
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, Result<Vec<String>, &'static str>)> {
        records(text).map(|record| (record.line, record.cells)).collect()
    }

    fn cells(cells: &[&str]) -> Result<Vec<String>, &'static str> {
        Ok(cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn quotes_line_breaks_and_either_separator_are_read() {
        let text = "a,b\r\n\"x, \"\"y\"\"\",\"two\nlines\"\n\n,\nlast,1";
        assert_eq!(
            read(text),
            [
                (1, cells(&["a", "b"])),
                (2, cells(&["x, \"y\"", "two\nlines"])),
                (5, cells(&["", ""])),
                (6, cells(&["last", "1"])),
            ]
        );
        assert_eq!(read("a;b\n1,5;2\n")[1], (2, cells(&["1,5", "2"])));
    }

    #[test]
    fn a_bad_line_is_left_out_alone() {
        let text = "a,b\n\"x\"y,1\n2,3\n\"open,4\n5,6\n";
        let found = read(text);
        assert_eq!(found[1], (2, Err("there is text behind a closing quote")));
        assert_eq!(found[2], (3, cells(&["2", "3"])));
        assert_eq!(found[3], (4, Err("a quote is not closed")));
        assert_eq!(found[4], (5, cells(&["5", "6"])));
    }
}
