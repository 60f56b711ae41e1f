//! Splitting CSV text into cells as pandas' C tokenizer does (`pandas/_libs/src/parser/tokenizer.c`).
//!
//! A quote opens a quoted field only at its start; `""` inside is one quote; text after the closing quote is
//! kept. Blank lines and lines of spaces are skipped. A lone carriage return ends a line. The first data line
//! sets the width: longer lines are an error, shorter ones are padded with empty cells, and when it is longer
//! than the header the first columns are an index without a name.

use super::{Span, TableError};

/// The cells of one file, row by row.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) header: Vec<Span>,
    /// `width` spans for each row, the index columns already dropped.
    pub(super) cells: Vec<Span>,
    /// Cells that differ from a piece of the file (escaped quotes); spans beyond the file's end point here.
    pub(super) unescaped: Vec<u8>,
}

/// Splits the bytes of a file of at most `most_rows` rows. `bytes` must be UTF-8 and shorter than 4 GiB, which the caller has checked.
pub(super) fn tokenize(bytes: &[u8], most_rows: usize) -> Result<Tokens, TableError> {
    let mut tokenizer = Tokenizer {
        bytes,
        at: if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 },
        unescaped: Vec::new(),
        has_nul: memchr::memchr(0, bytes).is_some(),
    };
    let mut header = Vec::new();
    if !tokenizer.record(&mut header)? {
        return Ok(Tokens::default());
    }
    let mut cells = Vec::new();
    let (mut width, mut index_columns) = (header.len(), 0);
    let mut rows = 0;
    loop {
        let start = cells.len();
        let line_start = tokenizer.at;
        if !tokenizer.record(&mut cells)? {
            break;
        }
        let found = cells.len() - start;
        if rows == most_rows {
            return Err(TableError::Rows { limit: most_rows });
        }
        rows += 1;
        if rows == 1 {
            width = width.max(found);
            index_columns = width - header.len();
        } else if found > width {
            return Err(TableError::Ragged { line: tokenizer.line_of(line_start), expected: width, found });
        }
        cells.resize(start + width, Span { start: 0, length: 0 });
        cells.drain(start..start + index_columns);
    }
    Ok(Tokens { header, cells, unescaped: tokenizer.unescaped })
}

struct Tokenizer<'b> {
    bytes: &'b [u8],
    at: usize,
    unescaped: Vec<u8>,
    has_nul: bool,
}

impl Tokenizer<'_> {
    /// The line number (from 1) of the first line at or after `at` that is not blank.
    fn line_of(&self, at: usize) -> usize {
        let blank = self.bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        1 + memchr::memchr_iter(b'\n', &self.bytes[..at + blank]).count()
    }

    /// Appends the fields of the next record; false at the end of the file.
    fn record(&mut self, fields: &mut Vec<Span>) -> Result<bool, TableError> {
        if !self.skip_blank_lines() {
            return Ok(false);
        }
        loop {
            let (mut span, end) = if self.bytes.get(self.at) == Some(&b'"') {
                self.quoted()?
            } else {
                let end = self.plain_end(self.at);
                (self.span(self.at, end), end)
            };
            if self.has_nul {
                span = self.until_nul(span);
            }
            fields.push(span);
            match self.bytes.get(end) {
                Some(b',') => self.at = end + 1,
                Some(b'\r') => {
                    self.at = end + 1;
                    if self.bytes.get(self.at) == Some(&b'\n') {
                        self.at += 1;
                    }
                    return Ok(true);
                }
                Some(_) => {
                    self.at = end + 1;
                    return Ok(true);
                }
                None => {
                    self.at = end;
                    return Ok(true);
                }
            }
        }
    }

    /// Moves to the next line that holds something; false if there is none.
    fn skip_blank_lines(&mut self) -> bool {
        loop {
            let blanks = self.bytes[self.at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            match self.bytes.get(self.at + blanks) {
                None => {
                    self.at = self.bytes.len();
                    return false;
                }
                Some(b'\n' | b'\r') => self.at += blanks + 1,
                Some(_) => return true,
            }
        }
    }

    /// Where an unquoted field that begins (or goes on) at `from` ends.
    fn plain_end(&self, from: usize) -> usize {
        memchr::memchr3(b',', b'\n', b'\r', &self.bytes[from..])
            .map_or(self.bytes.len(), |length| from + length)
    }

    /// A field that begins with a quote, and where it ends.
    fn quoted(&mut self) -> Result<(Span, usize), TableError> {
        let opening = self.at;
        let mut from = opening + 1;
        let kept = self.unescaped.len();
        let mut is_plain = true;
        loop {
            let Some(length) = memchr::memchr(b'"', &self.bytes[from..]) else {
                return Err(TableError::OpenQuote { line: self.line_of(opening) });
            };
            let closing = from + length;
            let next = self.bytes.get(closing + 1);
            if is_plain && matches!(next, None | Some(b',' | b'\n' | b'\r')) {
                return Ok((self.span(from, closing), closing + 1));
            }
            self.unescaped.extend_from_slice(&self.bytes[from..closing]);
            if next == Some(&b'"') {
                self.unescaped.push(b'"');
                from = closing + 2;
                is_plain = false;
                continue;
            }
            let end = self.plain_end(closing + 1);
            self.unescaped.extend_from_slice(&self.bytes[closing + 1..end]);
            let offset = self.bytes.len();
            return Ok((self.span(offset + kept, offset + self.unescaped.len()), end));
        }
    }

    /// pandas keeps cells as C strings, which end at the first NUL.
    fn until_nul(&self, span: Span) -> Span {
        let cell = super::cell(self.bytes, &self.unescaped, span);
        match memchr::memchr(0, cell) {
            Some(length) => Span { start: span.start, length: length as u32 },
            None => span,
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        // The caller bounds the file, and the unescaped text is never longer than the file: both fit.
        Span { start: start as u32, length: (end - start) as u32 }
    }
}
