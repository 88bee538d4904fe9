//! Reading CSV: comma or semicolon, quoted cells with doubled quotes and line breaks, either kind of line end. A file is read
//! record by record; only a faulty line is skipped and reported.

use std::io::{self, BufRead, Read};

/// One record, with the line it begins on.
pub struct Record {
    pub line: usize,
    pub cells: Result<Vec<String>, &'static str>,
}

/// The longest cell; what is longer is a quote that was never closed.
const CELL_MAX: usize = 64 << 10;

/// The records of a text. Empty lines are left out.
pub fn records(text: &str) -> impl Iterator<Item = Record> {
    // Reading from memory does not fail.
    Records::new(text.as_bytes(), usize::MAX).map_while(Result::ok)
}

/// The records of a file. It ends with the first error, which is one of reading, or a line that is too long.
pub struct Records<R> {
    file: R,
    line_max: usize,
    /// Whether a quote inside a cell that does not begin with one is a fault, not a letter.
    strict: bool,
    /// Lines that were read and not taken yet.
    ahead: String,
    is_over: bool,
    line: usize,
    bytes: u64,
    separator: Option<char>,
}

/// What is at the beginning of the lines ahead.
enum Found {
    /// A record and how many bytes it has.
    Cells(Vec<String>, usize),
    /// A cell that goes on behind them, and how many of its bytes are there.
    Open(usize),
    Fault(&'static str),
}

impl<R: BufRead> Records<R> {
    pub fn new(file: R, line_max: usize) -> Self {
        let ahead = String::new();
        Self { file, line_max, strict: false, ahead, is_over: false, line: 1, bytes: 0, separator: None }
    }

    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// How much of the file was read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads a line; returns where it begins among those ahead.
    fn read_line(&mut self) -> io::Result<usize> {
        let from = self.ahead.len();
        let most = u64::try_from(self.line_max).unwrap_or(u64::MAX);
        let read = (&mut self.file).take(most).read_line(&mut self.ahead)?;
        if read == self.line_max && !self.ahead.ends_with('\n') {
            return Err(io::Error::other(format!("it is longer than {read} bytes")));
        }
        if self.bytes == 0 && self.ahead.starts_with('\u{feff}') {
            self.ahead.remove(0);
        }
        self.is_over = read == 0;
        self.bytes += read as u64;
        Ok(from)
    }

    fn record(&mut self) -> io::Result<Option<Record>> {
        loop {
            if self.ahead.is_empty() {
                self.read_line()?;
            }
            if self.ahead.is_empty() {
                return Ok(None);
            }
            let line = self.line;
            let first = self.ahead.lines().next().unwrap_or_default();
            let by_semicolon = !first.contains(',') && first.contains(';');
            let separator = *self.separator.get_or_insert(if by_semicolon { ';' } else { ',' });
            let found = match cells(&self.ahead, separator, self.strict) {
                Found::Open(bytes) if bytes > CELL_MAX => {
                    Found::Fault("a cell is longer than 64 KiB; a quote may not be closed")
                }
                Found::Open(_) if self.is_over => Found::Fault("a quote is not closed"),
                Found::Open(bytes) => {
                    self.read_to_quote(self.ahead.len() + CELL_MAX - bytes)?;
                    continue;
                }
                found => found,
            };
            let (cells, bytes) = match found {
                Found::Cells(cells, bytes) => (Ok(cells), bytes),
                Found::Fault(why) => {
                    (Err(why), self.ahead.find('\n').map_or(self.ahead.len(), |end| end + 1))
                }
                Found::Open(_) => continue,
            };
            self.line += self.ahead[..bytes].matches('\n').count();
            self.ahead.drain(..bytes);
            if !matches!(&cells, Ok(cells) if cells.len() == 1 && cells[0].is_empty()) {
                return Ok(Some(Record { line, cells }));
            }
        }
    }

    /// Reads on to where an open cell may end, or until so much is ahead that it is too long.
    fn read_to_quote(&mut self, most: usize) -> io::Result<()> {
        loop {
            let from = self.read_line()?;
            if self.is_over || self.ahead.len() > most || self.ahead[from..].contains('"') {
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.record().transpose()
    }
}

fn cells(text: &str, separator: char, strict: bool) -> Found {
    let (mut cells, mut rest) = (Vec::new(), text);
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => match quoted_cell(quoted, separator) {
                Ok(found) => found,
                Err(found) => return found,
            },
            None => {
                let end = rest.find([separator, '\n']).unwrap_or(rest.len());
                let cell = rest[..end].trim_end_matches('\r');
                if strict && cell.contains('"') {
                    return Found::Fault("a quote is inside a cell that does not begin with one");
                }
                (cell.to_owned(), &rest[end..])
            }
        };
        cells.push(cell);
        // What ends a cell is one byte, or nothing at the end of the text.
        rest = after.get(1..).unwrap_or_default();
        if !after.starts_with(separator) {
            return Found::Cells(cells, text.len() - rest.len());
        }
    }
}

/// A cell behind its opening quote, and what follows the closing one.
fn quoted_cell(text: &str, separator: char) -> Result<(String, &str), Found> {
    let (mut cell, mut rest) = (String::new(), text);
    loop {
        let quote = rest.find('"').ok_or(Found::Open(text.len()))?;
        cell.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        if cell.len() > CELL_MAX {
            return Err(Found::Fault("a cell is longer than 64 KiB; a quote may not be closed"));
        }
        match rest.strip_prefix('"') {
            Some(after) => {
                cell.push('"');
                rest = after;
            }
            None => break,
        }
    }
    let rest = rest.strip_prefix('\r').unwrap_or(rest);
    if !rest.is_empty() && !rest.starts_with([separator, '\n']) {
        return Err(Found::Fault("there is text behind a closing quote"));
    }
    Ok((cell, rest))
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

    #[test]
    fn a_file_is_read_as_it_comes() {
        let text = "\u{feff}id,note\n1,\"two\nlines, \"\"so\"\"\"\r\n2,x\n";
        let mut found = Records::new(text.as_bytes(), 40);
        let first = found.next().unwrap().unwrap();
        assert_eq!((first.cells, found.bytes()), (cells(&["id", "note"]), 11));
        let second = found.next().unwrap().unwrap();
        assert_eq!((second.line, second.cells), (2, cells(&["1", "two\nlines, \"so\""])));
        let third = found.next().unwrap().unwrap();
        assert_eq!((third.line, found.bytes(), found.next().is_none()), (4, text.len() as u64, true));
        let long = format!("id\n{}\n", "x".repeat(40));
        let fault = Records::new(long.as_bytes(), 40).nth(1).unwrap().err();
        assert_eq!(fault.unwrap().to_string(), "it is longer than 40 bytes");
    }

    #[test]
    fn a_quote_within_a_cell_is_a_letter_or_a_fault() {
        let text = "a,b\"c\"\n";
        assert_eq!(read(text), [(1, cells(&["a", "b\"c\""]))]);
        let fault = Records::new(text.as_bytes(), 40).strict().next().unwrap().unwrap();
        assert_eq!(fault.cells, Err("a quote is inside a cell that does not begin with one"));
    }

    #[test]
    fn a_quote_that_is_not_closed_costs_one_line_and_a_bounded_look_ahead() {
        let lines: String = (0..20_000).map(|n| format!("{n},a line\n")).collect();
        let later = lines.replace("a line", "\"two\nlines\"");
        let text = format!("a,b\n\"open,4\n{lines}{later}");
        let found = read(&text);
        assert_eq!(found[1], (2, Err("a cell is longer than 64 KiB; a quote may not be closed")));
        assert_eq!((found.len(), found[2].clone()), (40_002, (3, cells(&["0", "a line"]))));
        assert!(found[2..].iter().all(|(_, cells)| cells.is_ok()));
        // What counts is the length of the open cell, not of the record.
        let long = "x".repeat(CELL_MAX);
        assert_eq!(read(&format!("{long},\"two\nlines\"\n")), [(1, cells(&[&long, "two\nlines"]))]);
    }
}
